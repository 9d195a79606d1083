"""What a function's code reads by name: its globals, and the attributes of whatever it holds.

>>> def f(x):
...     return scale(x.flat).total
>>> code_names(f.__code__)
CodeNames(globals=frozenset({'scale'}), attributes=frozenset({...}))
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Final, NamedTuple

_ATTRIBUTE_READS: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_GLOBAL_READS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


class CodeNames(NamedTuple):
    """The names that a piece of code reads, including the code of functions defined inside it."""

    globals: frozenset[str]
    attributes: frozenset[str]


@functools.lru_cache(maxsize=4096)
def code_names(code: CodeType) -> CodeNames:
    """Return the names that `code` and the code nested in it read. Linear in its length."""
    global_names: set[str] = set()
    attributes: set[str] = set()
    pending = [code]
    while pending:
        part = pending.pop()
        for instruction in dis.get_instructions(part):
            if instruction.opname in _GLOBAL_READS:
                global_names.add(instruction.argval)
            elif instruction.opname in _ATTRIBUTE_READS:
                attributes.add(instruction.argval)
        pending.extend(const for const in part.co_consts if isinstance(const, CodeType))
    return CodeNames(frozenset(global_names), frozenset(attributes))
