"""`Array`: a tensor whose operators follow the array API standard.

The namespace's functions take any tensor and return `Array`s. An `Array` is a `Tensor`, with its
gradients, methods and memory; two things differ, because PyTorch and the standard disagree on them:

- Types promote by dtype alone. To PyTorch a 0-d tensor weighs less than one with dimensions.
- What an operator, an index or a transpose makes of an `Array` is an `Array`.

>>> import tensorplay as tp
>>> half = tp.tensor(0.5, dtype=tp.float64)
>>> (tp.ones(2) * half).dtype, (tp.array_api.ones(2) * half).dtype
(tensorplay.float32, tensorplay.float64)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tensorplay import dispatch
from tensorplay.array_api.division import floor_quotient, modulo
from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentError
from tensorplay.indexing import check_mask
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor, tensor_from_data

Scalar: TypeAlias = bool | int | float | complex
NUMBERS = (bool, int, float, complex)


class Array(Tensor):
    """A tensor whose operators follow the array API standard; made by the namespace's functions."""

    def __new__(cls, data: object = None, **options: Any) -> Array:  # noqa: ANN401, PYI034  # as `tensorplay.tensor`
        """`Array(data)` has the data of `tensorplay.tensor(data)`."""
        if data is None:
            return super().__new__(cls)  # type: ignore[return-value]  # it makes a cls
        return as_array(tensor_from_data(data, **options))

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle as the tensor, of this class."""
        return _rebuild, super().__reduce_ex__(protocol)

    def __getitem__(self, index: Any) -> Array:  # noqa: ANN401  # any index
        """Elements, parts and views; with a bool array, the elements where it is true."""
        if self.array is None and _is_mask(index):
            return as_array(_selected(self, index))
        return as_array(super().__getitem__(index))

    def __setitem__(self, index: Any, value: Any) -> None:  # noqa: ANN401  # any index and value
        """Write elements, parts and views; with a bool array, the elements where it is true."""
        many = isinstance(value, Tensor) and _is_mask(index) and value.ndim > self.ndim - index.ndim
        if many and self.array is None:
            index = _places(self, index)
        super().__setitem__(index, value)

    @property
    def T(self) -> Array:
        """The dimensions in reverse order."""
        return as_array(super().T)

    @property
    def mT(self) -> Array:
        """The last two dimensions exchanged."""
        return as_array(super().mT)

    def to_device(self, device: Any, /, *, stream: object = None) -> Array:  # noqa: ANN401  # a device or its name
        """The array on a device."""
        return as_array(super().to_device(device, stream=stream), self)


def _is_mask(index: object) -> bool:
    return isinstance(index, Tensor) and index.dtype is dtypes.bool_ and index.numel() > 0


def _selected(x: Tensor, mask: Tensor) -> Tensor:
    """`x[mask]` in a compiled function: how many elements there are is asked of the data."""
    check_mask(x, 0, mask)
    places = nonzero_places(mask.reshape(-1))
    flat = x.reshape((mask.numel(), *x.shape[mask.ndim :]))
    return flat.index_select(0, places.select(1, 0))


def _places(x: Tensor, mask: Tensor) -> Any:  # noqa: ANN401  # an index
    """The index of the elements where a mask of a compiled function is true."""
    check_mask(x, 0, mask)
    if not mask.ndim:
        return bool(int(tp.count_nonzero(mask)))
    places = nonzero_places(mask)
    return tuple(places.select(1, k) for k in range(mask.ndim))


def nonzero_places(x: Tensor) -> Tensor:
    """The indices of nonzero elements, one row each.

    In a compiled function their number is asked of the data: another number compiles it again.
    """
    if x.array is not None:
        return tp.nonzero(x)
    return tp.nonzero_static(x, size=int(tp.count_nonzero(x)))


def _rebuild(make: Callable[..., Tensor], arguments: tuple[Any, ...]) -> Array:
    return as_array(make(*arguments))


def as_array(tensor: Any, *inputs: object) -> Array:  # noqa: ANN401  # a tensor
    """A tensor that was just made, as an `Array`. One of the `inputs` is somebody else's: a view of it."""
    if any(tensor is each for each in inputs) and type(tensor) is not Array:
        tensor = dispatch.call(tp.alias, (tensor,))
    tensor.__class__ = Array
    array: Array = tensor
    return array


# ---- promotion ----------------------------------------------------------------------------------------


def promote(tensors: Sequence[Tensor]) -> DType:
    """The dtype that tensors have in common, whatever their dimensions."""
    found: DType = tensors[0].dtype
    for each in tensors[1:]:
        found = dtypes.promote_types(found, each.dtype)
    return found


def convert(tensor: Tensor, dtype: DType) -> Tensor:
    """A tensor in a dtype; itself where it has that dtype."""
    return tensor if tensor.dtype is dtype else tensor.to(dtype)


def operands(name: str, x1: Any, x2: Any, *, keep_numbers: bool = True) -> tuple[Any, Any]:  # noqa: ANN401  # tensors or numbers
    """Two operands in their common dtype. A number stays one, or becomes a 0-d tensor."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        if x1.dtype is x2.dtype:
            return x1, x2
        dtype = dtypes.promote_types(x1.dtype, x2.dtype)
        return convert(x1, dtype), convert(x2, dtype)
    if isinstance(x1, Tensor):
        return x1, _number(name, x2, x1, keep=keep_numbers)
    if isinstance(x2, Tensor):
        return _number(name, x1, x2, keep=keep_numbers), x2
    msg = (
        f"{name}: expected an array and an array or a Python number, found {type(x1).__name__} and "
        f"{type(x2).__name__}; make one an array with asarray()"
    )
    raise ArgumentError(msg)


def _number(name: str, number: object, tensor: Tensor, *, keep: bool) -> Any:  # noqa: ANN401  # a number or a tensor
    if not isinstance(number, NUMBERS):
        msg = f"{name}: expected an array or a Python number, found {type(number).__name__}; use asarray()"
        raise ArgumentError(msg)
    if keep:
        return number
    dtype = dtypes.result_type([tensor.dtype], (), [dtypes.dtype_of_number(number)])
    return tp.full((), number, dtype=dtype)


# ---- operators ----------------------------------------------------------------------------------------


_OTHERWISE: dict[str, Callable[[Any, Any], Tensor]] = {"floordiv": floor_quotient, "mod": modulo}
"""Operators whose values differ from the tensor's."""


def _binary(symbol: str) -> None:
    def compute(a: Any, b: Any) -> Any:  # noqa: ANN401  # operands, one of them a tensor
        if symbol in _OTHERWISE and all(isinstance(each, (Tensor, *NUMBERS)) for each in (a, b)):
            return _OTHERWISE[symbol](a, b)
        if isinstance(a, Tensor):
            return getattr(Tensor, f"__{symbol}__")(a, b)
        return getattr(Tensor, f"__r{symbol}__")(b, a)

    def forward(self: Array, other: Any) -> Any:  # noqa: ANN401  # any operand
        mine: Tensor = self
        if isinstance(other, Tensor) and other.dtype is not self.dtype:
            mine, other = operands(symbol, self, other)
        result = compute(mine, other)
        return result if result is NotImplemented else as_array(result)

    def reflected(self: Array, other: Any) -> Any:  # noqa: ANN401  # any operand
        if isinstance(other, Tensor):
            other, mine = operands(symbol, other, self)
            return as_array(compute(other, mine))
        result = compute(other, self)
        return result if result is NotImplemented else as_array(result)

    def in_place(self: Array, other: Any) -> Any:  # noqa: ANN401  # any operand
        result = forward(self, other)
        if result is NotImplemented:
            return result
        return self.copy_(dispatch.fit_value(f"__i{symbol}__", self, result))

    members = {f"__{symbol}__": forward, f"__r{symbol}__": reflected}
    if symbol in _OTHERWISE or symbol == "matmul":
        members[f"__i{symbol}__"] = in_place
    for name, function in members.items():
        if hasattr(Tensor, name) or function is in_place:
            function.__name__, function.__qualname__ = name, f"Array.{name}"
            setattr(Array, name, function)


def _unary(name: str) -> None:
    def operator(self: Array) -> Any:  # noqa: ANN401  # an array
        return as_array(getattr(Tensor, name)(self))

    operator.__name__, operator.__qualname__ = name, f"Array.{name}"
    setattr(Array, name, operator)


for _symbol in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
    "lt", "le", "gt", "ge", "eq", "ne",
):  # fmt: skip
    _binary(_symbol)
for _name in ("__neg__", "__pos__", "__abs__", "__invert__"):
    _unary(_name)
Array.__hash__ = Tensor.__hash__  # type: ignore[method-assign]  # by identity, although == compares elements
