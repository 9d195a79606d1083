"""Weight norm in its older form: parameters ``weight_g`` and ``weight_v``, computed before each call.

`parametrizations.weight_norm` does the same as a parametrization; this form has the parameter names
of models that were saved with it.

>>> import tensorplay as tp
>>> layer = weight_norm(tp.nn.Linear(2, 3))
>>> [name for name, _ in layer.named_parameters()]
['bias', 'weight_g', 'weight_v']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError
from tensorplay.nn.parameter import Parameter
from tensorplay.nn.utils.parametrizations import norm_except_dim
from tensorplay.nn.utils.recomputed import Recomputed, attach, detach, find

if TYPE_CHECKING:
    from tensorplay.nn.module import Module
    from tensorplay.tensor import Tensor


class _WeightNorm(Recomputed):
    """The hook: computes the weight from its parts."""

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Module) -> Tensor:
        """Return ``g · v / ‖v‖``."""
        g: Tensor = getattr(module, f"{self._tensor_name}_g")
        v: Tensor = getattr(module, f"{self._tensor_name}_v")
        return v * (g / norm_except_dim(v, self.dim))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a parameter by its length ``name_g`` and its direction ``name_v``; return the module.

    A length for each index of dimension ``dim``, or one for all with None (or −1).
    """
    if find(module, _WeightNorm, name) is not None:
        raise ArgumentValueError(f"{type(module).__name__}.{name} is under weight_norm already")
    hook = _WeightNorm(name, None if dim == -1 else dim)
    weight = module.get_parameter(name)
    del module._parameters[name]  # noqa: SLF001 - nn's own registries
    length = norm_except_dim(weight.detach(), hook.dim)
    module.register_parameter(f"{name}_g", Parameter(length))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    attach(module, hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again, with its present value."""
    hook = find(module, _WeightNorm, name)
    if hook is None:
        raise ArgumentValueError(f"{type(module).__name__}.{name} is not under weight_norm")
    value = hook.compute(module).detach()
    detach(module, hook)
    delattr(module, f"{name}_g")
    delattr(module, f"{name}_v")
    module.register_parameter(name, Parameter(value))
    return module
