"""Windows under PyTorch's names, `tensorplay.signal.windows`: symmetric, or with `sym=False` periodic.

>>> import tensorplay as tp
>>> tp.signal.windows.gaussian(3, std=2.0)
tensor([0.8825, 1.0000, 0.8825])
"""

from __future__ import annotations

from tensorplay.publishing import function_named

bartlett = function_named("signal_windows_bartlett")
blackman = function_named("signal_windows_blackman")
cosine = function_named("signal_windows_cosine")
exponential = function_named("signal_windows_exponential")
gaussian = function_named("signal_windows_gaussian")
general_cosine = function_named("signal_windows_general_cosine")
general_hamming = function_named("signal_windows_general_hamming")
hamming = function_named("signal_windows_hamming")
hann = function_named("signal_windows_hann")
kaiser = function_named("signal_windows_kaiser")
nuttall = function_named("signal_windows_nuttall")

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip
