"""What windows hold, merged: the largest element, its place, the sum, and the adjoint of the sum.

The parts of pools and of `fold`. ``kernel_size``, ``stride``, ``padding`` and ``dilation`` have one number a spatial dimension,
which are the last ones. Eager kernels go over strided views of padded images (`windows`); compiled, a small window is
read where it is used, and needs no memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core.dtypes import Number, bool_, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.layout import contiguous_strides
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import index
from tensorplay.ops.kinds.index import Condition, Indices, Merged, Piece, Pieces
from tensorplay.ops.library.places import add_at_places, read_at_places
from tensorplay.ops.library.windows import (
    Array,
    Windows,
    make_windows,
    merge,
    meta_of,
    narrow,
    wide,
)
from tensorplay.ops.monoids import ARGMAX, MAX, SUM, lowest
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size, dtype_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

CHUNK_BYTES = 1 << 19
"""What a chunk of padded images may take, so that they are read from the cache."""


def _windows(
    input: TensorMeta,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
) -> Windows:
    image = input.shape[input.ndim - len(kernel_size) :]
    return make_windows(
        "windows", image, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode
    )


def _merged_meta(input: TensorMeta, kernel_size: Size, *window: Any) -> TensorMeta:  # noqa: ANN401  # as declared
    if input.dtype is bool_:
        raise DTypeError("windows: expected numbers, got bool; convert with .to(dtype)")
    output = _windows(input, kernel_size, *window).output
    return TensorMeta((*input.shape[: -len(kernel_size)], *output), input.dtype, input.device)


def _ordered_meta(input: TensorMeta, kernel_size: Size, *window: Any) -> TensorMeta:  # noqa: ANN401  # as declared
    if input.dtype.kind == "c":
        raise DTypeError(f"windows: {input.dtype} has no order, so no largest element")
    return _merged_meta(input, kernel_size, *window)


def _places_meta(input: TensorMeta, kernel_size: Size, *window: Any) -> TensorMeta:  # noqa: ANN401  # as declared
    return TensorMeta(_ordered_meta(input, kernel_size, *window).shape, int64, input.device)


# ---- the form -------------------------------------------------------------------------------------


def _pieces(input: TensorMeta, windows: Windows, other: Number) -> Pieces:
    """The windows' elements, ``(…, *output, *kernel)``: from the image where they lie inside, else a number."""
    n = windows.ndim
    lead = input.shape[:-n]

    def places(i: Indices) -> list[Any]:
        return [
            i[len(lead) + k] * windows.stride[k]
            + i[len(lead) + n + k] * windows.dilation[k]
            - windows.padding[k]
            for k in range(n)
        ]

    def conditions(i: Indices) -> list[Condition]:
        return [
            Condition(place, 0, own)
            for place, own, padded in zip(places(i), windows.image, windows.padded, strict=True)
            if own != padded
        ]

    inside = Piece("input", conditions, lambda i: [*i[: len(lead)], *places(i)])
    outside = Piece(other, lambda _: [], lambda i: i)
    shape = (*lead, *windows.output, *windows.kernel)
    return Pieces(shape, (inside,) if windows.image == windows.padded else (inside, outside))


def _max_form(input: TensorMeta, kernel_size: Size, *window: Any) -> Merged:  # noqa: ANN401  # as declared
    windows = _windows(input, kernel_size, *window)
    return Merged(_pieces(input, windows, lowest(input.dtype)), windows.ndim, MAX)


def _places_form(input: TensorMeta, kernel_size: Size, *window: Any) -> Merged:  # noqa: ANN401  # as declared
    windows = _windows(input, kernel_size, *window)
    pieces = _pieces(input, windows, lowest(input.dtype))
    strides = contiguous_strides(windows.image)

    def place(i: Indices) -> Any:  # noqa: ANN401  # an index
        inner = pieces.pieces[0].place(i)[-windows.ndim :]
        return sum(p * s for p, s in zip(inner, strides, strict=True))

    return Merged(pieces, windows.ndim, ARGMAX, place)


def _sum_form(input: TensorMeta, kernel_size: Size, *window: Any) -> Merged:  # noqa: ANN401  # as declared
    windows = _windows(input, kernel_size, *window)
    return Merged(_pieces(input, windows, 0), windows.ndim, SUM)


# ---- kernels --------------------------------------------------------------------------------------


def _rows_first(view: Array, n: int) -> Array:
    """``(planes, *kernel, *output)`` to ``(planes, *rows of the output, *kernel, columns)``: what runs as a row is long."""
    order = [0, *range(1 + n, 2 * n), *range(1, 1 + n), 2 * n]
    return view.transpose(order)


def _over_points(out: Array, windows: Windows) -> Array:
    """A result of planes, seen once for each point of the windows."""
    strides = tuple(each // out.itemsize for each in out.strides)
    n = windows.ndim
    shape = (len(out), *windows.kernel, *windows.output)
    return _C.view(out, shape, (strides[0], *(0,) * n, *strides[1:]), 0)


def _merge_windows(name: str, input: Array, windows: Windows, other: Number) -> Array:
    """Merge the windows of every image into a result that starts as `other`."""
    n = windows.ndim
    x = wide(input)
    planes = x.reshape(prod(x.shape[:-n]), *windows.image)
    out = _C.empty((len(planes), *windows.output), x.dtype)
    out.fill(other)
    step = max(1, CHUNK_BYTES // max(1, prod(windows.padded) * x.itemsize))
    if windows.padded == windows.image:
        step = max(1, len(planes))
    for start in range(0, len(planes), step):
        some = slice(start, start + step)
        view = windows.over(windows.pad(planes[some], other))
        merge(name, _rows_first(view, n), _rows_first(_over_points(out[some], windows), n), n)
    return narrow(out.reshape(*x.shape[:-n], *windows.output), input)


@index(meta=_ordered_meta, form=_max_form, public=False, batching=leading)
def window_max(
    input: Array, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> Array:
    """The largest element of each window; NaN is larger than any number, and padding is never taken."""
    _ordered_meta(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    windows = _windows(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    return _merge_windows("maximum", input, windows, lowest(dtype_of(wide(input))))


@index(
    meta=_places_meta,
    form=_places_form,
    public=False,
    batching=leading,
    not_differentiable="places are integers",
)
def window_places(
    input: Array, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> Array:
    """The flat place in the image of the first largest element of each window."""
    _ordered_meta(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    windows = _windows(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    n = windows.ndim
    x = wide(input)
    planes = x.reshape(prod(x.shape[:-n]), *windows.image)
    places = _C.empty((len(planes), *windows.output), np.dtype(np.int64))
    points = np.arange(prod(windows.kernel), dtype=np.int32).reshape(windows.kernel)
    numbers = _rows_first(points.reshape(1, *windows.kernel, *[1] * n), n)
    first, corner, steps = _numbering(windows)
    other = lowest(dtype_of(x))
    step = max(1, CHUNK_BYTES // max(1, prod(windows.padded) * x.itemsize))
    for start in range(0, len(planes), step):
        some = slice(start, start + step)
        best = np.full(places[some].shape, other, x.dtype)
        found = np.empty(best.shape, np.int32)
        found[...] = first
        view = _rows_first(windows.over(windows.pad(planes[some], other)), n)
        _C.merge_numbers(
            view,
            np.broadcast_to(numbers, view.shape),
            _rows_first(_over_points(best, windows), n),
            _rows_first(_over_points(found, windows), n),
            n,
        )
        np.add(np.take(steps, found), corner, out=places[some])
    return places.reshape(*x.shape[:-n], *windows.output)


def _numbering(windows: Windows) -> tuple[Array, Array, Array]:
    """For each window the number of its first point inside of the image and the flat place of its corner.

    And for each number how far its point is from the corner.
    """
    n = windows.ndim
    first: Any = 0
    corner: Any = 0
    step: Any = 0
    for k, stride in enumerate(contiguous_strides(windows.image)):
        rest = (-1, *[1] * (n - 1 - k))
        start = np.arange(windows.output[k]) * windows.stride[k] - windows.padding[k]
        skipped = np.maximum(-(start // windows.dilation[k]), 0)
        first = first * windows.kernel[k] + skipped.reshape(rest)
        corner = corner + start.reshape(rest) * stride
        step = step + np.arange(windows.kernel[k]).reshape(rest) * (windows.dilation[k] * stride)
    return first.astype(np.int32), corner, step.reshape(-1)


@index(meta=_merged_meta, form=_sum_form, public=False, linear=True, batching=leading)
def window_sum(
    input: Array, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> Array:
    """The sum of each window, padding counting as zero."""
    _merged_meta(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    windows = _windows(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    return _merge_windows("add", input, windows, 0)


# ---- derivatives ----------------------------------------------------------------------------------


@window_max.gradient("input")
def _(
    grad: Tensor, input: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool,
) -> Tensor:  # fmt: skip
    places = window_places(input, kernel_size, stride, padding, dilation, ceil_mode)
    return add_at_places(tp.zeros_like(input, dtype=grad.dtype), places, grad, len(kernel_size))


@window_max.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, result
    if tangents[0] is None:
        return None
    places: Tensor = window_places(*values)
    size: Any = values[1]
    return read_at_places(tangents[0], places, len(size))


@window_sum.gradient("input")
def _(
    grad: Tensor, input: TensorMeta, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool,
) -> Tensor:  # fmt: skip
    size = input.shape[input.ndim - len(kernel_size) :]
    return window_spread(grad, size, kernel_size, stride, padding, dilation, ceil_mode)


def _spread_meta(
    input: TensorMeta,
    image_size: Size,
    kernel_size: Size,
    *window: Any,  # noqa: ANN401  # as declared
) -> TensorMeta:
    n = len(kernel_size)
    image = TensorMeta((*input.shape[:-n], *image_size), input.dtype, input.device)
    expected = _merged_meta(image, kernel_size, *window).shape
    if expected != input.shape:
        raise ShapeError(
            f"windows: an image of size {tuple(image_size)} has windows of shape {expected}, "
            f"not {tuple(input.shape)}"
        )
    return image


def _spread_form(
    input: TensorMeta,
    image_size: Size,
    kernel_size: Size,
    *window: Any,  # noqa: ANN401  # as declared
) -> Merged:
    """Each place of the image looks for the windows that it is in."""
    image = _spread_meta(input, image_size, kernel_size, *window)
    windows = _windows(image, kernel_size, *window)
    n, lead = windows.ndim, input.shape[: -len(kernel_size)]
    searches = [_search(windows, k) for k in range(n)]

    def each(i: Indices) -> list[tuple[Any, list[Condition]]]:
        return [searches[k](i[len(lead) + k], i[len(lead) + n + k]) for k in range(n)]

    inside = Piece(
        "input",
        lambda i: [condition for _, found in each(i) for condition in found],
        lambda i: [*i[: len(lead)], *(window for window, _ in each(i))],
    )
    counts = tuple(
        k if d != 1 else -(-k // s)
        for k, s, d in zip(windows.kernel, windows.stride, windows.dilation, strict=True)
    )
    outside = Piece(0, lambda _: [], lambda i: i)
    return Merged(Pieces((*image.shape, *counts), (inside, outside)), n, SUM)


def _search(windows: Windows, k: int) -> Callable[[Any, Any], tuple[Any, list[Condition]]]:
    """For a place and a number: the window that is tried, and when the place is in it, along one dimension."""
    size, stride = windows.kernel[k], windows.stride[k]
    padding, dilation, count = windows.padding[k], windows.dilation[k], windows.output[k]

    def by_window(place: Any, j: Any) -> tuple[Any, list[Condition]]:  # noqa: ANN401  # indices
        window = (place + padding) // stride - j
        found = [Condition(window, 0, count)]
        if size % stride:
            found.append(Condition((place + padding) % stride + j * stride, 0, size))
        return window, found

    def by_point(place: Any, j: Any) -> tuple[Any, list[Condition]]:  # noqa: ANN401  # indices
        start = place + padding - j * dilation
        return start // stride, [Condition(start, 0, (count - 1) * stride + 1, stride)]

    return by_window if dilation == 1 else by_point


@index(meta=_spread_meta, form=_spread_form, public=False, linear=True, batching=leading)
def window_spread(
    input: Array,
    image_size: Size,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
) -> Array:
    """The adjoint of `window_sum`: each element is added to all places of its window."""
    image = _spread_meta(
        meta_of(input), image_size, kernel_size, stride, padding, dilation, ceil_mode
    )
    windows = _windows(image, kernel_size, stride, padding, dilation, ceil_mode)
    n = windows.ndim
    grad = wide(input)
    planes = grad.reshape(prod(grad.shape[:-n]), *windows.output)
    out = np.zeros((len(planes), *windows.padded), grad.dtype)
    merge("add", _over_points(planes, windows), windows.over(out), 1)
    inside = np.ascontiguousarray(windows.inside(out))
    return narrow(inside.reshape(image.shape), input)


@window_spread.gradient("input")
def _(
    grad: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> Tensor:
    return window_sum(grad, kernel_size, stride, padding, dilation, ceil_mode)


# ---- samples --------------------------------------------------------------------------------------


def _samples() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 6, 7)), (2, 2), (2, 2), (0, 0), (1, 1), False)
    yield sample(Arg((2, 5, 7), layout="transposed"), (3, 2), (2, 1), (1, 1), (1, 2), True)
    yield sample(Arg((1, 6, 7)), (1, 1), (2, 2), (0, 0), (1, 1), True)
    yield sample(Arg((2, 9)), (3,), (2,), (1,), (1,), False)
    yield sample(Arg((1, 4, 5, 4)), (2, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 2), False)
    yield sample(Arg((2, 9, 8)), (7, 6), (2, 1), (3, 3), (1, 1), False)
    yield sample(Arg((1, 4, 4), int64), (2, 2), (2, 2), (1, 1), (1, 1), False)
    yield sample(Arg((0, 4, 4)), (2, 2), (2, 2), (1, 1), (1, 1), False)
    yield bad(ShapeError, "does not fit", Arg((1, 2, 2)), (3, 3), (1, 1), (0, 0), (1, 1), False)
    yield bad(ArgumentValueError, "stride", Arg((1, 2, 2)), (1, 1), (0, 1), (0, 0), (1, 1), False)
    yield bad(DTypeError, "bool", Arg((1, 2, 2), bool_), (1, 1), (1, 1), (0, 0), (1, 1), False)


for _operator in (window_max, window_places, window_sum):
    _operator.sample(_samples)


@window_spread.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 3, 3)), (6, 7), (2, 2), (2, 2), (0, 0), (1, 1), False)
    yield sample(Arg((1, 4, 4)), (6, 7), (3, 3), (2, 2), (1, 1), (1, 1), True)
    yield sample(Arg((2, 3)), (9,), (3,), (3,), (1,), (2,), False)
    yield sample(Arg((1, 2, 1, 3)), (3, 3, 4), (2, 3, 2), (1, 1, 1), (0, 0, 0), (1, 1, 1), False)
    yield bad(ShapeError, "not", Arg((1, 2, 2)), (6, 7), (3, 3), (2, 2), (1, 1), (1, 1), True)
