"""Reductions: a monoid with a scalar function before and after."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import ArgumentError, ArgumentValueError, DimensionError, DTypeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, reduction
from tensorplay.ops.gradient import Result
from tensorplay.ops.kinds.reduction import (
    always_bool,
    floating_only,
    integers_to_int64,
    ordered,
    ordered_to_int64,
    real_of_floating,
)
from tensorplay.ops.library.arithmetic import maximum, minimum
from tensorplay.ops.monoids import ALL, ANY, ARGMAX, ARGMIN, MAX, MIN, PROD, SUM, WELFORD
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import ValuesIndices
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, Values, is_tensor
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.core.meta import TensorMeta
    from tensorplay.tensor import Tensor

# ---- sums and products ------------------------------------------------------------------------------------


@reduction(SUM, result=integers_to_int64, linear=True)
def sum(
    input: Value, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    """The sum over dimensions (all by default); bool and integers sum to int64.

    >>> import tensorplay as tp
    >>> tp.sum(tp.tensor([[1, 2], [3, 4]]))
    tensor(10)
    >>> tp.sum(tp.tensor([[1, 2], [3, 4]]), 1, keepdim=True)
    tensor([[3],
            [7]])
    """
    return input


@reduction(SUM, result=floating_only, linear=True, after=lambda total, count: total / count)
def mean(
    input: Value, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    """The mean over dimensions (all by default); of nothing it is NaN.

    >>> import tensorplay as tp
    >>> tp.mean(tp.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(2.5000)
    >>> tp.mean(tp.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, keepdim=True)
    tensor([[1.5000],
            [3.5000]])
    """
    return input


@reduction(PROD, result=integers_to_int64)
def prod(
    input: Value, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    """The product over dimensions (all by default); bool and integers multiply to int64.

    >>> import tensorplay as tp
    >>> tp.prod(tp.tensor([[1, 2], [3, 4]]), 1)
    tensor([ 2, 12])
    """
    return input


def spread(grad: Tensor, input: TensorMeta, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """A reduction's gradient along the reduced dimensions again: the adjoint of a sum."""
    if dim and not keepdim and input.ndim:
        for each in sorted(layout.normalize_dims("sum", dim, input.ndim)):
            grad = grad.unsqueeze(each)
    return grad.expand(input.shape)


@sum.gradient("input")
def _sum_gradient(
    grad: Tensor, input: TensorMeta, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    return spread(grad, input, dim, keepdim)


@mean.gradient("input")
def _mean_gradient(
    grad: Tensor, input: TensorMeta, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    return spread(grad / reduced_count(input, dim), input, dim, keepdim)


def reduced_count(input: TensorMeta, dim: Sequence[int] | None) -> int:
    """How many elements are reduced to one."""
    if not dim:
        return input.numel
    if not input.ndim:
        return 1
    return math.prod(input.shape[each] for each in layout.normalize_dims("mean", dim, input.ndim))


@prod.gradient("input")
def _prod_gradient(grad: Tensor, input: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The product of the others, by products of what comes before and after: exact with zeros."""
    meta = input.tensor_meta
    dims = layout.normalize_dims("prod", dim, meta.ndim) if dim else tuple(range(meta.ndim))
    if not meta.ndim:
        return grad
    kept = [i for i in range(meta.ndim) if i not in dims]
    order = [*kept, *dims]
    moved = input.permute(order)
    flat = moved.reshape((*(meta.shape[i] for i in kept), math.prod(meta.shape[i] for i in dims)))
    others = _products_of_others(flat)
    back = others.reshape([meta.shape[i] for i in order]).permute(
        [order.index(i) for i in range(meta.ndim)]
    )
    return spread(grad, meta, dim, keepdim) * back


def _products_of_others(x: Tensor) -> Tensor:
    """Along the last dimension, the product of all other elements, by doubling distances: log2(n) steps."""
    n = x.shape[-1]
    before, after = _shifted(x, 1), _shifted(x, -1)
    distance = 1
    while distance < n:
        before = before * _shifted(before, distance)
        after = after * _shifted(after, -distance)
        distance *= 2
    return before * after


def _shifted(x: Tensor, distance: int) -> Tensor:
    """Element `i` becomes element `i + distance`; ones come in."""
    n = x.shape[-1]
    from tensorplay.ops.registry import tp  # cat and ones belong to other families

    size = builtins.min(n, distance if distance > 0 else -distance)
    ones = tp.ones((*x.shape[:-1], size), dtype=x.dtype)
    if distance > 0:
        found: Tensor = tp.cat([ones, x.narrow(-1, 0, n - size)], -1)
    else:
        found = tp.cat([x.narrow(-1, size, n - size), ones], -1)
    return found


@prod.tangent
def _prod_tangent(
    operator: Operator, values: Values, result: Result, tangents: Sequence[Tensor | None]
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    del operator, result
    input: Any = values[0]
    tangent = tangents[0]
    if tangent is None:
        return None
    ones = sum(tangent, values[1], values[2]) * 0 + 1
    partial = _prod_gradient(ones, input, values[1], bool(values[2]))
    return sum(partial * tangent, values[1], values[2])


# ---- extremes -----------------------------------------------------------------------------------------------


@reduction(MAX, result=ordered, needs_elements=True)
def amax(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """The largest element over dimensions; NaN wins. Equal elements share the gradient.

    >>> import tensorplay as tp
    >>> tp.amax(tp.tensor([[3, 1], [2, 5]]), 1)
    tensor([3, 5])
    """
    return _comparable(input)


@reduction(MIN, result=ordered, needs_elements=True)
def amin(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """The smallest element over dimensions; NaN wins. Equal elements share the gradient.

    >>> import tensorplay as tp
    >>> tp.amin(tp.tensor([[3, 1], [2, 5]]), 1)
    tensor([1, 2])
    """
    return _comparable(input)


@amax.gradient("input")
@amin.gradient("input")
def _extreme_gradient(  # what the rule reads
    grad: Tensor, input: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    share = _ties(input, result, dim, keepdim)
    return spread(grad, input.tensor_meta, dim, keepdim) * share


def _ties(input: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """One over the number of elements that equal the extreme, at those elements.

    NaN counts as equal to NaN.
    """
    meta = input.tensor_meta
    wide = spread(result, meta, dim, keepdim)
    hit = ((input == wide) | (input.isnan() & wide.isnan())).to(meta.dtype)
    return hit / spread(sum(hit, dim, keepdim), meta, dim, keepdim)


@amax.tangent
@amin.tangent
def _extreme_tangent(
    operator: Operator, values: Values, result: Result, tangents: Sequence[Tensor | None]
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    del operator
    input: Any = values[0]
    tangent = tangents[0]
    if tangent is None:
        return None
    share = _ties(input, result, values[1], bool(values[2]))  # type: ignore[arg-type]  # bound dims
    return sum(tangent * share, values[1], values[2])


@reduction(ARGMAX, result=ordered_to_int64, not_differentiable="its result is an index")
def argmax(input: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The index of the largest element along a dimension, or in the flattened tensor.

    The first of equal ones, NaN wins.

    >>> import tensorplay as tp
    >>> tp.argmax(tp.tensor([[3, 1], [2, 5]]))
    tensor(3)
    >>> tp.argmax(tp.tensor([[3, 1], [2, 5]]), 1)
    tensor([0, 1])
    """
    return _comparable(input)


@reduction(ARGMIN, result=ordered_to_int64, not_differentiable="its result is an index")
def argmin(input: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    """The index of the smallest element along a dimension, or in the flattened tensor.

    The first of equal ones, NaN wins.

    >>> import tensorplay as tp
    >>> tp.argmin(tp.tensor([[3, 1], [2, 5]]))
    tensor(1)
    >>> tp.argmin(tp.tensor([[3, 1], [2, 5]]), 1)
    tensor([1, 0])
    """
    return _comparable(input)


def _comparable(x: Value) -> Value:
    """Truth values compare as 0 and 1."""
    return ops.to_dtype(x, dtypes.uint8) if x.dtype.kind == "b" else x


def _extreme(reduce: Operator, arg: Operator, pairwise: Operator, args: tuple[Any, ...]) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """The three forms of max and min: of everything, of two tensors, along a dimension."""
    input, dim, keepdim = args
    if is_tensor(dim):
        return pairwise(input, dim)
    if dim is None:
        return reduce(input)
    place = arg(input, dim, True)
    values = input.gather(dim, place) if input.ndim else input.clone()
    if not keepdim and input.ndim:
        values, place = values.squeeze(dim), place.squeeze(dim)
    return ValuesIndices(values, place)


@composite(method=True)
def max(input: Tensor, dim: object = None, keepdim: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """The largest element; with `dim`, values and indices along it.

    With a tensor, the larger of both.

    >>> import tensorplay as tp
    >>> tp.max(tp.tensor([3.0, 1.0, 2.0]))
    tensor(3.)
    >>> tp.max(tp.tensor([[3, 1], [2, 5]]), 1)
    ValuesIndices(values=tensor([3, 5]), indices=tensor([0, 1]))
    """
    return _extreme(amax, argmax, maximum, (input, dim, keepdim))


@composite(method=True)
def min(input: Tensor, dim: object = None, keepdim: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """The smallest element.

    With `dim`, values and indices along it; with a tensor, the smaller of both.

    >>> import tensorplay as tp
    >>> tp.min(tp.tensor([3.0, 1.0, 2.0]))
    tensor(1.)
    >>> tp.min(tp.tensor([[3, 1], [2, 5]]), 1)
    ValuesIndices(values=tensor([1, 2]), indices=tensor([1, 0]))
    """
    return _extreme(amin, argmin, minimum, (input, dim, keepdim))


# ---- truth ----------------------------------------------------------------------------------------------------


@reduction(ANY, result=always_bool, not_differentiable="its result is a truth value")
def any(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """Whether some element is nonzero.

    >>> import tensorplay as tp
    >>> tp.any(tp.tensor([[0, 0], [0, 3]]), 1)
    tensor([False,  True])
    """
    return input


@reduction(ALL, result=always_bool, not_differentiable="its result is a truth value")
def all(input: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    """Whether every element is nonzero.

    >>> import tensorplay as tp
    >>> tp.all(tp.tensor([[True, True], [True, False]]), 1)
    tensor([ True, False])
    """
    return input


@composite(method=True)
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """The number (int64) of elements that are not zero, over dimensions, all by default. NaN is none.

    >>> import tensorplay as tp
    >>> tp.count_nonzero(tp.tensor([0.5, 0.0, float("nan")]))
    tensor(2)
    """
    return tp.ne(input, 0).sum(dim)


# ---- variance -------------------------------------------------------------------------------------------------


def correction_of(name: str, unbiased: bool | None, correction: Number | None) -> Number:
    """What is taken off the count: `correction`, or 1, or 0 where `unbiased` is False."""
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{name}: give unbiased or correction, not both")
    if correction is not None:
        return correction
    return 1 if unbiased is None else int(unbiased)


def _variance(mean: Value, moment: Value, count: Value, correction: Number) -> Value:
    """Sum of squared distances over `count - correction`, at least 0: NaN where nothing varies."""
    if moment.dtype.is_complex:  # sums of |x - mean|², which are real
        moment, count = ops.real(moment), ops.real(count)
    return moment / ops.relu(count - correction)


def _deviation(mean: Value, moment: Value, count: Value, correction: Number) -> Value:
    return ops.sqrt(_variance(mean, moment, count, correction))


@reduction(
    WELFORD, result=real_of_floating, after=_variance, conjugates=True, method=False, public=False
)  # its public forms: call_forms
def var(input: Value, dim: Dims = None, keepdim: bool = False, *, correction: Number = 1) -> Value:
    """The variance over dimensions with `count - correction` in the denominator, accumulated in float64.

    >>> import tensorplay as tp
    >>> tp.var(tp.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    >>> tp.var(tp.tensor([1.0, 2.0, 3.0]), correction=0)
    tensor(0.6667)
    """
    return input


@reduction(
    WELFORD, result=real_of_floating, after=_deviation, conjugates=True, method=False, public=False
)  # its public forms: call_forms
def std(input: Value, dim: Dims = None, keepdim: bool = False, *, correction: Number = 1) -> Value:
    """The square root of the variance.

    >>> import tensorplay as tp
    >>> tp.std(tp.tensor([[1.0, 3.0], [2.0, 2.0]]), 1)
    tensor([1.4142, 0.0000])
    """
    return input


def _centered(input: Tensor, dim: Sequence[int] | None) -> Tensor:
    return input - mean(input, dim, True)


def _freedom(meta: TensorMeta, dim: Sequence[int] | None, correction: Number) -> float:
    left = reduced_count(meta, dim) - correction.real
    return left if left > 0 else math.nan


@var.gradient("input")
def _var_gradient(
    grad: Tensor, input: Tensor, dim: Sequence[int] | None, keepdim: bool, correction: Number
) -> Tensor:
    meta = input.tensor_meta
    return (
        spread(grad, meta, dim, keepdim)
        * _centered(input, dim)
        * (2.0 / _freedom(meta, dim, correction))
    )


@std.gradient("input")
def _std_gradient(
    grad: Tensor,
    input: Tensor,
    result: Tensor,
    dim: Sequence[int] | None,
    keepdim: bool,
    correction: Number,
) -> Tensor:
    """Divide before multiplying: distances and deviation have one scale, however small.

    0 where nothing varies.
    """
    meta = input.tensor_meta
    wide = spread(result, meta, dim, keepdim)
    ratio = (_centered(input, dim) / wide).masked_fill(wide == 0, 0.0)
    return spread(grad, meta, dim, keepdim) * ratio / _freedom(meta, dim, correction)


def _real_part(x: Tensor) -> Tensor:
    """The real part (its family is loaded later)."""
    from tensorplay.ops.registry import tp

    return tp.real(x) if x.dtype.is_complex else x


@var.tangent
def _var_tangent(
    operator: Operator, values: Values, result: Result, tangents: Sequence[Tensor | None]
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    del operator, result
    input, dim, keepdim, correction = values
    tangent = tangents[0]
    if tangent is None:
        return None
    scale = 2.0 / _freedom(input.tensor_meta, dim, correction)  # type: ignore[attr-defined,arg-type]  # its role says so
    moved = _real_part(_centered(input, dim).conj() * tangent)  # type: ignore[arg-type]  # its role says so
    return sum(moved, dim, keepdim) * scale


@std.tangent
def _std_tangent(
    operator: Operator, values: Values, result: Result, tangents: Sequence[Tensor | None]
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    del operator
    input, dim, keepdim, correction = values
    tangent = tangents[0]
    if tangent is None:
        return None
    meta: TensorMeta = input.tensor_meta  # type: ignore[attr-defined]  # its role says so
    wide = spread(result, meta, dim, bool(keepdim))  # type: ignore[arg-type]  # its role says so
    ratio = (_centered(input, dim) / wide).masked_fill(wide == 0, 0.0)  # type: ignore[arg-type]  # its role says so
    moved = _real_part(ratio.conj() * tangent)
    return sum(moved, dim, keepdim) / _freedom(meta, dim, correction)  # type: ignore[arg-type]  # its role says so


# ---- samples ----------------------------------------------------------------------------------------------------


def _reduction_samples(low: float = -2.0, **options: Any) -> Callable[[], Iterator[Sample]]:  # noqa: ANN401  # any value
    def samples() -> Iterator[Sample]:
        yield sample(Arg((3, 4), low=low))
        yield sample(Arg((3, 4, 5), low=low), 1)
        yield sample(Arg((3, 4, 5), low=low), -1, True)
        yield sample(Arg((4, 3, 5), low=low, layout="transposed"), 0)
        yield sample(Arg((), low=low), 0)
        yield sample(Arg((), low=low), -1, True)
        yield sample(Arg((3, 4), dtypes.float64, low=low), 0)
        yield sample(Arg((3, 4), dtypes.bfloat16, low=low), 1)
        if options:
            yield sample(Arg((3, 4), low=low), **options)
        yield bad(DimensionError, "dimension 2", Arg((3, 4)), 2)

    return samples


def _over_several(low: float = -2.0) -> Iterator[Sample]:
    yield sample(Arg((3, 4, 5), low=low), (0, 2))
    yield sample(Arg((3, 4, 5), low=low), (-1, 0), True)
    yield bad(DimensionError, "twice", Arg((3, 4)), (0, 0))


def _with_integers() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.int32, low=-9, high=9), 1)
    yield sample(Arg((3, 4), dtypes.bool_))


@sum.sample
def _sum_samples() -> Iterator[Sample]:
    yield from _reduction_samples(dtype=dtypes.float64)()
    yield from _over_several()
    yield from _with_integers()
    yield sample(Arg((0, 3)), 0)


@mean.sample
def _mean_samples() -> Iterator[Sample]:
    yield from _reduction_samples(dtype=dtypes.float64)()
    yield from _over_several()
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))


@prod.sample
def _prod_samples() -> Iterator[Sample]:
    yield from _reduction_samples(low=0.5)()
    yield from _with_integers()
    yield sample(Arg((4,), values=[2.0, 0.0, 3.0, 1.0]))
    yield sample(Arg((2, 4), values=[[0.0, 0.0, 3.0, 1.0], [2.0, 1.0, 5.0, 3.0]]), 1)


@amax.sample
@amin.sample
def _extreme_samples() -> Iterator[Sample]:
    yield from _reduction_samples()()
    yield from _over_several()
    yield from _with_integers()
    yield sample(Arg((4,), values=[1.0, 3.0, 3.0, 2.0]))
    yield sample(Arg((3,), values=[1.0, float("nan"), float("-inf")]))
    yield bad(ArgumentValueError, "empty", Arg((0, 3)), 0)


@argmax.sample
@argmin.sample
def _arg_samples() -> Iterator[Sample]:
    yield from _reduction_samples()()
    yield from _with_integers()
    yield sample(Arg((3,), values=[2.0, float("nan"), 7.0]))
    yield sample(Arg((2, 4), values=[[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]]), 1)
    yield bad(ArgumentValueError, "empty", Arg((0,)))


@max.sample
@min.sample
def _max_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((3, 4)), 0, True)
    yield sample(Arg((3, 4)), Arg((4,)))


@any.sample
@all.sample
def _truth_samples() -> Iterator[Sample]:
    yield from _reduction_samples()()
    yield from _with_integers()
    yield sample(Arg((0, 3), dtypes.bool_), 0)
    yield sample(Arg((2, 3), values=[[0.0, float("nan"), 0.0], [0.0, 0.0, -0.0]]), 1)


@count_nonzero.sample
def _count_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=-0.9, high=0.9), 0)
    yield sample(Arg((2, 3), values=[[0.0, float("nan"), 0.0], [0.0, 0.0, -0.0]]), 1)
    yield sample(Arg((5,), dtypes.int32, low=-1, high=2))


@var.sample
@std.sample
def _var_samples() -> Iterator[Sample]:
    yield from _reduction_samples(correction=0)()
    yield from _over_several()
    yield sample(Arg((1,), values=[2.5]))
    yield sample(Arg((1,), values=[2.5]), correction=3)
    yield sample(Arg((3,), values=[1e-25, 2e-25, 4e-25]))
    yield bad(DTypeError, "floating-point", Arg((3,), dtypes.int64))
