"""Random numbers of many distributions: the methods that fill a tensor, and `bernoulli`, `normal`, `multinomial`.

Each draws one state of the generator and transforms uniform or normal numbers of it, so that eager and
compiled calls draw the same ones. Half precision computes in float32, integers in float64.

>>> import tensorplay as tp
>>> (tp.zeros(3).exponential_(2.0) > 0).all()
tensor(True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType, Number, iinfo
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DimensionError, DTypeError
from tensorplay.core.meta import TensorMeta
from tensorplay.core.random import Generator
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.random import (
    drawn_state,
    integers_from,
    normal_from,
    open_uniform_from,
    rand,
    rand_like,
    randn,
    uniform_from,
)
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import checked_sizes, dtype_of, is_tensor, to_sizes

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


_RANDOM = "it draws random numbers"


def _compute(dtype: DType) -> DType:
    return dtype.compute if dtype.is_floating_point else dtypes.float64


def _open_unit(input: Tensor, generator: Generator | None) -> Tensor:
    """Uniform numbers in (0, 1), without the ends."""
    seed, offset = drawn_state(generator)
    return open_uniform_from(seed, offset, tuple(input.shape), _compute(input.dtype))


def _floating(name: str, input: Tensor | TensorMeta | Array) -> None:
    if not dtype_of(input).is_floating_point:
        msg = f"{name}: expected a floating-point tensor, found {dtype_of(input)}"
        raise DTypeError(msg)


def _positive(name: str, what: str, number: float) -> None:
    if not number > 0:
        msg = f"{name}: {what} must be positive, found {number}"
        raise ArgumentValueError(msg)


# ---- methods that fill -------------------------------------------------------------------------------------


@composite(public=False, inplace=True)
def uniform(
    input: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Uniform random numbers in `[low, high)` with the shape and dtype of `input`; both parts of complex ones.

    >>> import tensorplay as tp
    >>> x = tp.empty(100).uniform_(2, 3)
    >>> x.min() >= 2, x.max() <= 3
    (tensor(True), tensor(True))
    """
    if low > high:
        msg = f"uniform_: expected low <= high, found {low} and {high}"
        raise ArgumentValueError(msg)
    least = complex(low, low) if input.dtype.is_complex else low
    return rand_like(input, generator=generator) * (high - low) + least


@composite(public=False, inplace="normal_")
def normal_values(
    input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Normal random numbers with the shape and dtype of `input`.

    >>> import tensorplay as tp
    >>> tp.empty(2, 3).normal_(mean=1.0, std=2.0).shape
    (2, 3)
    """
    if not input.dtype.is_complex:
        _floating("normal_", input)
    if not std >= 0:
        msg = f"normal_: std must not be negative, found {std}"
        raise ArgumentValueError(msg)
    return tp.randn_like(input, generator=generator) * std + mean


@composite(public=False, inplace=True)
def log_normal(
    input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """The exponential of normal random numbers with this mean and standard deviation.

    >>> import tensorplay as tp
    >>> tp.empty(100).log_normal_().min() > 0
    tensor(True)
    """
    _floating("log_normal_", input)
    _positive("log_normal_", "std", std)
    seed, offset = drawn_state(generator)
    numbers = normal_from(seed, offset, tuple(input.shape), _compute(input.dtype))
    return (numbers * std + mean).exp().to(input.dtype)


@composite(public=False, inplace=True)
def exponential(input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Numbers of the density `lambd exp(-lambd x)`, x > 0.

    >>> import tensorplay as tp
    >>> tp.empty(100).exponential_(2.0).min() > 0
    tensor(True)
    """
    _floating("exponential_", input)
    _positive("exponential_", "lambd", lambd)
    return (_open_unit(input, generator).log() * (-1 / lambd)).to(input.dtype)


@composite(public=False, inplace=True)
def cauchy(
    input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Numbers of the density `sigma / (π (sigma² + (x - median)²))`.

    >>> import tensorplay as tp
    >>> tp.empty(2, 3).cauchy_().shape
    (2, 3)
    """
    _floating("cauchy_", input)
    _positive("cauchy_", "sigma", sigma)
    turned = ((_open_unit(input, generator) - 0.5) * math.pi).tan()
    return (turned * sigma + median).to(input.dtype)


@composite(public=False, inplace=True)
def geometric(input: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """How many trials of probability `p` it takes to the first success, at least 1.

    >>> import tensorplay as tp
    >>> tp.empty(100).geometric_(0.5).min() >= 1
    tensor(True)
    """
    if not 0 < p < 1:
        msg = f"geometric_: p must be between 0 and 1, found {p}"
        raise ArgumentValueError(msg)
    trials = _open_unit(input, generator).log() * (1 / math.log1p(-p))
    return trials.ceil().clamp(1).to(input.dtype)


_WHOLE = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Up to which power of two a floating-point dtype holds every whole number."""


@composite(public=False, inplace=True)
def random(
    input: Tensor, low: int | None = None, high: int | None = None, *, generator: Generator | None = None
) -> Tensor:  # fmt: skip
    """Whole numbers in `[low, high)`: `random_(high)`, `random_(low, high)`, or all that the dtype holds.

    Of floats the numbers from 0 to the largest power of two below which every whole number is exact.

    >>> import tensorplay as tp
    >>> x = tp.empty(100).random_(3, 8)
    >>> x.min() >= 3, x.max() < 8
    (tensor(True), tensor(True))
    """
    if low is None:
        least, limit = 0, _limit(input.dtype)
    elif high is None:
        least, limit = 0, low
    else:
        least, limit = low, high
    if least >= limit:
        msg = f"random_: expected low < high, found {least} and {limit}"
        raise ArgumentValueError(msg)
    seed, offset = drawn_state(generator)
    return integers_from(seed, offset, tuple(input.shape), int(least), int(limit), input.dtype)


def _limit(dtype: DType) -> int:
    if dtype.kind == "b":
        return 2
    if dtype.is_integral:
        return min(iinfo(dtype).max, iinfo(dtypes.int64).max - 1) + 1
    if dtype.name not in _WHOLE:
        msg = f"random_: expected real numbers, found {dtype}"
        raise DTypeError(msg)
    return (1 << _WHOLE[dtype.name]) + 1


# ---- zeros and ones ----------------------------------------------------------------------------------------


def _trials(shape: Any, p: Tensor | float, generator: Generator | None) -> Tensor:  # noqa: ANN401  # a shape
    """Whether uniform numbers are below `p`, in the compute dtype of `p`, whose steps then have no bias."""
    if is_tensor(p):
        _floating("bernoulli", p)  # type: ignore[arg-type]  # a tensor
        compute: Any = p.dtype.compute  # type: ignore[union-attr]  # its role says so
        _probabilities(p)  # type: ignore[arg-type]  # its role says so
        return rand(tuple(shape), dtype=compute, generator=generator) < p.to(compute)  # type: ignore[union-attr]  # its role says so
    if not 0 <= p <= 1:
        msg = f"bernoulli: p must be in [0, 1], found {p}"
        raise ArgumentValueError(msg)
    return rand(tuple(shape), dtype=dtypes.float64, generator=generator) < p


def _probabilities(p: Tensor) -> None:
    """Refuse data outside of [0, 1]; a recorded tensor has none, and its compiled program does not look."""
    if p.array is not None and not ((p.array >= 0) & (p.array <= 1)).all():
        msg = "bernoulli: probabilities must be in [0, 1], found others or NaN in the tensor"
        raise ArgumentValueError(msg)


@composite(method=True)
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability that the element gives, else 0; with `p`, one probability for all.

    >>> import tensorplay as tp
    >>> tp.bernoulli(tp.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    return _trials(input.shape, input if p is None else p, generator).to(input.dtype)


@composite(public=False, inplace="bernoulli_")
def bernoulli_values(
    input: Tensor, p: Tensor | Number = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability `p`, a number or a tensor that broadcasts, else 0; of any dtype.

    >>> import tensorplay as tp
    >>> tp.empty(3).bernoulli_(tp.tensor([0.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    return _trials(input.shape, p, generator).to(input.dtype)  # type: ignore[arg-type]  # a real number


# ---- normal, multinomial -------------------------------------------------------------------------------------


@composite(factory=True)
def normal(
    mean: Tensor | Number,
    std: Tensor | Number = 1.0,
    size: object = None,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Normal random numbers: `normal(mean, std)` with a tensor among them, or `normal(0.0, 1.0, size)`.

    The tensors broadcast. Raises `ArgumentError` where neither a tensor nor a size is given.

    >>> import tensorplay as tp
    >>> tp.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    given: list[Any] = [each for each in (mean, std) if is_tensor(each)]
    if size is None and not given:
        msg = "normal: give a tensor of means or of standard deviations, or a size"
        raise ArgumentError(msg)
    if not is_tensor(std) and not std >= 0:  # type: ignore[operator]  # a real number
        msg = f"normal: std must not be negative, found {std}"
        raise ArgumentValueError(msg)
    if size is None:
        shape = layout.broadcast_shapes("normal", [tuple(each.shape) for each in given])
    else:
        shape = to_sizes(size)
        checked_sizes("normal", shape)
    found = dtype or (given[0].dtype if given else dtypes.get_default_dtype())
    drawn = randn(shape, dtype=found, device=device, generator=generator)
    return (drawn * std + mean).to(found)


def _weights_meta(input: TensorMeta) -> TensorMeta:
    _floating("multinomial", input)
    return TensorMeta(input.shape, dtypes.float64, input.device)


@structured(meta=_weights_meta, public=False, not_differentiable=_RANDOM, batching=leading)
def category_weights(input: Array) -> Array:
    """The weights of categories (..., C) in float64; refused where they are no weights."""
    _floating("multinomial", input)
    weights = np.array(convert(input, dtype=dtypes.float64), order="C")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        msg = "multinomial: weights must be finite and not negative, found infinity, NaN or a negative number"
        raise ArgumentValueError(msg)
    if not (weights > 0).any(-1).all():
        msg = "multinomial: no category of a row has a weight above 0"
        raise ArgumentValueError(msg)
    return weights


@composite(method=True)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with the probabilities that a vector, or each row of a matrix, has up to a factor.

    int64, `num_samples` in the last dimension. Weights that are negative, infinite or NaN, and rows
    without any, raise `ArgumentValueError`. Without replacement by the times of exponential clocks,
    the first ones to ring; with it by the inverse of the running sum.

    >>> import tensorplay as tp
    >>> tp.multinomial(tp.tensor([0.0, 3.0]), 4, replacement=True)
    tensor([1, 1, 1, 1])
    """
    if input.ndim not in {1, 2}:
        msg = f"multinomial: expected a vector or a matrix, found shape {tuple(input.shape)}"
        raise DimensionError(msg)
    count = input.shape[-1]
    if num_samples <= 0 or (not replacement and num_samples > count):
        msg = f"multinomial: cannot draw {num_samples} of {count} categories, replacement={replacement}"
        raise ArgumentValueError(msg)
    weights = tp.category_weights(input)
    seed, offset = drawn_state(generator)
    if not replacement:
        clocks = open_uniform_from(seed, offset, tuple(input.shape), dtypes.float64)
        drawn: Tensor = (weights / -clocks.log()).topk(num_samples, -1)[1]
        return drawn
    shape = (*input.shape[:-1], num_samples)
    places = uniform_from(seed, offset, shape, dtypes.float64)
    sums = weights.cumsum(-1)
    total = sums.narrow(-1, count - 1, 1)
    below = (places * total).minimum(total.nextafter(total - 1))
    found: Tensor = tp.searchsorted(sums, below.contiguous(), right=True)
    return found


# ---- samples ---------------------------------------------------------------------------------------------------


@uniform.sample
@normal_values.sample
@log_normal.sample
@exponential.sample
@cauchy.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.0, high=1.0))
    yield sample(Arg((4, 3), dtypes.float64, layout="transposed"))
    yield sample(Arg((5,), dtypes.bfloat16))
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))


@geometric.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.3)
    yield sample(Arg((5,), dtypes.int64), 0.5)
    yield bad(ArgumentValueError, "between 0 and 1", Arg((3,)), 1.0)


@random.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), dtypes.int32), 5)
    yield sample(Arg((3, 4), dtypes.int64), -3, 9)
    yield sample(Arg((3,), dtypes.bool_))
    yield bad(ArgumentValueError, "low < high", Arg((3,)), 5, 5)


@bernoulli.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.0, high=1.0))
    yield sample(Arg((4, 3), dtypes.bfloat16, low=0.0, high=1.0, layout="transposed"))
    yield sample(Arg((3,), dtypes.int64), 0.25)
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))
    yield bad(ArgumentValueError, r"\[0, 1\]", Arg((3,)), 1.5)


@bernoulli_values.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), dtypes.int64), 0.25)
    yield sample(Arg((3, 4)), Arg((4,), low=0.0, high=1.0))
    yield bad(ArgumentValueError, r"\[0, 1\]", Arg((3,)), -0.5)


@normal.sample
def _() -> Iterator[Sample]:
    yield sample(0.5, 2.0, (3, 4))
    yield sample(Arg((3, 1)), Arg((4,), low=0.5))
    yield sample(Arg((3,), dtypes.float64))
    yield sample(1.0, Arg((3,), low=0.5))
    yield bad(ArgumentError, "or a size", 0.0, 1.0)
    yield bad(ArgumentValueError, "negative", 0.0, -1.0, (3,))


@multinomial.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((5,), low=0.1, high=1.0), 3)
    yield sample(Arg((2, 5), low=0.1, high=1.0), 5)
    yield sample(Arg((2, 5), low=0.1, high=1.0), 8, True)
    yield bad(ArgumentValueError, "cannot draw", Arg((3,)), 4)
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64), 1)
    yield bad(DimensionError, "vector", Arg((2, 2, 2)), 1)


@category_weights.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 5), low=0.1, high=1.0))
    yield sample(Arg((5, 2), dtypes.bfloat16, low=0.1, high=1.0, layout="transposed"))
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))
