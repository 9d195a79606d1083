"""Element types: promotion as PyTorch documents it, weak numbers, limits, identity."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
# Row by row: the promoted type of NAMES[i] and NAMES[j]; b1 bool, u1 uint8, i1 … i8, f2 float16, g2 bfloat16, f4, f8, c8, c16.
PROMOTED = """
b1 u1 i1 i2 i4 i8 f2 g2 f4 f8 c8 c16
u1 u1 i2 i2 i4 i8 f2 g2 f4 f8 c8 c16
i1 i2 i1 i2 i4 i8 f2 g2 f4 f8 c8 c16
i2 i2 i2 i2 i4 i8 f2 g2 f4 f8 c8 c16
i4 i4 i4 i4 i4 i8 f2 g2 f4 f8 c8 c16
i8 i8 i8 i8 i8 i8 f2 g2 f4 f8 c8 c16
f2 f2 f2 f2 f2 f2 f2 f4 f4 f8 c8 c16
g2 g2 g2 g2 g2 g2 f4 g2 f4 f8 c8 c16
f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 c8 c16
f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 c16 c16
c8 c8 c8 c8 c8 c8 c8 c8 c8 c16 c8 c16
c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""
CODES = dict(
    zip(
        ["b1", "u1", "i1", "i2", "i4", "i8", "f2", "g2", "f4", "f8", "c8", "c16"],
        NAMES,
        strict=True,
    )
)


def test_promotion_table():
    rows = [row.split() for row in PROMOTED.strip().splitlines()]
    for (i, a), (j, b) in itertools.product(enumerate(NAMES), enumerate(NAMES)):
        wanted = dtypes.dtype_named(CODES[rows[i][j]])
        assert tp.promote_types(dtypes.dtype_named(a), dtypes.dtype_named(b)) is wanted


def test_unsigned_types_beyond_pytorchs():
    assert tp.promote_types(tp.uint16, tp.int16) is tp.int32
    assert tp.promote_types(tp.uint32, tp.uint8) is tp.uint32
    assert tp.promote_types(tp.uint32, tp.int64) is tp.int64
    with pytest.raises(DTypeError, match=r"convert one with \.to\(\)"):
        tp.promote_types(tp.uint64, tp.int8)


@pytest.mark.parametrize(
    "dimensioned, zero_dim, numbers, wanted",
    [
        ("float32", "float64", None, "float32"),
        ("int32", "float64", None, "float64"),
        ("int32", "int64", None, "int32"),
        ("bfloat16", None, 1.5, "bfloat16"),
        ("int8", None, 1000, "int8"),
        ("int8", None, 1.5, "float32"),
        ("bool", None, 2, "int64"),
        ("bool", "uint8", 2, "uint8"),
        ("float16", "complex128", None, "complex64"),
        ("float64", None, 1j, "complex128"),
        (None, "int32", 2, "int32"),
        (None, None, True, "bool"),
    ],
)
def test_lower_priorities_only_raise_the_category(dimensioned, zero_dim, numbers, wanted):
    def types(name):
        return [] if name is None else [dtypes.dtype_named(name)]

    found = dtypes.result_type(
        types(dimensioned),
        types(zero_dim),
        [] if numbers is None else [dtypes.dtype_of_number(numbers)],
    )
    assert found is dtypes.dtype_named(wanted)


def test_the_default_dtype_is_that_of_python_floats():
    tp.set_default_dtype(tp.float64)
    assert tp.tensor(1.5).dtype is tp.float64
    assert (tp.tensor([1]) / 2).dtype is tp.float64
    assert tp.tensor(1j).dtype is tp.complex128
    with pytest.raises(DTypeError, match="floating-point"):
        tp.set_default_dtype(tp.int32)


@pytest.mark.parametrize("dtype", dtypes.ALL_DTYPES, ids=lambda each: each.name)
def test_a_dtype_is_one_object(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is dtype  # noqa: S301  # our own bytes
    assert copy.deepcopy(dtype) is dtype
    assert dtypes.as_dtype(dtype.numpy) is dtype
    assert repr(dtype) == f"tensorplay.{dtype.name}"
    assert tp.tensor([0], dtype=dtype).dtype is dtype
    assert len({each.code for each in dtypes.ALL_DTYPES}) == len(dtypes.ALL_DTYPES)


def test_limits():
    assert tp.finfo(tp.bfloat16).eps == 2.0**-7
    assert tp.finfo(tp.float16).max == 65504.0
    assert tp.finfo(tp.complex64).eps == np.finfo(np.float32).eps
    assert (tp.iinfo(tp.int8).min, tp.iinfo(tp.uint64).max) == (-128, 2**64 - 1)
    with pytest.raises(DTypeError, match="iinfo"):
        tp.finfo(tp.int32)


def test_unknown_dtypes_are_refused():
    with pytest.raises(DTypeError, match="the dtypes are"):
        dtypes.dtype_named("float8")
    with pytest.raises(DTypeError, match="no TensorPlay dtype"):
        tp.from_numpy(np.array(["a"]))
    with pytest.raises(DTypeError, match="expected a dtype"):
        dtypes.as_dtype("quaternion")
