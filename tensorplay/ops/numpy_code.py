"""Recorded scalar programs as NumPy functions: one array call an instruction.

The generated text of gelu's program:

    def fresh(input):
        t2 = f2(input, c1)
        ...
        return t9

`fresh` returns a new array, `into` writes its last result into `out`. `run` broadcasts, chooses the output's strides and,
where a long program meets large contiguous arrays, works in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.dtypes import DType
from tensorplay.ops.expression import Constant, Input, Program
from tensorplay.ops.quiet import quiet

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_BLOCK = 1 << 14
"""Elements of a block: its temporaries stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The NumPy forms of a program."""

    inputs: tuple[str, ...]
    fresh: Callable[..., Any]
    into: Callable[..., None]
    source: str
    step_count: int


def compile_program(program: Program) -> Kernels:
    """Generate and compile the NumPy functions of a program."""
    namespace: dict[str, object] = {"copyto": np.copyto, "asarray": np.asarray}
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
            namespace[f"c{place}"] = np.array(node.number, node.dtype.numpy)
        else:
            names.append(f"t{place}")
            namespace[f"f{place}"] = node.instruction.array
            operands = [names[i] for i in node.operands]
            for key, value in node.attrs.items():
                namespace[f"{key}{place}"] = value
                operands.append(f"{key}={key}{place}")
            last = f"f{place}({', '.join(operands)})"
            lines.append(f"    t{place} = {last}")
    result = names[program.output]
    function = namespace.get(f"f{program.output}")
    direct = isinstance(function, np.ufunc) and last.startswith(f"f{program.output}(")
    stores = [*lines[:-1], f"    {last[:-1]}, out=out)"] if direct else [*lines, f"    copyto(out, {result})"]
    parameters = ", ".join(f"a{i}" for i in range(len(inputs)))
    returned = result if lines else f"asarray({result}).copy()"
    source = "\n".join(
        [f"def fresh({parameters}):", *lines, f"    return {returned}",
         f"def into(out{', ' * bool(inputs)}{parameters}):", *stores, ""]
    )  # fmt: skip
    exec(compile(source, f"<numpy {result}>", "exec"), namespace)  # noqa: S102  # our own generated text
    fresh, into = namespace["fresh"], namespace["into"]
    assert callable(fresh)  # noqa: S101
    assert callable(into)  # noqa: S101
    return Kernels(tuple(inputs), fresh, into, source, len(lines))


def element_strides(array: Array) -> tuple[int, ...]:
    """An array's strides in elements."""
    size = array.itemsize
    return tuple(stride // size for stride in array.strides)


def allocate(shape: Sequence[int], strides: Sequence[int] | None, dtype: DType) -> Array:
    """An uninitialized array with these element strides (None: contiguous)."""
    if strides is None or layout.is_contiguous(shape, strides):
        return _C.empty(shape, dtype)
    return _C.empty_strided(shape, strides, dtype)


def run(
    kernels: Kernels,
    inputs: Mapping[str, Array],
    operands: Sequence[Array],
    shape: tuple[int, ...],
    dtype: DType,
    out: Array | None,
) -> Array:
    """Compute a program on arrays that broadcast to `shape`; the layout of the result follows from the `operands`."""
    arrays = [inputs[name] for name in kernels.inputs]
    disjoint = out is None
    if out is None:
        strides = None
        if any(not each.flags.c_contiguous for each in operands):
            layouts = [(each.shape, element_strides(each)) for each in operands]
            strides = layout.pointwise_strides(shape, layouts)
        out = allocate(shape, strides, dtype)
    if kernels.step_count > 1 and disjoint and out.size > _BLOCK and _blocks(kernels, arrays, out):
        return out
    quiet(kernels.into, out, *arrays)
    return out


def _blocks(kernels: Kernels, arrays: Sequence[Array], out: Array) -> bool:
    """Work in blocks where every array is contiguous, of the output's shape or 0-d."""
    if not out.flags.c_contiguous:
        return False
    for each in arrays:
        if each.ndim and (each.shape != out.shape or not each.flags.c_contiguous):
            return False
    flat = [each.reshape(-1) if each.ndim else each for each in arrays]
    result = out.reshape(-1)
    for start in range(0, result.size, _BLOCK):
        stop = start + _BLOCK
        parts = [each[start:stop] if each.ndim else each for each in flat]
        quiet(kernels.into, result[start:stop], *parts)
    return True
