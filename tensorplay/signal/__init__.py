"""Signals under PyTorch's names, `tensorplay.signal`: windows for spectra.

>>> import tensorplay as tp
>>> tp.signal.windows.hann(3)
tensor([0., 1., 0.])
"""

from __future__ import annotations

from tensorplay.signal import windows

__all__ = ["windows"]
