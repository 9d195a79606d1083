"""`Tensor`: an n-dimensional array with a dtype, strides, a storage shared with its views, and a place in autograd.

Its C part (`_C.TensorBase`) holds the NumPy array, or, for tensors without data, the `TensorMeta`.
The methods that are operators come from the registry (`tensorplay.functions` attaches them); what
is written here is about the object itself: metadata, conversion to and from Python and NumPy,
indexing, in-place writes.

>>> import tensorplay as tp
>>> x = tp.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> x[0] + 1
tensor([2., 3.])
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C, dispatch
from tensorplay.core import device as devices
from tensorplay.core import dtypes, layout
from tensorplay.core.device import CPU, Device
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.element_count import ElementCount
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DataNeededError,
    DimensionError,
    DTypeError,
    GradientError,
    NumberRangeError,
)
from tensorplay.core.memory_format import MemoryFormat, preserve_format
from tensorplay.core.meta import TensorMeta

if TYPE_CHECKING:
    from tensorplay._operator_methods import OperatorMethods
else:
    OperatorMethods = object

Array = np.ndarray[Any, np.dtype[Any]]


class Tensor(_C.TensorBase, OperatorMethods):
    """A tensor. Make one with `tensorplay.tensor`, `from_numpy`, `zeros` and their like."""

    __array_priority__ = 1000
    __hash__ = object.__hash__

    _view = _C.TensorBase.__dict__["view"]
    """How a view was made (`dispatch.ViewStep`), None for others: the C member `view`, which the method shadows."""

    def __new__(cls, data: object = None, **options: Any) -> Tensor:  # noqa: ANN401, PYI034  # as `tensorplay.tensor`
        """`Tensor(data)` is `tensorplay.tensor(data)` for a float tensor."""
        if cls is not Tensor or data is None:
            return super().__new__(cls)
        return tensor_from_data(data, **options)

    # ---- metadata

    @property
    def tensor_meta(self) -> TensorMeta:
        """Shape, dtype, device, strides and offset."""
        if self.array is None:
            meta: TensorMeta = self.meta
            return meta
        return TensorMeta(self.shape, self.dtype, CPU, self.strides, self.storage_offset())

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return CPU if self.array is not None else self.meta.device

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made this tensor."""
        return self.grad_fn is None

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the memory is the CPU's."""
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether there is no memory behind the tensor."""
        return self.device.type == "meta"

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        size: int = self.dtype.itemsize
        return size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.itemsize

    @property
    def _version(self) -> int:
        """How often the storage was written to."""
        storage = self.storage
        return 0 if storage is None else storage.version

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of."""
        step = self._view
        return None if step is None else step.base

    @property
    def size(self) -> ElementCount:
        """The number of elements; called, the shape (`x.size()`) or the size of one dimension (`x.size(0)`)."""
        return ElementCount(self.shape)

    def stride(self, dim: int | None = None) -> Any:  # noqa: ANN401  # strides or one
        """Strides in elements, or the stride of one dimension."""
        strides = self.tensor_meta.strides
        return strides if dim is None else strides[_existing_dim("stride", dim, self.ndim)]

    def storage_offset(self) -> int:
        """The place of the first element in the storage, in elements."""
        if self.array is None:
            offset: int = self.meta.offset
            return offset
        return -_C.reach(self.array)[0] if self.array.base is not None else 0

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def get_device(self) -> int:
        """The number of the CUDA device; -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def numel(self) -> int:
        """The number of elements."""
        return self.array.size if self.array is not None else layout.numel(self.shape)

    nelement = numel

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._data("data_ptr").__array_interface__["data"][0])

    def untyped_storage(self) -> _C.Storage:
        """The identity and version of the memory."""
        storage = self.storage
        assert storage is not None  # noqa: S101  # tensors have one
        return storage

    def is_contiguous(self) -> bool:
        """Whether elements lie in row-major order without gaps."""
        array = self.array
        if array is not None:
            return bool(array.flags.c_contiguous)
        return layout.is_contiguous(self.shape, self.strides)

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating-point type."""
        return bool(self.dtype.kind == "f")

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return bool(self.dtype.kind == "c")

    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return bool(self.dtype.kind in "ifc")

    def __len__(self) -> int:
        """The size of the first dimension."""
        if not self.ndim:
            msg = "len() of a 0-d tensor"
            raise ArgumentError(msg)
        return self.shape[0]

    # ---- autograd state

    def is_inference(self) -> bool:
        """Whether the memory was made in `inference_mode`, so that autograd may not keep it."""
        storage = self.storage
        return storage is not None and storage.is_inference

    if not TYPE_CHECKING:  # else a type checker would take any attribute for granted

        def __getattr__(self, name: str) -> None:
            """Say that there is no such attribute, unless a mode knows better why."""
            mode = dispatch.current_function_mode()
            if mode is not None:
                mode.check_missing(self, name)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)

    _own_grad = _C.TensorBase.__dict__["grad"]

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up; None before the first."""
        mode = dispatch.current_function_mode()
        if mode is not None:
            mode.check_grad(self, is_assigned=False)
        return self._own_grad  # type: ignore[no-any-return]  # the C member

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        """Set the gradient, or forget it."""
        mode = dispatch.current_function_mode()
        if mode is not None:
            mode.check_grad(self, is_assigned=True)
        self._own_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:  # PyTorch's name
        """Ask for gradients of this leaf, or stop asking."""
        if dispatch.current_modes():
            arguments = () if requires_grad else (False,)
            return dispatch.call_function(
                "requires_grad_", Tensor._requires_grad_, (self, *arguments), {}
            )
        return self._requires_grad_(requires_grad)

    def _requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if requires_grad and not self.dtype.is_differentiable:
            msg = f"requires_grad: only floating-point tensors have gradients, this one is {self.dtype}"
            raise GradientError(msg)
        if requires_grad and self.is_inference() and not _C.is_inference_mode_enabled():
            msg = "requires_grad: the tensor was made in inference_mode; use a clone() made outside of it"
            raise GradientError(msg)
        if not requires_grad and self.grad_fn is not None:
            msg = "requires_grad_(False) on a computed tensor; use .detach()"
            raise GradientError(msg)
        self.requires_grad = requires_grad
        return self

    @property
    def data(self) -> Tensor:
        """The same memory outside autograd."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        """Take over another tensor's memory, without a record."""
        if self.array is None or value.array is None:
            msg = "setting .data needs tensors with data"
            raise DataNeededError(msg)
        self.array, self.storage, self.dtype = value.array, value.storage, value.dtype

    # ---- to Python and NumPy

    def _data(self, what: str) -> Array:
        """The array; refused for tensors without data."""
        mode = dispatch.current_function_mode()
        if self.array is None:
            dispatch.refuse_data(self, what)
        array = self.array if mode is None else mode.read_data(self, what)
        if array is None:
            msg = (
                f"{what} needs the data of a tensor of shape {self.shape} and dtype {self.dtype} that has none: "
                "it is being recorded, or lives on the meta device. Where an operator asks, give it a Python "
                "number: .item() and .tolist() in a compiled function's own code are answered"
            )
            raise DataNeededError(msg)
        return array

    def numpy(self, *, force: bool = False) -> Array:
        """The NumPy array over the same memory.

        With `force`, also from a tensor that requires a gradient.
        """
        if self.requires_grad and not force and dispatch.is_grad_enabled():
            msg = "numpy() of a tensor that requires a gradient; use .detach().numpy()"
            raise GradientError(msg)
        return self._data("numpy()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: ANN401  # any value
        """NumPy's protocol: the same memory where the dtype allows it."""
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self) -> Any:  # noqa: ANN401  # a Python number
        """The one element as a Python number."""
        array = self._data("item()")
        if array.size != 1:
            msg = f"item() needs a tensor of one element, this one has shape {self.shape}"
            raise ArgumentValueError(msg)
        return _to_python(array.reshape(()), self.dtype).item()

    def tolist(self) -> Any:  # noqa: ANN401  # nested lists
        """Nested lists of Python numbers."""
        return _to_python(self._data("tolist()"), self.dtype).tolist()

    def __bool__(self) -> bool:
        """The truth of a tensor of one element."""
        array = self._data("bool()")
        if array.size != 1:
            msg = f"the truth of a tensor of shape {self.shape} is ambiguous; use .any() or .all()"
            raise ArgumentValueError(msg)
        return bool(array.reshape(()) != 0)

    def __int__(self) -> int:
        """The one element, truncated."""
        return int(self.item())

    def __float__(self) -> float:
        """The one element."""
        return float(self.item())

    def __complex__(self) -> complex:
        """The one element."""
        return complex(self.item())

    def __index__(self) -> int:
        """The one element of an integer tensor."""
        if self.dtype.kind not in "biu":
            msg = f"only integer tensors of one element are an index, this one is {self.dtype}"
            raise DTypeError(msg)
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        """The tensors along the first dimension."""
        if not self.ndim:
            msg = "iteration over a 0-d tensor"
            raise ArgumentError(msg)
        return iter([self[i] for i in range(self.shape[0])])

    def __contains__(self, element: object) -> bool:
        """Whether some element equals `element`."""
        return bool((self == element).any())  # type: ignore[attr-defined]  # a tensor

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:  # noqa: ANN401  # a capsule
        """DLPack's protocol: the same memory, or with `copy` other memory, for the CPU (`dl_device`)."""
        if self.requires_grad:
            msg = "DLPack of a tensor that requires a gradient; use .detach()"
            raise GradientError(msg)
        if stream is not None:
            msg = f"DLPack: memory on the CPU has no streams, found stream={stream!r}"
            raise ArgumentValueError(msg)
        given = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        options: Any = {name: value for name, value in given.items() if value is not None}
        return self._data("__dlpack__").__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's protocol: the CPU."""
        return (1, 0)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The namespace of the array API standard for tensors, `tensorplay.array_api`."""
        namespace = importlib.import_module("tensorplay.array_api")  # a layer above this one
        known: str = namespace.__array_api_version__
        if api_version is not None and api_version > known:
            msg = (
                f"array API {api_version!r} is not available; tensorplay.array_api follows {known}"
            )
            raise ArgumentValueError(msg)
        return namespace

    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """`to(device)` under the name of the array API standard."""
        if stream is not None:
            msg = f"to_device: memory on the CPU has no streams, found stream={stream!r}"
            raise ArgumentValueError(msg)
        return self.to(devices.as_device(device))

    def __repr__(self) -> str:
        """Text as PyTorch prints it."""
        from tensorplay._printing import tensor_text  # loaded when something is printed

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        """Format the number of a 0-d tensor; others as text."""
        if self.ndim == 0 and self.array is not None:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle as an array; autograd history is not kept."""
        del protocol
        return _rebuild, (
            self._data("pickling"),
            self.requires_grad and self.is_leaf,
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Tensor:
        """A copy of the data; refused for computed tensors that require a gradient."""
        known = memo.get(id(self))
        if isinstance(known, Tensor):
            return known
        if self.grad_fn is not None:
            msg = (
                "deepcopy of a computed tensor that requires a gradient; use .detach().clone(), or call the "
                "module that computes and keeps it (a pruned one) under no_grad() first"
            )
            raise GradientError(msg)
        copied = type(self)._from_plain(self.detach().clone())  # noqa: SLF001  # own class
        copied.requires_grad = self.requires_grad
        if self.grad is not None:
            copied.grad = self.grad.detach().clone()
        memo[id(self)] = copied
        return copied

    @classmethod
    def _from_plain(cls, tensor: Tensor) -> Tensor:
        """The same memory as an instance of this class."""
        if cls is Tensor:
            return tensor
        made = cls.__new__(cls)
        made.array, made.storage, made.dtype = tensor.array, tensor.storage, tensor.dtype
        made.meta = tensor.meta
        return made

    # ---- conversion

    def to(self, *args: Any, dtype: DType | None = None, device: Device | str | None = None,  # noqa: ANN401  # any value
           non_blocking: bool = False, copy: bool = False,
           memory_format: MemoryFormat = preserve_format) -> Tensor:  # fmt: skip
        """Convert to a dtype, a device, or those of another tensor, and to a memory format.

        After them `non_blocking` and `copy` may stand. The tensor itself where nothing changes.
        """
        flags = [each for each in args if isinstance(each, bool)]
        copy = copy or flags[1:2] == [True]
        del non_blocking
        for argument in args:
            if argument is None or isinstance(argument, bool):
                continue
            if isinstance(argument, Tensor):
                dtype, device = argument.dtype, argument.device
            elif isinstance(argument, (str, Device)):
                device = argument
            else:
                dtype = dtypes.as_dtype(argument)
        found = self._to(
            dtype=dtype, device=None if device is None else devices.as_device(device), copy=copy
        )
        if memory_format is preserve_format:
            return found
        from tensorplay.ops.library.conversion import laid_out  # operators load after this class

        return laid_out(found, memory_format)

    def cpu(self) -> Tensor:
        """Move to the CPU."""
        return self.to(CPU)

    # ---- new tensors like this one

    def new_tensor(self, data: object, *, dtype: DType | None = None) -> Tensor:
        """A tensor from data, of this dtype."""
        return tensor_from_data(data, dtype=dtype or self.dtype)


def _existing_dim(name: str, dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        msg = f"{name}: dimension {dim} does not exist in a {ndim}-d tensor"
        raise DimensionError(msg)
    return dim


def _to_python(array: Array, dtype: DType) -> Array:
    """An array whose elements convert to Python numbers: bfloat16 as float32."""
    return array.astype(np.float32) if dtype is dtypes.bfloat16 else array


def _rebuild(array: Array, requires_grad: bool) -> Tensor:
    tensor: Tensor = _C.wrap(array)
    tensor.requires_grad = requires_grad
    return tensor


# ---- making tensors from data ---------------------------------------------------------------------------


def tensor_from_data(
    data: object,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A new tensor that holds a copy of `data`: numbers, nested sequences, arrays or tensors."""
    options: dict[str, Any] = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    options = {name: value for name, value in options.items() if value}
    return dispatch.call_function(tensor_from_data, _tensor_from_data, (data,), options)


def _tensor_from_data(
    data: object,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    found = data._data("tensor()") if isinstance(data, Tensor) else _array_of(data, wanted)  # noqa: SLF001  # own class
    source = dtypes.from_numpy_dtype(_native(found).dtype)
    inferred = source
    of_numbers = not isinstance(data, (Tensor, np.ndarray, np.generic))
    if of_numbers and source is dtypes.float64:
        inferred = dtypes.get_default_dtype()
    elif of_numbers and source is dtypes.complex128:
        inferred = dtypes.dtype_of_number(0j)
    target = wanted or inferred
    if of_numbers and target is not source and found.size:
        dtypes.check_range("tensor()", found.min().item(), target)
        dtypes.check_range("tensor()", found.max().item(), target)
    array = dispatch.convert_array(_native(found), target)
    fresh = _C.empty(array.shape, target)
    np.copyto(fresh, array)
    tensor: Tensor = _C.wrap(fresh)
    if device is not None:
        tensor = tensor.to(device)
    return tensor.requires_grad_() if requires_grad else tensor


def _native(array: Array) -> Array:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _array_of(data: object, wanted: DType | None = None) -> Array:
    if isinstance(data, (np.ndarray, np.generic)):
        return np.asarray(data)
    if isinstance(data, (list, tuple)):
        data = _with_numbers(data)
    if wanted is dtypes.uint64:  # NumPy turns integers on both sides of 2**63 into floats
        with contextlib.suppress(OverflowError, TypeError, ValueError):
            return np.array(data, np.uint64)
    try:
        array = np.array(data)
    except ValueError as error:
        msg = f"tensor(): the nested sequences have different lengths: {error}"
        raise ArgumentValueError(msg) from None
    except OverflowError:
        array = np.array(data, np.uint64)
    if array.dtype.kind == "O" and all(type(each) in {int, float} for each in array.flat):
        if wanted is None or not wanted.is_differentiable:
            msg = f"tensor(): integers have at most 64 bits, found {data!r:.80}; use a float dtype"
            raise NumberRangeError(msg)
        array = array.astype(np.float64)
    if array.size == 0 and not isinstance(data, np.ndarray):
        return array.astype(np.float64)
    if array.dtype.kind not in "biufc":
        msg = f"tensor(): expected numbers or nested sequences of numbers, found {data!r:.80}"
        raise ArgumentError(msg)
    return array


def _with_numbers(data: Sequence[Any]) -> list[Any]:
    """Nested sequences with 0-d tensors and arrays replaced by what NumPy understands."""
    return [
        each._data("tensor()") if isinstance(each, Tensor)  # noqa: SLF001  # a friend of that class
        else _with_numbers(each) if isinstance(each, (list, tuple)) else each
        for each in data
    ]  # fmt: skip


def from_numpy(array: Array) -> Tensor:
    """A tensor over the memory of a NumPy array.

    In a compiled function, which knows arrays by their values, a tensor of these values.
    """
    if not isinstance(array, np.ndarray):
        msg = f"from_numpy: expected an ndarray, found {type(array).__name__}"
        raise ArgumentError(msg)
    if not array.dtype.isnative:
        msg = "from_numpy: the array is not in native byte order; use array.astype(array.dtype.newbyteorder('='))"
        raise DTypeError(msg)
    dtypes.from_numpy_dtype(array.dtype)
    if dispatch.current_function_mode() is not None:
        return tensor_from_data(array.copy())
    tensor: Tensor = _C.wrap(array)
    return tensor


def from_dlpack(source: Any) -> Tensor:  # noqa: ANN401  # any object with the protocol
    """A tensor over the memory of an object that speaks DLPack."""
    array = source if isinstance(source, np.ndarray) else np.from_dlpack(source)
    return from_numpy(array)


def as_tensor(
    data: object, dtype: DType | None = None, device: Device | str | None = None
) -> Tensor:
    """A tensor from data, without a copy where the memory can be shared."""
    if isinstance(data, Tensor):
        return data.to(*([] if dtype is None else [dtype]), device=device)
    if isinstance(data, np.ndarray) and data.dtype.isnative:
        tensor = from_numpy(data)
        return tensor if dtype is None else tensor.to(dtype)
    return tensor_from_data(data, dtype=dtype, device=device)


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor."""
    return isinstance(value, Tensor)


tensor_from_data.__module__, tensor_from_data.__qualname__ = "tensorplay", "tensor"
tensor_from_data.__name__ = "tensor"

for _dtype in dtypes.ALL_DTYPES:
    _C.register_dtype(_dtype.numpy, _dtype, _dtype.code)
dispatch.register_tensor_class(Tensor)

__all__ = [
    "Number",
    "Tensor",
    "as_tensor",
    "from_dlpack",
    "from_numpy",
    "is_tensor",
    "tensor_from_data",
]
