"""Order: one operator sorts (`argsort`, stable); the others read what it says.

NaN counts as larger than every number. Values, and so gradients, are gathered at the places that `argsort` gives.

>>> import tensorplay as tp
>>> tp.sort(tp.tensor([3.0, 1.0, 2.0])).values
tensor([1., 2., 3.])
>>> tp.median(tp.tensor([3.0, 1.0, 2.0]))
tensor(2.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import Number, bfloat16, int32, int64
from tensorplay.core.errors import ArgumentValueError, DimensionError, DTypeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import along
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.registry import tp
from tensorplay.ops.results import ValuesIndices
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of, is_tensor

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


# ---- sorting ------------------------------------------------------------------------------------------


def _orderable(name: str, dtype: DType) -> None:
    if dtype.kind == "c":
        raise DTypeError(f"{name}: complex numbers have no order; sort .real or .abs()")


def _argsort_meta(input: TensorMeta, dim: int, descending: bool, stable: bool) -> TensorMeta:
    del descending, stable
    _orderable("argsort", input.dtype)
    layout.normalize_dim("argsort", dim, input.ndim)
    return TensorMeta(input.shape, int64, input.device)


@structured(
    meta=_argsort_meta,
    method=True,
    not_differentiable="its results are indices",
    batching=along("dim"),
)
def argsort(input: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Array:
    """The places (int64) of the elements along `dim` in ascending order, or descending; NaN is the largest.

    Equal elements keep their order, whether `stable` asks for it or not. Complex tensors are refused
    (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.argsort(tp.tensor([30, 10, 20]))
    tensor([1, 2, 0])
    >>> tp.argsort(tp.tensor([30, 10, 20]), descending=True)
    tensor([0, 2, 1])
    """
    del stable
    _orderable("argsort", dtype_of(input))
    axis = layout.normalize_dim("argsort", dim, input.ndim)
    if not input.ndim:
        return np.zeros((), np.int64)
    keys = convert(input, dtype=dtype_of(input).compute)
    if not descending:
        return np.array(np.argsort(keys, axis=axis, kind="stable"), np.int64, order="C")
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return np.array(input.shape[axis] - 1 - np.flip(backwards, axis), np.int64, order="C")


def _at(input: Tensor, dim: int, places: Tensor) -> Tensor:
    return input.gather(dim, places) if input.ndim else input.clone()


@composite(method=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(values, indices)`: the elements along `dim` in order, and where they stood (int64).

    NaN is the largest. Equal elements keep their order.

    >>> import tensorplay as tp
    >>> tp.sort(tp.tensor([30, 10, 20]))
    ValuesIndices(values=tensor([10, 20, 30]), indices=tensor([1, 2, 0]))
    """
    places = tp.argsort(input, dim, descending, stable)
    return ValuesIndices(_at(input, dim, places), places)


def _count_along(name: str, input: Tensor, dim: int) -> int:
    place = layout.normalize_dim(name, dim, input.ndim)
    return input.shape[place] if input.ndim else 1


@composite(method=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(values, indices)`: the `k` largest (or least) elements along `dim`, in order, the best first.

    They come in order even if `sorted` is False. Raises `ArgumentValueError` unless
    `0 <= k <= input.shape[dim]`.

    >>> import tensorplay as tp
    >>> tp.topk(tp.tensor([30, 10, 40, 20]), 2)
    ValuesIndices(values=tensor([40, 30]), indices=tensor([2, 0]))
    """
    del sorted
    count = _count_along("topk", input, dim)
    if not 0 <= k <= count:
        raise ArgumentValueError(f"topk: k is {k}, dimension {dim} has {count} elements")
    places = tp.argsort(input, dim, largest)
    places = places.narrow(dim, 0, k) if input.ndim else places
    return ValuesIndices(_at(input, dim, places), places)


def _chosen(input: Tensor, dim: int, keepdim: bool, places: Tensor) -> ValuesIndices:
    """The elements at places that keep `dim`."""
    values = _at(input, dim, places)
    if input.ndim and not keepdim:
        return ValuesIndices(values.squeeze(dim), places.squeeze(dim))
    return ValuesIndices(values, places)


@composite(method=True)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(values, indices)`: the `k`-th least element along `dim`, counted from 1; NaN is the largest.

    Raises `ArgumentValueError` unless `1 <= k <= input.shape[dim]`.

    >>> import tensorplay as tp
    >>> tp.kthvalue(tp.tensor([30, 10, 20]), 2)
    ValuesIndices(values=tensor(20), indices=tensor(2))
    """
    count = _count_along("kthvalue", input, dim)
    if not 1 <= k <= count:
        raise ArgumentValueError(
            f"kthvalue: k is {k}, dimension {dim} has {count} elements, counted from 1"
        )
    places = tp.argsort(input, dim)
    places = places.narrow(dim, k - 1, 1) if input.ndim else places
    return _chosen(input, dim, keepdim, places)


# ---- medians and quantiles ----------------------------------------------------------------------------


def _median(
    name: str, input: Tensor, dim: int, keepdim: bool, *, ignore_nan: bool
) -> ValuesIndices:
    count = _count_along(name, input, dim)
    if count == 0:
        raise ArgumentValueError(f"{name}: dimension {dim} is empty")
    if not input.ndim:
        return ValuesIndices(input.clone(), tp.zeros((), dtype=int64))
    order = tp.argsort(input, dim)
    if not input.dtype.is_floating_point:
        return _chosen(input, dim, keepdim, order.narrow(dim, (count - 1) // 2, 1))
    nan = input.isnan()
    if ignore_nan:
        numbers = nan.logical_not().sum(dim, True)
        return _chosen(input, dim, keepdim, order.gather(dim, (numbers - 1).clamp(min=0) // 2))
    middle = order.narrow(dim, (count - 1) // 2, 1)
    first = tp.argmax(input, dim, True)
    return _chosen(input, dim, keepdim, tp.where(nan.any(dim, True), first, middle))


def _median_form(name: str, input: Tensor, dim: int | None, keepdim: bool, ignore_nan: bool) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    if dim is None:
        return _median(name, input.reshape(-1), 0, False, ignore_nan=ignore_nan).values
    return _median(name, input, dim, keepdim, ignore_nan=ignore_nan)


@composite(method=True)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """The middle element, the lower of two; with `dim`, `(values, indices)` along it.

    NaN where there is one. An empty dimension is refused (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.median(tp.tensor([3.0, 1.0, 4.0, 2.0]))
    tensor(2.)
    >>> tp.median(tp.tensor([[3, 1, 2], [6, 5, 4]]), 1)
    ValuesIndices(values=tensor([2, 5]), indices=tensor([2, 1]))
    """
    return _median_form("median", input, dim, keepdim, ignore_nan=False)


@composite(method=True)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """As `median` of the elements that are not NaN; NaN where all are.

    >>> import tensorplay as tp
    >>> tp.nanmedian(tp.tensor([1.0, float("nan"), 2.0, 5.0]))
    tensor(2.)
    """
    return _median_form("nanmedian", input, dim, keepdim, ignore_nan=True)


_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


def _quantile(
    name: str,
    input: Tensor,
    q: Any,  # noqa: ANN401  # a number or a tensor
    dim: int | None,
    keepdim: bool,
    how: str,
    *,
    ignore_nan: bool,
) -> Tensor:
    """Sorted rows, read at `q * (count - 1)`, between two elements where that is no integer."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name}: expected a floating-point tensor, found {input.dtype}")
    if how not in _INTERPOLATIONS:
        raise ArgumentValueError(
            f"{name}: interpolation must be one of {_INTERPOLATIONS}, found {how!r}"
        )
    if is_tensor(q):
        if q.dtype is not input.dtype or q.ndim > 1:
            raise DTypeError(
                f"{name}: q must be a number, or a 0-d or 1-d tensor of dtype {input.dtype}"
            )
        asked = q.reshape(-1)
    elif 0 <= q <= 1:
        asked = tp.ones((1,), dtype=input.dtype) * q
    else:
        raise ArgumentValueError(f"{name}: q must lie in [0, 1], found {q}")
    place = 0 if dim is None else layout.normalize_dim(name, dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else input.movedim(place, -1)
    count = rows.shape[-1]
    if count == 0:
        raise ArgumentValueError(f"{name}: there is nothing to take a quantile of")
    found = _read_sorted(rows, asked, how, ignore_nan=ignore_nan)
    kept = [1] * input.ndim
    if dim is not None:
        kept = [1 if d == place else size for d, size in enumerate(input.shape)]
    lead = tuple(q.shape) if is_tensor(q) else ()
    found = found.movedim(-1, 0)
    return found.reshape((*lead, *kept)) if keepdim else found.reshape((*lead, *found.shape[1:]))


def _read_sorted(rows: Tensor, asked: Tensor, how: str, *, ignore_nan: bool) -> Tensor:
    count = rows.shape[-1]
    ascending = rows.gather(-1, tp.argsort(rows, -1))
    nan = rows.isnan()
    if ignore_nan:
        last = (nan.logical_not().sum(-1, True) - 1).clamp(min=0).to(rows.dtype)
    else:
        last = tp.full((*rows.shape[:-1], 1), count - 1, dtype=rows.dtype)
    where = asked * last
    low, high = where.detach().floor(), where.detach().ceil()
    if how == "lower":
        high = low
    elif how == "higher":
        low = high
    elif how == "nearest":
        low = high = where.detach().round()
    below = ascending.gather(-1, low.long())
    above = ascending.gather(-1, high.long())
    share: Any = 0.5 if how == "midpoint" else where - low
    found = tp.lerp(below, above, share) if how in {"linear", "midpoint"} else below
    return found if ignore_nan else found.masked_fill(nan.any(-1, True), math.nan)


@composite(method=True)
def quantile(
    input: Tensor,
    q: Tensor | Number,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which the part `q` (in [0, 1]) of the elements lies, along `dim` or of all.

    `interpolation` says what stands between two elements: "linear", "lower", "higher", "nearest" or
    "midpoint". A 1-d `q` adds a leading dimension. NaN where the row holds one. Only floating-point
    tensors (`DTypeError`), and none without elements (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.quantile(tp.tensor([1.0, 2.0, 3.0, 4.0]), tp.tensor([0.25, 0.5]))
    tensor([1.7500, 2.5000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, ignore_nan=False)


@composite(method=True)
def nanquantile(
    input: Tensor,
    q: Tensor | Number,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """As `quantile` of the elements that are not NaN; NaN where all are.

    >>> import tensorplay as tp
    >>> tp.nanquantile(tp.tensor([1.0, float("nan"), 2.0, 5.0]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, ignore_nan=True)


# ---- samples ----------------------------------------------------------------------------------------------


@argsort.sample
@sort.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), layout="transposed"), 0, True)
    yield sample(Arg((6,), layout="reversed"), stable=True)
    yield sample(Arg((7,), int32, low=0, high=3), 0, True)
    yield sample(Arg((5,), bfloat16, values=[1.0, math.nan, -math.inf, -0.0, 0.0]))
    yield sample(Arg(()))
    yield sample(Arg((0, 3)), 0)
    yield bad(DimensionError, "argsort", Arg((2, 3)), 2)


@topk.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 2)
    yield sample(Arg((3, 4), layout="transposed"), 3, 0, False)
    yield sample(Arg((7,), int32, low=0, high=3), 0)
    yield sample(Arg(()), 1)
    yield bad(ArgumentValueError, "topk: k is 5", Arg((2, 4)), 5)
    yield bad(DimensionError, "topk", Arg((2, 3)), 1, 2)


@kthvalue.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 2)
    yield sample(Arg((3, 4), layout="transposed"), 3, 0, True)
    yield sample(Arg(()), 1)
    yield bad(ArgumentValueError, "counted from 1", Arg((2, 4)), 0)


@median.sample
@nanmedian.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), layout="transposed"), 0, True)
    yield sample(Arg((3, 5)), 1)
    yield sample(Arg((6,), int32, low=0, high=9), 0)
    yield sample(Arg((4,), values=[1.0, math.nan, 2.0, math.nan]), 0)
    yield sample(Arg(()), 0)
    yield bad(ArgumentValueError, "empty", Arg((0,)))
    yield bad(DimensionError, "median", Arg((2, 3)), 2)


@quantile.sample
@nanquantile.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.3)
    yield sample(Arg((3, 4), layout="transposed"), 0.6, 0, True)
    yield sample(Arg((3, 5)), Arg((2,), low=0.05, high=0.9), 1)
    for how in _INTERPOLATIONS[1:]:
        yield sample(Arg((5,)), 0.35, interpolation=how)
    yield sample(Arg((4,), values=[1.0, math.nan, 2.0, 5.0]), 0.5, 0)
    yield bad(ArgumentValueError, "must lie in", Arg((3,)), 1.5)
    yield bad(ArgumentValueError, "interpolation", Arg((3,)), 0.5, interpolation="cubic")
    yield bad(DTypeError, "floating-point", Arg((3,), int64), 0.5)
