"""Gradient clipping: norms, scaling, values, errors."""

import math

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core.errors import ArgumentValueError
from tensorplay.nn.utils import clip_grad_norm_, clip_grad_value_


def parameters(*grads):
    made = [tp.nn.Parameter(tp.zeros(len(each))) for each in grads]
    for parameter, grad in zip(made, grads, strict=True):
        parameter.grad = tp.tensor(grad)
    return [*made, tp.nn.Parameter(tp.zeros(3))]


@pytest.mark.parametrize("kind", [1.0, 2.0, 3.0, math.inf])
def test_the_norm_is_of_all_gradients_together(kind):
    made = parameters([3.0, -4.0], [12.0])
    expected = np.linalg.norm([3.0, -4.0, 12.0], kind)
    norm = clip_grad_norm_(made, 2.0, kind)
    assert norm.item() == pytest.approx(expected)
    found = np.concatenate([made[0].grad.numpy(), made[1].grad.numpy()])
    np.testing.assert_allclose(found, np.array([3.0, -4.0, 12.0]) * 2.0 / expected, 1e-5)
    assert made[2].grad is None


def test_small_gradients_stay():
    made = parameters([3.0, -4.0])
    assert clip_grad_norm_(iter(made), 10.0).item() == 5.0
    assert made[0].grad.tolist() == [3.0, -4.0]
    assert clip_grad_norm_(made[1], 1.0).item() == 0.0


def test_values():
    made = parameters([3.0, -4.0, 0.5])
    clip_grad_value_(made, 1.0)
    assert made[0].grad.tolist() == [1.0, -1.0, 0.5]
    with pytest.raises(ArgumentValueError, match="at least 0"):
        clip_grad_value_(made, -1.0)


def test_norms_that_are_not_finite():
    made = parameters([math.inf, 1.0])
    with pytest.raises(ArgumentValueError, match="the norm of the gradients is inf"):
        clip_grad_norm_(made, 1.0, error_if_nonfinite=True)
    assert made[0].grad.tolist() == [math.inf, 1.0]
    clip_grad_norm_(made, 1.0)
    assert math.isnan(made[0].grad[0].item())
    assert made[0].grad[1].item() == 0.0
    with pytest.raises(ArgumentValueError, match="norm_type"):
        clip_grad_norm_(made, 1.0, 0.0)
