"""Losses of numbers and of classes as modules. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``.

>>> import tensorplay as tp
>>> tp.nn.HuberLoss(delta=0.5)(tp.tensor([1.0]), tp.tensor([3.0]))
tensor(0.8750)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tensorplay.nn import functional
from tensorplay.nn.functional_losses import reduction_of
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.nn.functional import Reduction
    from tensorplay.tensor import Tensor


class Loss(Module):
    """A loss that reduces what it finds for each element or row.

    ``size_average`` and ``reduce`` are older names of ``reduction``.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: Reduction | Literal["batchmean"] = "mean",
    ) -> None:
        super().__init__()
        self.reduction = reduction_of(type(self).__name__, size_average, reduce, reduction)


class MSELoss(Loss):
    """``(input − target)²``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """``|input − target|``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """``d² / (2·beta)`` where ``d = |input − target| < beta``, else ``d − beta / 2``."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors."""
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """``d² / 2`` where ``d = |input − target| ≤ delta``, else ``delta · (d − delta / 2)``."""

    def __init__(self, reduction: Reduction = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors."""
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(Loss):
    """``target · (log(target) − input)``; ``reduction`` may be ``"batchmean"`` too."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: Reduction | Literal["batchmean"] = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare log-probabilities with probabilities."""
        return functional.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class PoissonNLLLoss(Loss):
    """``exp(input) − target · input``, the negative log-likelihood of counts."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare the (logarithms of the) rates with counts."""
        return functional.poisson_nll_loss(
            input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(Loss):
    """``(log(var) + (input − target)² / var) / 2``, the variance at least ``eps``."""

    def __init__(
        self, full: bool = False, eps: float = 1e-6, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Compare the means with the targets."""
        return functional.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class BCELoss(Loss):
    """``−target·log(input) − (1 − target)·log(1 − input)``; logarithms are at least −100."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare probabilities with targets in [0, 1]."""
        return functional.binary_cross_entropy(
            input, target, weight=self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(Loss):
    """Binary cross entropy of ``sigmoid(input)``, without overflow."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare logits with targets in [0, 1]."""
        return functional.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class SoftMarginLoss(Loss):
    """``log(1 + exp(−target · input))``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare scores with targets −1 and 1."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class NLLLoss(Loss):
    """``−input[target]·weight[target]``; the mean divides by the sum of the weights."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Take log-probabilities ``(N, C, *)`` at classes ``(N, *)``."""
        return functional.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(Loss):
    """`NLLLoss` of ``log_softmax(input)``; targets are classes, or probabilities of them."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Take logits ``(N, C, *)`` and classes ``(N, *)`` or probabilities ``(N, C, *)``."""
        return functional.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
