"""Normalizations: composites, computed in float32 for half types and rounded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import finfo
from tensorplay.core.errors import ShapeError
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.library.nn_softmax import widen
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def layer_norm(
    input: Tensor,
    normalized_shape: Size,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x − mean) / √(var + eps) · weight + bias`` over the trailing dimensions ``normalized_shape``.

    Mean and (biased) variance are those of each slice; weight and bias have ``normalized_shape``.

    >>> import tensorplay as tp
    >>> tp.nn.functional.layer_norm(tp.tensor([[1.0, 2.0, 3.0], [0.0, 10.0, 20.0]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247],
            [-1.2247,  0.0000,  1.2247]])
    """
    trailing = tuple(normalized_shape)
    if not trailing or input.shape[-len(trailing) :] != trailing:
        raise ShapeError(
            f"layer_norm: the input of shape {tuple(input.shape)} does not end with normalized_shape "
            f"{trailing}"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != trailing:
            raise ShapeError(
                f"layer_norm: {name} has shape {tuple(each.shape)}, normalized_shape is {trailing}"
            )
    dims = tuple(range(-len(trailing), 0))
    x = widen(input)
    centered = x - x.mean(dims, keepdim=True)
    variance = (centered * centered).mean(dims, keepdim=True)
    result = centered * tp.rsqrt(variance + eps)
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.to(input.dtype)


@layer_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 8)), (8,), Arg((8,)), Arg((8,)))
    yield sample(Arg((2, 3, 4), layout="transposed"), (3, 4))
    yield bad(ShapeError, "does not end with", Arg((3, 8)), (3,))
    yield bad(ShapeError, "weight has shape", Arg((3, 8)), (8,), Arg((3,)))


@composite()
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: object = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x − mean) / √(var + eps) · weight + bias`` for each channel (dimension 1).

    In training, mean and biased variance are those of the batch, and the running statistics are
    updated in place: ``running ← (1 − momentum) · running + momentum · statistic``, with the unbiased
    variance. Otherwise the running statistics are used. ``momentum`` is a number or a 0-d tensor. The
    input is ``(N, C, *)``, or of shape (0,), of which nothing is left to do.

    >>> import tensorplay as tp
    >>> tp.nn.functional.batch_norm(tp.tensor([[1.0, 10.0], [3.0, 20.0]]), None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    if tuple(input.shape) == (0,):
        return input.clone()
    if input.ndim < 2:
        raise ShapeError(f"batch_norm: expected (N, C, *), got shape {tuple(input.shape)}")
    check_channels(
        "batch_norm",
        input.shape[1],
        {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias},
    )
    channels = (1, -1, *(1,) * (input.ndim - 2))
    x = widen(input)
    if training:
        dims = (0, *range(2, input.ndim))
        mean = x.mean(dims, keepdim=True)
        centered = x - mean
        variance = (centered * centered).mean(dims, keepdim=True)
        _update_statistics(input, running_mean, running_var, mean, variance, momentum)
    else:
        if running_mean is None or running_var is None:
            raise ShapeError("batch_norm: evaluation needs running_mean and running_var")
        mean = running_mean.reshape(channels)
        variance = running_var.reshape(channels)
    scale = tp.rsqrt(variance + eps)
    if weight is not None:
        scale = scale * weight.reshape(channels)
    if bias is None:
        return ((x - mean) * scale).to(input.dtype)
    return scaled_and_shifted(x, mean, scale, bias.reshape(channels)).to(input.dtype)


@pointwise(public=False)
def scaled_and_shifted(input: Value, mean: Value, scale: Value, shift: Value) -> Value:
    """``(input − mean) · scale + shift``, in one pass over memory."""
    return (input - mean) * scale + shift


@scaled_and_shifted.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), Arg((3, 1)), Arg((3, 1)), Arg((3, 1)))


def check_channels(name: str, channels: int, given: Mapping[str, Tensor | None]) -> None:
    """Check that each of the tensors has one number for each channel."""
    for parameter, tensor in given.items():
        if tensor is not None and tensor.shape != (channels,):
            raise ShapeError(
                f"{name}: {parameter} has shape {tuple(tensor.shape)}, the input has {channels} channels "
                "(dimension 1)"
            )


def _update_statistics(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    momentum: Any,  # noqa: ANN401  # a number or a tensor
) -> None:
    """Move the running statistics toward those of the batch."""
    count = input.numel() // input.shape[1] if input.shape[1] != 0 else 0
    if count <= 1 and input.shape[1] != 0:
        raise ShapeError(
            f"batch_norm: training needs more than one value a channel, got shape {tuple(input.shape)}"
        )
    for running, statistic in (
        (running_mean, mean.detach()),
        (running_var, variance.detach() * (count / (count - 1))),
    ):
        if running is not None:
            fresh = statistic.reshape(running.shape)
            running.copy_(running * (1.0 - momentum) + fresh * momentum)


@batch_norm.sample
def _() -> Iterator[Sample]:
    positive = Arg((3,), low=0.5)
    yield sample(Arg((2, 3, 4, 5)), Arg((3,)), positive, Arg((3,)), Arg((3,)))
    yield sample(Arg((6, 3)), None, None, Arg((3,)), Arg((3,)), True)
    yield sample(Arg((2, 3, 4)), Arg((3,)), positive)
    yield sample(Arg((0,)), None, None, None, None, True)
    yield bad(ShapeError, "expected .N, C", Arg((3,)), None, None, None, None, True)
    yield bad(ShapeError, "running_mean", Arg((2, 3)), None, None)
    yield bad(ShapeError, "more than one value", Arg((1, 3)), None, None, None, None, True)
    yield bad(ShapeError, "running_var has shape", Arg((2, 3)), Arg((3,)), Arg((4,)))
    yield bad(ShapeError, "weight has shape", Arg((2, 3)), Arg((3,)), Arg((3,)), Arg((1,)))


@composite()
def rms_norm(
    input: Tensor, normalized_shape: Size, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``x / √(mean(x²) + eps) · weight`` over the trailing dimensions (Zhang and Sennrich 2019).

    ``eps`` is the machine epsilon of the input's dtype by default.

    >>> import tensorplay as tp
    >>> tp.nn.functional.rms_norm(tp.tensor([[3.0, 4.0]]), (2,))
    tensor([[0.8485, 1.1314]])
    """
    trailing = tuple(normalized_shape)
    if not trailing or input.shape[-len(trailing) :] != trailing:
        raise ShapeError(
            f"rms_norm: the input of shape {tuple(input.shape)} does not end with normalized_shape "
            f"{trailing}"
        )
    x = widen(input)
    dims = tuple(range(-len(trailing), 0))
    added = finfo(input.dtype).eps if eps is None else eps
    result = x * tp.rsqrt((x * x).mean(dims, keepdim=True) + added)
    return (result if weight is None else result * weight).to(input.dtype)


@rms_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 8)), (8,), Arg((8,)), 1e-6)
    yield sample(Arg((2, 3, 4)), (3, 4))
    yield bad(ShapeError, "does not end with", Arg((3, 8)), (3,))
