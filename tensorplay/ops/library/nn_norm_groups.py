"""Normalizations over parts of the channels: groups, instances, neighbours. Composites.

Computed in float32 for half types and rounded once.

>>> import tensorplay as tp
>>> tp.group_norm(tp.tensor([[1.0, 3.0, 0.0, 8.0]]), 2, eps=0.0)
tensor([[-1.,  1., -1.,  1.]])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_norm import check_channels
from tensorplay.ops.library.nn_softmax import widen
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x − mean) / √(var + eps) · weight + bias`` over groups of channels of each sample of (N, C, *).

    Mean and biased variance are those of a group of C / num_groups channels and all that they hold;
    weight and bias have one number for each channel (Wu and He 2018).

    >>> import tensorplay as tp
    >>> tp.nn.functional.group_norm(tp.tensor([[1.0, 3.0, 10.0, 20.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.ndim < 2:
        raise ShapeError(f"group_norm: expected (N, C, *), got shape {tuple(input.shape)}")
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups != 0:
        raise ArgumentValueError(
            f"group_norm: {channels} channels cannot be divided into {num_groups} groups"
        )
    check_channels("group_norm", channels, {"weight": weight, "bias": bias})
    x = widen(input)
    size = x.numel() // (x.shape[0] * num_groups) if x.numel() else 0
    groups = x.reshape((x.shape[0], num_groups, size))
    centered = groups - groups.mean(-1, keepdim=True)
    variance = (centered * centered).mean(-1, keepdim=True)
    result = (centered * tp.rsqrt(variance + eps)).reshape(input.shape)
    return _scaled(result, weight, bias).to(input.dtype)


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scale and shift each channel."""
    shape = (-1, *(1,) * (x.ndim - 2))
    if weight is not None:
        x = x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


@group_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 6)), 3, Arg((6,)), Arg((6,)))
    yield sample(Arg((2, 4, 3, 5), layout="transposed"), 2)
    yield sample(Arg((2, 4, 3)), 1, None, Arg((4,)))
    yield sample(Arg((0, 4, 3)), 2, Arg((4,)))
    yield bad(ShapeError, "expected .N, C", Arg((6,)), 3)
    yield bad(ArgumentValueError, "cannot be divided", Arg((2, 6)), 4)
    yield bad(ShapeError, "weight has shape", Arg((2, 6)), 3, Arg((3,)))


@composite()
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x − mean) / √(var + eps) · weight + bias`` for each channel of each sample of (N, C, *).

    With ``use_input_stats`` mean and biased variance are those of the channel, and the running
    statistics move in place toward their means over the batch, the variance unbiased; otherwise the
    running statistics are used (Ulyanov, Vedaldi and Lempitsky 2016).

    >>> import tensorplay as tp
    >>> tp.nn.functional.instance_norm(tp.tensor([[[1.0, 2.0, 3.0], [0.0, 10.0, 20.0]]]))
    tensor([[[-1.2247,  0.0000,  1.2247],
             [-1.2247,  0.0000,  1.2247]]])
    """
    if input.ndim < 3:
        raise ShapeError(f"instance_norm: expected (N, C, *), got shape {tuple(input.shape)}")
    given = {
        "running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias,
    }  # fmt: skip
    check_channels("instance_norm", input.shape[1], given)
    x = widen(input)
    if use_input_stats:
        places = tuple(range(2, input.ndim))
        mean = x.mean(places, keepdim=True)
        centered = x - mean
        variance = (centered * centered).mean(places, keepdim=True)
        _follow(input, running_mean, running_var, mean, variance, momentum)
    else:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: evaluation needs running_mean and running_var")
        shape = (-1, *(1,) * (input.ndim - 2))
        centered, variance = x - running_mean.reshape(shape), running_var.reshape(shape)
    return _scaled(centered * tp.rsqrt(variance + eps), weight, bias).to(input.dtype)


def _follow(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    momentum: Any,  # noqa: ANN401  # a number or a tensor
) -> None:
    """Move the running statistics toward the means over the batch."""
    count = input.numel() // max(input.shape[0] * input.shape[1], 1)
    if count <= 1 and input.numel() != 0:
        raise ShapeError(
            "instance_norm: training needs more than one value a channel and sample, got shape "
            f"{tuple(input.shape)}"
        )
    unbiased = variance.detach() * (count / max(count - 1, 1))
    for running, statistic in ((running_mean, mean.detach()), (running_var, unbiased)):
        if running is not None:
            fresh = statistic.mean(0).reshape(running.shape)
            running.copy_(running * (1.0 - momentum) + fresh * momentum)


@instance_norm.sample
def _() -> Iterator[Sample]:
    positive = Arg((3,), low=0.5)
    yield sample(Arg((2, 3, 4)), None, None, Arg((3,)), Arg((3,)))
    yield sample(Arg((2, 3, 4, 5), layout="transposed"))
    yield sample(Arg((2, 3, 4)), Arg((3,)), positive, use_input_stats=False)
    yield bad(ShapeError, "expected .N, C", Arg((2, 3)))
    yield bad(ShapeError, "running_mean", Arg((2, 3, 4)), use_input_stats=False)
    yield bad(ShapeError, "more than one value", Arg((2, 3, 1)))
    yield bad(ShapeError, "bias has shape", Arg((2, 3, 4)), bias=Arg((2,)))


@composite()
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``x / (k + alpha · s)^beta``, s the mean of x² over ``size`` neighbouring channels.

    Beyond the channels there are zeros, which the mean counts (Krizhevsky et al. 2012). Of integers the
    mean is truncated, as `avg_pool1d` does, and the result is of the default dtype.

    >>> import tensorplay as tp
    >>> tp.nn.functional.local_response_norm(tp.ones(1, 3, 1), 2, alpha=1.0)
    tensor([[[0.7378],
             [0.5946],
             [0.5946]]])
    """
    if input.ndim < 3:
        raise ShapeError(f"local_response_norm: expected (N, C, *), got shape {tuple(input.shape)}")
    if size < 1:
        raise ArgumentValueError(f"local_response_norm: size is at least 1, got {size}")
    if input.numel() == 0:
        return input.clone()
    x = widen(input)
    last = (0, 0) * (input.ndim - 2)
    padded = tp.pad(x * x, (*last, size // 2, (size - 1) // 2))
    squares = padded.unfold(1, size, 1)
    if input.dtype.kind != "f":
        return x / (squares.sum(-1) // size * alpha + k) ** beta
    return (x / (squares.mean(-1) * alpha + k) ** beta).to(input.dtype)


@local_response_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 5, 3)), 3, 0.5, 0.75, 1.5)
    yield sample(Arg((2, 3, 2, 2), layout="transposed"), 4)
    yield sample(Arg((0, 3, 2)), 2)
    yield sample(Arg((2, 5, 3), int64, -9, 9), 3, 0.5)
    yield bad(ShapeError, "expected .N, C", Arg((2, 3)), 2)
    yield bad(ArgumentValueError, "at least 1", Arg((2, 3, 4)), 0)
