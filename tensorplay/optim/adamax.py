"""Adamax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.functions import maximum
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_adamax(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update in place: ``m ← β₁·m + (1 − β₁)·g``, ``u ← max(β₂·u, |g| + ε)``, ``p ← p − lr/(1 − β₁ᵗ)·m/u``.

    From Kingma and Ba, "Adam" (ICLR 2015), Algorithm 2, with ε against gradients of zero.
    """
    beta1, beta2 = betas
    step.add_(1.0)
    rate = lr / (1.0 - beta1**step)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        direction = direction_of(param, grad, weight_decay, maximize)
        mean, largest = slots["exp_avg"][i], slots["exp_inf"][i]
        mean.mul_(beta1).add_(direction * (1.0 - beta1))
        largest.copy_(maximum(largest * beta2, direction.abs() + eps))
        param.sub_(rate * mean / largest)


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the root mean square."""

    rule = staticmethod(update_adamax)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_adamax` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The mean and the largest gradient."""
        del group
        return ("exp_avg", "exp_inf")
