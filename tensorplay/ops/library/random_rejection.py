"""Random counts and gamma variates: drawn by rejection, so each element takes as many numbers as it needs.

Uniform number k of element i has the Philox counter `(i + k 2**48, offset)`, so a call is a pure function of
its random state: eager and compiled calls, which run the same kernel, draw the same numbers.

>>> import tensorplay as tp
>>> tp.poisson(tp.tensor([0.0, 0.0]))
tensor([0., 0.])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.errors import ArgumentValueError, DTypeError
from tensorplay.core.meta import TensorMeta
from tensorplay.core.random import Generator
from tensorplay.ops import arrays
from tensorplay.ops.arrays import Array
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.random import rng_state
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_RANDOM = "it draws random numbers"
_lgamma = arrays.native("lgamma")


class _Draws:
    """The uniform numbers in (0, 1) of a random state, each element's in turn."""

    def __init__(self, state: Array) -> None:
        self.seed, self.offset = state[0], state[1]
        self.taken = 0

    def uniform(self, places: Array) -> Array:
        """The next number of the elements at `places`."""
        bits = arrays.philox(self.seed, self.offset, places + (self.taken << 48))
        self.taken += 1
        return (((bits >> np.uint64(12)) * np.uint64(2)).astype(np.float64) + 1) * 2.0**-53


Trial = Callable[[Array], tuple[Array, Array]]
"""Given the places that still wait: their candidates, and which are accepted."""


def _until_accepted(places: Array, found: Array, trial: Trial) -> None:
    while places.size:
        candidates, accepted = trial(places)
        found[places[accepted]] = candidates[accepted]
        places = places[~accepted]


def _float_meta(name: str, *operands: Any) -> TensorMeta:  # noqa: ANN401  # metas or arrays
    kinds = {dtype_of(each) for each in operands}
    if len(kinds) > 1 or not next(iter(kinds)).is_floating_point:
        found = ", ".join(sorted(str(each) for each in kinds))
        msg = f"{name}: expected floating-point tensors of one dtype, found {found}"
        raise DTypeError(msg)
    shape = layout.broadcast_shapes(name, [tuple(each.shape) for each in operands])
    return TensorMeta(shape, next(iter(kinds)))


def _flat(name: str, *operands: Array) -> tuple[TensorMeta, list[Array]]:
    meta = _float_meta(name, *operands)
    wide = [np.broadcast_to(each, meta.shape).astype(np.float64).reshape(-1) for each in operands]
    return meta, wide


def _shaped(found: Array, meta: TensorMeta) -> Array:
    return found.astype(meta.dtype.numpy).reshape(meta.shape)


def _search(first: Array, ratio: Callable[[Array, int], Array], uniform: Array) -> Array:
    """The least k where the sum of the probabilities up to k reaches a uniform number.

    `first` is that of 0, `ratio(probability, k)` that of k from the one before.
    """
    found = np.zeros(uniform.shape)
    probability, total = first.copy(), first.copy()
    k = 0
    while True:
        waiting = (uniform > total) & (probability > 0)
        if not waiting.any():
            return found
        k += 1
        probability = ratio(probability, k)
        total += probability
        found[waiting] = k


# ---- Poisson ------------------------------------------------------------------------------------------------


@structured(
    meta=lambda input, state: _float_meta("poisson", input), public=False, not_differentiable=_RANDOM
)  # fmt: skip
def poisson_from(input: Array, state: Array) -> Array:
    """Poisson numbers of a random state: by search below a rate of 10, else by Hörmann's PTRS (1993)."""
    meta, (rate,) = _flat("poisson", input)
    if (rate < 0).any():
        msg = f"poisson: rates must not be negative, found {rate.min()}"
        raise ArgumentValueError(msg)
    draws = _Draws(state)
    found = np.where(np.isnan(rate), np.nan, 0.0)
    low = np.flatnonzero(rate < 10)
    small = rate[low]
    found[low] = _search(np.exp(-small), lambda p, k: p * small / k, draws.uniform(low))

    def trial(places: Array) -> tuple[Array, Array]:
        mean = rate[places]
        b = 0.931 + 2.53 * np.sqrt(mean)
        a = -0.059 + 0.02483 * b
        u, v = draws.uniform(places) - 0.5, draws.uniform(places)
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a / us + b) * u + mean + 0.43)
        quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        left = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
        exact = left <= k * np.log(mean) - mean - _lgamma(np.maximum(k, 0) + 1)
        return k, quick | ((k >= 0) & ((us >= 0.013) | (v <= us)) & exact)

    _until_accepted(np.flatnonzero((rate >= 10) & (rate < np.inf)), found, trial)
    found[rate == np.inf] = np.inf
    return _shaped(found, meta)


@composite()
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson random numbers with the rates that the elements give, in their dtype.

    Raises `ArgumentValueError` for a negative rate.

    >>> import tensorplay as tp
    >>> tp.poisson(tp.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    return poisson_from(input, rng_state(1, generator))


# ---- binomial -----------------------------------------------------------------------------------------------


@structured(
    meta=lambda count, prob, state: _float_meta("binomial", count, prob), public=False,
    not_differentiable=_RANDOM,
)  # fmt: skip
def binomial_from(count: Array, prob: Array, state: Array) -> Array:
    """Binomial numbers of a random state: by search below a mean of 10, else by Hörmann's BTRS (1993)."""
    meta, (n, chance) = _flat("binomial", count, prob)
    if (n < 0).any() or ((chance < 0) | (chance > 1)).any():
        msg = "binomial: counts must not be negative, and probabilities in [0, 1]"
        raise ArgumentValueError(msg)
    draws = _Draws(state)
    n = np.floor(n)
    p = np.minimum(chance, 1 - chance)  # of what is rarer
    found = np.zeros(n.shape)
    low = np.flatnonzero(n * p < 10)
    m, q = n[low], p[low]
    odds = q / (1 - q)
    first = np.exp(m * np.log1p(-q))
    found[low] = _search(
        first, lambda x, k: x * odds * np.maximum(m - k + 1, 0) / k, draws.uniform(low)
    )

    def trial(places: Array) -> tuple[Array, Array]:
        m, q = n[places], p[places]
        spread = np.sqrt(m * q * (1 - q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * q
        u, v = draws.uniform(places) - 0.5, draws.uniform(places)
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a / us + b) * u + m * q + 0.5)
        inside = (k >= 0) & (k <= m)
        quick = (us >= 0.07) & (v <= 0.92 - 4.2 / b) & inside
        safe, mode = np.where(inside, k, 0), np.floor((m + 1) * q)
        left = np.log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b))
        right = (
            _lgamma(mode + 1) + _lgamma(m - mode + 1) - _lgamma(safe + 1) - _lgamma(m - safe + 1)
            + (safe - mode) * np.log(q / (1 - q))
        )  # fmt: skip
        return k, quick | (inside & (left <= right))

    _until_accepted(np.flatnonzero(n * p >= 10), found, trial)
    found = np.where(chance > 0.5, n - found, found)
    return _shaped(np.where(np.isnan(chance) | np.isnan(n), np.nan, found), meta)


@composite()
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials of probability `prob` succeed; the operands broadcast, of one dtype.

    Raises `ArgumentValueError` for a negative count or a probability outside of [0, 1].

    >>> import tensorplay as tp
    >>> tp.binomial(tp.tensor([5.0, 5.0]), tp.tensor([0.0, 1.0]))
    tensor([0., 5.])
    """
    return binomial_from(count, prob, rng_state(1, generator))


# ---- gamma --------------------------------------------------------------------------------------------------


@structured(
    meta=lambda input, state: _float_meta("_standard_gamma", input), public=False,
    not_differentiable=_RANDOM,
)  # fmt: skip
def standard_gamma_from(input: Array, state: Array) -> Array:
    """Gamma variates of a random state, by Marsaglia and Tsang's method (2000)."""
    meta, (shape,) = _flat("_standard_gamma", input)
    if not (shape > 0).all():
        msg = "_standard_gamma: shape parameters must be positive"
        raise ArgumentValueError(msg)
    draws = _Draws(state)
    every = np.arange(shape.size)
    # Below 1 a variate of shape + 1, times u**(1 / shape).
    boost = np.where(shape < 1, draws.uniform(every) ** (1 / shape), 1.0)
    d = np.where(shape < 1, shape + 1, shape) - 1 / 3
    found = np.zeros(shape.shape)

    def trial(places: Array) -> tuple[Array, Array]:
        mean = d[places]
        radius = np.sqrt(-2 * np.log(draws.uniform(places)))
        x = radius * np.cos(2 * np.pi * draws.uniform(places))
        v = (1 + x / np.sqrt(9 * mean)) ** 3
        left = np.log(draws.uniform(places))
        return mean * v, (v > 0) & (left < 0.5 * x * x + mean * (1 - v + np.log(v)))

    _until_accepted(every, found, trial)
    return _shaped(found * boost, meta)


@composite(name="_standard_gamma")
def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random numbers of the gamma distribution with these shape parameters and rate 1, in their dtype.

    Raises `ArgumentValueError` where one is not positive.

    >>> import tensorplay as tp
    >>> tp._standard_gamma(tp.ones(100)).min() > 0
    tensor(True)
    """
    return standard_gamma_from(input, rng_state(1, generator))


# ---- samples --------------------------------------------------------------------------------------------------

_STATE = Arg((2,), dtypes.int64, values=[3, 5])


@poisson_from.sample
@standard_gamma_from.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.1, high=30.0), _STATE)
    yield sample(Arg((4, 3), dtypes.float64, low=0.1, high=30.0, layout="transposed"), _STATE)
    yield sample(Arg((5,), dtypes.bfloat16, low=0.1, high=30.0), _STATE)
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64), _STATE)


@poisson.sample
@standard_gamma.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.1, high=30.0))
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))


@binomial_from.sample
def _() -> Iterator[Sample]:
    counts = Arg((3, 4), low=1, high=90)
    yield sample(counts, Arg((4,), low=0.0, high=1.0), _STATE)
    yield bad(DTypeError, "one dtype", Arg((3,)), Arg((3,), dtypes.float64), _STATE)


@binomial.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=1, high=90), Arg((4,), low=0.0, high=1.0))
    yield bad(DTypeError, "one dtype", Arg((3,)), Arg((3,), dtypes.float64))
