"""Window functions for spectra: weights that fade a stretch of signal in and out.

>>> import tensorplay as tp
>>> tp.hann_window(4)
tensor([0.0000, 0.5000, 1.0000, 0.5000])

Of a `periodic` window the value behind the last would be the first again (for `stft`); others are
symmetric. One of a single element is 1, of none it is empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import bfloat16, float64, get_default_dtype, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


def _window(
    name: str,
    length: int,
    periodic: bool,
    dtype: DType | None,
    device: Device | None,
    weight: Callable[[Tensor], Tensor],
) -> Tensor:
    """`weight` of the places from 0 to 1 of the window's elements."""
    result = get_default_dtype() if dtype is None else dtype
    if not result.is_floating_point:
        raise DTypeError(f"{name}: expected a floating dtype, found {result}")
    if length < 0:
        raise ArgumentValueError(f"{name}: window_length must not be negative, found {length}")
    if length <= 1:
        return tp.ones((length,), dtype=result, device=device)
    places = tp.arange(length, dtype=float64, device=device)
    return weight(places / (length if periodic else length - 1)).to(result)


def _cosines(places: Tensor, *weights: float) -> Tensor:
    """`Σ weights[k] cos(2π k x)`."""
    total = (places * (2 * math.pi)).cos() * weights[1] + weights[0]
    for k, each in enumerate(weights[2:], 2):
        total = total + (places * (2 * math.pi * k)).cos() * each
    return total


@composite(factory=True)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`½ - ½ cos(2π n / N)`.

    >>> import tensorplay as tp
    >>> tp.hann_window(3, periodic=False)
    tensor([0., 1., 0.])
    """
    return _window(
        "hann_window", window_length, periodic, dtype, device, lambda x: _cosines(x, 0.5, -0.5)
    )


@composite(factory=True)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`alpha - beta cos(2π n / N)`.

    >>> import tensorplay as tp
    >>> tp.hamming_window(2)
    tensor([0.0800, 1.0000])
    """
    return _window(
        "hamming_window", window_length, periodic, dtype, device,
        lambda x: _cosines(x, alpha, -beta),
    )  # fmt: skip


@composite(factory=True)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`0.42 - 0.5 cos(2π n / N) + 0.08 cos(4π n / N)`.

    >>> import tensorplay as tp
    >>> tp.blackman_window(4).round(decimals=4).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400])
    """
    return _window(
        "blackman_window", window_length, periodic, dtype, device,
        lambda x: _cosines(x, 0.42, -0.5, 0.08),
    )  # fmt: skip


@composite(factory=True)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`1 - |2n / N - 1|`, a triangle.

    >>> import tensorplay as tp
    >>> tp.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "bartlett_window", window_length, periodic, dtype, device,
        lambda x: 1 - (x * 2 - 1).abs(),
    )  # fmt: skip


@hann_window.sample
@hamming_window.sample
@blackman_window.sample
@bartlett_window.sample
def _() -> Iterator[Sample]:
    yield sample(6)
    yield sample(7, False)
    yield sample(1)
    yield sample(0)
    yield sample(5, dtype=float64)
    yield sample(5, dtype=bfloat16)
    yield bad(ArgumentValueError, "negative", -1)
    yield bad(DTypeError, "floating dtype", 3, dtype=int64)
