"""Views of parts: slices, single indices, diagonals, windows, raw strides; and the scatters that undo them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core import dtypes, layout
from tensorplay.core.errors import ArgumentValueError, DimensionError, IndexRangeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.declare import composite, index, structured
from tensorplay.ops.declare import view as declare_view
from tensorplay.ops.kinds.index import Condition, Indices, Piece, Pieces
from tensorplay.ops.kinds.view import ViewMap
from tensorplay.ops.library.views import expand, reshape
from tensorplay.ops.numpy_code import element_strides
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, Size, Sizes

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

# `input` is the name of the tensor parameter everywhere

# ---- slices and indices --------------------------------------------------------------------------------------------------------


def slice_bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Python's rule for `start:end` in a dimension: negative bounds count from the end, both are clipped."""
    first = 0 if start is None else start
    last = size if end is None else end
    first = first + size if first < 0 else first
    last = last + size if last < 0 else last
    first = 0 if first < 0 else min(first, size)
    last = first if last < first else min(last, size)
    return first, last


def _check_step(step: int) -> None:
    if step <= 0:
        msg = f"slice: the step must be positive, found {step}; use flip to reverse"
        raise ArgumentValueError(msg)


@declare_view(scatter="slice_scatter", method=False, public=False)
def slice(  # PyTorch's name
    input: TensorMeta, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> ViewMap:
    """Elements `start:end:step` along a dimension."""
    _check_step(step)
    if not input.ndim:
        msg = "slice: a 0-d tensor has no dimension to slice"
        raise DimensionError(msg)
    place = layout.normalize_dim("slice", dim, input.ndim)
    first, last = slice_bounds(input.shape[place], start, end)
    shape = list(input.shape)
    shape[place] = (last - first + step - 1) // step
    return ViewMap(shape, lambda i: [*i[:place], i[place] * step + first, *i[place + 1 :]])


def _slice_pieces(  # the operator's parameters
    input: TensorMeta, src: TensorMeta, dim: int, start: int | None, end: int | None, step: int
) -> Pieces:
    place = layout.normalize_dim("slice_scatter", dim, input.ndim)
    first, last = slice_bounds(input.shape[place], start, end)
    wanted = list(input.shape)
    wanted[place] = (last - first + step - 1) // step
    _check_src("slice_scatter", src, wanted)
    inside = Piece(
        "src",
        lambda i: [Condition(i[place], first, last, step)],
        lambda i: [*i[:place], (i[place] - first) // step, *i[place + 1 :]],
    )
    return Pieces(input.shape, (inside, _rest("input")))


def _rest(name: str) -> Piece:
    return Piece(name, lambda _: (), lambda i: i)


def _check_src(name: str, src: TensorMeta, wanted: Sequence[int]) -> None:
    if src.shape != tuple(wanted):
        msg = f"{name}: src has shape {src.shape}, the place for it {tuple(wanted)}"
        raise ShapeError(msg)


def _like_base(form: Callable[..., Pieces]) -> Callable[..., TensorMeta]:
    """The meta rule of a scatter: the base's shape, once the form has checked the arguments."""

    def meta(input: TensorMeta, *arguments: Any) -> TensorMeta:  # noqa: ANN401  # the operator's
        form(input, *arguments)
        return input.contiguous()

    return meta


@index(meta=_like_base(_slice_pieces), form=_slice_pieces, method=True, linear=True)
def slice_scatter(
    input: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """`input` with the elements `start:end:step` along `dim` replaced by `src`."""
    _check_step(step)
    place = layout.normalize_dim("slice_scatter", dim, input.ndim)
    first, last = slice_bounds(input.shape[place], start, end)
    return _replaced(
        input, src, (builtins.slice(None),) * place + (builtins.slice(first, last, step),)
    )


def _replaced(input: Array, src: Array, where: Any) -> Array:  # noqa: ANN401  # a NumPy index
    result = np.array(input, order="C")
    if result[where].shape != src.shape:
        msg = f"scatter into a view: src has shape {src.shape}, the place for it {result[where].shape}"
        raise ShapeError(msg)
    result[where] = src
    return result


@slice_scatter.gradient("input")
def _slice_scatter_input(
    grad: Tensor, src: TensorMeta, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    zeros = tp.zeros(src.shape, dtype=src.dtype)
    return slice_scatter(grad, zeros, dim, start, end, step)


@slice_scatter.gradient("src")
def _slice_scatter_src(
    grad: Tensor, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    return slice(grad, dim, start, end, step)


@composite(method=True)
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` elements from `start` along a dimension."""
    place = layout.normalize_dim("narrow", dim, input.ndim)
    size = input.shape[place]
    first = start + size if start < 0 else start
    if first < 0 or length < 0 or first + length > size:
        msg = f"narrow: [{start}, {start + length}) leaves dimension {dim} of size {size}"
        raise IndexRangeError(msg)
    return slice(input, place, first, first + length)


def _selected(name: str, input: TensorMeta, dim: int, index: int) -> tuple[int, int]:
    if not input.ndim:
        msg = f"{name}: a 0-d tensor has no dimension to select from"
        raise DimensionError(msg)
    place = layout.normalize_dim(name, dim, input.ndim)
    size = input.shape[place]
    if not -size <= index < size:
        msg = f"index {index} is out of bounds for dimension {place} with size {size}"
        raise IndexRangeError(msg)
    return place, index + size if index < 0 else index


@declare_view(scatter="select_scatter")
def select(input: TensorMeta, dim: int, index: int) -> ViewMap:
    """One index of a dimension, which disappears."""
    place, where = _selected("select", input, dim, index)
    shape = [*input.shape[:place], *input.shape[place + 1 :]]
    return ViewMap(shape, lambda i: [*i[:place], where, *i[place:]])


def _select_pieces(input: TensorMeta, src: TensorMeta, dim: int, index: int) -> Pieces:
    place, where = _selected("select_scatter", input, dim, index)
    _check_src("select_scatter", src, [*input.shape[:place], *input.shape[place + 1 :]])
    inside = Piece(
        "src",
        lambda i: [Condition(i[place], where, where + 1)],
        lambda i: [*i[:place], *i[place + 1 :]],
    )
    return Pieces(input.shape, (inside, _rest("input")))


@index(meta=_like_base(_select_pieces), form=_select_pieces, method=True, linear=True)
def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """`input` with index `index` of `dim` replaced by `src`."""
    place = layout.normalize_dim("select_scatter", dim, input.ndim)
    return _replaced(input, src, (builtins.slice(None),) * place + (index,))


@select_scatter.gradient("input")
def _select_scatter_input(grad: Tensor, src: TensorMeta, dim: int, index: int) -> Tensor:
    return select_scatter(grad, tp.zeros(src.shape, dtype=src.dtype), dim, index)


@select_scatter.gradient("src")
def _select_scatter_src(grad: Tensor, dim: int, index: int) -> Tensor:
    return select(grad, dim, index)


@dataclass(frozen=True, slots=True)
class _Diagonal:
    """Where a diagonal lies: the two dimensions, its first element, its length."""

    dim1: int
    dim2: int
    row: int
    column: int
    length: int


def _diagonal_of(name: str, input: TensorMeta, offset: int, dim1: int, dim2: int) -> _Diagonal:
    a = layout.normalize_dim(name, dim1, input.ndim)
    b = layout.normalize_dim(name, dim2, input.ndim)
    if a == b or input.ndim < 2:
        msg = f"{name}: dim1 and dim2 must be two different dimensions, found {dim1} and {dim2} of {input.ndim}"
        raise DimensionError(msg)
    row, column = (0, offset) if offset >= 0 else (-offset, 0)
    length = min(input.shape[a] - row, input.shape[b] - column)
    return _Diagonal(a, b, row, column, max(0, length))


@declare_view(scatter="diagonal_scatter")
def diagonal(input: TensorMeta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> ViewMap:
    """The diagonal of two dimensions, as the last dimension."""
    found = _diagonal_of("diagonal", input, offset, dim1, dim2)
    kept = [k for k in range(input.ndim) if k not in {found.dim1, found.dim2}]
    row, column = (found.row, found.column) if found.length else (0, 0)

    def source(i: Sequence[Any]) -> Sequence[Any]:
        places = dict(zip(kept, i, strict=False))
        places[found.dim1] = i[-1] + row
        places[found.dim2] = i[-1] + column
        return [places[k] for k in range(input.ndim)]

    return ViewMap([*(input.shape[k] for k in kept), found.length], source)


def _diagonal_pieces(
    input: TensorMeta, src: TensorMeta, offset: int, dim1: int, dim2: int
) -> Pieces:
    found = _diagonal_of("diagonal_scatter", input, offset, dim1, dim2)
    kept = [k for k in range(input.ndim) if k not in {found.dim1, found.dim2}]
    _check_src("diagonal_scatter", src, [*(input.shape[k] for k in kept), found.length])

    def conditions(i: Indices) -> Sequence[Condition]:
        distance = i[found.dim2] - i[found.dim1]
        return [Condition(distance, offset, offset + 1)]

    inside = Piece("src", conditions, lambda i: [*(i[k] for k in kept), i[found.dim1] - found.row])
    return Pieces(input.shape, (inside, _rest("input")))


@index(meta=_like_base(_diagonal_pieces), form=_diagonal_pieces, method=True, linear=True)
def diagonal_scatter(
    input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """`input` with a diagonal replaced by `src`."""
    result = np.array(input, order="C")
    moved = np.moveaxis(result, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    row, column = (0, offset) if offset >= 0 else (-offset, 0)
    steps = np.arange(length)
    if (*moved.shape[:-2], length) != src.shape:
        msg = f"diagonal_scatter: src has shape {src.shape}, the diagonal {(*moved.shape[:-2], length)}"
        raise ShapeError(msg)
    moved[..., steps + row, steps + column] = src
    return result


@diagonal_scatter.gradient("input")
def _diagonal_scatter_input(
    grad: Tensor, src: TensorMeta, offset: int, dim1: int, dim2: int
) -> Tensor:
    zeros = tp.zeros(src.shape, dtype=src.dtype)
    return diagonal_scatter(grad, zeros, offset, dim1, dim2)


@diagonal_scatter.gradient("src")
def _diagonal_scatter_src(grad: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    return diagonal(grad, offset, dim1, dim2)


# ---- windows and raw strides ------------------------------------------------------------------------------------


@declare_view()
def unfold(input: TensorMeta, dimension: int, size: int, step: int) -> ViewMap:
    """Windows of `size` elements, `step` apart, along a dimension; the windows' elements are the last dimension."""
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


def _unfold_backward_meta(input: TensorMeta, input_sizes: Sequence[int], *_: object) -> TensorMeta:
    return TensorMeta(input_sizes, input.dtype, input.device)


def _sum_type(array: Array) -> Any:  # noqa: ANN401  # a NumPy dtype
    """Half types add up in float32."""
    return dtypes.from_numpy_dtype(array.dtype).compute.numpy


@structured(meta=_unfold_backward_meta, public=False, linear=True)
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
    """A view of the storage with these strides, from the element `storage_offset` of the storage (default: the tensor's)."""
    return _strided_source(input, size, stride, storage_offset)


def _offset_of(array: Array) -> int:
    return -_C.reach(array)[0]


@structured(meta=lambda input, *_: input.contiguous(), linear=True)
def as_strided_scatter(
    input: Array, src: Array, size: Size, stride: Size, storage_offset: int | None = None
) -> Array:
    """`input` with the elements of its strided view replaced by `src`."""
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
    np.add.at(memory, _C.view(numbers, tuple(size), tuple(stride), first - low), input)
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
    """Gather through the same map: lay the gradient out as the tensor was, then take the view."""
    low, high = layout.extent(sizes, strides, 0)
    memory = tp.zeros((high - low + 1,), dtype=grad.dtype)
    laid = as_strided_scatter(memory, grad, sizes, strides, -low)
    return as_strided(laid, size, stride, first - low)


# ---- copies by an index map ---------------------------------------------------------------------------------------


@declare_view(inverse=lambda input, dims: ("flip", (dims,)), copies=True)
def flip(input: TensorMeta, dims: Sizes) -> ViewMap:
    """The order of elements reversed along dimensions (a copy)."""
    turned = layout.normalize_dims("flip", dims, input.ndim)
    return ViewMap(
        input.shape,
        lambda i: [
            input.shape[k] - 1 - place if k in turned else place for k, place in enumerate(i)
        ],
    )


def _rolled(input: TensorMeta, shifts: Sequence[int], dims: Sequence[int]) -> dict[int, int]:
    places = layout.normalize_dims("roll", dims, input.ndim)
    if len(shifts) != len(places):
        msg = f"roll: {len(shifts)} shifts but {len(places)} dimensions"
        raise ArgumentValueError(msg)
    return dict(zip(places, shifts, strict=True))


@declare_view(
    inverse=lambda input, shifts, dims: ("roll", (tuple(-each for each in shifts), dims)),
    copies=True,
    name="roll_dims",
    method=False,
    public=False,
)
def roll_dims(input: TensorMeta, shifts: Size, dims: Size) -> ViewMap:
    """Elements moved by `shifts` along `dims`, those that leave coming back at the other end (a copy)."""
    moved = _rolled(input, shifts, dims)
    return ViewMap(
        input.shape,
        lambda i: [
            (place - moved[k]) % input.shape[k] if k in moved else place
            for k, place in enumerate(i)
        ],
    )


@composite(method=True)
def roll(input: Tensor, shifts: Size, dims: Dims = None) -> Tensor:
    """Elements moved along dimensions; without `dims`, in the flattened tensor."""
    if dims is None:
        return reshape(roll_dims(reshape(input, (-1,)), shifts, (0,)), input.shape)
    return roll_dims(input, shifts, dims)


@composite(method=True)
def repeat(input: Tensor, repeats: Sizes) -> Tensor:
    """The tensor laid side by side `repeats[k]` times along dimension `k`; leading dimensions may be added."""
    lead = len(repeats) - input.ndim
    if lead < 0:
        msg = f"repeat: {tuple(repeats)} has fewer entries than the tensor has dimensions ({input.ndim})"
        raise ShapeError(msg)
    shape = (1,) * lead + tuple(input.shape)
    apart = [size for pair in zip((1,) * len(shape), shape, strict=True) for size in pair]
    wide = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    merged = [count * size for count, size in zip(repeats, shape, strict=True)]
    return reshape(expand(reshape(input, apart), wide), merged)


@composite(method=True)
def tile(input: Tensor, dims: Sizes) -> Tensor:
    """As `repeat`, with missing leading counts taken as 1."""
    counts = (1,) * (input.ndim - len(dims)) + tuple(dims)
    return repeat(input, counts)


# ---- several parts --------------------------------------------------------------------------------------------------


@composite(method=True)
def unbind(input: Tensor, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """All slices along a dimension, without it."""
    place = layout.normalize_dim("unbind", dim, input.ndim)
    if not input.ndim:
        msg = "unbind: a 0-d tensor has no dimension"
        raise DimensionError(msg)
    return tuple(select(input, place, k) for k in range(input.shape[place]))


@composite(method=True)
def split(input: Tensor, split_size_or_sections: Size, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """Parts of one size (the last may be smaller), or of the sizes given."""
    place = layout.normalize_dim("split", dim, input.ndim)
    size = input.shape[place]
    sections = tuple(split_size_or_sections)
    if len(sections) == 1 and sections[0] != size:
        step = sections[0]
        if step <= 0:
            msg = f"split: the size of a part must be positive, found {step}"
            raise ArgumentValueError(msg)
        sections = tuple(min(step, size - start) for start in range(0, size, step)) or (0,)
    total = 0
    for each in sections:
        total = total + each
    if total != size:
        msg = f"split: sizes {sections} add up to {total}, dimension {dim} has {size}"
        raise ArgumentValueError(msg)
    parts: list[Tensor] = []
    start = 0
    for each in sections:
        parts.append(slice(input, place, start, start + each))
        start = start + each
    return tuple(parts)


@composite(method=True)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """At most `chunks` parts of equal size (the last may be smaller)."""
    if chunks <= 0:
        msg = f"chunk: the number of parts must be positive, found {chunks}"
        raise ArgumentValueError(msg)
    size = input.shape[layout.normalize_dim("chunk", dim, input.ndim)]
    step = (size + chunks - 1) // chunks
    return split(input, max(step, 1), dim)


# ---- samples ----------------------------------------------------------------------------------------------------------

_X = Arg((3, 4, 5))
_T = Arg((3, 4, 5), layout="transposed")


def _samples(*calls: tuple[object, ...]) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        for call in calls:
            yield sample(*call)

    return samples


@slice.sample
def _slice_samples() -> Iterator[Sample]:
    yield sample(_X, 1, 1, 3)
    yield sample(_T, 2, None, None, 2)
    yield sample(_X, 0, -2, 99)
    yield sample(_X, 0, 2, 1)
    yield bad(ArgumentValueError, "step must be positive", _X, 0, 0, 3, -1)


@slice_scatter.sample
def _slice_scatter_samples() -> Iterator[Sample]:
    yield sample(_X, Arg((3, 2, 5)), 1, 1, 3)
    yield sample(_T, Arg((3, 4, 3)), 2, None, None, 2)
    yield bad(ShapeError, "src has shape", _X, Arg((3, 3, 5)), 1, 1, 3)


@select.sample
def _select_samples() -> Iterator[Sample]:
    yield sample(_X, 1, 2)
    yield sample(_T, -1, -1)
    yield bad(IndexRangeError, "out of bounds", _X, 0, 3)
    yield bad(DimensionError, "0-d", Arg(()), 0, 0)


select_scatter.sample(_samples((_X, Arg((3, 5)), 1, 2), (_T, Arg((3, 4)), -1, -1)))
narrow.sample(_samples((_X, 1, 1, 2), (_X, -1, -2, 2)))
diagonal.sample(_samples((_X,), (_X, 1, 1, 2), (_X, -1, 2, 0), (Arg((2, 2)), 5)))
diagonal_scatter.sample(
    _samples((Arg((3, 4)), Arg((3,))), (Arg((3, 4)), Arg((2,)), -1), (_X, Arg((3, 4)), 1, 1, 2))
)
unfold.sample(_samples((_X, 2, 3, 2), (_X, 0, 2, 1), (Arg((7,)), 0, 3, 3)))
unfold_backward.sample(_samples((Arg((3, 4, 2, 3)), (3, 4, 5), 2, 3, 2)))
as_strided.sample(
    _samples((_X, (2, 3), (5, 1), 2), (_X, (4, 3), (1, 1)), (Arg((6,)), (2, 2), (3, 1)))
)
as_strided_scatter.sample(_samples((_X, Arg((2, 3)), (2, 3), (5, 1), 2)))
as_strided_backward.sample(_samples((Arg((4, 3)), (3, 4, 5), (20, 5, 1), (4, 3), (1, 1), 0)))
flip.sample(_samples((_X, (0,)), (_T, (1, -1)), (Arg((0, 2)), (0,))))
roll_dims.sample(_samples((_X, (1,), (2,)), (_X, (1, -2), (0, 1))))
roll.sample(_samples((_X, 1, 2), (_X, 7)))
repeat.sample(_samples((Arg((2, 3)), (2, 2)), (Arg((2, 3)), (2, 1, 3))))
tile.sample(_samples((Arg((2, 3)), (2,))))
unbind.sample(_samples((_X, 1)))
split.sample(_samples((_X, 2, 1), (_X, (1, 3), 1)))
chunk.sample(_samples((_X, 2, 2)))
