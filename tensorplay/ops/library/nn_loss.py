"""Losses of two outcomes, and what all losses share. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``.

>>> import tensorplay as tp
>>> tp.binary_cross_entropy_with_logits(tp.zeros(2), tp.tensor([0.0, 1.0]))
tensor(0.6931)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.activations import logsigmoid
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


def check_same_shape(name: str, input: Tensor, target: Tensor) -> None:
    """Refuse to broadcast: a column against a row is a mistake far more often than a loss."""
    if input.shape != target.shape:
        raise ShapeError(
            f"{name}: input has shape {tuple(input.shape)} and target {tuple(target.shape)}; "
            "expand or reshape one so that every element has its own target"
        )


@composite()
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """``−weight · (target·log(input) + (1 − target)·log(1 − input))``, logarithms at least −100.

    >>> import tensorplay as tp
    >>> tp.nn.functional.binary_cross_entropy(tp.tensor([0.9, 0.2]), tp.tensor([1.0, 0.0]))
    tensor(0.1643)
    """
    check_same_shape("binary_cross_entropy", input, target)
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

    >>> import tensorplay as tp
    >>> tp.nn.functional.binary_cross_entropy_with_logits(tp.tensor([2.0, -1.0]), tp.tensor([1.0, 0.0]))
    tensor(0.2201)
    """
    check_same_shape("binary_cross_entropy_with_logits", input, target)
    missed = -logsigmoid(input)
    if pos_weight is not None:
        missed = missed * (1.0 + (pos_weight - 1.0) * target)
    loss = (1.0 - target) * input + missed
    loss = loss if weight is None else loss * weight
    return reduced("binary_cross_entropy_with_logits", loss, reduction)


@composite()
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(−target · input))`` for targets −1 and 1, without overflow.

    >>> import tensorplay as tp
    >>> tp.nn.functional.soft_margin_loss(tp.tensor([2.0, -1.0]), tp.tensor([1.0, -1.0]))
    tensor(0.2201)
    """
    check_same_shape("soft_margin_loss", input, target)
    return reduced("soft_margin_loss", -logsigmoid(target * input), reduction)


@composite()
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy with logits, averaged over the classes: (*, C) gives (*).

    ``weight`` has one number for each class.

    >>> import tensorplay as tp
    >>> tp.nn.functional.multilabel_soft_margin_loss(tp.tensor([[2.0, -1.0]]), tp.tensor([[1.0, 0.0]]))
    tensor(0.2201)
    """
    check_same_shape("multilabel_soft_margin_loss", input, target)
    if input.ndim == 0:
        raise ShapeError("multilabel_soft_margin_loss: expected (*, C), got a 0-d input")
    loss = -(target * logsigmoid(input) + (1.0 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduced("multilabel_soft_margin_loss", loss.mean(-1), reduction)


def pairs(low: float = -2.0, high: float = 2.0) -> Iterator[Sample]:
    """Samples of a loss that compares two tensors of one shape."""
    a, b = Arg((3, 4), low=low, high=high), Arg((3, 4), low=0.0, high=1.0)
    yield sample(a, b)
    yield sample(a, b, reduction="sum")
    yield sample(a, b, reduction="none")
    yield sample(Arg(()), Arg(()))
    yield bad(ArgumentValueError, "reduction", a, b, reduction="average")


def strict_pairs(low: float = -2.0, high: float = 2.0) -> Iterator[Sample]:
    """As `pairs`, of a loss that does not broadcast."""
    yield from pairs(low, high)
    yield bad(ShapeError, "own target", Arg((3, 4), low=low, high=high), Arg((4,)))


for _operator in (binary_cross_entropy_with_logits, soft_margin_loss):
    _operator.sample(strict_pairs)


@binary_cross_entropy.sample
def _() -> Iterator[Sample]:
    a, b = Arg((3, 4), low=0.05, high=0.95), Arg((3, 4), low=0.0, high=1.0)
    yield sample(a, b)
    yield sample(a, b, Arg((4,), low=0.5), "sum")
    yield sample(a, b, reduction="none")
    yield bad(ShapeError, "own target", a, Arg((4,)))
    yield bad(ArgumentValueError, "reduction", a, b, reduction="average")


@multilabel_soft_margin_loss.sample
def _() -> Iterator[Sample]:
    a, b = Arg((3, 4)), Arg((3, 4), low=0.0, high=1.0)
    yield sample(a, b)
    yield sample(a, b, Arg((4,), low=0.5), "none")
    yield sample(Arg((4,)), Arg((4,)), reduction="sum")
    yield bad(ShapeError, "0-d", Arg(()), Arg(()))
    yield bad(ShapeError, "own target", a, Arg((4,)))
