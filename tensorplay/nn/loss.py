"""Losses as modules. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.nn import functional
from tensorplay.nn.functional import Reduction
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class _Loss(Module):
    """A loss of a prediction against a target."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class MSELoss(_Loss):
    """``(input − target)²``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors of one shape."""
        return functional.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """``|input − target|``."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors of one shape."""
        return functional.l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """``d² / (2·beta)`` where ``d = |input − target| < beta``, else ``d − beta / 2``."""

    def __init__(self, reduction: Reduction = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare two tensors of one shape."""
        return functional.smooth_l1_loss(input, target, self.reduction, self.beta)


class BCELoss(_Loss):
    """``−target·log(input) − (1 − target)·log(1 − input)``; logarithms are at least −100."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare probabilities with targets in [0, 1]."""
        return functional.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of ``sigmoid(input)``, without overflow."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: Reduction = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare logits with targets in [0, 1]."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, self.reduction, self.pos_weight
        )


class NLLLoss(Module):
    """``−input[target]·weight[target]``; the mean divides by the sum of the weights."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Take log-probabilities ``(N, C, *)`` at classes ``(N, *)``."""
        return functional.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(Module):
    """`NLLLoss` of ``log_softmax(input)``; targets are classes, or probabilities of them."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Take logits ``(N, C, *)`` and classes ``(N, *)`` or probabilities ``(N, C, *)``."""
        return functional.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )
