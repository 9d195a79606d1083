"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_sgd(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Update in place: ``b ← μ·b + (1 − τ)·g``, ``p ← p − lr·b``, with ``g ← g + λ·p`` first.

    Momentum as in Sutskever et al., "On the importance of initialization and momentum in deep
    learning" (ICML 2013), with the learning rate outside of the velocity; Nesterov's form steps
    along ``g + μ·b``. The first step takes ``b = g`` without dampening.
    """
    step.add_(1.0)
    damping = 1.0 - dampening * (step > 1.0).to(step.dtype)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        direction = direction_of(param, grad, weight_decay, maximize)
        if momentum:
            velocity = slots["momentum_buffer"][i]
            fresh = direction * damping if dampening else direction
            velocity.mul_(momentum).add_(fresh)
            direction = direction + momentum * velocity if nesterov else velocity
        param.sub_(lr * direction)


class SGD(Optimizer):
    """Gradient descent, with momentum, Nesterov's momentum, weight decay."""

    rule = staticmethod(update_sgd)
    counts_steps = False

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_sgd` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The velocity, when there is momentum."""
        return ("momentum_buffer",) if group["momentum"] else ()

    def check(self, group: Group) -> None:
        """Nesterov's form needs momentum and no dampening."""
        super().check(group)
        if group["momentum"] < 0.0:
            raise ArgumentValueError(f"momentum is at least 0, got {group['momentum']}")
        if group["nesterov"] and (not group["momentum"] or group["dampening"]):
            raise ArgumentValueError("nesterov=True needs momentum > 0 and dampening = 0")
