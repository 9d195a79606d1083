"""Spectra of overlapping stretches of a signal, and the signal from them.

>>> import tensorplay as tp
>>> x = tp.arange(8.0)
>>> window = tp.hann_window(4)
>>> spectrum = tp.stft(x, 4, window=window, return_complex=True)
>>> spectrum.shape
(3, 9)
>>> tp.allclose(tp.istft(spectrum, 4, window=window, length=8), x, atol=1e-5)
True
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tensorplay.core.dtypes import complex64, float64, int64
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _whole_window(
    name: str, window: Tensor | None, n_fft: int, win_length: int | None, like: Tensor
) -> Tensor:
    """The window of length n_fft: the given one, or ones of `win_length`, with zeros on both sides."""
    length = n_fft if win_length is None else win_length
    if not 0 < length <= n_fft:
        raise ArgumentValueError(
            f"{name}: expected 0 < win_length <= n_fft, found {length} and {n_fft}"
        )
    if window is None:
        window = tp.ones((length,), dtype=tp.real(like).dtype)
    if window.ndim != 1 or window.shape[0] != length:
        raise ShapeError(
            f"{name}: expected a window of {length} elements, found shape {tuple(window.shape)}"
        )
    if length == n_fft:
        return window
    left = (n_fft - length) // 2
    sides = [tp.zeros((n,), dtype=window.dtype) for n in (left, n_fft - length - left)]
    found: Tensor = tp.cat((sides[0], window, sides[1]), 0)
    return found


def _hop(name: str, hop_length: int | None, n_fft: int) -> int:
    hop = n_fft // 4 if hop_length is None else hop_length
    if hop <= 0:
        raise ArgumentValueError(f"{name}: hop_length must be positive, found {hop}")
    return hop


@composite(method=True)
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """The spectra (B?, N, T) of T stretches of `n_fft` elements, `hop_length` apart (n_fft // 4), of signals (B?, L).

    Each is multiplied by `window` (ones) of `win_length` (n_fft) elements, in the middle of the
    stretch. With `center` the signal is padded by n_fft // 2 on both sides, by `pad_mode`, so that
    stretch t stands around element t · hop_length. `onesided` (by default for real signals and
    windows) gives the first n_fft // 2 + 1 frequencies, `normalized` divides by √n_fft. Without
    `return_complex` the result is real, with the parts as a last dimension of 2; it must be given
    for real signals.

    >>> import tensorplay as tp
    >>> tp.stft(tp.ones(8), 4, window=tp.ones(4), center=False, return_complex=True).shape
    (3, 5)
    """
    if input.ndim not in {1, 2}:
        raise ShapeError(f"stft: expected signals (B, L) or (L,), found shape {tuple(input.shape)}")
    if not input.dtype.is_differentiable:
        raise DTypeError(f"stft: expected a floating or complex dtype, found {input.dtype}")
    hop = _hop("stft", hop_length, n_fft)
    weights = _whole_window("stft", window, n_fft, win_length, input)
    is_complex = input.dtype.is_complex or weights.dtype.is_complex
    if return_complex is None:
        if not is_complex:
            raise ArgumentError("stft: return_complex must be given for real signals")
        return_complex = True
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise ArgumentValueError("stft: onesided is for real signals and windows")
    signal = input.reshape((1, input.shape[0])) if input.ndim == 1 else input
    if center:
        signal = tp.pad(signal.unsqueeze(0), (n_fft // 2, n_fft // 2), pad_mode).squeeze(0)
    if not 0 < n_fft <= signal.shape[-1]:
        raise ArgumentValueError(
            f"stft: expected 0 < n_fft <= {signal.shape[-1]} (the signal's length), found {n_fft}"
        )
    frames = signal.unfold(-1, n_fft, hop) * weights
    norm = "ortho" if normalized else None
    spectra = tp.fft_rfft(frames, norm=norm) if onesided else tp.fft_fft(frames, norm=norm)
    found: Tensor = spectra.transpose(-2, -1)
    if input.ndim == 1:
        found = found.squeeze(0)
    return found if return_complex else tp.view_as_real(found)


def _envelope_meta(envelope: TensorMeta) -> TensorMeta:
    return TensorMeta(envelope.shape, envelope.dtype, envelope.device)


@structured(meta=_envelope_meta, public=False, linear=True, batching=leading)
def nonzero_envelope(envelope: Array) -> Array:
    """The sum of squared windows, refused where it is 0: there the signal is unknown."""
    if envelope.size and float(np.abs(envelope).min()) < _LEAST:
        raise ArgumentValueError(
            "istft: the windows add up to 0 somewhere; choose a smaller hop_length or another window"
        )
    return np.array(envelope)


_LEAST = 1e-11


@nonzero_envelope.gradient("envelope")
def _(grad: Tensor) -> Tensor:
    return grad


@nonzero_envelope.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4,), low=0.5))


@composite(method=True)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signals (B?, L) with these spectra (B?, N, T): the least-squares inverse of `stft`.

    Stretches are transformed back, multiplied by the window, added where they overlap, and divided by
    the sum of the squared windows; where that is 0, `ArgumentValueError` (D. Griffin and J. Lim, Signal
    estimation from modified short-time Fourier transform, 1984). `length` cuts or pads the result;
    `return_complex` is for spectra that are not one-sided.

    >>> import tensorplay as tp
    >>> window = tp.ones(4)
    >>> spectra = tp.stft(tp.arange(8.0), 4, window=window, return_complex=True)
    >>> tp.istft(spectra, 4, window=window)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if not input.dtype.is_complex:
        raise DTypeError(f"istft: expected complex spectra, found {input.dtype}")
    if input.ndim not in {2, 3}:
        raise ShapeError(
            f"istft: expected spectra (B, N, T) or (N, T), found shape {tuple(input.shape)}"
        )
    hop = _hop("istft", hop_length, n_fft)
    onesided = input.shape[-2] != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if input.shape[-2] != wanted:
        raise ShapeError(f"istft: expected {wanted} frequencies, found {input.shape[-2]}")
    if onesided and return_complex:
        raise ArgumentValueError("istft: one-sided spectra have real signals")
    spectra = input if input.ndim == 3 else input.unsqueeze(0)
    weights = _whole_window("istft", window, n_fft, win_length, input)
    norm = "ortho" if normalized else None
    turned = spectra.transpose(-2, -1)
    frames = tp.fft_irfft(turned, n_fft, norm=norm) if onesided else tp.fft_ifft(turned, norm=norm)
    if not onesided and not return_complex:
        frames = tp.real(frames)
    count = frames.shape[1]
    total = n_fft + hop * (count - 1)
    signal = _added(frames * weights, hop, total)
    squares = (weights * weights).expand((1, count, n_fft))
    envelope = _added(squares, hop, total)
    first = n_fft // 2 if center else 0
    last = first + length if length is not None else total - first
    stop = min(last, total)
    kept = nonzero_envelope(envelope.narrow(-1, first, max(stop - first, 0)))
    found = signal.narrow(-1, first, max(stop - first, 0)) / kept
    if last > total:
        rest = tp.zeros((found.shape[0], last - total), dtype=found.dtype)
        found = tp.cat((found, rest), -1)
    return found if input.ndim == 3 else found.squeeze(0)


def _added(frames: Tensor, hop: int, total: int) -> Tensor:
    """Frames (B, T, N), each `hop` behind the last one, added up: (B, total)."""
    count, size = frames.shape[1], frames.shape[2]
    starts = (tp.arange(count) * hop).unsqueeze(-1)
    places = (starts + tp.arange(size)).reshape((count * size,))
    flat = frames.reshape((frames.shape[0], count * size))
    zeros = tp.zeros((frames.shape[0], total), dtype=frames.dtype)
    found: Tensor = zeros.index_add(1, places, flat)
    return found


@stft.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((12,)), 4, return_complex=True)
    yield sample(Arg((2, 12)), 4, 2, 3, Arg((3,), low=0.5), return_complex=True)
    yield sample(Arg((2, 12)), 5, center=False, normalized=True, return_complex=False)
    yield sample(Arg((12,), float64), 4, pad_mode="constant", onesided=False, return_complex=True)
    yield sample(Arg((12,), complex64), 4)
    yield bad(ArgumentError, "return_complex must be given", Arg((12,)), 4)
    yield bad(ShapeError, "expected signals", Arg((2, 2, 12)), 4, return_complex=True)
    yield bad(ShapeError, "a window of 4", Arg((12,)), 4, window=Arg((3,)), return_complex=True)
    yield bad(
        ArgumentValueError, "the signal's length", Arg((3,)), 4, center=False, return_complex=True
    )
    yield bad(DTypeError, "floating or complex", Arg((12,), int64), 4, return_complex=True)


@istft.sample
def _() -> Iterator[Sample]:
    window = Arg((4,), low=0.5)
    yield sample(Arg((3, 6), complex64), 4, window=window)
    yield sample(Arg((2, 3, 6), complex64), 4, 2, window=window, length=9, normalized=True)
    yield sample(Arg((4, 6), complex64), 4, window=window, onesided=False, return_complex=True)
    yield sample(Arg((3, 5), complex64), 4, center=False)
    yield bad(DTypeError, "complex spectra", Arg((3, 6)), 4)
    yield bad(ShapeError, "frequencies", Arg((4, 6), complex64), 8)
