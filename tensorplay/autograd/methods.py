"""The methods of `Tensor` that belong to autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay import dispatch
from tensorplay.autograd.gradients import backward
from tensorplay.autograd.tensor_state import (
    register_hook,
    register_post_accumulate_grad_hook,
    retain_grad,
    retains_grad,
)
from tensorplay.core.errors import CaptureError, GradientError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensorplay.autograd.node import RemovableHandle, TensorHook


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of this tensor (times ``gradient``) to the ``.grad`` of its leaves.

    See `tensorplay.autograd.backward`.
    """
    backward(self, gradient, retain_graph, create_graph, inputs)


def tensor_register_hook(self: Tensor, hook: TensorHook) -> RemovableHandle:
    """Call ``hook(grad)`` whenever the gradient of this tensor is complete.

    What the hook returns, unless None, replaces the gradient. It runs once a backward pass.
    """
    return dispatch.call_function("register_hook", register_hook, (self, hook), {})


def tensor_register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call ``hook(tensor)`` whenever a backward pass has added to the ``.grad`` of this leaf."""
    return dispatch.call_function(
        "register_post_accumulate_grad_hook",
        register_post_accumulate_grad_hook,
        (self, hook),
        {},
    )


def tensor_retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor in its ``.grad``, although it is not a leaf."""
    dispatch.call_function("retain_grad", retain_grad, (self,), {})


def tensor_detach_(self: Tensor) -> Tensor:
    """Forget how this tensor was computed: it becomes a leaf that requires no gradient. Views are refused."""
    step = self._view
    if dispatch.current_modes():
        raise CaptureError(
            "detach_ changes a tensor object, which a recorded tensor does not allow; write x = x.detach()"
        )
    if step is not None and step.root is not None:
        raise GradientError("detach_: a view follows its base; write y = x.detach()")
    self.grad_fn, self.output_nr, self.requires_grad = None, 0, False
    return self


def install() -> None:
    """Put the methods on the class."""
    for name, method in (
        ("backward", tensor_backward),
        ("register_hook", tensor_register_hook),
        ("register_post_accumulate_grad_hook", tensor_register_post_accumulate_grad_hook),
        ("retain_grad", tensor_retain_grad),
        ("detach_", tensor_detach_),
        ("retains_grad", property(retains_grad)),
    ):
        setattr(Tensor, name, method)
