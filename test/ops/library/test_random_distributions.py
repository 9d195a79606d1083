"""Random numbers: distributions against SciPy's (Kolmogorov and Smirnov, chi squared), the same numbers compiled, errors."""

import math

import numpy as np
import pytest
import scipy.stats

import tensorplay as tp
from tensorplay.core.errors import ArgumentValueError

COUNT = 20_000
LEAST = 1e-4
"""A right generator fails a test with this probability; the seeds are fixed."""


def filled(name, *args, dtype=tp.float32):
    x = tp.empty(COUNT, dtype=dtype)
    found = getattr(x, name)(*args, generator=tp.Generator(11))
    assert found is x
    return x.double().numpy()


@pytest.mark.parametrize("dtype", [tp.float32, tp.float64], ids=str)
@pytest.mark.parametrize(
    "name, args, law",
    [
        ("uniform_", (-1.0, 3.0), scipy.stats.uniform(-1, 4)), ("normal_", (1.0, 2.0), scipy.stats.norm(1, 2)),
        ("exponential_", (2.0,), scipy.stats.expon(scale=0.5)), ("cauchy_", (1.0, 3.0), scipy.stats.cauchy(1, 3)),
        ("log_normal_", (0.5, 0.7), scipy.stats.lognorm(0.7, scale=math.exp(0.5))),
    ],
)  # fmt: skip
def test_continuous_distributions(name, args, law, dtype):
    assert scipy.stats.kstest(filled(name, *args, dtype=dtype), law.cdf).pvalue > LEAST


def chi_squared(found, law, least, most):
    """The p-value of counts of `least … most` and of all beyond."""
    ks = np.arange(least, most + 1)
    expected = np.append(law.pmf(ks), 1 - law.pmf(ks).sum()) * found.size
    counts = np.append([(found == k).sum() for k in ks], 0)
    counts[-1] = found.size - counts.sum()
    keep = expected > 5
    return scipy.stats.chisquare(
        counts[keep], expected[keep] * counts[keep].sum() / expected[keep].sum()
    ).pvalue


def test_whole_numbers():
    assert chi_squared(filled("geometric_", 0.3), scipy.stats.geom(0.3), 1, 20) > LEAST
    assert (
        chi_squared(filled("random_", -2, 5, dtype=tp.int32), scipy.stats.randint(-2, 5), -2, 4)
        > LEAST
    )
    assert (
        chi_squared(filled("bernoulli_", 0.3, dtype=tp.int64), scipy.stats.bernoulli(0.3), 0, 1)
        > LEAST
    )
    for rate in (0.4, 7.0, 30.0, 300.0):
        found = tp.poisson(tp.full((COUNT,), rate), tp.Generator(3)).numpy()
        law = scipy.stats.poisson(rate)
        assert chi_squared(found, law, *(int(law.ppf(q)) for q in (0.001, 0.999))) > LEAST, rate
    for count, chance in ((5, 0.3), (40, 0.9), (100, 0.4), (10_000, 0.5)):
        counts = tp.full((COUNT,), float(count))
        found = tp.binomial(counts, tp.tensor(chance), tp.Generator(4)).numpy()
        law = scipy.stats.binom(count, chance)
        assert chi_squared(found, law, *(int(law.ppf(q)) for q in (0.001, 0.999))) > LEAST, count


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.5, 100.0])
def test_gamma(shape):
    found = tp._standard_gamma(tp.full((COUNT,), shape, dtype=tp.float64), tp.Generator(5)).numpy()
    assert scipy.stats.kstest(found, scipy.stats.gamma(shape).cdf).pvalue > LEAST


def test_bernoulli_of_half_precision_has_no_bias():
    """A probability of bfloat16 is no multiple of the 2**-8 that a bfloat16 uniform number has."""
    p = tp.full((400_000,), 0.0021, dtype=tp.bfloat16)
    share = tp.bernoulli(p, generator=tp.Generator(6)).float().mean().item()
    assert share == pytest.approx(float(p[0].item()), rel=0.15)


def test_multinomial():
    weights = np.array([0.0, 1.0, 3.0, 0.5, 0.0])
    found = tp.multinomial(
        tp.from_numpy(weights), COUNT, replacement=True, generator=tp.Generator(7)
    ).numpy()
    counts = np.bincount(found, minlength=5)
    assert counts[0] == counts[4] == 0
    expected = weights[1:4] / weights.sum() * COUNT
    assert scipy.stats.chisquare(counts[1:4], expected).pvalue > LEAST
    rows = tp.from_numpy(np.broadcast_to(weights, (COUNT, 5)).copy())
    pairs = tp.multinomial(rows, 3, generator=tp.Generator(8)).numpy()
    assert (np.sort(pairs, 1) == [1, 2, 3]).all()
    assert (
        scipy.stats.chisquare(np.bincount(pairs[:, 0], minlength=5)[1:4], expected).pvalue > LEAST
    )
    second = pairs[pairs[:, 0] == 2][:, 1]
    share = np.array([1.0, 0.5]) / 1.5 * second.size
    assert scipy.stats.chisquare(np.bincount(second, minlength=4)[[1, 3]], share).pvalue > LEAST


def test_normal_takes_tensors_and_sizes():
    means = tp.tensor([0.0, 100.0], dtype=tp.float64)
    assert tp.normal(means, 1.0).dtype is tp.float64
    assert tp.normal(means, tp.ones(3, 1)).shape == (3, 2)
    assert tp.normal(2.0, tp.ones(4)).shape == (4,)
    assert tp.normal(0.0, 1.0, (2, 3)).shape == (2, 3)
    found = tp.normal(tp.full((COUNT,), 3.0), 0.5, generator=tp.Generator(9)).numpy()
    assert scipy.stats.kstest(found, scipy.stats.norm(3, 0.5).cdf).pvalue > LEAST


def test_random_covers_a_dtype():
    assert set(tp.empty(4000, dtype=tp.int8).random_().numpy()) == set(range(128))
    assert set(tp.empty(100, dtype=tp.bool).random_().tolist()) == {False, True}
    assert tp.empty(1000).random_().max().item() <= 2**24
    assert tp.empty(1000, dtype=tp.int64).random_().min().item() >= 0


def test_errors_that_depend_on_the_elements():
    with pytest.raises(ArgumentValueError, match="negative"):
        tp.poisson(tp.tensor([-1.0]))
    with pytest.raises(ArgumentValueError, match="probabilities"):
        tp.binomial(tp.tensor([3.0]), tp.tensor([1.5]))
    with pytest.raises(ArgumentValueError, match="positive"):
        tp._standard_gamma(tp.tensor([0.0]))


def everything(x):
    return (
        x.clone().exponential_(), x.clone().cauchy_(), x.clone().geometric_(0.3), x.clone().random_(9),
        x.clone().log_normal_(), x.clone().bernoulli_(0.4), tp.bernoulli(x), tp.normal(x, 2.0),
        tp.poisson(x * 20), tp.multinomial(x, 3), tp.randint_like(x, 7),
    )  # fmt: skip


def test_compiled_calls_draw_the_same_numbers():
    x = tp.linspace(0.1, 0.9, 40)
    tp.manual_seed(21)
    right = everything(x)
    tp.manual_seed(21)
    found = tp.compile(everything, strict_native=False)(x)
    for a, b in zip(found, right, strict=True):
        assert np.array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("p", [-0.5, 1.5, math.nan])
def test_probabilities_outside_of_0_and_1_are_refused(p):
    with pytest.raises(ArgumentValueError, match=r"in \[0, 1\]"):
        tp.bernoulli(tp.tensor([0.5, p]))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "weights, words",
    [
        ([1.0, -1.0], "negative"),
        ([math.inf, 1.0], "finite"),
        ([math.nan, 1.0], "finite"),
        ([0.0, 0.0], "above 0"),
    ],
)
def test_weights_that_are_none_are_refused(weights, words, compiled):
    def draw(x):
        return tp.multinomial(x, 1)

    function = tp.compile(draw, strict_native=False) if compiled else draw
    with pytest.raises(ArgumentValueError, match=words):
        function(tp.tensor(weights))


def test_complex_normal_numbers_have_variance_one():
    x = tp.randn(COUNT, dtype=tp.complex128, generator=tp.Generator(5)).numpy()
    for part in (x.real, x.imag):
        assert scipy.stats.kstest(part * math.sqrt(2), "norm").pvalue > LEAST
    assert abs(np.corrcoef(x.real, x.imag)[0, 1]) < 0.03


def test_complex_tensors_fill_both_parts():
    x = tp.empty(COUNT, dtype=tp.complex128).uniform_(2, 3, generator=tp.Generator(3)).numpy()
    for part in (x.real, x.imag):
        assert scipy.stats.kstest(part, "uniform", args=(2, 1)).pvalue > LEAST
    y = tp.empty(COUNT, dtype=tp.complex64).normal_(1.0, 2.0, generator=tp.Generator(3)).numpy()
    assert abs(y.mean() - 1) < 0.05
    assert abs(y.var() - 4) < 0.2
