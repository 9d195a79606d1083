"""Adagrad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import full_like
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    lr_decay: float,
    weight_decay: float,
    initial_accumulator_value: float,
    eps: float,
    maximize: bool,
) -> None:
    """Update in place: ``s ← s + g²``, ``p ← p − lr/(1 + (t − 1)·η) · g/(√s + ε)``.

    From Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization" (JMLR 2011).
    """
    del initial_accumulator_value  # where the sum starts
    step.add_(1.0)
    rate = lr / (1.0 + (step - 1.0) * lr_decay)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        direction = direction_of(param, grad, weight_decay, maximize)
        total = slots["sum"][i]
        total.add_(direction * direction)
        param.sub_(rate * direction / (total.sqrt() + eps))


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients."""

    rule = staticmethod(update_adagrad)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_adagrad` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The sum of squares."""
        del group
        return ("sum",)

    @classmethod
    def new_slot(cls, name: str, param: Tensor, group: Group) -> Tensor:
        """The sum starts with ``initial_accumulator_value``."""
        del name
        found: Tensor = full_like(param.detach(), group["initial_accumulator_value"])
        return found

    def check(self, group: Group) -> None:
        """Nothing is negative."""
        super().check(group)
        for name in ("lr_decay", "initial_accumulator_value"):
            if group[name] < 0.0:
                raise ArgumentValueError(f"{name} is at least 0, got {group[name]}")
