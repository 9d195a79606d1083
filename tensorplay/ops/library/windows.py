"""Windows over images: their geometry, and the array functions of convolution and pooling.

A window of size ``k`` whose points are ``dilation`` apart moves by ``stride`` over an image with
``padding`` on each side. Everything here works on the two trailing dimensions.

>>> output_size(7, kernel=3, stride=2, padding=1, dilation=1, ceil_mode=False)
4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensorplay import _C
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.signature import Pair, dtype_of, to_pair

Array: TypeAlias = NDArray[Any]
Two: TypeAlias = tuple[int, int]
Slices: TypeAlias = tuple[slice, slice]


def output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Return how many windows fit.

    ``ceil_mode`` allows the last window to reach over the end, if it starts inside of the image or
    its leading padding.
    """
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows over images of one size."""

    image: Two
    kernel: Two
    stride: Two
    padding: Two
    dilation: Two
    output: Two

    @property
    def padded(self) -> Two:
        """The size of an image in which every window lies inside."""
        height, width = (
            max((o - 1) * s + d * (k - 1) + 1, n + 2 * p)
            for n, k, s, p, d, o in zip(
                self.image, self.kernel, self.stride, self.padding, self.dilation, self.output,
                strict=True,
            )
        )  # fmt: skip
        return height, width

    @property
    def interior(self) -> Slices:
        """Where the image lies in the padded one."""
        (top, left), (height, width) = self.padding, self.image
        return slice(top, top + height), slice(left, left + width)

    def points(self) -> Iterator[tuple[int, Slices]]:
        """Yield each point of the window with the places of the padded image that it meets."""
        (kh, kw), (sh, sw), (dh, dw), (oh, ow) = (
            self.kernel, self.stride, self.dilation, self.output,
        )  # fmt: skip
        for i in range(kh):
            for j in range(kw):
                rows = slice(i * dh, i * dh + (oh - 1) * sh + 1, sh)
                columns = slice(j * dw, j * dw + (ow - 1) * sw + 1, sw)
                yield i * kw + j, (rows, columns)

    def pad(self, x: Array, value: float) -> Array:
        """Put ``x`` into a padded image, or return it when no padding is needed."""
        if self.padded == self.image:
            return x
        out = np.full((*x.shape[:-2], *self.padded), value, dtype=x.dtype)
        out[(..., *self.interior)] = x
        return out


def two(pair: Pair) -> Two:
    """Return a pair as a tuple."""
    first, second = to_pair(pair)
    return first, second


def make_windows(
    name: str,
    image: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair = 1,
    *,
    ceil_mode: bool = False,
) -> Windows:
    """Check a window's parameters against an image; ``name`` is the operator, for messages."""
    k, s, p, d = two(kernel_size), two(stride), two(padding), two(dilation)
    for what, values, least in (
        ("kernel_size", k, 1), ("stride", s, 1), ("padding", p, 0), ("dilation", d, 1),
    ):  # fmt: skip
        if any(each < least for each in values):
            raise ArgumentValueError(f"{name}: {what} is at least {least}, got {values}")
    height, width = image[-2:]
    output = (
        output_size(height, k[0], s[0], p[0], d[0], ceil_mode),
        output_size(width, k[1], s[1], p[1], d[1], ceil_mode),
    )
    if any(each < 1 for each in output):
        raise ShapeError(
            f"{name}: a window of size {k} and dilation {d} does not fit into "
            f"images of shape ({height}, {width}) with padding {p}"
        )
    return Windows((height, width), k, s, p, d, output)


def meta_of(x: Array) -> TensorMeta:
    """Return the metadata by which a meta rule checks an array."""
    return TensorMeta(x.shape, dtype_of(x))


def wide(x: Array) -> Array:
    """Return ``x`` in the type that computes: float32 for the half types."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "biu" else x


def narrow(x: Array, like: Array) -> Array:
    """Round ``x`` to the dtype of ``like``."""
    return x.astype(like.dtype, copy=False)


# ------------------------------------------------------------------------------ convolution


def convolve(x: Array, w: Array, windows: Windows, groups: int) -> Array:
    """``y[n, o] = Σ_c,i,j x[n, c, …] · w[o, c, i, j]`` as one matrix product a group and chunk.

    ``x`` is (N, groups·C, H, W), ``w`` (O, C, kh, kw); the result is (N, O, oh, ow).
    """
    n, out_channels = x.shape[0], w.shape[0]
    y = _C.empty((n, out_channels, *windows.output), x.dtype)
    kernels = w.reshape(groups, out_channels // groups, -1)
    padded = windows.pad(x, 0.0)
    for chunk in _chunks(
        n, w[0].size * groups * windows.output[0] * windows.output[1] * x.itemsize
    ):
        columns = _columns(padded[chunk], windows, groups)
        product = _C.matmul(kernels, columns)
        _scatter_images(product, y[chunk])
    return y


def convolve_images_adjoint(grad: Array, w: Array, windows: Windows, groups: int) -> Array:
    """Return the adjoint of `convolve` in its first argument: each point adds to the image it met."""
    n, in_channels = grad.shape[0], w.shape[1] * groups
    kernels = w.reshape(groups, w.shape[0] // groups, -1).transpose(0, 2, 1)
    x = np.zeros((n, in_channels, *windows.padded), dtype=grad.dtype)
    oh, ow = windows.output
    for chunk in _chunks(n, w[0].size * groups * oh * ow * grad.itemsize):
        images = grad[chunk]
        count = images.shape[0]
        columns = _C.matmul(kernels, _gather_images(images, groups))
        points = columns.reshape(groups, w.shape[1], -1, count, oh, ow)
        target = x[chunk].reshape(count, groups, w.shape[1], *windows.padded)
        for k, place in windows.points():
            target[(..., *place)] += points[:, :, k].transpose(2, 0, 1, 3, 4)
    return np.ascontiguousarray(x[(..., *windows.interior)])


def convolve_weight_adjoint(grad: Array, x: Array, windows: Windows, groups: int) -> Array:
    """Return the adjoint of `convolve` in its second argument."""
    n, out_channels, channels = x.shape[0], grad.shape[1], x.shape[1] // groups
    oh, ow = windows.output
    points = channels * windows.kernel[0] * windows.kernel[1]
    w = np.zeros((groups, out_channels // groups, points), dtype=grad.dtype)
    padded = windows.pad(x, 0.0)
    for chunk in _chunks(n, points * groups * oh * ow * x.itemsize):
        columns = _columns(padded[chunk], windows, groups)
        w += _C.matmul(_gather_images(grad[chunk], groups), columns.transpose(0, 2, 1))
    return w.reshape(out_channels, channels, *windows.kernel)


def _chunks(count: int, bytes_each: int) -> Iterator[slice]:
    """Split a batch so that the columns of a chunk take 32 MiB or one image."""
    step = max(1, (32 << 20) // max(1, bytes_each))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _columns(padded: Array, windows: Windows, groups: int) -> Array:
    """Return (groups, C·kh·kw, N·oh·ow): the windows' contents as columns."""
    n, channels = padded.shape[:2]
    (kh, kw), (oh, ow) = windows.kernel, windows.output
    columns = _C.empty((channels, kh * kw, n, oh, ow), padded.dtype)
    source = padded.transpose(1, 0, 2, 3)
    for k, place in windows.points():
        columns[:, k] = source[(..., *place)]
    return columns.reshape(groups, channels // groups * kh * kw, n * oh * ow)


def _gather_images(images: Array, groups: int) -> Array:
    """(N, groups·O, oh, ow) to (groups, O, N·oh·ow)."""
    channels = images.shape[1]
    return images.transpose(1, 0, 2, 3).reshape(groups, channels // groups, -1)


def _scatter_images(product: Array, out: Array) -> None:
    """(groups, O, N·oh·ow) into (N, groups·O, oh, ow)."""
    n, channels, oh, ow = out.shape
    out[...] = product.reshape(channels, n, oh, ow).transpose(1, 0, 2, 3)


# ------------------------------------------------------------------------------ pooling


def max_pool(x: Array, windows: Windows) -> tuple[Array, Array]:
    """Return the largest value of each window and its flat place in the image, the first on ties.

    NaN is larger than every number. Padding never wins.
    """
    padded, has_nan = windows.pad(x, 0), bool(np.isnan(x).any())
    inside: Array | None = None
    if padded is not x:
        inside = np.zeros(windows.padded, dtype=np.bool_)
        inside[windows.interior] = True
    shape = (*x.shape[:-2], *windows.output)
    best, point = np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    empty = np.ones(windows.output, dtype=np.bool_)  # windows that have met padding only
    for k, spot in windows.points():
        candidate = padded[(..., *spot)]
        if k == 0 and inside is None:
            best[...] = candidate
            continue
        better = candidate > best
        if has_nan:
            better |= np.isnan(candidate) & ~np.isnan(best)
        if inside is not None:
            here = inside[spot]
            better = (better | empty) & here
            empty = empty & ~here
        np.copyto(best, candidate, where=better)
        np.copyto(point, k, where=better)
    return best, _places(point, windows)


def _places(point: Array, windows: Windows) -> Array:
    """Turn points of windows into flat places in the image."""
    row, column = np.divmod(point, windows.kernel[1])
    (sh, sw), (ph, pw), (dh, dw) = windows.stride, windows.padding, windows.dilation
    oh, ow = windows.output
    row *= dh
    row += (np.arange(oh) * sh - ph)[:, None]
    column *= dw
    column += np.arange(ow) * sw - pw
    return row * windows.image[1] + column


def sum_windows(x: Array, windows: Windows) -> Array:
    """Return the sum over each window, padding counting as zero."""
    padded = windows.pad(x, 0)
    total = np.zeros((*x.shape[:-2], *windows.output), dtype=x.dtype)
    for _, spot in windows.points():
        total += padded[(..., *spot)]
    return total


def spread_windows(grad: Array, windows: Windows) -> Array:
    """Return the adjoint of `sum_windows`: each value is added to all places of its window."""
    out = np.zeros((*grad.shape[:-2], *windows.padded), dtype=grad.dtype)
    for _, spot in windows.points():
        out[(..., *spot)] += grad
    return np.ascontiguousarray(out[(..., *windows.interior)])
