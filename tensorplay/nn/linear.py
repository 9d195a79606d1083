"""Linear maps as modules. Weights have PyTorch's names, shapes and initial distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.functions import empty
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class Identity(Module):
    """Return the input."""

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x``."""
        return x


class Linear(Module):
    """``x @ weight.T + bias``, ``(*, in_features) → (*, out_features)``.

    ``weight`` is ``(out_features, in_features)``, drawn from ``U(−1/√in, 1/√in)`` as ``bias`` is.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty((out_features,), dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.uniform_by_fan_in_(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the affine map to the last dimension."""
        return functional.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
