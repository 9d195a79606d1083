"""Pooling of images: the largest value or the mean of each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tensorplay.core.dtypes import bool_, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.windows import (
    Array,
    Windows,
    make_windows,
    max_pool,
    meta_of,
    narrow,
    spread_windows,
    sum_windows,
    two,
    wide,
)
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Pair, Size

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

Shape: TypeAlias = tuple[int, ...]


def _windows(
    name: str,
    images: Shape,
    kernel: Pair,
    stride: Pair | None,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
) -> Windows:
    if len(images) not in {3, 4}:
        raise ShapeError(f"{name}: expected images (N, C, H, W) or (C, H, W), got {tuple(images)}")
    if any(2 * p > k for p, k in zip(two(padding), two(kernel), strict=True)):
        raise ArgumentValueError(
            f"{name}: padding is at most half of the window: {two(padding)} for {two(kernel)}"
        )
    return make_windows(
        name,
        images,
        kernel,
        kernel if stride is None else stride,
        padding,
        dilation,
        ceil_mode=ceil_mode,
    )


# ------------------------------------------------------------------------------ largest value


def _max_meta(
    input: TensorMeta,
    kernel_size: Pair,
    stride: Pair | None,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
) -> tuple[TensorMeta, TensorMeta]:
    if input.dtype is bool_ or input.dtype.kind == "c":
        raise DTypeError(f"max_pool2d: expected real numbers, got {input.dtype}")
    windows = _windows("max_pool2d", input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    shape = (*input.shape[:-2], *windows.output)
    return TensorMeta(shape, input.dtype, input.device), TensorMeta(shape, int64, input.device)


@structured(meta=_max_meta)
def max_pool2d_with_indices(
    input: Array,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """The largest value of each window, and where in the image it is: ``row · W + column``.

    The first of equal values is taken; NaN is larger than any number; padding is never taken. See
    `max_pool2d` for the arguments.
    """
    _max_meta(meta_of(input), kernel_size, stride, padding, dilation, ceil_mode)
    windows = _windows("max_pool2d", input.shape, kernel_size, stride, padding, dilation, ceil_mode)
    values, places = max_pool(wide(input), windows)
    return narrow(values, input), places


@max_pool2d_with_indices.gradient("input")
def _(
    grads: tuple[Tensor | None, ...], results: tuple[Tensor, ...], input: TensorMeta
) -> Tensor | None:
    grad, places = grads[0], results[1]
    if grad is None:
        return None
    height, width = input.shape[-2:]
    zeros = tp.zeros((*input.shape[:-2], height * width), dtype=grad.dtype, device=grad.device)
    spread = zeros.scatter_add(-1, places.flatten(-2), grad.flatten(-2))
    result: Tensor = spread.reshape(input.shape)
    return result


@max_pool2d_with_indices.tangent
def _(
    operator: Operator,
    values: Values,
    results: tuple[Tensor, Tensor],
    tangents: Sequence[Tensor | None],
) -> tuple[Tensor | None, None]:
    del operator, values
    tangent, places = tangents[0], results[1]
    if tangent is None:
        return None, None
    read = tangent.flatten(-2).gather(-1, places.flatten(-2))
    return read.reshape(places.shape), None


@max_pool2d_with_indices.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 6, 7)), 2)
    yield sample(Arg((2, 5, 7), layout="transposed"), (3, 2), (2, 1), (1, 1), (1, 2), True)
    yield sample(Arg((1, 1, 6, 7)), 1, 2, ceil_mode=True)
    yield sample(Arg((1, 1, 4, 4), int64), 2)
    yield bad(ArgumentValueError, "half of the window", Arg((1, 1, 4, 4)), 2, 2, 2)
    yield bad(ShapeError, "does not fit", Arg((1, 1, 2, 2)), 3)
    yield bad(DTypeError, "real numbers", Arg((1, 1, 2, 2), bool_), 1)


@composite()
def max_pool2d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # noqa: ANN401  # a tensor or two
    """The largest value of each window of images (N, C, H, W) or (C, H, W).

    Windows move by ``stride`` (default: their size) over images with ``padding`` on each side; with
    ``ceil_mode`` the last one may reach over the end, if it starts inside.
    """
    values, places = max_pool2d_with_indices(
        input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return (values, places) if return_indices else values


@max_pool2d.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 6, 7)), 2)
    yield sample(Arg((3, 5, 7)), 3, 2, 1)


# ------------------------------------------------------------------------------ mean


def _average_meta(
    input: TensorMeta,
    kernel_size: Pair,
    stride: Pair | None,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> TensorMeta:
    del count_include_pad
    if input.dtype.kind != "f":
        raise DTypeError(f"avg_pool2d: expected a floating dtype, got {input.dtype}")
    if divisor_override == 0:
        raise ArgumentValueError("avg_pool2d: divisor_override must not be 0")
    windows = _windows("avg_pool2d", input.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
    return TensorMeta((*input.shape[:-2], *windows.output), input.dtype, input.device)


def _divisors(windows: Windows, count_include_pad: bool, divisor_override: int | None) -> Array:
    """Return by what the sum of each window is divided: (oh, ow), or one number."""
    if divisor_override is not None:
        return np.array(divisor_override, np.float64)
    lengths = []
    for size, kernel, stride, padding, count in zip(
        windows.image, windows.kernel, windows.stride, windows.padding, windows.output, strict=True
    ):
        starts = np.arange(count) * stride - padding
        ends = np.minimum(starts + kernel, size + padding)
        if not count_include_pad:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
        lengths.append((ends - starts).astype(np.float64))
    return lengths[0][:, None] * lengths[1]


@structured(meta=_average_meta, linear=True)
def avg_pool2d(
    input: Array,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window of images (N, C, H, W) or (C, H, W).

    The sum is divided by the number of elements in the window, those in the padding counted as
    zeros (``count_include_pad``) or not at all, or by ``divisor_override``.
    """
    _average_meta(
        meta_of(input), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    windows = _windows("avg_pool2d", input.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
    x = wide(input)
    divisors = _divisors(windows, count_include_pad, divisor_override).astype(x.dtype)
    return narrow(sum_windows(x, windows) / divisors, input)


@avg_pool2d.gradient("input")
def _(
    grad: Tensor,
    input: TensorMeta,
    kernel_size: Pair,
    stride: Pair | None,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return avg_pool2d_input_grad(
        grad,
        input.shape,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


@avg_pool2d.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 6, 7)), 2)
    yield sample(Arg((2, 5, 7), layout="transposed"), (3, 2), (2, 1), (1, 1), True, False)
    yield sample(Arg((1, 1, 6, 7)), 3, 2, 1, True)
    yield sample(Arg((1, 1, 4, 4)), 2, divisor_override=3)
    yield bad(DTypeError, "floating", Arg((1, 1, 4, 4), int64), 2)
    yield bad(ShapeError, "expected images", Arg((4, 4)), 2)


def _average_grad_meta(
    grad_output: TensorMeta,
    input_size: Shape,
    kernel_size: Pair,
    stride: Pair | None,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> TensorMeta:
    del count_include_pad, divisor_override
    windows = _windows("avg_pool2d", input_size, kernel_size, stride, padding, (1, 1), ceil_mode)
    if grad_output.shape != (*input_size[:-2], *windows.output):
        raise ShapeError(
            f"avg_pool2d: a gradient of shape {tuple(grad_output.shape)} is not one of its result"
        )
    return TensorMeta(input_size, grad_output.dtype, grad_output.device)


@structured(meta=_average_grad_meta, public=False, linear=True)
def avg_pool2d_input_grad(
    grad_output: Array,
    input_size: Size,
    kernel_size: Pair,
    stride: Pair | None,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The adjoint of `avg_pool2d`: each gradient, divided, is added to all places of its window."""
    size = tuple(input_size)
    _average_grad_meta(
        meta_of(grad_output),
        size,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )
    windows = _windows("avg_pool2d", size, kernel_size, stride, padding, (1, 1), ceil_mode)
    g = wide(grad_output)
    divisors = _divisors(windows, count_include_pad, divisor_override).astype(g.dtype)
    return narrow(spread_windows(g / divisors, windows), grad_output)


@avg_pool2d_input_grad.gradient("grad_output")
def _(
    grad: Tensor,
    kernel_size: Pair,
    stride: Pair | None,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return avg_pool2d(
        grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@avg_pool2d_input_grad.sample
def _() -> Iterator[Sample]:
    none = (0, 0)
    yield sample(Arg((2, 3, 3, 3)), (2, 3, 6, 7), (2, 2), None, none, False, True, None)
    yield sample(Arg((1, 1, 4, 4)), (1, 1, 6, 7), (3, 3), (2, 2), (1, 1), True, False, None)


# ------------------------------------------------------------------------------ means of given number


def _adaptive_meta(input: TensorMeta, output_size: Size) -> TensorMeta:
    if len(input.shape) not in {3, 4}:
        raise ShapeError(
            f"adaptive_avg_pool2d: expected images (N, C, H, W) or (C, H, W), got {input.shape}"
        )
    if input.dtype.kind != "f":
        raise DTypeError(f"adaptive_avg_pool2d: expected a floating dtype, got {input.dtype}")
    if any(each < 0 for each in output_size) or any(each == 0 for each in input.shape[-2:]):
        raise ShapeError(
            f"adaptive_avg_pool2d: images of shape {tuple(input.shape)} cannot be pooled to {tuple(output_size)}"
        )
    return TensorMeta((*input.shape[:-2], *output_size), input.dtype, input.device)


def _cells(image: Shape, output: Size) -> Iterator[tuple[int, int, slice, slice]]:
    """Yield each cell (i, j) with its rows and columns: from ``⌊i·H/h⌋`` to ``⌈(i + 1)·H/h⌉``."""
    rows, columns = (
        [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
        for size, count in zip(image, output, strict=True)
    )
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            yield i, j, row, column


@structured(meta=_adaptive_meta, public=False, linear=True)
def adaptive_cell_means(input: Array, output_size: Size) -> Array:
    """The means over a grid of cells that cover the image; neighbours overlap where it does not divide."""
    _adaptive_meta(meta_of(input), output_size)
    x = wide(input)
    means = np.empty((*input.shape[:-2], *output_size), x.dtype)
    for i, j, rows, columns in _cells(input.shape[-2:], output_size):
        means[..., i, j] = x[..., rows, columns].mean((-2, -1))
    return narrow(means, input)


@adaptive_cell_means.gradient("input")
def _(grad: Tensor, input: TensorMeta) -> Tensor:
    return adaptive_cell_means_input_grad(grad, input.shape)


@adaptive_cell_means.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 5, 7)), (2, 3))
    yield sample(Arg((2, 5, 4)), (1, 6))


def _adaptive_grad_meta(grad_output: TensorMeta, input_size: Shape) -> TensorMeta:
    return TensorMeta(input_size, grad_output.dtype, grad_output.device)


@structured(meta=_adaptive_grad_meta, public=False, linear=True)
def adaptive_cell_means_input_grad(grad_output: Array, input_size: Size) -> Array:
    """The adjoint of `adaptive_cell_means`."""
    g = wide(grad_output)
    out = np.zeros(tuple(input_size), g.dtype)
    for i, j, rows, columns in _cells(tuple(input_size)[-2:], grad_output.shape[-2:]):
        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        out[..., rows, columns] += (g[..., i, j] / area)[..., None, None]
    return narrow(out, grad_output)


@adaptive_cell_means_input_grad.gradient("grad_output")
def _(grad: Tensor, grad_output: TensorMeta) -> Tensor:
    return adaptive_cell_means(grad, grad_output.shape[-2:])


@adaptive_cell_means_input_grad.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 2, 3)), (2, 3, 5, 7))


@composite()
def adaptive_avg_pool2d(input: Tensor, output_size: object) -> Tensor:
    """Means over windows chosen so that the result has ``output_size`` (None keeps the images' size)."""
    wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(wanted) != 2:
        raise ArgumentValueError(
            f"adaptive_avg_pool2d: output_size is one or two numbers, not {output_size!r}"
        )
    size = tuple(n if o is None else o for o, n in zip(wanted, input.shape[-2:], strict=True))
    if all(o > 0 and n % o == 0 for o, n in zip(size, input.shape[-2:], strict=True)):
        kernel = tuple(n // o for o, n in zip(size, input.shape[-2:], strict=True))
        return avg_pool2d(input, kernel)
    return adaptive_cell_means(input, size)


@adaptive_avg_pool2d.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4, 6)), 2)
    yield sample(Arg((2, 3, 5, 6)), (2, None))
    yield bad(DTypeError, "floating", Arg((1, 1, 4, 4), int64), 3)
