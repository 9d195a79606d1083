"""Adadelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update in place: ``v ← ρ·v + (1 − ρ)·g²``, ``d = √(u + ε)/√(v + ε)·g``, ``u ← ρ·u + (1 − ρ)·d²``, ``p ← p − lr·d``.

    From Zeiler, "ADADELTA: an adaptive learning rate method" (2012), Algorithm 1.
    """
    step.add_(1.0)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        direction = direction_of(param, grad, weight_decay, maximize)
        square, moved = slots["square_avg"][i], slots["acc_delta"][i]
        square.mul_(rho).add_(direction * direction * (1.0 - rho))
        delta = (moved + eps).sqrt() / (square + eps).sqrt() * direction
        moved.mul_(rho).add_(delta * delta * (1.0 - rho))
        param.sub_(lr * delta)


class Adadelta(Optimizer):
    """Steps in the proportion of the last steps to the last gradients."""

    rule = staticmethod(update_adadelta)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_adadelta` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The mean squares of gradients and of steps."""
        del group
        return ("square_avg", "acc_delta")

    def check(self, group: Group) -> None:
        """The decay rate lies in [0, 1]."""
        super().check(group)
        if not 0.0 <= group["rho"] <= 1.0:
            raise ArgumentValueError(f"rho lies in [0, 1], got {group['rho']}")
