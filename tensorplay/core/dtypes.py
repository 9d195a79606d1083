"""Element types and the rules that combine them.

A `DType` is a singleton: compare with `is`, use as a dictionary key. Half types are *storage*
types: their `compute` type is float32, in which every operator works before it rounds once.

>>> float32, bfloat16.compute
(tensorplay.float32, tensorplay.float32)
>>> promote_types(int32, float16)
tensorplay.float16
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import ml_dtypes
import numpy as np

from tensorplay.core.errors import DTypeError, NumberRangeError

Kind = Literal["b", "i", "u", "f", "c"]
Number = bool | int | float | complex


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DType:
    """An element type. `code` is the small number that `tensorplay._C` uses."""

    name: str
    kind: Kind
    itemsize: int
    code: int
    numpy: np.dtype[np.generic]
    _compute: DType | None = None

    @property
    def compute(self) -> DType:
        """The type in which operators compute: float32 for the half types, itself otherwise."""
        return self if self._compute is None else self._compute

    @property
    def is_floating_point(self) -> bool:
        """Whether this is a real floating-point type."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex type."""
        return self.kind == "c"

    @property
    def is_integral(self) -> bool:
        """Whether this is a signed or unsigned integer type (bool is not)."""
        return self.kind in "iu"

    @property
    def is_differentiable(self) -> bool:
        """Whether tensors of this type can require a gradient."""
        return self.kind in "fc"

    @property
    def is_signed(self) -> bool:
        """Whether negative values exist."""
        return self.kind in "ifc"

    def __repr__(self) -> str:
        """Text as in `tensorplay.float32`."""
        return f"tensorplay.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Pickle by name, so that a DType stays a singleton."""
        return dtype_named, (self.name,)

    def __copy__(self) -> DType:
        """A singleton copies to itself."""
        return self

    def __deepcopy__(self, memo: object) -> DType:
        """A singleton copies to itself."""
        return self


class Undefined:
    """The type of `undefined`, which stands for an omitted dtype in normalized calls."""

    def __repr__(self) -> str:
        """Text as in Listing 5.1."""
        return "tensorplay.undefined"

    def __reduce__(self) -> str:
        """Pickle by reference."""
        return "undefined"


undefined: Final = Undefined()

bool_: Final = DType("bool", "b", 1, 0, np.dtype(np.bool_))
uint8: Final = DType("uint8", "u", 1, 1, np.dtype(np.uint8))
int8: Final = DType("int8", "i", 1, 2, np.dtype(np.int8))
int16: Final = DType("int16", "i", 2, 3, np.dtype(np.int16))
int32: Final = DType("int32", "i", 4, 4, np.dtype(np.int32))
int64: Final = DType("int64", "i", 8, 5, np.dtype(np.int64))
float32: Final = DType("float32", "f", 4, 7, np.dtype(np.float32))
float64: Final = DType("float64", "f", 8, 8, np.dtype(np.float64))
float16: Final = DType("float16", "f", 2, 6, np.dtype(np.float16), float32)
complex64: Final = DType("complex64", "c", 8, 9, np.dtype(np.complex64))
complex128: Final = DType("complex128", "c", 16, 10, np.dtype(np.complex128))
bfloat16: Final = DType("bfloat16", "f", 2, 11, np.dtype(ml_dtypes.bfloat16), float32)
uint16: Final = DType("uint16", "u", 2, 12, np.dtype(np.uint16))
uint32: Final = DType("uint32", "u", 4, 13, np.dtype(np.uint32))
uint64: Final = DType("uint64", "u", 8, 14, np.dtype(np.uint64))

ALL_DTYPES: Final[tuple[DType, ...]] = (
    bool_, uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128,
    bfloat16, uint16, uint32, uint64,
)  # fmt: skip
_BY_NAME: Final = {dtype.name: dtype for dtype in ALL_DTYPES}
_BY_NUMPY: Final = {dtype.numpy: dtype for dtype in ALL_DTYPES}


def dtype_named(name: str) -> DType:
    """The dtype called `name`, as in `"float32"`."""
    try:
        return _BY_NAME[name]
    except KeyError:
        msg = f"no dtype is named {name!r}; the dtypes are {', '.join(_BY_NAME)}"
        raise DTypeError(msg) from None


def from_numpy_dtype(dtype: np.dtype[np.generic]) -> DType:
    """The dtype whose storage is NumPy's `dtype`, in native byte order."""
    found = _BY_NUMPY.get(dtype)
    if found is None:
        msg = f"NumPy dtype {dtype} has no TensorPlay dtype; convert the array with astype first"
        raise DTypeError(msg)
    return found


def as_dtype(dtype: object) -> DType:
    """Accept a DType, Python's `bool`, `int`, `float`, `complex`, or a NumPy dtype or scalar type."""
    if isinstance(dtype, DType):
        return dtype
    if dtype is bool:
        return bool_
    if dtype is int:
        return int64
    if dtype is float:
        return get_default_dtype()
    if dtype is complex:
        return complex128 if get_default_dtype() is float64 else complex64
    try:
        return from_numpy_dtype(np.dtype(dtype))  # type: ignore[call-overload]  # any object may be asked
    except TypeError:
        msg = f"expected a dtype such as tensorplay.float32, found {dtype!r}"
        raise DTypeError(msg) from None


# ---- promotion --------------------------------------------------------------------------------

_CATEGORY: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _promote_integers(a: DType, b: DType) -> DType:
    """Same signedness: the wider; else the smallest signed type that holds both."""
    if a.kind == b.kind:
        return a if a.itemsize >= b.itemsize else b
    unsigned, signed = (a, b) if a.kind == "u" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    wider = {1: int16, 2: int32, 4: int64}.get(unsigned.itemsize)
    if wider is None:
        msg = (
            f"promotion of {a} and {b} has no integer type that holds both; convert one with .to()"
        )
        raise DTypeError(msg)
    return wider


def _promote(a: DType, b: DType) -> DType:
    if a is b:
        return a
    rank_a, rank_b = _CATEGORY[a.kind], _CATEGORY[b.kind]
    if rank_a < rank_b:
        a, b, rank_a, rank_b = b, a, rank_b, rank_a
    if rank_a == 1:
        return a if rank_b == 0 else _promote_integers(a, b)
    if rank_a == 3 and rank_b >= 2:  # categories above
        return complex128 if float64 in (a, b) or complex128 in (a, b) else complex64
    if rank_a == 2 and rank_b == 2:
        if a.itemsize == b.itemsize:  # float16 with bfloat16
            return float32
        return a if a.itemsize > b.itemsize else b
    return a


_PROMOTED: Final[dict[tuple[DType, DType], DType | None]] = {}


def promote_types(a: DType, b: DType) -> DType:
    """The smallest type to which both can be converted, as PyTorch documents it."""
    found = _PROMOTED.get((a, b))
    if found is None:
        found = _PROMOTED[a, b] = _promote(a, b)
    return found


def dtype_of_number(number: Number) -> DType:
    """The dtype of a Python number that stands alone: bool, int64, the default float or complex."""
    if isinstance(number, (bool, np.bool_)):
        return bool_
    if isinstance(number, (int, np.integer)):
        return int64
    if isinstance(number, (float, np.floating)):
        return get_default_dtype()
    if isinstance(number, (complex, np.complexfloating)):
        return complex128 if get_default_dtype() is float64 else complex64
    msg = f"expected a Python number, found {type(number).__name__}"
    raise DTypeError(msg)


def result_type(
    dimensioned: Iterable[DType] = (),
    zero_dim: Iterable[DType] = (),
    numbers: Iterable[DType] = (),
) -> DType:
    """Promote the dtypes of the operands of one call.

    Operands have three priorities: tensors with dimensions, then 0-d tensors, then Python numbers.
    A lower one changes the result only when its category (bool, integer, float, complex) is higher.
    """
    best: DType | None = None
    for dtypes in (dimensioned, zero_dim, numbers):
        here: DType | None = None
        for dtype in dtypes:
            here = dtype if here is None else promote_types(here, dtype)
        if here is None:
            continue
        if best is None:
            best = here
        elif _CATEGORY[here.kind] > _CATEGORY[best.kind]:
            best = _raise_category(best, here)
    if best is None:
        msg = "result_type needs at least one operand"
        raise DTypeError(msg)
    return best


def _raise_category(best: DType, weaker: DType) -> DType:
    """A weaker operand of a higher category: its category, in a width that `best` asks for."""
    if weaker.kind == "c" and best.kind == "f":
        return complex128 if best is float64 else complex64
    return weaker


# ---- default dtype and limits -----------------------------------------------------------------

_default: list[DType] = [float32]


def get_default_dtype() -> DType:
    """The floating-point type of new tensors made from Python numbers."""
    return _default[0]


def set_default_dtype(dtype: DType) -> None:
    """Set the floating-point type of new tensors made from Python numbers."""
    if dtype.kind != "f":
        msg = f"set_default_dtype: expected a floating-point dtype, found {dtype}"
        raise DTypeError(msg)
    _default[0] = dtype


def to_real(dtype: DType) -> DType:
    """complex64 → float32, complex128 → float64, others unchanged."""
    return {"complex64": float32, "complex128": float64}.get(dtype.name, dtype)


def to_complex(dtype: DType) -> DType:
    """float64 → complex128, other floats → complex64, complex dtypes unchanged."""
    if dtype.kind == "c":
        return dtype
    return complex128 if dtype is float64 else complex64


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a floating-point type, named as NumPy names them."""

    dtype: DType
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float


@dataclass(frozen=True, slots=True)
class IntInfo:
    """Limits of an integer type."""

    dtype: DType
    bits: int
    max: int
    min: int


def finfo(dtype: DType) -> FloatInfo:
    """Limits of a floating-point (or the real part of a complex) type."""
    real = to_real(dtype)
    if real.kind != "f":
        msg = f"finfo: expected a floating-point dtype, found {dtype}; use iinfo for integers"
        raise DTypeError(msg)
    info: Any = ml_dtypes.finfo(real.numpy)  # type: ignore[no-untyped-call]  # ml_dtypes leaves it out
    tiny = float(info.tiny)
    return FloatInfo(dtype, 8 * real.itemsize, float(info.eps), float(info.max), float(info.min),
                     tiny, tiny)  # fmt: skip


def iinfo(dtype: DType) -> IntInfo:
    """Limits of an integer type."""
    if not dtype.is_integral:
        msg = f"iinfo: expected an integer dtype, found {dtype}; use finfo for floats"
        raise DTypeError(msg)
    info: Any = np.iinfo(dtype.numpy)
    return IntInfo(dtype, 8 * dtype.itemsize, int(info.max), int(info.min))


def check_range(name: str, number: Number, dtype: DType) -> None:
    """Refuse a number to write that an integer dtype can't hold; negative ones wrap in unsigned dtypes."""
    if dtype.kind not in "iu" or isinstance(number, complex):
        return
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    largest = (1 << bits) - 1
    smallest = -largest if dtype.kind == "u" else -largest - 1
    if not smallest <= number <= largest:  # NaN, too
        msg = f"{name}: {number} lies outside the range of {dtype}; use a wider dtype, or wrap the number"
        raise NumberRangeError(msg)


if sys.byteorder != "little":  # pragma: no cover
    msg = (
        "TensorPlay needs a little-endian machine: storage is shared with NumPy and generated code"
    )
    raise ImportError(msg)
