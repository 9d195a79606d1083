"""Tensors side by side, and at least so many dimensions: hstack and its relatives, block_diag, atleast_nd, combinations.

>>> import tensorplay as tp
>>> tp.hstack([tp.tensor([1, 2]), tp.tensor([3])])
tensor([1, 2, 3])
>>> tp.block_diag(tp.tensor([[1, 2]]), tp.tensor([[3]]))
tensor([[1, 2, 0],
        [0, 0, 3]])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations as choices
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import int32, int64, result_type
from tensorplay.core.errors import ArgumentError, ArgumentValueError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.joining import cat
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Parts

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- dimensions -----------------------------------------------------------------------------------------


def _each(tensors: Sequence[Tensor], found: list[Tensor]) -> Any:  # noqa: ANN401  # a tensor or a tuple
    return found[0] if len(tensors) == 1 else tuple(found)


@composite()
def atleast_1d(tensors: Parts) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """The tensor with a dimension where it has none; of several, given one by one or as a sequence, a tuple.

    >>> import tensorplay as tp
    >>> tp.atleast_1d(tp.tensor(2.0))
    tensor([2.])
    """
    return _each(tensors, [each if each.ndim else each.reshape(1) for each in tensors])


@composite()
def atleast_2d(tensors: Parts) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """The tensor as a matrix of one row where it has fewer than two dimensions; of several, a tuple.

    >>> import tensorplay as tp
    >>> tp.atleast_2d(tp.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _each(tensors, [each if each.ndim > 1 else each.reshape(1, -1) for each in tensors])


@composite()
def atleast_3d(tensors: Parts) -> Any:  # noqa: ANN401  # a tensor or a tuple of them
    """The tensor with three dimensions at least; of several, a tuple.

    A vector of n elements becomes (1, n, 1), a matrix (m, n) becomes (m, n, 1).

    >>> import tensorplay as tp
    >>> tp.atleast_3d(tp.tensor([1, 2])).shape
    (1, 2, 1)
    """
    return _each(tensors, [_three(each) for each in tensors])


def _three(tensor: Tensor) -> Tensor:
    if tensor.ndim > 2:
        return tensor
    return tensor.unsqueeze(-1) if tensor.ndim == 2 else tensor.reshape(1, -1, 1)


# ---- side by side -----------------------------------------------------------------------------------------


def _some(name: str, tensors: Sequence[Tensor]) -> None:
    if not tensors:
        raise ArgumentError(f"{name}: expected at least one tensor, got none")


@composite()
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along columns: along dimension 1, vectors along dimension 0.

    >>> import tensorplay as tp
    >>> tp.hstack([tp.tensor([[1], [2]]), tp.tensor([[3], [4]])])
    tensor([[1, 3],
            [2, 4]])
    """
    _some("hstack", tensors)
    parts = [each if each.ndim else each.reshape(1) for each in tensors]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@composite()
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along rows: dimension 0, after vectors became matrices of one row.

    >>> import tensorplay as tp
    >>> tp.vstack([tp.tensor([1, 2]), tp.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    _some("vstack", tensors)
    return cat([each if each.ndim > 1 else each.reshape(1, -1) for each in tensors], 0)


@composite()
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along dimension 2, after `atleast_3d`.

    >>> import tensorplay as tp
    >>> tp.dstack([tp.tensor([1, 2]), tp.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    _some("dstack", tensors)
    return cat([_three(each) for each in tensors], 2)


@composite()
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along dimension 1, after vectors and numbers became columns.

    >>> import tensorplay as tp
    >>> tp.column_stack([tp.tensor([1, 2]), tp.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    _some("column_stack", tensors)
    return cat([each if each.ndim > 1 else each.reshape(each.numel(), 1) for each in tensors], 1)


@composite()
def block_diag(tensors: Parts) -> Tensor:
    """A matrix with the given matrices on its diagonal and zeros elsewhere; dtypes are promoted.

    Vectors are matrices of one row, numbers of one element. More than two dimensions are refused
    (`ShapeError`).

    >>> import tensorplay as tp
    >>> tp.block_diag(tp.tensor([[1, 2], [3, 4]]), tp.tensor([[7]]))
    tensor([[1, 2, 0],
            [3, 4, 0],
            [0, 0, 7]])
    """
    _some("block_diag", tensors)
    for k, each in enumerate(tensors):
        if each.ndim > 2:
            raise ShapeError(
                f"block_diag: expected at most two dimensions, found shape {tuple(each.shape)} of tensor {k}"
            )
    dtype = result_type([each.dtype for each in tensors])
    blocks = [(each if each.ndim == 2 else each.reshape(1, -1)).to(dtype) for each in tensors]
    width = sum(each.shape[1] for each in blocks)
    rows: list[Tensor] = []
    left = 0
    for each in blocks:
        height, own = each.shape
        before, after = (each.new_zeros((height, n)) for n in (left, width - left - own))
        rows.append(cat([before, each, after], 1))
        left = left + own
    return cat(rows, 0)


# ---- combinations -------------------------------------------------------------------------------------------


def _places_meta(count: int, r: int, with_replacement: bool) -> TensorMeta:
    total = count + r - 1 if with_replacement else count
    return TensorMeta((comb(max(total, 0), r), r), int64)


@structured(meta=_places_meta, public=False, not_differentiable="its results are indices")
def combination_places(count: int, r: int, with_replacement: bool = False) -> Array:
    """The choices of `r` of `count` places in the order of words, a row each (int64)."""
    meta = _places_meta(count, r, with_replacement)
    every = combinations_with_replacement if with_replacement else choices
    return np.array(list(every(range(count), r)), np.int64).reshape(meta.shape)


@composite()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The choices of `r` elements of a vector, a row each, in the order of the vector.

    With `with_replacement` an element may be chosen again. A vector is expected (`ShapeError`) and
    an `r` that is not negative (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.combinations(tp.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise ShapeError(f"combinations: expected a 1-d tensor, found shape {tuple(input.shape)}")
    if r < 0:
        raise ArgumentValueError(f"combinations: r must not be negative, found {r}")
    if r == 0:
        return input.new_empty((0,))
    places: Tensor = tp.combination_places(input.shape[0], r, with_replacement)
    return input.index_select(0, places.reshape(-1)).reshape(places.shape)


# ---- samples --------------------------------------------------------------------------------------------------


@atleast_1d.sample
@atleast_2d.sample
@atleast_3d.sample
def _() -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (2, 3, 1, 2)):
        yield sample(Arg(shape))
    yield sample((Arg(()), Arg((2, 3), layout="transposed")))


@hstack.sample
@vstack.sample
@dstack.sample
@column_stack.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2, 3)), Arg((2, 3), layout="transposed")))
    yield sample((Arg((3,)), Arg((3,), int32)))
    yield sample((Arg(()), Arg(())))
    yield sample((Arg((2, 3, 4)), Arg((2, 3, 4))))
    yield bad(ArgumentError, "at least one", ())
    yield bad(ShapeError, "cat", (Arg((2, 3, 4)), Arg((3, 2, 5))))


@block_diag.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2, 3)), Arg((3,)), Arg(()), Arg((1, 2), int64)))
    yield sample(Arg((2, 0)), Arg((2, 2), layout="transposed"))
    yield bad(ShapeError, "two dimensions", (Arg((2, 3, 4)),))
    yield bad(ArgumentError, "at least one", ())


@combination_places.sample
def _() -> Iterator[Sample]:
    yield sample(4, 2)
    yield sample(3, 3, True)
    yield sample(1, 2)


@combinations.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4,)))
    yield sample(Arg((3,), layout="reversed"), 3, True)
    yield sample(Arg((2,)), 3)
    yield sample(Arg((3,)), 0)
    yield bad(ShapeError, "1-d", Arg((2, 3)))
    yield bad(ArgumentValueError, "negative", Arg((2,)), -1)
