"""Recorded scalar programs as native element programs: the whole operator in one call into `_C`.

In: a `Program` whose values are all float32, or all float64, and truth values. Out: a `_C.ElementProgram`, which runs it
block by block, its temporaries in the cache, on all threads; None for other programs, which `numpy_code` runs.

>>> from tensorplay.core import dtypes
>>> from tensorplay.ops.expression import Recorder
>>> recorder = Recorder()
>>> x = recorder.input("x", dtypes.float32)
>>> native = native_program(recorder.finish(x * 2 + x))
>>> native(dtypes.float32.numpy.type([1, 2]))
array([3., 6.], dtype=float32)
"""

from __future__ import annotations

from typing import Final

from tensorplay import _C
from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType
from tensorplay.ops.expression import Constant, Input, Program, Step

_OF_BOOLS: Final = {
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "bitwise_not": "logical_not",
}
_TABLED: Final = (dtypes.float32, dtypes.float64)


def native_program(program: Program) -> _C.ElementProgram | None:
    """Return the native form of a program, or None where it has none."""
    dtype = _float_dtype(program)
    if dtype is None or len(program.nodes) > _C.ELEMENT_VALUES:
        return None
    inputs = [place for place, node in enumerate(program.nodes) if isinstance(node, Input)]
    constants = [place for place, node in enumerate(program.nodes) if isinstance(node, Constant)]
    numbers = {place: number for number, place in enumerate([*inputs, *constants])}
    steps: list[tuple[str | int, ...]] = []
    for place, node in enumerate(program.nodes):
        if not isinstance(node, Step):
            continue
        name = _function(program, node, dtype)
        operands = [numbers[i] for i in node.operands]
        if name is None:
            return None
        if name == "same":
            numbers[place] = operands[0]
            continue
        if _C.ELEMENT_FUNCTIONS.get(name) != len(operands):
            return None
        numbers[place] = len(inputs) + len(constants) + len(steps)
        steps.append((name, *operands))
    last = len(inputs) + len(constants) + len(steps) - 1
    if not steps or not 0 < len(inputs) <= _C.ELEMENT_INPUTS or numbers[program.output] != last:
        return None
    kinds = "".join("?" if program.nodes[place].dtype.kind == "b" else "f" for place in inputs)
    values = tuple(float(program.nodes[place].number) for place in constants)  # type: ignore[union-attr, arg-type]  # constants, real
    return _C.ElementProgram(
        dtype.numpy, kinds, values, tuple(steps), program.dtype is dtypes.bool_
    )


def _float_dtype(program: Program) -> DType | None:
    """The one float dtype of a program's values, those that are bools aside."""
    found = {node.dtype for node in program.nodes} - {dtypes.bool_}
    dtype = found.pop() if len(found) == 1 else None
    return dtype if dtype in _TABLED else None


def _function(program: Program, step: Step, dtype: DType) -> str | None:
    """The element function of a step, `same` for none, None where there is none that serves it."""
    name = step.instruction.name
    source = program.nodes[step.operands[0]].dtype
    if name == "to_dtype":
        return "truth" if step.dtype is dtypes.bool_ and source is dtype else "same"
    if step.attrs:
        return None
    return _OF_BOOLS.get(name, name) if source is dtypes.bool_ else name
