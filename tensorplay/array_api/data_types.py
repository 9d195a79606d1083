"""Data types of the array API standard, and the functions about them.

>>> from tensorplay import array_api as xp
>>> xp.isdtype(xp.int8, ("real floating", "signed integer")), xp.result_type(xp.int8, xp.uint8)
(True, tensorplay.int16)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorplay.array_api.array import NUMBERS, Array, Scalar, as_array
from tensorplay.array_api.creation import DeviceLike, available_device
from tensorplay.core import dtypes
from tensorplay.core.dtypes import (
    DType,
    FloatInfo,
    IntInfo,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DTypeError
from tensorplay.tensor import Tensor

_SIGNED = (int8, int16, int32, int64)
_UNSIGNED = (uint8, uint16, uint32, uint64)
_REAL = (float32, float64)
_COMPLEX = (complex64, complex128)
KINDS: Mapping[str, tuple[DType, ...]] = {
    "bool": (bool_,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": (*_SIGNED, *_UNSIGNED),
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": (*_SIGNED, *_UNSIGNED, *_REAL, *_COMPLEX),
}
"""The standard's dtypes by kind. The half types are no part of it, but `isdtype` knows them."""
_LETTERS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is of a kind, equal to a dtype, or one of several of either."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in _LETTERS:
        msg = f"isdtype: expected a dtype or one of {', '.join(_LETTERS)}, found {kind!r}"
        raise ArgumentValueError(msg)
    return dtype.kind in _LETTERS[kind]


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: DeviceLike = None) -> Array:
    """`x` in another dtype; new memory unless `copy` is false and nothing changes.

    A complex array has no real form (`DTypeError`): take `real(x)` or `abs(x)`.
    """
    if x.dtype.is_complex and not dtype.is_complex:
        msg = (
            f"astype: a {x.dtype} array does not convert to {dtype}; use real(x), imag(x) or abs(x)"
        )
        raise DTypeError(msg)
    place = available_device(device)
    found = x.to(dtype=dtype, device=place, copy=copy)
    return as_array(found, x)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether promotion converts `from_` to `to`."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return dtypes.promote_types(source, to) is to
    except DTypeError:  # uint64 with a signed type
        return False


def result_type(*arrays_and_dtypes: Tensor | DType | Scalar) -> DType:
    """The dtype that arrays, dtypes and Python numbers have in common."""
    found: DType | None = None
    numbers: list[DType] = []
    for each in arrays_and_dtypes:
        if isinstance(each, NUMBERS):
            numbers.append(dtypes.dtype_of_number(each))
            continue
        dtype = each.dtype if isinstance(each, Tensor) else each
        found = dtype if found is None else dtypes.promote_types(found, dtype)
    if found is None:
        msg = "result_type: expected an array or a dtype among the arguments"
        raise ArgumentError(msg)
    return dtypes.result_type([found], (), numbers)


def finfo(type: DType | Tensor, /) -> FloatInfo:
    """The limits of a floating-point dtype; of a complex one those of its parts."""
    return dtypes.finfo(dtypes.to_real(_dtype_of(type)))


def iinfo(type: DType | Tensor, /) -> IntInfo:
    """The limits of an integer dtype."""
    return dtypes.iinfo(_dtype_of(type))


def _dtype_of(type: Any) -> DType:  # noqa: ANN401  # a dtype or a tensor
    return type.dtype if isinstance(type, Tensor) else dtypes.as_dtype(type)


__all__ = [
    "astype", "can_cast", "complex64", "complex128", "finfo", "float32", "float64", "iinfo", "int8", "int16",
    "int32", "int64", "isdtype", "result_type", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
