"""Windows and raw strides: views whose elements may lie on one another, and their adjoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.errors import ArgumentValueError, LayoutError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.add_at import add_at
from tensorplay.ops.batching import with_batch
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.declare import view as declare_view
from tensorplay.ops.kinds.view import ViewMap, overlapping_write
from tensorplay.ops.numpy_code import element_strides
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size, dtype_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]


@declare_view(scatter="unfold_scatter")
def unfold(input: TensorMeta, dimension: int, size: int, step: int) -> ViewMap:
    """Windows of `size` elements, `step` apart, along a dimension.

    The windows' elements are the last dimension.

    >>> import tensorplay as tp
    >>> tp.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    place = layout.normalize_dim("unfold", dimension, input.ndim)
    own = input.shape[place] if input.ndim else 1
    if step <= 0 or size < 0 or size > own:
        msg = f"unfold: windows of {size} with step {step} do not fit dimension {dimension} of size {own}"
        raise ArgumentValueError(msg)
    shape = list(input.shape) or [1]
    shape[place] = (own - size) // step + 1
    if not input.ndim:
        return ViewMap([size], lambda i: [], (1,))
    return ViewMap(
        [*shape, size], lambda i: [*i[:place], i[place] * step + i[-1], *i[place + 1 : -1]]
    )


@composite(public=False)
def unfold_scatter(input: Tensor, src: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """`input` with its windows replaced by those of `src`; they must not overlap."""
    if not input.ndim:
        return src.reshape(())
    place = layout.normalize_dim("unfold", dimension, input.ndim)
    count = src.shape[place]
    if count > 1 and step < size:
        raise overlapping_write("unfold")
    for k in range(size):
        end = k + (count - 1) * step + 1
        input = tp.slice_scatter(input, src.select(-1, k), place, k, end, step)
    return input


@unfold_scatter.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 7)), Arg((2, 2, 3)), 1, 3, 4)
    yield sample(Arg((6, 2)), Arg((3, 2, 2)), -2, 2, 2)
    yield sample(Arg((4,)), Arg((1, 3)), 0, 3, 1)
    yield sample(Arg(()), Arg((1,)), 0, 1, 1)
    yield bad(LayoutError, "unfold: writing through this view", Arg((4,)), Arg((3, 2)), 0, 2, 1)


def _unfold_backward_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The windowed dimension behind the batch."""
    del metas
    sizes: Any
    dim: Any
    input, sizes, dim, window, step = values
    if not sizes:
        return NotImplemented
    place = layout.normalize_dim("unfold", dim, len(sizes)) + 1
    return operator(input, (size, *sizes), place, window, step)


def _unfold_backward_meta(input: TensorMeta, input_sizes: Sequence[int], *_: object) -> TensorMeta:
    return TensorMeta(input_sizes, input.dtype, input.device)


def _sum_type(array: Array) -> Any:  # noqa: ANN401  # a NumPy dtype
    """Half types add up in float32."""
    return dtype_of(array).compute.numpy


@structured(
    meta=_unfold_backward_meta, public=False, linear=True, batching=_unfold_backward_batching
)
def unfold_backward(input: Array, input_sizes: Size, dimension: int, size: int, step: int) -> Array:
    """The adjoint of unfold: every window added to where it came from."""
    result = np.zeros(tuple(input_sizes), _sum_type(input))
    if not input_sizes:
        return np.asarray(input.sum(), input.dtype)
    moved = np.moveaxis(result, dimension, -1)
    windows = np.moveaxis(input, dimension if dimension >= 0 else dimension - 1, -2)
    for k in range(size):
        count = windows.shape[-2]
        moved[..., k : k + (count - 1) * step + 1 : step] += windows[..., k]
    return result.astype(input.dtype, copy=False)


@unfold.gradient("input")
def _unfold_gradient(
    grad: Tensor, input: TensorMeta, dimension: int, size: int, step: int
) -> Tensor:
    place = layout.normalize_dim("unfold", dimension, input.ndim)
    return unfold_backward(grad, input.shape, place, size, step)


@unfold_backward.gradient("input")
def _unfold_backward_gradient(grad: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return unfold(grad, dimension, size, step)


def _strided_source(
    input: TensorMeta, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> ViewMap:
    """The index map over a contiguous input: the element with that number in memory."""
    first = 0 if storage_offset is None else storage_offset - input.offset
    inner = layout.contiguous_strides(input.shape)

    def source(i: Sequence[Any]) -> Sequence[Any]:
        number: Any = first
        for place, step in zip(i, stride, strict=True):
            number = number + place * step
        return [
            (number // step if step != 1 else number) % own if k else number // step
            for k, (own, step) in enumerate(zip(input.shape, inner, strict=True))
        ]

    return ViewMap(tuple(size), source, tuple(stride))


@declare_view(scatter="as_strided_scatter", strided=True)
def as_strided(
    input: TensorMeta, size: Size, stride: Size, storage_offset: int | None = None
) -> ViewMap:
    """A view of the storage with these strides, from the element `storage_offset` of the storage (default: the tensor's).

    >>> import tensorplay as tp
    >>> tp.as_strided(tp.arange(6), (2, 2), (3, 1))
    tensor([[0, 1],
            [3, 4]])
    """
    return _strided_source(input, size, stride, storage_offset)


def _offset_of(array: Array) -> int:
    return -_C.reach(array)[0]


@as_strided.batching
def _(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """Each sample has its own storage, as far as it can tell; the batch is a dimension more."""
    input: Any
    sizes: Any
    stride: Any
    input, sizes, stride, first = values
    if first is not None:
        one: Any = metas[0]
        first = input.storage_offset() - one.offset + first
    return operator(input, (size, *sizes), (input.stride(0), *stride), first)


def _scatter_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """As `as_strided`, in row-major memory."""
    meta: Any
    source: Any
    sizes: Any
    stride: Any
    first: Any
    input, src, sizes, stride, first = values
    meta, source = metas[:2]
    if meta.offset or not meta.is_contiguous or meta.numel == 0:
        return NotImplemented  # the places of its elements are those of a sample's memory
    whole: Any = with_batch(input, meta, size).contiguous()  # type: ignore[arg-type]  # a tensor
    inside = with_batch(src, source, size)  # type: ignore[arg-type]  # a tensor
    offset = None if first is None else whole.storage_offset() + first
    return operator(whole, inside, (size, *sizes), (meta.numel, *stride), offset)


@structured(
    meta=lambda input, *_: input.contiguous(), method=True, linear=True, batching=_scatter_batching
)
def as_strided_scatter(
    input: Array, src: Array, size: Size, stride: Size, storage_offset: int | None = None
) -> Array:
    """`input` with the elements of its strided view replaced by `src`.

    >>> import tensorplay as tp
    >>> tp.as_strided_scatter(tp.zeros(4), tp.tensor([1.0, 2.0]), (2,), (2,), 1)
    tensor([0., 1., 0., 2.])
    """
    memory = np.arange(input.size, dtype=np.int64).reshape(input.shape)
    strides, offset = element_strides(input), _offset_of(input)
    low, high = layout.extent(input.shape, strides, 0)
    numbers = np.full(high - low + 1, -1, np.int64)
    _C.view(numbers, input.shape, strides, -low)[...] = memory
    first = -low if storage_offset is None else storage_offset - offset - low
    places = _C.view(numbers, tuple(size), tuple(stride), first)
    result = np.array(input, order="C")
    flat = result.reshape(-1)
    inside = places >= 0
    flat[places[inside]] = src[inside]
    return result


@as_strided_scatter.gradient("input")
def _as_strided_scatter_input(
    grad: Tensor,
    src: TensorMeta,
    size: Size,
    stride: Size,
    storage_offset: int | None,
    input: TensorMeta,
) -> Tensor:
    mask = tp.ones(input.shape, dtype=grad.dtype)
    zeros = tp.zeros(src.shape, dtype=grad.dtype)
    return grad * as_strided_scatter(mask, zeros, size, stride, storage_offset)


@as_strided_scatter.gradient("src")
def _as_strided_scatter_src(
    grad: Tensor, size: Size, stride: Size, storage_offset: int | None
) -> Tensor:
    return as_strided(grad.contiguous(), size, stride, storage_offset)


def _adjoint_meta(input: TensorMeta, sizes: Sequence[int], *_: object) -> TensorMeta:
    return TensorMeta(sizes, input.dtype, input.device)


@structured(meta=_adjoint_meta, public=False, linear=True)
def as_strided_backward(
    input: Array, sizes: Size, strides: Size, size: Size, stride: Size, first: int
) -> Array:
    """The adjoint of as_strided of a tensor with these sizes and strides: elements that were read twice add up.

    `first` is the view's first element, counted from the tensor's.
    """
    low, high = layout.extent(sizes, strides, 0)
    view_low, view_high = layout.extent(size, stride, first)
    low, high = min(low, view_low), max(high, view_high)
    memory = np.zeros(high - low + 1, _sum_type(input))
    numbers = np.arange(memory.size, dtype=np.int64)
    places = _C.view(numbers, tuple(size), tuple(stride), first - low)
    add_at(memory, (places,), np.asarray(input, memory.dtype))
    return np.array(_C.view(memory, tuple(sizes), tuple(strides), -low), input.dtype, order="C")


@as_strided.gradient("input")
def _as_strided_gradient(
    grad: Tensor, input: TensorMeta, size: Size, stride: Size, storage_offset: int | None
) -> Tensor:
    first = 0 if storage_offset is None else storage_offset - input.offset
    return as_strided_backward(grad, input.shape, input.strides, size, stride, first)


@as_strided_backward.gradient("input")
def _as_strided_backward_gradient(
    grad: Tensor, sizes: Size, strides: Size, size: Size, stride: Size, first: int
) -> Tensor:
    return _through_memory(grad, sizes, strides, size, stride, first)


def _through_memory(
    input: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    first: int,
) -> Tensor:
    """Lay a tensor out in memory of its own with these strides, zeros around it, and take the view there."""
    low, high = layout.extent(sizes, strides, 0)
    view_low, view_high = layout.extent(size, stride, first)
    low, high = min(low, view_low), max(high, view_high)
    memory = tp.zeros((high - low + 1,), dtype=input.dtype)
    laid = as_strided_scatter(memory, input, sizes, strides, -low)
    return as_strided(laid, size, stride, first - low)


@as_strided.tangent
def _as_strided_tangent(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    """The tangent has memory of its own: the view's elements outside of the tensor do not move."""
    del operator, result
    input: Any
    size: Any
    stride: Any
    first: Any
    input, size, stride, first = values
    meta = input.tensor_meta
    start = 0 if first is None else first - meta.offset
    if tangents[0] is None:
        return None
    return _through_memory(tangents[0], meta.shape, meta.strides, size, stride, start)


# ---- samples --------------------------------------------------------------------------------------

_X = Arg((3, 4, 5))


def _samples(*calls: tuple[object, ...]) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        for call in calls:
            yield sample(*call)

    return samples


unfold.sample(_samples((_X, 2, 3, 2), (_X, 0, 2, 1), (Arg((7,)), 0, 3, 3)))
unfold_backward.sample(_samples((Arg((3, 4, 2, 3)), (3, 4, 5), 2, 3, 2)))
as_strided.sample(
    _samples((_X, (2, 3), (5, 1), 2), (_X, (4, 3), (1, 1)), (Arg((6,)), (2, 2), (3, 1)))
)
as_strided_scatter.sample(_samples((_X, Arg((2, 3)), (2, 3), (5, 1), 2)))
as_strided_backward.sample(
    _samples(
        (Arg((4, 3)), (3, 4, 5), (20, 5, 1), (4, 3), (1, 1), 0),
        (Arg((2, 2)), (3,), (1,), (2, 2), (1, 2), -2),  # before the tensor's own elements
    )
)
