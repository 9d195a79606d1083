"""Layers with what they found on the way: statistics, masks; and PyTorch's second names of a few layers. Composites.

>>> import tensorplay as tp
>>> result, mean, scale = tp.native_layer_norm(tp.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)
>>> result, mean, scale
(tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import Number, bool_
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_conv import conv1d
from tensorplay.ops.library.nn_dropout import check_probability
from tensorplay.ops.library.nn_norm import batch_norm, layer_norm
from tensorplay.ops.library.nn_norm_groups import group_norm
from tensorplay.ops.library.nn_softmax import widen
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _statistics(
    x: Tensor, dims: tuple[int, ...], eps: float, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean and ``1 / √(var + eps)`` over dimensions, which keep the size 1, in the dtype of ``like``."""
    x = widen(x)
    mean = x.mean(dims, keepdim=True)
    variance = ((x - mean) * (x - mean)).mean(dims, keepdim=True)
    return mean.to(like.dtype), tp.rsqrt(variance + eps).to(like.dtype)


@composite()
def native_layer_norm(
    input: Tensor, normalized_shape: Size, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """What `layer_norm` gives, the mean of each slice, and ``1 / √(var + eps)``; these keep dimensions of size 1 and have no gradient.

    >>> tp.native_layer_norm(tp.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)[1]
    tensor([[2.]])
    """
    result = layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(-len(tuple(normalized_shape)), 0))
    return (result, *_statistics(input.detach(), dims, eps, input if weight is None else weight))


@native_layer_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 8)), (8,), Arg((8,)), Arg((8,)), 1e-5)
    yield sample(Arg((2, 3, 4)), (3, 4), None, None, 0.1)
    yield bad(ShapeError, "does not end with", Arg((3, 8)), (3,), None, None, 1e-5)


@composite()
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,  # PyTorch's name
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What `group_norm` gives, and the mean and ``1 / √(var + eps)`` of each group, ``(N, group)``.

    ``N``, ``C`` and ``HxW`` are the sizes of the input ``(N, C, *)``, those of ``*`` multiplied.

    >>> tp.native_group_norm(tp.tensor([[1.0, 3.0, 5.0, 5.0]]), None, None, 1, 4, 1, 2, 1.0)[1]
    tensor([[2., 5.]])
    """
    if input.ndim < 2 or tuple(input.shape[:2]) != (N, C) or input.numel() != N * C * HxW:
        raise ShapeError(
            f"native_group_norm: an input of shape {tuple(input.shape)} is not of sizes {N}, {C} and {HxW}"
        )
    result = group_norm(input, group, weight, bias, eps)
    groups = input.reshape((N, group, C // group * HxW))
    mean, scale = _statistics(groups, (-1,), eps, input if weight is None else weight)
    return result, mean.squeeze(-1), scale.squeeze(-1)


@native_group_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 4, 3)), Arg((4,)), Arg((4,)), 2, 4, 3, 2, 1e-5)
    yield sample(Arg((2, 4)), None, None, 2, 4, 1, 1, 1e-5)
    yield bad(ShapeError, "is not of sizes", Arg((2, 4)), None, None, 2, 4, 3, 1, 1e-5)


@composite()
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What `batch_norm` gives, and in training the mean and ``1 / √(var + eps)`` of each channel, else two empty tensors.

    >>> x = tp.tensor([[1.0], [3.0]])
    >>> tp.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """
    result = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    like = next((x for x in (weight, bias, running_mean) if x is not None), input)
    if not training or input.ndim < 2:
        empty = tp.zeros((0,), dtype=like.dtype, device=input.device)
        return result, empty, empty.clone()
    mean, scale = _statistics(input.detach(), (0, *range(2, input.ndim)), eps, like)
    return result, mean.reshape((-1,)), scale.reshape((-1,))


@native_batch_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4, 3, 2)), Arg((3,)), Arg((3,)), None, None, True, 0.1, 1e-5)
    yield sample(Arg((4, 3)), None, None, Arg((3,)), Arg((3,), low=0.5), False, 0.1, 1e-5)
    yield bad(ShapeError, "running_mean", Arg((2, 3)), None, None, None, None, False, 0.1, 1e-5)


@composite()
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """What `dropout` gives, and the mask of what was kept. ``train=None`` stands for True.

    >>> result, kept = tp.native_dropout(tp.ones(1000), 0.2, True)
    >>> bool(((result != 0.0) == kept).all())
    True
    """
    check_probability("native_dropout", p)
    if train is False or p == 0.0:
        return input.clone(), tp.ones(input.shape, dtype=bool_, device=input.device)
    kept = tp.rand(input.shape, device=input.device) >= p
    scale = 1.0 / (1.0 - p) if p < 1.0 else 0.0
    return native_dropout_backward(input, kept, scale), kept


@native_dropout.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.0, True)
    yield sample(Arg((3, 4)), 0.5, False)
    yield bad(ArgumentValueError, "probability", Arg((3, 4)), 1.5, True)


@composite()
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of `native_dropout`: ``grad_output · scale`` where something was kept, else 0.

    >>> tp.native_dropout_backward(tp.ones(2), tp.tensor([True, False]), 2.0)
    tensor([2., 0.])
    """
    return tp.where(mask, grad_output * scale, tp.zeros((), dtype=grad_output.dtype))


@native_dropout_backward.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4,)), Arg((4,), bool_), 2.0)


@composite()
def constant_pad_nd(input: Tensor, pad: Size, value: Number = 0) -> Tensor:
    """`pad` with a constant.

    >>> tp.constant_pad_nd(tp.tensor([1, 2]), (1, 0), 7)
    tensor([7, 1, 2])
    """
    found: Tensor = tp.pad(input, pad, "constant", value)
    return found


@constant_pad_nd.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), (1, 2))
    yield sample(Arg((2, 3)), (1, -1, 0, 2), 1.5)
    yield bad(ShapeError, "two numbers", Arg((2, 3)), (1,))


MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


@composite()
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with numbers for the modes: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection.

    >>> tp.grid_sampler(tp.arange(4.0).reshape(1, 1, 2, 2), tp.zeros(1, 1, 1, 2), 0, 0, True).item()
    1.5
    """
    if interpolation_mode not in {0, 1, 2} or padding_mode not in {0, 1, 2}:
        raise ArgumentValueError(
            f"grid_sampler: modes are 0, 1 or 2, got {interpolation_mode} and {padding_mode}"
        )
    found: Tensor = tp.grid_sample(
        input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners
    )
    return found


@composite()
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images ``(N, C, H, W)``.

    >>> tp.grid_sampler_2d(tp.arange(4.0).reshape(1, 1, 2, 2), tp.zeros(1, 1, 1, 2), 0, 0, True).item()
    1.5
    """
    if input.ndim != 4:
        raise ShapeError(
            f"grid_sampler_2d: expected images (N, C, H, W), got shape {tuple(input.shape)}"
        )
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite()
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images ``(N, C, D, H, W)``.

    >>> tp.grid_sampler_3d(tp.arange(8.0).reshape(1, 1, 2, 2, 2), tp.zeros(1, 1, 1, 1, 3), 0, 0, True).item()
    3.5
    """
    if input.ndim != 5:
        raise ShapeError(
            f"grid_sampler_3d: expected images (N, C, D, H, W), got shape {tuple(input.shape)}"
        )
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@grid_sampler.sample
@grid_sampler_2d.sample
def _() -> Iterator[Sample]:
    images, places = Arg((2, 2, 3, 4)), Arg((2, 2, 3, 2), low=-0.9, high=0.9)
    yield sample(images, places, 0, 1, True)
    yield sample(images, places, 2, 2, False)
    yield bad(ArgumentValueError, "0, 1 or 2", images, places, 3, 0, False)
    yield bad(ShapeError, "N, C, H, W", Arg((2, 2, 3)), Arg((2, 2, 3, 2)), 0, 0, False)


@grid_sampler_3d.sample
def _() -> Iterator[Sample]:
    images, places = Arg((1, 2, 3, 4, 2)), Arg((1, 2, 2, 3, 3), low=-0.9, high=0.9)
    yield sample(images, places, 0, 1, True)
    yield sample(images, places, 1, 0, False)
    yield bad(ShapeError, "N, C, D, H, W", Arg((2, 2, 3)), Arg((2, 2, 3, 2)), 0, 0, False)


@composite()
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences ``(time, batch, channels)`` with a weight ``(kernel, in channels, out channels)``.

    >>> tp.conv_tbc(tp.ones(3, 1, 2), tp.ones(2, 2, 1), tp.zeros(1)).flatten()
    tensor([4., 4.])
    """
    if input.ndim != 3 or weight.ndim != 3:
        raise ShapeError(
            "conv_tbc: expected an input (time, batch, channels) and a weight (kernel, in, out), got shapes "
            f"{tuple(input.shape)} and {tuple(weight.shape)}"
        )
    found = conv1d(input.permute((1, 2, 0)), weight.permute((2, 1, 0)), bias, 1, pad)
    return found.permute((2, 0, 1))


@conv_tbc.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((5, 2, 3)), Arg((2, 3, 4)), Arg((4,)), 1)
    yield bad(ShapeError, "time, batch", Arg((5, 2)), Arg((2, 3, 4)), Arg((4,)))
