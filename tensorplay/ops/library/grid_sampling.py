"""Images read at places between their elements: `grid_sample`, and the grids of affine maps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.interpolation import cubic_weights
from tensorplay.ops.library.places import read_at_places
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read images ``(N, C, H, W)`` at the places of ``grid`` ``(N, h, w, 2)``; or three-dimensional ones, with 3.

    A place is ``(x, y)`` (or ``(x, y, z)``), -1 and 1 being the centers of the outermost elements
    (``align_corners``) or the edges of the images. ``mode``: ``"bilinear"``, ``"nearest"`` (halves to even) or, in two
    dimensions, ``"bicubic"``. Outside, ``padding_mode`` gives ``"zeros"``, the ``"border"``, or its ``"reflection"``.
    On the border itself, places have the gradient 0. NaN stands for -1. Both have one floating dtype. Result ``(N, C, h, w)``.

    >>> x = tp.arange(4.0).reshape(1, 1, 2, 2)
    >>> tp.nn.functional.grid_sample(x, tp.zeros(1, 1, 1, 2), align_corners=True).item()
    1.5
    """
    ndim = input.ndim - 2
    if (
        ndim not in {2, 3}
        or grid.ndim != input.ndim
        or grid.shape[-1] != ndim
        or grid.shape[0] != input.shape[0]
    ):
        raise ShapeError(
            "grid_sample: expected images (N, C, H, W) and a grid (N, h, w, 2), or (N, C, D, H, W) and "
            f"(N, d, h, w, 3), got {tuple(input.shape)} and {tuple(grid.shape)}"
        )
    if 0 in input.shape[1:]:
        raise ShapeError(f"grid_sample: only the batch may be empty, got {tuple(input.shape)}")
    if input.dtype.kind != "f" or grid.dtype is not input.dtype:
        raise DTypeError(
            f"grid_sample: expected one floating dtype, got {input.dtype} and {grid.dtype}"
        )
    if mode not in {"bilinear", "nearest", "bicubic"} or (mode == "bicubic" and ndim != 2):
        raise ArgumentValueError(
            f"grid_sample: mode is 'bilinear', 'nearest' or, in two dimensions, 'bicubic', not {mode!r}"
        )
    if padding_mode not in {"zeros", "border", "reflection"}:
        raise ArgumentValueError(
            f"grid_sample: padding_mode is 'zeros', 'border' or 'reflection', not {padding_mode!r}"
        )
    align = bool(align_corners)
    image = tuple(input.shape[2:])
    x, where = input.to(input.dtype.compute), grid.to(input.dtype.compute)
    where = tp.where(where.isnan(), -1.0, where)
    places = [_unnormalized(where.select(-1, ndim - 1 - k), n, align) for k, n in enumerate(image)]
    if mode != "bicubic":
        places = [_inside(p, n, padding_mode, align) for p, n in zip(places, image, strict=True)]
    if mode == "nearest":
        return _read(x, [p.round() for p in places], padding_mode).to(input.dtype)
    first = [p.floor() for p in places]
    parts = [p - f for p, f in zip(places, first, strict=True)]
    if mode == "bicubic":
        weights, shifts = [cubic_weights(t) for t in parts], [-1, 0, 1, 2]
    else:
        weights, shifts = [[1 - t, t] for t in parts], [0, 1]
    total: Any = None
    for corner in product(range(len(shifts)), repeat=ndim):
        at = [f + shifts[c] for f, c in zip(first, corner, strict=True)]
        if mode == "bicubic":
            at = [_inside(p, n, padding_mode, align) for p, n in zip(at, image, strict=True)]
        weight = weights[0][corner[0]]
        for k in range(1, ndim):
            weight = weight * weights[k][corner[k]]
        term = _read(x, at, padding_mode) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total.to(input.dtype)  # type: ignore[no-any-return]  # a tensor


def _unnormalized(place: Tensor, n: int, align: bool) -> Tensor:
    """From -1 … 1 to element numbers."""
    return (place + 1) * ((n - 1) / 2) if align else ((place + 1) * n - 1) / 2


def _inside(place: Tensor, n: int, padding_mode: str, align: bool) -> Tensor:
    """The place brought into the images, for border and reflection."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align else (-0.5, float(n))
        if span == 0:
            return place * 0
        away = (place - low).abs()
        turns = (away / span).floor()
        rest = away - turns * span
        place = tp.where(tp.remainder(turns, 2.0) == 0, rest, span - rest) + low
    clamped = place.clamp(0, n - 1)
    # on the border itself the derivative is that of the outside
    return tp.where((place > 0) & (place < n - 1), place, clamped.detach())


def _read(x: Tensor, at: list[Tensor], padding_mode: str) -> Tensor:
    """The elements at whole places; zero outside."""
    ndim = len(at)
    image = tuple(x.shape[2:])
    flat: Any = None
    valid: Any = None
    for p, n in zip(at, image, strict=True):
        place = p.detach().clamp(0, n - 1).to(int64)
        flat = place if flat is None else flat * n + place
        if padding_mode == "zeros":
            here = (p >= 0) & (p <= n - 1)
            valid = here if valid is None else valid & here
    size = (x.shape[0], x.shape[1], *flat.shape[1:])
    places = flat.unsqueeze(1).expand(size)
    found: Tensor = read_at_places(x, places, ndim)
    return found if valid is None else tp.where(valid.unsqueeze(1), found, 0.0)


@composite()
def affine_grid(theta: Tensor, size: Size, align_corners: bool | None = None) -> Tensor:
    """The places that affine maps ``theta`` ``(N, 2, 3)`` (or ``(N, 3, 4)``) give to the elements of images of a size.

    ``size`` is ``(N, C, H, W)`` (or ``(N, C, D, H, W)``); the result ``(N, H, W, 2)`` is a grid for `grid_sample`, whose
    ``align_corners`` it shares. ``grid[n, i, j] = theta[n] @ (x_j, y_i, 1)``.

    >>> tp.nn.functional.affine_grid(tp.eye(3)[:2].unsqueeze(0), (1, 1, 1, 2), align_corners=True)[0, 0]
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """
    ndim = len(size) - 2
    if ndim not in {2, 3} or tuple(theta.shape) != (size[0], ndim, ndim + 1):
        raise ShapeError(
            "affine_grid: expected theta (N, 2, 3) and a size (N, C, H, W), or (N, 3, 4) and "
            f"(N, C, D, H, W), got {tuple(theta.shape)} and {tuple(size)}"
        )
    if any(each < 1 for each in size):
        raise ShapeError(f"affine_grid: sizes are at least 1, got {tuple(size)}")
    if theta.dtype.kind != "f":
        raise DTypeError(f"affine_grid: expected a floating dtype, got {theta.dtype}")
    image = tuple(size[2:])
    axes = []
    for k in reversed(range(ndim)):
        n = image[k]
        i = tp.arange(n, dtype=theta.dtype, device=theta.device)
        if align_corners:
            line = i * (2.0 / (n - 1)) - 1.0 if n > 1 else i * 0.0
        else:
            line = (i * 2.0 + (1.0 - n)) / n
        axes.append(line.reshape((-1, *[1] * (ndim - 1 - k))).expand(image))
    base = tp.stack([*axes, tp.ones(image, dtype=theta.dtype, device=theta.device)], -1)
    flat = tp.matmul(base.reshape((1, -1, ndim + 1)), theta.transpose(1, 2))
    found: Tensor = flat.reshape((size[0], *image, ndim))
    return found


@grid_sample.sample
def _() -> Iterator[Sample]:
    grid = Arg((2, 3, 2, 2), low=-1.3, high=1.3)
    for padding_mode in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest", "bicubic"):
            yield sample(Arg((2, 3, 4, 5)), grid, mode, padding_mode, mode == "bilinear")
    yield sample(Arg((1, 2, 3, 4, 2)), Arg((1, 2, 2, 1, 3), low=-1.3, high=1.3))
    yield bad(ShapeError, "expected images", Arg((2, 3, 4, 5)), Arg((2, 3, 2, 3)))
    yield bad(ArgumentValueError, "padding_mode", Arg((2, 3, 4, 5)), grid, "nearest", "wrap")
    yield bad(ArgumentValueError, "mode", Arg((2, 3, 4, 5)), grid, "cubic")


@affine_grid.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 2, 3)), (2, 1, 3, 4), False)
    yield sample(Arg((2, 2, 3)), (2, 1, 3, 1), True)
    yield sample(Arg((1, 3, 4)), (1, 2, 2, 3, 2))
    yield bad(ShapeError, "expected theta", Arg((2, 2, 3)), (3, 1, 3, 4))
