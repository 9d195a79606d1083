"""Every scalar instruction, in vectors and in what is left over, gives the bits of its array function."""

import itertools

import numpy as np
import pytest
from stax.codegen.kernels import TARGETS, buffers_of, build, differing, pointwise, run_kernel, var

from tensorplay.compiler.backends.stax.index import to_expr
from tensorplay.compiler.backends.stax.loop_body import Compute, Load, Store
from tensorplay.core import dtypes
from tensorplay.ops import instructions  # fills the table
from tensorplay.ops.values import TABLE

del instructions
FLOATS = [dtypes.float32, dtypes.float64]
# One integer of each width and sign that differs in how it is computed; conversions try them all.
INTEGERS = [dtypes.int8, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint64]
REAL = [*FLOATS, *INTEGERS, dtypes.bool_]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1e-40,
    -1e-40,
    1e30,
    -1e30,
    3.0,
    100.0,
    -7.0,
    2.0,
]


def sample(dtype, count, rng):
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        edges = dtypes.iinfo(dtype)
        corners = [edges.min, edges.max, 0, 1, edges.max - 1, edges.min + 1, 2, 3]
        if dtype.kind == "i":
            corners += [-1, -2, -3, -7]
        wide = rng.integers(edges.min, edges.max, count, dtype=dtype.numpy, endpoint=True)
        small = rng.integers(-9 if dtype.kind == "i" else 0, 9, count).astype(dtype.numpy)
        return np.where(
            rng.random(count) < 0.3,
            wide,
            np.where(
                rng.random(count) < 0.5, small, rng.choice(np.array(corners, dtype.numpy), count)
            ),
        )
    bits = (
        rng.integers(0, 1 << 63, count).view(np.float64)
        if dtype.itemsize == 8
        else rng.integers(0, 1 << 32, count).astype(np.uint32).view(np.float32)
    )
    scaled = (rng.standard_normal(count) * np.exp2(rng.uniform(-10, 8, count))).astype(dtype.numpy)
    with np.errstate(all="ignore"):
        special = rng.choice(SPECIAL, count).astype(dtype.numpy)
    pick = rng.random(count)
    return np.where(
        pick < 0.2, bits.astype(dtype.numpy), np.where(pick < 0.7, scaled, special)
    ).astype(dtype.numpy)


def accepted(instruction):
    """The operand dtypes that an instruction takes, and its result's."""
    for dtype in REAL:
        first = dtypes.bool_ if instruction.name == "where" else dtype
        found = [first, *[dtype] * (instruction.arity - 1)]
        try:
            result = instruction.result(instruction.name, found, {})
        except Exception:  # noqa: BLE001, S112  # the rule refuses: not one of its types
            continue
        if result.kind != "c":  # loops have no complex numbers
            yield found, result


ELSEWHERE = {"float32", "float64", "int32", "uint8"}  # dtypes tried on other machines than this one
PARTS = 12
NAMES = sorted(set(TABLE) - {"to_dtype", "philox", "real", "imag", "conj"})


@pytest.mark.timeout(600)  # some hundred functions through the C++ compiler
@pytest.mark.parametrize("part", range(PARTS))
def test_instructions(part):
    count = 2048 + 13
    rng = np.random.default_rng(part)
    work = []
    for name in NAMES[part::PARTS]:
        instruction = TABLE[name]
        for found, result in accepted(instruction):
            arrays = {f"a{k}": sample(d, count, rng) for k, d in enumerate(found)}
            with np.errstate(all="ignore"):
                want = np.asarray(instruction.array(*arrays.values()))
            assert want.dtype == result.numpy, (name, found)
            arrays["out"] = np.zeros(count, result.numpy)

            def body(x0, found=found, result=result, name=name):
                loads = [Load(f"a{k}", var(x0), d) for k, d in enumerate(found)]
                args = tuple(range(len(found)))
                return [*loads, Compute(name, args, result), Store("out", var(x0), len(found))]

            group = pointwise(
                f"{name}_{found[-1].name}",
                body,
                [f"a{k}" for k in range(len(found))],
                ["out"],
                count,
                1024,
            )
            work.append((group, arrays, want))
    for target in TARGETS:
        if target is not TARGETS[0]:
            work = [w for w in work if w[0].name.rsplit("_", 1)[1] in ELSEWHERE]
        kernels = build(
            [g for g, _, _ in work], {g.name: buffers_of(a) for g, a, _ in work}, target
        )
        for group, arrays, want in work:
            got, status = run_kernel(kernels[group.name], group, arrays)
            assert status == 0
            places = differing(got["out"], want)
            wrong = [(*(arrays[n][i] for n in group.reads), got["out"][i], want[i]) for i in places]
            assert not wrong, (group.name, target.isa, len(wrong), wrong[:5])


HALVES = [dtypes.float16, dtypes.bfloat16]


@pytest.mark.timeout(600)
def test_conversions():
    count = 1000 + 7
    rng = np.random.default_rng(0)
    work = []
    convert = TABLE["to_dtype"].array
    every = [d for d in dtypes.ALL_DTYPES if d.kind in "biuf"]
    for source, target in itertools.product(every, every):
        a = sample(source.compute if source.compute is not source else source, count, rng)
        with np.errstate(all="ignore"):
            a = a.astype(source.numpy)
            # A wide number reaches a half type through float32.
            middle = dtypes.float32 if target in HALVES else target
            want = convert(convert(a, dtype=middle), dtype=target)
        arrays = {"a": a, "out": np.zeros(count, target.numpy)}

        def body(x0, source=source, target=target):
            return [
                Load("a", var(x0), source),
                Compute("to_dtype", (0,), target),
                Store("out", var(x0), 1),
            ]

        work.append(
            (
                pointwise(f"{source.name}_to_{target.name}", body, ["a"], ["out"], count, 512),
                arrays,
                want,
            )
        )
    for machine in TARGETS:
        if machine is not TARGETS[0]:
            work = [w for w in work if w[0].name.startswith("float")]
        kernels = build(
            [g for g, _, _ in work], {g.name: buffers_of(a) for g, a, _ in work}, machine
        )
        for group, arrays, want in work:
            got, _ = run_kernel(kernels[group.name], group, arrays)
            places = differing(got["out"], want)
            wrong = [(*(arrays[n][i] for n in group.reads), got["out"][i], want[i]) for i in places]
            assert not wrong, (group.name, machine.isa, len(wrong), wrong[:5])


def test_philox():
    count = 300
    rng = np.random.default_rng(0)
    seed, offset = rng.integers(-(1 << 62), 1 << 62, 2)
    index = rng.integers(-(1 << 62), 1 << 62, count)
    want = np.asarray(TABLE["philox"].array(seed, offset, index))
    arrays = {"state": np.array([seed, offset]), "index": index, "out": np.zeros(count, np.uint64)}

    def body(x0):
        loads = [Load("state", to_expr(k), dtypes.int64) for k in range(2)]
        return [
            *loads,
            Load("index", var(x0), dtypes.int64),
            Compute("philox", (0, 1, 2), dtypes.uint64),
            Store("out", var(x0), 3),
        ]

    group = pointwise("philox", body, ["state", "index"], ["out"], count, 128)
    for target in TARGETS:
        kernel = build([group], {"philox": buffers_of(arrays)}, target)["philox"]
        assert np.array_equal(run_kernel(kernel, group, arrays)[0]["out"], want)
