"""Losses with a last layer of their own: the adaptive softmax is a distribution, and its parts agree."""

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay import nn


def test_the_adaptive_softmax_is_a_distribution_whose_parts_agree():
    tp.manual_seed(0)
    loss = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10, 15], div_value=2.0, head_bias=True)
    x, classes = tp.randn(40, 8), tp.arange(40) % 20
    logs = to_array(loss.log_prob(x))
    np.testing.assert_allclose(np.exp(logs).sum(1), 1.0, rtol=1e-5)
    found = loss(x, classes)
    right = logs[np.arange(40), to_array(classes)]
    np.testing.assert_allclose(to_array(found.output), right, rtol=1e-5)
    np.testing.assert_allclose(found.loss.item(), -right.mean(), rtol=1e-5)
    np.testing.assert_array_equal(to_array(loss.predict(x)), logs.argmax(1))
    single = loss(x[0], classes[0])
    np.testing.assert_allclose(single.output.item(), right[0], rtol=1e-5)


def test_the_adaptive_softmax_has_pytorchs_layout():
    loss = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10, 15], div_value=2.0, head_bias=True)
    shapes = {name: tuple(each.shape) for name, each in loss.state_dict().items()}
    assert shapes == {
        "head.weight": (8, 16),
        "head.bias": (8,),
        "tail.0.0.weight": (8, 16),
        "tail.0.1.weight": (5, 8),
        "tail.1.0.weight": (4, 16),
        "tail.1.1.weight": (5, 4),
        "tail.2.0.weight": (2, 16),
        "tail.2.1.weight": (5, 2),
    }


@pytest.mark.parametrize("cutoffs", [[], [5, 5], [10, 5], [0, 5], [5, 20]])
def test_cutoffs_ascend_between_the_classes(cutoffs):
    with pytest.raises(ValueError, match="in ascending order"):
        nn.AdaptiveLogSoftmaxWithLoss(4, 20, cutoffs)


def test_classes_outside_are_refused():
    loss = nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5])
    with pytest.raises(IndexError, match=r"lie in \[0, 19\]"):
        loss(tp.zeros(2, 4), tensor_of([0, 20], "int64"))


def test_linear_cross_entropy_loss_is_a_layer_and_its_loss():
    loss = nn.LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True, weight=tp.rand(5))
    shapes = {name: tuple(each.shape) for name, each in loss.state_dict().items()}
    assert shapes == {"weight": (5,), "linear.weight": (10, 3), "linear.bias": (10,)}
    x, classes = tp.randn(4, 3), tensor_of([[0, 1], [2, 3], [4, 0], [1, 1]], "int64")
    logits = loss.linear(x).reshape(4, 5, 2)
    right = nn.functional.cross_entropy(logits, classes, loss.weight)
    np.testing.assert_allclose(loss(x, classes).item(), right.item(), rtol=1e-5)
