"""Losses at the points where formulas go wrong: kinks, infinities, empty bags, impossible alignments."""

import itertools
import math

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay.nn import functional as F  # noqa: N812 (its name everywhere)


def gradient(function, *values):
    leaves = [tensor_of(each).requires_grad_() for each in values]
    return [to_array(each) for each in tp.autograd.grad(function(*leaves).sum(), leaves)]


def test_smooth_functions_are_differentiated_at_zero_as_smooth():
    zero = [0.0]
    np.testing.assert_allclose(gradient(F.logsigmoid, zero)[0], [0.5])
    np.testing.assert_allclose(gradient(F.mish, zero)[0], [math.tanh(math.log(2))])
    loss = tp.tensor([0.0])
    (found,) = gradient(lambda x: F.binary_cross_entropy_with_logits(x, loss), zero)
    np.testing.assert_allclose(found, [0.5])
    x = tp.zeros(1).requires_grad_()
    (first,) = tp.autograd.grad(F.mish(x).sum(), x, create_graph=True)
    (second,) = tp.autograd.grad(first.sum(), x)
    h = 1e-3
    points = tp.tensor([h, 0.0, -h], dtype=tp.float64)
    a, b, c = F.mish(points).tolist()
    np.testing.assert_allclose(to_array(second), [(a - 2 * b + c) / h**2], rtol=1e-5)


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_distant_elements_have_finite_gradients(loss):
    x = [math.inf, -math.inf, 3.0, 0.0]
    (found,) = gradient(lambda x: loss(x, tp.zeros(4), reduction="sum"), x)
    np.testing.assert_array_equal(found, [1.0, -1.0, 1.0, 0.0])


def test_logits_may_be_infinite():
    x = tensor_of([math.inf, -math.inf])
    target = tensor_of([1.0, 0.0])
    with_zero = F.binary_cross_entropy_with_logits(tensor_of([800.0, -800.0]), target)
    assert with_zero.item() == 0.0
    assert F.soft_margin_loss(tensor_of([1e4, -1e4]), tensor_of([-1.0, 1.0])).item() == 1e4
    assert to_array(F.hardswish(x)).tolist() == [math.inf, 0.0]
    (found,) = gradient(F.hardswish, [math.inf, -math.inf])
    assert found.tolist() == [1.0, 0.0]


def test_a_learned_slope_gets_no_gradient_from_what_passed():
    x = tensor_of([math.inf, 2.0, -3.0])
    weight = tp.tensor(0.25).requires_grad_()
    F.prelu(x, weight).sum().backward()
    assert weight.grad.item() == -3.0


def test_gaussian_variances():
    a, b = tp.zeros(2), tp.ones(2)
    var = tp.tensor([0.0, 2.0]).requires_grad_()
    loss = F.gaussian_nll_loss(a, b, var, eps=0.5, reduction="none")
    np.testing.assert_allclose(
        to_array(loss.detach()), [(math.log(0.5) + 2) / 2, (math.log(2) + 0.5) / 2], rtol=1e-6
    )
    loss.sum().backward()
    assert var.grad[0].item() == pytest.approx((2 - 4) / 2)  # passes the maximum
    with pytest.raises(ValueError, match="negative"):
        F.gaussian_nll_loss(a, b, tp.tensor([-1.0, 1.0]))


def test_zero_targets_count_nothing():
    loss = F.kl_div(tensor_of([-1.0, -2.0]), tensor_of([0.0, 1.0]), reduction="none")
    np.testing.assert_allclose(to_array(loss), [0.0, 2.0])


# ---- CTC against all alignments ----------------------------------------------------------------------


def collapsed(way, blank):
    return [c for c, _ in itertools.groupby(way) if c != blank]


def all_ways(log_probs, target, blank):
    total = -math.inf
    steps, classes = log_probs.shape
    for way in itertools.product(range(classes), repeat=steps):
        if collapsed(way, blank) == list(target):
            total = np.logaddexp(total, sum(log_probs[t, c] for t, c in enumerate(way)))
    return -total


@pytest.mark.parametrize(
    "target, blank", [([1, 1], 0), ([1, 2], 0), ([2], 3), ([], 0), ([0, 2, 0], 3), ([1, 1], 3)]
)
def test_ctc_sums_all_alignments(target, blank):
    logs = tp.randn(4, 4, dtype=tp.float64).log_softmax(-1)
    found = F.ctc_loss(
        logs.unsqueeze(1), tp.tensor(target, dtype=tp.int64).reshape(1, -1), (4,), (len(target),),
        blank, "none",
    )  # fmt: skip
    np.testing.assert_allclose(found.item(), all_ways(to_array(logs), target, blank), rtol=1e-10)


def test_ctc_without_enough_time():
    logs = tp.randn(2, 1, 3).log_softmax(-1).requires_grad_()
    target = tp.tensor([[1, 1]])  # needs a blank between
    assert F.ctc_loss(logs, target, (2,), (2,)).item() == math.inf
    loss = F.ctc_loss(logs, target, (2,), (2,), zero_infinity=True)
    loss.backward()
    assert loss.item() == 0.0
    assert not logs.grad.any()


# ---- bags and tables ---------------------------------------------------------------------------------


def test_empty_bags_are_zero():
    table = tp.arange(6.0).reshape(3, 2) + 1
    for mode in ("sum", "mean", "max"):
        found = F.embedding_bag(tp.tensor([2, 0]), table, tp.tensor([0, 0, 2]), mode=mode)
        assert found[0].tolist() == [0.0, 0.0]
        assert found[2].tolist() == [0.0, 0.0]
        padded = F.embedding_bag(tp.tensor([[1, 1]]), table, mode=mode, padding_idx=1)
        assert padded.tolist() == [[0.0, 0.0]]


def test_long_rows_are_shortened_in_the_table():
    table = tp.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    found = F.embedding(tp.tensor([0, 1, 0]), table, max_norm=1.0)
    np.testing.assert_allclose(to_array(found), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(to_array(table), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)


def test_gradients_by_frequency_and_padding():
    table = tp.zeros(4, 1).requires_grad_()
    F.embedding(tp.tensor([1, 1, 2, 3]), table, 3, scale_grad_by_freq=True).sum().backward()
    assert table.grad.reshape(-1).tolist() == [0.0, 1.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="sparse"):
        F.embedding(tp.tensor([1]), table, sparse=True)


# ---- random ------------------------------------------------------------------------------------------


def test_alpha_dropout_keeps_mean_and_variance():
    tp.manual_seed(0)
    found = to_array(F.alpha_dropout(tp.randn(200_000), 0.3, training=True))
    assert abs(found.mean()) < 0.02
    assert abs(found.var() - 1) < 0.02


@pytest.mark.parametrize(
    "function, shape, dims",
    [(F.dropout1d, (8, 9, 5), 1), (F.dropout2d, (8, 9, 3, 2), 2), (F.dropout3d, (9, 2, 3, 2), 3)],
)
def test_channels_are_dropped_as_a_whole(function, shape, dims):
    found = to_array(function(tp.ones(shape), 0.5))
    flat = found.reshape(-1, math.prod(shape[-dims:]))
    assert all(len(set(row)) == 1 for row in flat.tolist())
    assert set(flat[:, 0].tolist()) == {0.0, 2.0}


def test_random_slopes_lie_between_their_bounds():
    x = -tp.ones(1000)
    found = -to_array(F.rrelu(x, 0.1, 0.3, training=True))
    assert 0.1 <= found.min() < 0.12
    assert 0.28 < found.max() < 0.3
    np.testing.assert_allclose(to_array(F.rrelu(x, 0.1, 0.3)), -0.2, rtol=1e-6)


def test_gumbel_softmax_draws_by_probability():
    tp.manual_seed(0)
    logits = tensor_of([0.7, 0.2, 0.1]).log().expand(20_000, 3)
    hard = to_array(F.gumbel_softmax(logits, hard=True))
    assert set(np.unique(hard.round(6))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.mean(0), [0.7, 0.2, 0.1], atol=0.02)


# ---- in place ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        F.relu, F.relu6, F.hardtanh, F.hardsigmoid, F.hardswish, F.elu, F.celu, F.selu, F.leaky_relu,
        F.silu, F.mish, F.rrelu,
    ],
    ids=lambda each: each.__name__,
)  # fmt: skip
def test_in_place_is_the_same_function(function):
    data = tp.linspace(-4.0, 7.0, 12)
    leaf = data.clone().requires_grad_()
    x = leaf * 1
    y = function(x, inplace=True)
    assert y is x
    y.sum().backward()
    other = data.clone().requires_grad_()
    z = function(other)
    z.sum().backward()
    np.testing.assert_array_equal(to_array(y.detach()), to_array(z.detach()))
    np.testing.assert_array_equal(to_array(leaf.grad), to_array(other.grad))


def test_softmax_without_a_dimension_warns():
    with pytest.warns(UserWarning, match="pass dim="):
        found = F.softmax(tp.zeros(2, 4))
    assert found.sum(1).tolist() == [1.0, 1.0]
