"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
    maximize: bool,
) -> None:
    """Update in place: ``v ← α·v + (1 − α)·g²``, ``p ← p − lr·g/(√v + ε)``.

    From Hinton's lectures (Neural networks for machine learning, 6e, 2012). ``centered`` divides by the root of the
    variance, ``v − m²`` with ``m ← α·m + (1 − α)·g`` (Graves, "Generating sequences with recurrent neural networks",
    2013). With ``momentum``, ``b ← μ·b + g/(√v + ε)`` is the direction.
    """
    step.add_(1.0)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        direction = direction_of(param, grad, weight_decay, maximize)
        square = slots["square_avg"][i]
        square.mul_(alpha).add_(direction * direction * (1.0 - alpha))
        spread = square
        if centered:
            mean = slots["grad_avg"][i]
            mean.mul_(alpha).add_(direction * (1.0 - alpha))
            spread = square - mean * mean
        direction = direction / (spread.sqrt() + eps)
        if momentum > 0.0:
            velocity = slots["momentum_buffer"][i]
            velocity.mul_(momentum).add_(direction)
            direction = velocity
        param.sub_(lr * direction)


class RMSprop(Optimizer):
    """Steps divided by a running root mean square of the gradient."""

    rule = staticmethod(update_rmsprop)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_rmsprop` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The mean square, the velocity, the mean."""
        momentum = ("momentum_buffer",) if group["momentum"] > 0.0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def check(self, group: Group) -> None:
        """Momentum and alpha are not negative."""
        super().check(group)
        for name in ("momentum", "alpha"):
            if group[name] < 0.0:
                raise ArgumentValueError(f"{name} is at least 0, got {group[name]}")
