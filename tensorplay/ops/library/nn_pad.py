"""Padding: values around a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import Number, int64
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def pad(input: Tensor, pad: Size, mode: str = "constant", value: Number | None = None) -> Tensor:
    """Add elements at both ends of dimensions, the last dimension first.

    ``pad`` has two numbers a dimension, ``(last before, last after, second to last before, …)``; a
    negative one takes elements away. ``mode`` says what is added: ``"constant"`` the ``value`` (0 by
    default), ``"replicate"`` the nearest element, ``"reflect"`` the mirror image without the border,
    ``"circular"`` the other end.
    """
    widths = tuple(pad)
    if len(widths) % 2 != 0 or len(widths) > 2 * input.ndim:
        raise ShapeError(
            f"pad: expected two numbers for each of up to {input.ndim} dimensions, got {widths}"
        )
    if mode not in {"constant", "replicate", "reflect", "circular"}:
        raise ArgumentValueError(
            f"pad: mode is 'constant', 'replicate', 'reflect' or 'circular', not {mode!r}"
        )
    for i in range(0, len(widths), 2):
        dim, before, after = input.ndim - 1 - i // 2, widths[i], widths[i + 1]
        if input.shape[dim] + before + after < 0:
            raise ShapeError(
                f"pad: ({before}, {after}) takes away more than dimension {dim} of shape "
                f"{tuple(input.shape)} has"
            )
        if before == 0 and after == 0:
            continue
        if mode == "constant":
            input = _pad_constant(input, dim, before, after, 0 if value is None else value)
        else:
            input = _pad_by_index(input, dim, before, after, mode)
    return input


def _pad_constant(x: Tensor, dim: int, before: int, after: int, value: Number) -> Tensor:
    first, last = max(0, -before), x.shape[dim] - max(0, -after)
    inside = x.narrow(dim, first, max(last - first, 0))
    size = x.shape[dim] + before + after
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    base = tp.full(shape, value, dtype=x.dtype, device=x.device)
    if inside.shape[dim] == 0:
        return base
    start = max(before, 0)
    return tp.slice_scatter(base, inside, dim, start, start + inside.shape[dim])


def _pad_by_index(x: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    size = x.shape[dim]
    limit = size - 1 if mode == "reflect" else size
    if size == 0 or (mode != "replicate" and max(before, after) > limit):
        raise ShapeError(
            f"pad: mode {mode!r} adds at most {max(limit, 0)} elements to a dimension of {size}, "
            f"got ({before}, {after})"
        )
    places = tp.arange(-before, size + after, dtype=int64)
    if mode == "replicate":
        places = places.clamp(0, size - 1)
    elif mode == "circular":
        places = tp.remainder(places, size)
    else:
        places = (size - 1) - ((size - 1) - places.abs()).abs()
    return x.index_select(dim, places)


@pad.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), (1, 2))
    yield sample(Arg((2, 3), layout="transposed"), (0, 1, 2, 0), "constant", 1.5)
    yield sample(Arg((2, 3)), (-1, 1, 1, -1))
    yield sample(Arg((2, 3)), (4, 3), "replicate")
    yield sample(Arg((2, 3)), (2, 1), "reflect")
    yield sample(Arg((2, 3)), (3, 2, 1, 0), "circular")
    yield bad(ShapeError, "two numbers", Arg((2, 3)), (1,))
    yield bad(ShapeError, "takes away more", Arg((2, 3)), (-2, -2))
    yield bad(ShapeError, "at most 2", Arg((2, 3)), (3, 0), "reflect")
    yield bad(ArgumentValueError, "mode", Arg((2, 3)), (1, 1), "mirror")
