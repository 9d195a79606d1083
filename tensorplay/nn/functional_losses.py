"""Losses with the arguments that came before ``reduction``: ``size_average`` and ``reduce``.

>>> import warnings
>>> import tensorplay as tp
>>> x = tp.tensor([1.0, 3.0])
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore")
...     print(tp.nn.functional.mse_loss(x, tp.zeros(2), size_average=False))
tensor(10.)
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeVar

from tensorplay import functions
from tensorplay.core.errors import ArgumentError

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

Given = TypeVar("Given", bound=str)


def reduction_of(
    name: str, size_average: bool | None, reduce: bool | None, reduction: Given
) -> Given | Literal["mean", "sum", "none"]:
    """What the older arguments mean: ``reduce=False`` none, else the mean or, not averaged, the sum; ``reduction`` without them."""
    if size_average is None and reduce is None:
        return reduction
    for each in (size_average, reduce):
        if not isinstance(each, (bool, type(None))):
            raise ArgumentError(
                f"{name}: size_average and reduce are True or False, got {each!r}; pass reduction= by name"
            )
    found: Literal["mean", "sum", "none"] = "sum" if size_average is False else "mean"
    if reduce is False:
        found = "none"
    warnings.warn(
        f"{name}: size_average and reduce are deprecated, pass reduction={found!r}", stacklevel=3
    )
    return found


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """See `tensorplay.l1_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("l1_loss", size_average, reduce, reduction)
    return functions.l1_loss(input, target, reduction, weight)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """See `tensorplay.mse_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("mse_loss", size_average, reduce, reduction)
    return functions.mse_loss(input, target, reduction, weight)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """See `tensorplay.smooth_l1_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("smooth_l1_loss", size_average, reduce, reduction)
    return functions.smooth_l1_loss(input, target, reduction, beta)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.soft_margin_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("soft_margin_loss", size_average, reduce, reduction)
    return functions.soft_margin_loss(input, target, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """See `tensorplay.kl_div`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("kl_div", size_average, reduce, reduction)
    return functions.kl_div(input, target, reduction, log_target)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.binary_cross_entropy`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("binary_cross_entropy", size_average, reduce, reduction)
    return functions.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """See `tensorplay.binary_cross_entropy_with_logits`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("binary_cross_entropy_with_logits", size_average, reduce, reduction)
    return functions.binary_cross_entropy_with_logits(input, target, weight, reduction, pos_weight)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.poisson_nll_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("poisson_nll_loss", size_average, reduce, reduction)
    return functions.poisson_nll_loss(input, target, log_input, full, eps, reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.nll_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("nll_loss", size_average, reduce, reduction)
    return functions.nll_loss(input, target, weight, ignore_index, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """See `tensorplay.cross_entropy`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("cross_entropy", size_average, reduce, reduction)
    return functions.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.hinge_embedding_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("hinge_embedding_loss", size_average, reduce, reduction)
    return functions.hinge_embedding_loss(input, target, margin, reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.cosine_embedding_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("cosine_embedding_loss", size_average, reduce, reduction)
    return functions.cosine_embedding_loss(input1, input2, target, margin, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.margin_ranking_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("margin_ranking_loss", size_average, reduce, reduction)
    return functions.margin_ranking_loss(input1, input2, target, margin, reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.multi_margin_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("multi_margin_loss", size_average, reduce, reduction)
    return functions.multi_margin_loss(input, target, p, margin, weight, reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.multilabel_margin_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("multilabel_margin_loss", size_average, reduce, reduction)
    return functions.multilabel_margin_loss(input, target, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.multilabel_soft_margin_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("multilabel_soft_margin_loss", size_average, reduce, reduction)
    return functions.multilabel_soft_margin_loss(input, target, weight, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """See `tensorplay.triplet_margin_loss`; ``size_average`` and ``reduce`` are older names of ``reduction``."""
    reduction = reduction_of("triplet_margin_loss", size_average, reduce, reduction)
    return functions.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction
    )
