"""Joining tensors: `cat` and `stack`.

>>> import tensorplay as tp
>>> tp.cat([tp.tensor([1, 2]), tp.tensor([0.5])])
tensor([1.0000, 2.0000, 0.5000])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.dtypes import DType, int32, result_type
from tensorplay.core.errors import ArgumentError, DimensionError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array, convert
from tensorplay.ops.batching import along
from tensorplay.ops.declare import composite, index
from tensorplay.ops.kinds.index import Condition, Indices, Piece, Pieces
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


def joined(tensors: Sequence[Any]) -> list[int]:
    """Return which tensors take part: 1-d tensors without elements do not, unless all are such."""
    found = [i for i, each in enumerate(tensors) if tuple(each.shape) != (0,)]
    return found or [0]


def _cat_dtype(tensors: Sequence[TensorMeta]) -> DType:
    return result_type([each.dtype for each in tensors])


def _cat_meta(tensors: Sequence[TensorMeta], dim: int) -> TensorMeta:
    if not tensors:
        raise ArgumentError("cat: expected at least one tensor, got none")
    for i, each in enumerate(tensors):
        if each.ndim == 0:
            raise ShapeError(
                f"cat: tensor {i} is 0-d and has no dimension to join along; use stack"
            )
    parts = [tensors[i] for i in joined(tensors)]
    first = parts[0]
    dim = layout.normalize_dim("cat", dim, first.ndim)
    total = 0
    for each in parts:
        rest = [size for d, size in enumerate(each.shape) if d != dim]
        if each.ndim != first.ndim or rest != [s for d, s in enumerate(first.shape) if d != dim]:
            raise ShapeError(
                f"cat: shapes {first.shape} and {each.shape} differ in another dimension than {dim}, along which "
                "they are joined"
            )
        total = total + each.shape[dim]
    shape = [total if d == dim else size for d, size in enumerate(first.shape)]
    return TensorMeta(shape, _cat_dtype(tensors), first.device)


def _cat_form(tensors: Sequence[TensorMeta], dim: int) -> Pieces:
    """Each piece holds where the index along `dim` is below its end; the last one has no condition."""
    meta = _cat_meta(tensors, dim)
    dim = layout.normalize_dim("cat", dim, meta.ndim)
    places = joined(tensors)
    pieces = []
    start = 0
    for i in places:
        end = start + tensors[i].shape[dim]
        pieces.append(_piece(f"tensors.{i}", dim, start, None if i == places[-1] else end))
        start = end
    return Pieces(meta.shape, tuple(pieces))


def _piece(source: str, dim: int, start: int, end: int | None) -> Piece:
    def conditions(i: Indices) -> Sequence[Condition]:
        return () if end is None else (Condition(i[dim], start, end),)

    def place(i: Indices) -> Indices:
        return [each - start if d == dim else each for d, each in enumerate(i)]

    return Piece(source, conditions, place)


@index(meta=_cat_meta, form=_cat_form, batching=along("dim"))
def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors along an existing dimension; their dtypes are promoted.

    1-d tensors without elements are left out, whatever the rank of the others.

    >>> import tensorplay as tp
    >>> tp.cat((tp.tensor([[1, 2]]), tp.tensor([[3, 4], [5, 6]])))
    tensor([[1, 2],
            [3, 4],
            [5, 6]])
    >>> tp.cat((tp.ones(2, 1), tp.zeros(2, 2)), 1)
    tensor([[1., 0., 0.],
            [1., 0., 0.]])
    """
    metas = [TensorMeta(each.shape, dtype_of(each)) for each in tensors]
    meta = _cat_meta(metas, dim)
    dim = layout.normalize_dim("cat", dim, meta.ndim)
    result = _C.empty(meta.shape, meta.dtype)
    start = 0
    for i in joined(metas):
        end = start + metas[i].shape[dim]
        result[(slice(None),) * dim + (slice(start, end),)] = convert(tensors[i], dtype=meta.dtype)
        start = end
    return result


@cat.gradient("tensors")
def _(grad: Tensor, tensors: Sequence[TensorMeta], dim: int) -> Sequence[Tensor | None]:
    dim = layout.normalize_dim("cat", dim, grad.ndim)
    places = joined(tensors)
    parts: list[Tensor | None] = []
    start = 0
    for i, each in enumerate(tensors):
        if i in places:
            parts.append(grad.narrow(dim, start, each.shape[dim]))
            start = start + each.shape[dim]
        else:
            parts.append(None)
    return parts


@cat.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor:
    del result
    tensors: Any = values[0]
    filled = [each.mul(0) if t is None else t for each, t in zip(tensors, tangents, strict=True)]
    found: Tensor = operator(filled, *values[1:])
    return found


@cat.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2, 3)), Arg((1, 3))), 0)
    yield sample((Arg((2, 3), layout="transposed"), Arg((2, 1)), Arg((2, 4), layout="strided")), -1)
    yield sample((Arg((0,)), Arg((1, 2, 3))), -2)
    yield sample((Arg((2,)), Arg((3,), dtype=int32)))
    yield sample((Arg((2, 0)), Arg((2, 0))), 1)
    many = (*(Arg((1 + k % 3, 2)) for k in range(19)), Arg((0,)), Arg((1, 2), dtype=int32))
    yield sample(many)  # in several rounds, see lower_cat
    yield sample([Arg((2, 1), layout="transposed")] * 70, 1)
    yield bad(ShapeError, "cat", (Arg((2, 3)), Arg((3, 2))), 0)
    yield bad(ShapeError, "0-d", (Arg(()),), 0)
    yield bad(DimensionError, "cat", (Arg((2, 3)),), 2)
    yield bad(ArgumentError, "at least one", (), 0)


@composite()
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors of one shape along a new dimension.

    >>> import tensorplay as tp
    >>> tp.stack((tp.tensor([1, 2]), tp.tensor([3, 4])), 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if not tensors:
        raise ArgumentError("stack: expected at least one tensor, got none")
    shape = tensors[0].shape
    for each in tensors:
        if each.shape != shape:
            raise ShapeError(f"stack: expected tensors of one shape, got {shape} and {each.shape}")
    dim = layout.normalize_dim("stack", dim, len(shape) + 1)
    return cat([each.unsqueeze(dim) for each in tensors], dim)


@stack.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2, 3)), Arg((2, 3))), 1)
    yield sample((Arg(()), Arg(()), Arg(())))
    yield sample((Arg((3,), layout="reversed"), Arg((3,))), -1)
    yield bad(ShapeError, "one shape", (Arg((2,)), Arg((3,))))
