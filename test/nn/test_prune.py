"""Pruning: masks by magnitude, at random, by slices; one after another; over several parameters."""

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn.utils import prune


def layer(values):
    made = nn.Linear(len(values[0]), len(values))
    made.load_state_dict({"weight": tensor_of(values), "bias": tp.zeros(len(values))})
    return made


VALUES = [[1.0, -2.0, 3.0], [-4.0, 5.0, 0.5]]


def test_the_smallest_entries_are_zero_and_stay_so():
    made = prune.l1_unstructured(layer(VALUES), "weight", 2)
    assert list(made.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    np.testing.assert_array_equal(to_array(made.weight), [[0, -2, 3], [-4, 5, 0]])
    made(tp.ones(1, 3)).sum().backward()
    np.testing.assert_array_equal(to_array(made.weight_orig.grad), [[0, 1, 1], [1, 1, 0]])
    with tp.no_grad():
        made.weight_orig.fill_(7.0)
    np.testing.assert_array_equal(to_array(made(tp.ones(1, 3))), [[14, 14]])


def test_pruning_again_chooses_among_what_is_left():
    made = prune.l1_unstructured(layer(VALUES), "weight", 2)
    prune.l1_unstructured(made, "weight", 0.5)
    np.testing.assert_array_equal(to_array(made.weight_mask), [[0, 0, 0], [1, 1, 0]])
    prune.ln_structured(made, "weight", 1, n=1, dim=1)
    np.testing.assert_array_equal(to_array(made.weight_mask), [[0, 0, 0], [0, 1, 0]])


def test_removing_makes_it_permanent():
    made = prune.ln_structured(layer(VALUES), "weight", 1, n=2, dim=0)
    assert prune.is_pruned(made)
    prune.remove(made, "weight")
    assert not prune.is_pruned(made)
    assert isinstance(made.weight, nn.Parameter)
    np.testing.assert_array_equal(to_array(made.weight), [[0, 0, 0], [-4, 5, 0.5]])
    with pytest.raises(ValueError, match="is not pruned"):
        prune.remove(made, "weight")


def test_scores_may_say_what_is_important():
    scores = tensor_of([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])
    made = prune.l1_unstructured(layer(VALUES), "weight", 3, importance_scores=scores)
    np.testing.assert_array_equal(to_array(made.weight_mask), [[1, 1, 1], [0, 0, 0]])


def test_several_parameters_are_pruned_as_one():
    first, second = layer(VALUES), layer([[10.0, 0.1]])
    places = [(first, "weight"), (second, "weight")]
    prune.global_unstructured(places, prune.L1Unstructured, amount=4)
    np.testing.assert_array_equal(to_array(first.weight_mask), [[0, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(to_array(second.weight_mask), [[1, 0]])


def test_random_pruning_takes_as_many():
    made = prune.random_unstructured(nn.Linear(8, 5), "weight", 0.25)
    assert made.weight_mask.sum().item() == 30.0
    prune.random_structured(made, "weight", 2, dim=1)
    assert (made.weight_mask.sum(0) == 0).sum().item() >= 2


def test_amounts_outside_are_refused():
    for amount, match in ((1.5, "a float in"), (-1, "a float in"), (100, "more than there are")):
        with pytest.raises(ValueError, match=match):
            prune.l1_unstructured(layer(VALUES), "weight", amount)
    with pytest.raises(ValueError, match="two dimensions"):
        prune.ln_structured(layer(VALUES), "bias", 1, 2, 0)
