"""Automatic differentiation: the engine, its front doors, grad modes, `Function`; forward mode.

In: tensors that require gradients, and operators with their pullbacks (`ops.gradient`). Out: nodes
(`grad_fn`) behind every result, and gradients by `backward` and `grad`. Importing this package
installs recording in the dispatcher and the methods below on `Tensor`. The submodules `forward_ad`
and `functional` are loaded at first use.

>>> import tensorplay as tp
>>> x = tp.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

import importlib
from typing import Any

from tensorplay import dispatch
from tensorplay.autograd import graph, methods
from tensorplay.autograd.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from tensorplay.autograd.function import Function, FunctionContext, once_differentiable
from tensorplay.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tensorplay.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tensorplay.autograd.gradients import backward, grad
from tensorplay.autograd.inplace import on_write
from tensorplay.autograd.node import Node, RemovableHandle
from tensorplay.autograd.record import on_call

dispatch.install_autograd(on_call, on_write)
methods.install()


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a submodule
    """Load submodules at first use."""
    if name in ("forward_ad", "functional"):
        return importlib.import_module(f"tensorplay.autograd.{name}")
    msg = f"module 'tensorplay.autograd' has no attribute {name!r}"
    raise AttributeError(msg)


__all__ = [
    "Function",
    "FunctionContext",
    "GradcheckError",
    "Node",
    "RemovableHandle",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]
