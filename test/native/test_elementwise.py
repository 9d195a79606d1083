"""Elementary functions of arrays: layouts, bits, errors. Their accuracy is tested with the headers."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

import tensorplay
from tensorplay import _C

UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "erfinv", "sigmoid", "rsqrt",
]  # fmt: skip
BINARY = [
    "pow",
    "atan2",
    "hypot",
    "fmod",
    "remainder",
    "floordiv",
    "maximum",
    "minimum",
    "nextafter",
]
INTEGER = {np.float32: np.int32, np.float64: np.int64}
SPECIAL = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 1e-40, 5e-324, 1e308, 3, 2, -2, 88, -104, 710]  # fmt: skip


def samples(dtype):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(dtype)
    bits = rng.integers(
        np.iinfo(INTEGER[dtype]).min, np.iinfo(INTEGER[dtype]).max, 3000, INTEGER[dtype]
    )
    x = np.concatenate([special, (3 * rng.standard_normal(1001)).astype(dtype), bits.view(dtype)])
    return x, np.concatenate([rng.permutation(special), rng.permutation(x[len(special) :])])


def same_bits(a, b):
    return (
        a.dtype == b.dtype
        and (((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))).all()
    )


@pytest.fixture
def isa():
    before = _C.elementwise_isa()
    yield _C.elementwise_isa
    _C.elementwise_isa(before)


def test_the_module_was_built_from_the_headers_that_kernels_include():
    headers = sorted((Path(tensorplay.__file__).parent / "include").glob("*.h"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in headers)).hexdigest()
    assert digest == _C.HEADERS_DIGEST, "rebuild it: pip install -e . --no-build-isolation"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_one_result_on_every_instruction_set_and_at_every_place(name, dtype, isa):
    x, y = samples(dtype)
    call = (lambda *a: _C.unary(name, a[0])) if name in UNARY else (lambda *a: _C.binary(name, *a))
    results = []
    for each in _C.ELEMENTWISE_ISAS:
        isa(each)
        results.append(call(x, y))
        tail = np.concatenate(
            [
                call(x[i : i + n], y[i : i + n])
                for i, n in ((0, 1), (1, 2), (3, 5), (8, 9), (17, 40))
            ]
        )
        assert same_bits(tail, results[-1][:57])
    assert all(same_bits(each, results[0]) for each in results)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(dtype):
    big = np.random.default_rng(0).standard_normal((6, 70, 130)).astype(dtype)
    for x in (
        big, big.T, big.transpose(1, 0, 2), big[:, ::2], big[..., ::-3], big[::-1, :, 5:9], big[0, 0, :0], big[0, 0, :1].reshape(()),
        big.swapaxes(1, 2)[:, 3:], np.broadcast_to(big[0], (4, 70, 130)), np.broadcast_to(big[0, 0, 0], (3, 2000)), big[:, :1], big[:1, :, :1],
    ):  # fmt: skip
        want = _C.unary("exp", np.ascontiguousarray(x).reshape(-1)).reshape(x.shape)
        found = _C.unary("exp", x)
        assert found.shape == x.shape
        assert same_bits(found, want)
        if x.size and 0 not in x.strides:
            assert found.strides == np.exp(x).strides
        out = np.empty(x.shape[::-1], dtype).T
        assert _C.unary("exp", x, out) is out
        assert same_bits(out, want)


def test_broadcasting():
    a = np.random.default_rng(0).random((5, 1, 300))
    b = np.random.default_rng(1).random((7, 1))
    both = np.broadcast_arrays(a, b)
    want = _C.binary("pow", *map(np.ascontiguousarray, both))
    assert same_bits(_C.binary("pow", a, b), want)
    assert same_bits(_C.binary("pow", a, np.array(2.0)), _C.binary("pow", a, np.full_like(a, 2)))
    assert _C.binary("pow", a[:0], b).shape == (0, 7, 300)
    with pytest.raises(ValueError, match=r"\(3,\) and \(4,\) do not broadcast"):
        _C.binary("pow", np.ones(3), np.ones(4))


def test_in_place_and_overlapping_outputs():
    x = np.linspace(0, 1, 3000)
    want = _C.unary("exp", x)
    same, shifted = x.copy(), x.copy()
    assert _C.unary("exp", same, same) is same
    assert same_bits(same, want)
    _C.unary("exp", shifted[:-1], shifted[1:])
    assert same_bits(shifted[1:], want[:-1])
    reversed_ = x.copy()
    _C.unary("exp", reversed_, reversed_[::-1])
    assert same_bits(reversed_[::-1], want)


def test_results_do_not_depend_on_threads(threads):
    x = np.random.default_rng(0).standard_normal((300, 301)).astype(np.float32)
    results = []
    for n in (1, 2, 5):
        threads(n)
        results += [_C.unary("tanh", x), _C.unary("tanh", x.T).T]
    assert all(same_bits(each, results[0]) for each in results)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _C.unary("what", np.ones(2)), ValueError, "no elementary function 'what' of 1"),
        (lambda: _C.unary("pow", np.ones(2)), ValueError, "no elementary function 'pow' of 1"),
        (lambda: _C.unary("exp", np.ones(2, int)), TypeError, "float32 or float64, got dtype"),
        (lambda: _C.unary("exp", np.ones(2, ">f8")), TypeError, "got dtype"),
        (lambda: _C.unary("exp", 1.0), TypeError, "expected arrays, got float"),
        (lambda: _C.unary("exp"), TypeError, "expected a name, 1 arrays"),
        (
            lambda: _C.binary("pow", np.ones(2), np.ones(2, np.float32)),
            TypeError,
            "float64 for operand 1",
        ),
        (lambda: _C.unary("exp", np.ones(2), np.ones(3)), ValueError, "result's shape"),
        (
            lambda: _C.unary("exp", np.ones(2), np.ones(2, np.float32)),
            ValueError,
            "shape and dtype",
        ),
        (lambda: _C.elementwise_isa("sse9"), ValueError, "no instruction set 'sse9'"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_philox(isa):
    # Known answers of Random123 (kat_vectors, philox4x32 10): words 0 and 1.
    assert _C.philox(0, 0, np.array(0)).item() == 0xE169C58D6627E8D5
    assert _C.philox(-1, 2**64 - 1, np.array([-1])).item() == 0x41C83B0E408F276D
    pi = np.array(0x85A308D3243F6A88, np.uint64).view(np.int64)
    assert _C.philox(0x299F31D0A4093822, 0x0370734413198A2E, pi).item() == 0x94FDCCEBD16CFE09
    index = np.arange(5000).reshape(50, 100).T
    results = []
    for each in _C.ELEMENTWISE_ISAS:
        isa(each)
        results.append(_C.philox(np.int64(3), np.array(7), index))
    assert results[0].shape == (100, 50)
    assert all((each == results[0]).all() for each in results)
    assert len(np.unique(results[0])) == 5000
    with pytest.raises(TypeError):
        _C.philox(1.5, 0, index)


def test_powers_that_doubles_hold_are_exact():
    for base in (2.0, 3.0, 5.0, 7.0, 10.0, 1.5):
        last = {2.0: 1000, 1.5: 30}.get(base, int(53 / np.log2(base)))
        exponents = np.arange(-1000 if base == 2.0 else 0, last + 1, dtype=np.float64)
        found = _C.binary("pow", np.full_like(exponents, base), exponents)
        assert found.tolist() == [base**each for each in exponents.tolist()]
