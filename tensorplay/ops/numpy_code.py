"""Recorded scalar programs as functions of arrays: native ones (`native_code`), else one NumPy call an instruction.

The generated text of gelu's program:

    def fresh(input):
        t2 = f2(input, c1)
        ...
        return t9

`fresh` returns a new array, `into` writes its last result into `out`; both want arrays of at least
one dimension, since array functions of 0-d arrays may return scalars. `run` broadcasts, chooses the
output's strides and, where a long program meets large contiguous arrays, works in blocks that stay
in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.dtypes import DType
from tensorplay.ops import arrays
from tensorplay.ops.expression import Constant, Input, Program, Step
from tensorplay.ops.native_code import native_program
from tensorplay.ops.quiet import quiet

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_BLOCK = 1 << 14
"""Elements of a block: its temporaries stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The array functions of a program. A native one takes care of blocks, threads and warnings itself."""

    inputs: tuple[str, ...]
    fresh: Callable[..., Any]
    into: Callable[..., None]
    step_count: int
    native: _C.ElementProgram | None = None


def compile_program(program: Program) -> Kernels:
    """Return the array functions of a program."""
    native = native_program(program)
    if native is None:
        return _compile_numpy(program)

    def into(out: Array, *arrays: Array) -> None:
        native(*arrays, out)

    return Kernels(program.inputs, native, into, program.step_count, native)


def _compile_numpy(program: Program) -> Kernels:
    """Generate and compile the NumPy functions of a program."""
    namespace: dict[str, object] = {"copyto": np.copyto}
    names: list[str] = []
    lines: list[str] = []
    inputs: list[str] = []
    last = ""
    for place, node in enumerate(program.nodes):
        if isinstance(node, Input):
            names.append(f"a{len(inputs)}")
            inputs.append(node.name)
        elif isinstance(node, Constant):
            names.append(f"c{place}")
            namespace[f"c{place}"] = np.array([node.number], node.dtype.numpy)
        else:
            names.append(f"t{place}")
            namespace[f"f{place}"] = _function(program, node)
            operands = [names[i] for i in node.operands]
            for key, value in node.attrs.items():
                namespace[f"{key}{place}"] = value
                operands.append(f"{key}={key}{place}")
            last = f"f{place}({', '.join(operands)})"
            lines.append(f"    t{place} = {last}")
    result = names[program.output]
    function = namespace.get(f"f{program.output}")
    direct = isinstance(function, (np.ufunc, partial)) and last.startswith(f"f{program.output}(")
    stores = (
        [*lines[:-1], f"    {last[:-1]}, out)"]
        if direct
        else [*lines, f"    copyto(out, {result})"]
    )
    parameters = ", ".join(f"a{i}" for i in range(len(inputs)))
    returned = result if lines else f"{result}.copy()"
    source = "\n".join(
        [f"def fresh({parameters}):", *lines, f"    return {returned}",
         f"def into(out{', ' * bool(inputs)}{parameters}):", *stores, ""]
    )  # fmt: skip
    exec(compile(source, f"<numpy {result}>", "exec"), namespace)  # noqa: S102  # our own generated text
    fresh, into = namespace["fresh"], namespace["into"]
    assert callable(fresh)  # noqa: S101  # for the type checker
    assert callable(into)  # noqa: S101  # for the type checker
    return Kernels(tuple(inputs), fresh, into, len(lines))


def _function(program: Program, step: Step) -> Callable[..., Any]:
    """The array function of a step: the native one itself where it serves the dtype, which can write into `out`."""
    name = step.instruction.name
    if arrays.is_native(name, program.nodes[step.operands[0]].dtype):
        return arrays.native(name)
    return step.instruction.array


def element_strides(array: Array) -> tuple[int, ...]:
    """An array's strides in elements."""
    size = array.itemsize
    return tuple(stride // size for stride in array.strides)


def allocate(shape: Sequence[int], strides: Sequence[int] | None, dtype: DType) -> Array:
    """An uninitialized array with these element strides (None: contiguous)."""
    if strides is None or tuple(strides) == layout.contiguous_strides(shape):
        return _C.empty(shape, dtype)
    return _C.empty_strided(shape, strides, dtype)


_strides: dict[object, tuple[int, ...]] = {}
_LIMIT = 4096


def _result_strides(shape: tuple[int, ...], operands: Sequence[Array]) -> tuple[int, ...]:
    """`layout.pointwise_strides` of arrays, remembered."""
    key = (shape, *[(each.shape, each.strides, each.itemsize) for each in operands])
    found = _strides.get(key)
    if found is None:
        if len(_strides) >= _LIMIT:
            _strides.clear()
        layouts = [(each.shape, element_strides(each)) for each in operands]
        found = _strides[key] = layout.pointwise_strides(shape, layouts)
    return found


def run(
    kernels: Kernels,
    inputs: Sequence[Array],
    operands: Sequence[Array],
    shape: tuple[int, ...],
    dtype: DType,
    out: Array | None,
) -> Array:
    """Compute a program on arrays that broadcast to `shape`.

    The layout of the result follows from the `operands`.
    """
    fresh = out is None
    if out is None:
        strides = None
        if any(not each.flags.c_contiguous for each in operands):
            strides = _result_strides(shape, operands)
        out = allocate(shape, strides, dtype)
    if kernels.native is not None:
        kernels.native(*inputs, out)
        return out
    inputs = [each if each.ndim else each.reshape(1) for each in inputs]
    if not shape:
        quiet(kernels.into, out.reshape(1), *inputs)
        return out
    if kernels.step_count > 1 and fresh and out.size > _BLOCK and _blocks(kernels, inputs, out):
        return out
    quiet(kernels.into, out, *inputs)
    return out


def _blocks(kernels: Kernels, arrays: Sequence[Array], out: Array) -> bool:
    """Work in blocks where every array is contiguous, of the output's shape or one element."""
    if not out.flags.c_contiguous:
        return False
    for each in arrays:
        if each.size != 1 and (each.shape != out.shape or not each.flags.c_contiguous):
            return False
    flat = [each.reshape(-1) for each in arrays]
    result = out.reshape(-1)
    for start in range(0, result.size, _BLOCK):
        stop = start + _BLOCK
        parts = [each[start:stop] if each.size != 1 else each for each in flat]
        quiet(kernels.into, result[start:stop], *parts)
    return True
