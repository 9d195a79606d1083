"""Losses: composites. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, IndexRangeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.library.nn_softmax import log_softmax
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def reduced(name: str, loss: Tensor, reduction: str) -> Tensor:
    """Reduce the losses of the elements."""
    match reduction:
        case "mean":
            return loss.mean()
        case "sum":
            return loss.sum()
        case "none":
            return loss
        case _:
            raise ArgumentValueError(
                f"{name}: reduction is 'mean', 'sum' or 'none', not {reduction!r}"
            )


def _check_same_shape(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ShapeError(
            f"{name}: input has shape {tuple(input.shape)} and target {tuple(target.shape)}; "
            "expand or reshape one so that every element has its own target"
        )


# ------------------------------------------------------------------------------ numbers


@composite()
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``(input − target)²``."""
    _check_same_shape("mse_loss", input, target)
    difference = input - target
    return reduced("mse_loss", difference * difference, reduction)


@composite()
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``|input − target|``."""
    _check_same_shape("l1_loss", input, target)
    return reduced("l1_loss", (input - target).abs(), reduction)


@composite()
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """``d² / (2·beta)`` where ``d = |input − target| < beta``, else ``d − beta / 2``."""
    _check_same_shape("smooth_l1_loss", input, target)
    if beta < 0.0:
        raise ArgumentValueError(f"smooth_l1_loss: beta is at least 0, got {beta}")
    distance = (input - target).abs()
    if beta == 0.0:
        return reduced("smooth_l1_loss", distance, reduction)
    near = distance * distance * (0.5 / beta)
    return reduced(
        "smooth_l1_loss", tp.where(distance < beta, near, distance - 0.5 * beta), reduction
    )


@composite()
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """``−weight · (target·log(input) + (1 − target)·log(1 − input))``, logarithms at least −100."""
    _check_same_shape("binary_cross_entropy", input, target)
    yes = input.log().clamp(min=-100.0)
    no = (-input).log1p().clamp(min=-100.0)
    loss = -(target * yes + (1.0 - target) * no)
    return reduced("binary_cross_entropy", loss if weight is None else loss * weight, reduction)


@composite()
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of ``sigmoid(input)``: ``(1 − t)·x + (1 + (w − 1)·t)·log(1 + exp(−x))``.

    ``pos_weight`` ``w`` multiplies the loss of positive targets. Nothing overflows.
    """
    _check_same_shape("binary_cross_entropy_with_logits", input, target)
    softplus = (-input.abs()).exp().log1p() + (-input).clamp(min=0.0)
    scale = 1.0 if pos_weight is None else 1.0 + (pos_weight - 1.0) * target
    loss = (1.0 - target) * input + softplus * scale
    loss = loss if weight is None else loss * weight
    return reduced("binary_cross_entropy_with_logits", loss, reduction)


def _pairs(low: float = -2.0, high: float = 2.0) -> Iterator[Sample]:
    a, b = Arg((3, 4), low=low, high=high), Arg((3, 4), low=0.0, high=1.0)
    yield sample(a, b)
    yield sample(a, b, reduction="sum")
    yield sample(a, b, reduction="none")
    yield bad(ShapeError, "own target", a, Arg((4,)))
    yield bad(ArgumentValueError, "reduction", a, b, reduction="average")


for _operator in (mse_loss, l1_loss, smooth_l1_loss, binary_cross_entropy_with_logits):
    _operator.sample(_pairs)
binary_cross_entropy.sample(lambda: _pairs(0.05, 0.95))


# ------------------------------------------------------------------------------ classes


def _check_classes(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> int:
    """Check (C) with (), or (N, C, *) with (N, *); return the dimension of the classes."""
    check_index(name, target.tensor_meta)
    if input.ndim == 0:
        raise ShapeError(f"{name}: expected (C) or (N, C, *), got a 0-d input")
    dim = 0 if input.ndim == 1 else 1
    if target.shape != (*input.shape[:dim], *input.shape[dim + 1 :]):
        raise ShapeError(
            f"{name}: an input of shape {tuple(input.shape)} needs a target of shape "
            f"{(*input.shape[:dim], *input.shape[dim + 1 :])}, got {tuple(target.shape)}"
        )
    if weight is not None and weight.shape != (input.shape[dim],):
        raise ShapeError(
            f"{name}: expected a weight for each of {input.shape[dim]} classes, "
            f"got shape {tuple(weight.shape)}"
        )
    return dim


def _class_weights(
    target: Tensor, counted: Tensor, weight: Tensor | None, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the classes with ignored ones replaced by 0, and the weight of each target."""
    ones = counted.to(like.dtype)
    classes = tp.where(counted, target, 0)
    if weight is None:
        return classes, ones
    chosen = weight.index_select(0, classes.reshape(-1))
    return classes, chosen.reshape(classes.shape) * ones


@composite()
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """``−weight[t] · input[t]`` for log-probabilities (C) or (N, C, *) and classes () or (N, *).

    Targets equal to ``ignore_index`` count nothing; other targets outside [0, C) raise an
    `IndexError`. The mean divides by the sum of the weights (NaN when nothing counts).
    """
    dim = _check_classes("nll_loss", input, target, weight)
    counted = target != ignore_index
    classes, weights = _class_weights(target, counted, weight, input)
    places = classes.unsqueeze(dim)
    picked = input.gather(dim, places).squeeze(dim)
    losses = tp.where(counted, -picked * weights, 0.0)
    if reduction == "mean":
        return losses.sum() / weights.sum()
    return reduced("nll_loss", losses, reduction)


@nll_loss.sample
def _() -> Iterator[Sample]:
    classes = Arg((4,), int64, 0, 3)
    yield sample(Arg((4, 3)), classes)
    yield sample(Arg((4, 3), layout="transposed"), classes, Arg((3,), low=0.5), 1, "sum")
    yield sample(Arg((2, 3, 5)), Arg((2, 5), int64, 0, 3), reduction="none")
    yield sample(Arg((3,)), Arg((), int64, values=[2]))
    yield bad(ShapeError, "needs a target", Arg((4, 3)), Arg((3,), int64, 0, 3))
    yield bad(DTypeError, "int64", Arg((4, 3)), Arg((4,)))
    yield bad(IndexRangeError, "out of range", Arg((2, 3)), Arg((2,), int64, values=[0, 3]))
    yield bad(IndexRangeError, "out of range", Arg((2, 3)), Arg((2,), int64, values=[0, -1]))


@composite()
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of ``log_softmax(input)`` over the classes (dimension 1, or 0 of a 1-d input).

    A floating target of the input's shape holds probabilities of the classes. ``label_smoothing`` ε
    mixes the target with the uniform distribution: ``(1 − ε)·target + ε / C``.
    """
    if not 0.0 <= label_smoothing <= 1.0:
        raise ArgumentValueError(
            f"cross_entropy: label_smoothing lies in [0, 1], got {label_smoothing}"
        )
    dim = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, dim)
    if target.dtype.kind == "f":
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, dim)
    loss = nll_loss(logs, target, weight, ignore_index, reduction)
    if label_smoothing == 0.0:
        return loss
    spread = _smoothing_loss(logs, target, weight, ignore_index, reduction, dim)
    return loss * (1.0 - label_smoothing) + spread * (label_smoothing / input.shape[dim])


def _smoothing_loss(
    logs: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    dim: int,
) -> Tensor:
    """Return the loss of the uniform distribution, times the number of classes."""
    counted = target != ignore_index
    weighted = logs if weight is None else logs * _along(weight, logs, dim)
    losses = tp.where(counted, -weighted.sum(dim), 0.0)
    if reduction == "mean":
        return losses.sum() / _class_weights(target, counted, weight, logs)[1].sum()
    return reduced("cross_entropy", losses, reduction)


def _soft_cross_entropy(
    logs: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    label_smoothing: float,
    dim: int,
) -> Tensor:
    """Return the cross entropy against probabilities; the mean is over the rows."""
    _check_same_shape("cross_entropy", logs, target)
    if label_smoothing != 0.0:
        target = target * (1.0 - label_smoothing) + label_smoothing / logs.shape[dim]
    terms = logs * target
    if weight is not None:
        terms = terms * _along(weight, logs, dim)
    losses = -terms.sum(dim)
    if reduction == "mean":
        return losses.sum() / max(losses.numel(), 1)
    return reduced("cross_entropy", losses, reduction)


def _along(weight: Tensor, like: Tensor, dim: int) -> Tensor:
    """Return weights of the classes in a shape that broadcasts along ``dim``."""
    return weight.reshape((-1, *(1,) * (like.ndim - dim - 1)))


@cross_entropy.sample
def _() -> Iterator[Sample]:
    classes, weights = Arg((4,), int64, 0, 3), Arg((3,), low=0.5)
    yield sample(Arg((4, 3)), classes)
    yield sample(Arg((4, 3)), classes, weights, 1, "sum", 0.1)
    yield sample(Arg((2, 3, 5)), Arg((2, 5), int64, 0, 3), weights, label_smoothing=0.2)
    yield sample(Arg((4, 3)), Arg((4, 3), low=0.0, high=1.0), weights, label_smoothing=0.1)
    yield sample(Arg((3,)), Arg((), int64, values=[2]))
    yield bad(ArgumentValueError, "label_smoothing", Arg((4, 3)), classes, label_smoothing=2.0)
    yield bad(ShapeError, "needs a target", Arg((4, 3)), Arg((3,), int64, 0, 3))
