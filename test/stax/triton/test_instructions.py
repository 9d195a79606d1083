"""Every scalar instruction printed as Triton, against its array function, at special values of every dtype."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from stax.triton.programs import execute

from tensorplay.compiler.backends.stax.codegen.triton import print_triton
from tensorplay.compiler.backends.stax.index import Symbol, from_symbol
from tensorplay.compiler.backends.stax.loop_body import Compute, Load, Store
from tensorplay.compiler.backends.stax.schedule import (
    BufferInfo,
    Group,
    Outer,
    Schedule,
    Segment,
)
from tensorplay.compiler.target import H100
from tensorplay.core import dtypes
from tensorplay.core.errors import DTypeError
from tensorplay.ops.values import TABLE

FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -3.5,
    7.0,
    np.pi,
    1e-3,
    100.0,
    -80.0,
    1e30,
    np.inf,
    -np.inf,
    np.nan,
]
ELEMENTARY_ULPS = 4
APPROXIMATE = frozenset(
    {
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
    }
    | {
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "erfinv",
        "sigmoid",
        "pow",
        "atan2",
        "hypot",
    }
)
DTYPES = [
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
    dtypes.int8,
    dtypes.uint8,
    dtypes.bool_,
]


def special(dtype):
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(FLOATS).astype(dtype.numpy)
    if dtype.kind == "b":
        return np.array([False, True])
    limits = np.iinfo(dtype.numpy)
    values = {0, 1, 2, 3, 5, 7, 31, 33, limits.max, limits.max - 1, limits.min, limits.min + 1}
    return np.array(sorted(values | ({-1, -2, -7} if limits.min else set())), dtype.numpy)


def operands(dtype, arity):
    """Every combination of special values."""
    columns = zip(*itertools.product(special(dtype), repeat=arity), strict=True)
    return [np.array(column, dtype.numpy) for column in columns]


def info(name, dtype, size):
    return BufferInfo(name, dtype, (size,), (1,), "cuda", size)


def one_instruction(ops, count, size, dtype):
    """A kernel that applies instructions, given as (name, result, attrs), to `count` inputs of one dtype."""
    x = Symbol("x0", 0, size - 1)
    body = [Load(f"in{k}", from_symbol(x), dtype) for k in range(count)]
    buffers = {f"in{k}": info(f"in{k}", dtype, size) for k in range(count)}
    stores = []
    for number, (name, result, attrs) in enumerate(ops):
        body.append(Compute(name, tuple(range(TABLE[name].arity)), result, tuple(attrs.items())))
        stores.append((f"out{number}", len(body) - 1))
        buffers[f"out{number}"] = info(f"out{number}", result, size)
    body += [Store(buffer, from_symbol(x), value) for buffer, value in stores]
    inputs, outputs = tuple(f"in{k}" for k in range(count)), tuple(buffer for buffer, _ in stores)
    group = Group(
        "all",
        "cuda",
        (Outer(x, size),),
        (),
        (Segment((), tuple(body)),),
        inputs,
        outputs,
        index_bits=32,
    )
    return Schedule((group,), buffers, inputs, outputs)


def applicable(dtype, arity):
    found = []
    for name, instruction in TABLE.items():
        if (
            instruction.arity == arity
            and name not in {"to_dtype", "philox", "where"}
            and instruction.triton is not None
        ):
            try:
                result = instruction.result(name, [dtype] * arity, {})
            except DTypeError:
                continue
            if result.kind != "c":  # no kernel has complex numbers
                found.append((name, result, {}))
    return found


def compare(name, found, right, dtype):
    if (name in APPROXIMATE or TABLE[name].header == "tp_special.h") and dtype.kind == "f":
        scale = np.spacing(np.abs(np.where(np.isfinite(right), right, 1)).astype(right.dtype))
        error = np.where(
            found == right, 0, np.abs(found.astype(np.float64) - right.astype(np.float64)) / scale
        )
        assert np.array_equal(np.isnan(found), np.isnan(right)), name
        assert np.nanmax(error) <= ELEMENTARY_ULPS, (
            name,
            found[np.nanargmax(error)],
            right[np.nanargmax(error)],
        )
        return
    np.testing.assert_array_equal(found, right, err_msg=name)
    if right.dtype.kind == "f":
        held = ~np.isnan(right)
        np.testing.assert_array_equal(
            np.signbit(found[held]), np.signbit(right[held]), err_msg=name
        )


@pytest.mark.parametrize("arity", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_instructions_agree_with_their_array_functions(interpreter, dtype, arity):
    ops = applicable(dtype, arity)
    if not ops:
        pytest.skip("no instruction takes these operands")
    arrays = operands(dtype, arity)
    schedule = one_instruction(ops, arity, arrays[0].size, dtype)
    kernel = print_triton(schedule.groups[0], schedule.buffers, H100)
    found = execute(interpreter, schedule, [kernel], arrays)
    with np.errstate(all="ignore"):
        for (name, _, _), result in zip(ops, found, strict=True):
            compare(name, result, np.asarray(TABLE[name].array(*arrays)), dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, dtypes.float16, dtypes.bfloat16], ids=lambda d: d.name)
def test_conversions(interpreter, dtype):
    targets = [
        *DTYPES,
        dtypes.uint16,
        dtypes.uint32,
        dtypes.uint64,
        dtypes.float16,
        dtypes.bfloat16,
    ]
    x = special(dtype)
    if dtype.kind == "f":
        more = np.array([*FLOATS, 3e9, -3e9, 1e19, 255.7, -1.9, 65504, 70000])
        with np.errstate(all="ignore"):
            x = more.astype(dtype.numpy)
    ops = [("to_dtype", target, {"dtype": target}) for target in targets if target is not dtype]
    schedule = one_instruction(ops, 1, x.size, dtype)
    kernel = print_triton(schedule.groups[0], schedule.buffers, H100)
    found = execute(interpreter, schedule, [kernel], [x])
    with np.errstate(all="ignore"):
        for (_, target, _), result in zip(ops, found, strict=True):
            assert result.dtype == target.numpy
            right = np.asarray(TABLE["to_dtype"].array(x, dtype=target))
            if target in {dtypes.float16, dtypes.bfloat16} or x.dtype == ml_dtypes.bfloat16:
                right = right.astype(np.float64)
            np.testing.assert_array_equal(
                result.astype(right.dtype), right, err_msg=f"{dtype.name} to {target.name}"
            )


def test_philox_gives_the_bits_of_eager(interpreter):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-(2**63), 2**63 - 1, 100, np.int64) for _ in range(3)]
    schedule = one_instruction([("philox", dtypes.uint64, {})], 3, 100, dtypes.int64)
    kernel = print_triton(schedule.groups[0], schedule.buffers, H100)
    (found,) = execute(interpreter, schedule, [kernel], arrays)
    philox = TABLE["philox"].array
    right = [
        philox(seed, offset, index[None])[0] for seed, offset, index in zip(*arrays, strict=True)
    ]
    np.testing.assert_array_equal(found, right)
