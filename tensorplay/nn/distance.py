"""Distances and similarities as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.nn import functional
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class PairwiseDistance(Module):
    """``‖x1 − x2 + eps‖ₚ`` over the last dimension.

    >>> import tensorplay as tp
    >>> tp.nn.PairwiseDistance(1.0)(tp.tensor([[1.0, 2.0]]), tp.tensor([[0.0, 0.0]]))
    tensor([3.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Measure."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``x1 · x2 / (max(‖x1‖, eps) · max(‖x2‖, eps))`` along ``dim``."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Compare the directions."""
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)
