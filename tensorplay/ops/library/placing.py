"""Places: put, index_reduce, fill_diagonal_, diagflat, argwhere, unravel_index, the indices of triangles.

>>> import tensorplay as tp
>>> tp.put(tp.tensor([[1, 2], [3, 4]]), tp.tensor([1, -1]), tp.tensor([8, 9]))
tensor([[1, 8],
        [3, 9]])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.device import CPU, Device
from tensorplay.core.dtypes import DType, Number, int32, int64
from tensorplay.core.errors import (
    ArgumentValueError,
    DTypeError,
    IndexRangeError,
    ShapeError,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import broadcasting
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- in the flattened tensor, along a dimension -------------------------------------------------------


@composite(method=True, inplace=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """`input` with the elements of `source` at the places `index` of the flattened tensor.

    `index` (int32 or int64; negative ones count from the end) has as many elements as `source`,
    which has the dtype of `input`. With `accumulate` they are added; without it, which of several
    wins at one place is not defined. A place outside raises `IndexRangeError`.

    >>> import tensorplay as tp
    >>> tp.put(tp.tensor([[1, 2], [3, 4]]), tp.tensor([0, 3]), tp.tensor([10, 40]))
    tensor([[10,  2],
            [ 3, 40]])
    """
    check_index("put", index)
    if source.dtype is not input.dtype:
        raise DTypeError(
            f"put: input is {input.dtype} and source {source.dtype}; convert one with .to(dtype)"
        )
    if index.numel() != source.numel():
        raise ShapeError(f"put: {index.numel()} places for {source.numel()} elements of source")
    flat = input.reshape(-1)
    found = flat.index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return found.reshape(input.shape)


@composite(method=True, inplace=True)
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Combine the slices of `source` with those of `input` that the 1-d `index` names along `dim`.

    `reduce` is "prod", "mean", "amax" or "amin"; without `include_self` only slices of `source` are
    combined where there are any. `index` is int32 or int64; `source` has its length along `dim`,
    else the shape and the dtype of `input`.

    >>> import tensorplay as tp
    >>> tp.index_reduce(tp.tensor([1.0, 2.0]), 0, tp.tensor([0, 0]), tp.tensor([5.0, 3.0]), "amax")
    tensor([5., 2.])
    """
    check_index("index_reduce", index)
    if reduce not in {"prod", "mean", "amax", "amin"}:
        raise ArgumentValueError(
            f"index_reduce: reduce must be 'prod', 'mean', 'amax' or 'amin', found {reduce!r}"
        )
    place = layout.normalize_dim("index_reduce", dim, input.ndim)
    if index.ndim > 1:
        raise ShapeError(f"index_reduce: expected a 1-d index, found shape {tuple(index.shape)}")
    base, given = (each if each.ndim else each.reshape(1) for each in (input, source))
    wanted = tuple(index.numel() if d == place else size for d, size in enumerate(base.shape))
    if tuple(given.shape) != wanted:
        raise ShapeError(
            f"index_reduce: expected a source of shape {wanted}, found {tuple(source.shape)}"
        )
    spread = index.reshape([-1 if d == place else 1 for d in range(base.ndim)]).expand(wanted)
    found = base.scatter_reduce(place, spread, given, reduce, include_self=include_self)
    return found.reshape(input.shape)


# ---- diagonals ----------------------------------------------------------------------------------------


@composite(public=False, inplace=True)
def fill_diagonal(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """`input` with its main diagonal, where all indices are equal, set to a number.

    With `wrap` the diagonal of a matrix with more rows than columns begins anew after one row. At
    least two dimensions are expected, and equal sizes of more (`ShapeError`).

    >>> import tensorplay as tp
    >>> tp.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    shape = tuple(input.shape)
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            f"fill_diagonal: expected a matrix, or more dimensions of one size, found shape {shape}"
        )
    rows: Tensor = tp.arange(shape[0])
    if wrap and len(shape) == 2:
        rows = rows % (shape[1] + 1)
    first = rows.reshape([-1] + [1] * (len(shape) - 1))
    mask: Any = None
    for d in range(1, len(shape)):
        other = tp.arange(shape[d]).reshape([-1 if k == d else 1 for k in range(len(shape))])
        same = first == other
        mask = same if mask is None else mask & same
    return input.masked_fill(mask, fill_value)


@composite(method=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of the tensor, in row-major order, on the diagonal `offset`.

    >>> import tensorplay as tp
    >>> tp.diagflat(tp.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    found: Tensor = tp.diag_embed(input.reshape(-1), offset)
    return found


# ---- indices ------------------------------------------------------------------------------------------


@composite(method=True)
def argwhere(input: Tensor) -> Tensor:
    """The indices (int64) of all elements that are not zero, a row each, in row-major order.

    The size of the result depends on data.

    >>> import tensorplay as tp
    >>> tp.argwhere(tp.tensor([[0, 5], [7, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return tp.nonzero(input)


@composite()
def unravel_index(indices: Tensor, shape: Size) -> Any:  # noqa: ANN401  # a tuple of tensors
    """The coordinates, a tensor each, of places of a flattened tensor of `shape`.

    int64. Integers are expected (`DTypeError`), inside the tensor (`IndexRangeError`); negative sizes are
    refused (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.unravel_index(tp.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"unravel_index: expected integers, found {indices.dtype}")
    if any(each < 0 for each in shape):
        raise ArgumentValueError(f"unravel_index: sizes must not be negative, found {tuple(shape)}")
    places: Tensor = tp.places_inside(indices.to(int64), layout.numel(shape))
    steps = layout.contiguous_strides(tuple(shape))
    return tuple((places // step) % size for step, size in zip(steps, shape, strict=True))


@structured(
    meta=lambda input, count: TensorMeta(input.shape, input.dtype, input.device),
    public=False,
    not_differentiable="its results are indices",
    batching=broadcasting,
)
def places_inside(input: Array, count: int) -> Array:
    """The places themselves, all of which lie in `[-count, count)`; others raise `IndexRangeError`."""
    if input.size and (input.min() < -count or input.max() >= count):
        wrong = input.max() if input.max() >= count else input.min()
        raise IndexRangeError(f"unravel_index: place {wrong} is outside of {count} elements")
    return np.array(input, order="C")


def _triangle_meta(
    row: int, col: int, offset: int, dtype: DType | None, device: Device | None
) -> TensorMeta:
    if row < 0 or col < 0:
        raise ArgumentValueError(f"tril_indices: sizes must not be negative, found {row} and {col}")
    lengths = [min(max(k + offset + 1, 0), col) for k in range(row)]
    return TensorMeta((2, sum(lengths)), dtype or int64, device or CPU)


def _upper_meta(
    row: int, col: int, offset: int, dtype: DType | None, device: Device | None
) -> TensorMeta:
    lower = _triangle_meta(row, col, offset - 1, dtype, device)
    return TensorMeta((2, row * col - lower.shape[1]), lower.dtype, lower.device)


_MADE = "it makes a tensor from nothing"


def _places(found: Sequence[Array], meta: TensorMeta) -> Array:
    return np.array(np.stack(list(found)), meta.dtype.numpy, order="C")


@structured(meta=_triangle_meta, factory=True, not_differentiable=_MADE)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """The indices of the lower triangle of a matrix: rows, then columns; int64 unless given.

    `offset` moves the diagonal, which is included. Negative sizes are refused
    (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    meta = _triangle_meta(row, col, offset, dtype, device)
    return _places(np.tril_indices(row, offset, col), meta)


@structured(meta=_upper_meta, factory=True, not_differentiable=_MADE)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """The indices of the upper triangle of a matrix: rows, then columns; int64 unless given.

    `offset` moves the diagonal, which is included. Negative sizes are refused
    (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    meta = _upper_meta(row, col, offset, dtype, device)
    return _places(np.triu_indices(row, offset, col), meta)


# ---- samples ------------------------------------------------------------------------------------------


@put.sample
def _() -> Iterator[Sample]:
    places = Arg((3,), int64, values=[4, -1, 0])
    yield sample(Arg((2, 3)), places, Arg((3,)))
    yield sample(Arg((3, 2), layout="transposed"), places, Arg((3,)), True)
    yield sample(Arg((2, 3)), Arg((2, 2), int32, values=[[1, 1], [1, 5]]), Arg((4,)), True)
    yield bad(DTypeError, "source", Arg((3,)), Arg((1,), int64), Arg((1,), dtypes.float64))
    yield bad(ShapeError, "places", Arg((3,)), Arg((2,), int64, values=[0, 1]), Arg((1,)))
    yield bad(IndexRangeError, "out of", Arg((3,)), Arg((1,), int64, values=[3]), Arg((1,)))


@index_reduce.sample
def _() -> Iterator[Sample]:
    places = Arg((4,), int64, values=[0, 2, 0, 2])
    for reduce in ("prod", "mean", "amax", "amin"):
        yield sample(Arg((3, 2)), 0, places, Arg((4, 2)), reduce)
        yield sample(
            Arg((2, 3)), -1, places, Arg((2, 4), layout="transposed"), reduce, include_self=False
        )
    yield sample(Arg(()), 0, Arg((1,), int32, values=[0]), Arg(()), "amax")
    yield bad(
        ArgumentValueError, "reduce must be", Arg((3,)), 0, Arg((1,), int64), Arg((1,)), "sum"
    )
    yield bad(ShapeError, "source of shape", Arg((3,)), 0, Arg((2,), int64), Arg((1,)), "prod")


@fill_diagonal.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1.5)
    yield sample(Arg((7, 2), layout="transposed"), 2.0)
    yield sample(Arg((7, 2)), 2, True)
    yield sample(Arg((3, 3, 3)), 0)
    yield bad(ShapeError, "one size", Arg((2, 3, 3)), 1.0)
    yield bad(ShapeError, "matrix", Arg((3,)), 1.0)


@diagflat.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)))
    yield sample(Arg((2, 2), layout="transposed"), -1)
    yield sample(Arg(()), 1)


@argwhere.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), int32, low=-1, high=2))
    yield sample(Arg((), dtypes.bool_))


@places_inside.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3), int64, low=-24, high=24), 24)
    yield sample(Arg((3, 2), int32, low=0, high=6, layout="transposed"), 6)
    yield bad(IndexRangeError, "outside", Arg((1,), int64, values=[-7]), 6)


@unravel_index.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3), int64, low=0, high=24), (2, 3, 4))
    yield sample(Arg((3,), int32, values=[0, 5, -1]), (6,))
    yield bad(DTypeError, "integers", Arg((3,)), (6,))
    yield bad(IndexRangeError, "outside", Arg((1,), int64, values=[6]), (2, 3))


@tril_indices.sample
@triu_indices.sample
def _() -> Iterator[Sample]:
    yield sample(3, 4)
    yield sample(4, 3, -1, dtype=int32)
    yield sample(2, 5, 2)
    yield sample(0, 3)
    yield bad(ArgumentValueError, "negative", -1, 3)
