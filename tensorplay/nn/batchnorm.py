"""Batch normalization as modules, with running statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.autograd import no_grad
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import ones, tensor, zeros
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


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
