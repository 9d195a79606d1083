"""Convolution of arrays and its two adjoints: matrix products over the windows' columns.

Images are ``(N, groups·C, *image)``, kernels ``(O, C, *kernel)``, results ``(N, O, *output)``. Columns are the
windows' contents, one column a window: copied out of a strided view (im2col), a chunk of images at a time so that they
stay in the cache, and added back through the same view (col2im). One-point kernels need no columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tensorplay import _C
from tensorplay.ops.library.windows import Array, Windows, merge

CHUNK_BYTES = 4 << 20
"""What columns may take: they stay in the caches of a core until the product has read them."""


def convolve(x: Array, w: Array, windows: Windows, groups: int) -> Array:
    """``y[n, o, p] = Σ_c,k x[n, c, p·stride + k·dilation − padding] · w[o, c, k]``."""
    n, out_channels = x.shape[0], w.shape[0]
    y = _C.empty((n, out_channels, *windows.output), x.dtype)
    if windows.ndim <= 2 and not windows.are_points and _convolve_planes(x, w, y, windows, groups):
        return y
    kernels = w.reshape(groups, out_channels // groups, prod(w.shape[1:]))
    count = prod(windows.output)
    products = y.reshape(n, groups, out_channels // groups, count)
    padded = windows.pad(x, 0.0)
    for chunk in _chunks(n, _column_count(x, windows) * x.itemsize):
        columns = _columns(padded[chunk], windows)
        columns = columns.reshape(len(columns), groups, kernels.shape[2], count)
        _C.matmul(kernels, columns, products[chunk])
    return y


def _convolve_planes(x: Array, w: Array, y: Array, windows: Windows, groups: int) -> bool:
    """Convolve images of one or two dimensions natively, if that can be."""
    lines, one = ((1,), (1,)) if windows.ndim == 1 else ((), ())
    images, kernels = (
        np.ascontiguousarray(each).reshape((*each.shape[:2], *lines, *each.shape[2:]))
        for each in (x, w)
    )
    out = y.reshape((*y.shape[:2], *lines, *y.shape[2:]))
    none = (0,) * len(lines)
    return _C.convolve(
        images,
        kernels,
        out,
        *one,
        *windows.stride,
        *none,
        *windows.padding,
        *one,
        *windows.dilation,
        groups,
    )


def convolve_images_adjoint(grad: Array, w: Array, windows: Windows, groups: int) -> Array:
    """The adjoint of `convolve` in its first argument: each point adds to the image that it met."""
    n, channels = grad.shape[0], w.shape[1] * groups
    kernels = w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:])).transpose(0, 2, 1)
    grads = grad.reshape(n, groups, w.shape[0] // groups, prod(windows.output))
    if windows.are_points:
        return _C.matmul(kernels, grads).reshape(n, channels, *windows.image)
    x = np.zeros((n, channels, *windows.padded), grad.dtype)
    places = windows.over(x)
    size = channels * prod(windows.kernel) * prod(windows.output)
    for chunk in _chunks(n, size * grad.itemsize):
        columns = _C.matmul(kernels, grads[chunk])
        merge("add", columns.reshape(places[chunk].shape), places[chunk], 2)
    return np.ascontiguousarray(windows.inside(x))


def convolve_weight_adjoint(grad: Array, x: Array, windows: Windows, groups: int) -> Array:
    """The adjoint of `convolve` in its second argument: gradients times the columns that they met."""
    n, out_channels, channels = x.shape[0], grad.shape[1], x.shape[1] // groups
    w = np.zeros((groups, out_channels // groups, channels * prod(windows.kernel)), grad.dtype)
    count = prod(windows.output)
    padded = windows.pad(x, 0.0)
    for chunk in _chunks(n, _column_count(x, windows) * x.itemsize):
        columns = _columns(padded[chunk], windows, images_last=True)
        columns = columns.reshape(groups, w.shape[2], len(grad[chunk]) * count)
        grads = _moved(grad[chunk].swapaxes(0, 1), grad.ndim - 1)
        w += _C.matmul(
            grads.reshape(groups, w.shape[1], columns.shape[2]), columns.transpose(0, 2, 1)
        )
    return w.reshape(out_channels, channels, *windows.kernel)


def _column_count(x: Array, windows: Windows) -> int:
    """How many numbers the columns of one image are."""
    channels: int = x.shape[1]
    return channels * prod(windows.kernel) * prod(windows.output)


def _chunks(count: int, bytes_each: int) -> Iterator[slice]:
    """Split a batch so that the columns of a chunk take `CHUNK_BYTES`, or one image."""
    step = max(1, CHUNK_BYTES // max(1, bytes_each))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _columns(padded: Array, windows: Windows, *, images_last: bool = False) -> Array:
    """The windows' contents ``(N, C, *kernel, *output)``, or ``(C, *kernel, N, *output)``."""
    view = padded if windows.are_points else windows.over(padded)
    if not images_last:
        return view if windows.are_points else _moved(view, view.ndim - windows.ndim)
    return _moved(np.moveaxis(view, 0, view.ndim - 1 - windows.ndim), view.ndim - windows.ndim)


def _moved(view: Array, independent: int) -> Array:
    """A contiguous copy of a view, made on all threads."""
    out = _C.empty(view.shape, view.dtype)
    merge("copy", view, out, independent)
    return out
