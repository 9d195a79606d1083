"""Images resized: `interpolate`, and what it says of each dimension.

All modes but `area` are separable: a dimension after the other, each a few gathers with weights, which lower natively.
A place ``i`` of the result lies at ``(i + 1/2)·scale − 1/2`` in the images, or, with ``align_corners``, at ``i·scale`` where the
outermost elements meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import float32, float64, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
MODES = ("nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear")
CUBIC, CUBIC_ANTIALIAS = -0.75, -0.5
"""Keys' parameter: Catmull and Rom's is -1/2."""


@composite()
def interpolate(
    input: Tensor,
    size: object = None,
    scale_factor: object = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize images ``(N, C, …)`` of one, two or three dimensions to ``size``, or by ``scale_factor``.

    ``mode``: ``"nearest"`` (the element at ``⌊i·scale⌋``), ``"nearest-exact"`` (at ``⌊(i + 1/2)·scale⌋``), ``"linear"``,
    ``"bilinear"``, ``"trilinear"`` (for as many dimensions), ``"bicubic"`` (Keys 1981, with -3/4), ``"area"`` (means of
    cells, `adaptive_avg_pool2d`). With ``align_corners`` the outermost elements are mapped to each other, else the
    edges of the images. The scale is ``1 / scale_factor`` where that is given and ``recompute_scale_factor`` is
    not, else the ratio of the sizes. ``antialias`` widens the filter of bilinear and bicubic where images
    shrink. Floating dtypes, any for the nearest modes.

    >>> tp.nn.functional.interpolate(tp.tensor([[[0.0, 2.0]]]), size=4, mode="linear")
    tensor([[[0.0000, 0.5000, 1.5000, 2.0000]]])
    """
    ndim = input.ndim - 2
    if ndim not in {1, 2, 3} or 0 in input.shape[1:]:
        raise ShapeError(
            f"interpolate: expected images (N, C, …) of 3 to 5 dimensions, only the batch empty, got {tuple(input.shape)}"
        )
    _check_mode(input, mode, align_corners, antialias)
    image = tuple(input.shape[2:])
    wanted, scales = _sizes(image, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        found: Tensor = tp[f"adaptive_avg_pool{ndim}d"](input, wanted)
        return found
    if mode.startswith("nearest"):
        for k in range(ndim):
            if mode == "nearest" and image[k] == wanted[k]:
                continue
            places = _nearest(image[k], wanted[k], scales[k], input, exact=mode != "nearest")
            input = input.index_select(2 + k, places)
        return input
    result = input.to(input.dtype.compute)
    for k in reversed(range(ndim)):
        if image[k] == wanted[k] and mode in LINEAR and not antialias:
            continue  # whatever the scale, as PyTorch has it
        if antialias:
            result = _filtered(
                result, 2 + k, wanted[k], scales[k], mode, align_corners=bool(align_corners)
            )
        else:
            result = _blended(
                result, 2 + k, wanted[k], scales[k], mode, align_corners=bool(align_corners)
            )
    return result.to(input.dtype)


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    ndim = input.ndim - 2
    if mode not in MODES:
        raise ArgumentValueError(f"interpolate: mode is one of {', '.join(MODES)}, not {mode!r}")
    needed = LINEAR.get(mode, 2 if mode == "bicubic" else ndim)
    if needed != ndim:
        raise ArgumentValueError(
            f"interpolate: mode {mode!r} is for images of {needed} dimension(s), got {tuple(input.shape)}"
        )
    if align_corners is not None and (mode == "area" or mode.startswith("nearest")):
        raise ArgumentValueError(f"interpolate: mode {mode!r} has no align_corners")
    if antialias and mode not in {"bilinear", "bicubic"}:
        raise ArgumentValueError(
            f"interpolate: antialias is for bilinear and bicubic, not for {mode!r}"
        )
    if input.dtype.kind != "f" and not mode.startswith("nearest"):
        raise DTypeError(f"interpolate: mode {mode!r} needs a floating dtype, got {input.dtype}")


def _sizes(
    image: tuple[int, ...],
    size: Any,  # noqa: ANN401  # numbers, one or each
    scale_factor: Any,  # noqa: ANN401  # numbers, one or each
    recompute: bool | None,
) -> tuple[tuple[int, ...], list[float | None]]:
    """The size of the result, and the scales that were asked for (None: the ratio of the sizes)."""
    if (size is None) == (scale_factor is None):
        raise ArgumentValueError("interpolate: give either size or scale_factor")
    given = size if scale_factor is None else scale_factor
    values = tuple(given) if isinstance(given, Sequence) else (given,) * len(image)
    if len(values) != len(image):
        raise ArgumentValueError(
            f"interpolate: expected one number or {len(image)}, one a dimension, got {given!r}"
        )
    factors: list[float | None] = [None] * len(image)
    if scale_factor is None:
        wanted = tuple(values)
        if recompute:
            raise ArgumentValueError("interpolate: recompute_scale_factor needs scale_factor")
    else:
        wanted = tuple(floor(n * float(f)) for n, f in zip(image, values, strict=True))
        if not recompute:
            factors = [float(f) for f in values]
    if any(n < 1 for n in wanted):
        raise ShapeError(f"interpolate: sizes are at least 1, got {wanted} of images {image}")
    return wanted, factors


def _ratio(n: int, m: int, factor: float | None) -> float:
    """How far apart in the images the results lie."""
    return n / m if factor is None or factor <= 0 else 1.0 / factor


def _nearest(n: int, m: int, factor: float | None, like: Tensor, *, exact: bool) -> Tensor:
    i = tp.arange(m, dtype=float32, device=like.device)
    place = (i + 0.5 if exact else i) * _ratio(n, m, factor)
    found: Tensor = place.floor().to(int64).clamp(max=n - 1)
    return found


def _sources(
    n: int, m: int, factor: float | None, dtype: DType, like: Tensor, *, align: bool
) -> Tensor:
    """Where in the images the results lie, along one dimension."""
    i = tp.arange(m, dtype=dtype, device=like.device)
    if align:
        found: Tensor = i * ((n - 1) / (m - 1) if m > 1 else 0.0)
        return found
    return (i + 0.5) * _ratio(n, m, factor) - 0.5


def _blended(
    x: Tensor, dim: int, m: int, factor: float | None, mode: str, *, align_corners: bool
) -> Tensor:
    """One dimension resized: two or four neighbours of each place, with weights."""
    n = x.shape[dim]
    dtype = float64 if x.dtype is float64 else float32
    source = _sources(n, m, factor, dtype, x, align=align_corners)
    if mode != "bicubic":
        source = source.clamp(min=0)
    first = source.floor()
    part = source - first
    start = first.to(int64)
    if mode == "bicubic":
        weights, shifts = cubic_weights(part), [-1, 0, 1, 2]
    else:
        weights, shifts = [1 - part, part], [0, 1]
    total: Any = None
    shape = (-1, *[1] * (x.ndim - 1 - dim))
    for weight, shift in zip(weights, shifts, strict=True):
        taken = x.index_select(dim, (start + shift).clamp(0, n - 1)) * weight.reshape(shape)
        total = taken if total is None else total + taken
    found: Tensor = total
    return found


def cubic_weights(t: Tensor) -> list[Tensor]:
    """Keys' weights of the four neighbours of a place, `t` in [0, 1) behind the second.

    Each has one piece of the cubic, so that at the neighbours themselves second derivatives are those
    from the right.
    """
    return [_far(1 + t, CUBIC), _near(t, CUBIC), _near(1 - t, CUBIC), _far(2 - t, CUBIC)]


def _cubic(x: Tensor, a: float) -> Tensor:
    """Keys' piecewise cubic for distances from 0 to 2; zero beyond."""
    return tp.where(x <= 1, _near(x, a), tp.where(x < 2, _far(x, a), 0.0))


def _near(x: Tensor, a: float) -> Tensor:
    """Keys' cubic for distances up to 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _far(x: Tensor, a: float) -> Tensor:
    """Keys' cubic for distances from 1 to 2."""
    return ((x - 5) * x + 8) * x * a - 4 * a


def _filtered(
    x: Tensor, dim: int, m: int, factor: float | None, mode: str, *, align_corners: bool
) -> Tensor:
    """One dimension resized by a filter as wide as what is lost: a product with its matrix."""
    n = x.shape[dim]
    scale = ((n - 1) / (m - 1) if m > 1 else 0.0) if align_corners else _ratio(n, m, factor)
    reach = 2.0 if mode == "bicubic" else 1.0
    width = max(scale, 1.0)
    dtype = float64 if x.dtype is float64 else float32
    center = (tp.arange(m, dtype=dtype, device=x.device) + 0.5) * scale
    low = (center - reach * width + 0.5).trunc().clamp(min=0)
    high = (center + reach * width + 0.5).trunc().clamp(max=n)
    place = tp.arange(n, dtype=dtype, device=x.device)
    distance = ((place - center.unsqueeze(1) + 0.5) / width).abs()
    weight = _cubic(distance, CUBIC_ANTIALIAS) if mode == "bicubic" else (1 - distance).clamp(min=0)
    inside = (place >= low.unsqueeze(1)) & (place < high.unsqueeze(1))
    weight = tp.where(inside, weight, 0.0)
    weight = weight / weight.sum(1, keepdim=True)
    found: Tensor = tp.matmul(x.movedim(dim, -1), weight.to(x.dtype).t()).movedim(-1, dim)
    return found


@interpolate.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 5)), 8)
    yield sample(Arg((1, 2, 4, 6)), None, 1.7, "nearest-exact")
    yield sample(Arg((1, 2, 5)), 3, None, "linear")
    yield sample(Arg((1, 2, 4, 5)), (7, 3), None, "bilinear", True)
    yield sample(Arg((1, 2, 4, 5)), None, 1.3, "bicubic", False)
    yield sample(Arg((1, 2, 6, 7)), (3, 4), None, "bilinear", False, None, True)
    yield sample(Arg((1, 1, 6, 7)), (3, 9), None, "bicubic", False, None, True)
    yield sample(Arg((1, 1, 3, 4, 2)), 4, None, "trilinear")
    yield sample(Arg((1, 1, 4, 6)), 3, None, "area")
    yield bad(ArgumentValueError, "either", Arg((1, 1, 4)))
    yield bad(ArgumentValueError, "mode", Arg((1, 1, 4)), 2, None, "sharp")
    yield bad(ArgumentValueError, "dimension", Arg((1, 1, 4)), 2, None, "bilinear")
    yield bad(ArgumentValueError, "align_corners", Arg((1, 1, 4)), 2, None, "nearest", True)
    yield bad(ShapeError, "3 to 5", Arg((4, 4)), 2)
    yield bad(DTypeError, "floating", Arg((1, 1, 4), int64), 2, None, "linear")
