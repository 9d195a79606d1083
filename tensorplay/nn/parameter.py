"""`Parameter`: a tensor that a module registers as one of its parameters when it is assigned.

>>> import tensorplay as tp
>>> weight = tp.nn.Parameter(tp.zeros(2))
>>> weight.requires_grad, weight.is_leaf
(True, True)
"""

from __future__ import annotations

from typing import Any, Self

from tensorplay.core.errors import DTypeError
from tensorplay.functions import empty
from tensorplay.tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that belongs to a module and wants a gradient.

    It shares the memory of ``data``; its gradient history is its own.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        """Share the memory of ``data``, which must be of a floating dtype to want a gradient.

        Without ``data`` the parameter is empty, of shape (0,).
        """
        if data is None:
            data = empty((0,))
        if requires_grad and not data.dtype.is_differentiable:
            raise DTypeError(
                f"a parameter of dtype {data.dtype} cannot have a gradient; convert it to a "
                "floating dtype, or pass requires_grad=False"
            )
        parameter: Self = super().__new__(cls)  # type: ignore[assignment]  # it makes a cls
        parameter.assign(data)
        parameter.requires_grad = requires_grad
        return parameter

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle as the tensor, and whether it wants a gradient."""
        del protocol
        return type(self), (self.detach(), self.requires_grad)

    def assign(self, data: Tensor) -> None:
        """Share the memory of ``data`` from now on, in place of the present one."""
        self.array = data.array
        self.storage = data.storage
        self.dtype = data.dtype
        self.meta = data.meta

    def __repr__(self) -> str:
        """``Parameter containing:`` and the tensor."""
        return f"Parameter containing:\n{super().__repr__()}"


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Forget the gradient of a leaf, or fill it with zeros and take it out of any graph."""
    if tensor.grad is None:
        return
    if set_to_none:
        tensor.grad = None
    else:
        tensor.grad = tensor.grad.detach()
        tensor.grad.zero_()
