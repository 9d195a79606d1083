"""Docstrings of operators that are declared in tables.

In: a row's sentence, a call and what it gives. Out: the docstring, with the call as a doctest.

>>> print(with_example("The square root.", "sqrt(tp.tensor([4.0]))", "tensor([2.])").split(">>> ")[-1])
tp.sqrt(tp.tensor([4.0]))
tensor([2.])
"""

from __future__ import annotations


def with_example(sentence: str, call: str, result: str) -> str:
    """A docstring; `call` starts with a name of the package, `result` is what the interpreter prints."""
    return f"{sentence}\n\n>>> import tensorplay as tp\n>>> tp.{call}\n{result}\n"
