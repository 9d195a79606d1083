"""Reductions and normalizations of the elements that a mask admits: the functions of `tensorplay.masked`.

A mask is a bool tensor that broadcasts to the input. What it hides is replaced by what the reduction
does not see (0 for a sum, -inf for a maximum), so that masked and unmasked calls are one program. A
slice without any admitted element gives that identity, or NaN where there is none.

>>> import tensorplay as tp
>>> x, mask = tp.tensor([[-3, -2, -1], [0, 1, 2]]), tp.tensor([[True, False, True], [False, False, False]])
>>> tp.masked.sum(x, 1, mask=mask)
tensor([-4,  0])
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tensorplay.core import layout
from tensorplay.core.dtypes import DType, Number, bool_, get_default_dtype, int32, int64
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.reductions import correction_of
from tensorplay.ops.monoids import highest, lowest
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.ops.signature import Dims
    from tensorplay.tensor import Tensor


def _whole_mask(name: str, input: Tensor, mask: Tensor) -> Tensor:
    """The mask of every element of the input."""
    if mask.dtype is not bool_:
        raise DTypeError(
            f"{name}: expected a bool mask, found {mask.dtype}; convert it with .bool()"
        )
    fits = layout.broadcast_shapes(name, [tuple(input.shape), tuple(mask.shape)])
    if mask.ndim > input.ndim or fits != tuple(input.shape):
        raise ShapeError(
            f"{name}: a mask of shape {tuple(mask.shape)} does not expand to the input's, {tuple(input.shape)}"
        )
    return mask.expand(input.shape)


def _admitted(
    name: str, input: Tensor, dtype: DType | None, mask: Tensor | None, hidden: Number
) -> Tensor:
    """The input in `dtype`, `hidden` where the mask does not hold."""
    found = input if dtype is None else input.to(dtype)
    if mask is None:
        return found
    return found.masked_fill(_whole_mask(name, input, mask).logical_not(), hidden)


def _floating(input: Tensor, dtype: DType | None) -> DType:
    """The dtype of a result that is not an integer."""
    found = dtype or input.dtype
    return found if found.is_differentiable else get_default_dtype()


# ---- sums and extremes --------------------------------------------------------------------------------


@composite(public=False)
def masked_sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum over dimensions (all by default) of the elements that `mask` admits; 0 where there are none.

    The bool mask broadcasts to `input` (`ShapeError`). Integers and bools add up in int64 unless
    `dtype` says otherwise.

    >>> import tensorplay as tp
    >>> tp.masked.sum(tp.tensor([1.0, 2.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(5.)
    """
    return _admitted("masked.sum", input, dtype, mask, 0).sum(dim, keepdim, dtype=dtype)


@composite(public=False)
def masked_prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product over dimensions (all by default) of the elements that `mask` admits; 1 where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.prod(tp.tensor([2.0, 3.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(8.)
    """
    found = _admitted("masked.prod", input, dtype, mask, 1)
    for place in _dims("masked.prod", input, dim):
        found = found.prod(place, True, dtype=dtype)
    return _kept("masked.prod", found, dim, keepdim)


def _dims(name: str, input: Tensor, dim: Dims) -> Sequence[int]:
    """The dimensions that are reduced: all by default. A 0-d tensor has one, as everywhere."""
    if dim is None:
        return range(max(input.ndim, 1))
    return layout.normalize_dims(name, dim, input.ndim)  # type: ignore[arg-type]  # bound as a tuple


def _kept(name: str, found: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """A result with its reduced dimensions, or without them."""
    return found if keepdim else found.squeeze(tuple(_dims(name, found, dim)))


@composite(public=False)
def masked_amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest of the elements that `mask` admits over dimensions (all by default).

    The least number of the dtype where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.amax(tp.tensor([1.0, 9.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(4.)
    """
    least = lowest(dtype or input.dtype)
    return _admitted("masked.amax", input, dtype, mask, least).amax(_all(dim), keepdim)


@composite(public=False)
def masked_amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least of the elements that `mask` admits over dimensions (all by default).

    The largest number of the dtype where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.amin(tp.tensor([3.0, 1.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(3.)
    """
    most = highest(dtype or input.dtype)
    return _admitted("masked.amin", input, dtype, mask, most).amin(_all(dim), keepdim)


def _all(dim: Dims) -> Dims:
    return () if dim is None else dim


@composite(public=False, not_differentiable="its results are indices")
def masked_argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The place (int64) of the largest of the elements that `mask` admits, along `dim` or in the flattened input.

    >>> import tensorplay as tp
    >>> tp.masked.argmax(tp.tensor([1.0, 9.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(2)
    """
    least = lowest(dtype or input.dtype)
    return _admitted("masked.argmax", input, dtype, mask, least).argmax(dim, keepdim)


@composite(public=False, not_differentiable="its results are indices")
def masked_argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The place (int64) of the least of the elements that `mask` admits, along `dim` or in the flattened input.

    >>> import tensorplay as tp
    >>> tp.masked.argmin(tp.tensor([3.0, 1.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(0)
    """
    most = highest(dtype or input.dtype)
    return _admitted("masked.argmin", input, dtype, mask, most).argmin(dim, keepdim)


@composite(public=False)
def masked_logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """`logsumexp` over dimensions (all by default) of the elements that `mask` admits; -inf where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.logsumexp(tp.tensor([0.0, 9.0, 0.0]), mask=tp.tensor([True, False, True]))
    tensor(0.6931)
    """
    found = _admitted("masked.logsumexp", input, _floating(input, dtype), mask, -math.inf)
    return found.logsumexp(_dims("masked.logsumexp", input, dim), keepdim)


# ---- means and norms ----------------------------------------------------------------------------------


def _count(name: str, input: Tensor, dim: Dims, mask: Tensor | None) -> Tensor:
    """How many elements of each slice the mask admits, with the dimensions kept."""
    if mask is None:
        return tp.ones(tuple(input.shape), dtype=int64).sum(dim, True)
    return _whole_mask(name, input, mask).sum(dim, True)


@composite(public=False)
def masked_mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean over dimensions (all by default) of the elements that `mask` admits; NaN where there are none.

    Integers need `dtype=` a floating-point dtype (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.masked.mean(tp.tensor([1.0, 9.0, 4.0]), mask=tp.tensor([True, False, True]))
    tensor(2.5000)
    """
    found = _admitted("masked.mean", input, dtype, mask, 0)
    if mask is None:
        return found.mean(dim, keepdim)
    if not found.dtype.is_differentiable:
        raise DTypeError(
            f"masked.mean: expected a floating-point tensor, found {input.dtype}; pass dtype="
        )
    total = found.to(found.dtype.compute).sum(dim, True)
    mean = total / _count("masked.mean", input, dim, mask)
    return _kept("masked.mean", mean.to(found.dtype), dim, keepdim)


@composite(public=False)
def masked_median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median along `dim` of the elements that `mask` admits, the lower of two; NaN where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.median(tp.tensor([1.0, 9.0, 4.0]), 0, mask=tp.tensor([True, False, True]))
    tensor(1.)
    """
    found = dtype or input.dtype
    if not found.is_floating_point:
        raise DTypeError(f"masked.median: expected a floating-point tensor, found {found}")
    if mask is None:
        return input.to(found).median(dim, keepdim)[0]  # type: ignore[no-any-return]  # a tensor
    hidden = _admitted("masked.median", input, dtype, mask, math.nan)
    return hidden.nanmedian(dim, keepdim)[0]  # type: ignore[no-any-return]  # a tensor


def _second_moment(
    name: str,
    input: Tensor,
    dim: Dims,
    correction: Number,
    keepdim: bool,
    dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:
    """The variance in the compute dtype."""
    wide = input.to(_floating(input, dtype).compute)
    count = _count(name, input, dim, mask)
    admitted = None if mask is None else _whole_mask(name, input, mask)
    mean = _admitted(name, wide, None, mask, 0).sum(dim, True) / count
    apart = wide - mean
    if admitted is not None:
        apart = apart.masked_fill(admitted.logical_not(), 0)
    square = apart * apart if not apart.dtype.is_complex else tp.real(apart * apart.conj())
    freedom = (count.to(square.dtype) - correction.real).clamp(0)
    return _kept(name, square.sum(dim, True) / freedom, dim, keepdim)


@composite(public=False)
def masked_var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over dimensions (all by default) of the elements that `mask` admits; NaN where there are none.

    Squared distances from the mean over `count - correction`, which is 1 unless given;
    `unbiased=False` is 0. Integers become floats.

    >>> import tensorplay as tp
    >>> tp.masked.var(tp.tensor([1.0, 9.0, 3.0]), mask=tp.tensor([True, False, True]))
    tensor(2.)
    """
    found = correction_of("masked.var", unbiased, correction)
    moment = _second_moment("masked.var", input, dim, found, keepdim, dtype, mask)
    return moment.to(_result(input, dtype))


def _result(input: Tensor, dtype: DType | None) -> DType:
    found = _floating(input, dtype)
    return found if not found.is_complex else tp.real(tp.zeros((), dtype=found)).dtype


@composite(public=False)
def masked_std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of `masked.var`.

    >>> import tensorplay as tp
    >>> tp.masked.std(tp.tensor([1.0, 9.0, 3.0]), mask=tp.tensor([True, False, True]))
    tensor(1.4142)
    """
    found = correction_of("masked.std", unbiased, correction)
    moment = _second_moment("masked.std", input, dim, found, keepdim, dtype, mask)
    return moment.sqrt().to(_result(input, dtype))


@composite(public=False)
def masked_norm(
    input: Tensor,
    ord: Number = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """`linalg.vector_norm` over dimensions (all by default) of the elements that `mask` admits.

    0 where there are none, infinity where `ord` is negative.

    >>> import tensorplay as tp
    >>> tp.masked.norm(tp.tensor([3.0, 9.0, 4.0]), 2, mask=tp.tensor([True, False, True]))
    tensor(5.)
    """
    hidden = 0 if ord.real >= 0 else math.inf
    wide = input if dtype is None else input.to(dtype)
    sizes = wide.abs() if wide.dtype.is_complex else wide
    found = _admitted("masked.norm", sizes, None, mask, hidden)
    return tp.linalg_vector_norm(found, ord, dim, keepdim)


# ---- of the input's shape -----------------------------------------------------------------------------


@composite(public=False)
def masked_cumsum(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The running sum along `dim` of the elements that `mask` admits.

    >>> import tensorplay as tp
    >>> tp.masked.cumsum(tp.tensor([1, 2, 4]), 0, mask=tp.tensor([True, False, True]))
    tensor([1, 1, 5])
    """
    return _admitted("masked.cumsum", input, dtype, mask, 0).cumsum(dim)


@composite(public=False)
def masked_cumprod(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The running product along `dim` of the elements that `mask` admits.

    >>> import tensorplay as tp
    >>> tp.masked.cumprod(tp.tensor([3, 2, 4]), 0, mask=tp.tensor([True, False, True]))
    tensor([ 3,  3, 12])
    """
    return _admitted("masked.cumprod", input, dtype, mask, 1).cumprod(dim)


@composite(public=False)
def masked_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` along `dim` of the elements that `mask` admits, 0 elsewhere; NaN where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.softmax(tp.tensor([1.0, 2.0, 1.0]), 0, mask=tp.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _admitted("masked.softmax", input, dtype, mask, -math.inf).softmax(dim)


@composite(public=False)
def masked_log_softmax(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """`log_softmax` along `dim` of the elements that `mask` admits, -inf elsewhere; NaN where there are none.

    >>> import tensorplay as tp
    >>> tp.masked.log_softmax(tp.tensor([1.0, 2.0, 1.0]), 0, mask=tp.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return _admitted("masked.log_softmax", input, dtype, mask, -math.inf).log_softmax(dim)


@composite(public=False)
def masked_softmin(
    input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` of the negative elements: `masked.softmax(-input, dim)`.

    >>> import tensorplay as tp
    >>> tp.masked.softmin(tp.tensor([1.0, 2.0, 1.0]), 0, mask=tp.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return (-_admitted("masked.softmin", input, dtype, mask, math.inf)).softmax(dim)


@composite(public=False)
def masked_normalize(
    input: Tensor,
    ord: Number,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that `mask` admits, divided by their norm of order `ord` along `dim`, at least `eps`; 0 elsewhere.

    >>> import tensorplay as tp
    >>> tp.masked.normalize(tp.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=tp.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    length = masked_norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    admitted = _admitted("masked.normalize", input, dtype, mask, 0)
    return admitted / length.clamp(eps)


@composite(public=False)
def masked_logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`log(exp(input) + exp(other))` of the elements that the masks admit; one alone is itself, none is -inf.

    >>> import tensorplay as tp
    >>> tp.masked.logaddexp(tp.zeros(2), tp.zeros(2), other_mask=tp.tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    first = _admitted("masked.logaddexp", input, dtype, input_mask, -math.inf)
    second = _admitted("masked.logaddexp", other, dtype, other_mask, -math.inf)
    return tp.logaddexp(first, second)


# ---- samples ------------------------------------------------------------------------------------------

_X = Arg((3, 4), low=0.5, high=2.0)
_MASK = Arg(
    (3, 4), bool_, values=[[True, False, True, True], [False, True, True, False], [True] * 4]
)
_ROW = Arg((4,), bool_, values=[True, True, False, True])


@masked_sum.sample
@masked_prod.sample
@masked_amax.sample
@masked_amin.sample
@masked_logsumexp.sample
@masked_mean.sample
@masked_var.sample
@masked_std.sample
def _() -> Iterator[Sample]:
    yield sample(_X, mask=_MASK)
    yield sample(_X, 1, mask=_MASK, keepdim=True)
    yield sample(Arg((4, 3), low=0.5, high=2.0, layout="transposed"), (0, 1))
    yield sample(_X, 0, mask=_ROW)
    yield bad(DTypeError, "bool mask", _X, mask=Arg((4,), int32))
    yield bad(ShapeError, "does not expand", Arg((1, 4)), mask=_MASK)


@masked_argmax.sample
@masked_argmin.sample
@masked_median.sample
def _() -> Iterator[Sample]:
    yield sample(_X, 1, mask=_MASK)
    yield sample(_X, 0, mask=_ROW, keepdim=True)
    yield sample(_X, -1)


@masked_norm.sample
def _() -> Iterator[Sample]:
    for order in (2.0, 1, 0.5, math.inf, -math.inf, -1):
        yield sample(_X, order, 1, mask=_MASK)
    yield sample(_X, mask=_ROW, keepdim=True)


@masked_cumsum.sample
@masked_cumprod.sample
@masked_softmax.sample
@masked_log_softmax.sample
@masked_softmin.sample
def _() -> Iterator[Sample]:
    yield sample(_X, 1, mask=_MASK)
    yield sample(Arg((4, 3), low=0.5, high=2.0, layout="transposed"), 0)


@masked_normalize.sample
def _() -> Iterator[Sample]:
    yield sample(_X, 2.0, 1, mask=_MASK)
    yield sample(_X, 1, 0)


@masked_logaddexp.sample
def _() -> Iterator[Sample]:
    yield sample(_X, Arg((3, 4)), input_mask=_MASK, other_mask=_ROW)
    yield sample(_X, Arg((3, 4)))
