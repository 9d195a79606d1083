"""RAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.functions import where
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_radam(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> None:
    """Update in place by Liu et al., "On the variance of the adaptive learning rate and beyond" (ICLR 2020), Algorithm 2.

    ``ρ∞ = 2/(1 − β₂) − 1``, ``ρₜ = ρ∞ − 2·t·β₂ᵗ/(1 − β₂ᵗ)``, moments as in Adam, ``m̂ = m/(1 − β₁ᵗ)``. While ρₜ ≤ 5 the step
    is ``lr·m̂``; then ``lr·m̂·r·√(1 − β₂ᵗ)/(√v + ε)`` with ``r² = (ρₜ − 4)(ρₜ − 2)ρ∞ / ((ρ∞ − 4)(ρ∞ − 2)ρₜ)``.
    """
    beta1, beta2 = betas
    step.add_(1.0)
    longest = 2.0 / (1.0 - beta2) - 1.0
    power = beta2**step
    length = longest - 2.0 * step * power / (1.0 - power)
    adapts = length > 5.0
    safe = where(adapts, length, 6.0)
    whole = (longest - 4.0) * (longest - 2.0)
    rectified = ((safe - 4.0) * (safe - 2.0) * longest / (whole * safe) * (1.0 - power)).sqrt()
    rate = lr / (1.0 - beta1**step)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        added = 0.0 if decoupled_weight_decay else weight_decay
        direction = direction_of(param, grad, added, maximize)
        if weight_decay and decoupled_weight_decay:
            param.mul_(1.0 - lr * weight_decay)
        mean, square = slots["exp_avg"][i], slots["exp_avg_sq"][i]
        mean.mul_(beta1).add_(direction * (1.0 - beta1))
        square.mul_(beta2).add_(direction * direction * (1.0 - beta2))
        adapted = rectified.to(square.dtype) / (square.sqrt() + eps)
        param.sub_(rate * mean * where(adapts, adapted, 1.0))


class RAdam(Optimizer):
    """Adam that adapts only once the variance of its rates is finite."""

    rule = staticmethod(update_radam)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_radam` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The moments."""
        del group
        return ("exp_avg", "exp_avg_sq")
