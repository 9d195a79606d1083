"""The contents of windows as columns (im2col), and columns added back to images (col2im); `unfold` and `fold` over them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core.dtypes import float64
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, index
from tensorplay.ops.kinds.forms import Condition, Indices, Merged, Piece, Pieces
from tensorplay.ops.library.windows import (
    Array,
    make_windows,
    merge,
    meta_of,
    narrow,
    wide,
)
from tensorplay.ops.monoids import SUM
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Each, Size

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _columns_meta(
    input: TensorMeta, kernel_size: Size, stride: Size, padding: Size, dilation: Size
) -> TensorMeta:
    n = len(kernel_size)
    windows = make_windows("unfold", input.shape[-n:], kernel_size, stride, padding, dilation)
    shape = (*input.shape[:-n], *windows.kernel, *windows.output)
    return TensorMeta(shape, input.dtype, input.device)


def _columns_form(
    input: TensorMeta, kernel_size: Size, stride: Size, padding: Size, dilation: Size
) -> Pieces:
    n = len(kernel_size)
    windows = make_windows("unfold", input.shape[-n:], kernel_size, stride, padding, dilation)
    lead = input.ndim - n

    def places(i: Indices) -> list[Any]:
        return [
            i[lead + n + k] * windows.stride[k]
            + i[lead + k] * windows.dilation[k]
            - windows.padding[k]
            for k in range(n)
        ]

    def conditions(i: Indices) -> list[Condition]:
        return [
            Condition(place, 0, own)
            for place, own, padded in zip(places(i), windows.image, windows.padded, strict=True)
            if own != padded
        ]

    inside = Piece("input", conditions, lambda i: [*i[:lead], *places(i)])
    outside = Piece(0, lambda _: [], lambda i: i)
    shape = (*input.shape[:-n], *windows.kernel, *windows.output)
    return Pieces(shape, (inside,) if windows.image == windows.padded else (inside, outside))


@index(meta=_columns_meta, form=_columns_form, public=False, linear=True, batching=leading)
def window_columns(
    input: Array, kernel_size: Size, stride: Size, padding: Size, dilation: Size
) -> Array:
    """The contents of windows: images ``(…, *image)`` to ``(…, *kernel, *output)``, padding as zeros."""
    _columns_meta(meta_of(input), kernel_size, stride, padding, dilation)
    n = len(kernel_size)
    windows = make_windows("unfold", input.shape[-n:], kernel_size, stride, padding, dilation)
    view = windows.over(windows.pad(input, 0))
    out = _C.empty(view.shape, view.dtype)
    merge("copy", view, out, view.ndim - n)
    return out


def _fold_meta(
    input: TensorMeta,
    image_size: Size,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
) -> TensorMeta:
    n = len(kernel_size)
    windows = make_windows("fold", tuple(image_size), kernel_size, stride, padding, dilation)
    if input.shape[-2 * n :] != (*windows.kernel, *windows.output):
        raise ShapeError(
            f"fold: an image of size {tuple(image_size)} has windows of shape "
            f"{(*windows.kernel, *windows.output)}, not {input.shape[-2 * n :]}"
        )
    return TensorMeta((*input.shape[: -2 * n], *image_size), input.dtype, input.device)


def _fold_form(
    input: TensorMeta,
    image_size: Size,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
) -> Merged:
    """Each place of the image looks for the windows that have it at a point."""
    n, lead = len(kernel_size), input.shape[: -2 * len(kernel_size)]
    windows = make_windows("fold", tuple(image_size), kernel_size, stride, padding, dilation)

    def starts(i: Indices) -> list[Any]:
        return [
            i[len(lead) + k] + windows.padding[k] - i[len(lead) + n + k] * windows.dilation[k]
            for k in range(n)
        ]

    def conditions(i: Indices) -> list[Condition]:
        return [
            Condition(start, 0, (count - 1) * step + 1, step)
            for start, count, step in zip(starts(i), windows.output, windows.stride, strict=True)
        ]

    def place(i: Indices) -> list[Any]:
        at = [start // step for start, step in zip(starts(i), windows.stride, strict=True)]
        return [*i[: len(lead)], *i[len(lead) + n :], *at]

    pieces = Piece("input", conditions, place), Piece(0, lambda _: [], lambda i: i)
    return Merged(Pieces((*lead, *image_size, *windows.kernel), pieces), n, SUM)


@index(meta=_fold_meta, form=_fold_form, public=False, linear=True, batching=leading)
def window_fold(
    input: Array, image_size: Size, kernel_size: Size, stride: Size, padding: Size, dilation: Size
) -> Array:
    """The adjoint of `window_columns`: every element is added to the place that it came from."""
    meta = _fold_meta(meta_of(input), image_size, kernel_size, stride, padding, dilation)
    windows = make_windows("fold", tuple(image_size), kernel_size, stride, padding, dilation)
    n = windows.ndim
    lead = input.shape[: -2 * n]
    columns = wide(input).reshape(prod(lead), *windows.kernel, *windows.output)
    out = np.zeros((len(columns), *windows.padded), columns.dtype)
    merge("add", columns, windows.over(out), 1)
    return narrow(np.ascontiguousarray(windows.inside(out)).reshape(meta.shape), input)


@window_columns.gradient("input")
def _(
    grad: Tensor, input: TensorMeta, kernel_size: Size, stride: Size, padding: Size, dilation: Size
) -> Tensor:
    size = input.shape[input.ndim - len(kernel_size) :]
    return window_fold(grad, size, kernel_size, stride, padding, dilation)


@window_fold.gradient("input")
def _(grad: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size) -> Tensor:
    return window_columns(grad, kernel_size, stride, padding, dilation)


@composite()
def im2col(
    input: Tensor, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1
) -> Tensor:
    """The contents of all windows of images, one column a window (`nn.functional.unfold`).

    ``(N, C, H, W)`` or ``(C, H, W)`` becomes ``(N, C·kh·kw, L)`` or ``(C·kh·kw, L)``, ``L`` the number of windows.

    >>> tp.nn.functional.unfold(tp.arange(9.0).reshape(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    if input.ndim not in {3, 4} or 0 in input.shape[input.ndim - 3 :]:
        raise ShapeError(
            f"unfold: expected images (N, C, H, W) or (C, H, W), only the batch empty, got {tuple(input.shape)}"
        )
    windows = make_windows("unfold", input.shape[-2:], kernel_size, stride, padding, dilation)
    columns = window_columns(
        input, windows.kernel, windows.stride, windows.padding, windows.dilation
    )
    rows = input.shape[-3] * prod(windows.kernel)
    result: Tensor = columns.reshape((*input.shape[:-3], rows, prod(windows.output)))
    return result


@composite()
def col2im(
    input: Tensor,
    output_size: Each,
    kernel_size: Each,
    dilation: Each = 1,
    padding: Each = 0,
    stride: Each = 1,
) -> Tensor:
    """Columns of windows added up to images (`nn.functional.fold`), the adjoint of `im2col`.

    ``(N, C·kh·kw, L)`` or ``(C·kh·kw, L)`` becomes ``(N, C, H, W)`` or ``(C, H, W)``, ``output_size`` being ``(H, W)``.

    >>> tp.nn.functional.fold(tp.ones(1, 4, 4), 3, 2)[0, 0, 1]
    tensor([2., 4., 2.])
    """
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    size = size * 2 if len(size) == 1 else size
    windows = make_windows("fold", size, kernel_size, stride, padding, dilation)
    points, count = prod(windows.kernel), prod(windows.output)
    if input.ndim not in {2, 3} or input.shape[-2] % points or input.shape[-2] == 0:
        raise ShapeError(
            f"fold: expected columns (N, C·{points}, L) or (C·{points}, L) of windows {windows.kernel}, got "
            f"{tuple(input.shape)}"
        )
    if input.shape[-1] != count:
        raise ArgumentValueError(
            f"fold: images of size {tuple(size)} have {count} windows, not {input.shape[-1]}"
        )
    lead = (*input.shape[:-2], input.shape[-2] // points)
    columns = input.reshape((*lead, *windows.kernel, *windows.output))
    result: Tensor = window_fold(
        columns, size, windows.kernel, windows.stride, windows.padding, windows.dilation
    )
    return result


@window_columns.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 5, 6)), (2, 3), (1, 2), (1, 0), (2, 1))
    yield sample(Arg((2, 7), layout="transposed"), (3,), (2,), (1,), (1,))
    yield sample(Arg((0, 3, 5)), (2, 3), (1, 1), (0, 0), (1, 1))
    yield bad(ShapeError, "does not fit", Arg((1, 2)), (3,), (1,), (0,), (1,))


@window_fold.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 2, 3, 5, 2)), (5, 6), (2, 3), (1, 2), (1, 0), (2, 1))
    yield sample(Arg((2, 3, 4)), (7,), (3,), (2,), (1,), (1,))
    yield bad(ShapeError, "has windows", Arg((2, 3, 5)), (7,), (3,), (2,), (1,), (1,))


@im2col.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 5, 6)), (2, 3), 2, 1, (1, 2))
    yield sample(Arg((3, 4, 5), float64), 2)
    yield bad(ShapeError, "expected images", Arg((4, 5)), 2)


@col2im.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 12, 12)), (4, 5), 2)
    yield sample(Arg((12, 6)), (5, 6), (2, 3), (1, 2), (1, 1), 2)
    yield bad(ArgumentValueError, "12 windows", Arg((2, 12, 11)), (4, 5), 2)
    yield bad(ShapeError, "expected columns", Arg((2, 11, 12)), (4, 5), 2)
