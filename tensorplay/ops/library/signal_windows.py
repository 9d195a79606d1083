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
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.core.dtypes import bfloat16, float64, get_default_dtype, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


Weight: TypeAlias = "Callable[[Tensor, int], Tensor]"


def window(
    name: str,
    length: int,
    periodic: bool,
    dtype: DType | None,
    device: Device | None,
    weight: Weight,
) -> Tensor:
    """`weight(n, N)` of the places n = 0 … of the window's elements (float64), where it is a window from 0 to N."""
    result = get_default_dtype() if dtype is None else dtype
    if not result.is_floating_point:
        raise DTypeError(f"{name}: expected a floating dtype, found {result}")
    if length < 0:
        raise ArgumentValueError(f"{name}: the length must not be negative, found {length}")
    if length <= 1:
        return tp.ones((length,), dtype=result, device=device)
    places = tp.arange(length, dtype=float64, device=device)
    return weight(places, length if periodic else length - 1).to(result)


def cosines(*weights: float) -> Weight:
    """`Σ (-1)ᵏ weights[k] cos(2π k n / N)`."""

    def weight(n: Tensor, N: int) -> Tensor:
        total = n * 0 + weights[0]
        for k, each in enumerate(weights[1:], 1):
            total = total + (n * (2 * math.pi * k / N)).cos() * ((-1) ** k * each)
        return total

    return weight


def triangle(n: Tensor, N: int) -> Tensor:
    """`1 - |2n / N - 1|`."""
    return 1 - (n * (2 / N) - 1).abs()


def kaiser(beta: float) -> Weight:
    """`I₀(β √(1 - (2n / N - 1)²)) / I₀(β)`, by scaled Bessel functions, which do not overflow."""

    def weight(n: Tensor, N: int) -> Tensor:
        from_middle = n * (2 / N) - 1
        inner = (1 - from_middle * from_middle).sqrt() * beta
        outer = tp.special_i0e(n * 0 + beta)
        return tp.special_i0e(inner) / outer * (inner - beta).exp()

    return weight


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
    return window("hann_window", window_length, periodic, dtype, device, cosines(0.5, 0.5))


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
    return window("hamming_window", window_length, periodic, dtype, device, cosines(alpha, beta))


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
    return window(
        "blackman_window", window_length, periodic, dtype, device, cosines(0.42, 0.5, 0.08)
    )


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
    return window("bartlett_window", window_length, periodic, dtype, device, triangle)


@composite(factory=True)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`I₀(β √(1 - (2n / N - 1)²)) / I₀(β)`, nearly the most of its energy in the main lobe of its spectrum.

    (J. Kaiser and R. Schafer, On the use of the I₀-sinh window for spectrum analysis, 1980.)

    >>> import tensorplay as tp
    >>> tp.kaiser_window(3, periodic=False, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    return window("kaiser_window", window_length, periodic, dtype, device, kaiser(beta))


@hann_window.sample
@hamming_window.sample
@blackman_window.sample
@bartlett_window.sample
@kaiser_window.sample
def _() -> Iterator[Sample]:
    yield sample(6)
    yield sample(7, False)
    yield sample(1)
    yield sample(0)
    yield sample(5, dtype=float64)
    yield sample(5, dtype=bfloat16)
    yield bad(ArgumentValueError, "negative", -1)
    yield bad(DTypeError, "floating dtype", 3, dtype=int64)
