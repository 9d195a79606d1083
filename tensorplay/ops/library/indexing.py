"""Advanced indexing: reading and writing at places given by integer tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.errors import (
    ArgumentValueError,
    DataNeededError,
    DTypeError,
    IndexRangeError,
    ShapeError,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.add_at import add_at
from tensorplay.ops.batching import has_batch, padded, with_batch
from tensorplay.ops.declare import index as declare_index
from tensorplay.ops.declare import structured
from tensorplay.ops.gradient import Result
from tensorplay.ops.kinds.index import Gather, Indices, Read, Scatter
from tensorplay.ops.monoids import SUM
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

# `input` is the name of the tensor parameter everywhere


@dataclass(frozen=True, slots=True)
class _Geometry:
    """Which dimensions are indexed, the common shape of the indices, and where that stands in the result."""

    dims: tuple[int, ...]
    shape: tuple[int, ...]
    start: int
    result: tuple[int, ...]
    kept: tuple[int, ...]

    def split(self, i: Indices) -> tuple[Indices, Indices]:
        """An index of the result as (index of the index tensors, indices of the kept dimensions)."""
        stop = self.start + len(self.shape)
        return i[self.start : stop], [*i[: self.start], *i[stop:]]


def _geometry(name: str, input: Any, indices: Sequence[Any]) -> _Geometry:  # noqa: ANN401  # metas or arrays
    if len(indices) > input.ndim:
        msg = f"{name}: {len(indices)} indices for a {input.ndim}-d tensor"
        raise IndexRangeError(msg)
    dims = tuple(d for d, each in enumerate(indices) if each is not None)
    shape = layout.broadcast_shapes(name, [indices[d].shape for d in dims]) if dims else ()
    kept = tuple(d for d in range(input.ndim) if d not in dims)
    together = bool(dims) and dims == tuple(range(dims[0], dims[-1] + 1))
    start = dims[0] if together else 0
    sizes = [input.shape[d] for d in kept]
    return _Geometry(dims, shape, start, (*sizes[:start], *shape, *sizes[start:]), kept)


def _check_indices(name: str, indices: Sequence[Any]) -> None:
    for each in indices:
        if each is not None and each.dtype.kind not in "iu":
            msg = f"{name}: index tensors must be integers, found {each.dtype}"
            raise DTypeError(msg)


def _read_indices(
    geometry: _Geometry, indices: Sequence[Any], input: TensorMeta, i: Indices, read: Read
) -> list[Any]:
    """The place in the input of an element of the result."""
    inner, outer = geometry.split(i)
    places: list[Any] = [None] * input.ndim
    for d, place in zip(geometry.kept, outer, strict=True):
        places[d] = place
    for d in geometry.dims:
        own = indices[d].shape
        seen = [
            0 if size == 1 else place
            for size, place in zip(own, inner[len(inner) - len(own) :], strict=True)
        ]
        places[d] = read(f"indices.{d}", seen, input.shape[d])
    return places


def _index_meta(input: TensorMeta, indices: Sequence[TensorMeta | None]) -> TensorMeta:
    _check_indices("index", indices)
    return TensorMeta(_geometry("index", input, indices).result, input.dtype, input.device)


def _index_form(input: TensorMeta, indices: Sequence[TensorMeta | None]) -> Gather:
    geometry = _geometry("index", input, indices)
    return Gather(
        "input", geometry.result, lambda i, read: _read_indices(geometry, indices, input, i, read)
    )


def _numpy_index(indices: Sequence[Array | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if each is None else each for each in indices)


@declare_index(meta=_index_meta, form=_index_form, public=False)
def index(input: Array, indices: Sequence[Array | None]) -> Array:
    """`input[indices]`: one integer tensor (they broadcast) or None for each dimension."""
    _check_indices("index", indices)
    geometry = _geometry("index", input, indices)
    try:
        found = input[_numpy_index(indices)]
    except IndexError as error:
        raise IndexRangeError(_out_of_range(error, input)) from None
    return np.array(found, order="C", copy=True).reshape(geometry.result)


def _out_of_range(error: IndexError, input: Any) -> str:  # noqa: ANN401  # an array
    return f"{str(error).replace('axis', 'dimension')} (the tensor has shape {tuple(input.shape)})"


@index.batching
def _index_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The batch as an index more, or as a dimension that nothing indexes where samples index alike."""
    input: Any
    indices: Any
    meta: Any
    index_metas: Any
    (input, indices), (meta, index_metas) = values, metas
    geometry = _geometry("index", meta, index_metas)
    rank = len(geometry.shape)
    shared = all(
        each is None or not has_batch(each, one)
        for each, one in zip(indices, index_metas, strict=True)
    )
    if shared:
        found: Any = operator(input, (None, *indices))
        together = _geometry("index", input, (None, *indices)).start
        return found if together else found.movedim(rank, 0)
    aligned = _aligned_indices(indices, index_metas, rank)
    if not has_batch(input, meta):
        found = operator(input, aligned)
        start = geometry.start
        return found if start == 0 else found.movedim(start, 0)
    found = operator(input, (_batch_index(size, rank), *aligned))
    start = geometry.start
    if not start or not rank:
        return found
    lead = [1 + rank + d for d in range(start)]
    rest = range(1 + rank + start, found.ndim)
    return found.permute((0, *lead, *range(1, 1 + rank), *rest))


def _aligned_indices(indices: Any, metas: Any, rank: int) -> tuple[Any, ...]:  # noqa: ANN401  # any value
    """Index tensors that broadcast to (batch, their common shape)."""
    return tuple(
        each if each is None else padded(each, meta, rank)
        for each, meta in zip(indices, metas, strict=True)
    )


def _batch_index(size: int, rank: int) -> Tensor:
    """The number of the sample, for indices of `rank` dimensions."""
    return tp.arange(0, size, 1, dtype=dtypes.int64).reshape((size, *(1,) * rank))


@index.gradient("input")
def _index_gradient(grad: Tensor, input: TensorMeta, indices: Sequence[Tensor | None]) -> Tensor:
    zeros = tp.zeros(input.shape, dtype=grad.dtype)
    return index_put(zeros, indices, grad, True)


@index.tangent
def _index_tangent(operator: Any, values: Any, result: Result, tangents: Any) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    del operator, result
    return None if tangents[0] is None else index(tangents[0], values[1])


def _put_meta(
    input: TensorMeta, indices: Sequence[TensorMeta | None], values: TensorMeta, accumulate: bool
) -> TensorMeta:
    del accumulate
    _check_indices("index_put", indices)
    _check_values(_geometry("index_put", input, indices), input, values)
    return input.contiguous()


def _check_values(geometry: _Geometry, input: Any, values: Any) -> None:  # noqa: ANN401  # metas or arrays
    if layout.broadcast_shapes("index_put", [geometry.result, values.shape]) != geometry.result:
        msg = f"index_put: values of shape {tuple(values.shape)} do not fit the indexed shape {geometry.result}"
        raise ShapeError(msg)
    if values.dtype != input.dtype:
        msg = f"index_put: values have dtype {values.dtype}, the tensor {input.dtype}; convert them with .to()"
        raise DTypeError(msg)


def _put_form(
    input: TensorMeta, indices: Sequence[TensorMeta | None], values: TensorMeta, accumulate: bool
) -> Scatter:
    geometry = _geometry("index_put", input, indices)
    own = values.shape

    def value_place(i: Indices) -> Indices:
        return [
            0 if size == 1 else place
            for size, place in zip(own, i[len(i) - len(own) :], strict=True)
        ]

    return Scatter(
        "input", "values", geometry.result,
        lambda i, read: _read_indices(geometry, indices, input, i, read),
        value_place, SUM if accumulate else None,
    )  # fmt: skip


@declare_index(meta=_put_meta, form=_put_form, public=False)
def index_put(
    input: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False
) -> Array:
    """`input` with `values` at `indices`; with `accumulate` they are added, equal places adding up.

    Without it, which of several values wins at one place is not defined. Half types add up in
    float32 and round once.

    >>> import tensorplay as tp
    >>> tp.index_put(tp.zeros(2, 2), (tp.tensor([0, 1]), tp.tensor([1, 0])), tp.tensor([5.0, 7.0]))
    tensor([[0., 5.],
            [7., 0.]])
    """
    _check_indices("index_put", indices)
    geometry = _geometry("index_put", input, indices)
    _check_values(geometry, input, values)
    places = _numpy_index(indices)
    compute = dtypes.from_numpy_dtype(input.dtype).compute.numpy
    result = np.array(input, compute if accumulate else input.dtype, order="C")
    try:
        if not accumulate:
            result[places] = values
        else:
            add_at(result, places, values.astype(compute, copy=False))
    except IndexError as error:
        raise IndexRangeError(_out_of_range(error, input)) from None
    return result.astype(input.dtype, copy=False)


@index_put.batching
def _put_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The batch as an index more; values in the order in which NumPy lays out what is indexed."""
    input: Any
    indices: Any
    put: Any
    meta: Any
    index_metas: Any
    put_meta: Any
    input, indices, put, accumulate = values
    meta, index_metas, put_meta = metas[:3]
    geometry = _geometry("index_put", meta, index_metas)
    rank = len(geometry.shape)
    whole = with_batch(input, meta, size)
    places = (_batch_index(size, rank), *_aligned_indices(indices, index_metas, rank))
    start = geometry.start
    if start and rank:
        shape = (size, *geometry.result) if has_batch(put, put_meta) else geometry.result
        first = len(shape) - len(geometry.result)
        put = padded(put, put_meta, len(geometry.result)).expand(shape)
        inner = [first + start + d for d in range(rank)]
        others = [d for d in range(first, len(shape)) if d not in inner]
        put = put.permute((*range(first), *inner, *others))
    else:
        put = padded(put, put_meta, len(geometry.result))
    return operator(whole, places, put, accumulate)


@index_put.gradient("input")
def _put_gradient_input(
    grad: Tensor, indices: Sequence[Tensor | None], values: TensorMeta, accumulate: bool
) -> Tensor:
    if accumulate:
        return grad
    zeros = tp.zeros((1,) * len(values.shape), dtype=grad.dtype)
    return index_put(grad, indices, zeros)


@index_put.gradient("values")
def _put_gradient_values(grad: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    return index(grad, indices)


@index_put.tangent
def _put_tangent(operator: Any, values: Any, result: Result, tangents: Any) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    del operator, result
    base, indices, put, accumulate = values
    integers = [each for each in indices if each is not None]
    first, last = tangents[0], tangents[1 + len(integers)]
    base_tangent = tp.zeros(base.shape, dtype=base.dtype) if first is None else first
    put_tangent = tp.zeros(put.shape, dtype=put.dtype) if last is None else last
    return index_put(base_tangent, indices, put_tangent, accumulate)


def _nonzero_meta(input: TensorMeta) -> TensorMeta:
    msg = (
        f"nonzero, and indexing with a bool tensor of shape {input.shape}: the number of results depends on data, which a "
        "recorded tensor does not have; use where(mask, a, b) or masked_fill, which keep the shape"
    )
    raise DataNeededError(msg)


@structured(meta=_nonzero_meta, public=False, not_differentiable="its results are indices")
def nonzero(input: Array) -> Array:
    """The indices of all nonzero elements, one row each, in row-major order.

    >>> import tensorplay as tp
    >>> tp.nonzero(tp.tensor([[0, 5], [7, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return np.array(np.argwhere(input), np.int64, order="C")


def _nonzero_static_meta(input: TensorMeta, size: int, fill_value: int) -> TensorMeta:
    del fill_value
    if size < 0:
        msg = f"nonzero_static: size must not be negative, found {size}"
        raise ArgumentValueError(msg)
    return TensorMeta((size, input.ndim), dtypes.int64, input.device)


@structured(meta=_nonzero_static_meta, method=True, not_differentiable="its results are indices")
def nonzero_static(input: Array, *, size: int, fill_value: int = -1) -> Array:
    """The first `size` rows of `nonzero`, or all and rows of `fill_value`: a size that does not depend on data.

    >>> import tensorplay as tp
    >>> tp.nonzero_static(tp.tensor([0, 3, 0, 4]), size=3)
    tensor([[ 1],
            [ 3],
            [-1]])
    """
    if size < 0:
        msg = f"nonzero_static: size must not be negative, found {size}"
        raise ArgumentValueError(msg)
    found = np.argwhere(input)[:size]
    result = np.full((size, input.ndim), fill_value, np.int64)
    result[: len(found)] = found
    return result


_ROWS = Arg((3,), dtypes.int64, values=[2, 0, -1])


@index.sample
def _index_samples() -> Iterator[Sample]:
    x = Arg((3, 4, 5))
    yield sample(x, (_ROWS,))
    yield sample(x, (None, _ROWS))
    yield sample(x, (Arg((2, 1), dtypes.int64, values=[[0], [2]]), _ROWS))
    yield sample(x, (_ROWS, None, _ROWS))
    yield sample(Arg((3, 4, 5), layout="transposed"), (None, _ROWS, _ROWS))
    yield sample(x, (Arg((), dtypes.int64, values=1), None))  # type: ignore[arg-type]  # a 0-d value
    yield sample(x, (Arg((0,), dtypes.int64),))
    yield bad(IndexRangeError, "out of bounds", x, (Arg((1,), dtypes.int64, values=[3]),))
    yield bad(DTypeError, "must be integers", x, (Arg((1,)),))


@index_put.sample
def _put_samples() -> Iterator[Sample]:
    x = Arg((3, 4))
    apart = Arg((2,), dtypes.int64, values=[-1, 0])
    yield sample(x, (apart,), Arg((2, 4)))
    yield sample(x, (apart,), Arg((4,)))
    yield sample(x, (Arg((3,), dtypes.int64, values=[1, 1, 0]),), Arg((3, 4)), True)
    yield sample(x, (None, _ROWS), Arg(()), True)
    yield sample(x, (apart, apart), Arg((2,)))
    yield bad(ShapeError, "do not fit", x, (_ROWS,), Arg((2, 3, 4)))
    yield bad(
        IndexRangeError, "out of bounds", x, (Arg((1,), dtypes.int64, values=[-4]),), Arg((4,))
    )


@nonzero_static.sample
def _nonzero_static_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.int32, low=-1, high=2), size=3)
    yield sample(Arg((5,), values=[0.0, float("nan"), -0.0, 1.0, 0.0]), size=4, fill_value=7)
    yield sample(Arg((), dtypes.bool_), size=1)
    yield bad(ArgumentValueError, "negative", Arg((3,)), size=-1)


@nonzero.sample
def _nonzero_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.int32, low=-1, high=2))
    yield sample(Arg((), dtypes.bool_))
