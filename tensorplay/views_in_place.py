"""Views in place: `x.unsqueeze_(0)` makes the tensor object the view of its own memory.

In: a tensor and the arguments of the view. Out: the same object, with the view's shape, strides and place in autograd; other
tensors over the memory keep theirs. Each method is the view of the same name on a copy of the object, which
takes its place in the history.

>>> import tensorplay as tp
>>> x = tp.tensor([[1, 2, 3]])
>>> y = x.t_()
>>> y is x, x.shape
(True, (3, 1))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensorplay import dispatch
from tensorplay.core.errors import CaptureError, GradientError
from tensorplay.ops.registry import Operator, tp
from tensorplay.tensor import Tensor

VIEWS: Final = {
    "as_strided_": "as_strided",
    "squeeze_": "squeeze",
    "swapaxes_": "transpose",
    "swapdims_": "transpose",
    "t_": "t",
    "transpose_": "transpose",
    "unsqueeze_": "unsqueeze",
}
"""Methods, and the views that they make of the tensor."""


def _object_copy(tensor: Tensor) -> Tensor:
    """Another object for the same memory and the same place in autograd."""
    found = Tensor.__new__(Tensor)
    found.array, found.storage, found.dtype = tensor.array, tensor.storage, tensor.dtype
    found.grad_fn, found.output_nr = tensor.grad_fn, tensor.output_nr
    found.requires_grad = tensor.requires_grad
    found._view = tensor._view  # noqa: SLF001  # the member `view`, which a method shadows
    return found


def _method(name: str, operator: Operator) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:  # noqa: ANN401  # as the view
        if dispatch.current_modes() or self.array is None:
            msg = (
                f"{name} changes the shape of a tensor object, which a recorded tensor does not allow; "
                f"write x = x.{name[:-1]}(...)"
            )
            raise CaptureError(msg)
        if self.requires_grad and self.grad_fn is None:
            msg = f"{name}: a leaf that requires a gradient keeps its shape; write y = x.{name[:-1]}(...)"
            raise GradientError(msg)
        view = operator(_object_copy(self), *args, **kwargs)
        self.array = view.array
        self.grad_fn, self.output_nr = view.grad_fn, view.output_nr
        self.requires_grad = view.requires_grad
        self._view = view._view  # noqa: SLF001
        return self

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"`{operator.name}` of the tensor object itself: {operator.doc}"
    return method


def attach() -> None:
    """Add the methods to `Tensor`."""
    for name, view in VIEWS.items():
        setattr(Tensor, name, _method(name, tp[view]))
