"""What a function's code reads by name: its globals, and the attributes of whatever it holds.

>>> def f(x):
...     return scale(x.flat).total
>>> sorted(code_names(f.__code__).attributes), sorted(code_names(f.__code__).globals)
(['flat', 'total'], ['scale'])
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Sequence
from dis import Instruction
from types import CodeType
from typing import Final, NamedTuple

_ATTRIBUTE_READS: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_GLOBAL_READS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_CELL_READS: Final = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF"})
_READS: Final = _ATTRIBUTE_READS | _GLOBAL_READS | _CELL_READS
_UPDATE_WINDOW: Final = 24
"""Instructions within which `name += expression` stores what it loaded."""


class CodeNames(NamedTuple):
    """The names that a piece of code reads, including the code of functions defined inside it.

    `used` are those that are read for more than to update them: `n` isn't, in `n += 1`.
    """

    globals: frozenset[str]
    attributes: frozenset[str]
    used: frozenset[str]


@functools.lru_cache(maxsize=4096)
def code_names(code: CodeType) -> CodeNames:
    """Return the names that `code` and the code nested in it read. Linear in its length."""
    global_names: set[str] = set()
    attributes: set[str] = set()
    used: set[str] = set()
    pending = [code]
    while pending:
        part = pending.pop()
        instructions = list(dis.get_instructions(part))
        for place, instruction in enumerate(instructions):
            if instruction.opname not in _READS:
                continue
            name = instruction.argval
            if instruction.opname in _GLOBAL_READS:
                global_names.add(name)
            elif instruction.opname in _ATTRIBUTE_READS:
                attributes.add(name)
            if not _is_update(instructions[place + 1 : place + _UPDATE_WINDOW], name):
                used.add(name)
        pending.extend(const for const in part.co_consts if isinstance(const, CodeType))
    return CodeNames(frozenset(global_names), frozenset(attributes), frozenset(used))


def _is_update(following: Sequence[Instruction], name: str) -> bool:
    """Whether a name that was just loaded is only stored again, after an operator like `+=`."""
    is_in_place = False
    for instruction in following:
        if instruction.opname.startswith("STORE_"):
            return is_in_place and instruction.argval == name
        if instruction.opname == "BINARY_OP":
            is_in_place = instruction.argrepr.endswith("=")
        elif instruction.opname.startswith(("JUMP", "POP_JUMP", "RETURN")):
            return False
    return False
