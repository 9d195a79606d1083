"""Layers: what they compute, how they start, their settings. Eager and compiled where it matters."""

import copy
import math
import pickle

import numpy as np
import pytest
from checks import expect, tensor_of, to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn import functional, init


def test_linear():
    layer = nn.Linear(3, 2)
    x = tensor_of([[1.0, 2.0, 3.0]])
    right = to_array(x) @ to_array(layer.weight).T + to_array(layer.bias)
    np.testing.assert_allclose(to_array(layer(x)), right, rtol=1e-6)
    assert nn.Linear(3, 2, bias=False).bias is None
    assert nn.Linear(3, 2, dtype=tp.float64).weight.dtype is tp.float64
    assert list(nn.Linear(0, 2)(tp.zeros(1, 0)).shape) == [1, 2]


@pytest.mark.parametrize("layer", [nn.Linear(400, 300), nn.Conv2d(16, 32, 5)])
def test_weights_start_uniform_in_the_root_of_fan_in(layer):
    bound = 1 / math.sqrt(init.fans(layer.weight)[0])
    weight = to_array(layer.weight)
    assert np.abs(weight).max() <= bound
    assert abs(weight.std() - bound / math.sqrt(3)) < 0.03 * bound
    assert np.abs(to_array(layer.bias)).max() <= bound


def test_seeds_fix_the_weights():
    tp.manual_seed(3)
    first = nn.Linear(4, 4)
    tp.manual_seed(3)
    np.testing.assert_array_equal(to_array(first.weight), to_array(nn.Linear(4, 4).weight))


def test_conv2d_layer_is_the_function():
    layer = nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2)
    x = tp.randn(2, 4, 7, 8)
    right = functional.conv2d(x, layer.weight, layer.bias, 2, 1, (1, 2), 2)
    np.testing.assert_array_equal(to_array(layer(x)), to_array(right))
    with pytest.raises(ValueError, match="groups=3 must divide"):
        nn.Conv2d(4, 6, 3, groups=3)


def test_batch_norm_keeps_statistics():
    layer = nn.BatchNorm2d(2)
    x = tp.randn(3, 2, 4, 4)
    layer(x)
    assert layer.num_batches_tracked.item() == 1
    np.testing.assert_allclose(
        to_array(layer.running_mean), 0.1 * to_array(x).mean((0, 2, 3)), rtol=1e-5
    )
    before = to_array(layer.running_mean)
    layer.eval()(x)
    np.testing.assert_array_equal(to_array(layer.running_mean), before)
    assert layer.num_batches_tracked.item() == 1
    layer.reset_parameters()
    assert layer.num_batches_tracked.item() == 0
    with pytest.raises(ValueError, match="expects 4 dimensions"):
        layer(tp.zeros(3, 2))


def test_batch_norm_averages_over_all_batches_without_momentum():
    layer = nn.BatchNorm1d(2, momentum=None)
    batches = [tp.randn(5, 2) for _ in range(3)]
    for x in batches:
        layer(x)
    means = np.stack([to_array(x).mean(0) for x in batches])
    np.testing.assert_allclose(to_array(layer.running_mean), means.mean(0), rtol=1e-4, atol=1e-6)


def test_batch_norm_without_statistics_uses_the_batch_in_evaluation():
    layer = nn.BatchNorm1d(2, track_running_stats=False, affine=False).eval()
    y = to_array(layer(tp.randn(50, 2)))
    np.testing.assert_allclose(y.mean(0), 0, atol=1e-6)
    assert list(layer.state_dict()) == []


def test_layer_norm_and_embedding():
    layer = nn.LayerNorm(4)
    y = to_array(layer(tp.randn(3, 4)))
    np.testing.assert_allclose(y.mean(1), 0, atol=1e-6)
    assert nn.LayerNorm((2, 3), bias=False).bias is None
    assert nn.LayerNorm(3, elementwise_affine=False).weight is None
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4
    expect(table(tensor_of([4], "int64")).detach(), [[0, 0, 0]], "float32")
    with pytest.raises(IndexError):
        table(tensor_of([5], "int64"))
    with pytest.raises(ValueError, match="padding_idx"):
        nn.Embedding(5, 3, padding_idx=7)


ACTIVATIONS = {
    nn.ReLU(): lambda x: np.maximum(x, 0),
    nn.ReLU6(): lambda x: np.clip(x, 0, 6),
    nn.LeakyReLU(0.2): lambda x: np.where(x > 0, x, 0.2 * x),
    nn.ELU(1.5): lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)),
    nn.GELU(): lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    nn.GELU("tanh"): lambda x: (
        x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    nn.SiLU(): lambda x: x / (1 + np.exp(-x)),
    nn.Mish(): lambda x: x * np.tanh(np.log1p(np.exp(x))),
    nn.Softplus(2.0): lambda x: np.log1p(np.exp(2 * x)) / 2,
    nn.Tanh(): np.tanh,
    nn.Sigmoid(): lambda x: 1 / (1 + np.exp(-x)),
    nn.Softmax(1): lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    nn.LogSoftmax(1): lambda x: x - np.log(np.exp(x).sum(1, keepdims=True)),
    nn.Flatten(): lambda x: x.reshape(len(x), -1),
    nn.Unflatten(-1, (3, 2)): lambda x: x.reshape(len(x), 3, 2),
    nn.Identity(): lambda x: x,
}


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=repr)
def test_layers_without_parameters(layer):
    x = np.random.default_rng(0).uniform(-8, 8, (4, 6))
    np.testing.assert_allclose(
        to_array(layer(tp.from_numpy(x))), ACTIVATIONS[layer](x), rtol=1e-12, atol=1e-12
    )


def test_dropout_follows_the_mode():
    layer = nn.Dropout(0.5)
    x = tp.ones(1000)
    assert 300 < (to_array(layer(x)) == 0).sum() < 700
    assert layer.eval()(x) is x
    with pytest.raises(ValueError, match="probability"):
        nn.Dropout(1.5)


def test_pooling_layers():
    x = tp.randn(1, 2, 6, 6)
    for layer, right in (
        (nn.MaxPool2d(2), functional.max_pool2d(x, 2)),
        (nn.AvgPool2d(3, 1, 1), functional.avg_pool2d(x, 3, 1, 1)),
        (nn.AdaptiveAvgPool2d((2, None)), functional.adaptive_avg_pool2d(x, (2, None))),
    ):
        np.testing.assert_array_equal(to_array(layer(x)), to_array(right))


def test_losses_are_their_functions():
    x, t, c = tp.randn(4, 3), tp.rand(4, 3), tensor_of([0, 2, 1, 1], "int64")
    w = tensor_of([1.0, 2.0, 0.5])
    pairs = [
        (nn.MSELoss()(x, t), functional.mse_loss(x, t)),
        (nn.L1Loss(reduction="sum")(x, t), functional.l1_loss(x, t, reduction="sum")),
        (nn.SmoothL1Loss(beta=0.3)(x, t), functional.smooth_l1_loss(x, t, beta=0.3)),
        (nn.BCELoss(w)(t, t), functional.binary_cross_entropy(t, t, w)),
        (
            nn.BCEWithLogitsLoss(pos_weight=w)(x, t),
            functional.binary_cross_entropy_with_logits(x, t, pos_weight=w),
        ),
        (nn.NLLLoss(w)(x, c), functional.nll_loss(x, c, w)),
        (
            nn.CrossEntropyLoss(w, label_smoothing=0.1)(x, c),
            functional.cross_entropy(x, c, w, label_smoothing=0.1),
        ),
    ]
    for found, right in pairs:
        assert found.item() == right.item()
    assert list(nn.CrossEntropyLoss(w).state_dict()) == ["weight"]


# ---- initial values


def test_initial_values():
    t = tp.empty(200, 300)
    for fill, mean, std in (
        (lambda: init.uniform_(t, -1, 3), 1.0, 4 / math.sqrt(12)),
        (lambda: init.normal_(t, 2.0, 0.5), 2.0, 0.5),
        (lambda: init.xavier_uniform_(t), 0.0, math.sqrt(2 / 500)),
        (lambda: init.xavier_normal_(t, 2.0), 0.0, 2 * math.sqrt(2 / 500)),
        (lambda: init.kaiming_uniform_(t, nonlinearity="relu"), 0.0, math.sqrt(2 / 300)),
        (lambda: init.kaiming_normal_(t, mode="fan_out"), 0.0, math.sqrt(2 / 200)),
    ):
        assert fill() is t
        values = to_array(t)
        assert abs(values.mean() - mean) < 0.02 * max(std, 0.1)
        assert abs(values.std() - std) < 0.02 * std
    values = to_array(init.trunc_normal_(t, 0.0, 1.0, -0.5, 1.0))
    assert values.min() >= -0.5
    assert values.max() <= 1.0
    expect(init.eye_(tp.empty(2, 3)), np.eye(2, 3), "float32")
    expect(init.ones_(tp.empty(2)), [1, 1], "float32")
    expect(init.zeros_(tp.empty(2)), [0, 0], "float32")
    weight = nn.Parameter(tp.zeros(2, 2))
    assert init.constant_(weight, 3.0).requires_grad
    assert weight.is_leaf
    with pytest.raises(ValueError, match="no gain"):
        init.calculate_gain("nothing")
    with pytest.raises(ValueError, match="two dimensions"):
        init.xavier_normal_(tp.empty(3))
    with pytest.raises(ValueError, match="fan_in"):
        init.kaiming_normal_(t, mode="fan")


# ---- copies


def test_modules_can_be_copied_and_pickled():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    restored = pickle.loads(pickle.dumps(net))  # noqa: S301 - what was just pickled
    for twin in (copy.deepcopy(net), restored):
        assert isinstance(twin[0].weight, nn.Parameter)
        assert [name for name, _ in twin.named_parameters()] == [
            name for name, _ in net.named_parameters()
        ]
        x = tp.randn(4, 2)
        np.testing.assert_array_equal(to_array(twin.eval()(x)), to_array(net.eval()(x)))
        with tp.no_grad():
            twin[0].weight.add_(1)
        assert not np.array_equal(to_array(twin[0].weight), to_array(net[0].weight))


# ---- compiled


def network():
    tp.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4, 8),
        nn.LayerNorm(8),
        nn.GELU(),
        nn.Dropout(0.3),
        nn.Linear(8, 3),
    )


def test_a_network_trains_alike_compiled():
    rng = np.random.default_rng(0)
    x = tensor_of(rng.standard_normal((5, 1, 8, 8)))
    classes = tensor_of(rng.integers(0, 3, 5), "int64")
    results = []
    for compiled in (False, True):
        net = network()

        def loss(x, classes, net=net):
            return functional.cross_entropy(net(x), classes)

        f = tp.compile(loss, strict_native=True) if compiled else loss
        tp.manual_seed(1)
        for _ in range(2):
            value = f(x, classes)
            value.backward()
        results.append(
            [to_array(value), *(to_array(p.grad) for p in net.parameters())]
            + [to_array(b) for b in net.buffers()]
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
