"""Creation functions of the array API standard.

>>> from tensorplay import array_api as xp
>>> xp.asarray([[1, 2], [3, 4]]).dtype, xp.linspace(0, 1, 4, endpoint=False)
(tensorplay.int64, tensor([0.0000, 0.2500, 0.5000, 0.7500]))
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np

from tensorplay import functions
from tensorplay.array_api.array import Array, Scalar, as_array, convert
from tensorplay.core import dtypes
from tensorplay.core.device import Device, as_device, check_available
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentValueError
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor, from_numpy, tensor_from_data

Shape: TypeAlias = int | tuple[int, ...]
DeviceLike: TypeAlias = Device | str | None


def _shape(shape: Any) -> tuple[int, ...]:  # noqa: ANN401  # an integer or several
    return (shape,) if hasattr(shape, "__index__") else tuple(shape)


def available_device(device: DeviceLike) -> Device | None:
    """The device that was asked for; refused where this machine lacks it."""
    if device is None:
        return None
    found = as_device(device)
    check_available(found)
    return found


def _dtype_of_fill(value: Scalar, dtype: DType | None) -> DType:
    return dtypes.dtype_of_number(value) if dtype is None else dtype


def asarray(
    obj: Any,  # noqa: ANN401  # arrays, numbers, nested sequences, buffers
    /,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    copy: bool | None = None,
) -> Array:
    """An array from an array, a number, nested sequences of both, or an object with a buffer.

    Python floats have the default dtype. `copy=None` shares memory where it can; `copy=False`
    raises `ValueError` where it can't.
    """
    place = available_device(device)
    if isinstance(obj, Tensor):
        source = obj
    elif isinstance(obj, (np.ndarray, memoryview, bytearray)) and np.asarray(obj).dtype.isnative:
        source = from_numpy(np.asarray(obj))
    elif copy is False:
        msg = f"asarray: a {type(obj).__name__} has no memory to share; use copy=None or copy=True"
        raise ArgumentValueError(msg)
    else:
        return as_array(tensor_from_data(obj, dtype=dtype, device=place))
    found = source if dtype is None else convert(source, dtype)
    found = found if place is None else found.to(place)
    if copy is False and found is not source:
        msg = f"asarray: copy=False, but converting {source.dtype} to {dtype} needs a copy; use copy=None"
        raise ArgumentValueError(msg)
    return as_array(functions.clone(found) if copy and found is source else found, obj)


def from_dlpack(
    x: Any,  # noqa: ANN401  # any object with the protocol
    /,
    *,
    device: DeviceLike = None,
    copy: bool | None = None,
) -> Array:
    """An array from an object that speaks DLPack, over its memory unless `copy` is true."""
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    available_device(device)
    options: Any = {} if copy is None else {"copy": copy}
    array = (x.copy() if copy else x) if isinstance(x, np.ndarray) else np.from_dlpack(x, **options)
    return as_array(from_numpy(array))


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
) -> Array:
    """`start`, `start + step`, … up to `stop`, which is left out; empty where `step` leads away from it."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        msg = "arange: step must not be 0"
        raise ArgumentValueError(msg)
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        size, inferred = len(range(start, stop, step)), dtypes.int64
    else:
        size, inferred = max(0, math.ceil((stop - start) / step)), dtypes.get_default_dtype()
    dtype = dtype or inferred
    return as_array(tp.iota(size, start, step, dtype, available_device(device)))


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Array:
    """`num` evenly spaced numbers from `start` to `stop`, which is left out if `endpoint` is false."""
    place = available_device(device)
    if isinstance(start, complex) or isinstance(stop, complex):
        target = dtype or dtypes.dtype_of_number(1j)
        return _complex_line(complex(start), complex(stop), num, target, endpoint=endpoint)
    target = dtype or dtypes.get_default_dtype()
    if endpoint or num <= 0:
        return as_array(functions.linspace(start, stop, num, dtype=target, device=place))
    line = functions.linspace(start, stop, num + 1, dtype=target, device=place)
    return as_array(line[:num].clone())


def _complex_line(
    start: complex, stop: complex, num: int, dtype: DType, *, endpoint: bool
) -> Array:
    real = dtypes.to_real(dtype)
    parts = [
        linspace(first, last, num, dtype=real, endpoint=endpoint)
        for first, last in ((start.real, stop.real), (start.imag, stop.imag))
    ]
    return as_array(functions.complex(*parts))


def empty(shape: Shape, *, dtype: DType | None = None, device: DeviceLike = None) -> Array:
    """An array whose elements are not set."""
    return as_array(functions.empty(_shape(shape), dtype=dtype, device=available_device(device)))


def zeros(shape: Shape, *, dtype: DType | None = None, device: DeviceLike = None) -> Array:
    """Zeros."""
    return as_array(functions.zeros(_shape(shape), dtype=dtype, device=available_device(device)))


def ones(shape: Shape, *, dtype: DType | None = None, device: DeviceLike = None) -> Array:
    """Ones."""
    return as_array(functions.ones(_shape(shape), dtype=dtype, device=available_device(device)))


def full(
    shape: Shape, fill_value: Scalar, *, dtype: DType | None = None, device: DeviceLike = None
) -> Array:
    """An array of one number; its dtype follows from the number's type unless given."""
    target = _dtype_of_fill(fill_value, dtype)
    made = functions.full(_shape(shape), fill_value, dtype=target, device=available_device(device))
    return as_array(made)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Array:
    """An array of the shape of `x` whose elements are not set."""
    return empty(tuple(x.shape), dtype=dtype or x.dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Array:
    """Zeros in the shape of `x`."""
    return zeros(tuple(x.shape), dtype=dtype or x.dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: DeviceLike = None) -> Array:
    """Ones in the shape of `x`."""
    return ones(tuple(x.shape), dtype=dtype or x.dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: Scalar, *, dtype: DType | None = None, device: DeviceLike = None
) -> Array:
    """One number in the shape of `x`."""
    return full(tuple(x.shape), fill_value, dtype=dtype or x.dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: DeviceLike = None,
) -> Array:
    """Ones on diagonal `k` (above the main one if positive) of a matrix of zeros."""
    columns = n_rows if n_cols is None else n_cols
    place = available_device(device)
    rows = tp.iota(n_rows, k, 1, dtypes.int64, place).unsqueeze(1)
    is_one = rows == tp.iota(columns, 0, 1, dtypes.int64, place)
    return as_array(is_one.to(dtype or dtypes.get_default_dtype()), is_one)


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Array]:
    """Coordinate arrays: each 1-d array repeated along the dimensions of the others."""
    found = functions.meshgrid(arrays, indexing=indexing) if arrays else ()
    return [as_array(each, *arrays) for each in found]


def tril(x: Tensor, /, *, k: int = 0) -> Array:
    """The part on and below diagonal `k`, zeros above it."""
    return as_array(functions.tril(x, k), x)


def triu(x: Tensor, /, *, k: int = 0) -> Array:
    """The part on and above diagonal `k`, zeros below it."""
    return as_array(functions.triu(x, k), x)


__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip
