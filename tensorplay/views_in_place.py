"""Views in place: `x.unsqueeze_(0)` makes the tensor object the view of its own memory.

In: a tensor and the arguments of the view. Out: the same object, with the view's shape, strides and place in autograd; other
tensors over the memory keep theirs. Each method is the view of the same name on a copy of the object, which
takes its place in the history. `resize_` and `set_` also give the object other memory; autograd does not see
them.

>>> import tensorplay as tp
>>> x = tp.tensor([[1, 2, 3]])
>>> y = x.t_()
>>> y is x, x.shape
(True, (3, 1))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tensorplay import _C, dispatch
from tensorplay.core import layout
from tensorplay.core.errors import CaptureError, DTypeError, GradientError
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.signature import checked_sizes, to_sizes_variadic
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
        self._view = view._view  # noqa: SLF001  # a friend of that class
        return self

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"`{operator.name}` of the tensor object itself: {operator.doc}"
    return method


def _check_plain(name: str, tensor: Tensor) -> None:
    """Refuse what a change of memory would break: records and derivatives."""
    if dispatch.current_modes() or tensor.array is None:
        msg = f"{name} changes the memory of a tensor object, which a recorded tensor does not have"
        raise CaptureError(msg)
    if dispatch.has_history(tensor):
        msg = f"{name}: a tensor that requires a gradient keeps its memory; call it on x.detach()"
        raise GradientError(msg)


def _take(tensor: Tensor, source: Tensor) -> Tensor:
    """Make the object what another one is."""
    tensor.array, tensor.storage, tensor.dtype = source.array, source.storage, source.dtype
    tensor._view = source._view  # noqa: SLF001  # a friend of that class
    return tensor


def resize_(self: Tensor, *sizes: Any) -> Tensor:  # noqa: ANN401  # sizes, as one sequence or apart
    """Another shape over the same memory, row-major from the tensor's first element.

    Where the memory does not suffice the tensor gets new memory with the old elements in front, and
    whatever it held behind them; other tensors over the old memory keep it.

    >>> import tensorplay as tp
    >>> tp.tensor([[1, 2], [3, 4], [5, 6]]).resize_(2, 2)
    tensor([[1, 2],
            [3, 4]])
    """
    _check_plain("resize_", self)
    shape = checked_sizes("resize_", to_sizes_variadic(sizes))
    if shape == self.shape:
        return self
    array = self.array
    assert array is not None  # noqa: S101  # checked
    held = _C.reach(array)[1] + 1
    count = layout.numel(shape)
    if count <= held:
        strides = layout.contiguous_strides(shape)
        return _take(self, tp.as_strided(_object_copy(self), shape, strides))
    grown = _C.empty((count,), self.dtype)
    if held:
        grown[:held] = _C.view(array, (held,), (1,), 0)
    return _take(self, _C.wrap(grown.reshape(shape)))


def resize_as_(self: Tensor, tensor: Tensor) -> Tensor:
    """`resize_` to the shape of another tensor."""
    return resize_(self, tuple(tensor.shape))


def set_(
    self: Tensor,
    source: Tensor | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Show the memory of `source`, of the same dtype, as it does, or with a size, strides (row-major unless given) and an offset.

    Without `source` the tensor becomes empty.

    >>> import tensorplay as tp
    >>> x = tp.arange(4)
    >>> tp.tensor([0]).set_(x, 1, (2,), (2,))
    tensor([1, 3])
    """
    _check_plain("set_", self)
    if source is None:
        return _take(self, tp.empty((0,), dtype=self.dtype))
    _check_plain("set_", source)
    if source.dtype is not self.dtype:
        msg = f"set_: the tensor is {self.dtype} and source {source.dtype}; convert one with .to(dtype)"
        raise DTypeError(msg)
    if size is None:
        return _take(self, _object_copy(source))
    strides = layout.contiguous_strides(size) if stride is None else stride
    return _take(self, tp.as_strided(source, size, strides, storage_offset))


def attach() -> None:
    """Add the methods to `Tensor`."""
    for method in (resize_, resize_as_, set_):
        setattr(Tensor, method.__name__, method)
    for name, view in VIEWS.items():
        setattr(Tensor, name, _method(name, tp[view]))
