"""Modules without initial values.

>>> import tensorplay as tp
>>> skip_init(tp.nn.Linear, 3, 4).weight.shape
(4, 3)
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from tensorplay.core.errors import ArgumentError
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable

    AnyModule = TypeVar("AnyModule", bound=Module)


def skip_init(module_cls: type[AnyModule], *args: Any, **kwargs: Any) -> AnyModule:  # noqa: ANN401  # the constructor's
    """Make a module on the meta device and give it memory on ``device``, whose values are not set."""
    if not issubclass(module_cls, Module):
        raise ArgumentError(f"skip_init: expected a class of modules, got {module_cls!r}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise ArgumentError(f"skip_init: {module_cls.__name__} takes no device")
    device = kwargs.pop("device", "cpu")
    make: Callable[..., AnyModule] = module_cls
    return make(*args, **kwargs, device="meta").to_empty(device=device)
