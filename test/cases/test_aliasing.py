"""B30, B32, B34: overlapping inputs, outputs that are views of inputs, and duplicate indices."""

import numpy as np
import pytest
from checks import FLOATS, expect, tensor_of, to_array


def shares_storage(a, b):
    return np.shares_memory(a.detach().numpy(), b.detach().numpy())


def triple_then_add(x, y):
    x.mul_(3)
    return x + y


@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_one_function_with_three_alias_patterns(run, dtype):
    """The pattern is part of the key: each order of the calls gives the same values."""
    f = run(triple_then_add)
    for _ in range(2):
        x, y = tensor_of([1] * 4, dtype), tensor_of([1] * 4, dtype)
        expect(f(x, y), [4] * 4, dtype)
        expect(x, [3] * 4, dtype)
        expect(y, [1] * 4, dtype)
        base = tensor_of([1] * 6, dtype)
        expect(f(base[:4], base[2:]), [6, 6, 4, 4], dtype)
        expect(base, [3, 3, 3, 3, 1, 1], dtype)
        both = tensor_of([1] * 4, dtype)
        expect(f(both, both), [6] * 4, dtype)
        expect(both, [3] * 4, dtype)


def test_overlap_in_the_other_direction_and_with_strides(run):
    f = run(triple_then_add)
    base = tensor_of([1.0] * 6)
    expect(f(base[2:], base[:4]), [4.0, 4.0, 6.0, 6.0], "float32")
    expect(base, [1.0, 1.0, 3.0, 3.0, 3.0, 3.0], "float32")
    base = tensor_of([1.0] * 6)
    expect(f(base[::2], base[1::2]), [4.0] * 3, "float32")
    expect(base, [3.0, 1.0] * 3, "float32")
    square = tensor_of([[1.0, 2.0], [3.0, 4.0]])
    expect(f(square, square.t()), [[6.0, 15.0], [15.0, 24.0]], "float32")
    expect(square, [[3.0, 6.0], [9.0, 12.0]], "float32")


def test_views_made_inside_see_the_write(run):
    def f(x):
        row = x[0]
        x.add_(1)
        row.mul_(10)
        return x.sum(), row

    x = tensor_of([[1.0, 2.0], [3.0, 4.0]])
    total, row = run(f)(x)
    expect(x, [[20.0, 30.0], [4.0, 5.0]], "float32")
    expect(total, 59.0, "float32")
    expect(row, [20.0, 30.0], "float32")
    assert shares_storage(row, x)


def test_an_output_view_of_an_overlapping_input(run):
    def f(t, u):
        t.add_(10)
        return u[0]

    g = run(f)
    base = tensor_of(np.arange(6).reshape(3, 2))
    result = g(base, base[1:])
    expect(result, [12.0, 13.0], "float32")
    assert shares_storage(result, base)
    result.zero_()
    expect(base, [[10.0, 11.0], [0.0, 0.0], [14.0, 15.0]], "float32")
    t, u = tensor_of(np.arange(6).reshape(3, 2)), tensor_of([[7.0, 8.0]])
    expect(g(t, u), [7.0, 8.0], "float32")


def test_outputs_that_are_inputs_or_views_of_them(run):
    def f(x):
        return x, x.t(), x[1:], x.reshape(-1), x.expand(2, 2, 3), x + 0

    x = tensor_of(np.arange(6).reshape(2, 3))
    same, *views, fresh = run(f)(x)
    assert same is x or shares_storage(same, x)
    for view in views:
        assert shares_storage(view, x)
    assert not shares_storage(fresh, x)
    assert [tuple(v.stride()) for v in views] == [(1, 3), (3, 1), (1,), (0, 3, 1)]
    x.fill_(5.0)
    for view in views:
        assert np.all(to_array(view) == 5.0)


def test_views_of_a_fresh_output_share_its_storage(run):
    def f(x):
        y = x + 1
        return y, y[0]

    y, row = run(f)(tensor_of([[1.0, 2.0], [3.0, 4.0]]))
    assert shares_storage(y, row)
    row.zero_()
    expect(y, [[0.0, 0.0], [4.0, 5.0]], "float32")


def test_a_write_through_an_expanded_input_is_refused_or_right(run):
    """Several elements share one place: PyTorch refuses, so do we, eager and compiled."""
    x = tensor_of([1.0]).expand(3)
    with pytest.raises(RuntimeError):
        run(lambda x: x.mul_(2))(x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_reading_and_writing_duplicate_indices(run, dtype):
    def f(x):
        x[[1, 1]] += x[[1, 1]]
        return x

    x = tensor_of([1, 3], dtype)
    expect(run(f)(x), [1, 6], dtype)
    expect(x, [1, 6], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("copies", [1, 2, 9, 64])
def test_accumulating_duplicates_adds_all_of_them(run, dtype, copies):
    index = tensor_of([1] * copies + [0], "int64")
    source = tensor_of([2] * copies + [5], dtype)
    zeros = tensor_of([0, 0, 0], dtype)
    right = [5, 2 * copies, 0]
    expect(run(lambda z, i, s: z.scatter_add(0, i, s))(zeros, index, source), right, dtype)
    expect(run(lambda z, i, s: z.index_add(0, i, s))(zeros, index, source), right, dtype)
    put = run(lambda z, i, s: z.index_put((i,), s, accumulate=True))
    expect(put(zeros, index, source), right, dtype)
    expect(zeros, [0, 0, 0], dtype)


def test_a_negative_and_a_positive_index_meet_in_one_place(run):
    x = tensor_of([1.0, 2.0, 3.0])
    index = tensor_of([-1, 2, 0], "int64")
    values = tensor_of([10.0, 20.0, 30.0])
    put = run(lambda x, i, v: x.index_put((i,), v, accumulate=True))
    expect(put(x, index, values), [31.0, 2.0, 33.0], "float32")


def test_accumulating_nothing(run):
    x, none = tensor_of([1.0, 2.0]), tensor_of([], "int64")
    expect(run(lambda x, i, s: x.index_add(0, i, s))(x, none, tensor_of([])), [1.0, 2.0], "float32")


def test_gradient_of_a_gather_with_duplicates(run):
    x = tensor_of([1.0, 2.0]).requires_grad_()
    run(lambda x, i: (x[i] * 3).sum())(x, tensor_of([1, 1, 0], "int64")).backward()
    expect(x.grad, [3.0, 6.0], "float32")
