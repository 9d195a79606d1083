"""Losses of classes: composites over log-probabilities and class numbers or probabilities.

>>> import tensorplay as tp
>>> tp.cross_entropy(tp.zeros(2, 4), tp.tensor([0, 3]))
tensor(1.3863)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, IndexRangeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.library.nn_loss import check_same_shape, reduced
from tensorplay.ops.library.nn_softmax import log_softmax
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


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

    >>> import tensorplay as tp
    >>> tp.nn.functional.nll_loss(tp.tensor([[-0.1, -2.3], [-1.2, -0.4]]), tp.tensor([0, 1]))
    tensor(0.2500)
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

    >>> import tensorplay as tp
    >>> tp.nn.functional.cross_entropy(tp.tensor([[2.0, 0.0], [0.0, 1.0]]), tp.tensor([0, 1]))
    tensor(0.2201)
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
    check_same_shape("cross_entropy", logs, target)
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


@composite()
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
) -> Tensor:
    """`cross_entropy` of ``input @ linear_weight.T + linear_bias``.

    ``input`` is ``(N, in)`` or ``(in)``, ``linear_weight`` ``(C, *, in)``, ``linear_bias`` ``(C, *)``; targets are classes
    ``(N, *)`` or their probabilities ``(N, C, *)``, for which there is no ``ignore_index`` (-100 for classes).

    >>> x, weight = tp.tensor([[1.0, 0.0]]), tp.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> tp.nn.functional.linear_cross_entropy(x, weight, tp.tensor([0]))
    tensor(0.1269)
    """
    if input.ndim not in {1, 2} or linear_weight.ndim < 2:
        raise ShapeError(
            "linear_cross_entropy: expected an input (N, in) or (in) and a weight (C, *, in), got shapes "
            f"{tuple(input.shape)} and {tuple(linear_weight.shape)}"
        )
    if linear_weight.ndim > 2 and input.ndim == 1:
        raise ShapeError(
            f"linear_cross_entropy: a weight of shape {tuple(linear_weight.shape)} needs an input (N, in), "
            f"got shape {tuple(input.shape)}"
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise ShapeError(
            f"linear_cross_entropy: the input has {input.shape[-1]} features, the weight "
            f"{linear_weight.shape[-1]}"
        )
    if target.dtype.kind == "f" and ignore_index is not None:
        raise ArgumentValueError(
            "linear_cross_entropy: ignore_index is of classes, the target holds probabilities"
        )
    logits = tp.linear(
        input, linear_weight.flatten(0, -2), None if linear_bias is None else linear_bias.flatten()
    )
    if linear_weight.ndim > 2:
        logits = logits.unflatten(-1, linear_weight.shape[:-1])
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, ignored, reduction, label_smoothing)


@linear_cross_entropy.sample
def _() -> Iterator[Sample]:
    classes, weights = Arg((4,), int64, 0, 3), Arg((3,), low=0.5)
    yield sample(Arg((4, 5)), Arg((3, 5)), classes, linear_bias=Arg((3,)))
    yield sample(Arg((4, 5)), Arg((3, 2, 5)), Arg((4, 2), int64, 0, 3), weight=weights)
    yield sample(Arg((4, 5)), Arg((3, 5)), Arg((4, 3), low=0.0, high=1.0), label_smoothing=0.1)
    yield sample(Arg((5,)), Arg((3, 5)), Arg((), int64, values=[2]), reduction="sum")
    yield sample(Arg((4, 5)), Arg((3, 5)), classes, ignore_index=1, reduction="none")
    yield bad(ShapeError, "features", Arg((4, 5)), Arg((3, 4)), classes)
    yield bad(ShapeError, "needs an input", Arg((5,)), Arg((3, 2, 5)), classes)
    yield bad(ShapeError, "expected an input", Arg((2, 4, 5)), Arg((3, 5)), classes)
    yield bad(
        ArgumentValueError,
        "ignore_index",
        Arg((4, 5)),
        Arg((3, 5)),
        Arg((4, 3), low=0.0, high=1.0),
        ignore_index=1,
    )
