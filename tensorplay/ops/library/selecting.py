"""Reading and writing at places and under masks: take, masked_select, masked_scatter, index_fill, index_copy, scatter_reduce.

>>> import tensorplay as tp
>>> tp.take(tp.tensor([[1, 2], [3, 4]]), tp.tensor([0, -1]))
tensor([1, 4])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import Number, bool_, int32, int64
from tensorplay.core.errors import DTypeError, IndexRangeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite(method=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements of the flattened tensor at the places `index` (int32 or int64; negative ones count from the end).

    The result has the shape of `index`. A place outside raises `IndexRangeError`.

    >>> import tensorplay as tp
    >>> tp.take(tp.tensor([[1, 2], [3, 4]]), tp.tensor([0, 3, -2]))
    tensor([1, 4, 3])
    """
    check_index("take", index)
    found: Tensor = tp.index(input.reshape(-1), (index,))
    return found


# ---- under a mask -------------------------------------------------------------------------------------


def _check_mask(name: str, mask: Tensor) -> None:
    if mask.dtype is not bool_:
        raise DTypeError(
            f"{name}: expected a bool mask, found {mask.dtype}; convert it with .bool()"
        )


@composite(method=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` holds, as a 1-d tensor in row-major order; both broadcast.

    The size of the result depends on data. The mask must be bool (`DTypeError`).

    >>> import tensorplay as tp
    >>> tp.masked_select(tp.tensor([[1, 2], [3, 4]]), tp.tensor([[True, False], [False, True]]))
    tensor([1, 4])
    """
    _check_mask("masked_select", mask)
    shape = layout.broadcast_shapes("masked_select", [tuple(input.shape), tuple(mask.shape)])
    places = tp.nonzero(mask.expand(shape).reshape(-1)).select(1, 0)
    return input.expand(shape).reshape(-1).index_select(0, places)


@composite(method=True, inplace=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`input` with the elements where `mask` holds replaced by those of `source`, in row-major order.

    The mask (bool, `DTypeError`) and `input` broadcast. Too few elements in `source`, which has the
    dtype of `input`, raise `IndexRangeError`.

    >>> import tensorplay as tp
    >>> mask = tp.tensor([True, False, True])
    >>> tp.masked_scatter(tp.zeros(3), mask, tp.tensor([7.0, 8.0]))
    tensor([7., 0., 8.])
    """
    _check_mask("masked_scatter", mask)
    if source.dtype is not input.dtype:
        raise DTypeError(
            f"masked_scatter: input is {input.dtype} and source {source.dtype}; convert one with .to(dtype)"
        )
    shape = layout.broadcast_shapes("masked_scatter", [tuple(input.shape), tuple(mask.shape)])
    input = input.expand(shape)
    wide = mask.expand(shape).reshape(-1)
    # Place 0 is for elements that are not replaced.
    given = tp.cat([tp.zeros((1,), dtype=source.dtype), source.reshape(-1)])
    places = wide.long().cumsum(0).masked_fill(wide.logical_not(), 0)
    taken = given.index_select(0, places).reshape(input.shape)
    found: Tensor = tp.where(mask, taken, input)
    return found


# ---- whole slices -------------------------------------------------------------------------------------


@composite(method=True, inplace=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
    """`input` with the slices at `index` along `dim` filled with `value`, a number or a 0-d tensor.

    `index` is 1-d or 0-d, int32 or int64; negative places count from the end, places outside raise `IndexRangeError`.

    >>> import tensorplay as tp
    >>> tp.index_fill(tp.tensor([[1, 2, 3], [4, 5, 6]]), 1, tp.tensor([0, 2]), -1)
    tensor([[-1,  2, -1],
            [-1,  5, -1]])
    """
    check_index("index_fill", index)
    place = layout.normalize_dim("index_fill", dim, input.ndim)
    if index.ndim > 1:
        raise ShapeError(f"index_fill: expected a 1-d index, found shape {index.shape}")
    if is_tensor(value) and value.ndim:  # type: ignore[union-attr]  # a tensor
        raise ShapeError(f"index_fill: expected a number or a 0-d value, found shape {value.shape}")  # type: ignore[union-attr]  # its role says so
    size = input.shape[place] if input.ndim else 1
    where = index.reshape(-1)
    where = tp.where(where < 0, where + size, where)
    hit = tp.zeros((size,), dtype=bool_).scatter(0, where, True)
    mask = hit.reshape([-1 if d == place else 1 for d in range(input.ndim)])
    return input.masked_fill(mask, value)


@composite(method=True, inplace=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """`input` with the slices at `index` along `dim` replaced by those of `source`.

    `index` is 1-d (int32 or int64; negative places count from the end); `source` has its length
    along `dim`, else the shape and the dtype of `input`. Which of several wins at one place is not
    defined.

    >>> import tensorplay as tp
    >>> tp.index_copy(tp.zeros(3, 2), 0, tp.tensor([2, 0]), tp.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [0., 0.],
            [1., 2.]])
    """
    check_index("index_copy", index)
    place = layout.normalize_dim("index_copy", dim, input.ndim)
    if index.ndim > 1:
        raise ShapeError(f"index_copy: expected a 1-d index, found shape {tuple(index.shape)}")
    if not input.ndim:
        found = index_copy(input.reshape(1), 0, index, source.reshape(-1))
        return found.reshape(())
    if not index.ndim and source.ndim == input.ndim - 1:
        source = source.unsqueeze(place)
    index = index.reshape(-1)
    wanted = tuple(index.shape[0] if d == place else size for d, size in enumerate(input.shape))
    if tuple(source.shape) != wanted:
        raise ShapeError(
            f"index_copy: expected a source of shape {wanted}, found {tuple(source.shape)}"
        )
    if source.dtype is not input.dtype:
        raise DTypeError(
            f"index_copy: input is {input.dtype} and source {source.dtype}; convert one with .to(dtype)"
        )
    moved = tp.index_put(input.movedim(place, 0), (index,), source.movedim(place, 0))
    return moved.movedim(0, place).contiguous()


# ---- samples --------------------------------------------------------------------------------------------


@take.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((2, 2), int64, values=[[0, -1], [5, 5]]))
    yield sample(Arg((3, 4), layout="transposed"), Arg((3,), int32, low=0, high=12))
    yield sample(Arg((3,)), Arg((0,), int64))
    yield bad(IndexRangeError, "out of bounds", Arg((3,)), Arg((1,), int64, values=[3]))
    yield bad(DTypeError, "int64", Arg((3,)), Arg((1,)))


@masked_select.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4), bool_))
    yield sample(Arg((3, 4), layout="transposed"), Arg((4,), bool_))
    yield bad(DTypeError, "bool", Arg((3,)), Arg((3,), int64))
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,), bool_))


@masked_scatter.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4), bool_), Arg((12,)))
    yield sample(
        Arg((2, 3), layout="transposed"), Arg((3,), bool_, values=[True, False, True]), Arg((2, 2))
    )
    yield sample(Arg((2,)), Arg((2,), bool_, values=[False, False]), Arg((0,)))
    yield bad(DTypeError, "bool", Arg((3,)), Arg((3,), int64), Arg((3,)))
    yield bad(DTypeError, "source", Arg((3,)), Arg((3,), bool_), Arg((3,), int64))
    yield bad(
        IndexRangeError, "out of range", Arg((2,)), Arg((2,), bool_, values=[True, True]), Arg((1,))
    )


@index_fill.sample
def _() -> Iterator[Sample]:
    places = Arg((2,), int64, values=[0, -1])
    yield sample(Arg((3, 4)), 1, places, 1.5)
    yield sample(Arg((3, 4), layout="transposed"), 0, places, Arg(()))
    yield sample(Arg((3,), int64), 0, Arg((), int32, values=[1]), 7)
    yield bad(IndexRangeError, "out of range", Arg((3,)), 0, Arg((1,), int64, values=[3]), 0)
    yield bad(ShapeError, "1-d index", Arg((3,)), 0, Arg((1, 1), int64), 0)
    yield bad(ShapeError, "0-d value", Arg((3,)), 0, places, Arg((1,)))


@index_copy.sample
def _() -> Iterator[Sample]:
    places = Arg((2,), int64, values=[2, 0])
    yield sample(Arg((3, 4)), 0, places, Arg((2, 4)))
    yield sample(Arg((2, 3), layout="transposed"), 1, places, Arg((2, 2), layout="transposed"))
    yield bad(ShapeError, "source of shape", Arg((3, 4)), 0, places, Arg((2, 3)))
    yield bad(DTypeError, "source", Arg((3, 4)), 0, places, Arg((2, 4), dtypes.float64))
