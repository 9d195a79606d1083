"""Windows over images: their geometry, and what eager kernels do with them.

A window of ``kernel`` points that lie ``dilation`` apart moves by ``stride`` over an image with ``padding``
on each side. An image has one, two, three or more dimensions, the last ones of an array.

>>> windows = make_windows("pool", (7, 8), 3, 2, 1)
>>> windows.output
(4, 4)
>>> windows.over(windows.pad(np.zeros((2, 7, 8)), 0.0)).shape
(2, 3, 3, 4, 4)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensorplay import _C
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import ArgumentError, ArgumentValueError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.numpy_code import element_strides
from tensorplay.ops.signature import Each, dtype_of, to_sizes

Array: TypeAlias = NDArray[Any]
Sizes: TypeAlias = tuple[int, ...]
Slices: TypeAlias = tuple[slice, ...]


def output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows fit.

    ``ceil_mode`` allows the last window to reach over the end, if it starts inside of the image or
    its leading padding.

    >>> output_size(7, 3, 2, 1, 1, False), output_size(6, 3, 2, 0, 1, True)
    (4, 3)
    """
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows over images of one size; one number a spatial dimension."""

    image: Sizes
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    output: Sizes

    @property
    def ndim(self) -> int:
        """The number of spatial dimensions."""
        return len(self.image)

    @property
    def padded(self) -> Sizes:
        """The size of an image in which every window lies inside."""
        return tuple(
            max((o - 1) * s + d * (k - 1) + 1, n + 2 * p)
            for n, k, s, p, d, o in zip(
                self.image, self.kernel, self.stride, self.padding, self.dilation, self.output,
                strict=True,
            )
        )  # fmt: skip

    @property
    def interior(self) -> Slices:
        """Where the image lies in the padded one."""
        return tuple(slice(p, p + n) for p, n in zip(self.padding, self.image, strict=True))

    @property
    def are_points(self) -> bool:
        """Whether every window is one point and each point of the image is one."""
        return prod(self.kernel) == 1 and self.output == self.image and self.padded == self.image

    def points(self) -> Iterator[Sizes]:
        """Every point of a window, in row-major order."""
        return np.ndindex(*self.kernel)

    def pad(self, x: Array, value: Number) -> Array:
        """``x`` in a padded image, or itself when no padding is needed."""
        if self.padded == self.image:
            return x
        out = _C.empty((*x.shape[: -self.ndim], *self.padded), x.dtype)
        lead, every = (slice(None),) * (x.ndim - self.ndim), slice(None)
        for k, place in enumerate(self.interior):
            before, after = (*lead, *self.interior[:k]), (every,) * (self.ndim - 1 - k)
            out[(*before, slice(None, place.start), *after)] = value
            out[(*before, slice(place.stop, None), *after)] = value
        merge("copy", x, self.inside(out), x.ndim - 1)
        return out

    def inside(self, padded: Array) -> Array:
        """The images in padded ones, a view."""
        lead = (slice(None),) * (padded.ndim - self.ndim)
        view: Array = padded[(*lead, *self.interior)]
        return view

    def over(self, padded: Array) -> Array:
        """The windows of a padded image, ``(…, *kernel, *output)``: a view whose elements lie on one another."""
        lead = padded.ndim - self.ndim
        strides = element_strides(padded)
        own = strides[lead:]
        points = [d * t for d, t in zip(self.dilation, own, strict=True)]
        moves = [s * t for s, t in zip(self.stride, own, strict=True)]
        shape = (*padded.shape[:lead], *self.kernel, *self.output)
        return _C.view(padded, shape, (*strides[:lead], *points, *moves), 0)


def each(name: str, what: str, value: Each, ndim: int) -> Sizes:
    """One integer a spatial dimension, from one for all or one for each."""
    found = to_sizes(value)
    if len(found) == 1:
        return found * ndim
    if len(found) != ndim:
        msg = f"{name}: {what} is one integer or {ndim}, found {value!r}"
        raise ArgumentError(msg)
    return found


def make_windows(
    name: str,
    image: Sequence[int],
    kernel_size: Each,
    stride: Each,
    padding: Each,
    dilation: Each = 1,
    *,
    ceil_mode: bool = False,
) -> Windows:
    """Check a window's parameters against the size of an image; ``name`` is the operator, for messages."""
    n = len(image)
    k, s = each(name, "kernel_size", kernel_size, n), each(name, "stride", stride, n)
    p, d = each(name, "padding", padding, n), each(name, "dilation", dilation, n)
    for what, values, least in (
        ("kernel_size", k, 1), ("stride", s, 1), ("padding", p, 0), ("dilation", d, 1),
    ):  # fmt: skip
        if any(value < least for value in values):
            raise ArgumentValueError(f"{name}: {what} is at least {least}, got {values}")
    output = tuple(output_size(*sizes, ceil_mode) for sizes in zip(image, k, s, p, d, strict=True))
    if any(size < 1 for size in output):
        raise ShapeError(
            f"{name}: a window of size {k} and dilation {d} does not fit into an image of size "
            f"{tuple(image)} with padding {p}"
        )
    return Windows(tuple(image), k, s, p, d, output)


def meta_of(x: Array) -> TensorMeta:
    """The metadata by which a meta rule checks an array."""
    return TensorMeta(x.shape, dtype_of(x))


def wide(x: Array) -> Array:
    """``x`` in the type that computes: float32 for the half types."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "biu" else x


def narrow(x: Array, like: Array) -> Array:
    """``x`` rounded to the dtype of ``like``."""
    return x.astype(like.dtype, copy=False)


def merge(name: str, source: Array, out: Array, independent: int) -> None:
    """`_C.merge`, of complex numbers by their parts."""
    if name == "add" and out.dtype.kind == "c":
        _C.merge("add", source.real, out.real, independent)
        _C.merge("add", source.imag, out.imag, independent)
    else:
        _C.merge(name, source, out, independent)  # type: ignore[arg-type]  # the names are its own
