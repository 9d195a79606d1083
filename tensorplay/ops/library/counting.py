"""Membership and counts: searchsorted and bucketize, isin, bincount, histc, unique.

The size of `bincount` and `unique` depends on data: they work eagerly, on tensors that have data.

>>> import tensorplay as tp
>>> tp.searchsorted(tp.tensor([1, 3, 5]), tp.tensor([3, 4]))
tensor([1, 2])
>>> tp.bincount(tp.tensor([0, 2, 2]))
tensor([1, 0, 2])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import Number, bfloat16, float32, float64, int32, int64, result_type
from tensorplay.core.errors import ArgumentValueError, DataNeededError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import has_batch, with_batch
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values, dtype_of, is_tensor

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- places in a sorted sequence ----------------------------------------------------------------------


def _insertion_meta(sorted_sequence: Any, input: Any, out_int32: bool, right: bool) -> TensorMeta:  # noqa: ANN401  # any value
    del right
    found, wanted = dtype_of(input), dtype_of(sorted_sequence)
    if found is not wanted:
        raise DTypeError(
            f"searchsorted: the sequence is {wanted} and input {found}; convert one with .to(dtype)"
        )
    if sorted_sequence.ndim == 0:
        raise ShapeError(
            "searchsorted: the sorted sequence is 0-d; it needs a dimension to search along"
        )
    lead = tuple(sorted_sequence.shape[:-1])
    if sorted_sequence.ndim > 1 and lead != tuple(input.shape[:-1]):
        raise ShapeError(
            f"searchsorted: a sequence of shape {tuple(sorted_sequence.shape)} and an input of shape "
            f"{tuple(input.shape)} must agree in all dimensions but the last"
        )
    return TensorMeta(tuple(input.shape), int32 if out_int32 else int64)


@structured(meta=_insertion_meta, public=False, not_differentiable="its results are indices")
def insertion_places(
    sorted_sequence: Array, input: Array, out_int32: bool = False, right: bool = False
) -> Array:
    """Where each element of `input` would be inserted to keep the last dimension sorted."""
    meta = _insertion_meta(sorted_sequence, input, out_int32, right)
    compute = dtype_of(sorted_sequence).compute
    keys, asked = convert(sorted_sequence, dtype=compute), convert(input, dtype=compute)
    side: Any = "right" if right else "left"
    found = np.empty(meta.shape, meta.dtype.numpy)
    if keys.ndim == 1:
        found[...] = np.searchsorted(keys, asked, side)
        return found
    rows = keys.reshape(-1, keys.shape[-1]) if keys.size else np.empty((0, 0), keys.dtype)
    if not rows.size:
        found[...] = 0
        return found
    queries = asked.reshape(len(rows), asked.shape[-1])
    target = found.reshape(len(rows), asked.shape[-1])
    for row, query, out in zip(rows, queries, target, strict=True):
        out[...] = np.searchsorted(row, query, side)
    return found


@insertion_places.batching
def _(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """One sequence a sample is a row of a matrix of sequences."""
    sequence: Any
    input: Any
    first: Any
    second: Any
    (sequence, input), (first, second) = values[:2], metas[:2]
    if not has_batch(sequence, first) and first.ndim == 1:
        return operator(sequence, input, *values[2:])
    sequence, input = with_batch(sequence, first, size), with_batch(input, second, size)
    rows = input.reshape((size, second.numel)) if first.ndim == 1 else input
    return operator(sequence, rows, *values[2:]).reshape(input.shape)


@composite()
def searchsorted(
    sorted_sequence: Tensor, input: Tensor | Number, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The places (int64, or int32) at which elements keep the ascending last dimension sorted if inserted there.

    The place in front of equal elements, with `right` (or `side="right"`) behind them. A 1-d
    sequence serves an input of any shape, another one must agree with it in all dimensions but the
    last. `sorter` holds the places that sort an unsorted sequence, as `argsort` gives them. Both
    have one dtype (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.searchsorted(tp.tensor([1, 3, 5]), tp.tensor([0, 3, 9]))
    tensor([0, 1, 3])
    >>> tp.searchsorted(tp.tensor([1, 3, 5]), tp.tensor([0, 3, 9]), right=True)
    tensor([0, 2, 3])
    """
    if side not in {None, "left", "right"}:
        raise ArgumentValueError(f"searchsorted: side must be 'left' or 'right', found {side!r}")
    if side == "left" and right:
        raise ArgumentValueError("searchsorted: side='left' contradicts right=True")
    keys = sorted_sequence if sorter is None else sorted_sequence.gather(-1, sorter)
    asked = input if is_tensor(input) else tp.zeros((), dtype=keys.dtype) + input
    found: Tensor = tp.insertion_places(keys, asked, out_int32, right or side == "right")
    return found


@composite()
def bucketize(
    input: Tensor | Number, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bucket between 1-d ascending `boundaries` in which each element lies (int64, or int32).

    A bucket holds its upper boundary, with `right` its lower one.

    >>> import tensorplay as tp
    >>> tp.bucketize(tp.tensor([0.5, 1.0, 9.0]), tp.tensor([0.0, 1.0, 2.0]))
    tensor([1, 1, 3])
    """
    if boundaries.ndim != 1:
        raise ShapeError(f"bucketize: expected 1-d boundaries, found shape {boundaries.shape}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@composite()
def isin(
    elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among `test_elements` (bool, of the shape of `elements`); NaN never is.

    `invert` asks for the contrary; `assume_unique` changes nothing.

    >>> import tensorplay as tp
    >>> tp.isin(tp.tensor([1, 2, 3]), tp.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    del assume_unique
    dtype = result_type([elements.dtype, test_elements.dtype])
    asked, known = elements.to(dtype), test_elements.to(dtype).reshape(-1)
    if known.shape[0] <= _FEW:
        found = (asked.unsqueeze(-1) == known).any(-1)
    else:
        known = known.gather(0, tp.argsort(known))
        places = searchsorted(known, asked).clamp(max=known.shape[0] - 1)
        found = known.index_select(0, places.reshape(-1)).reshape(asked.shape) == asked
    return found.logical_not() if invert else found


_FEW = 16
"""Up to so many are compared one by one; more are sorted and searched."""


# ---- counts ---------------------------------------------------------------------------------------------


def _depends(name: str) -> Any:  # noqa: ANN401  # a meta rule
    def meta(input: TensorMeta, *others: object) -> TensorMeta:
        del others
        raise DataNeededError(
            f"{name} of a tensor of shape {input.shape}: the shape of the result depends on data, which a recorded tensor "
            "does not have; call it outside of the compiled function"
        )

    return meta


@structured(meta=_depends("bincount"), method=True, not_differentiable="its result counts")
def bincount(input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number 0, 1, … stands in a 1-d tensor of integers that are not negative.

    int64; with `weights` their sums (float32 for float32, else float64). At least `minlength`
    entries. Raises `DTypeError`, `ShapeError` and, for negative numbers, `ArgumentValueError`.

    >>> import tensorplay as tp
    >>> tp.bincount(tp.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    if dtype_of(input).kind not in "iu":
        raise DTypeError(f"bincount: expected integers, found {dtype_of(input)}")
    if input.ndim != 1:
        raise ShapeError(f"bincount: expected a 1-d tensor, found shape {input.shape}")
    if weights is not None and weights.shape != input.shape:
        raise ShapeError(f"bincount: {weights.shape} weights for {input.shape} numbers")
    if minlength < 0 or (input.size and input.min() < 0):
        raise ArgumentValueError("bincount: the numbers and minlength must not be negative")
    places = input.astype(np.int64)
    if weights is None:
        return np.array(np.bincount(places, minlength=minlength), np.int64)
    sums = np.bincount(places, convert(weights, dtype=float64), minlength)
    return np.array(sums.astype(np.float32 if dtype_of(weights) is float32 else np.float64))


def _histc_meta(input: Any, bins: int, min: Number, max: Number) -> TensorMeta:  # noqa: ANN401  # a meta or an array
    if not dtype_of(input).is_floating_point:
        raise DTypeError(f"histc: expected a floating-point tensor, found {dtype_of(input)}")
    if bins <= 0:
        raise ArgumentValueError(f"histc: the number of bins must be positive, found {bins}")
    if not min.real <= max.real:
        raise ArgumentValueError(f"histc: min {min} is larger than max {max}")
    return TensorMeta((bins,), dtype_of(input))


@structured(meta=_histc_meta, method=True, not_differentiable="its result counts")
def histc(input: Array, bins: int = 100, min: Number = 0, max: Number = 0) -> Array:
    """How many elements lie in each of `bins` equal parts of `[min, max]`, in the dtype of `input`.

    Elements outside and NaN do not count. Where `min` equals `max` the least and the largest element
    are taken, and one less and more where those are equal too. Raises `DTypeError`, and
    `ArgumentValueError` for a range that is not finite.

    >>> import tensorplay as tp
    >>> tp.histc(tp.tensor([1.0, 2.0, 1.5, 4.0]), bins=3, min=1, max=4)
    tensor([2., 1., 1.])
    """
    meta = _histc_meta(input, bins, min, max)
    x = convert(input, dtype=float64).reshape(-1)
    low, high = float(min.real), float(max.real)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ArgumentValueError(
            f"histc: the range [{low}, {high}] is not finite; give min and max"
        )
    inside = x[(x >= low) & (x <= high)]
    counts, _ = np.histogram(inside, bins, (low, high))
    return convert(np.array(counts, np.float64), dtype=meta.dtype)


# ---- unique -----------------------------------------------------------------------------------------------


@structured(meta=_depends("unique"), public=False, not_differentiable="it finds equal elements")
def unique_parts(input: Array, dim: int | None = None) -> Any:  # noqa: ANN401  # three arrays
    """The different elements in order, where each element of the input stands among them, and how often each occurs."""
    return _unique_parts(input, dim)


def _unique_parts(input: Array, dim: int | None) -> Any:  # noqa: ANN401  # three arrays
    axis = None if dim is None else layout.normalize_dim("unique", dim, input.ndim)
    dtype = dtype_of(input)
    values, inverse, counts = np.unique(
        convert(input, dtype=dtype.compute),
        return_inverse=True,
        return_counts=True,
        axis=axis,
        equal_nan=False,
    )
    shape = input.shape if axis is None else (input.shape[axis],)
    return (
        np.array(convert(values, dtype=dtype), order="C"),
        np.array(inverse.reshape(shape), np.int64, order="C"),
        np.array(counts, np.int64, order="C"),
    )


@structured(
    meta=lambda input: TensorMeta((), int64, input.device),
    public=False,
    not_differentiable="its result counts",
)
def count_unique(input: Array) -> Array:
    """How many different elements there are: the size of `unique_parts`."""
    values = np.unique(convert(input, dtype=dtype_of(input).compute), equal_nan=False)
    return np.array(values.size, np.int64)


def _static_parts_meta(input: TensorMeta, size: int) -> Any:  # noqa: ANN401  # three metas
    return (
        TensorMeta((size,), input.dtype, input.device),
        TensorMeta(tuple(input.shape), int64, input.device),
        TensorMeta((size,), int64, input.device),
    )


@structured(meta=_static_parts_meta, public=False, not_differentiable="it finds equal elements")
def unique_parts_static(input: Array, size: int) -> Any:  # noqa: ANN401  # three arrays
    """`unique_parts` of a tensor that is known to have `size` different elements (`ArgumentValueError` if not)."""
    values, inverse, counts = _unique_parts(input, None)
    if values.size != size:
        raise ArgumentValueError(
            f"unique_parts_static: expected {size} different elements, found {values.size}"
        )
    return values, inverse, counts


@composite(method=True)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # noqa: ANN401  # a tensor or a tuple
    """The different elements (along `dim`: slices) in ascending order; they are sorted even if `sorted` is False.

    `return_inverse` adds where each element stands among them (int64), `return_counts` how often
    each occurs. Every NaN is different from every other. The size of the result depends on data.

    >>> import tensorplay as tp
    >>> tp.unique(tp.tensor([3, 1, 3, 2]))
    tensor([1, 2, 3])
    >>> tp.unique(tp.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    del sorted
    values, inverse, counts = tp.unique_parts(input, dim)
    more = [each for each, asked in ((inverse, return_inverse), (counts, return_counts)) if asked]
    return (values, *more) if more else values


# ---- samples ------------------------------------------------------------------------------------------------


@searchsorted.sample
@insertion_places.sample
def _() -> Iterator[Sample]:
    ascending = Arg((5,), values=[-1.0, 0.0, 0.0, 1.0, 2.0])
    yield sample(ascending, Arg((2, 3), layout="transposed"))
    yield sample(
        Arg((2, 3), int64, values=[[1, 3, 5], [2, 4, 6]]), Arg((2, 4), int64, low=0, high=8)
    )
    yield sample(Arg((3,), bfloat16, values=[1.0, 2.0, 4.0]), Arg((), bfloat16))
    yield sample(Arg((0,)), Arg((3,)), out_int32=True, right=True)
    yield bad(DTypeError, "convert", ascending, Arg((3,), int64))
    yield bad(ShapeError, "agree", Arg((2, 3)), Arg((3, 3)))
    yield bad(ShapeError, "0-d", Arg(()), Arg((3,)))


@bucketize.sample
def _() -> Iterator[Sample]:
    bounds = Arg((3,), values=[-1.0, 0.0, 1.0])
    yield sample(Arg((3, 4)), bounds)
    yield sample(0.0, bounds, right=True)
    yield sample(Arg((4,), layout="reversed"), bounds, out_int32=True)
    yield bad(ShapeError, "1-d", Arg((3,)), Arg((3, 2)))


@isin.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), int64, low=0, high=9), Arg((4,), int64, low=0, high=9))
    yield sample(Arg((30,), int32, low=0, high=30), Arg((5, 4), int64, low=0, high=30), invert=True)
    yield sample(Arg((3,), values=[1.0, float("nan"), 2.0]), Arg((2,), values=[float("nan"), 2.0]))
    yield sample(Arg((3,)), Arg((0,)))


@bincount.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((9,), int64, low=0, high=5))
    yield sample(Arg((5,), int32, low=0, high=3), Arg((5,)), 6)
    yield sample(Arg((0,), int64))


@histc.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 5)
    yield sample(Arg((20,), layout="strided"), 4, -1, 1)
    yield sample(Arg((6,), bfloat16), 3, -2.0, 2.0)
    yield sample(Arg((0,)), 3)
    yield bad(DTypeError, "floating-point", Arg((3,), int64))
    yield bad(ArgumentValueError, "bins", Arg((3,)), 0)
    yield bad(ArgumentValueError, "larger", Arg((3,)), 3, 2, 1)


@unique.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), int64, low=0, high=5))
    yield sample(Arg((3, 4)), True, True, True)
    yield sample(Arg((4, 2), int32, low=0, high=2), True, True, dim=0)


@count_unique.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), int64, low=0, high=5))
    yield sample(Arg((4,), values=[1.0, float("nan"), 1.0, float("nan")]))
    yield sample(Arg((0,), bfloat16))


@unique_parts_static.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 2), int64, values=[[3, 1], [1, 3]]), 2)
    yield sample(Arg((3,), bfloat16, values=[2.0, float("nan"), 2.0]), 2)


@unique_parts.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), int64, low=0, high=5))
    yield sample(Arg((5,), bfloat16))
    yield sample(Arg((4, 2), int32, low=0, high=2), 0)
