"""In-place operations and views: gradients flow as if everything had been written out of place."""

import numpy as np
import pytest
from checks import expect, tensor_of, to_array

import tensorplay as tp
from tensorplay.autograd import grad
from tensorplay.core.errors import GradientError, VersionError


def leaf(values, dtype="float32"):
    return tensor_of(values, dtype).requires_grad_()


def test_in_place_on_a_computed_tensor():
    x = leaf([1.0, 2.0])
    y = x * 2
    y.mul_(x).add_(1)
    y.sum().backward()
    expect(x.grad, [4, 8], "float32")


def test_leaves_are_protected():
    x = leaf([1.0, 2.0])
    with pytest.raises(GradientError, match="leaf"):
        x.add_(1)
    with pytest.raises(GradientError, match="view of a leaf"):
        x[0].add_(1)
    expect(x.detach(), [1, 2], "float32")
    with tp.no_grad():
        x.add_(1)
    expect(x.detach(), [2, 3], "float32")


def test_a_plain_tensor_joins_the_graph():
    w = leaf(3.0)
    x = tp.ones(2)
    x.mul_(w)
    assert x.requires_grad
    x.sum().backward()
    expect(w.grad, 2.0, "float32")


def test_writing_through_a_view_reaches_the_base():
    w = leaf(3.0)
    x = tp.ones(4)
    y = x[1:3]
    y.mul_(w)
    assert x.requires_grad
    assert y.requires_grad
    (x * tensor_of([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    expect(w.grad, 110.0, "float32")
    expect(x.detach(), [1, 3, 3, 1], "float32")


def test_writing_through_a_view_cuts_the_old_values_off():
    x, w = leaf([1.0, 2.0, 3.0]), leaf(5.0)
    y = x * 2
    y[1] = w
    (y * y).sum().backward()
    expect(x.grad, [8, 0, 24], "float32")
    expect(w.grad, 10.0, "float32")


def test_views_made_before_see_the_write():
    w = leaf(3.0)
    x = tp.ones(4)
    left, all_of_it = x[:2], x.view(2, 2)
    x[0].mul_(w)
    expect(left.detach(), [3, 1], "float32")
    (left * 2).sum().backward()
    expect(w.grad, 2.0, "float32")
    assert all_of_it[0, 0].requires_grad


def test_views_of_views():
    x, w = leaf(np.arange(6.0).reshape(2, 3)), leaf([7.0, 8.0])
    y = x * 1
    y.t()[1].mul_(w)
    y.sum().backward()
    expect(x.grad, [[1, 7, 1], [1, 8, 1]], "float32")
    expect(w.grad, [1, 4], "float32")


def test_the_view_itself_has_the_new_value():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    z = y[:2]
    z.mul_(10)
    z.sum().backward()
    expect(x.grad, [10, 10, 0], "float32")


def test_writing_to_the_base_changes_its_views():
    x = leaf([1.0, 2.0])
    y = x * 1
    first = y[0]
    y.mul_(3)
    first.backward()
    expect(x.grad, [3, 0], "float32")


def test_second_derivatives_through_a_write():
    x = leaf([1.0, 2.0, 3.0], "float64")

    def f(x):
        y = x * 1
        y[1:].mul_(x[:2])
        y[0] = y[2].clone() * y[1].clone()
        return y.sum()

    assert tp.autograd.gradcheck(f, (x,))
    assert tp.autograd.gradgradcheck(f, (x,))


def test_overwriting_with_a_constant_ends_the_history():
    x = leaf([1.0, 2.0])
    y = x * 2
    y.zero_()
    assert y.requires_grad
    (g,) = grad(y.sum(), x, allow_unused=True)
    assert g is None or np.all(to_array(g) == 0)


def test_copy_takes_the_history_of_its_source():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * 1
    y.copy_(w)
    y.register_hook(lambda g: g * 2)
    (y * w).sum().backward()
    expect(w.grad, [3 * 1 + 3 * 2, 4 + 8], "float32")
    assert x.grad is None or np.all(to_array(x.grad) == 0)


def test_a_saved_view_counts_writes_to_its_base():
    x = leaf([1.0, 2.0])
    y = x * 1
    z = y[0] * y[0]
    y.add_(1)
    with pytest.raises(VersionError):
        z.backward()


def test_detached_tensors_share_memory_and_the_count_but_no_history():
    x = leaf([1.0, 2.0])
    y = x * x
    z = y * y
    d = y.detach()
    assert not d.requires_grad
    d.zero_()
    expect(y.detach(), [0, 0], "float32")
    with pytest.raises(VersionError):
        z.sum().backward()


def test_hooks_and_retained_gradients_follow_a_write():
    x = leaf([1.0, 2.0])
    y = x * 1
    y.retain_grad()
    y.mul_(2)
    (y * 3).sum().backward()
    expect(y.grad, [3, 3], "float32")
    expect(x.grad, [6, 6], "float32")


def test_in_place_under_no_grad_keeps_the_history():
    x = leaf([1.0, 2.0])
    y = x + 1
    with tp.no_grad():
        y.mul_(2)
    y.sum().backward()
    expect(x.grad, [1, 1], "float32")


def test_random_programs_of_views_and_writes_agree_with_functional_ones():
    rng = np.random.default_rng(0)
    for _ in range(20):
        start = rng.standard_normal((3, 4))
        steps = [(rng.integers(3), rng.integers(4), rng.standard_normal()) for _ in range(6)]
        x = leaf(start, "float64")
        y = x * 1
        rows = [y[i] for i in range(3)]
        columns = [y[:, j] for j in range(4)]
        for i, j, c in steps:
            rows[i].mul_(columns[j][0] * c)
            columns[j].add_(rows[i].sum())
        (got,) = grad((y * y).sum(), x)

        z = leaf(start, "float64")
        value = z * 1
        for i, j, c in steps:
            row = value[i] * (value[0, j] * c)
            value = tp.stack([row if k == i else value[k] for k in range(3)])
            column = value[:, j] + value[i].sum()
            value = tp.stack([column if k == j else value[:, k] for k in range(4)], 1)
        (right,) = grad((value * value).sum(), z)
        np.testing.assert_allclose(to_array(y), to_array(value))
        np.testing.assert_allclose(to_array(got), to_array(right))


def test_writes_through_detached_tensors_leave_histories_alone():
    x = leaf([1.0, 2.0])
    y = x * 1
    d = y.detach()
    part = d[0]
    part.add_(5)
    d.mul_(2)
    expect(y.detach(), [12, 4], "float32")
    assert not d.requires_grad
    assert not part.requires_grad
    y.sum().backward()
    expect(x.grad, [1, 1], "float32")


def test_a_detached_tensor_can_get_a_history_of_its_own():
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    d = (x * 1).detach()
    d[0].mul_(w)
    d.sum().backward()
    assert x.grad is None
    expect(w.grad, 1.0, "float32")


def test_data_of_a_leaf_can_be_changed():
    x = leaf([1.0, 2.0])
    x.data[0] = 7.0
    x.data.add_(1)
    expect(x.detach(), [8, 3], "float32")
    assert x.is_leaf
