"""A parameter that is computed from others before each call: what pruning and the older forms of weight and spectral norm are.

A `Recomputed` is a forward pre-hook. Meanwhile the attribute is a tensor of the module's own, no parameter.

>>> import tensorplay as tp
>>> class Doubled(Recomputed):
...     def compute(self, module):
...         return module.part * 2
>>> layer = tp.nn.Linear(1, 1)
>>> del layer.weight
>>> layer.part = tp.nn.Parameter(tp.ones(1, 1))
>>> attach(layer, Doubled("weight"))
>>> layer.weight.tolist()
[[2.0]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tensorplay.nn.hooks import forward_pre_hooks, remove_forward_pre_hook

if TYPE_CHECKING:
    from tensorplay.nn.module import Module
    from tensorplay.tensor import Tensor


class Recomputed:
    """A hook that sets an attribute of a module; subclasses define `compute`."""

    _tensor_name: str

    def __init__(self, name: str) -> None:
        self._tensor_name = name

    def compute(self, module: Module) -> Tensor:
        """What the attribute is now."""
        raise NotImplementedError(f"{type(self).__name__} defines no compute")

    def __call__(self, module: Module, args: object) -> None:
        """Set the attribute."""
        del args
        object.__setattr__(module, self._tensor_name, self.compute(module))


Kind = TypeVar("Kind", bound=Recomputed)


def attach(module: Module, hook: Recomputed) -> None:
    """Set the attribute, now and before each call."""
    hook(module, ())
    module.register_forward_pre_hook(hook)


def find(module: Module, kind: type[Kind], name: str) -> Kind | None:
    """The hook of a kind that computes an attribute, or None."""
    for hook in forward_pre_hooks(module):
        if isinstance(hook, kind) and hook._tensor_name == name:  # noqa: SLF001  # of this file
            return hook
    return None


def detach(module: Module, hook: Recomputed) -> None:
    """Take the hook out, and the attribute."""
    remove_forward_pre_hook(module, hook)
    module.__dict__.pop(hook._tensor_name, None)  # noqa: SLF001  # of this file
