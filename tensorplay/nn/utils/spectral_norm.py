"""Spectral norm in its older form: a parameter ``weight_orig`` and buffers ``weight_u``, ``weight_v``, computed before each call.

`parametrizations.spectral_norm` does the same as a parametrization; this form has the names of models
that were saved with it.

>>> import tensorplay as tp
>>> layer = spectral_norm(tp.nn.Linear(2, 3))
>>> sorted(layer.state_dict())
['bias', 'weight_orig', 'weight_u', 'weight_v']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import randn
from tensorplay.nn import functional
from tensorplay.nn.parameter import Parameter
from tensorplay.nn.utils.recomputed import Recomputed, detach, find

if TYPE_CHECKING:
    from tensorplay.nn.module import Module
    from tensorplay.tensor import Tensor


class _SpectralNorm(Recomputed):
    """The hook: divides the weight by the estimate of its largest singular value (Miyato et al. 2018)."""

    def __init__(self, name: str, times: int, eps: float, dim: int) -> None:
        super().__init__(name)
        self.times = times
        self.eps = eps
        self.dim = dim

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix whose rows are the dimension."""
        return weight.movedim(self.dim, 0).flatten(1)

    def weight(self, module: Module, times: int) -> Tensor:
        """Improve the estimate so many times, then divide by it."""
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        u: Tensor = getattr(module, f"{self._tensor_name}_u")
        v: Tensor = getattr(module, f"{self._tensor_name}_v")
        matrix = self.matrix(original)
        with no_grad():
            for _ in range(times):
                v.copy_(functional.normalize(matrix.t() @ u, dim=0, eps=self.eps))
                u.copy_(functional.normalize(matrix @ v, dim=0, eps=self.eps))
        # copies, as the next call changes the vectors before this one is differentiated
        return original / (u.clone() * (matrix @ v.clone())).sum()

    def compute(self, module: Module) -> Tensor:
        """The weight; in training by a better estimate than before."""
        return self.weight(module, self.times if module.training else 0)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iteration in training; return the module.

    The weight is a matrix whose rows are dimension ``dim``: 1 for transposed convolutions, else 0.
    """
    if find(module, _SpectralNorm, name) is not None:
        raise ArgumentValueError(f"{type(module).__name__}.{name} is under spectral_norm already")
    if n_power_iterations <= 0:
        raise ArgumentValueError(
            f"spectral_norm: n_power_iterations is above 0, got {n_power_iterations}"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = _SpectralNorm(name, n_power_iterations, eps, dim)
    weight = module.get_parameter(name)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    for end, size in zip("uv", hook.matrix(weight.detach()).shape, strict=True):
        start = functional.normalize(randn(size, dtype=weight.dtype), dim=0, eps=eps)
        module.register_buffer(f"{name}_{end}", start)
    with no_grad():
        object.__setattr__(module, name, hook.weight(module, 0))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again, with its present value; return the module."""
    hook = find(module, _SpectralNorm, name)
    if hook is None:
        raise ArgumentValueError(f"{type(module).__name__}.{name} is not under spectral_norm")
    value = hook.weight(module, 0).detach()
    detach(module, hook)
    for end in ("orig", "u", "v"):
        delattr(module, f"{name}_{end}")
    module.register_parameter(name, Parameter(value))
    return module
