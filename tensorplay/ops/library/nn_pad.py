"""Padding: values around a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import Number
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.padding import constant_pad, extended
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

    >>> tp.nn.functional.pad(tp.tensor([1, 2, 3]), (2, 1), "reflect")
    tensor([3, 2, 1, 2, 3, 2])
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
    if value and mode != "constant":
        raise ArgumentValueError(f"pad: mode {mode!r} takes no value, got {value}")
    before, after = [0] * input.ndim, [0] * input.ndim
    for i in range(0, len(widths), 2):
        dim = input.ndim - 1 - i // 2
        before[dim], after[dim] = widths[i], widths[i + 1]
        if input.shape[dim] + before[dim] + after[dim] < 0:
            raise ShapeError(
                f"pad: ({before[dim]}, {after[dim]}) takes away more than dimension {dim} of shape "
                f"{tuple(input.shape)} has"
            )
    if mode == "constant":
        return _constant(input, before, after, 0 if value is None else value)
    for dim in reversed(range(input.ndim)):
        _check(input, dim, before[dim], after[dim], mode)
        more = max(before[dim], 0), max(after[dim], 0)
        if mode == "circular":  # the circle is what is left
            input = _taken(input, dim, before[dim], after[dim])
        if any(more):
            input = extended(input, dim, *more, mode)
        if mode != "circular":
            input = _taken(input, dim, before[dim], after[dim])
    return input


def _constant(input: Tensor, before: list[int], after: list[int], value: Number) -> Tensor:
    for dim in range(input.ndim):
        own = input.shape[dim]
        if -before[dim] > own or -after[dim] > own:  # nothing of the tensor is left, only the value
            input = input.narrow(dim, 0, 0)
            before[dim], after[dim] = own + before[dim] + after[dim], 0
        else:
            input = _taken(input, dim, before[dim], after[dim])
            before[dim], after[dim] = max(before[dim], 0), max(after[dim], 0)
    if not any(before) and not any(after):
        return input.clone()
    found: Tensor = constant_pad(input, before, after, value)
    return found


def _taken(input: Tensor, dim: int, before: int, after: int) -> Tensor:
    """The tensor without the elements that negative widths take away."""
    first, last = max(0, -before), input.shape[dim] - max(0, -after)
    if (first, last) == (0, input.shape[dim]):
        return input
    return input.narrow(dim, first, last - first)


def _check(x: Tensor, dim: int, before: int, after: int, mode: str) -> None:
    size = x.shape[dim]
    if before <= 0 and after <= 0:
        return
    limit = size - 1 if mode == "reflect" else size
    if size == 0 or (mode != "replicate" and max(before, after) > limit):
        raise ShapeError(
            f"pad: mode {mode!r} adds at most {max(limit, 0)} elements to a dimension of {size}, "
            f"got ({before}, {after})"
        )


@pad.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), (1, 2))
    yield sample(Arg((2, 3), layout="transposed"), (0, 1, 2, 0), "constant", 1.5)
    yield sample(Arg((2, 3)), (-1, 1, 1, -1))
    yield sample(Arg((2, 3)), (4, 3), "replicate")
    yield sample(Arg((2, 3)), (2, 1), "reflect")
    yield sample(Arg((2, 4)), (-1, 2), "reflect")
    yield sample(Arg((2, 3)), (3, 2, 1, 0), "circular")
    yield sample(Arg((2, 3)), (0, 0))
    yield bad(ShapeError, "two numbers", Arg((2, 3)), (1,))
    yield bad(ShapeError, "takes away more", Arg((2, 3)), (-2, -2))
    yield bad(ShapeError, "at most 2", Arg((2, 3)), (3, 0), "reflect")
    yield bad(ArgumentValueError, "mode", Arg((2, 3)), (1, 1), "mirror")
    yield bad(ArgumentValueError, "takes no value", Arg((2, 3)), (1, 1), "reflect", 1.0)
