"""The native module: what crosses into C++ (sources in csrc/)."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tensorplay.core.dtypes import DType

Array: TypeAlias = NDArray[Any]

class Storage:
    """The identity and the version of a block of memory; weakly referable, compared by identity."""

    version: int
    def __init__(self) -> None: ...
    @property
    def is_inference(self) -> bool:
        """Whether it was made in inference mode, so that autograd may not keep what it holds."""
    @property
    def owner(self) -> object | None:
        """The object that owns the memory (the end of the chain of NumPy bases), or None."""
    def bump(self) -> None:
        """Count one in-place write: `version += 1`."""

class TensorBase:
    """The C part of a tensor; `Tensor` derives from it.

    `TensorBase.__new__` ignores its arguments and leaves every member None (False, 0), so a
    subclass is free in its `__init__`. `wrap` and programs make instances without `__init__`.
    Weakly referable and known to the garbage collector.
    """

    array: Array | None
    storage: Storage | None
    dtype: Any
    requires_grad: bool
    grad_fn: Any
    output_nr: int
    grad: Any
    view: Any
    meta: Any
    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes: the array's, else the meta's."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in elements: the array's, else the meta's."""
    @property
    def ndim(self) -> int: ...

_T = TypeVar("_T", bound=TensorBase)

def register_dtype(numpy_dtype: np.dtype[Any], dtype: object, code: int, /) -> None:
    """Tell the module of a dtype: its NumPy dtype, the DType object, its code in [0, 64).

    A second registration of the same code replaces the object (a reloaded module).
    """

def register_tensor_class(cls: type[_T], /) -> type[_T] | None:
    """The subclass of TensorBase whose instances `wrap` and programs make."""

def wrap(array: Array, /) -> Any:
    """A tensor over this array's memory, without a copy.

    Arrays with one owner (ultimate base) get one Storage while that storage lives. TypeError for
    an unregistered or byte-swapped dtype; ValueError when a stride is no multiple of the item size.
    """

def wrap_view(array: Array, base: TensorBase, /) -> Any:
    """A tensor over this array with the storage of `base`."""

def set_inference_mode(mode: bool, /) -> bool:
    """Whether this thread's new storages are inference storages; returns what held before."""

def is_inference_mode_enabled() -> bool:
    """Whether this thread's new storages are inference storages."""

def empty(shape: Sequence[int], dtype: DType | int | np.dtype[Any], /) -> Array:
    """An uninitialized C-contiguous array; from 4 KiB on 64-byte aligned and from the pool."""

def empty_strided(
    shape: Sequence[int], strides: Sequence[int], dtype: DType | int | np.dtype[Any], /
) -> Array:
    """An uninitialized array with these strides (in elements; zero and negative ones are allowed)."""

def view(array: Array, shape: Sequence[int], strides: Sequence[int], offset: int, /) -> Array:
    """A strided view; strides and offset in elements, from the array's first element.

    ValueError where it would leave the memory of the array's owner.
    """

def reach(array: Array, /) -> tuple[int, int]:
    """The first and the last element of the owner's memory, counted from the array's first element."""

def pool_stats() -> dict[str, int]:
    """`used_bytes`, `peak_bytes`, `idle_bytes`, `idle_blocks`, `hits`, `misses`, `limit`."""

def pool_trim() -> None:
    """Give every idle block back to the system; `peak_bytes` starts anew."""

def pool_set_limit(limit: int, /) -> None:
    """Bound the bytes of idle blocks (default: a quarter of memory, at most 4 GiB)."""

def set_num_threads(count: int, /) -> None:
    """Set the number of threads of a parallel loop, the caller included (1 to 256)."""

def get_num_threads() -> int:
    """The number of threads; at first TP_NUM_THREADS, else the processors available."""

def unary(name: str, array: Array, out: Array | None = None, /) -> Array:
    """An elementary function of a float32 or float64 array, over any strides.

    The names are those of the instruction table: exp, exp2, expm1, log, log2, log10, log1p, sin, cos,
    tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc, erfinv, sigmoid, rsqrt.
    Without `out` the result has the array's order of dimensions, without gaps (NumPy's order "K").
    `out` may overlap. TypeError for other dtypes, ValueError for an unknown name or a wrong `out`.
    """

def binary(name: str, a: Array, b: Array, out: Array | None = None, /) -> Array:
    """The same of two arrays of one dtype, which broadcast.

    pow, atan2, hypot, fmod, remainder, floordiv, maximum, minimum, nextafter.
    """

def convolve(images: Array, kernels: Array, out: Array, /, *numbers: int) -> bool:
    """Convolve planes into `out`, of contiguous arrays (N, C, H, W), (O, C / groups, h, w) and (N, O, H', W').

    The numbers are two strides, two paddings, two dilations, and groups. False where it can't: other dtypes than float32
    and float64, and no BLAS. ValueError for arrays and numbers that don't fit.
    """

def map_rows(name: str, /, *arrays: Array) -> Array:
    """A function of the rows (last dimension) of contiguous float32 or float64 arrays of one shape.

    softmax, softmax_or_zeros, log_softmax of one array; softmax_grad, log_softmax_grad of a result's gradient and the
    result. TypeError for other arrays, ValueError for an unknown name.
    """

def add_rows(target: Array, rows: NDArray[np.int64], values: Array, /) -> None:
    """`target[rows[i]] += values[i]` in the order of i, for contiguous matrices of one real dtype.

    IndexError for a row outside of the target, which is then unchanged.
    """

def philox(seed: Array | int, offset: Array | int, index: Array, /) -> NDArray[np.uint64]:
    """Words 0 and 1 (low, high) of Philox4x32-10 at each index: counter (index, offset), key seed."""

class ElementProgram:
    """A scalar program over float arrays, run block by block on all threads.

    `dtype` is float32 or float64; `inputs` has a letter for each array, `f` for that dtype and `?` for bool. A step is the
    name of one of ELEMENT_FUNCTIONS and its operands, numbers in the sequence of inputs, constants, steps. The last step
    is the result, bool if `is_bool`. At most ELEMENT_INPUTS inputs and ELEMENT_VALUES values in all.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        inputs: str,
        constants: tuple[float, ...],
        steps: tuple[tuple[str | int, ...], ...],
        is_bool: bool,
    ) -> None: ...
    def __call__(self, *arrays: Array | None) -> Array:
        """The result of as many arrays as there are inputs, which broadcast; an array more is `out`."""

ELEMENT_FUNCTIONS: dict[str, int]
"""The functions of element programs and how many operands each takes."""
ELEMENT_INPUTS: int
"""How many inputs an element program has at most."""
ELEMENT_VALUES: int
"""How many inputs, constants and steps together."""
ELEMENTWISE_ISAS: tuple[str, ...]
HEADERS_DIGEST: str

def elementwise_isa(name: str | None = None, /) -> str:
    """Which of ELEMENTWISE_ISAS elementary functions use; a name chooses (tests compare them)."""

def matmul(a: Array, b: Array, out: Array | None = None, /) -> Array:
    """The product over the last two dimensions, the others broadcast (both have at least two).

    float32 and float64 go to NumPy's own OpenBLAS on our threads, with any strides; the bits depend
    on sizes, layout and number of threads only. `out` may be strided and may overlap a or b. Other
    dtypes go to np.matmul. ValueError when shapes do not fit.
    """

def merge(
    name: Literal["copy", "add", "maximum"], source: Array, out: Array, independent: int, /
) -> Array:
    """`out[i] = out[i] op source[i]` for every index in row-major order, on our threads; returns `out`.

    One shape, one dtype, any strides: `out` may lie on itself (strides of 0, overlapping windows)
    except along its first `independent` dimensions, which are divided among threads. `maximum` lets
    NaN win. "copy" takes every dtype, the others real ones of NumPy. TypeError, ValueError otherwise.
    """

def merge_numbers(
    source: Array, numbers: Array, out: Array, out_numbers: Array, independent: int, /
) -> Array:
    """`maximum`, and where a strictly greater value (or the first NaN) replaces one, its number does too (int32)."""

def merge_at(source: Array, places: Array, out: Array, limit: int, independent: int, /) -> Array:
    """Add each value at its place (int64, contiguous) in an image of `limit` elements.

    `out` has the shape of `source`; each of its elements is the first one of the image meant. IndexError for
    places that are outside.
    """

class Kernel:
    """A function of a shared library with the kernel ABI, found by dlopen.

    `extern "C" int64_t name(void* const* buffers, int64_t begin, int64_t end)`. OSError when the
    library cannot be loaded, LookupError when it has no such symbol.
    """

    def __init__(self, path: str, symbol: str) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    def __call__(self, arrays: Sequence[Array], begin: int, end: int, /) -> int:
        """One serial run on the arrays' addresses, unchecked: for tests and tuning."""

_Sizes: TypeAlias = tuple[int, ...]
_Code: TypeAlias = DType | int
InputSpec: TypeAlias = tuple[_Code, _Sizes | None, _Sizes | None]
OutputSpec: TypeAlias = tuple[Literal["output"], _Code, _Sizes, _Sizes]
SlotSpec: TypeAlias = tuple[Literal["slot"], int, _Code, _Sizes, _Sizes]
ViewSpec: TypeAlias = tuple[Literal["view"], int, int, _Code, _Sizes, _Sizes]
ResultSpec: TypeAlias = tuple[Literal["result"], _Code, _Sizes, _Sizes]
ConstantSpec: TypeAlias = tuple[Literal["constant"], Array | TensorBase]
BufferSpec: TypeAlias = OutputSpec | SlotSpec | ViewSpec | ResultSpec | ConstantSpec
LaunchStep: TypeAlias = tuple[Literal["launch"], Kernel, tuple[int, ...], int, int, tuple[str, ...]]
ExternStep: TypeAlias = tuple[
    Literal["extern"], Callable[..., object], tuple[int, ...], tuple[int, ...]
]

class Program:
    """A compiled graph: checks its inputs, allocates, launches, and wraps the outputs, in one call.

    All strides and view offsets are in elements, slot offsets and `workspace` in bytes. Buffers are
    numbered: the inputs first, then `buffers` in order.

    - inputs: `(code, shape, strides)`; strides None: any, shape None: any. Strides of dimensions of
      size 1 and of empty tensors are not compared.
    - buffers: `("output", code, shape, strides)`: fresh memory each call;
      `("slot", byte_offset, code, shape, strides)`: in the workspace (64-byte aligned; the offset is
      that of the first element); `("view", source, element_offset, code, shape, strides)`: another
      shape of an earlier buffer's memory, the offset counted from the source's first element in
      elements of the view's dtype; `("result", code, shape, strides)`: filled by an extern's return
      value; `("constant", array)`.
    - steps: `("launch", kernel, buffers, trip, grain, messages)`: iterations [0, trip) over the
      threads in multiples of grain; serial when trip <= grain. A kernel that returns k > 0 raises
      IndexError(messages[k - 1]). `("extern", callable, arguments, results)`: the callable gets the
      arguments' ndarrays (views of slots and outputs may be written in place); with results it
      returns one array, or a tuple of them, of the declared shapes and dtypes (other strides, or
      memory shared with an argument, are copied). It must not keep arrays that it was given.
    - outputs: buffer numbers. An input gives the same tensor back; a view of an output or an input
      shares its Storage; a constant is copied; a slot is refused.
    """

    def __init__(
        self,
        inputs: tuple[InputSpec, ...],
        buffers: tuple[BufferSpec, ...],
        steps: tuple[LaunchStep | ExternStep, ...],
        outputs: tuple[int, ...],
        workspace: int = 0,
        name: str = "program",
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def workspace(self) -> int: ...
    @overload
    def __call__(self, tensors: Sequence[TensorBase], /) -> tuple[Any, ...]: ...
    @overload
    def __call__(self, /, *tensors: TensorBase) -> tuple[Any, ...]: ...

PlaceSpec: TypeAlias = tuple[
    Literal["dict", "sequence", "cell", "attribute", "itself"], object, object
]
GuardSpec: TypeAlias = (
    tuple[Literal["is", "equals", "items"], str, object, object, object]
    | tuple[Literal["call"], Callable[[], object]]
)

class Entry:
    """One specialization of a compiled function.

    - run: a Program or another callable; gets the leaves numbered by `arguments`, then the lifted
      tensors, by position.
    - signature: `dispatcher.signature(structure, leaves + lifted tensors)` at the time of capture;
      compared when there are lifted tensors.
    - lifted: places `(kind, container, key)` of free tensors, read at each call.
    - guards: `(fact, place kind, container, key, expected)` with the meanings of
      `capture.places.Fact`, or `("call", callable)`, which must return true.
    - select: the item of run's tuple that is the result; None: what run returns.
    - check: data gates: called with the leaves, must return true; skipped at level 1 when no storage
      version changed and nothing is lifted.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        arguments: tuple[int, ...],
        signature: bytes,
        lifted: tuple[PlaceSpec, ...],
        guards: tuple[GuardSpec, ...],
        select: int | None = None,
        check: Callable[..., object] | None = None,
    ) -> None: ...
    @property
    def run(self) -> Callable[..., Any]: ...
    @property
    def check(self) -> Callable[..., object] | None: ...
    @property
    def signature(self) -> bytes: ...

class Dispatcher:
    """Base class of compiled functions: calls find their Entry without running Python.

    A call by position with leaves only (tensors with data, int, float, complex, bool, str, None,
    ...) is looked up at level 1 (same leaves as the last call, by identity and stamp: every change
    of array, dtype, requires_grad or grad_fn gives a tensor a new stamp), then at level 2 (packed
    signature: of a tensor its class, dtype, shape, strides, requires_grad, whether it is a leaf and
    writable, and which earlier leaf is the same object or shares its storage, at which distance; of
    a scalar its type and value; grad mode; the structure). No entry: `call_miss(None, leaves)`.
    Everything else goes to `call_slow(args, kwargs)`: keywords, other arguments, tensors without
    data, an active dispatch mode. It may flatten and come back by `dispatch(structure, leaves)`,
    where structure is any hashable object (same identity for level 1, equality for level 2).

    A subclass must not define `__call__`.
    """

    def __init__(self) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def call_miss(self, structure: Any, leaves: tuple[Any, ...], /) -> Any:
        """Defined by the subclass: capture, `add`, and run."""
    def call_slow(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
        """Defined by the subclass."""
    def dispatch(self, structure: object, leaves: tuple[object, ...], /) -> Any:
        """A call with flattened arguments; TypeError when a leaf cannot be in a signature."""
    def signature(self, structure: object, leaves: tuple[object, ...], /) -> bytes:
        """The key of such a call now. The key of the first leaves is a prefix of the key of all."""
    def add(self, signature: bytes, entry: Entry, /) -> None:
        """Register an entry under a key; the newest of a key is tried first."""
    def clear(self) -> None:
        """Forget every entry."""
    def entries(self) -> list[tuple[bytes, tuple[Entry, ...]]]:
        """Keys and their entries."""
    @property
    def identity_hits(self) -> int: ...
    @property
    def signature_hits(self) -> int: ...
    @property
    def misses(self) -> int: ...

def register_context(
    grad_mode: ContextVar[bool], modes: ContextVar[Any], no_modes: object, /
) -> None:
    """Tell dispatch its context variables.

    Grad mode is in every signature; calls go to `call_slow` while the value of `modes` is not the
    object `no_modes` (a missing value counts as none active).
    """

def register_same_value(function: Callable[[Any, Any], bool], any_tensor: object, /) -> None:
    """How guards compare values of uncommon types, and the item that stands for any tensor."""
