"""A normalization in evaluation folded into the layer before it: one layer that computes the same.

>>> import tensorplay as tp
>>> layer, norm = tp.nn.Linear(3, 4).eval(), tp.nn.BatchNorm1d(4).eval()
>>> x = tp.ones(2, 3)
>>> tp.allclose(fuse_linear_bn_eval(layer, norm)(x), norm(layer(x)), atol=1e-6)
True
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import ones_like, rsqrt, zeros_like
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.nn.batchnorm import ChannelNorm
    from tensorplay.nn.convolution import ConvNd
    from tensorplay.nn.linear import Linear
    from tensorplay.tensor import Tensor

    Convolution = TypeVar("Convolution", bound=ConvNd)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution, and behind it a normalization by running mean and variance, as one convolution.

    Output channels are dimension 0 of the weight, with ``transpose`` dimension 1.
    """
    shift = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (ones_like(bn_rm) if bn_w is None else bn_w) * rsqrt(bn_rv + bn_eps)
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    bias = (shift - bn_rm) * scale + (zeros_like(bn_rm) if bn_b is None else bn_b)
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    return (
        Parameter(weight.detach(), conv_w.requires_grad),
        Parameter(bias.to(conv_w.dtype).detach(), shift.requires_grad),
    )


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear map, and behind it a normalization, as one linear map."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_conv_bn_eval(conv: Convolution, bn: ChannelNorm, transpose: bool = False) -> Convolution:
    """A copy of a convolution that computes what it and a batch normalization do in evaluation."""
    mean, variance = _statistics(conv.training, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, mean, variance, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Linear, bn: ChannelNorm) -> Linear:
    """A copy of a linear layer that computes what it and a batch normalization do in evaluation."""
    mean, variance = _statistics(linear.training, bn)
    if bn.num_features not in {linear.out_features, 1}:
        raise ArgumentValueError(
            f"fuse_linear_bn_eval: a normalization of {bn.num_features} features does not follow a layer of "
            f"{linear.out_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, mean, variance, bn.eps, bn.weight, bn.bias
    )
    return fused


def _statistics(training: bool, bn: ChannelNorm) -> tuple[Tensor, Tensor]:
    if training or bn.training:
        raise ArgumentValueError("fusion is for evaluation: call .eval() on both layers first")
    if bn.running_mean is None or bn.running_var is None:
        raise ArgumentValueError(
            "fusion needs a normalization with running statistics: make it with track_running_stats=True"
        )
    return bn.running_mean, bn.running_var
