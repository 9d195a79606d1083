"""Parametrizations: names in the state, values kept, gradients, copies; weight, spectral and orthogonal ones."""

import copy
import pickle

import numpy as np
import pytest
from checks import to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn import utils
from tensorplay.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


class Wider(nn.Module):
    def forward(self, x):
        return tp.cat([x, x])


def test_the_parameter_moves_and_comes_back():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert [name for name, _ in layer.named_parameters()] == [
        "bias", "parametrizations.weight.original",
    ]  # fmt: skip
    assert layer.parametrizations.weight.original is weight
    assert isinstance(layer, nn.Linear)
    layer(tp.ones(1, 3)).sum().backward()
    assert not weight.grad.tril(-1).any()
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    value = to_array(layer.weight)
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is weight
    assert type(layer) is nn.Linear
    np.testing.assert_array_equal(to_array(weight), value)


def test_values_are_kept_and_assigned_by_the_right_inverse():
    layer = nn.Linear(2, 2, bias=False)
    nn.init.constant_(layer.weight, 3.0)
    parametrize.register_parametrization(layer, "weight", Exp())
    np.testing.assert_allclose(to_array(layer.weight), 3.0, rtol=1e-6)
    parametrize.register_parametrization(layer, "weight", Exp())
    np.testing.assert_allclose(to_array(layer.weight), 3.0, rtol=1e-6)
    layer.weight = tp.full((2, 2), 5.0)
    np.testing.assert_allclose(to_array(layer.weight), 5.0, rtol=1e-6)
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    np.testing.assert_allclose(to_array(layer.weight), np.log(np.log(5.0)), rtol=1e-5)


def test_what_does_not_fit_is_refused():
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="keeps shape and dtype"):
        parametrize.register_parametrization(layer, "weight", Wider())
    assert isinstance(layer.weight, nn.Parameter)
    with pytest.raises(ValueError, match="no parameter or buffer 'scale'"):
        parametrize.register_parametrization(layer, "scale", Exp())
    with pytest.raises(ValueError, match="no parametrization of 'weight'"):
        parametrize.remove_parametrizations(layer, "weight")
    parametrize.register_parametrization(layer, "weight", Symmetric())
    with pytest.raises(TypeError, match="no right_inverse"):
        layer.weight = tp.ones(2, 2)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301 (our own)
def test_copies_are_parametrized(again):
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    twin = again(layer)
    assert parametrize.is_parametrized(twin, "weight")
    np.testing.assert_array_equal(to_array(twin.weight), to_array(layer.weight))
    parametrize.remove_parametrizations(twin, "weight")
    assert parametrize.is_parametrized(layer)


def test_weight_norm():
    layer = nn.Conv2d(2, 3, 2)
    before = to_array(layer.weight)
    parametrizations.weight_norm(layer)
    np.testing.assert_allclose(to_array(layer.weight), before, rtol=1e-5)
    state = layer.state_dict()
    assert state["parametrizations.weight.original0"].shape == (3, 1, 1, 1)
    assert state["parametrizations.weight.original1"].shape == before.shape
    layer(tp.ones(1, 2, 4, 4)).sum().backward()
    direction = layer.parametrizations.weight.original1
    radial = to_array((direction.grad * direction).sum((1, 2, 3)))
    np.testing.assert_allclose(radial, 0.0, atol=1e-4)


def test_weight_norm_in_the_older_form():
    layer = nn.Linear(3, 2)
    before = to_array(layer.weight)
    utils.weight_norm(layer)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_g", "weight_v"]
    np.testing.assert_allclose(to_array(layer.weight), before, rtol=1e-6)
    with tp.no_grad():
        layer.weight_g.mul_(2.0)
    layer(tp.ones(1, 3)).sum().backward()
    assert layer.weight_v.grad is not None
    utils.remove_weight_norm(layer)
    np.testing.assert_allclose(to_array(layer.weight), 2 * before, rtol=1e-6)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]


def test_spectral_norm():
    tp.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(5, 4), n_power_iterations=30)
    layer(tp.ones(1, 5)).sum().backward()
    assert np.linalg.norm(to_array(layer.weight), 2) == pytest.approx(1.0, rel=1e-4)
    assert {"parametrizations.weight.0._u", "parametrizations.weight.0._v"} <= set(
        layer.state_dict()
    )
    layer.eval()
    vector = to_array(layer.parametrizations.weight[0]._u)
    layer(tp.ones(1, 5))
    np.testing.assert_array_equal(to_array(layer.parametrizations.weight[0]._u), vector)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("chosen", ["matrix_exp", "cayley"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(shape, chosen, trivial):
    layer = parametrizations.orthogonal(
        nn.Linear(shape[1], shape[0]), orthogonal_map=chosen, use_trivialization=trivial
    )
    optimizer = tp.optim.SGD(layer.parameters(), 0.5)
    for _ in range(2):
        w = to_array(layer.weight)
        product = w @ w.T if shape[0] <= shape[1] else w.T @ w
        np.testing.assert_allclose(product, np.eye(min(shape)), atol=1e-5)
        layer(tp.ones(1, shape[1])).square().sum().backward()
        optimizer.step()
    assert not np.allclose(to_array(layer.weight), w)


def test_vectors_of_parameters():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    weight = layer.weight
    utils.vector_to_parameters(tp.arange(9.0), layer.parameters())
    assert layer.weight is weight
    assert layer.bias.tolist() == [6.0, 7.0, 8.0]
    with pytest.raises(ValueError, match="9 elements"):
        utils.vector_to_parameters(tp.arange(8.0), layer.parameters())
