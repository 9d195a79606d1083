"""B41: recomputation gives the same random numbers; random operators are never merged or dropped."""

import numpy as np
import pytest
from checks import to_array

import tensorplay as tp
from tensorplay.nn import functional


def test_the_gradient_is_zero_exactly_where_dropout_dropped(run):
    x = tp.ones(1000).requires_grad_()

    def f(x):
        y = functional.dropout(x, 0.5)
        return y.sum(), y

    total, y = run(f)(x)
    total.backward()
    kept = to_array(y) != 0
    assert 380 < kept.sum() < 620
    assert np.array_equal(to_array(x.grad), np.where(kept, 2.0, 0.0))


@pytest.mark.parametrize("make", ["randn_like", "rand_like"])
def test_the_gradient_of_a_product_with_noise_is_the_noise(run, make):
    x = tp.ones(100).requires_grad_()

    def f(x):
        y = getattr(tp, make)(x) * x
        return y.sum(), y

    total, y = run(f)(x)
    total.backward()
    assert np.array_equal(to_array(x.grad), to_array(y))


def test_numbers_do_not_depend_on_the_mode(compiled):
    def f(x):
        return functional.dropout(x, 0.3) + tp.rand(5, 3), tp.randn(7), tp.randint(0, 10, (4,))

    tp.manual_seed(7)
    right = [to_array(t) for t in f(tp.ones(5, 3)) + f(tp.ones(5, 3))]
    tp.manual_seed(7)
    g = compiled(f)
    found = [to_array(t) for t in g(tp.ones(5, 3)) + g(tp.ones(5, 3))]
    for one, other in zip(found, right, strict=True):
        assert np.array_equal(one, other)


def test_two_calls_differ_and_two_draws_in_one_call_differ(run):
    f = run(lambda x: (tp.rand(100) + x, tp.rand(100) + x))
    zero = tp.zeros(100)
    first, second = f(zero)
    third, _ = f(zero)
    assert not np.array_equal(to_array(first), to_array(second))
    assert not np.array_equal(to_array(first), to_array(third))


def test_a_dropped_draw_still_advances_the_generator(run):
    def f(x):
        tp.rand(100)
        return tp.rand(4) + x

    tp.manual_seed(3)
    tp.rand(100)
    right = to_array(tp.rand(4))
    tp.manual_seed(3)
    assert np.array_equal(to_array(run(f)(tp.zeros(4))), right)


def test_dropout_at_its_ends(run):
    x = tp.ones(10)
    assert np.all(to_array(run(lambda x: functional.dropout(x, 0.0))(x)) == 1.0)
    assert np.all(to_array(run(lambda x: functional.dropout(x, 1.0))(x)) == 0.0)
    assert np.all(to_array(run(lambda x: functional.dropout(x, 0.9, training=False))(x)) == 1.0)
