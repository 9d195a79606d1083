"""Muon: momentum whose direction is made orthogonal, for the matrices of hidden layers.

All singular values of a step are near 1, so that directions of small gradients count, too:

>>> import tensorplay as tp
>>> step = orthogonalized(tp.tensor([[100.0, 0.0], [0.0, 1.0]]), (3.4445, -4.775, 2.0315), 5, 1e-7)
>>> ((step.diagonal() - 1).abs() < 0.35).all()
tensor(True)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError
from tensorplay.optim.optimizer import Group, Optimizer, Slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.tensor import Tensor

ADJUSTMENTS = ("original", "match_rms_adamw")


def orthogonalized(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Nearly the orthogonal factor of a matrix, by a Newton-Schulz iteration in bfloat16.

    ``X ← a·X + (b·XXᵀ + c·(XXᵀ)²)·X`` from ``matrix / ‖matrix‖`` brings all singular values near 1; the
    coefficients are chosen so that small ones grow fast, not that they converge (Jordan et al. 2024).
    """
    a, b, c = coefficients
    x = matrix.to(dtypes.bfloat16)
    tall = x.shape[0] > x.shape[1]
    x = x.t() if tall else x
    x = x / (x * x).sum().sqrt().clamp(min=eps)
    for _ in range(steps):
        square = x @ x.t()
        x = a * x + (b * square + c * (square @ square)) @ x
    return x.t() if tall else x


def update_muon(
    params: list[Tensor],
    grads: list[Tensor],
    slots: Slots,
    step: Tensor,
    *,
    lr: Tensor,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    eps: float,
    ns_steps: int,
    adjust_lr_fn: str | None,
) -> None:
    """Update in place: ``m ← μ·m + (1 − μ)·g``, ``p ← (1 − lr·λ)·p − lr·s·NS(m)``.

    Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024). With ``nesterov`` the
    direction is ``μ·m + (1 − μ)·g``. ``NS`` is `orthogonalized`. The scale ``s`` of a matrix ``(A, B)`` is ``√max(1, A/B)``, or
    with ``adjust_lr_fn="match_rms_adamw"`` ``0.2·√max(A, B)`` (Liu et al. 2025), so that rates of AdamW fit.
    """
    step.add_(1.0)
    for param, grad, mean in zip(params, grads, slots["momentum_buffer"], strict=True):
        mean.mul_(momentum).add_(grad * (1.0 - momentum))
        direction = mean * momentum + grad * (1.0 - momentum) if nesterov else mean
        found = orthogonalized(direction, ns_coefficients, ns_steps, eps).to(param.dtype)
        rows, columns = param.shape
        scale = math.sqrt(max(1.0, rows / columns))
        if adjust_lr_fn == "match_rms_adamw":
            scale = 0.2 * math.sqrt(max(rows, columns))
        param.mul_(1.0 - lr * weight_decay).sub_(lr * scale * found)


class Muon(Optimizer):
    """Momentum made orthogonal, with decoupled weight decay; for matrices only.

    >>> import tensorplay as tp
    >>> weight = tp.nn.Parameter(tp.zeros(2, 2))
    >>> opt = tp.optim.Muon([weight], lr=0.1)
    >>> (weight * tp.tensor([[3.0, 0.0], [0.0, 5.0]])).sum().backward()
    >>> opt.step()
    >>> bool((weight.diagonal() < -0.06).all())
    True
    """

    rule = staticmethod(update_muon)
    counts_steps = False

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[Group],
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        """See `update_muon` for the settings."""
        defaults: dict[str, Any] = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """The mean of the gradients."""
        del group
        return ("momentum_buffer",)

    def check(self, group: Group) -> None:
        """Matrices, three coefficients, at most a hundred iterations, a known scale."""
        super().check(group)
        if any(param.ndim != 2 for param in group["params"]):
            shapes = [tuple(param.shape) for param in group["params"] if param.ndim != 2]
            raise ArgumentValueError(
                f"Muon optimizes matrices; give tensors of shapes {shapes} to another optimizer, as AdamW"
            )
        if group["momentum"] < 0.0:
            raise ArgumentValueError(f"momentum is at least 0, got {group['momentum']}")
        if len(group["ns_coefficients"]) != 3:
            raise ArgumentValueError(
                f"ns_coefficients are three numbers, got {group['ns_coefficients']}"
            )
        if not 0 < group["ns_steps"] < 100:
            raise ArgumentValueError(f"ns_steps lies in [1, 99], got {group['ns_steps']}")
        if group["adjust_lr_fn"] not in {None, *ADJUSTMENTS}:
            raise ArgumentValueError(
                f"adjust_lr_fn is one of {ADJUSTMENTS}, not {group['adjust_lr_fn']!r}"
            )
