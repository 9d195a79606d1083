"""Attributes that hooks compute: pruning and both norms on one parameter know their own hooks."""

import copy

import pytest

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn.utils import (
    prune,
    remove_spectral_norm,
    remove_weight_norm,
    spectral_norm,
    weight_norm,
)
from tensorplay.nn.utils.recomputed import Recomputed


def test_each_kind_takes_out_its_own_hook():
    layer = weight_norm(nn.Linear(3, 2))
    prune.l1_unstructured(spectral_norm(layer, "weight_v"), "bias", 1)
    with pytest.raises(ValueError, match=r"Linear\.weight is not under spectral_norm"):
        remove_spectral_norm(layer)
    remove_spectral_norm(layer, "weight_v")
    assert [name for name, _ in layer.named_parameters()] == ["weight_g", "bias_orig", "weight_v"]
    remove_weight_norm(prune.remove(layer, "bias"))
    assert {name for name, _ in layer.named_parameters()} == {"weight", "bias"}
    assert layer(tp.ones(1, 3)).shape == (1, 2)
    assert not prune.is_pruned(layer)


def test_what_is_computed_follows_its_parts_at_the_next_call():
    layer = weight_norm(nn.Linear(3, 2, bias=False))
    with tp.no_grad():
        layer.weight_g.fill_(0.0)
    assert layer.weight.abs().sum() > 0
    assert layer(tp.ones(1, 3)).tolist() == [[0.0, 0.0]]
    assert layer.weight.abs().sum() == 0


def test_a_copy_is_made_of_a_module_that_was_called_without_gradients():
    layer = prune.l1_unstructured(nn.Linear(3, 2), "weight", 2)
    with pytest.raises(RuntimeError, match=r"call the module .* under no_grad"):
        copy.deepcopy(layer)
    with tp.no_grad():
        layer(tp.ones(1, 3))
    copied = copy.deepcopy(layer)
    prune.remove(layer, "weight")
    assert prune.is_pruned(copied)
    copied(tp.ones(1, 3)).sum().backward()
    assert copied.weight_orig.grad.sum() == 4


def test_a_kind_without_a_computation_says_so():
    with pytest.raises(NotImplementedError, match="Recomputed defines no compute"):
        Recomputed("weight")(nn.Linear(1, 1), ())
