"""Adafactor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tensorplay.core.dtypes import finfo
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import maximum, zeros
from tensorplay.optim.optimizer import Group, How, Optimizer, Slots, direction_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor


def update_adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    beta2_decay: float,
    eps: tuple[float | None, float],
    d: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update in place by Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (ICML 2018).

    ``ρ = min(lr, 1/√t)``, ``α = max(ε₂, RMS(p))·ρ``, ``β = 1 − t^γ`` with γ = ``beta2_decay``. A matrix keeps running means
    of g² over its rows and over its columns, R and C, and takes ``V = R·C / mean(R)``; others keep V itself. Then
    ``u = g/√max(V, ε₁²)`` and ``p ← p − α·u / max(1, RMS(u)/d)``; the parameter shrinks by ``1 − lr·λ`` first. ε₁ = None
    stands for the dtype's machine epsilon.
    """
    step.add_(1.0)
    share = step**beta2_decay
    rho = maximum(1.0 / lr, step.sqrt()) ** -1.0
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        least = finfo(param.dtype).eps if eps[0] is None else eps[0]
        direction = direction_of(param, grad, 0.0, maximize)
        size = (param * param).mean().sqrt()
        if weight_decay:
            param.mul_(1.0 - lr * weight_decay)
        square = direction * direction
        rows, columns, whole = (slots[name][i] for name in ("row_var", "col_var", "variance"))
        if grad.ndim > 1:
            rows.mul_(1.0 - share).add_(square.mean(-1, keepdim=True) * share)
            columns.mul_(1.0 - share).add_(square.mean(-2, keepdim=True) * share)
            spread = rows * columns / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            whole.mul_(1.0 - share).add_(square * share)
            spread = whole
        update = direction / spread.clamp(min=least * least).sqrt()
        rate = size.clamp(min=eps[1]) * rho
        excess = ((update * update).mean().sqrt() / d).clamp(min=1.0)
        param.sub_((rate / excess).to(param.dtype) * update)


class Adafactor(Optimizer):
    """Adaptive steps whose state for a matrix is a row and a column."""

    rule = staticmethod(update_adafactor)

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **how: Unpack[How],
    ) -> None:
        """See `update_adafactor` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, how)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """Means over rows and columns, or all of them."""
        del group
        return ("row_var", "col_var", "variance")

    @classmethod
    def new_slot(cls, name: str, param: Tensor, group: Group) -> Tensor:
        """Zeros; what a parameter of this rank doesn't use is empty."""
        del group
        shape: tuple[int, ...] = (0,)
        if name == "variance" and param.ndim < 2:
            shape = tuple(param.shape)
        elif name == "row_var" and param.ndim > 1:
            shape = (*param.shape[:-1], 1)
        elif name == "col_var" and param.ndim > 1:
            shape = (*param.shape[:-2], 1, param.shape[-1])
        found: Tensor = zeros(shape, dtype=param.dtype, device=param.device)
        return found

    def check(self, group: Group) -> None:
        """Nothing is negative but the exponent."""
        super().check(group)
        if group["beta2_decay"] > 0.0 or group["d"] < 1.0:
            raise ArgumentValueError(
                f"beta2_decay is at most 0 and d at least 1, got {group['beta2_decay']} and {group['d']}"
            )
