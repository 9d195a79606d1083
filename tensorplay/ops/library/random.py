"""Random tensors: pointwise in (seed, offset, index), so that they fuse and recompute to the same numbers.

A public function takes the generator's state as a tensor (`rng_state`, the only effect) and applies
a pure operator to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.core.random import Generator, default_generator
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise, structured
from tensorplay.ops.library.parts import select
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Sizes, checked_sizes, to_sizes
from tensorplay.ops.values import Linear, Raw, Value

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

# `input` is the name of the tensor parameter everywhere

_RANDOM = "it draws random numbers"


def _state_meta(count: int, generator: Generator | None) -> TensorMeta:
    del count, generator
    return TensorMeta((2,), dtypes.int64)


@structured(meta=_state_meta, public=False, effect=True, not_differentiable=_RANDOM)
def rng_state(count: int = 1, generator: Generator | None = None) -> Array:
    """(seed, offset) of a generator, which advances by `count`: an effect, never merged or dropped."""
    return np.array((generator or default_generator).draw(count), np.int64)


@rng_state.batching
def _(operator: Operator, values: Values, metas: Values, size: int) -> Tensor:
    """One draw for all samples: each gets the offsets of a draw of its own."""
    del metas
    count: Any
    count, generator = values
    state = operator(count * size, generator)
    steps = tp.arange(0, size, 1, dtype=dtypes.int64) * count
    offsets = select(state, 0, 1) + steps
    return tp.stack((select(state, 0, 0).expand(offsets.shape), offsets), 1)


def drawn_state(generator: Generator | None) -> tuple[Tensor, Tensor]:
    """Seed and offset of one draw, as 0-d tensors."""
    state = rng_state(1, generator)
    return select(state, 0, 0), select(state, 0, 1)


_FRACTION = {"float16": 11, "bfloat16": 8, "float32": 24}
"""Random bits of a uniform number: as many as its dtype holds, so that rounding never gives 1."""


def _sized(seed: object, offset: object, size: Sequence[int], *_: object) -> Sequence[int]:
    del seed, offset
    return size


def _unit(bits: Value, dtype: DType) -> Value:
    """A number in [0, 1) from the low half of 64 random bits; from all of them for float64."""
    if dtype is dtypes.float64:
        return ops.to_dtype(ops.to_dtype(bits >> 11, dtypes.int64), dtypes.float64) * 2.0**-53
    width = _FRACTION[dtype.name]
    part = (bits & 0xFFFFFFFF) >> (32 - width)
    return ops.to_dtype(ops.to_dtype(part, dtypes.int32), dtypes.float32) * 2.0**-width


def _float_result(name: str, dtype: DType) -> DType:
    if not dtype.is_floating_point:
        msg = f"{name}: expected a floating-point dtype, found {dtype}; use randint for integers"
        raise DTypeError(msg)
    return dtype


@pointwise(
    shape=_sized, public=False, not_differentiable=_RANDOM,
    result=lambda seed, offset, size, dtype: _float_result("rand", dtype),
)  # fmt: skip
def uniform_from(seed: Raw, offset: Raw, size: Sizes, dtype: DType, linear: Linear) -> Value:
    """Uniform numbers in [0, 1) of a random state."""
    return _unit(ops.philox(seed, offset, linear), dtype)


@pointwise(
    shape=_sized, public=False, not_differentiable=_RANDOM,
    result=lambda seed, offset, size, dtype: _float_result("randn", dtype),
)  # fmt: skip
def normal_from(seed: Raw, offset: Raw, size: Sizes, dtype: DType, linear: Linear) -> Value:
    """Standard normal numbers of a random state (Box and Muller, 1958)."""
    bits = ops.philox(seed, offset, linear)
    compute, width = (dtypes.float64, 32) if dtype is dtypes.float64 else (dtypes.float32, 24)
    low = ops.to_dtype(ops.to_dtype((bits & 0xFFFFFFFF) >> (32 - width), dtypes.int64), compute)
    high = ops.to_dtype(ops.to_dtype(bits >> (64 - width), dtypes.int64), compute)
    radius = ops.sqrt(ops.log((low + 1) * 2.0**-width) * -2)
    return radius * ops.cos(high * (2 * math.pi * 2.0**-width))


def _open_unit(bits: Value, dtype: DType) -> Value:
    """An odd multiple of half the step of `_unit`, so neither 0 nor 1: its logarithm is finite."""
    if dtype is dtypes.float64:
        return (ops.to_dtype(ops.to_dtype(bits >> 12, dtypes.int64), dtype) * 2 + 1) * 2.0**-53
    part = ops.to_dtype((bits & 0xFFFFFFFF) >> 9, dtypes.int32)
    return (ops.to_dtype(part, dtypes.float32) * 2 + 1) * 2.0**-24


@pointwise(
    shape=_sized, public=False, not_differentiable=_RANDOM,
    result=lambda seed, offset, size, dtype: _float_result("rand", dtype).compute,
)  # fmt: skip
def open_uniform_from(seed: Raw, offset: Raw, size: Sizes, dtype: DType, linear: Linear) -> Value:
    """Uniform numbers in (0, 1), without the ends, of a random state, in the compute dtype of `dtype`."""
    return _open_unit(ops.philox(seed, offset, linear), dtype.compute)


@pointwise(
    shape=_sized, public=False, not_differentiable=_RANDOM,
    result=lambda seed, offset, size, low, high, dtype: dtype,
)  # fmt: skip
def integers_from(
    seed: Raw,
    offset: Raw,
    size: Sizes,
    low: int,
    high: int,
    dtype: DType,
    linear: Linear,
) -> Value:
    """Integers in [low, high) of a random state; the bias is below `(high - low) / 2**64`."""
    bits = ops.philox(seed, offset, linear)
    return ops.to_dtype(ops.remainder(bits, high - low), dtypes.int64) + low


@composite(factory=True)
def rand(
    size: Sizes,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Uniform random numbers in [0, 1); of a complex dtype both parts are.

    >>> import tensorplay as tp
    >>> x = tp.rand(100)
    >>> x.min() >= 0, x.max() < 1
    (tensor(True), tensor(True))
    """
    checked_sizes("rand", size)
    return _drawn(uniform_from, size, dtype or dtypes.get_default_dtype(), device, generator)


def _drawn(
    draw: Operator,
    size: Sequence[int],
    dtype: DType,
    device: Device | None,
    generator: Generator | None,
    scale: float = 1,
) -> Tensor:
    """Numbers of a random state; complex ones have two drawn parts, times `scale`."""
    seed, offset = drawn_state(generator)
    if not dtype.is_complex:
        return _placed(draw(seed, offset, size, dtype), device)
    parts = draw(seed, offset, (*size, 2), dtypes.to_real(dtype))
    return _placed(tp.view_as_complex(parts if scale == 1 else parts * scale), device)


def _placed(tensor: Tensor, device: Device | None) -> Tensor:
    return tensor if device is None else tensor.to(device)


@composite(factory=True)
def randn(
    size: Sizes,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Standard normal random numbers; complex ones have variance 1, half of it in each part.

    >>> import tensorplay as tp
    >>> tp.randn(2, 3).shape
    (2, 3)
    """
    checked_sizes("randn", size)
    found = dtype or dtypes.get_default_dtype()
    return _drawn(normal_from, size, found, device, generator, math.sqrt(0.5))


@composite(factory=True)
def randint(
    low: int, high: object = None, size: object = None, *, dtype: DType | None = None,
    device: Device | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Random integers in `[low, high)`: `randint(low, high, size)` or `randint(high, size)`.

    >>> import tensorplay as tp
    >>> x = tp.randint(3, 8, (100,))
    >>> x.min() >= 3, x.max() < 8
    (tensor(True), tensor(True))
    """
    if size is None:
        low, high, size = 0, low, high
    if not isinstance(high, (int, np.integer)) or low >= high:
        msg = f"randint: expected low < high, found {low} and {high}"
        raise ArgumentValueError(msg)
    shape = to_sizes(size)
    checked_sizes("randint", shape)
    seed, offset = drawn_state(generator)
    return _placed(
        integers_from(seed, offset, shape, int(low), int(high), dtype or dtypes.int64), device
    )


@composite(factory=True)
def rand_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Uniform random numbers with the shape and dtype of `input`.

    >>> import tensorplay as tp
    >>> tp.rand_like(tp.ones(2, 3)).shape
    (2, 3)
    """
    return rand(input.shape, dtype=dtype or input.dtype, device=device, generator=generator)


@composite(factory=True)
def randn_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Standard normal random numbers with the shape and dtype of `input`.

    >>> import tensorplay as tp
    >>> tp.randn_like(tp.ones(2, 3)).shape
    (2, 3)
    """
    return randn(input.shape, dtype=dtype or input.dtype, device=device, generator=generator)


def _permutation_meta(input: TensorMeta, n: int) -> TensorMeta:
    del input
    return TensorMeta((n,), dtypes.int64)


@structured(meta=_permutation_meta, public=False, not_differentiable=_RANDOM)
def permutation_from(input: Array, n: int) -> Array:
    """A random permutation of `0 … n - 1` of a random state: the order of 64-bit random keys."""
    from tensorplay.ops.arrays import philox  # the instruction's own function

    keys = philox(input[0], input[1], np.arange(n, dtype=np.int64))
    return np.asarray(np.argsort(keys, kind="stable"), np.int64)


@composite(factory=True)
def randperm(n: int, *, dtype: DType | None = None, generator: Generator | None = None) -> Tensor:
    """A random permutation of `0 … n - 1`.

    >>> import tensorplay as tp
    >>> sorted(tp.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    found = permutation_from(rng_state(1, generator), n)
    return found if dtype is None else found.to(dtype)


@composite(factory=True)
def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Random integers in `[low, high)`, or `[0, low)`, with the shape and dtype of `input`.

    >>> import tensorplay as tp
    >>> x = tp.randint_like(tp.ones(100), 3, 8)
    >>> x.min() >= 3, x.max() < 8
    (tensor(True), tensor(True))
    """
    least, limit = (0, low) if high is None else (low, high)
    found = dtype or input.dtype
    return randint(least, limit, input.shape, dtype=found, device=device, generator=generator)


# ---- samples ----------------------------------------------------------------------------------------------------------

_SEED = Arg((), dtypes.int64, values=3)  # type: ignore[arg-type]  # a 0-d value
_OFFSET = Arg((), dtypes.int64, values=5)  # type: ignore[arg-type]  # its role says so


@uniform_from.sample
@normal_from.sample
@open_uniform_from.sample
def _from_samples() -> Iterator[Sample]:
    for dtype in (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16):
        yield sample(_SEED, _OFFSET, (3, 4), dtype)
    yield sample(_SEED, _OFFSET, (), dtypes.float32)
    yield bad(DTypeError, "floating-point", _SEED, _OFFSET, (3,), dtypes.int32)


@integers_from.sample
def _integers_samples() -> Iterator[Sample]:
    yield sample(_SEED, _OFFSET, (3, 4), -3, 9, dtypes.int64)
    yield sample(_SEED, _OFFSET, (5,), 0, 2, dtypes.uint8)


@permutation_from.sample
def _permutation_samples() -> Iterator[Sample]:
    yield sample(Arg((2,), dtypes.int64, values=[3, 5]), 7)


@rng_state.sample
def _rng_samples() -> Iterator[Sample]:
    yield sample()


@rand.sample
@randn.sample
def _size_samples() -> Iterator[Sample]:
    yield sample((2, 3))
    yield sample((0,), dtype=dtypes.float64)
    yield sample((3,), dtype=dtypes.complex64)


@rand_like.sample
@randn_like.sample
def _like_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.0, high=1.0))


@randint.sample
def _randint_samples() -> Iterator[Sample]:
    yield sample(5, (3,))
    yield sample(-2, 5, (3,))
    yield sample(np.int64(0), np.int32(5), 3)
    yield bad(ArgumentValueError, "low < high", 5, 5, (3,))
    yield bad(ShapeError, "randint: sizes must not be negative", 0, 5, (-2,))


@randint_like.sample
def _randint_like_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 5)
    yield sample(Arg((3,), dtypes.int64), -2, 5)
    yield bad(ArgumentValueError, "low < high", Arg((3,)), 5, 5)


@randperm.sample
def _randperm_samples() -> Iterator[Sample]:
    yield sample(5)
