"""Manipulation functions of the array API standard.

>>> from tensorplay import array_api as xp
>>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])]), xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1).shape
(tensor([1, 2, 3]), (3, 4, 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorplay import functions
from tensorplay.array_api.array import Array, as_array, convert, promote
from tensorplay.core import dtypes, layout
from tensorplay.core.errors import (
    ArgumentValueError,
    DimensionError,
    LayoutError,
    ShapeError,
)
from tensorplay.tensor import Tensor


def broadcast_arrays(*arrays: Tensor) -> list[Array]:
    """The arrays broadcast to their common shape, as views."""
    shape = layout.broadcast_shapes("broadcast_arrays", [each.shape for each in arrays])
    return [broadcast_to(each, shape) for each in arrays]


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape to which shapes broadcast (of the standard's next version)."""
    return layout.broadcast_shapes("broadcast_shapes", shapes)


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Array:
    """A view of `x` repeated to a shape."""
    return as_array(functions.broadcast_to(x, shape), x)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Array:
    """Arrays joined along an existing axis; with `axis=None` as flat ones. The dtype is the common one."""
    dtype = promote(arrays)
    parts = [convert(each, dtype) for each in arrays]
    if axis is None:
        parts, axis = [each.reshape((-1,)) for each in parts], 0
    ndim = parts[0].ndim
    if any(each.ndim != ndim for each in parts) or not ndim:
        found = ", ".join(str(each.ndim) for each in parts)
        msg = f"concat: expected arrays with the same dimensions, at least one, found {found}"
        raise ShapeError(msg)
    place = layout.normalize_dim("concat", axis, ndim)
    return as_array(functions.cat(parts, place), *arrays)


def expand_dims(x: Tensor, /, axis: int = 0) -> Array:
    """A view with an axis of size 1 at `axis`, by name as in 2024.12 or by place as in 2025.12."""
    return as_array(functions.unsqueeze(x, axis), x)


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The order of elements reversed along axes, all by default."""
    return as_array(functions.flip(x, axes_of("flip", axis, x.ndim)), x)


def moveaxis(
    x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """Axes `source` moved to the places `destination`, the others in order."""
    return as_array(functions.movedim(x, source, destination), x)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Array:
    """Axis `k` of the result is axis `axes[k]` of `x`."""
    return as_array(functions.permute(x, axes), x)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Array:
    """Each element repeated, as often as `repeats` says, along an axis; without one `x` is flattened.

    In a compiled function the sum of an array `repeats` is asked of the data.
    """
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    place = layout.normalize_dim("repeat", axis, x.ndim)
    if not isinstance(repeats, Tensor):
        return as_array(functions.repeat_interleave(x, repeats, place), x)
    counts = convert(repeats, dtypes.int64).reshape((-1,))
    if counts.shape[0] == 1:
        counts = counts.expand((x.shape[place],))
    size = int(counts.sum()) if counts.array is None else None
    found = functions.repeat_interleave(x, counts, place, output_size=size)
    return as_array(found, x)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The same elements in row-major order with another shape.

    `copy=None` is a view where strides allow it, `copy=False` raises `ValueError` where they don't.
    """
    if copy:
        return as_array(functions.clone(x).reshape(shape))
    if copy is None:
        return as_array(functions.reshape(x, shape), x)
    try:
        return as_array(functions.view(x, shape), x)
    except LayoutError as error:
        msg = f"reshape: copy=False, but {error}"
        raise ArgumentValueError(msg) from None


def roll(
    x: Tensor,
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> Array:
    """Elements shifted along axes, those that leave one end entering at the other; without axes as if flat."""
    if axis is not None:
        axis = axis if isinstance(axis, tuple) else (axis,)
        shift = shift if isinstance(shift, tuple) else (shift,) * len(axis)
        totals: dict[int, int] = {}
        for each, amount in zip(axis, shift, strict=True):
            place = layout.normalize_dim("roll", each, x.ndim)
            totals[place] = totals.get(place, 0) + amount
        shift, axis = tuple(totals.values()), tuple(totals)
    return as_array(functions.roll(x, shift, axis), x)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Array:
    """A view without axes of size 1; another size raises `ValueError`."""
    axes = axes_of("squeeze", axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            msg = (
                f"squeeze: axis {each} has size {x.shape[each]}; only axes of size 1 can be removed"
            )
            raise ArgumentValueError(msg)
    kept = [size for place, size in enumerate(x.shape) if place not in axes]
    found = functions.squeeze(x, axes) if axes else functions.view(x, kept)
    return as_array(found, x)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Array:
    """Arrays of one shape joined along a new axis. The dtype is the common one."""
    dtype = promote(arrays)
    return as_array(functions.stack([convert(each, dtype) for each in arrays], axis), *arrays)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Array:
    """`x` repeated as a whole along each axis."""
    return as_array(functions.tile(x, repetitions), x)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The arrays along an axis, as views."""
    return tuple(as_array(each, x) for each in functions.unbind(x, axis))


def axes_of(name: str, axis: Any, ndim: int) -> tuple[int, ...]:  # noqa: ANN401  # None, one or several
    """Axes as a tuple of numbers that are not negative; None means all."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    places = tuple(layout.normalize_dim(name, each, ndim) for each in given) if ndim else given
    if not ndim and given:
        msg = f"{name}: axis {given[0]} does not exist in a 0-d array"
        raise DimensionError(msg)
    if len(set(places)) != len(places):
        msg = f"{name}: an axis stands twice in {axis}"
        raise ArgumentValueError(msg)
    return places


__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat",
    "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip
