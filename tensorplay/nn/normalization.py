"""Normalizations as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.functions import ones, zeros
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class LayerNorm(Module):
    """Normalize over the trailing dimensions (Ba, Kiros and Hinton 2016).

    ``y = (x − mean) / √(var + eps) · weight + bias`` with the biased variance.
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape = tuple(shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine, shape = elementwise_affine, self.normalized_shape
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if affine else None)
        self.register_parameter(
            "bias", Parameter(zeros(shape, dtype=dtype)) if affine and bias else None
        )

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the trailing dimensions."""
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The normalized shape and the settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
