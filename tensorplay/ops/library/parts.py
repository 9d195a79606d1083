"""Views of parts: slices, single indices, diagonals, windows, raw strides.

And the scatters that undo them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DimensionError,
    IndexRangeError,
    ShapeError,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import along
from tensorplay.ops.declare import composite, index
from tensorplay.ops.declare import view as declare_view
from tensorplay.ops.kinds.index import Condition, Indices, Piece, Pieces
from tensorplay.ops.kinds.view import ViewMap
from tensorplay.ops.library.conversion import contiguous_copy
from tensorplay.ops.library.views import expand, reshape, view
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, Size, Sizes, is_tensor

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


@index(
    meta=_like_base(_slice_pieces),
    form=_slice_pieces,
    method=True,
    linear=True,
    batching=along("dim", same_rank=False),
)
def slice_scatter(
    input: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """`input` with the elements `start:end:step` along `dim` replaced by `src`.

    >>> import tensorplay as tp
    >>> tp.slice_scatter(tp.zeros(4), tp.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
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
    """`length` elements from `start` along a dimension.

    >>> import tensorplay as tp
    >>> tp.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    place = layout.normalize_dim("narrow", dim, input.ndim)
    size = input.shape[place]
    if is_tensor(start):
        tensor: Any = start
        if tensor.ndim or not tensor.dtype.is_integral:
            msg = (
                f"narrow: start must be an integer or a 0-d integer tensor, found {tensor.dtype} of shape "
                f"{tuple(tensor.shape)}"
            )
            raise ArgumentError(msg)
        start = int(tensor)
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
    """One index of a dimension, which disappears.

    >>> import tensorplay as tp
    >>> tp.select(tp.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
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


@index(
    meta=_like_base(_select_pieces),
    form=_select_pieces,
    method=True,
    linear=True,
    batching=along("dim", same_rank=False),
)
def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """`input` with index `index` of `dim` replaced by `src`.

    >>> import tensorplay as tp
    >>> tp.select_scatter(tp.zeros(2, 3), tp.ones(3), 0, 1)
    tensor([[0., 0., 0.],
            [1., 1., 1.]])
    """
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
    """The diagonal of two dimensions, as the last dimension.

    >>> import tensorplay as tp
    >>> tp.diagonal(tp.tensor([[1, 2, 3], [4, 5, 6]]))
    tensor([1, 5])
    >>> tp.diagonal(tp.tensor([[1, 2, 3], [4, 5, 6]]), 1)
    tensor([2, 6])
    """
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


@index(
    meta=_like_base(_diagonal_pieces),
    form=_diagonal_pieces,
    method=True,
    linear=True,
    batching=along("dim1", "dim2", same_rank=False),
)
def diagonal_scatter(
    input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """`input` with a diagonal replaced by `src`.

    >>> import tensorplay as tp
    >>> tp.diagonal_scatter(tp.zeros(2, 3), tp.tensor([1.0, 2.0]), 1)
    tensor([[0., 1., 0.],
            [0., 0., 2.]])
    """
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


# ---- copies by an index map ---------------------------------------------------------------------------------------


@declare_view(inverse=lambda input, dims: ("flip", (dims,)), copies=True)
def flip(input: TensorMeta, dims: Sizes) -> ViewMap:
    """The order of elements reversed along dimensions (a copy).

    >>> import tensorplay as tp
    >>> tp.flip(tp.tensor([[1, 2], [3, 4]]), (0,))
    tensor([[3, 4],
            [1, 2]])
    """
    turned = layout.normalize_dims("flip", dims, input.ndim)
    return ViewMap(
        input.shape,
        lambda i: [
            input.shape[k] - 1 - place if k in turned else place for k, place in enumerate(i)
        ],
    )


def _rolled(input: TensorMeta, shifts: Sequence[int], dims: Sequence[int]) -> dict[int, int]:
    places = layout.normalize_dims("roll", dims, input.ndim)
    if places and not input.ndim:
        msg = f"roll: a 0-d tensor has no dimension {dims[0]}"
        raise DimensionError(msg)
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
    """Elements moved along dimensions; without `dims`, in the flattened tensor.

    >>> import tensorplay as tp
    >>> tp.roll(tp.tensor([1, 2, 3, 4]), 1)
    tensor([4, 1, 2, 3])
    """
    if dims is None:
        return reshape(roll_dims(reshape(input, (-1,)), shifts, (0,)), input.shape)
    return roll_dims(input, shifts, dims)


@composite(method=True)
def repeat(input: Tensor, repeats: Sizes) -> Tensor:
    """The tensor laid side by side `repeats[k]` times along dimension `k`.

    Leading dimensions may be added.

    >>> import tensorplay as tp
    >>> tp.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    lead = len(repeats) - input.ndim
    if lead < 0:
        msg = f"repeat: {tuple(repeats)} has fewer entries than the tensor has dimensions ({input.ndim})"
        raise ShapeError(msg)
    shape = (1,) * lead + tuple(input.shape)
    apart = [size for pair in zip((1,) * len(shape), shape, strict=True) for size in pair]
    wide = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    merged = [count * size for count, size in zip(repeats, shape, strict=True)]
    return view(contiguous_copy(expand(reshape(input, apart), wide)), merged)


@composite(method=True)
def tile(input: Tensor, dims: Sizes) -> Tensor:
    """As `repeat`, with missing leading counts taken as 1.

    >>> import tensorplay as tp
    >>> tp.tile(tp.tensor([[1, 2], [3, 4]]), (2,))
    tensor([[1, 2, 1, 2],
            [3, 4, 3, 4]])
    """
    counts = (1,) * (input.ndim - len(dims)) + tuple(dims)
    return repeat(input, counts)


# ---- several parts --------------------------------------------------------------------------------------------------


@composite(method=True)
def unbind(input: Tensor, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """All slices along a dimension, without it.

    >>> import tensorplay as tp
    >>> tp.unbind(tp.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    place = layout.normalize_dim("unbind", dim, input.ndim)
    if not input.ndim:
        msg = "unbind: a 0-d tensor has no dimension"
        raise DimensionError(msg)
    return tuple(select(input, place, k) for k in range(input.shape[place]))


@composite(method=True)
def split(input: Tensor, split_size_or_sections: Size, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """Parts of one size (the last may be smaller), or of the sizes given.

    >>> import tensorplay as tp
    >>> tp.split(tp.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> tp.split(tp.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """
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
    """At most `chunks` parts of equal size (the last may be smaller).

    >>> import tensorplay as tp
    >>> tp.chunk(tp.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
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
flip.sample(_samples((_X, (0,)), (_T, (1, -1)), (Arg((0, 2)), (0,))))
roll_dims.sample(_samples((_X, (1,), (2,)), (_X, (1, -2), (0, 1))))
roll.sample(_samples((_X, 1, 2), (_X, 7), (Arg(()), 3)))


@roll.sample
def _() -> Iterator[Sample]:
    yield bad(DimensionError, "0-d tensor", Arg(()), 1, 0)


repeat.sample(_samples((Arg((2, 3)), (2, 2)), (Arg((2, 3)), (2, 1, 3))))
tile.sample(_samples((Arg((2, 3)), (2,))))
unbind.sample(_samples((_X, 1)))
split.sample(_samples((_X, 2, 1), (_X, (1, 3), 1)))
chunk.sample(_samples((_X, 2, 2)))
