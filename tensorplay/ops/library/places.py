"""Elements at flat places of images: read, added, put. The images' dimensions are the last ones.

`places` has the dimensions before those in common with the images, and counts an image's elements in row-major order:
what `max_pool2d` returns as indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core.dtypes import int64
from tensorplay.core.errors import DTypeError, IndexRangeError, ShapeError
from tensorplay.core.layout import contiguous_strides
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import index
from tensorplay.ops.kinds.index import Gather, Indices, Read, Scatter
from tensorplay.ops.library.windows import Array, meta_of, narrow, wide
from tensorplay.ops.monoids import SUM
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


def _check(shape: Sequence[int], places: TensorMeta, ndim: int) -> None:
    if places.dtype is not int64:
        raise DTypeError(f"places are int64, found {places.dtype}; convert with .long()")
    lead = len(shape) - ndim
    if places.ndim != len(shape) or places.shape[:lead] != tuple(shape)[:lead]:
        raise ShapeError(
            f"places of shape {places.shape} are not of images of shape {tuple(shape)}: all but the "
            f"last {ndim} sizes must agree"
        )


def _place(shape: Sequence[int], ndim: int, i: Indices, read: Read) -> list[Any]:
    """The index of the element that `places` names at `i`."""
    lead = len(shape) - ndim
    image = tuple(shape)[lead:]
    flat = read("places", i, prod(image), wraps=False)
    inside = [
        flat // t if k == 0 else flat // t % n
        for k, (n, t) in enumerate(zip(image, contiguous_strides(image), strict=True))
    ]
    return [*i[:lead], *inside]


def _check_range(places: Array, count: int) -> None:
    if places.size and (places.min() < 0 or places.max() >= count):
        raise IndexRangeError(
            f"places are from 0 to {count - 1}, found {places.min()} to {places.max()}"
        )


# ---- reading --------------------------------------------------------------------------------------


def _read_meta(input: TensorMeta, places: TensorMeta, ndim: int) -> TensorMeta:
    _check(input.shape, places, ndim)
    return TensorMeta(places.shape, input.dtype, input.device)


def _read_form(input: TensorMeta, places: TensorMeta, ndim: int) -> Gather:
    shape = input.shape
    return Gather("input", places.shape, lambda i, read: _place(shape, ndim, i, read))


@index(meta=_read_meta, form=_read_form, public=False, batching=leading)
def read_at_places(input: Array, places: Array, ndim: int) -> Array:
    """The elements of images of `ndim` dimensions at flat places."""
    _read_meta(meta_of(input), meta_of(places), ndim)
    lead = input.ndim - ndim
    count = prod(input.shape[lead:])
    _check_range(places, count)
    flat = input.reshape(*input.shape[:lead], count)
    spots = places.reshape(*places.shape[:lead], prod(places.shape[lead:]))
    return np.take_along_axis(flat, spots, -1).reshape(places.shape)


@read_at_places.gradient("input")
def _(grad: Tensor, input: TensorMeta, places: Tensor, ndim: int) -> Tensor:
    return add_at_places(_zeros(input, grad), places, grad, ndim)


@read_at_places.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del result
    found: Tensor | None = None if tangents[0] is None else operator(tangents[0], *values[1:])
    return found


@read_at_places.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), Arg((2, 2, 2), int64, 0, 12), 2)
    yield sample(Arg((2, 5), layout="transposed"), Arg((2, 3), int64, 0, 5), 1)
    yield sample(Arg((0, 5)), Arg((0, 3), int64, 0, 5), 1)
    yield bad(ShapeError, "must agree", Arg((2, 5)), Arg((3, 3), int64, 0, 5), 1)
    yield bad(DTypeError, "int64", Arg((2, 5)), Arg((2, 3)), 1)
    yield bad(IndexRangeError, "from 0 to 4", Arg((1, 5)), Arg((1, 1), int64, values=[5]), 1)


# ---- adding ---------------------------------------------------------------------------------------


def _add_meta(input: TensorMeta, places: TensorMeta, src: TensorMeta, ndim: int) -> TensorMeta:
    _check(input.shape, places, ndim)
    if src.shape != places.shape or src.dtype is not input.dtype:
        raise ShapeError(
            f"one value a place: expected {input.dtype} of shape {places.shape}, found {src.dtype} "
            f"of shape {src.shape}"
        )
    return TensorMeta(input.shape, input.dtype, input.device)


def _add_form(input: TensorMeta, places: TensorMeta, src: TensorMeta, ndim: int) -> Scatter:
    del src
    shape = input.shape
    return Scatter(
        "input", "src", places.shape, lambda i, read: _place(shape, ndim, i, read), lambda i: i, SUM
    )


@index(meta=_add_meta, form=_add_form, public=False, batching=leading)
def add_at_places(input: Array, places: Array, src: Array, ndim: int) -> Array:
    """`input`, images of `ndim` dimensions, with values added at flat places."""
    _add_meta(meta_of(input), meta_of(places), meta_of(src), ndim)
    lead = input.ndim - ndim
    count, each = prod(input.shape[lead:]), prod(places.shape[lead:])
    _check_range(places, count)
    out = np.array(wide(input), order="C")
    planes = prod(input.shape[:lead])
    spots = np.ascontiguousarray(places).reshape(planes, each)
    values = wide(src).reshape(planes, each)
    if out.dtype.kind == "c":
        np.add.at(out.reshape(planes, count), (np.arange(planes)[:, None], spots), values)
    else:
        _C.merge_at(values, spots, _C.view(out, (planes, each), (count, 0), 0), count, 1)
    return narrow(out, input)


@add_at_places.gradient("input")
def _(grad: Tensor) -> Tensor:
    return grad


@add_at_places.gradient("src")
def _(grad: Tensor, places: Tensor, ndim: int) -> Tensor:
    found: Tensor = read_at_places(grad, places, ndim)
    return found


@add_at_places.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    _, places, _, ndim = values
    base, src = tangents[0], tangents[-1]
    if src is None:
        return base
    found: Tensor = operator(_zeros(result, src) if base is None else base, places, src, ndim)
    return found


def _zeros(like: TensorMeta | Tensor, dtype_like: Tensor) -> Tensor:
    found: Tensor = tp.zeros(like.shape, dtype=dtype_like.dtype, device=dtype_like.device)
    return found


@add_at_places.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), Arg((2, 2, 2), int64, 0, 12), Arg((2, 2, 2)), 2)
    yield sample(Arg((2, 5), layout="transposed"), Arg((2, 6), int64, 0, 5), Arg((2, 6)), 1)
    yield sample(Arg((0, 5)), Arg((0, 3), int64, 0, 5), Arg((0, 3)), 1)
    yield bad(
        ShapeError, "one value a place", Arg((2, 5)), Arg((2, 3), int64, 0, 5), Arg((2, 4)), 1
    )
    yield bad(
        IndexRangeError, "from 0 to 4", Arg((1, 5)), Arg((1, 1), int64, values=[-1]), Arg((1, 1)), 1
    )
