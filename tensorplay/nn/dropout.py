"""Dropout as modules: random zeros in training, nothing in evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError
from tensorplay.nn import functional
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class Dropout(Module):
    """In training zero each element with probability ``p`` and scale the rest by ``1 / (1 − p)``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ArgumentValueError(f"the probability of dropout lies in [0, 1], got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements in training, return ``x`` otherwise."""
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"
