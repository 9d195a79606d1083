"""Windows: those that NumPy has, periodic ones as parts of symmetric ones, and no overflow."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.signal import windows

GIVEN = {"general_cosine": {"a": [0.4, 0.3, 0.2]}, "exponential": {"tau": 2.0}}


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (windows.bartlett, np.bartlett),
        (windows.blackman, np.blackman),
        (windows.hamming, np.hamming),
        (windows.hann, np.hanning),
        (lambda n, **kw: windows.kaiser(n, beta=8.6, **kw), lambda n: np.kaiser(n, 8.6)),
    ],
)
@pytest.mark.parametrize("length", [0, 1, 2, 9, 10])
def test_symmetric_windows_are_numpys(ours, numpys, length):
    found = ours(length, dtype=tp.float64).numpy()
    np.testing.assert_allclose(found, numpys(length), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", windows.__all__)
@pytest.mark.parametrize("length", [2, 7])
def test_a_periodic_window_is_the_symmetric_one_of_an_element_more_without_its_last(name, length):
    window, given = getattr(windows, name), GIVEN.get(name, {})
    longer = window(length + 1, dtype=tp.float64, **given)
    found = window(length, sym=False, dtype=tp.float64, **given)
    np.testing.assert_allclose(found.numpy(), longer.numpy()[:-1], rtol=1e-12, atol=1e-15)


def test_a_window_of_a_large_beta_does_not_overflow():
    narrow = windows.kaiser(101, beta=2000.0, dtype=tp.float64)
    assert narrow.isfinite().all()
    assert narrow[50] == 1.0
    assert (tp.kaiser_window(100, beta=2000.0, dtype=tp.float64) == narrow[:-1]).all()


def test_a_center_is_for_periodic_windows():
    found = windows.exponential(4, center=1.0, tau=0.5, sym=False, dtype=tp.float64)
    np.testing.assert_allclose(found.numpy(), np.exp(-2.0 * np.abs(np.arange(4) - 1.0)))
