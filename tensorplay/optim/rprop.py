"""Rprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import full_like, where, zeros_like
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_rprop(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    etas: tuple[float, float],
    step_sizes: tuple[float, float],
    maximize: bool,
) -> None:
    """Update in place by the sign of the gradient, each element with a step size of its own.

    Where the sign stays, the step grows by ``η₊``; where it changes, it shrinks by ``η₋`` and the element rests once. From
    Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm" (1993).
    ``step_sizes`` are the least and the largest; the first one is the learning rate.
    """
    del lr  # where the sizes start
    step.add_(1.0)
    shrink, grow = etas
    least, largest = step_sizes
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        direction = direction_of(param, grad, 0.0, maximize)
        before, size = slots["prev"][i], slots["step_size"][i]
        agreement = direction * before
        shrunk = where(agreement < 0.0, size * shrink, size)
        size.copy_(where(agreement > 0.0, size * grow, shrunk).clamp(least, largest))
        direction = where(agreement < 0.0, 0.0, direction)
        param.sub_(direction.sign() * size)
        before.copy_(direction)


class Rprop(Optimizer):
    """Resilient backpropagation: only the signs of the gradients matter."""

    rule = staticmethod(update_rprop)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_rprop` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The last gradient and the step sizes."""
        del group
        return ("prev", "step_size")

    @classmethod
    def new_slot(cls, name: str, param: Tensor, group: Group) -> Tensor:
        """The sizes start with the learning rate."""
        if name == "step_size":
            lr = group["lr"]
            found: Tensor = full_like(param.detach(), float(lr))
            return found
        fresh: Tensor = zeros_like(param.detach())
        return fresh

    def check(self, group: Group) -> None:
        """One factor shrinks, the other grows."""
        super().check(group)
        if not 0.0 < group["etas"][0] < 1.0 < group["etas"][1]:
            raise ArgumentValueError(f"etas are in (0, 1) and above 1, got {group['etas']}")
