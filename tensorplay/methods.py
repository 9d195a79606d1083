"""Methods of `Tensor` that are neither operators nor about the object itself: indexing, writes in place, transposes.

A function mode sees each of them as the user called it: `operator.getitem`, `"fill_"`, `"copy_"`.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from typing import Any

from tensorplay import dispatch, indexing
from tensorplay.core import dtypes
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import DimensionError, DTypeError, GradientError
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor, tensor_from_data


def _getitem(self: Tensor, index: Any) -> Any:  # noqa: ANN401  # any index
    """Elements, parts and views."""
    if dispatch.current_modes():
        return dispatch.call_function(python_operator.getitem, indexing.getitem, (self, index), {})
    return indexing.getitem(self, index)


def _setitem(self: Tensor, index: Any, value: Any) -> None:  # noqa: ANN401  # any index and value
    """Write elements in place."""
    dispatch.call_function(python_operator.setitem, indexing.setitem, (self, index, value), {})


def _copy(self: Tensor, src: Tensor) -> Tensor:
    value = src if src.dtype is self.dtype else src.to(self.dtype)
    dispatch.write(self, value if value.shape == self.shape else value.expand(self.shape))
    return self


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:  # PyTorch's name
    """Take the elements of `src`, converted and broadcast."""
    del non_blocking
    return dispatch.call_function("copy_", _copy, (self, src), {})


def _fill(self: Tensor, value: Tensor | Number) -> Tensor:
    indexing.setitem(self, Ellipsis, value)
    return self


def fill_(self: Tensor, value: Tensor | Number) -> Tensor:
    """Set every element to a number."""
    return dispatch.call_function("fill_", _fill, (self, value), {})


def _zero(self: Tensor) -> Tensor:
    indexing.setitem(self, Ellipsis, 0)
    return self


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return dispatch.call_function("zero_", _zero, (self,), {})


def where(self: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """The tensor's elements where `condition` holds, else those of `other`."""
    return tp.where(condition, self, other)


def polygamma(self: Tensor, n: int) -> Tensor:
    """The `n`-th derivative of `digamma` at the elements."""
    return tp.polygamma(n, self)


def _polygamma(self: Tensor, n: int) -> Tensor:
    value = tp.polygamma(n, self)
    dispatch.write(self, dispatch.fit_value("polygamma_", self, value))
    return self


def polygamma_(self: Tensor, n: int) -> Tensor:
    """`polygamma` in place."""
    return dispatch.call_function("polygamma_", _polygamma, (self, n), {})


def _apply(self: Tensor, function: Callable[[Any], Number]) -> Tensor:
    numbers = [function(each) for each in self.reshape(-1).tolist()]
    return copy_(self, tensor_from_data(numbers, dtype=self.dtype).reshape(self.shape))


def apply_(self: Tensor, function: Callable[[Any], Number]) -> Tensor:
    """Replace each element by what a Python function makes of it; slow, and nothing is recorded of it.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 4]).apply_(lambda x: x * 10 + 1)
    tensor([11, 41])
    """
    return dispatch.call_function("apply_", _without_record(_apply), (self, function), {})


def _map(self: Tensor, tensor: Tensor, function: Callable[[Any, Any], Number]) -> Tensor:
    others = tensor.expand(self.shape).reshape(-1).tolist()
    pairs = zip(self.reshape(-1).tolist(), others, strict=True)
    numbers = [function(a, b) for a, b in pairs]
    return copy_(self, tensor_from_data(numbers, dtype=self.dtype).reshape(self.shape))


def map_(self: Tensor, tensor: Tensor, function: Callable[[Any, Any], Number]) -> Tensor:
    """Replace each element by what a Python function makes of it and of the one of `tensor`, which broadcasts.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 4]).map_(tp.tensor([2, 3]), max)
    tensor([2, 4])
    """
    return dispatch.call_function("map_", _without_record(_map), (self, tensor, function), {})


def _without_record(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Python functions of numbers have no gradient: tensors that require one are refused."""

    def checked(self: Tensor, *args: Any) -> Tensor:  # noqa: ANN401  # as the function
        for each in (self, *args):
            if (
                isinstance(each, Tensor)
                and dispatch.is_grad_enabled()
                and dispatch.has_history(each)
            ):
                msg = "apply_ and map_ call a Python function, which has no gradient; call them under no_grad()"
                raise GradientError(msg)
        return function(self, *args)

    return checked


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors show the same memory with the same offset, shape and strides."""
    return self.storage is tensor.storage and self.tensor_meta == tensor.tensor_meta


def _transposed(self: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    if self.ndim <= 2:  # a matrix
        return self.t()
    return self.permute(*range(self.ndim - 1, -1, -1))


def _matrices_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    if self.ndim < 2:
        msg = f"mT needs a matrix or a batch of matrices, found a {self.ndim}-d tensor"
        raise DimensionError(msg)
    return self.transpose(-2, -1)


def _conjugate_transposed(self: Tensor) -> Tensor:
    """A matrix transposed, and conjugated where it is complex."""
    if self.ndim not in {0, 2}:
        msg = f"H needs a matrix, found a {self.ndim}-d tensor; use .mT for a batch of matrices"
        raise DimensionError(msg)
    return self.t().conj()


def _matrices_conjugate_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated where the tensor is complex."""
    return _matrices_transposed(self).conj()


def _real(self: Tensor) -> Tensor:
    """The real part, a view; assigning to it writes into the tensor."""
    return tp.real(self)


def _set_real(self: Tensor, value: Tensor | Number) -> None:
    indexing.setitem(tp.real(self), Ellipsis, value)


def _imag(self: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, a view; assigning to it writes into the tensor."""
    return tp.imag(self)


def _set_imag(self: Tensor, value: Tensor | Number) -> None:
    indexing.setitem(tp.imag(self), Ellipsis, value)


def _positive(self: Tensor) -> Tensor:
    """`+x`: a view of the tensor; bools are refused."""
    if self.dtype is dtypes.bool_:
        msg = "+x: bool tensors have no sign; convert with .int()"
        raise DTypeError(msg)
    return dispatch.call_function(python_operator.pos, tp.alias, (self,), {})


def _method_text(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as the function
        return dispatch.call_function(name, function, (self, *args), kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", function.__doc__
    return method


def attach() -> None:
    """Add the methods to `Tensor`."""
    members: dict[str, Any] = {
        "__getitem__": _getitem,
        "__setitem__": _setitem,
        "__pos__": _positive,
        "copy_": copy_,
        "fill_": fill_,
        "zero_": zero_,
        "where": _method_text("where", where),
        "polygamma": _method_text("polygamma", polygamma),
        "polygamma_": _method_text("polygamma_", polygamma_),
        "apply_": apply_,
        "map_": map_,
        "is_set_to": is_set_to,
        "T": property(_transposed),
        "mT": property(_matrices_transposed),
        "H": property(_conjugate_transposed),
        "mH": property(_matrices_conjugate_transposed),
        "real": property(_real, _set_real),
        "imag": property(_imag, _set_imag),
    }
    for name, member in members.items():
        setattr(Tensor, name, member)
