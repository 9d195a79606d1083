"""`Parameter` and `Buffer`: tensors that a module registers when they are assigned; also without a shape yet.

>>> import tensorplay as tp
>>> weight = tp.nn.Parameter(tp.zeros(2))
>>> weight.requires_grad, weight.is_leaf
(True, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeGuard

from tensorplay.core.errors import DTypeError, TensorPlayError
from tensorplay.functions import empty
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType


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
        _share(self, data)

    def __repr__(self) -> str:
        """``Parameter containing:`` and the tensor."""
        return f"Parameter containing:\n{super().__repr__()}"


def _share(tensor: Tensor, data: Tensor) -> None:
    tensor.array = data.array
    tensor.storage = data.storage
    tensor.dtype = data.dtype
    tensor.meta = data.meta


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned; it shares the memory of ``data``.

    `state_dict` has it if ``persistent``.
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        """Share the memory of ``data``; without it the buffer is empty, of shape (0,)."""
        buffer: Self = super().__new__(cls)  # type: ignore[assignment]  # it makes a cls
        _share(buffer, empty((0,)) if data is None else data.detach())
        buffer.persistent = persistent
        return buffer


# ---- without a shape -----------------------------------------------------------------------------


class UninitializedError(TensorPlayError):
    """A parameter or buffer of a lazy module is used before its shape is known."""


class Uninitialized(Tensor):
    """A parameter or buffer that has a dtype and a device, and no shape until `materialize` gives it one."""

    becomes: ClassVar[type[Tensor]]
    placeholder: Tensor
    """An empty tensor of the dtype, on the device."""

    def materialize(
        self,
        shape: tuple[int, ...],
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        """Take memory of a shape, without values, and become an ordinary parameter or buffer."""
        old = self.placeholder
        del self.placeholder
        self.__class__ = self.becomes  # type: ignore[assignment]  # no longer uninitialized
        _share(self, empty(shape, dtype=dtype or old.dtype, device=device or old.device))

    def convert(self, placeholder: Tensor) -> None:
        """Take over the dtype and the device of a placeholder."""
        self.placeholder = placeholder
        _share(self, placeholder)

    def _refuse(self) -> NoReturn:
        raise UninitializedError(
            f"an {type(self).__name__} has no shape and no values yet: call the module once, or load a "
            "state, so that its sizes are known"
        )

    @property
    def shape(self) -> Any:  # noqa: ANN401  # there is none
        """Refused: there is none."""
        self._refuse()

    @property
    def ndim(self) -> Any:  # noqa: ANN401  # there is none
        """Refused: there is none."""
        self._refuse()

    def numel(self) -> int:
        """Refused: there are none."""
        self._refuse()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle as what it was made with."""
        del protocol
        made = self.placeholder
        return type(self), (self.requires_grad, str(made.device), made.dtype)

    def __deepcopy__(self, memo: dict[int, object]) -> Tensor:
        """Another one of the same kind."""
        made = self.placeholder
        copied = type(self)(self.requires_grad, made.device, made.dtype)  # type: ignore[call-arg]  # those of a subclass
        memo[id(self)] = copied
        return copied


class UninitializedParameter(Uninitialized, Parameter):
    """A parameter whose shape is not known yet; `materialize` makes it a `Parameter`."""

    becomes = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> Self:
        """Remember dtype and device."""
        data = empty((0,), dtype=dtype, device=device)
        parameter = super().__new__(cls, data, requires_grad)
        parameter.placeholder = data
        return parameter


class UninitializedBuffer(Uninitialized):
    """A buffer whose shape is not known yet; `materialize` makes it a tensor."""

    becomes = Buffer
    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        persistent: bool = True,
    ) -> Self:
        """Remember dtype and device."""
        buffer: Self = super().__new__(cls)  # type: ignore[assignment]  # it makes a cls
        buffer.convert(empty((0,), dtype=dtype, device=device))
        buffer.requires_grad = requires_grad
        buffer.persistent = persistent
        return buffer


def is_lazy(tensor: object) -> TypeGuard[Uninitialized]:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(tensor, Uninitialized)


def clear_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Forget the gradient of a leaf, or fill it with zeros and take it out of any graph."""
    if tensor.grad is None:
        return
    if set_to_none:
        tensor.grad = None
    else:
        tensor.grad = tensor.grad.detach()
        tensor.grad.zero_()
