"""The windows of `tensorplay.signal.windows`, symmetric unless they are asked to be periodic.

>>> import tensorplay as tp
>>> tp.signal.windows.cosine(3)
tensor([0.5000, 1.0000, 0.5000])

A periodic one (`sym=False`) is the symmetric one of an element more, without its last. N is the place
of the last element of the symmetric one. A window of a single element is 1, of none it is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import bfloat16, float32, float64
from tensorplay.core.errors import ArgumentValueError, DTypeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.signal_windows import Weight, cosines, kaiser, triangle, window
from tensorplay.ops.samples import Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


def _window(
    name: str, length: int, sym: bool, dtype: DType | None, device: Device | None, weight: Weight
) -> Tensor:
    if dtype not in {None, float32, float64}:
        raise DTypeError(f"{name}: expected float32 or float64, found {dtype}; convert with .to()")
    return window(name, length, not sym, dtype, device, weight)


def _positive(name: str, parameter: str, value: float) -> float:
    if value <= 0:
        raise ArgumentValueError(f"{name}: {parameter} must be positive, found {value}")
    return value


@composite(public=False, factory=True)
def signal_windows_bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`1 - |2n / N - 1|`, a triangle.

    >>> import tensorplay as tp
    >>> tp.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, sym, dtype, device, triangle)


@composite(public=False, factory=True)
def signal_windows_blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`0.42 - 0.5 cos(2π n / N) + 0.08 cos(4π n / N)`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.blackman(5).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400, 0.0000])
    """
    return _window("blackman", M, sym, dtype, device, cosines(0.42, 0.5, 0.08))


@composite(public=False, factory=True)
def signal_windows_cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`sin(π (n + ½) / (N + 1))`, half a wave.

    >>> import tensorplay as tp
    >>> tp.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window(
        "cosine", M, sym, dtype, device, lambda n, N: ((n + 0.5) * (math.pi / (N + 1))).sin()
    )


@composite(public=False, factory=True)
def signal_windows_exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`exp(-|n - center| / tau)`; the center is N / 2, unless a periodic window is given one.

    >>> import tensorplay as tp
    >>> tp.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    _positive("exponential", "tau", tau)
    if sym and center is not None:
        raise ArgumentValueError(
            f"exponential: a symmetric window has its center in the middle, found center={center}; give sym=False"
        )
    return _window(
        "exponential", M, sym, dtype, device,
        lambda n, N: ((n - (N / 2 if center is None else center)).abs() / -tau).exp(),
    )  # fmt: skip


@composite(public=False, factory=True)
def signal_windows_gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`exp(-½ ((n - N / 2) / std)²)`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    _positive("gaussian", "std", std)
    return _window(
        "gaussian", M, sym, dtype, device,
        lambda n, N: (((n - N / 2) / std).square() * -0.5).exp(),
    )  # fmt: skip


@composite(public=False, factory=True)
def signal_windows_general_cosine(
    M: int,
    *,
    a: object,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`Σ (-1)ᵏ a[k] cos(2π k n / N)`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    weights = tuple(a) if isinstance(a, Iterable) else ()
    if not weights:
        raise ArgumentValueError(f"general_cosine: a must hold at least one number, found {a!r}")
    return _window("general_cosine", M, sym, dtype, device, cosines(*weights))


@composite(public=False, factory=True)
def signal_windows_general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`alpha - (1 - alpha) cos(2π n / N)`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.general_hamming(3, alpha=0.6)
    tensor([0.2000, 1.0000, 0.2000])
    """
    return _window("general_hamming", M, sym, dtype, device, cosines(alpha, 1 - alpha))


@composite(public=False, factory=True)
def signal_windows_hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`0.54 - 0.46 cos(2π n / N)`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _window("hamming", M, sym, dtype, device, cosines(0.54, 0.46))


@composite(public=False, factory=True)
def signal_windows_hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`½ - ½ cos(2π n / N)`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("hann", M, sym, dtype, device, cosines(0.5, 0.5))


@composite(public=False, factory=True)
def signal_windows_kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """`I₀(β √(1 - (2n / N - 1)²)) / I₀(β)`; see `kaiser_window`.

    >>> import tensorplay as tp
    >>> tp.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    if beta < 0:
        raise ArgumentValueError(f"kaiser: beta must not be negative, found {beta}")
    return _window("kaiser", M, sym, dtype, device, kaiser(beta))


@composite(public=False, factory=True)
def signal_windows_nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """A sum of four cosines, with side lobes of -98 dB (A. Nuttall, Some windows with very good sidelobe behavior, 1981).

    >>> import tensorplay as tp
    >>> tp.signal.windows.nuttall(3)
    tensor([3.6280e-04, 1.0000e+00, 3.6280e-04])
    """
    return _window(
        "nuttall", M, sym, dtype, device, cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)
    )


def _lengths(**given: object) -> Iterator[Sample]:
    for length in (0, 1, 2, 7):
        yield sample(length, **given)
    yield sample(6, sym=False, **given)
    yield sample(5, dtype=float64, **given)
    yield bad(ArgumentValueError, "negative", -1, **given)
    yield bad(DTypeError, "float32 or float64", 3, dtype=bfloat16, **given)


for _each in (
    signal_windows_bartlett, signal_windows_blackman, signal_windows_cosine, signal_windows_general_hamming,
    signal_windows_hamming, signal_windows_hann, signal_windows_nuttall,
):  # fmt: skip
    _each.sample(_lengths)


@signal_windows_exponential.sample
def _() -> Iterator[Sample]:
    yield from _lengths()
    yield sample(5, center=1.0, tau=2.0, sym=False)
    yield bad(ArgumentValueError, "in the middle", 5, center=1.0)
    yield bad(ArgumentValueError, "positive", 5, tau=0.0)


@signal_windows_gaussian.sample
def _() -> Iterator[Sample]:
    yield from _lengths(std=1.5)
    yield bad(ArgumentValueError, "positive", 5, std=0.0)


@signal_windows_general_cosine.sample
def _() -> Iterator[Sample]:
    yield from _lengths(a=[0.4, 0.3, 0.2])
    yield bad(ArgumentValueError, "at least one", 5, a=[])


@signal_windows_kaiser.sample
def _() -> Iterator[Sample]:
    yield from _lengths()
    yield sample(5, beta=1000.0)
    yield bad(ArgumentValueError, "negative", 5, beta=-1.0)
