"""Fourier transforms against NumPy: sizes, norms, precision, gradients; signals from their short-time spectra."""

import numpy as np
import pytest

import tensorplay as tp

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 3, 8])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_are_numpys(name, n, norm):
    x = RNG.standard_normal((3, 5))
    if name in {"fft", "ifft", "irfft", "hfft"}:
        x = x + 1j * RNG.standard_normal((3, 5))
    found = getattr(tp.fft, name)(tp.from_numpy(x), n, -1, norm)
    np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(x, n, -1, norm), atol=1e-12)


def test_single_precision_stays():
    x = tp.randn(8)
    assert tp.fft.fft(x).dtype is tp.complex64
    assert tp.fft.rfft(x).dtype is tp.complex64
    assert tp.fft.irfft(tp.fft.rfft(x)).dtype is tp.float32
    assert tp.fft.fft(tp.arange(4)).dtype is tp.complex64


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tp.fft.rfft(x, 6),
        lambda x: tp.fft.rfftn(x, norm="ortho"),
        lambda x: tp.fft.irfft2(tp.fft.rfft2(x) ** 2, (3, 5)),
        lambda x: tp.fft.fft2(x).abs(),
        lambda x: tp.fft.hfft(x, 7),
        tp.fft.ihfftn,
    ],
)
def test_gradients(function):
    x = tp.from_numpy(RNG.standard_normal((3, 4))).requires_grad_()
    assert tp.autograd.gradcheck(function, (x,))
    assert tp.autograd.gradgradcheck(function, (x,))


def test_transforms_are_steps_of_compiled_programs():
    x = tp.randn(4, 16)

    def smooth(x):
        return tp.fft.irfft(tp.fft.rfft(x * 2)) + 1

    compiled = tp.compile(smooth, strict_native=True)
    np.testing.assert_allclose(compiled(x).numpy(), smooth(x).numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"onesided": False}])
def test_istft_undoes_stft(options):
    x = tp.from_numpy(RNG.standard_normal((2, 40))).requires_grad_()
    window = tp.hann_window(8, dtype=tp.float64)
    spectra = tp.stft(x, 8, 2, window=window, return_complex=True, **options)
    back = tp.istft(spectra, 8, 2, window=window, length=40, **options)
    np.testing.assert_allclose(back.detach().numpy(), x.detach().numpy(), atol=1e-12)


def test_istft_refuses_windows_that_leave_gaps():
    spectra = tp.zeros(5, 4, dtype=tp.complex64)
    with pytest.raises(ValueError, match="add up to 0"):
        tp.istft(spectra, 8, 8, window=tp.hann_window(8), center=False)
