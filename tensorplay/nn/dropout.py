"""Dropout as modules: random zeros in training, nothing in evaluation.

>>> import tensorplay as tp
>>> tp.nn.Dropout(0.2).eval()(tp.ones(3))
tensor([1., 1., 1.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError
from tensorplay.nn import functional
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class _Dropout(Module):
    """In training something is dropped with probability ``p``."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ArgumentValueError(f"the probability of dropout lies in [0, 1], got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Show the probability, and whether the input is overwritten."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zero each element with probability ``p`` and scale the rest by ``1 / (1 − p)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training, return the input otherwise."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Zero whole channels of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training, return the input otherwise."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Zero whole channels of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training, return the input otherwise."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training, return the input otherwise."""
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1, for `SELU`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training, return the input otherwise."""
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop in training, return the input otherwise."""
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)
