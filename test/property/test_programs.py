"""Random programs: compiled equals eager bit for bit (class 1), or within the summation bound of 6.5 (class 2)."""

import numpy as np
import pytest
from checks import FLOATS, REAL, assert_same, to_array
from hypothesis import given, note, settings
from hypothesis import strategies as st
from property.programs import EPSILON, Program, ordinary, programs

import tensorplay as tp


def check_exactly(program: Program, backend: str) -> None:
    note(program.text())
    compiled = tp.compile(program, backend=backend, strict_native=True)
    right = tuple(program.values[k] for k in program.outputs)
    assert_same(compiled(*program.arguments), right)


@pytest.mark.parametrize("dtype", REAL)
@given(data=st.data())
@settings(max_examples=12)
def test_stax_equals_eager_bit_for_bit(dtype, data):
    check_exactly(data.draw(programs(dtype)), "stax")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "bfloat16", "float32"])
@given(data=st.data())
@settings(max_examples=25)
def test_the_debug_backends_equal_eager_bit_for_bit(dtype, backend, data):
    check_exactly(data.draw(programs(dtype)), backend)


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
@settings(max_examples=15)
def test_sums_stay_within_the_bound_of_summation(dtype, data):
    """|s - exact| <= (n - 1) u sum |a_i|, in whatever order, then one rounding to the dtype (6.5)."""
    rank = data.draw(st.integers(0, 3))
    sizes = st.sampled_from([0, 1, 2, 3, 8, 17, 40])
    shape = tuple(data.draw(st.lists(sizes, min_size=rank, max_size=rank)))
    dims = data.draw(st.sets(st.integers(0, rank - 1))) if rank else set()
    keep, mean = data.draw(st.booleans()), data.draw(st.booleans())
    x = ordinary(data.draw, dtype, shape)

    def addends(x):
        return tp.relu(x * 1.5) - x

    def f(x):
        y = addends(x)
        return (y.mean if mean else y.sum)(tuple(dims), keepdim=keep)

    exact = to_array(addends(x)).astype(np.float64)
    axes = tuple(dims) or tuple(range(rank))
    count = int(np.prod([shape[d] for d in axes]))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.float64(1.0) / count if mean else np.float64(1.0)
        right = exact.sum(axis=axes, keepdims=keep) * scale
        size = np.abs(exact).sum(axis=axes, keepdims=keep) * scale
    accumulator = EPSILON["float64" if dtype == "float64" else "float32"] / 2
    bound = (count + 1) * accumulator * size + EPSILON[dtype] / 2 * np.abs(right)
    for function in (f, tp.compile(f, strict_native=True)):
        found = to_array(function(x)).astype(np.float64)
        assert found.shape == right.shape
        undefined = np.isnan(right)
        assert np.array_equal(np.isnan(found), undefined)
        assert np.all((np.abs(found - right) <= bound) | undefined)
