"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.dtypes import float64
from tensorplay.functions import ones, tensor, where, zeros_like
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_asgd(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    lambd: float,
    alpha: float,
    t0: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update in place: ``p ← (1 − λ·η)·p − η·g``, and the average ``a ← a + μ·(p − a)`` from step ``t0`` on.

    ``η = lr/(1 + λ·lr·t)^α``, ``μ = 1/max(1, t − t₀)``. From Polyak and Juditsky, "Acceleration of stochastic approximation
    by averaging" (1992), with the rates of Bottou, "Large-scale machine learning with stochastic gradient descent" (2010).
    The average is the state ``ax``.
    """
    step.add_(1.0)
    eta_next = lr / (1.0 + lambd * lr * step) ** alpha
    mu_next = 1.0 / (step - t0).clamp(min=1.0)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        eta, mu, average = slots["eta"][i], slots["mu"][i], slots["ax"][i]
        direction = direction_of(param, grad, weight_decay, maximize)
        param.mul_(1.0 - lambd * eta)
        param.sub_(eta * direction)
        average.copy_(where(mu == 1.0, param, average + (param - average) * mu))
        eta.copy_(eta_next)
        mu.copy_(mu_next)


class ASGD(Optimizer):
    """Gradient descent that also averages the parameters."""

    rule = staticmethod(update_asgd)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_asgd` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The rates of the next step, and the average."""
        del group
        return ("eta", "mu", "ax")

    @classmethod
    def new_slot(cls, name: str, param: Tensor, group: Group) -> Tensor:
        """The first step takes the learning rate itself, and sets the average."""
        if name == "ax":
            found: Tensor = zeros_like(param.detach())
        elif name == "eta":
            found = tensor(float(group["lr"]), dtype=float64)
        else:
            found = ones((), dtype=float64)
        return found
