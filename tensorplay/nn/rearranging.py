"""Modules that move elements and compute nothing: flatten, unflatten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class Flatten(Module):
    """Make one dimension of those from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, x: Tensor) -> Tensor:
        """Flatten all but the batch dimension, by default."""
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split dimension ``dim`` into several of sizes ``unflattened_size``."""

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        """Reshape one dimension."""
        dim = self.dim % x.ndim
        return x.reshape((*x.shape[:dim], *self.unflattened_size, *x.shape[dim + 1 :]))

    def extra_repr(self) -> str:
        """The dimension and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
