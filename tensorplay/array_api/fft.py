"""The extension `fft` of the array API standard: discrete Fourier transforms.

>>> from tensorplay import array_api as xp
>>> xp.fft.irfft(xp.fft.rfft(xp.asarray([1.0, 2.0, 3.0, 4.0])))
tensor([1., 2., 3., 4.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from tensorplay import fft as ours
from tensorplay.array_api.array import Array, as_array
from tensorplay.array_api.creation import DeviceLike, available_device
from tensorplay.core.dtypes import DType
from tensorplay.tensor import Tensor

Norm: TypeAlias = Literal["backward", "ortho", "forward"]


def _along_axis(name: str, doc: str) -> Callable[..., Array]:
    transform = getattr(ours, name)

    def function(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
    ) -> Array:
        return as_array(transform(x, n, axis, norm), x)

    return _named(function, name, doc)


def _along_axes(name: str, doc: str) -> Callable[..., Array]:
    transform = getattr(ours, name)

    def function(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Norm = "backward",
    ) -> Array:
        return as_array(transform(x, s, axes, norm), x)

    return _named(function, name, doc)


def _named(function: Any, name: str, doc: str) -> Callable[..., Array]:  # noqa: ANN401  # the function
    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return function  # type: ignore[no-any-return]  # the function


fft = _along_axis(
    "fft", "The discrete Fourier transform along an axis, cut or padded to `n` elements."
)
ifft = _along_axis("ifft", "The inverse of `fft`.")
rfft = _along_axis("rfft", "The half of the transform of real numbers that determines the other.")
irfft = _along_axis(
    "irfft", "The inverse of `rfft`, of `n` real numbers, by default an even number."
)
hfft = _along_axis(
    "hfft", "The real transform of numbers of which the Hermitian-symmetric half is given."
)
ihfft = _along_axis("ihfft", "The inverse of `hfft`.")
fftn = _along_axes(
    "fftn", "The transform along several axes, all by default, cut or padded to sizes `s`."
)
ifftn = _along_axes("ifftn", "The inverse of `fftn`.")
rfftn = _along_axes("rfftn", "The half of the transform of real numbers along several axes.")
irfftn = _along_axes("irfftn", "The inverse of `rfftn`.")


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: DeviceLike = None
) -> Array:
    """The frequencies of the elements of an `fft` of `n` samples with distance `d`."""
    return as_array(ours.fftfreq(n, d, dtype=dtype, device=available_device(device)))


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: DeviceLike = None
) -> Array:
    """The frequencies of the elements of an `rfft` of `n` samples with distance `d`."""
    return as_array(ours.rfftfreq(n, d, dtype=dtype, device=available_device(device)))


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Frequency 0 moved to the middle of axes, all by default."""
    return as_array(ours.fftshift(x, axes), x)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`."""
    return as_array(ours.ifftshift(x, axes), x)


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip
