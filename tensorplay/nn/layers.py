"""Layers with parameters: linear maps, normalizations, embeddings.

Weights have PyTorch's names, shapes and initial distributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.autograd import no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import empty, ones, tensor, zeros
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


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


class _BatchNorm(Module):
    """Normalize each channel over the batch (Ioffe and Szegedy 2015).

    In training by the batch's mean and variance, and ``running_mean``, ``running_var`` follow with
    weight ``momentum`` (the running variance with Bessel's correction; ``momentum=None`` averages
    over all batches). In evaluation by the running statistics.
    """

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        size = (num_features,)
        self.register_parameter("weight", Parameter(ones(size, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(size, dtype=dtype)) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(size, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(size, dtype=dtype) if tracked else None)
        self.register_buffer(
            "num_batches_tracked", tensor(0, dtype=dtypes.int64) if tracked else None
        )

    def reset_parameters(self) -> None:
        """Forget the statistics; weight 1 and bias 0."""
        for each, value in (
            (self.running_mean, 0.0),
            (self.running_var, 1.0),
            (self.num_batches_tracked, 0),
            (self.weight, 1.0),
            (self.bias, 0.0),
        ):
            if each is not None:
                init.constant_(each, value)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize; in training also update the running statistics."""
        if x.ndim not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise ArgumentValueError(
                f"{type(self).__name__} expects {ranks} dimensions, got shape {tuple(x.shape)}"
            )
        momentum: float | Tensor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked
        return functional.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        """The number of channels and the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of ``(N, C)`` or ``(N, C, L)``."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of ``(N, C, H, W)``."""

    ranks = (4,)


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


class Embedding(Module):
    """Rows of a table: integers ``(*)`` → ``(*, embedding_dim)``.

    ``weight`` is ``(num_embeddings, embedding_dim)``, drawn from ``N(0, 1)``; the row
    ``padding_idx`` starts as zeros and receives no gradient.
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentValueError(
                f"padding_idx={padding_idx} is no row of a table of {num_embeddings}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(empty((num_embeddings, embedding_dim), dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0.0)

    def forward(self, indices: Tensor) -> Tensor:
        """Look the rows up."""
        return functional.embedding(indices, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """The table's sizes."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
