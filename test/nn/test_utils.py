"""Gradient clipping: norms, scaling, values, errors."""

import math

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core.errors import ArgumentValueError
from tensorplay.nn.utils import (
    clip_grad_norm_,
    clip_grad_value_,
    fuse_conv_bn_eval,
    remove_spectral_norm,
    skip_init,
    spectral_norm,
)


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


# ---- spectral norm, fusion, modules without values


@pytest.mark.parametrize(
    "make", [lambda: tp.nn.Linear(4, 3), lambda: tp.nn.ConvTranspose2d(2, 3, 2)]
)
def test_spectral_norm_divides_by_the_largest_singular_value(make):
    layer = spectral_norm(make(), n_power_iterations=50)
    names = sorted(set(layer.state_dict()) - {"bias"})
    assert names == ["weight_orig", "weight_u", "weight_v"]
    x = tp.randn(2, 4) if isinstance(layer, tp.nn.Linear) else tp.randn(1, 2, 3, 3)
    layer(x).sum().backward()
    rows = 0 if isinstance(layer, tp.nn.Linear) else 1
    matrix = np.moveaxis(layer.weight.detach().numpy(), rows, 0)
    matrix = matrix.reshape(len(matrix), -1)
    np.testing.assert_allclose(np.linalg.norm(matrix, 2), 1.0, rtol=1e-4)
    assert layer.weight_orig.grad is not None
    before = layer.eval()(x)
    remove_spectral_norm(layer)
    assert isinstance(layer.weight, tp.nn.Parameter)
    assert tp.allclose(layer(x), before)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_fused_convolution_does_what_both_did(transposed):
    conv = (tp.nn.ConvTranspose2d if transposed else tp.nn.Conv2d)(3, 4, 2, bias=transposed)
    norm = tp.nn.BatchNorm2d(4)
    norm(tp.randn(5, 4, 3, 3) * 2 + 1)
    with pytest.raises(ArgumentValueError, match="for evaluation"):
        fuse_conv_bn_eval(conv, norm, transposed)
    conv.eval()
    norm.eval()
    x = tp.randn(2, 3, 4, 4)
    fused = fuse_conv_bn_eval(conv, norm, transposed)
    assert tp.allclose(fused(x), norm(conv(x)), atol=1e-5)


def test_skip_init_makes_a_module_on_its_device():
    layer = skip_init(tp.nn.Linear, 3, 4)
    assert layer.weight.device.type == "cpu"
    assert tuple(layer.weight.shape) == (4, 3)
    with pytest.raises(TypeError, match="takes no device"):
        skip_init(tp.nn.ReLU)


def test_older_names_of_initializers_warn():
    with pytest.warns(UserWarning, match="use nn.init.constant_"):
        found = tp.nn.init.constant(tp.empty(2), 3.0)
    assert found.tolist() == [3.0, 3.0]
