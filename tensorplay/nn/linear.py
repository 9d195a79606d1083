"""Linear and bilinear maps as modules. Weights have PyTorch's names, shapes and distributions.

>>> import tensorplay as tp
>>> tp.nn.Bilinear(2, 3, 4)(tp.ones(5, 2), tp.ones(5, 3)).shape
(5, 4)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import empty
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class Identity(Module):
    """Return the input. Whatever it is made with is ignored, so that it can stand for any layer."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return ``input``."""
        return input


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
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), dtype=dtype, device=device))
        shift = Parameter(empty((out_features,), dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.uniform_by_fan_in_(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the affine map to the last dimension."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """``x1 · weight[k] · x2 + bias[k]`` for each k, ``(*, in1), (*, in2) → (*, out_features)``.

    ``weight`` is ``(out_features, in1_features, in2_features)``, drawn from ``U(−1/√in1, 1/√in1)`` as
    ``bias`` is.
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ArgumentValueError(f"Bilinear: in1_features is above 0, got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(shape, dtype=dtype, device=device))
        shift = Parameter(empty((out_features,), dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1.0 / math.sqrt(self.in1_features)
        for each in (self.weight, self.bias):
            if each is not None:
                init.uniform_(each, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Apply the bilinear map to the last dimensions."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
