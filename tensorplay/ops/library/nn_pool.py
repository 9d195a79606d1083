"""Pools over images of one, two and three dimensions: largest elements, means, norms of windows.

All are compositions of what windows hold (`window_merges`), so they fuse with what surrounds them. The three of a family
differ in the number of spatial dimensions only, so one declaration makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorplay.core.dtypes import bool_, float32, int32, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.places import read_at_places
from tensorplay.ops.library.window_merges import (
    window_max,
    window_places,
    window_sum,
)
from tensorplay.ops.library.windows import Windows, each, make_windows
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Each

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

Window: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]
"""kernel size, stride, padding, dilation, ceil mode: the arguments of `window_max`."""

SIZES = {1: "L", 2: "H, W", 3: "D, H, W"}


def windows_of(
    name: str,
    input: Tensor,
    ndim: int,
    kernel: Each,
    stride: Each | None,
    padding: Each,
    dilation: Each,
    ceil_mode: bool,
) -> tuple[Windows, Window]:
    """Check a pool's arguments; its windows, and the arguments that name them."""
    if input.ndim not in {ndim + 1, ndim + 2}:
        sizes = SIZES[ndim]
        raise ShapeError(
            f"{name}: expected images (N, C, {sizes}) or (C, {sizes}), got shape {tuple(input.shape)}"
        )
    if 0 in input.shape[1:] or (0 in input.shape and input.ndim == ndim + 1):
        raise ShapeError(
            f"{name}: only the batch may be empty, got images of shape {tuple(input.shape)}"
        )
    if stride is None or (isinstance(stride, Sequence) and not stride):
        stride = kernel
    windows = make_windows(
        name,
        input.shape[input.ndim - ndim :],
        kernel,
        stride,
        padding,
        dilation,
        ceil_mode=ceil_mode,
    )
    reach = tuple(d * (k - 1) + 1 for k, d in zip(windows.kernel, windows.dilation, strict=True))
    if any(2 * p > r for p, r in zip(windows.padding, reach, strict=True)):
        raise ArgumentValueError(
            f"{name}: padding is at most half of the window: {windows.padding} for {reach}"
        )
    return windows, (
        windows.kernel, windows.stride, windows.padding, windows.dilation, ceil_mode,
    )  # fmt: skip


# ---- largest elements -----------------------------------------------------------------------------

MAX_POOL = """The largest element of each window of images ``(N, C, {sizes})`` or ``(C, {sizes})``.

    Windows of ``kernel_size`` points, ``dilation`` apart, move by ``stride`` (default: their size) over images
    with ``padding`` on each side, at most half of a window; with ``ceil_mode`` the last one may reach over
    the end, if it starts inside. The first of equal elements is taken, NaN is larger than any number,
    padding is never taken. With ``return_indices`` also the flat places in the image, for `max_unpool{ndim}d`.
    Real dtypes.

    >>> tp.nn.functional.max_pool{ndim}d(tp.arange({count}.0).reshape(1, 1, {fours}), 2).flatten()
    tensor([{found}])
    """

MAX_POOL_PLACES = """What `max_pool{ndim}d` gives, and the flat place in the image of each.

    >>> images = tp.arange({count}.0).reshape(1, 1, {fours})
    >>> largest, places = tp.max_pool{ndim}d_with_indices(images, 4)
    >>> largest.item(), places.item()
    ({last}.0, {last})
    """


def _max_check(name: str, input: Tensor) -> None:
    if input.dtype is bool_ or input.dtype.kind == "c":
        raise DTypeError(f"{name}: expected real numbers, got {input.dtype}")


def max_with_places(input: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its flat place."""
    places = window_places(input, *window)
    return read_at_places(input, places, len(window[0])), places


def _declare_max_pool(ndim: int) -> tuple[Operator, Operator]:
    name = f"max_pool{ndim}d"

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        dilation: Each = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        _max_check(name, input)
        _, window = windows_of(name, input, ndim, kernel_size, stride, padding, dilation, ceil_mode)
        return max_with_places(input, window)

    def max_pool(
        input: Tensor,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        dilation: Each = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # noqa: ANN401  # a tensor or two
        _max_check(name, input)
        _, window = windows_of(name, input, ndim, kernel_size, stride, padding, dilation, ceil_mode)
        return max_with_places(input, window) if return_indices else window_max(input, *window)

    places = range(2**ndim)
    found = [sum((2 * (p >> k & 1) + 1) * 4**k for k in range(ndim)) for p in places]
    max_pool.__doc__ = MAX_POOL.format(
        ndim=ndim, sizes=SIZES[ndim], count=4**ndim, fours=", ".join("4" * ndim),
        found=", ".join(f"{each:{len(str(found[-1]))}}." for each in found),
    )  # fmt: skip
    max_pool_with_indices.__doc__ = MAX_POOL_PLACES.format(
        ndim=ndim, count=4**ndim, fours=", ".join("4" * ndim), last=4**ndim - 1
    )
    return (
        composite(name=f"{name}_with_indices")(max_pool_with_indices),
        composite(name=name)(max_pool),
    )


(
    (max_pool1d_with_indices, max_pool1d),
    (max_pool2d_with_indices, max_pool2d),
    (max_pool3d_with_indices, max_pool3d),
) = (_declare_max_pool(ndim) for ndim in (1, 2, 3))


# ---- means ----------------------------------------------------------------------------------------

AVERAGE_POOL = """The mean of each window of images ``(N, C, {sizes})`` or ``(C, {sizes})``.

    Windows of ``kernel_size`` points move by ``stride`` (default: their size) over images with ``padding`` zeros on
    each side; with ``ceil_mode`` the last one may reach over the end, if it starts inside. The sum is
    divided by the number of elements in the window, those in the padding counted (``count_include_pad``) or
    not{override}. Half types add up in float32; of int64, quotients are truncated.

    >>> tp.nn.functional.avg_pool{ndim}d(tp.ones(1, 1, {fours}), 2, padding=1)[..., 0].flatten()[0].item()
    {corner}
    """


def mean_of_windows(
    input: Tensor,
    windows: Windows,
    window: Window,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Sums over counts, rounded once."""
    total = window_sum(input.to(input.dtype.compute), *window)
    divisor = (
        _divisor(total, windows, count_include_pad)
        if divisor_override is None
        else divisor_override
    )
    if input.dtype.kind == "i":
        return tp.div(total, divisor, rounding_mode="trunc")
    return (total / divisor).to(input.dtype)


def _divisor(total: Tensor, windows: Windows, count_include_pad: bool) -> Any:  # noqa: ANN401  # a tensor or a number
    """How many elements each window has: one number where all have as many."""
    padding_counts = count_include_pad or not any(windows.padding)
    reaches_over = any(
        (o - 1) * s + k > n + 2 * p
        for o, s, k, n, p in zip(
            windows.output,
            windows.stride,
            windows.kernel,
            windows.image,
            windows.padding,
            strict=True,
        )
    )
    if padding_counts and not reaches_over:
        return prod(windows.kernel)
    found: Any = 1
    for k, (count, stride, size, padding, own) in enumerate(
        zip(
            windows.output,
            windows.stride,
            windows.kernel,
            windows.padding,
            windows.image,
            strict=True,
        )
    ):
        first = tp.arange(count, dtype=int64, device=total.device) * stride - padding
        last = (first + size).clamp(max=own + padding)
        if not count_include_pad:
            first, last = first.clamp(min=0), last.clamp(max=own)
        found = found * (last - first).reshape((-1, *[1] * (windows.ndim - 1 - k)))
    return found.to(total.dtype)


def average_check(name: str, input: Tensor) -> None:
    """Means are of real numbers or of int64."""
    if input.dtype.kind != "f" and input.dtype is not int64:
        raise DTypeError(f"{name}: expected a floating dtype or int64, got {input.dtype}")


def _declare_average_pool(ndim: int) -> Operator:
    name = f"avg_pool{ndim}d"

    def average(
        input: Tensor,
        kernel_size: Each,
        stride: Each | None,
        padding: Each,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        average_check(name, input)
        if divisor_override == 0:
            raise ArgumentValueError(f"{name}: divisor_override must not be 0")
        windows, window = windows_of(name, input, ndim, kernel_size, stride, padding, 1, ceil_mode)
        return mean_of_windows(input, windows, window, count_include_pad, divisor_override)

    def avg_pool(
        input: Tensor,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return average(
            input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    def avg_pool1d(
        input: Tensor,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        return average(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    declared: Callable[..., Tensor] = avg_pool1d if ndim == 1 else avg_pool
    declared.__doc__ = AVERAGE_POOL.format(
        ndim=ndim, sizes=SIZES[ndim], fours=", ".join("4" * ndim), corner=0.5**ndim,
        override="" if ndim == 1 else ", or by ``divisor_override``",
    )  # fmt: skip
    return composite(name=name)(declared)


avg_pool1d, avg_pool2d, avg_pool3d = (_declare_average_pool(ndim) for ndim in (1, 2, 3))


# ---- norms ----------------------------------------------------------------------------------------

NORM_POOL = """The ``norm_type``-norm of each window: ``(Σ xᵖ)^(1/p)``, without absolute values.

    Windows of ``kernel_size`` points move by ``stride`` (default: their size) over images ``(N, C, {sizes})`` or
    ``(C, {sizes})``. A negative sum, of odd powers, has no root: NaN.

    >>> tp.nn.functional.lp_pool{ndim}d(tp.full((1, 1, {twos}), 2.0), 1, 2).item()
    {found}
    """


def _declare_norm_pool(ndim: int) -> Operator:
    name = f"lp_pool{ndim}d"

    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Each,
        stride: Each | None = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        windows, window = windows_of(name, input, ndim, kernel_size, stride, 0, 1, ceil_mode)
        mean = mean_of_windows(input**norm_type, windows, window)
        return (mean.sign() * mean.abs().relu() * prod(windows.kernel)) ** (1.0 / norm_type)

    lp_pool.__doc__ = NORM_POOL.format(
        ndim=ndim, sizes=SIZES[ndim], twos=", ".join("2" * ndim), found=2.0 * 2**ndim
    )
    return composite(name=name)(lp_pool)


lp_pool1d, lp_pool2d, lp_pool3d = (_declare_norm_pool(ndim) for ndim in (1, 2, 3))


# ---- samples --------------------------------------------------------------------------------------


def _common_samples(ndim: int, *first: object) -> Iterator[Sample]:
    images = (4, 6, 7)[-ndim:]
    yield sample(Arg((2, 3, *images)), *first, 2)
    yield sample(
        Arg((2, *images), layout="transposed"), *first, (2, 3, 2)[-ndim:], (1, 2, 1)[-ndim:]
    )
    yield bad(ShapeError, "does not fit", Arg((1, 1, *[2] * ndim)), *first, 3)
    yield bad(ShapeError, "expected images", Arg((4,)), *first, 2)
    yield bad(ShapeError, "only the batch", Arg((2, 0, *images)), *first, 2)


def _max_samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    images = (4, 6, 7)[-ndim:]

    def samples() -> Iterator[Sample]:
        yield from _common_samples(ndim)
        yield sample(Arg((1, 2, *images)), 2, 2, 1, 2, True)
        yield sample(Arg((1, 1, *images), int32), 2, 1, 1)
        yield bad(ArgumentValueError, "half of the window", Arg((1, 1, *images)), 2, 2, 2)
        yield bad(DTypeError, "real numbers", Arg((1, 1, *images), bool_), 1)

    return samples


def _average_samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    images = (4, 6, 7)[-ndim:]

    def samples() -> Iterator[Sample]:
        yield from _common_samples(ndim)
        yield sample(Arg((1, 2, *images)), 3, 2, 1, True)
        yield sample(Arg((1, 2, *images)), 3, 2, 1, True, False)
        yield sample(Arg((1, 1, *images), int64, -9, 9), 2, 1, 1)
        if ndim > 1:
            yield sample(Arg((1, 1, *images)), 2, divisor_override=3)
            yield sample(Arg((1, 1, *images), int64, -9, 9), 2, divisor_override=-2)
            yield bad(ArgumentValueError, "divisor", Arg((1, 1, *images)), 2, divisor_override=0)
        yield bad(DTypeError, "floating", Arg((1, 1, *images), int32), 2)

    return samples


def _norm_samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    images = (4, 6, 7)[-ndim:]

    def samples() -> Iterator[Sample]:
        yield from _common_samples(ndim, 2.0)
        yield sample(Arg((1, 2, *images), float32, 0.5, 2.0), 3, 2, 2, True)

    return samples


for _ndim, _pools in enumerate(
    (
        (max_pool1d, max_pool1d_with_indices, avg_pool1d, lp_pool1d),
        (max_pool2d, max_pool2d_with_indices, avg_pool2d, lp_pool2d),
        (max_pool3d, max_pool3d_with_indices, avg_pool3d, lp_pool3d),
    ),
    1,
):
    for _max in _pools[:2]:
        _max.sample(_max_samples(_ndim))
    _pools[2].sample(_average_samples(_ndim))
    _pools[3].sample(_norm_samples(_ndim))

__all__ = ["each", "max_with_places", "mean_of_windows", "windows_of"]
