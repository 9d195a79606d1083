"""Discrete Fourier transforms under PyTorch's names, `tensorplay.fft`.

float32 and float64 give complex64 and complex128; everything has derivatives of all orders, in both modes.

>>> import tensorplay as tp
>>> x = tp.tensor([1.0, 2.0, 3.0, 4.0])
>>> tp.fft.irfft(tp.fft.rfft(x))
tensor([1., 2., 3., 4.])
"""

from __future__ import annotations

from tensorplay.publishing import function_named

fft, fft2, fftn = (function_named(f"fft_{each}") for each in ("fft", "fft2", "fftn"))
ifft, ifft2, ifftn = (function_named(f"fft_{each}") for each in ("ifft", "ifft2", "ifftn"))
rfft, rfft2, rfftn = (function_named(f"fft_{each}") for each in ("rfft", "rfft2", "rfftn"))
irfft, irfft2, irfftn = (function_named(f"fft_{each}") for each in ("irfft", "irfft2", "irfftn"))
hfft, hfft2, hfftn = (function_named(f"fft_{each}") for each in ("hfft", "hfft2", "hfftn"))
ihfft, ihfft2, ihfftn = (function_named(f"fft_{each}") for each in ("ihfft", "ihfft2", "ihfftn"))
fftfreq = function_named("fft_fftfreq")
rfftfreq = function_named("fft_rfftfreq")
fftshift = function_named("fft_fftshift")
ifftshift = function_named("fft_ifftshift")

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft",
    "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
