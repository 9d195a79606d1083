"""Gradient clipping, by the norm of all gradients together or element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import stack, tensor
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Return the norm of all tensors as one vector; ``norm_type`` may be ``inf``."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not norm_type > 0.0:
        raise ArgumentValueError(f"clip_grad_norm_: norm_type is above 0, got {norm_type}")
    if not given:
        return tensor(0.0)
    with no_grad():
        sizes = [each.detach().abs() for each in given]
        if math.isinf(norm_type):
            norm: Tensor = stack([size.max() for size in sizes if size.numel()]).max()
        else:
            norm = stack([(size**norm_type).sum() for size in sizes]).sum() ** (1.0 / norm_type)
    if error_if_nonfinite and not math.isfinite(norm.item()):
        raise ArgumentValueError(
            f"clip_grad_norm_: the norm of the gradients is {norm.item()}; "
            "error_if_nonfinite=False scales by it nevertheless"
        )
    return norm


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor
) -> None:
    """Multiply all gradients in place by ``min(1, max_norm / (total_norm + 1e-6))``."""
    with no_grad():
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _gradients(parameters):
            grad.mul_(factor.to(grad.dtype))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients in place so that their common norm is at most ``max_norm``; return the norm.

    The norm is that of all gradients as one vector, before scaling; ``norm_type`` may be ``inf``.
    They are multiplied by ``min(1, max_norm / (norm + 1e-6))``, so a NaN spreads to all of them.
    """
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    norm = get_total_norm(_gradients(given), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, norm)
    return norm


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Limit every element of every gradient to ``[-clip_value, clip_value]``, in place."""
    if clip_value < 0.0:
        raise ArgumentValueError(f"clip_grad_value_: clip_value is at least 0, got {clip_value}")
    with no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-clip_value, clip_value)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [each.grad for each in given if each.grad is not None]
