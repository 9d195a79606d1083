"""What `nn.functional` adds to the operators: in-place flags, implicit dimensions, given distances.

>>> import tensorplay as tp
>>> x = tp.tensor([-1.0, 2.0])
>>> tp.nn.functional.relu(x, inplace=True) is x
True
>>> x
tensor([0., 2.])
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tensorplay import functions
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.library.nn_loss import reduced
from tensorplay.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

Reduction: TypeAlias = Literal["mean", "sum", "none"]

# ---- activations that may overwrite their input --------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.relu`; ``inplace`` overwrites the input."""
    return input.relu_() if inplace else functions.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.relu6`; ``inplace`` overwrites the input."""
    return input.relu6_() if inplace else functions.relu6(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """See `tensorplay.threshold`; ``inplace`` overwrites the input."""
    if inplace:
        return input.threshold_(threshold, value)
    return functions.threshold(input, threshold, value)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """See `tensorplay.hardtanh`; ``inplace`` overwrites the input."""
    if inplace:
        return input.hardtanh_(min_val, max_val)
    return functions.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.hardsigmoid`; ``inplace`` overwrites the input."""
    return input.hardsigmoid_() if inplace else functions.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.hardswish`; ``inplace`` overwrites the input."""
    return input.hardswish_() if inplace else functions.hardswish(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """See `tensorplay.elu`; ``inplace`` overwrites the input."""
    return input.elu_(alpha) if inplace else functions.elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """See `tensorplay.celu`; ``inplace`` overwrites the input."""
    return input.celu_(alpha) if inplace else functions.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.selu`; ``inplace`` overwrites the input."""
    return input.selu_() if inplace else functions.selu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """See `tensorplay.leaky_relu`; ``inplace`` overwrites the input."""
    if inplace:
        return input.leaky_relu_(negative_slope)
    return functions.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """See `tensorplay.rrelu`; ``inplace`` overwrites the input."""
    if inplace:
        return input.rrelu_(lower, upper, training)
    return functions.rrelu(input, lower, upper, training)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.silu`; ``inplace`` overwrites the input."""
    return input.silu_() if inplace else functions.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """See `tensorplay.mish`; ``inplace`` overwrites the input."""
    return input.mish_() if inplace else functions.mish(input)


def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    return input.relu_()


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return input.threshold_(threshold, value)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return input.hardtanh_(min_val, max_val)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return input.elu_(alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return input.celu_(alpha)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return input.selu_()


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return input.leaky_relu_(negative_slope)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`rrelu` in place."""
    return input.rrelu_(lower, upper, training)


# ---- dropout that may overwrite its input --------------------------------------------------------


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """See `tensorplay.dropout`; ``inplace`` overwrites the input."""
    return input.dropout_(p, training) if inplace else functions.dropout(input, p, training)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """See `tensorplay.dropout1d`; ``inplace`` overwrites the input."""
    return input.dropout1d_(p, training) if inplace else functions.dropout1d(input, p, training)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """See `tensorplay.dropout2d`; ``inplace`` overwrites the input."""
    return input.dropout2d_(p, training) if inplace else functions.dropout2d(input, p, training)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """See `tensorplay.dropout3d`; ``inplace`` overwrites the input."""
    return input.dropout3d_(p, training) if inplace else functions.dropout3d(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """See `tensorplay.alpha_dropout`; ``inplace`` overwrites the input."""
    if inplace:
        return input.alpha_dropout_(p, training)
    return functions.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """See `tensorplay.feature_alpha_dropout`; ``inplace`` overwrites the input."""
    if inplace:
        return input.feature_alpha_dropout_(p, training)
    return functions.feature_alpha_dropout(input, p, training)


# ---- softmax with an implicit dimension ----------------------------------------------------------


def _implicit_dim(name: str, input: Tensor) -> int:
    warnings.warn(
        f"{name}: the dimension was chosen by the rank of the input, which is deprecated; pass dim=",
        stacklevel=3,
    )
    return 0 if input.ndim in {0, 1, 3} else 1


def softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """See `tensorplay.softmax`; without ``dim`` it warns and takes 0 for ranks 0, 1 and 3, else 1."""
    if dim is None:
        dim = _implicit_dim("softmax", input)
    return functions.softmax(input, dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """See `tensorplay.softmin`; without ``dim`` it warns and takes 0 for ranks 0, 1 and 3, else 1."""
    if dim is None:
        dim = _implicit_dim("softmin", input)
    return functions.softmin(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """See `tensorplay.log_softmax`; without ``dim`` it warns and chooses as `softmax` does."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input)
    return functions.log_softmax(input, dim, dtype=dtype)


# ---- a loss whose distance is a function ---------------------------------------------------------


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance, by default `pairwise_distance`."""
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            "triplet_margin_with_distance_loss: the three tensors have as many dimensions as each "
            f"other, found shapes {tuple(anchor.shape)}, {tuple(positive.shape)}, "
            f"{tuple(negative.shape)}"
        )
    if not margin > 0.0:
        raise ArgumentValueError(
            f"triplet_margin_with_distance_loss: margin is above 0, got {margin}"
        )
    distance = functions.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = functions.minimum(far, distance(positive, negative))
    loss = (near - far + margin).clamp(min=0.0)
    return reduced("triplet_margin_with_distance_loss", loss, reduction)


# ---- a loss of many classes ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through a batch: in chunks, so that only a chunk's logits exist at a time.

    The backward pass computes them again. ``batch_chunk_size`` is the number of rows of a chunk; by
    default its logits are about as large as its input. PyTorch's other settings choose among its
    accumulators; chunks here are added in the dtype of the result, and may be differentiated again.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: DType | None = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """See `tensorplay.linear_cross_entropy`; with ``options`` the batch goes through in chunks.

    >>> import tensorplay as tp
    >>> x, classes = tp.ones(5, 2), tp.tensor([0, 1, 2, 3, 0])
    >>> options = tp.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    >>> tp.nn.functional.linear_cross_entropy(x, tp.zeros(4, 2), classes, options=options)
    tensor(1.3863)
    """

    def rows(x: Tensor, y: Tensor, reduction: str) -> Tensor:
        return functions.linear_cross_entropy(
            x, linear_weight, y, linear_bias=linear_bias, weight=weight, reduction=reduction,
            ignore_index=ignore_index, label_smoothing=label_smoothing,
        )  # fmt: skip

    if options is None or input.ndim != 2 or input.shape[0] == 0:
        return rows(input, target, reduction)
    size = options.batch_chunk_size
    if size is None:
        size = max(input.numel() // max(linear_weight.numel() // linear_weight.shape[-1], 1), 1)
    if size < 1:
        raise ArgumentValueError(f"linear_cross_entropy: batch_chunk_size is above 0, got {size}")
    kind = "none" if reduction == "none" else "sum"
    chunks = zip(input.split(size), target.split(size), strict=True)
    found = [checkpoint(rows, x, y, kind, use_reentrant=False) for x, y in chunks]
    if reduction == "none":
        return functions.cat(found)
    total = functions.stack(found).sum()
    if reduction == "sum":
        return total
    if target.dtype.kind == "f":
        return total / (target.numel() // target.shape[1])
    counted = target != (-100 if ignore_index is None else ignore_index)
    if weight is None:
        return total / counted.sum()
    return total / functions.where(counted, weight[functions.where(counted, target, 0)], 0.0).sum()


# ---- older names of `interpolate` ----------------------------------------------------------------


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its older name."""
    return functions.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """`interpolate` by nearest elements."""
    return functions.interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """`interpolate` bilinearly, with the outermost elements mapped to each other."""
    return functions.interpolate(input, size, scale_factor, "bilinear", True)
