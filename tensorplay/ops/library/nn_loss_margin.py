"""Losses of margins: a right answer has to be ahead of a wrong one by so much. Composites.

>>> import tensorplay as tp
>>> tp.multi_margin_loss(tp.tensor([0.1, 0.2, 0.9]), tp.tensor(2))
tensor(0.1667)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, IndexRangeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.library.nn_loss import reduced
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- pairs --------------------------------------------------------------------------------------------


@composite()
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """``input`` for targets 1, ``max(0, margin − input)`` for targets −1; the shapes broadcast.

    >>> import tensorplay as tp
    >>> tp.nn.functional.hinge_embedding_loss(tp.tensor([0.5, 0.3]), tp.tensor([1.0, -1.0]))
    tensor(0.6000)
    """
    far = tp.where(target != 1, (margin - input).clamp(min=0.0), 0.0)
    near = tp.where(target != -1, input, 0.0)
    return reduced("hinge_embedding_loss", near + far, reduction)


@hinge_embedding_loss.sample
def _() -> Iterator[Sample]:
    a, b = Arg((2, 3)), Arg((2, 3), values=[1, -1, 1, -1, 1, -1])
    yield sample(a, b)
    yield sample(a, b, 0.5, "none")
    yield sample(a, Arg((2, 3), int64, values=[1, -1, 1, -1, 1, -1]), reduction="sum")
    yield bad(ArgumentValueError, "reduction", a, b, reduction="average")


@composite()
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, −target · (input1 − input2) + margin)``; the three have the same rank and broadcast.

    >>> import tensorplay as tp
    >>> tp.nn.functional.margin_ranking_loss(tp.tensor([1.0]), tp.tensor([3.0]), tp.tensor([1]))
    tensor(2.)
    """
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(
            "margin_ranking_loss: input1, input2 and target have as many dimensions as each other, "
            f"found shapes {tuple(input1.shape)}, {tuple(input2.shape)}, {tuple(target.shape)}"
        )
    loss = (-target * (input1 - input2) + margin).clamp(min=0.0)
    return reduced("margin_ranking_loss", loss, reduction)


@margin_ranking_loss.sample
def _() -> Iterator[Sample]:
    a, b, sign = Arg((4,)), Arg((4,)), Arg((4,), values=[1, -1, 1, -1])
    yield sample(a, b, sign)
    yield sample(a, b, sign, 0.5, "none")
    yield bad(ShapeError, "as many dimensions", a, b, Arg(()))
    yield bad(ArgumentValueError, "reduction", a, b, sign, reduction="average")


@composite()
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """``1 − cos(input1, input2)`` for targets 1, ``max(0, cos(input1, input2) − margin)`` for −1.

    The inputs are (N, D) with targets (N), or (D) with a 0-d target.

    >>> import tensorplay as tp
    >>> x1, x2 = tp.tensor([[1.0, 0.0]]), tp.tensor([[1.0, 1.0]])
    >>> tp.nn.functional.cosine_embedding_loss(x1, x2, tp.tensor([1]))
    tensor(0.2929)
    """
    if target.ndim not in {0, 1} or not input1.ndim == input2.ndim == target.ndim + 1:
        raise ShapeError(
            "cosine_embedding_loss: expected inputs (N, D) and targets (N), or (D) and (), found "
            f"shapes {tuple(input1.shape)}, {tuple(input2.shape)}, {tuple(target.shape)}"
        )
    # The sum of squares is raised instead of the norm, so that the gradient at 0 is finite.
    square1 = (input1 * input1).sum(-1) + 1e-12
    square2 = (input2 * input2).sum(-1) + 1e-12
    cosine = (input1 * input2).sum(-1) / (square1 * square2).sqrt()
    near = tp.where(target == 1, 1.0 - cosine, 0.0)
    far = tp.where(target == -1, (cosine - margin).clamp(min=0.0), 0.0)
    return reduced("cosine_embedding_loss", near + far, reduction)


@cosine_embedding_loss.sample
def _() -> Iterator[Sample]:
    a, b, sign = Arg((4, 3)), Arg((4, 3)), Arg((4,), values=[1, -1, 1, -1])
    yield sample(a, b, sign)
    yield sample(a, b, sign, 0.2, "none")
    yield sample(Arg((3,)), Arg((3,)), Arg((), int64, values=[1]), reduction="sum")
    yield bad(ShapeError, "expected inputs", a, b, Arg((4, 3)))
    yield bad(ArgumentValueError, "reduction", a, b, sign, reduction="average")


# ---- classes ------------------------------------------------------------------------------------------


def _check_rows(name: str, input: Tensor) -> None:
    if input.ndim > 2:
        raise ShapeError(f"{name}: expected (C) or (N, C), got shape {tuple(input.shape)}")


@composite()
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``Σ max(0, margin − input[t] + input[i])^p / C`` over the classes ``i`` other than the target ``t``.

    Inputs (N, C) with targets (N), or (C) with (); ``p`` is 1 or 2. ``weight`` has one number
    for each class; a row's loss is multiplied by that of its target. Crammer and Singer 2001.

    >>> import tensorplay as tp
    >>> tp.nn.functional.multi_margin_loss(tp.tensor([[0.1, 0.2, 0.9]]), tp.tensor([1]))
    tensor(0.8667)
    """
    check_index("multi_margin_loss", target.tensor_meta)
    _check_rows("multi_margin_loss", input)
    if p not in {1, 2}:
        raise ArgumentValueError(f"multi_margin_loss: p is 1 or 2, got {p}")
    rows = input if input.ndim == 2 else input.reshape((1, -1))
    classes = rows.shape[1]
    if target.shape != input.shape[:-1] and target.shape != (rows.shape[0],):
        raise ShapeError(
            f"multi_margin_loss: an input of shape {tuple(input.shape)} needs a target of shape "
            f"{tuple(input.shape[:-1])}, got {tuple(target.shape)}"
        )
    places = target.reshape((rows.shape[0], 1))
    terms = (rows - rows.gather(1, places) + margin).clamp(min=0.0)
    if p == 2:
        terms = terms * terms
    if weight is not None:
        if weight.shape != (classes,):
            raise ShapeError(
                f"multi_margin_loss: expected a weight for each of {classes} classes, got shape "
                f"{tuple(weight.shape)}"
            )
        terms = terms * weight.index_select(0, target.reshape(-1)).unsqueeze(1)
    other = tp.arange(classes, device=input.device) != places
    losses = tp.where(other, terms, 0.0).sum(1) / classes
    return reduced("multi_margin_loss", losses.reshape(target.shape), reduction)


@multi_margin_loss.sample
def _() -> Iterator[Sample]:
    classes = Arg((4,), int64, 0, 3)
    yield sample(Arg((4, 3)), classes)
    yield sample(Arg((4, 3)), classes, 2, 0.5, Arg((3,), low=0.5), "none")
    yield sample(Arg((3,)), Arg((), int64, values=[2]), reduction="sum")
    yield bad(ArgumentValueError, "p is 1 or 2", Arg((4, 3)), classes, 3)
    yield bad(ShapeError, "a weight for each", Arg((4, 3)), classes, weight=Arg((4,)))
    yield bad(ShapeError, "needs a target", Arg((4, 3)), Arg((3,), int64, 0, 3))
    yield bad(ShapeError, "expected .C. or", Arg((4, 3, 2)), classes)
    yield bad(DTypeError, "int64", Arg((4, 3)), Arg((4,)))
    yield bad(IndexRangeError, "out of range", Arg((2, 3)), Arg((2,), int64, values=[0, 3]))


@composite()
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``Σ max(0, 1 − (input[j] − input[i])) / C`` over the targets ``j`` and the classes ``i`` that are none.

    Inputs and targets are (N, C) or (C). A row's targets are its class numbers before the first
    negative one.

    >>> import tensorplay as tp
    >>> tp.nn.functional.multilabel_margin_loss(tp.tensor([[0.1, 0.2, 0.4]]), tp.tensor([[2, -1, 0]]))
    tensor(0.5000)
    """
    check_index("multilabel_margin_loss", target.tensor_meta)
    _check_rows("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise ShapeError(
            f"multilabel_margin_loss: input has shape {tuple(input.shape)} and target "
            f"{tuple(target.shape)}; fill the rows of the target with -1"
        )
    if input.ndim == 0:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    given = (target < 0).to(int64).cumsum(-1) == 0
    places = tp.where(given, target, 0)
    counts = tp.zeros(target.shape, dtype=int64, device=input.device)
    is_target = counts.scatter_add(-1, places, given.to(int64)) > 0
    picked = input.gather(-1, places).unsqueeze(-1)
    terms = (1.0 - picked + input.unsqueeze(-2)).clamp(min=0.0)
    counted = given.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    losses = tp.where(counted, terms, 0.0).sum((-2, -1)) / max(input.shape[-1], 1)
    return reduced("multilabel_margin_loss", losses, reduction)


@multilabel_margin_loss.sample
def _() -> Iterator[Sample]:
    classes = Arg((2, 4), int64, values=[3, 0, -1, 1, -1, 2, 0, 1])
    yield sample(Arg((2, 4)), classes)
    yield sample(Arg((2, 4)), classes, "none")
    yield sample(Arg((4,)), Arg((4,), int64, values=[2, 2, 0, -1]), "sum")
    yield bad(ShapeError, "with -1", Arg((2, 4)), Arg((2, 3), int64, 0, 3))
    yield bad(ShapeError, "expected .C. or", Arg((2, 4, 1)), Arg((2, 4, 1), int64, 0, 1))
    yield bad(DTypeError, "int64", Arg((2, 4)), Arg((2, 4)))
    yield bad(ArgumentValueError, "reduction", Arg((2, 4)), classes, "average")
