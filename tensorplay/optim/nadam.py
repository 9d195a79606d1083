"""NAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.dtypes import float64
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import ones, zeros_like
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_nadam(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    momentum_decay: float,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> None:
    """Update in place by Dozat, "Incorporating Nesterov momentum into Adam" (ICLR workshop 2016).

    ``μₜ = β₁·(1 − 0.96^(t·ψ)/2)``, Mₜ the product of μ₁…μₜ, moments as in Adam, and
    ``p ← p − lr·((1 − μₜ)·g/(1 − Mₜ) + μₜ₊₁·m/(1 − Mₜ₊₁)) / (√(v/(1 − β₂ᵗ)) + ε)``. ``decoupled_weight_decay`` shrinks the
    parameter by ``1 − lr·λ`` instead of adding to the gradient.
    """
    beta1, beta2 = betas
    step.add_(1.0)
    mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))
    mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1.0) * momentum_decay))
    second_scale = 1.0 - beta2**step
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        added = 0.0 if decoupled_weight_decay else weight_decay
        direction = direction_of(param, grad, added, maximize)
        if weight_decay and decoupled_weight_decay:
            param.mul_(1.0 - lr * weight_decay)
        product = slots["mu_product"][i]
        product.mul_(mu)
        mean, square = slots["exp_avg"][i], slots["exp_avg_sq"][i]
        mean.mul_(beta1).add_(direction * (1.0 - beta1))
        square.mul_(beta2).add_(direction * direction * (1.0 - beta2))
        ahead = (1.0 - mu) / (1.0 - product) * direction + mu_next / (
            1.0 - product * mu_next
        ) * mean
        param.sub_(lr * ahead / ((square / second_scale).sqrt() + eps))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum."""

    rule = staticmethod(update_nadam)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_nadam` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The product of the momenta, the moments."""
        del group
        return ("mu_product", "exp_avg", "exp_avg_sq")

    @classmethod
    def new_slot(cls, name: str, param: Tensor, group: Group) -> Tensor:
        """The product starts with 1."""
        del group
        found: Tensor = (
            ones((), dtype=float64) if name == "mu_product" else zeros_like(param.detach())
        )
        return found

    def check(self, group: Group) -> None:
        """The decay of the momentum is not negative."""
        super().check(group)
        if group["momentum_decay"] < 0.0:
            raise ArgumentValueError(f"momentum_decay is at least 0, got {group['momentum_decay']}")
