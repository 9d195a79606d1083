"""Stride rules against brute force over all elements."""

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tensorplay.core import layout
from tensorplay.core.errors import DimensionError, LayoutError, ShapeError

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
SIZES = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@st.composite
def layouts(draw):
    shape = draw(SHAPES)
    return shape, tuple(draw(st.integers(-6, 6)) for _ in shape)


def addresses(shape, strides):
    """The address of every element in row-major order."""
    return [sum(i * t for i, t in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]


@given(SHAPES)
def test_contiguous_strides_are_numpys(shape):
    strides = layout.contiguous_strides(shape)
    assert layout.is_contiguous(shape, strides)
    if 0 not in shape:
        assert addresses(shape, strides) == list(range(layout.numel(shape)))


@given(layouts())
def test_is_contiguous_means_counting_up(case):
    shape, strides = case
    found = addresses(shape, strides)
    assert layout.is_contiguous(shape, strides) == (found == list(range(len(found))))


@given(layouts())
def test_extent_is_what_elements_reach(case):
    shape, strides = case
    found = addresses(shape, strides)
    low, high = layout.extent(shape, strides, 7)
    assert (low, high) == ((7 + min(found), 7 + max(found)) if found else (7, 6))


@given(layouts())
def test_without_overlap_every_element_has_its_own_address(case):
    shape, strides = case
    found = addresses(shape, strides)
    if not layout.has_internal_overlap(shape, strides):
        assert len(set(found)) == len(found)
    if layout.is_dense(shape, strides):
        assert sorted(found) == list(range(len(found)))


@given(layouts(), SIZES)
def test_reshape_shares_memory_exactly_where_some_strides_do(case, target):
    shape, strides = case
    if layout.numel(shape) != layout.numel(target):
        target = (layout.numel(shape),)
    found = addresses(shape, strides)
    answer = layout.reshape_strides(shape, strides, target)
    if 0 in shape:
        return
    if answer is not None:
        assert addresses(target, answer) == found
    else:
        step = [layout.numel(target[i + 1 :]) for i in range(len(target))]
        forced = tuple(
            found[s] - found[0] if n > 1 else 0 for n, s in zip(target, step, strict=True)
        )
        assert addresses(target, forced) != [each - found[0] for each in found]


@given(st.lists(SIZES, min_size=1, max_size=3))
def test_broadcasting_is_numpys(shapes):
    try:
        wanted = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            layout.broadcast_shapes("add", shapes)
        return
    assert layout.broadcast_shapes("add", shapes) == wanted
    for shape in shapes:
        strides = layout.contiguous_strides(shape)
        data = np.arange(layout.numel(shape)).reshape(shape)
        wide = layout.broadcast_strides(shape, strides, wanted)
        assert addresses(wanted, wide) == list(np.broadcast_to(data, wanted).reshape(-1))


@given(SIZES, st.randoms())
def test_pointwise_results_keep_a_dense_order(shape, random):
    order = list(range(len(shape)))
    random.shuffle(order)
    strides = layout.strides_in_order(shape, order)
    assert layout.is_dense(shape, strides)
    if not layout.is_contiguous(shape, strides):
        assert layout.pointwise_strides(shape, [(shape, strides)]) == strides
        assert layout.pointwise_strides(shape, [(shape, strides), ((), ())]) is not None
    assert layout.is_dense(
        shape,
        layout.pointwise_strides(
            shape, [(shape, strides), (shape, layout.contiguous_strides(shape))]
        ),
    )


@pytest.mark.parametrize(
    "operands, wanted",
    [
        ([((2, 3), (1, 2)), ((2, 3), (1, 2))], (1, 2)),  # equal dense layouts are kept
        ([((2, 3), (1, 2)), ((2, 3), (3, 1))], (1, 2)),  # the first operand decides
        ([((2, 3), (3, 1)), ((2, 3), (1, 2))], (3, 1)),
        ([((2, 3), (0, 1)), ((2, 3), (1, 2))], (1, 2)),  # a stride of 0 decides nothing
        ([((2, 3), (6, 2))], (3, 1)),  # gaps are closed
        ([((2, 1), (1, 1)), ((1, 3), (3, 1))], (3, 1)),
    ],
)
def test_pointwise_strides(operands, wanted):
    assert layout.pointwise_strides((2, 3), operands) == wanted


def test_dimension_numbers():
    assert layout.normalize_dims("sum", (-1, 0), 3) == (2, 0)
    assert layout.normalize_dim("sum", -1, 0) == 0
    for bad, ndim in itertools.product((3, -4), (3,)):
        with pytest.raises(DimensionError, match="outside"):
            layout.normalize_dim("sum", bad, ndim)
    with pytest.raises(DimensionError, match="twice"):
        layout.normalize_dims("sum", (0, -3), 3)


def test_sizes_with_one_unknown():
    assert layout.infer_size("view", (2, -1), (3, 2)) == (2, 3)
    for bad in ((-1, -1), (4, -1), (2, 2), (-2, 3)):
        with pytest.raises(ShapeError):
            layout.infer_size("view", bad, (6,))


def test_strides_that_leave_the_storage():
    layout.check_as_strided((2, 2), (2, 1), 0, 0, 3)
    layout.check_as_strided((0, 2), (2, 1), 99, 0, 3)
    with pytest.raises(LayoutError, match=r"reach elements \[0, 4\]"):
        layout.check_as_strided((2, 2), (3, 1), 0, 0, 3)
    with pytest.raises(LayoutError, match="negative"):
        layout.check_as_strided((-1,), (1,), 0, 0, 3)
