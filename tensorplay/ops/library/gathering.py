"""Reading and writing along one dimension at places that a tensor names: gather, scatter, and their relatives.

`gather` reads `input[…, index[i], …]`; `scatter` writes there and `scatter_add` adds there, each element of `index` telling the
place along `dim` and its own position all other coordinates. Places outside `[0, size)` are refused. `scatter_add` is the
adjoint of `gather`.

>>> import tensorplay as tp
>>> tp.gather(tp.tensor([10.0, 20.0, 30.0]), 0, tp.tensor([2, 0, 2]))
tensor([30., 10., 30.])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import float64, int32, int64, uint8
from tensorplay.core.errors import DTypeError, IndexRangeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.add_at import add_at
from tensorplay.ops.batching import along, has_batch
from tensorplay.ops.declare import composite, index
from tensorplay.ops.kinds.index import Gather, Indices, Read, Scatter
from tensorplay.ops.monoids import SUM, Monoid
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import dtype_of, is_tensor

if TYPE_CHECKING:
    from tensorplay.core.dtypes import Number
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]


# ---- checks and NumPy forms -----------------------------------------------------------------------


def names_nothing(index: Any) -> bool:  # noqa: ANN401  # a meta or an array
    """Whether an index is empty: then its dtype says nothing."""
    return 0 in index.shape


def check_index(name: str, index: Any) -> None:  # noqa: ANN401  # a meta or an array
    """Refuse an index that is no int32 or int64 tensor."""
    if dtype_of(index) not in {int32, int64}:
        raise DTypeError(
            f"{name}: expected an int32 or int64 index, got {dtype_of(index)}; convert it with .long()"
        )


def in_range(name: str, places: Array, size: int) -> Array:
    """Return places that all lie in `[0, size)`; others raise."""
    low, high = places.min(initial=0), places.max(initial=-1)
    if low < 0 or high >= size:
        wrong = high if high >= size else low
        raise IndexRangeError(
            f"{name}: index {wrong} is out of range for a dimension of {size} elements"
        )
    return places


def _grid(name: str, shape: Sequence[int], dim: int, places: Array) -> tuple[Array, ...]:
    """The NumPy index of every element of `places` in an array of `shape`."""
    if not shape:
        in_range(name, places, 1)
        return ()
    found = list(np.ogrid[tuple(slice(size) for size in places.shape)])
    found[dim] = in_range(name, places, shape[dim])
    return tuple(found)


def _check_along(name: str, input: Any, dim: int, index: Any) -> int:  # noqa: ANN401  # metas or arrays
    """Check an index that has the rank of `input` and reaches no further in the other dimensions.

    An empty one names no place, so it may have any shape and dtype.
    """
    dim = layout.normalize_dim(name, dim, input.ndim)
    if names_nothing(index):
        return dim
    check_index(name, index)
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise ShapeError(
            f"{name}: the index has {index.ndim} dimensions and the input {input.ndim}; they must be equal"
        )
    for d, (size, limit) in enumerate(zip(index.shape, input.shape, strict=False)):
        if d != dim and size > limit:
            raise ShapeError(
                f"{name}: an index of shape {index.shape} reaches beyond an input of shape {input.shape} in "
                f"dimension {d}"
            )
    return dim


def _along(dim: int, input: TensorMeta, index: TensorMeta, parameter: str) -> Any:  # noqa: ANN401  # a Place
    """The place of an element of the index: its own position, `dim` replaced by what the index says."""
    if names_nothing(index):
        return lambda i, read: [0] * input.ndim  # never asked for

    def place(i: Indices, read: Read) -> Indices:
        if input.ndim == 0:
            read(parameter, i, 1, wraps=False)
            return []
        there = read(parameter, i, input.shape[dim], wraps=False)
        return [there if d == dim else each for d, each in enumerate(i)] if i else [there]

    return place


# ---- gather -----------------------------------------------------------------------------------------


def _gather_meta(input: TensorMeta, dim: int, index: TensorMeta) -> TensorMeta:
    _check_along("gather", input, dim, index)
    return TensorMeta(index.shape, input.dtype, input.device)


def _gather_form(input: TensorMeta, dim: int, index: TensorMeta) -> Gather:
    dim = layout.normalize_dim("gather", dim, input.ndim)
    return Gather("input", index.shape, _along(dim, input, index, "index"))


@index(meta=_gather_meta, form=_gather_form, method=True, batching=along("dim"))
def gather(input: Array, dim: int, index: Array) -> Array:
    """Read along `dim` at the places that `index` holds; the result has the index's shape.

    >>> import tensorplay as tp
    >>> tp.gather(tp.tensor([[1, 2], [3, 4]]), 1, tp.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    dim = _check_along("gather", input, dim, index)
    if names_nothing(index):
        return np.empty(index.shape, input.dtype)
    places = index.reshape(index.shape or (1,)) if input.ndim else index
    return np.array(input[_grid("gather", input.shape, dim, places)]).reshape(index.shape)


@gather.gradient("input")
def _(grad: Tensor, input: TensorMeta, dim: int, index: Tensor) -> Tensor:
    zeros = grad.new_zeros(input.shape)
    return zeros.scatter_add(dim, index, grad)


@gather.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del result
    if tangents[0] is None:
        return None
    found: Tensor = operator(tangents[0], *values[1:])
    return found


@gather.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1, Arg((3, 2), int64, values=[[0, 3], [3, 1], [2, 2]]))
    yield sample(Arg((3, 4), layout="transposed"), 0, Arg((2, 4), int32, 0, 3))
    yield sample(Arg((5,), layout="reversed"), 0, Arg((7,), int64, 0, 5))
    yield sample(Arg((3, 4)), 0, Arg((0, 4), int64))
    yield sample(Arg((3, 4)), 0, Arg((0,), uint8))  # it names no place
    yield sample(Arg(()), 0, Arg((), int64, values=[0]))
    yield bad(IndexRangeError, "out of range", Arg((3,)), 0, Arg((1,), int64, values=[3]))
    yield bad(DTypeError, "int64", Arg((3,)), 0, Arg((1,)))
    yield bad(ShapeError, "dimensions", Arg((3, 4)), 0, Arg((1,), int64, 0, 1))


def take_along_dim_of(input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Gather after broadcasting all dimensions but `dim`."""
    dim = layout.normalize_dim("take_along_dim", dim, input.ndim)
    rows = [size for d, size in enumerate(input.shape) if d != dim]
    others = [size for d, size in enumerate(indices.shape) if d != dim]
    common = list(layout.broadcast_shapes("take_along_dim", [rows, others]))
    whole = (*common[:dim], input.shape[dim], *common[dim:])
    asked = (*common[:dim], indices.shape[dim], *common[dim:])
    return gather(input.expand(whole), dim, _wrapped(indices, input.shape[dim]).expand(asked))


def _wrapped(indices: Tensor, size: int) -> Tensor:
    """Negative places count from the end."""
    found: Tensor = tp.where(indices < 0, indices + size, indices)
    return found


@composite(method=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Like `gather`, the other dimensions broadcast; without `dim` both are taken as 1-d.

    Negative places count from the end.

    >>> import tensorplay as tp
    >>> x = tp.tensor([[30, 10, 20], [5, 6, 4]])
    >>> tp.take_along_dim(x, x.argsort(1), 1)
    tensor([[10, 20, 30],
            [ 4,  5,  6]])
    """
    if dim is None:
        return gather(input.reshape(-1), 0, _wrapped(indices.reshape(-1), input.numel()))
    return take_along_dim_of(input, indices, dim)


@take_along_dim.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((1, 2), int64, 0, 4), 1)
    yield sample(Arg((3, 4)), Arg((5,), int64, -12, 12))


# ---- scatter ------------------------------------------------------------------------------------------


def _check_scatter(name: str, input: Any, dim: int, index: Any, src: Any) -> int:  # noqa: ANN401  # metas or arrays
    dim = _check_along(name, input, dim, index)
    if hasattr(src, "shape"):
        found, wanted = dtype_of(src), dtype_of(input)
        if found is not wanted:
            raise DTypeError(
                f"{name}: input is {wanted} and src {found}; convert one with .to(dtype)"
            )
        if names_nothing(index):
            return dim
        if src.ndim != index.ndim or any(
            a > b for a, b in zip(index.shape, src.shape, strict=True)
        ):
            raise ShapeError(
                f"{name}: an index of shape {index.shape} reaches beyond src of shape {src.shape}"
            )
    return dim


def _scatter_meta_of(name: str) -> Any:  # noqa: ANN401  # a meta rule
    def meta(
        input: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta | Number
    ) -> TensorMeta:
        _check_scatter(name, input, dim, index, src)
        return TensorMeta(input.shape, input.dtype, input.device)

    return meta


def _scatter_form_of(name: str, combine: Monoid | None) -> Any:  # noqa: ANN401  # a form
    def form(input: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta | Number) -> Scatter:
        dim = layout.normalize_dim(name, dim, input.ndim)
        is_tensor = isinstance(src, TensorMeta)

        def value_place(i: Indices) -> Indices:
            return [0] * src.ndim if names_nothing(index) else i  # type: ignore[union-attr]  # a meta

        return Scatter(
            base="input",
            value="src",
            domain=index.shape,
            place=_along(dim, input, index, "index"),
            value_place=lambda i: value_place(i) if is_tensor else (),
            combine=combine,
        )

    return form


def _scattered(name: str, input: Array, dim: int, index: Array, src: Any, add: bool) -> Array:  # noqa: ANN401  # any value
    dim = _check_scatter(name, input, dim, index, src)
    if names_nothing(index):
        return np.array(input, order="C")
    places = index.reshape(index.shape or (1,)) if input.ndim else index
    result = np.array(input, order="C")
    grid = _grid(name, input.shape, dim, places)
    if isinstance(src, np.ndarray):
        part: Any = src[tuple(slice(size) for size in index.shape)].reshape(places.shape)
    else:
        part = np.asarray(src).astype(input.dtype)
    if not input.ndim and isinstance(src, np.ndarray):
        part = part.reshape(())  # one place, and one element for it
    if not add:
        result[grid] = part
    elif places.size:
        add_at(result, grid, part)
    return result


@index(
    meta=_scatter_meta_of("scatter"),
    form=_scatter_form_of("scatter", None),
    public=False,  # its public forms: call_forms
    batching=along("dim"),
)
def scatter(input: Array, dim: int, index: Array, src: Array | Number) -> Array:
    """Replace elements along `dim` at the places that `index` holds; which of several wins is not defined.

    >>> import tensorplay as tp
    >>> tp.scatter(tp.zeros(3), 0, tp.tensor([2, 0]), tp.tensor([1.0, 5.0]))
    tensor([5., 0., 1.])
    """
    return _scattered("scatter", input, dim, index, src, add=False)


@scatter.gradient("input")
def _(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return grad.scatter(dim, index, 0)


@scatter.gradient("src")
def _(grad: Tensor, dim: int, index: Tensor, src: TensorMeta) -> Tensor:
    return _as_src(grad.gather(dim, index), src)


def _as_src(grad: Tensor, src: TensorMeta) -> Tensor:
    """Only the part of src that the index covers was read."""
    if names_nothing(grad):
        return grad.new_zeros(src.shape)
    for d, size in enumerate(src.shape):
        if grad.shape[d] != size:
            shape = [*grad.shape[:d], size, *grad.shape[d + 1 :]]
            grad = grad.new_zeros(shape).slice_scatter(grad, d, 0, grad.shape[d])
    return grad


@scatter.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor:
    input, dim, index, src = values
    return _scatter_tangent(operator, (input, dim, index, src), result, tangents)


def _scatter_tangent(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor:
    _, dim, index, src = values
    base = tangents[0] if tangents[0] is not None else result.new_zeros(result.shape)
    given = tangents[2] if len(tangents) > 2 else None
    part: Any = src
    still: Any = part.new_zeros(part.shape) if is_tensor(part) else 0
    part = still if given is None else given
    found: Tensor = operator(base, dim, index, part)
    return found


@scatter.sample
def _() -> Iterator[Sample]:
    places = Arg((2, 3), int64, values=[[0, 2, 1], [1, 0, 3]])
    yield sample(Arg((3, 3)), 0, Arg((1, 3), int64, values=[[0, 2, 1]]), Arg((1, 3)))
    yield sample(Arg((2, 4)), 1, places, Arg((2, 3), layout="transposed"))
    yield sample(Arg((2, 4)), 1, places, 1.5)
    yield sample(Arg((4,), layout="strided"), 0, Arg((0,), int64), Arg((0,)))
    yield sample(Arg((3, 4)), 1, Arg((2, 0), uint8), Arg((5,)))
    yield bad(
        IndexRangeError, "out of range", Arg((3,)), 0, Arg((1,), int64, values=[-1]), Arg((1,))
    )
    yield bad(DTypeError, "src", Arg((3,)), 0, Arg((1,), int64, values=[0]), Arg((1,), float64))


@index(
    meta=_scatter_meta_of("scatter_add"),
    form=_scatter_form_of("scatter_add", SUM),
    method=True,
    inplace=True,
    batching=along("dim"),
)
def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """Add the elements of `src` along `dim` at the places that `index` holds, all that meet in one place.

    >>> import tensorplay as tp
    >>> tp.scatter_add(tp.zeros(3), 0, tp.tensor([0, 2, 2]), tp.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 5.])
    """
    return _scattered("scatter_add", input, dim, index, src, add=True)


@scatter_add.gradient("input")
def _(grad: Tensor) -> Tensor:
    return grad


@scatter_add.gradient("src")
def _(grad: Tensor, dim: int, index: Tensor, src: TensorMeta) -> Tensor:
    return _as_src(grad.gather(dim, index), src)


@scatter_add.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor:
    return _scatter_tangent(operator, values, result, tangents)


@scatter_add.sample
def _() -> Iterator[Sample]:
    places = Arg((2, 3), int64, values=[[0, 2, 0], [1, 1, 3]])
    yield sample(Arg((2, 4)), 1, places, Arg((2, 3)))
    yield sample(Arg((3,)), 0, Arg((5,), int32, 0, 3), Arg((6,), layout="reversed"))
    yield sample(Arg((3,), int64), 0, Arg((4,), int64, values=[1, 1, 1, 0]), Arg((4,), int64))
    yield bad(
        IndexRangeError, "out of range", Arg((3,)), 0, Arg((1,), int64, values=[3]), Arg((1,))
    )


# ---- whole slices ---------------------------------------------------------------------------------------


def _select_places(index: TensorMeta) -> int:
    return index.shape[0] if index.ndim else 1


def _check_select(input: Any, dim: int, index: Any) -> int:  # noqa: ANN401  # metas or arrays
    check_index("index_select", index)
    if index.ndim > 1:
        raise ShapeError(f"index_select: expected a 1-d index, got shape {index.shape}")
    return layout.normalize_dim("index_select", dim, input.ndim)


def _index_select_meta(input: TensorMeta, dim: int, index: TensorMeta) -> TensorMeta:
    dim = _check_select(input, dim, index)
    shape = [_select_places(index) if d == dim else size for d, size in enumerate(input.shape)]
    return TensorMeta(shape, input.dtype, input.device)


def _index_select_form(input: TensorMeta, dim: int, index: TensorMeta) -> Gather:
    shape = _index_select_meta(input, dim, index).shape
    dim = layout.normalize_dim("index_select", dim, input.ndim)

    def place(i: Indices, read: Read) -> Indices:
        if input.ndim == 0:
            read("index", [0] * index.ndim, 1, wraps=False)
            return []
        there = read("index", [i[dim]] if index.ndim else [], input.shape[dim], wraps=False)
        return [there if d == dim else each for d, each in enumerate(i)]

    return Gather("input", shape, place)


@index(meta=_index_select_meta, form=_index_select_form, method=True)
def index_select(input: Array, dim: int, index: Array) -> Array:
    """Select whole slices along `dim`, as often and in the order that the 1-d `index` says.

    >>> import tensorplay as tp
    >>> tp.index_select(tp.tensor([[1, 2, 3], [4, 5, 6]]), 1, tp.tensor([2, 0]))
    tensor([[3, 1],
            [6, 4]])
    """
    dim = _check_select(input, dim, index)
    size = input.shape[dim] if input.ndim else 1
    places = in_range("index_select", index.reshape(-1), size)
    return np.ascontiguousarray(np.take(input, places, axis=dim)) if input.ndim else np.array(input)


@index_select.batching
def _(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The dimension behind the batch, where all samples select alike."""
    input: Any
    dim: Any
    input, dim, index = values
    meta: Any = metas[0]
    if has_batch(index, metas[2]) or not meta.ndim:
        return NotImplemented
    del size
    return operator(input, layout.normalize_dim("index_select", dim, meta.ndim) + 1, index)


@index_select.gradient("input")
def _(grad: Tensor, input: TensorMeta, dim: int, index: Tensor) -> Tensor:
    zeros = grad.new_zeros(input.shape)
    return zeros.index_add(dim, index, grad)


@index_select.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del result
    if tangents[0] is None:
        return None
    found: Tensor = operator(tangents[0], *values[1:])
    return found


@index_select.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0, Arg((5,), int64, values=[2, 0, 2, 1, 2]))
    yield sample(Arg((3, 4), layout="transposed"), -1, Arg((2,), int32, 0, 4))
    yield sample(Arg((3, 4)), 1, Arg((0,), int64))
    yield sample(Arg((3,)), 0, Arg((), int64, values=[1]))
    yield bad(IndexRangeError, "out of range", Arg((3,)), 0, Arg((2,), int64, values=[0, 3]))
    yield bad(ShapeError, "1-d", Arg((3,)), 0, Arg((2, 2), int64, 0, 2))


@composite(method=True, inplace=True)
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1
) -> Tensor:
    """Add `alpha` times the slices of `source` to the slices of `input` that the 1-d `index` names.

    >>> import tensorplay as tp
    >>> tp.index_add(tp.zeros(3), 0, tp.tensor([0, 2, 2]), tp.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 5.])
    """
    dim = layout.normalize_dim("index_add", dim, input.ndim)
    if index.ndim > 1 or source.shape != _replaced(input.shape, dim, index.numel()):
        raise ShapeError(
            f"index_add: expected a 1-d index and a source of shape {_replaced(input.shape, dim, index.numel())}, got "
            f"an index of shape {index.shape} and a source of shape {source.shape}"
        )
    if alpha != 1:
        source = source * alpha
    if input.ndim == 0:
        return input.scatter_add(0, index.reshape(()), source)
    size = input.shape[dim]
    index = tp.where(index < 0, size, index)  # index_put counts negative ones from the end
    places: list[Tensor | None] = [None] * dim
    return input.index_put([*places, index.reshape(-1)], source, accumulate=True)


def _replaced(shape: Sequence[int], dim: int, size: int) -> tuple[int, ...]:
    return tuple(size if d == dim else each for d, each in enumerate(shape))


@index_add.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 2)), 0, Arg((4,), int64, values=[0, 2, 0, 2]), Arg((4, 2)))
    yield sample(Arg((2, 3)), 1, Arg((2,), int32, values=[1, 1]), Arg((2, 2)), alpha=0.5)
    yield sample(Arg((3, 2)), 0, Arg((0,), int64), Arg((0, 2)))
    yield bad(IndexRangeError, "out of", Arg((3,)), 0, Arg((1,), int64, values=[3]), Arg((1,)))
    yield bad(ShapeError, "source", Arg((3,)), 0, Arg((2,), int64, 0, 3), Arg((1,)))
