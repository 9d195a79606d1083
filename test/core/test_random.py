"""Random numbers: the published vectors of Philox, streams, distributions."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core.errors import ArgumentValueError
from tensorplay.core.random import Generator
from tensorplay.ops.arrays import philox

# Known answers of philox4x32-10 from Random123 (Salmon et al.): counter words, key words, output words 0 and 1.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB),
    ),
]


def pair(low, high):
    return np.array([low | high << 32], np.uint64).view(np.int64)


@pytest.mark.parametrize("counter, key, words", KNOWN)
def test_philox_known_answers(counter, key, words):
    found = philox(pair(*key), pair(*counter[2:]), pair(*counter[:2]))
    assert (int(found[0]) & 0xFFFFFFFF, int(found[0]) >> 32) == words


def test_a_seed_gives_a_stream_and_each_call_goes_on():
    tp.manual_seed(5)
    a, b = tp.rand(4), tp.rand(4)
    tp.manual_seed(5)
    assert tp.equal(tp.rand(4), a)
    state = tp.get_rng_state()
    assert tp.equal(tp.rand(4), b)
    tp.set_rng_state(state)
    assert tp.equal(tp.rand(4), b)
    assert not tp.equal(a, b)
    assert tp.initial_seed() == 5


def test_generators_are_independent_of_the_default_one():
    mine = Generator(9)
    tp.manual_seed(1)
    first = tp.randn(3, generator=mine)
    default = tp.randn(3)
    tp.manual_seed(1)
    assert tp.equal(tp.randn(3), default)
    assert tp.equal(tp.randn(3, generator=mine.manual_seed(9)), first)
    assert mine.seed() == mine.initial_seed()


def test_an_element_depends_on_its_index_only():
    tp.manual_seed(2)
    small = tp.rand(5)
    tp.manual_seed(2)
    assert tp.equal(tp.rand(2, 5)[0], small)


@pytest.mark.parametrize("dtype", [tp.float16, tp.bfloat16, tp.float32, tp.float64], ids=str)
def test_uniform_numbers_lie_in_the_half_open_interval(dtype):
    x = tp.rand(100_000, dtype=dtype).double().numpy()
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 0.006
    assert abs(x.var() - 1 / 12) < 0.002


@pytest.mark.parametrize("dtype", [tp.float32, tp.float64], ids=str)
def test_normal_moments(dtype):
    x = tp.randn(100_000, dtype=dtype).double().numpy()
    moments = [np.mean(x**k) for k in (1, 2, 3, 4)]
    assert np.allclose(moments, [0, 1, 0, 3], atol=0.1)
    assert np.isfinite(x).all()


def test_integers_permutations_and_coins():
    x = tp.randint(-3, 4, (10_000,)).numpy()
    assert sorted(set(x)) == list(range(-3, 4))
    assert sorted(tp.randperm(50).tolist()) == list(range(50))
    assert tp.bernoulli(tp.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(ArgumentValueError, match="low < high"):
        tp.randint(3, 3, (1,))


def test_in_place():
    x = tp.zeros(1000)
    assert x.uniform_(2, 3) is x
    assert 2 <= float(x.min()) <= float(x.max()) < 3
    x.normal_(10, 0.1)
    assert abs(float(x.mean()) - 10) < 0.1
