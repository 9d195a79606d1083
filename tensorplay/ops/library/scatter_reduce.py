"""Combining at places that a tensor names: `scatter_reduce` by sum, product, mean and extremes.

>>> import tensorplay as tp
>>> tp.scatter_reduce(tp.tensor([1.0, 2.0]), 0, tp.tensor([0, 0, 1]), tp.tensor([5.0, 3.0, 1.0]), "amax")
tensor([5., 2.])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import bool_, float64, int32, int64, uint8
from tensorplay.core.errors import ArgumentValueError, DTypeError, IndexRangeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import along
from tensorplay.ops.declare import composite, index
from tensorplay.ops.kinds.index import Indices, Read, Scatter
from tensorplay.ops.library.gathering import check_index, in_range, names_nothing
from tensorplay.ops.monoids import MAX, MIN, PROD, highest, lowest
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

_MONOIDS = {"prod": PROD, "amax": MAX, "amin": MIN}
_FUNCTIONS: dict[str, Any] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _checked(input: Any, dim: int, index: Any, src: Any) -> int:  # noqa: ANN401  # metas, arrays or tensors
    check_index("scatter_reduce", index)
    place = layout.normalize_dim("scatter_reduce", dim, input.ndim)
    if dtype_of(src) is not dtype_of(input):
        raise DTypeError(
            f"scatter_reduce: input is {dtype_of(input)} and src {dtype_of(src)}; convert one with .to(dtype)"
        )
    if not input.ndim or not input.ndim == index.ndim == src.ndim:
        raise ShapeError(
            f"scatter_reduce: input, index and src must have equally many dimensions, at least one, found shapes "
            f"{tuple(input.shape)}, {tuple(index.shape)} and {tuple(src.shape)}"
        )
    for d, size in enumerate(index.shape):
        if size > src.shape[d] or (d != place and size > input.shape[d]):
            raise ShapeError(
                f"scatter_reduce: an index of shape {tuple(index.shape)} reaches beyond src of shape "
                f"{tuple(src.shape)} or an input of shape {tuple(input.shape)}"
            )
    return place


def _meta(
    input: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta, reduce: str
) -> TensorMeta:
    del reduce
    _checked(input, dim, index, src)
    return TensorMeta(input.shape, input.dtype, input.device)


def _form(input: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta, reduce: str) -> Scatter:
    place = _checked(input, dim, index, src)

    def target(i: Indices, read: Read) -> Indices:
        there = read("index", i, input.shape[place], wraps=False)
        return [there if d == place else each for d, each in enumerate(i)]

    return Scatter("input", "src", index.shape, target, lambda i: i, _MONOIDS[reduce])


@index(meta=_meta, form=_form, public=False, batching=along("dim"))
def scatter_combined(input: Array, dim: int, index: Array, src: Array, reduce: str) -> Array:
    """Combine each element of `src` with the one at the place along `dim` that `index` holds: "prod", "amax" or "amin"."""
    place = _checked(input, dim, index, src)
    dtype = dtype_of(input)
    result = np.array(convert(input, dtype=dtype.compute), order="C")
    grid = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    grid[place] = in_range("scatter_reduce", index, input.shape[place])
    part = convert(src, dtype=dtype.compute)[tuple(slice(size) for size in index.shape)]
    _FUNCTIONS[reduce].at(result, tuple(grid), part)
    return np.array(convert(result, dtype=dtype), order="C")


def _shares(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The derivatives of the result by the element of the input there, and by each element of `src`.

    Equal extremes share; of a product it is the product of the others, exact with zeros.
    """
    if reduce != "prod":
        ours = (input == result).to(input.dtype)
        theirs = (src == result.gather(dim, index)).to(input.dtype)
        count = ours.scatter_add(dim, index, theirs)
        return ours / count, theirs / count.gather(dim, index)
    ours, theirs = input == 0, src == 0
    zeros = ours.long().scatter_add(dim, index, theirs.long())
    nonzero = tp.scatter_combined(
        input.masked_fill(ours, 1), dim, index, src.masked_fill(theirs, 1), "prod"
    )

    def others(x: Tensor, zero: Tensor, product: Tensor, count: Tensor) -> Tensor:
        alone = product / x.masked_fill(zero, 1)
        return alone.masked_fill((count - zero.long()) != 0, 0)

    return (
        others(input, ours, nonzero, zeros),
        others(src, theirs, nonzero.gather(dim, index), zeros.gather(dim, index)),
    )


def _covered(src: Tensor, index: Any) -> Tensor:  # noqa: ANN401  # a tensor
    """The part of src that the index covers."""
    for d, size in enumerate(index.shape):
        src = src.narrow(d, 0, size)
    return src


@scatter_combined.gradient("input", "src")
def _(
    grad: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, result: Tensor
) -> tuple[Tensor, Tensor]:
    ours, theirs = _shares(input, dim, index, _covered(src, index), reduce, result)
    back = theirs * grad.gather(dim, index)
    for d, size in enumerate(src.shape):
        if back.shape[d] != size:
            shape = [*back.shape[:d], size, *back.shape[d + 1 :]]
            back = back.new_zeros(shape).slice_scatter(back, d, 0, back.shape[d])
    return ours * grad, back


@scatter_combined.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor:
    del operator
    input, dim, index, src, reduce = values
    ours, theirs = _shares(input, dim, index, _covered(src, index), reduce, result)  # type: ignore[arg-type]  # its role says so
    found = result.new_zeros(result.shape)
    if tangents[0] is not None:
        found = ours * tangents[0]
    if tangents[2] is not None:
        found = found.scatter_add(dim, index, theirs * _covered(tangents[2], index))  # type: ignore[arg-type]  # its role says so
    return found


@composite(method=True, inplace=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Combine the elements of `src` at the places along `dim` that `index` (int32 or int64) holds with those of `input`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; without `include_self` only elements of `src`
    are combined where there are any. `index` has the rank of `input` and of `src`, which have one
    dtype, and reaches no further than they. Integer means are rounded down. Equal extremes share the
    gradient.

    >>> import tensorplay as tp
    >>> tp.scatter_reduce(tp.tensor([0, 0, 9]), 0, tp.tensor([0, 0, 2]), tp.tensor([1, 5, 3]), "amax")
    tensor([5, 0, 9])
    """
    if reduce not in {"sum", "mean", *_MONOIDS}:
        raise ArgumentValueError(
            f"scatter_reduce: reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', found {reduce!r}"
        )
    if names_nothing(index):
        return input.clone()
    if not input.ndim and not index.ndim and not src.ndim:
        layout.normalize_dim("scatter_reduce", dim, 0)
        parts = (each.reshape(1) for each in (input, index, src))
        one, where, value = parts
        found = scatter_reduce(one, 0, where, value, reduce, include_self=include_self)
        return found.reshape(())
    _checked(input, dim, index, src)
    base = input
    if not include_self:
        touched = tp.zeros(input.shape, dtype=bool_).scatter(dim, index, True)
        base = input.masked_fill(touched, _identity(reduce, input))
    if reduce in _MONOIDS:
        return tp.scatter_combined(base, dim, index, src, reduce)
    total = base.scatter_add(dim, index, src)
    if reduce == "sum":
        return total
    own = tp.ones(input.shape, dtype=int64)
    count = (own if include_self else own - touched.long()).scatter_add(
        dim, index, tp.ones(index.shape, dtype=int64)
    )
    if input.dtype.is_floating_point:
        return total / count
    return (total // count).to(input.dtype)


def _identity(reduce: str, input: Tensor) -> Any:  # noqa: ANN401  # a number
    if reduce == "prod":
        return 1
    if reduce in {"sum", "mean"}:
        return 0
    return lowest(input.dtype) if reduce == "amax" else highest(input.dtype)


# ---- samples ------------------------------------------------------------------------------------------


_PLACES = Arg((2, 3), int64, values=[[0, 2, 0], [1, 1, 3]])


@scatter_combined.sample
def _() -> Iterator[Sample]:
    for reduce in _MONOIDS:
        yield sample(Arg((2, 4)), 1, _PLACES, Arg((2, 3)), reduce)
        yield sample(Arg((3,)), 0, Arg((5,), int32, 0, 3), Arg((6,), layout="reversed"), reduce)
        yield sample(Arg((3,), int64), 0, Arg((2,), int64, 0, 3), Arg((2,), int64), reduce)
    yield bad(
        IndexRangeError,
        "out of range",
        Arg((3,)),
        0,
        Arg((1,), int64, values=[3]),
        Arg((1,)),
        "prod",
    )


@scatter_reduce.sample
def _() -> Iterator[Sample]:
    for reduce in ("sum", "mean", *_MONOIDS):
        yield sample(Arg((2, 4)), 1, _PLACES, Arg((2, 3)), reduce)
        yield sample(
            Arg((2, 4)), 1, _PLACES, Arg((2, 3), layout="transposed"), reduce, include_self=False
        )
    yield sample(
        Arg((3,), int64, low=-9, high=9),
        0,
        Arg((5,), int64, 0, 3),
        Arg((5,), int64, low=-9, high=9),
        "mean",
    )
    yield sample(Arg((2, 4)), 1, Arg((0,), uint8), Arg((0,)), "sum")  # an empty index says nothing
    yield bad(
        ArgumentValueError, "reduce must be", Arg((3,)), 0, Arg((1,), int64), Arg((1,)), "max"
    )
    yield bad(DTypeError, "src", Arg((3,)), 0, Arg((1,), int64), Arg((1,), float64), "sum")
    yield bad(ShapeError, "equally many", Arg((3,)), 0, Arg((1,), int64), Arg((1, 1)), "sum")
    yield bad(ShapeError, "reaches beyond", Arg((3,)), 0, Arg((2,), int64), Arg((1,)), "sum")
