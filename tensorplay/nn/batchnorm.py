"""Batch and instance normalization as modules, with running statistics.

>>> import tensorplay as tp
>>> layer = tp.nn.BatchNorm1d(3)
>>> layer(tp.zeros(4, 3)).shape, layer.num_batches_tracked
((4, 3), tensor(1))
"""

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
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class ChannelNorm(Module):
    """What batch and instance normalization share: a weight and statistics for each channel."""

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    ranks: tuple[int, ...] = ()
    has_single_samples: bool = False
    """Whether the least of the ranks is that of a sample without a batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        size, tracked = (num_features,), track_running_stats
        one, zero = (make(size, dtype=dtype, device=device) for make in (ones, zeros))
        self.register_parameter("weight", Parameter(one) if affine else None)
        self.register_parameter("bias", Parameter(zero) if affine and bias else None)
        self.register_buffer("running_mean", zero.clone() if tracked else None)
        self.register_buffer("running_var", one.clone() if tracked else None)
        count = tensor(0, dtype=dtypes.int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Forget the statistics."""
        for each, value in (
            (self.running_mean, 0.0),
            (self.running_var, 1.0),
            (self.num_batches_tracked, 0),
        ):
            if each is not None:
                init.constant_(each, value)

    def reset_parameters(self) -> None:
        """Forget the statistics; weight 1 and bias 0."""
        self.reset_running_stats()
        for each, value in ((self.weight, 1.0), (self.bias, 0.0)):
            if each is not None:
                init.constant_(each, value)

    def check_rank(self, input: Tensor) -> None:
        """Refuse inputs of other ranks."""
        if input.ndim not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise ArgumentValueError(
                f"{type(self).__name__} expects {ranks} dimensions, got shape {tuple(input.shape)}"
            )

    def extra_repr(self) -> str:
        """The number of channels and the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(ChannelNorm):
    """Normalize each channel over the batch (Ioffe and Szegedy 2015).

    In training by the batch's mean and variance, and ``running_mean``, ``running_var`` follow with
    weight ``momentum`` (the running variance with Bessel's correction; ``momentum=None`` averages
    over all batches). In evaluation by the running statistics.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalize; in training also update the running statistics."""
        self.check_rank(input)
        momentum: float | Tensor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked
        return functional.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of ``(N, C)`` or ``(N, C, L)``."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of ``(N, C, H, W)``."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of ``(N, C, D, H, W)``."""

    ranks = (5,)


class _InstanceNorm(ChannelNorm):
    """Normalize each channel of each sample (Ulyanov, Vedaldi and Lempitsky 2016).

    By its own mean and variance; with ``track_running_stats`` the running statistics follow in
    training and are used in evaluation. The batch dimension may be left out.
    """

    has_single_samples = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalize; in training also update the running statistics, if there are any."""
        self.check_rank(input)
        single = input.ndim == min(self.ranks)
        if input.shape[0 if single else 1] != self.num_features:
            raise ArgumentValueError(
                f"{type(self).__name__} was made for {self.num_features} channels, got shape "
                f"{tuple(input.shape)}"
            )
        found = functional.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return found.squeeze(0) if single else found


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of ``(N, C, L)`` or ``(C, L)``."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of ``(N, C, H, W)`` or ``(C, H, W)``."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    ranks = (4, 5)
