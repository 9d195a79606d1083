"""How often values occur: mode, unique_consecutive, histogram, histogramdd.

>>> import tensorplay as tp
>>> tp.mode(tp.tensor([3, 1, 3, 1, 3])).values
tensor(3)
>>> tp.unique_consecutive(tp.tensor([1, 1, 2, 1]))
tensor([1, 2, 1])
"""

from __future__ import annotations

import math
from builtins import range as builtin_range
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import DType, float32, int32, int64
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DataNeededError,
    DimensionError,
    DTypeError,
    ShapeError,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import along
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.registry import tp
from tensorplay.ops.results import ValuesIndices
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of, is_tensor

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- the most frequent -------------------------------------------------------------------------------------


_COUNTS = "its result counts, and edges are where the data is"


def _mode_meta(input: TensorMeta, dim: int) -> TensorMeta:
    if input.dtype.kind == "c":
        raise DTypeError("mode: complex numbers have no order")
    place = layout.normalize_dim("mode", dim, input.ndim)
    if input.ndim and not input.shape[place]:
        raise DimensionError(f"mode: dimension {dim} is empty")
    shape = [size for d, size in enumerate(input.shape) if d != place]
    return TensorMeta(shape, int64, input.device)


@structured(
    meta=_mode_meta,
    public=False,
    not_differentiable="its results are indices",
    batching=along("dim"),
)
def mode_places(input: Array, dim: int) -> Array:
    """The place (int64) along `dim` of the most frequent element, the least of several, where it stands last."""
    meta = _mode_meta(TensorMeta(input.shape, dtype_of(input)), dim)
    if not input.ndim:
        return np.zeros((), np.int64)
    keys = np.moveaxis(convert(input, dtype=dtype_of(input).compute), dim, -1)
    order = np.argsort(keys, axis=-1, kind="stable")
    ordered = np.take_along_axis(keys, order, -1)
    places = np.arange(keys.shape[-1])
    is_first = np.ones(keys.shape, np.bool_)
    is_first[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    # How many elements equal to it stand in front of each, in the order of values.
    lengths = places - np.maximum.accumulate(np.where(is_first, places, 0), axis=-1)
    longest = np.argmax(lengths, axis=-1, keepdims=True)
    return np.array(np.take_along_axis(order, longest, -1)[..., 0], np.int64).reshape(meta.shape)


@composite(method=True)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: ANN401  # values and indices
    """`(values, indices)`: the most frequent element along `dim`, and where it stands last (int64).

    The least of several. Complex tensors and an empty dimension are refused.

    >>> import tensorplay as tp
    >>> tp.mode(tp.tensor([1, 2, 2, 3]))
    ValuesIndices(values=tensor(2), indices=tensor(2))
    """
    places: Tensor = tp.mode_places(input, dim)
    if not input.ndim:
        return ValuesIndices(input.clone(), places)
    place = layout.normalize_dim("mode", dim, input.ndim)
    wide = places.unsqueeze(place)
    found = input.gather(place, wide)
    if keepdim:
        return ValuesIndices(found, wide)
    return ValuesIndices(found.squeeze(place), places)


# ---- runs --------------------------------------------------------------------------------------------------


def _runs_meta(input: TensorMeta, dim: int | None) -> TensorMeta:
    del dim
    raise DataNeededError(
        f"unique_consecutive of a tensor of shape {input.shape}: the shape of the result depends on data, which a "
        "recorded tensor does not have; call it outside of the compiled function"
    )


@structured(meta=_runs_meta, public=False, not_differentiable="it finds equal elements")
def runs(input: Array, dim: int | None = None) -> Any:  # noqa: ANN401  # three arrays
    """The first of each run of equal neighbours, the number of its run for each element, the runs' lengths."""
    place = 0 if dim is None else layout.normalize_dim("unique_consecutive", dim, input.ndim)
    x = input.reshape(-1) if dim is None else np.moveaxis(input, place, 0)
    count = x.shape[0]
    is_first = np.ones(count, np.bool_)
    differs = x[1:] != x[:-1]
    is_first[1:] = differs.reshape(max(count - 1, 0), -1).any(-1) if differs.size else False
    starts = np.flatnonzero(is_first)
    values = np.array(np.moveaxis(x[starts], 0, place) if dim is not None else x[starts], order="C")
    number = np.cumsum(is_first) - 1
    inverse = number.reshape(input.shape) if dim is None else number
    lengths = np.diff(np.append(starts, count))
    return values, np.array(inverse, np.int64, order="C"), np.array(lengths, np.int64)


@composite(method=True)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:  # noqa: ANN401  # one to three tensors
    """The first of each run of equal neighbours, of the flattened tensor or of slices along `dim`.

    With `return_inverse` also the number of the run of each element, with `return_counts` the lengths
    of the runs (int64). The size of the result depends on data.

    >>> import tensorplay as tp
    >>> tp.unique_consecutive(tp.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = tp.runs(input, dim)
    wanted = [found[0]] + [found[1]] * return_inverse + [found[2]] * return_counts
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


# ---- histograms --------------------------------------------------------------------------------------------


class Histogram(NamedTuple):
    """Counts, and the edges of the bins."""

    hist: Tensor
    bin_edges: Any


def _counts_meta(
    input: TensorMeta, edges: Sequence[TensorMeta], weight: TensorMeta | None, density: bool
) -> TensorMeta:
    del weight, density
    return TensorMeta([each.shape[0] - 1 for each in edges], input.dtype, input.device)


@structured(meta=_counts_meta, public=False, not_differentiable="its result counts")
def histogram_counts(
    input: Array, edges: Sequence[Array], weight: Array | None = None, density: bool = False
) -> Array:
    """How many of the points, the rows of `input`, lie in each cell between edges; with weights, their sums."""
    wide = [each.astype(np.float64) for each in edges]
    weights = None if weight is None else weight.astype(np.float64).reshape(-1)
    found, _ = np.histogramdd(input.astype(np.float64), wide, weights=weights, density=density)
    return np.array(found.astype(input.dtype), order="C")


def _checked(name: str, input: Tensor, weight: Tensor | None, points: int) -> None:
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name}: expected a floating-point tensor, found {input.dtype}")
    if weight is not None and weight.dtype is not input.dtype:
        raise DTypeError(f"{name}: input is {input.dtype} and weight {weight.dtype}; convert one")
    if weight is not None and weight.numel() != points:
        raise ShapeError(f"{name}: {weight.numel()} weights for {points} points")


def _edges(name: str, bins: Any, low: Tensor, high: Tensor, dtype: DType) -> Tensor:  # noqa: ANN401  # a number or edges
    if is_tensor(bins):
        if bins.ndim != 1 or not bins.numel():
            raise ShapeError(f"{name}: expected 1-d edges, found shape {tuple(bins.shape)}")
        if bins.dtype is not dtype:
            raise DTypeError(f"{name}: input is {dtype} and the edges {bins.dtype}; convert one")
        found: Tensor = bins
        return found
    if not isinstance(bins, int) or bins <= 0:
        raise ArgumentValueError(f"{name}: the number of bins must be positive, found {bins!r}")
    same = low == high
    low, high = tp.where(same, low - 0.5, low), tp.where(same, high + 0.5, high)
    steps = tp.arange(bins + 1, dtype=dtype)
    return tp.where(steps == bins, high, low + steps * ((high - low) / bins))


def _bounds(name: str, x: Tensor, given: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401  # two numbers or None
    if given is None:
        if not x.numel():
            zero = tp.zeros((), dtype=x.dtype)
            return zero, zero + 1
        return x.amin(), x.amax()
    low, high = (float(each) for each in given)
    if not low <= high or not math.isfinite(low) or not math.isfinite(high):
        raise ArgumentValueError(f"{name}: expected a finite range from low to high, found {given}")
    first, last = (tp.full((), each, dtype=x.dtype) for each in (low, high))
    return first, last


@composite(method=True, not_differentiable=_COUNTS)
def histogram(
    input: Tensor,
    bins: object,
    *,
    range: object = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:  # noqa: ANN401  # counts and edges
    """`(hist, bin_edges)`: how many elements lie in each bin, in the dtype of `input`.

    `bins` is a number of equal bins of `range` (the least to the largest element), or a 1-d tensor of
    ascending edges. A bin holds its lower edge, the last one both. With `weight` each element counts
    as much; `density` divides by the sum and the widths. Floating-point tensors only (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.histogram(tp.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 4.0)).hist
    tensor([2., 1.])
    """
    _checked("histogram", input, weight, input.numel())
    flat = input.reshape(-1)
    low, high = _bounds("histogram", flat.detach(), range)
    edges = _edges("histogram", bins, low, high, input.dtype)
    found: Tensor = tp.histogram_counts(flat.reshape(-1, 1), (edges,), weight, density)
    return Histogram(found, edges)


@composite(not_differentiable=_COUNTS)
def histogramdd(
    input: Tensor,
    bins: object,
    *,
    range: object = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:  # noqa: ANN401  # counts and edges
    """`(hist, bin_edges)` of points in D dimensions, the last dimension of `input`.

    `bins` is a number for all dimensions, one for each, or a 1-d tensor of edges for each; `range` has
    two numbers for each dimension. Else as `histogram`.

    >>> import tensorplay as tp
    >>> tp.histogramdd(tp.tensor([[0.0, 0.0], [1.0, 1.0]]), (2, 2)).hist
    tensor([[1., 0.],
            [0., 1.]])
    """
    if input.ndim < 2:
        raise ShapeError(f"histogramdd: expected points, found shape {tuple(input.shape)}")
    points = input.reshape(-1, input.shape[-1])
    _checked("histogramdd", input, weight, points.shape[0])
    count = points.shape[1]
    given: Any = [bins] * count if isinstance(bins, int) else bins
    if not isinstance(given, Sequence) or len(given) != count:
        raise ArgumentError(
            f"histogramdd: expected bins for {count} dimensions, found {bins!r:.60}"
        )
    limits: Any = [None] * count
    if range is not None:
        flat: Any = range
        limits = [tuple(flat[2 * k : 2 * k + 2]) for k in builtin_range(count)]
    edges = []
    for k, (each, limit) in enumerate(zip(given, limits, strict=True)):
        low, high = _bounds("histogramdd", points.detach().select(1, k), limit)
        edges.append(_edges("histogramdd", each, low, high, input.dtype))
    found: Tensor = tp.histogram_counts(points, tuple(edges), weight, density)
    return Histogram(found, tuple(edges))


# ---- samples -------------------------------------------------------------------------------------------------


@mode_places.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5), int32, low=0, high=3), 1)
    yield sample(Arg((3, 4), layout="transposed"), 0)
    yield bad(DimensionError, "empty", Arg((3, 0)), 1)


@mode.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5), int32, low=0, high=3))
    yield sample(Arg((3, 4), layout="transposed"), 0, True)
    yield sample(Arg(()))
    yield bad(DimensionError, "empty", Arg((3, 0)))


@runs.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((7,), int32, low=0, high=2))
    yield sample(Arg((2, 5), int64, low=0, high=2), 1)


@unique_consecutive.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((7,), int32, low=0, high=2), True, True)
    yield sample(Arg((2, 3), int64, low=0, high=2))
    yield sample(Arg((4, 1), int64, low=0, high=2), dim=0)


@histogram_counts.sample
def _() -> Iterator[Sample]:
    edges = Arg((3,), values=[-1.0, 0.0, 2.0])
    yield sample(Arg((5, 1)), (edges,))
    yield sample(Arg((5, 2)), (edges, Arg((2,), values=[-2.0, 2.0])), Arg((5,), low=0.0), True)


@histogram.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 5, range=(-2.0, 2.0))
    yield sample(Arg((6,), layout="reversed"), 3, weight=Arg((6,), low=0.0), density=True)
    yield bad(DTypeError, "floating-point", Arg((3,), int64), 2)
    yield bad(ArgumentValueError, "positive", Arg((3,)), 0)
    yield bad(ArgumentValueError, "finite range", Arg((3,)), 2, range=(1.0, 0.0))
    yield bad(ShapeError, "weights", Arg((3,)), 2, weight=Arg((2,)))


@histogramdd.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((6, 2)), (3, 2))
    yield sample(Arg((2, 3, 2), float32), 2, range=(-1.0, 1.0, -2.0, 2.0))
    yield bad(ShapeError, "points", Arg((3,)), 2)
    yield bad(ArgumentError, "2 dimensions", Arg((3, 2)), (2,))
