"""Random zeros: dropout of elements, of channels, and that which keeps mean and variance.

Gradients are zero exactly where the result was dropped. Without ``training`` the input itself.

>>> import tensorplay as tp
>>> tp.dropout(tp.ones(3), 0.5, False)
tensor([1., 1., 1.])
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import bool_
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_SELU_MINIMUM = -1.7580993408473766
"""The limit of selu at −∞, ``−scale · alpha``."""


def check_probability(name: str, p: float) -> None:
    """Refuse what is no probability."""
    if not 0.0 <= p <= 1.0:
        raise ArgumentValueError(f"{name}: the probability lies in [0, 1], got {p}")


def _dropped(input: Tensor, p: float, shape: Sequence[int]) -> Tensor:
    """Drop with a mask of ``shape``, which broadcasts to the input's."""
    if p == 0.0:
        return input
    if p == 1.0:
        return tp.where(tp.zeros((), dtype=bool_), input, 0.0)
    kept = tp.rand(shape) >= p
    return tp.where(kept, input * (1.0 / (1.0 - p)), 0.0)


@composite(inplace=True)
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability ``p`` and divide the others by ``1 − p``.

    Without ``training`` the input itself. Gradients are zero exactly where the result was dropped.
    Srivastava et al. 2014.

    >>> import tensorplay as tp
    >>> y = tp.nn.functional.dropout(tp.ones(1000), 0.2)
    >>> sorted(set(y.tolist()))
    [0.0, 1.25]
    """
    check_probability("dropout", p)
    return _dropped(input, p, input.shape) if training else input


def _channels(name: str, input: Tensor, spatial: int) -> tuple[int, ...]:
    """Return the shape of one decision a channel: (N, C, *) or, with a dimension less, (C, *)."""
    if input.ndim not in {spatial + 1, spatial + 2}:
        raise ShapeError(
            f"{name}: expected (N, C, *) with {spatial} dimensions *, or (C, *), got shape "
            f"{tuple(input.shape)}"
        )
    return (*input.shape[:-spatial], *(1,) * spatial)


@composite(inplace=True)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (N, C, L) or (C, L) with probability ``p``; see `dropout`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.dropout1d(tp.ones(2, 3, 4), 0.5).shape
    (2, 3, 4)
    """
    check_probability("dropout1d", p)
    shape = _channels("dropout1d", input, 1)
    return _dropped(input, p, shape) if training else input


@composite(inplace=True)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (N, C, H, W) with probability ``p``; see `dropout`.

    Three dimensions are (N, C, L), as with `dropout1d` (Tompson et al. 2015).

    >>> import tensorplay as tp
    >>> tp.nn.functional.dropout2d(tp.ones(2, 3, 4, 4), 0.5).shape
    (2, 3, 4, 4)
    """
    check_probability("dropout2d", p)
    shape = _channels("dropout2d", input, 1 if input.ndim == 3 else 2)
    return _dropped(input, p, shape) if training else input


@composite(inplace=True)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W) with probability ``p``; see `dropout`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.dropout3d(tp.ones(2, 3, 2, 4, 4), 0.5).shape
    (2, 3, 2, 4, 4)
    """
    check_probability("dropout3d", p)
    shape = _channels("dropout3d", input, 3)
    return _dropped(input, p, shape) if training else input


def _saturated(input: Tensor, p: float, shape: Sequence[int]) -> Tensor:
    """Replace what is dropped by selu's minimum, then restore mean 0 and variance 1."""
    if p == 0.0:
        return input
    if p == 1.0:
        return tp.where(tp.zeros((), dtype=bool_), input, 0.0)
    scale = 1.0 / math.sqrt((1.0 - p) * (1.0 + p * _SELU_MINIMUM * _SELU_MINIMUM))
    shift = -scale * _SELU_MINIMUM * p
    kept = tp.rand(shape) >= p
    return tp.where(kept, input, _SELU_MINIMUM) * scale + shift


@composite(inplace=True)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for `selu`: dropped elements take selu's minimum.

    Klambauer et al., Self-Normalizing Neural Networks, 2017.

    >>> import tensorplay as tp
    >>> tp.nn.functional.alpha_dropout(tp.tensor([1.0, 2.0]), 0.5, training=False)
    tensor([1., 2.])
    """
    check_probability("alpha_dropout", p)
    return _saturated(input, p, input.shape) if training else input


@composite(inplace=True)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, *).

    >>> import tensorplay as tp
    >>> tp.nn.functional.feature_alpha_dropout(tp.tensor([[1.0, 2.0]]), 0.5, training=False)
    tensor([[1., 2.]])
    """
    check_probability("feature_alpha_dropout", p)
    if not training:
        return input
    if input.ndim < 2:
        raise ShapeError(
            f"feature_alpha_dropout: expected (N, C, *), got shape {tuple(input.shape)}"
        )
    return _saturated(input, p, (*input.shape[:2], *(1,) * (input.ndim - 2)))


@dropout.sample
@alpha_dropout.sample
@dropout1d.sample
@feature_alpha_dropout.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.5, False)
    yield sample(Arg((3, 4)), 1.0, True)
    yield sample(Arg((3, 4)), 0.0, True)
    yield bad(ArgumentValueError, "probability", Arg((3, 4)), 1.5)


@dropout2d.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4, 5)), 1.0)
    yield sample(Arg((2, 3, 4)), 0.0)
    yield bad(ShapeError, "expected", Arg((2, 3)))
    yield bad(ArgumentValueError, "probability", Arg((2, 3, 4)), -0.5)


@dropout3d.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 1, 4, 5)), 1.0)
    yield bad(ShapeError, "expected", Arg((2, 3, 4)))
    yield bad(ArgumentValueError, "probability", Arg((2, 3, 4, 5)), -0.5)
