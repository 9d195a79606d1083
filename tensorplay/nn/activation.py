"""Activations as modules: a function with its settings, no parameters but those of `PReLU`.

>>> import tensorplay as tp
>>> tp.nn.Hardtanh(-2.0, 2.0)
Hardtanh(min_val=-2.0, max_val=2.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tensorplay.core.errors import ShapeError
from tensorplay.functions import full
from tensorplay.nn import functional
from tensorplay.nn.init import constant_
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class _Inplace(Module):
    """An activation that may overwrite its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """``inplace=True``, or nothing."""
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """``max(x, 0)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.relu(input, self.inplace)


class SiLU(_Inplace):
    """``x · sigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.silu(input, self.inplace)


class Mish(_Inplace):
    """``x · tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.mish(input, self.inplace)


class SELU(_Inplace):
    """Scaled elu, which keeps mean 0 and variance 1 (Klambauer et al. 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.selu(input, self.inplace)


class Hardsigmoid(_Inplace):
    """``clamp(x / 6 + 1/2, 0, 1)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.hardsigmoid(input, self.inplace)


class Hardswish(_Inplace):
    """``x · clamp(x / 6 + 1/2, 0, 1)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.hardswish(input, self.inplace)


class Hardtanh(_Inplace):
    """``min(max(x, min_val), max_val)``."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Show the bounds."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + _also(self.inplace)


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        """``inplace=True``, or nothing."""
        return "inplace=True" if self.inplace else ""


class Threshold(_Inplace):
    """``x`` where it exceeds ``threshold``, else ``value``."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Show the threshold and what stands below it."""
        return f"threshold={self.threshold}, value={self.value}" + _also(self.inplace)


class ELU(_Inplace):
    """``x`` where positive, else ``alpha · (exp(x) − 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Show alpha."""
        return f"alpha={self.alpha}" + _also(self.inplace)


class CELU(_Inplace):
    """``x`` where positive, else ``alpha · (exp(x / alpha) − 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Show alpha."""
        return f"alpha={self.alpha}" + _also(self.inplace)


class LeakyReLU(_Inplace):
    """``x`` where positive, else ``negative_slope · x``."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Show the slope."""
        return f"negative_slope={self.negative_slope}" + _also(self.inplace)


class RReLU(_Inplace):
    """``x`` where positive, else ``slope · x`` with random slopes in training, their mean otherwise."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Show the bounds of the slopes."""
        return f"lower={self.lower}, upper={self.upper}" + _also(self.inplace)


class PReLU(Module):
    """``x`` where positive, else ``weight · x``; one weight is learned for all or for each channel."""

    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype, device=device))

    def reset_parameters(self) -> None:
        """Fill with the initial slope."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Show how many weights there are."""
        return f"num_parameters={self.num_parameters}"


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.tanh(input)


class Sigmoid(Module):
    """``1 / (1 + exp(−x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.sigmoid(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))`` without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.softsign(input)


class Tanhshrink(Module):
    """``x − tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.tanhshrink(input)


class GELU(Module):
    """``x · Φ(x)`` with the normal distribution function, or its tanh approximation."""

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Which form."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """``log(1 + exp(beta · x)) / beta``, the identity where ``beta · x`` exceeds ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Show beta and the threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Hardshrink(Module):
    """``x`` outside of ``[−lambd, lambd]``, else 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Show lambda, as PyTorch does."""
        return str(self.lambd)


class Softshrink(Module):
    """``x`` moved toward 0 by ``lambd``, and 0 where it is nearer."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply to each element."""
        return functional.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Show lambda, as PyTorch does."""
        return str(self.lambd)


class GLU(Module):
    """``a · sigmoid(b)``, a and b the halves of the input along ``dim``."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Gate one half by the other."""
        return functional.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Show the dimension."""
        return f"dim={self.dim}"


class Softmax(Module):
    """``exp(x) / Σ exp(x)`` along ``dim``."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Normalize along the dimension."""
        return functional.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """Show the dimension."""
        return f"dim={self.dim}"


class Softmin(Module):
    """``exp(−x) / Σ exp(−x)`` along ``dim``."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Normalize along the dimension."""
        return functional.softmin(input, self.dim)

    def extra_repr(self) -> str:
        """Show the dimension."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """``x − log Σ exp(x)`` along ``dim``."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Normalize along the dimension."""
        return functional.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """Show the dimension."""
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalize along dimension −3."""
        if input.ndim not in {3, 4}:
            raise ShapeError(
                f"Softmax2d expects (N, C, H, W) or (C, H, W), got shape {tuple(input.shape)}"
            )
        return functional.softmax(input, -3)


def _also(inplace: bool) -> str:
    return ", inplace=True" if inplace else ""
