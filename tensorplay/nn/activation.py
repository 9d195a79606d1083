"""Activations as modules: a function with its settings, no parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tensorplay.nn import functional
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class ReLU(Module):
    """``max(x, 0)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.relu(x)


class ReLU6(Module):
    """``min(max(x, 0), 6)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return x.clamp(0.0, 6.0)


class LeakyReLU(Module):
    """``x`` where positive, else ``negative_slope · x``."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        """The slope."""
        return f"negative_slope={self.negative_slope}"


class ELU(Module):
    """``x`` where positive, else ``alpha · (exp(x) − 1)``."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.elu(x, self.alpha)

    def extra_repr(self) -> str:
        """Show alpha."""
        return f"alpha={self.alpha}"


class GELU(Module):
    """``x · Φ(x)`` with the normal distribution function, or its tanh approximation."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.gelu(x, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Which form."""
        return f"approximate={self.approximate!r}"


class SiLU(Module):
    """``x · sigmoid(x)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.silu(x)


class Mish(Module):
    """``x · tanh(softplus(x))``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.mish(x)


class Softplus(Module):
    """``log(1 + exp(beta · x)) / beta``, the identity where ``beta · x`` exceeds ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Show beta and the threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.tanh(x)


class Sigmoid(Module):
    """``1 / (1 + exp(−x))``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.sigmoid(x)


class Softmax(Module):
    """``exp(x) / Σ exp(x)`` along ``dim``."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        """Normalize along the dimension."""
        return functional.softmax(x, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """``x − log Σ exp(x)`` along ``dim``."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        """Normalize along the dimension."""
        return functional.log_softmax(x, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"
