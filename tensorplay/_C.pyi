"""The native module: what crosses into C++ (sources in csrc/)."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensorplay.core.dtypes import DType

Array = NDArray[Any]

class Storage:
    """The identity and the version of a block of memory; weakly referable, compared by identity."""

    version: int
    def __init__(self) -> None: ...
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

def empty(shape: Sequence[int], dtype: DType | int | np.dtype[Any], /) -> Array:
    """An uninitialized C-contiguous array; from 4 KiB on 64-byte aligned and from the pool."""

def empty_strided(
    shape: Sequence[int], strides: Sequence[int], dtype: DType | int | np.dtype[Any], /
) -> Array:
    """An uninitialized array with these strides (in elements; zero and negative ones are allowed)."""

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
