"""Functions that PyTorch lets one call in several forms: each form becomes the call of one operator.

`var(x, 0, True)` and `var(x, dim=0, correction=1)` are the same; `scatter` takes a tensor, a number,
and a way to combine them; `index_put` takes masks; `nonzero` may give a tuple. Each is a function and
a method; those that end in an underscore write in place.

>>> import tensorplay as tp
>>> tp.var(tp.tensor([1.0, 3.0]), False), tp.nonzero(tp.tensor([0, 2]), as_tuple=True)
(tensor(1.), (tensor([1]),))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorplay import dispatch, indexing
from tensorplay.core import dtypes
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.entries import one_of
from tensorplay.ops.library.reductions import correction_of
from tensorplay.ops.registry import Operator, tp
from tensorplay.tensor import Tensor

Dims = int | Sequence[int] | None

# ---- variances --------------------------------------------------------------------------------------------


def _variance(
    operator: Operator,
    input: Tensor,
    dim: Dims | bool,
    unbiased: bool | None,
    keepdim: bool,
    correction: Number | None,
    axis: Dims,
    keepdims: bool | None,
) -> Any:  # noqa: ANN401  # a tensor or two
    name = operator.name
    if axis is not None:
        dim = one_of(name, "dim", dim, None, "axis", axis)
    if keepdims is not None:
        keepdim = one_of(name, "keepdim", keepdim, False, "keepdims", keepdims)
    if isinstance(dim, bool):
        if unbiased is not None:
            msg = f"{name}: unbiased is given twice, as {dim} and as {unbiased}"
            raise ArgumentError(msg)
        dim, unbiased = None, dim
    return operator(input, dim, keepdim, correction=correction_of(name, unbiased, correction))


def var(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The variance over dimensions, all by default: squared distances from the mean, over `count - correction`.

    `correction` is 1 unless given; `unbiased=False` is 0. `var(x, False)` is `var(x, unbiased=False)`.
    """
    return _variance(tp.var, input, dim, unbiased, keepdim, correction, axis, keepdims)  # type: ignore[no-any-return]  # the operator gives one tensor


def std(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The standard deviation over dimensions, all by default: the square root of `var`."""
    return _variance(tp.std, input, dim, unbiased, keepdim, correction, axis, keepdims)  # type: ignore[no-any-return]  # the operator gives one tensor


def var_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """`(variance, mean)` over dimensions, as `var` and `mean` give them."""
    return _variance(tp.var_mean, input, dim, unbiased, keepdim, correction, axis, keepdims)  # type: ignore[no-any-return]  # a pair of tensors


def std_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """`(standard deviation, mean)` over dimensions, as `std` and `mean` give them."""
    return _variance(tp.std_mean, input, dim, unbiased, keepdim, correction, axis, keepdims)  # type: ignore[no-any-return]  # a pair of tensors


# ---- writing at places --------------------------------------------------------------------------------------


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
) -> Tensor:
    """`input` with elements along `dim` replaced at the places that `index` holds, by those of `src` or by a number.

    `reduce="add"` or `"multiply"` combines them with what is there. Without it, which of several wins
    at one place is not defined.
    """
    given = value if src is None else src
    if given is None or (src is not None and value is not None):
        msg = "scatter: give src or value, one of them"
        raise ArgumentError(msg)
    if reduce is None:
        return tp.scatter(input, dim, index, given)
    if reduce not in {"add", "multiply"}:
        msg = f"scatter: reduce must be None, 'add' or 'multiply', found {reduce!r}"
        raise ArgumentValueError(msg)
    source = given
    if not isinstance(source, Tensor):
        source = tp.full(tuple(index.shape), source, dtype=input.dtype, device=input.device)
    if reduce == "add":
        return tp.scatter_add(input, dim, index, source)
    return tp.scatter_reduce(input, dim, index, source, "prod")


def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """`input[indices] = values` as a new tensor; with `accumulate` they are added, equal places adding up.

    Indices are integer tensors, bool masks, or None for a whole dimension. The values broadcast, and
    have the dtype of `input`.
    """
    found: list[Tensor | None] = []
    for each in indices:
        if each is None or each.dtype is not dtypes.bool_:
            found.append(each)
        else:
            found += indexing.places_of(input, len(found), each)
    return tp.index_put(input, found, values, accumulate)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """The indices (int64) of all elements that are not zero, a row each, in row-major order.

    With `as_tuple`, a 1-d tensor for each dimension; a 0-d tensor then counts as 1-d. The size of the
    result depends on data.
    """
    if not as_tuple:
        return tp.nonzero(input)
    found = tp.nonzero(input if input.ndim else input.reshape(1))
    return tuple(found.unbind(1))


def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
) -> Tensor:
    """`scatter` in place."""
    keywords = {"value": value, "reduce": reduce}
    return dispatch.call_function("scatter_", _scatter, (self, dim, index, src), keywords)


def index_put_(
    self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """`index_put` in place."""
    return dispatch.call_function("index_put_", _index_put, (self, indices, values, accumulate), {})


def _scatter(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None,
    *,
    value: Number | None,
    reduce: str | None,
) -> Tensor:
    return _written("scatter_", self, scatter(self, dim, index, src, value=value, reduce=reduce))


def _index_put(
    self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool
) -> Tensor:
    return _written("index_put_", self, index_put(self, indices, values, accumulate))


def _written(name: str, tensor: Tensor, value: Tensor) -> Tensor:
    dispatch.write(tensor, dispatch.fit_value(name, tensor, value))
    return tensor


FUNCTIONS = (var, std, var_mean, std_mean, scatter, index_put, nonzero)
"""The public functions."""
METHODS = (var, std, scatter, scatter_, index_put, index_put_, nonzero)
"""The methods of `Tensor`."""
