"""Adam and AdamW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.functions import maximum
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_adam(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    amsgrad: bool,
    maximize: bool,
    decoupled_weight_decay: bool,
) -> None:
    """Update in place by Kingma and Ba, "Adam" (ICLR 2015), Algorithm 1.

    ``m ← β₁·m + (1 − β₁)·g``, ``v ← β₂·v + (1 − β₂)·g²``,
    ``p ← p − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + ε)``.
    Weight decay is added to the gradient, or, ``decoupled_weight_decay``, shrinks the parameter by ``1 − lr·λ``
    first (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019). ``amsgrad``
    uses the largest ``v`` so far (Reddi, Kale and Kumar, ICLR 2018).
    """
    beta1, beta2 = betas
    step.add_(1.0)
    step_size = lr / (1.0 - beta1**step)
    second_scale = (1.0 - beta2**step).sqrt()
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        added = 0.0 if decoupled_weight_decay else weight_decay
        direction = direction_of(param, grad, added, maximize)
        if weight_decay and decoupled_weight_decay:
            param.mul_(1.0 - lr * weight_decay)
        mean, square = slots["exp_avg"][i], slots["exp_avg_sq"][i]
        mean.mul_(beta1).add_(direction * (1.0 - beta1))
        square.mul_(beta2).add_(direction * direction * (1.0 - beta2))
        if amsgrad:
            largest = slots["max_exp_avg_sq"][i]
            largest.copy_(maximum(largest, square))
            square = largest
        param.sub_(step_size * mean / (square.sqrt() / second_scale + eps))


class Adam(Optimizer):
    """Adam; weight decay is part of the gradient."""

    rule = staticmethod(update_adam)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_adam` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The moments, and the largest second one for AMSGrad."""
        return ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if group["amsgrad"] else ()))


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """As `Adam`, with a weight decay of 0.01 by default."""
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize, True, **how)
