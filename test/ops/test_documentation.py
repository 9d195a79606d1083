"""Every public operator says what it does, with an example that runs."""

import doctest
import inspect

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import publishing
from tensorplay.ops import describe
from tensorplay.ops.registry import tp as registry

NAMED = publishing.PUBLIC | {
    getattr(space, name).__name__
    for space in (tp.linalg, tp.fft, tp.special)
    for name in space.__all__
}
PUBLIC = [
    each
    for each in registry
    if each.name in NAMED or each.is_method or hasattr(tp.Tensor, f"{each.name}_")
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # as pyproject.toml says for modules


@pytest.mark.parametrize("operator", PUBLIC, ids=lambda each: each.name)
def test_the_docstring_has_a_sentence_and_an_example_that_runs(operator):
    doc = inspect.cleandoc(operator.doc)
    first = doc.split("\n\n")[0].split(">>>")[0].strip()
    assert first.endswith((".", ":")), first
    names = {"tp": tp, "np": np, "inf": float("inf"), "nan": float("nan")}
    found = doctest.DocTestParser().get_doctest(doc, names, operator.name, operator.family, 0)
    assert found.examples, f"{operator.name} shows no example (>>> in its docstring)"
    report = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(found, out=report.append)
    assert not report, "".join(report)


def test_help_shows_types_defaults_and_what_the_kind_says():
    assert str(inspect.signature(tp.sum)) == (
        "(input: 'Tensor', dim: 'int | Sequence[int] | None' = None, keepdim: 'bool' = False, *, "
        "dtype: 'DType | type | None' = None) -> 'Tensor'"
    )
    assert "`dim` is reduced" in tp.sum.__doc__
    assert "shares the memory of `input`" in tp.Tensor.transpose.__doc__
    assert "There is no derivative: its result is an index." in tp.argmax.__doc__
    assert tp.Tensor.add_.__doc__.startswith("`add` in place: ")
    assert describe.signature(registry.transpose, method=True) == (
        "Tensor.transpose(dim0: int, dim1: int) -> Tensor"
    )
