"""Views: index maps, written as the indices of the tensor from the indices of the view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.errors import DimensionError, LayoutError, ShapeError
from tensorplay.ops import door
from tensorplay.ops.declare import composite
from tensorplay.ops.declare import view as declare_view
from tensorplay.ops.kinds.view import ViewMap, overlapping_write
from tensorplay.ops.library.conversion import contiguous
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, Size, Sizes

if TYPE_CHECKING:
    from tensorplay.core.meta import TensorMeta
    from tensorplay.tensor import Tensor

# `input` is the name of the tensor parameter everywhere

# ---- order of dimensions ------------------------------------------------------------------------------------


def _permute_inverse(input: TensorMeta, dims: Sequence[int]) -> tuple[str, tuple[object, ...]]:
    order = layout.normalize_dims("permute", dims, input.ndim)
    return "permute", (tuple(order.index(i) for i in range(input.ndim)),)


@declare_view(inverse=_permute_inverse)
def permute(input: TensorMeta, dims: Sizes) -> ViewMap:
    """Dimension `k` of the result is dimension `dims[k]` of the tensor.

    >>> import tensorplay as tp
    >>> tp.ones(2, 3, 4).permute(2, 0, 1).shape
    (4, 2, 3)
    """
    order = layout.normalize_dims("permute", dims, input.ndim) if input.ndim else tuple(dims)
    if len(order) != input.ndim:
        msg = f"permute: {tuple(dims)} names {len(order)} dimensions of a {input.ndim}-d tensor"
        raise DimensionError(msg)
    places = [order.index(i) for i in range(input.ndim)]
    return ViewMap([input.shape[i] for i in order], lambda i: [i[k] for k in places])


@declare_view(inverse=lambda input, dim0, dim1: ("transpose", (dim0, dim1)))
def transpose(input: TensorMeta, dim0: int, dim1: int) -> ViewMap:
    """Two dimensions exchanged.

    >>> import tensorplay as tp
    >>> tp.ones(2, 3, 4).transpose(0, 2).shape
    (4, 3, 2)
    """
    a = layout.normalize_dim("transpose", dim0, input.ndim)
    b = layout.normalize_dim("transpose", dim1, input.ndim)
    return _exchange(input, a, b)


def _exchange(input: TensorMeta, a: int, b: int) -> ViewMap:
    order = list(range(input.ndim))
    if order:
        order[a], order[b] = order[b], order[a]
    return ViewMap([input.shape[i] for i in order], lambda i: [i[k] for k in order])


@declare_view(inverse=lambda input: ("t", ()))
def t(input: TensorMeta) -> ViewMap:
    """The transpose of a matrix; tensors of fewer dimensions are unchanged.

    >>> import tensorplay as tp
    >>> tp.t(tp.tensor([[1, 2, 3], [4, 5, 6]]))
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    if input.ndim > 2:
        msg = f"t: expected at most 2 dimensions, found {input.ndim}; use transpose or permute"
        raise DimensionError(msg)
    return _exchange(input, 0, input.ndim - 1)


@composite(method=True)
def movedim(input: Tensor, source: Size, destination: Size) -> Tensor:
    """Dimensions `source` moved to the places `destination`, the others in order.

    >>> import tensorplay as tp
    >>> tp.movedim(tp.ones(2, 3, 4), 0, -1).shape
    (3, 4, 2)
    """
    start = layout.normalize_dims("movedim", source, input.ndim)
    end = layout.normalize_dims("movedim", destination, input.ndim)
    if len(start) != len(end):
        msg = f"movedim: {len(start)} sources but {len(end)} destinations"
        raise DimensionError(msg)
    rest = iter([i for i in range(input.ndim) if i not in start])
    order = [start[end.index(i)] if i in end else next(rest) for i in range(input.ndim)]
    return permute(input, order)


@composite(method=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged.

    >>> import tensorplay as tp
    >>> tp.swapaxes(tp.ones(2, 3, 4), 0, 2).shape
    (4, 3, 2)
    """
    return transpose(input, axis0, axis1)


# ---- sizes ------------------------------------------------------------------------------------------------------


def _reshaped(input: TensorMeta, shape: Sequence[int], strides: tuple[int, ...] | None) -> ViewMap:
    """The element with the same row-major number."""
    target = tuple(shape)
    inner = layout.contiguous_strides(target)
    source_inner = layout.contiguous_strides(input.shape)

    def source(i: Sequence[Any]) -> Sequence[Any]:
        number: Any = 0
        for place, stride in zip(i, inner, strict=True):
            number = number + place * stride
        found = []
        for k, (size, stride) in enumerate(zip(input.shape, source_inner, strict=True)):
            place = number // stride if stride != 1 else number
            found.append(place if k == 0 else place % size)
        return found

    return ViewMap(target, source, strides)


def _view_inverse(input: TensorMeta, *_: object) -> tuple[str, tuple[object, ...]]:
    return "reshape", (input.shape,)


@declare_view(inverse=_view_inverse)
def view(input: TensorMeta, size: Sizes) -> ViewMap:
    """The same elements in row-major order with another shape, sharing memory.

    Refused where strides do not allow it.

    >>> import tensorplay as tp
    >>> tp.arange(6).view(3, 2)
    tensor([[0, 1],
            [2, 3],
            [4, 5]])
    """
    shape = layout.infer_size("view", size, input.shape)
    strides = layout.reshape_strides(input.shape, input.strides, shape)
    if strides is None:
        msg = (
            f"view: size {shape} does not fit strides {input.strides} of shape {input.shape} without a copy; "
            "use .reshape(...)"
        )
        raise LayoutError(msg)
    return _reshaped(input, shape, strides)


@composite(method=True)
def reshape(input: Tensor, shape: Sizes) -> Tensor:
    """The same elements in row-major order with another shape.

    A view where strides allow it, else a copy.

    >>> import tensorplay as tp
    >>> tp.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    size = layout.infer_size("reshape", shape, input.shape)
    if (
        not input.is_contiguous()
        and layout.reshape_strides(input.shape, input.strides, size) is None
    ):
        input = contiguous(input)
    return door.call(view, (input, size))


@composite(method=True)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Reshaped to the shape of `other`.

    >>> import tensorplay as tp
    >>> tp.arange(4).reshape_as(tp.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshape(input, other.shape)


@composite(method=True)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view with the shape of `other`.

    >>> import tensorplay as tp
    >>> tp.arange(4).view_as(tp.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view(input, other.shape)


@composite(method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` merged into one.

    >>> import tensorplay as tp
    >>> tp.flatten(tp.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    >>> tp.ones(2, 3, 4).flatten(1).shape
    (2, 12)
    """
    if not input.ndim:
        return reshape(input, (1,))
    start = layout.normalize_dim("flatten", start_dim, input.ndim)
    end = layout.normalize_dim("flatten", end_dim, input.ndim)
    if end < start:
        msg = f"flatten: start_dim {start_dim} comes after end_dim {end_dim}"
        raise DimensionError(msg)
    shape = input.shape
    return reshape(input, (*shape[:start], layout.numel(shape[start : end + 1]), *shape[end + 1 :]))


@composite(method=True)
def unflatten(input: Tensor, dim: int, sizes: Size) -> Tensor:
    """One dimension cut into several.

    >>> import tensorplay as tp
    >>> tp.arange(6).unflatten(0, (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    place = layout.normalize_dim("unflatten", dim, input.ndim)
    shape = input.shape
    inner = layout.infer_size("unflatten", sizes, (shape[place],))
    return reshape(input, (*shape[:place], *inner, *shape[place + 1 :]))


@declare_view(inverse=lambda input, dim: ("squeeze", (dim if dim >= 0 else dim + input.ndim + 1,)))
def unsqueeze(input: TensorMeta, dim: int) -> ViewMap:
    """A dimension of size 1 inserted at `dim`.

    >>> import tensorplay as tp
    >>> tp.unsqueeze(tp.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    place = layout.normalize_dim("unsqueeze", dim, input.ndim + 1)
    shape = (*input.shape[:place], 1, *input.shape[place:])
    found = ViewMap(shape, lambda i: [*i[:place], *i[place + 1 :]])
    own = input.strides
    step = own[place] * input.shape[place] if place < input.ndim else 1
    return ViewMap(shape, found.source, (*own[:place], step, *own[place:]))


def _squeezed_dims(input: TensorMeta, dim: Sequence[int] | None) -> tuple[int, ...]:
    if dim is None:
        return tuple(i for i, size in enumerate(input.shape) if size == 1)
    named = layout.normalize_dims("squeeze", dim, input.ndim)
    return tuple(i for i in named if input.ndim and input.shape[i] == 1)


@declare_view(inverse=lambda input, dim: ("view", (input.shape,)))
def squeeze(input: TensorMeta, dim: Dims = None) -> ViewMap:
    """Dimensions of size 1 removed: those of `dim`, or all.

    >>> import tensorplay as tp
    >>> tp.ones(1, 2, 1).squeeze().shape
    (2,)
    >>> tp.ones(1, 2, 1).squeeze(0).shape
    (2, 1)
    """
    gone = _squeezed_dims(input, dim)  # type: ignore[arg-type]  # bound as a tuple

    def source(i: Sequence[Any]) -> Sequence[Any]:
        rest = iter(i)
        return [0 if k in gone else next(rest) for k in range(input.ndim)]

    return ViewMap([size for k, size in enumerate(input.shape) if k not in gone], source)


@declare_view(scatter="expand_scatter")
def expand(input: TensorMeta, size: Sizes) -> ViewMap:
    """Dimensions of size 1 stretched without a copy.

    -1 keeps a size, leading dimensions may be added.

    >>> import tensorplay as tp
    >>> tp.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    lead = len(size) - input.ndim
    if lead < 0:
        msg = f"expand: size {tuple(size)} has fewer dimensions than shape {input.shape}"
        raise ShapeError(msg)
    shape: list[int] = []
    for k, wanted in enumerate(size):
        own = input.shape[k - lead] if k >= lead else 1
        if wanted == -1 and k < lead:
            msg = f"expand: -1 in {tuple(size)} stands for a dimension that {input.shape} does not have"
            raise ShapeError(msg)
        if wanted not in (-1, own) and own != 1:
            msg = f"expand: size {own} of dimension {k - lead} of {input.shape} cannot become {wanted}; only sizes of 1 stretch"
            raise ShapeError(msg)
        shape.append(own if wanted == -1 else wanted)
    return ViewMap(
        shape,
        lambda i: [
            0 if own == 1 else place for own, place in zip(input.shape, i[lead:], strict=True)
        ],
    )


@composite(public=False)
def expand_scatter(input: Tensor, src: Tensor, size: Size) -> Tensor:
    """`input` replaced by `src`, which has as many elements (nothing was stretched) or none."""
    del size
    if src.numel() == 0:
        return input
    if src.numel() != input.numel():
        raise overlapping_write("expand")
    return src.reshape(input.shape)


@expand_scatter.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 1)), Arg((1, 3, 1)), (1, 3, 1))
    yield sample(Arg((3, 1)), Arg((3, 0)), (3, 0))
    yield bad(LayoutError, "expand: writing through this view", Arg((3, 1)), Arg((3, 2)), (3, 2))


@expand.gradient("input")
def _expand_gradient(grad: Tensor) -> Tensor:
    """The sum over stretched dimensions, which every gradient gets afterwards."""
    return grad


@composite(method=True)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of `other`.

    >>> import tensorplay as tp
    >>> tp.tensor([[1], [2]]).expand_as(tp.ones(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand(input, other.shape)


@composite(method=True)
def broadcast_to(input: Tensor, size: Sizes) -> Tensor:
    """Expanded to `size`.

    >>> import tensorplay as tp
    >>> tp.broadcast_to(tp.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, size)


# ---- the same elements ----------------------------------------------------------------------------------------------


@declare_view(inverse=lambda input, dim: ("reverse", (dim,)), method=False, public=False)
def reverse(input: TensorMeta, dim: int) -> ViewMap:
    """The order of elements along a dimension reversed, as a view: `x[::-1]`. `flip` copies."""
    place = layout.normalize_dim("reverse", dim, input.ndim)
    last = input.shape[place] - 1
    return ViewMap(
        input.shape, lambda i: [last - each if k == place else each for k, each in enumerate(i)]
    )


@declare_view(inverse=lambda input: ("alias", ()), method=False, public=False)
def alias(input: TensorMeta) -> ViewMap:
    """The same tensor as a view of itself."""
    return ViewMap(input.shape, lambda i: i)


@declare_view(
    inverse=lambda input: ("alias", ()), not_differentiable="it cuts the tensor off from autograd"
)
def detach(input: TensorMeta) -> ViewMap:
    """The same memory outside autograd.

    >>> import tensorplay as tp
    >>> x = tp.ones(2, requires_grad=True)
    >>> x.detach().requires_grad
    False
    """
    return ViewMap(input.shape, lambda i: i)


# ---- samples ----------------------------------------------------------------------------------------------------------


def _samples(*calls: tuple[object, ...]) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        for call in calls:
            yield sample(*call)

    return samples


_X = Arg((3, 4, 5))
_T = Arg((3, 4, 5), layout="transposed")


@permute.sample
def _permute_samples() -> Iterator[Sample]:
    yield sample(_X, (2, 0, 1))
    yield sample(_T, (-1, 0, 1))
    yield sample(Arg(()), ())
    yield bad(DimensionError, "names 2 dimensions", _X, (0, 1))
    yield bad(DimensionError, "twice", _X, (0, 0, 1))


@view.sample
def _view_samples() -> Iterator[Sample]:
    yield sample(_X, (12, 5))
    yield sample(_X, (3, -1))
    yield sample(Arg((4, 6)), (2, 2, 1, 6))
    yield sample(Arg((0, 4)), (2, 0))
    yield bad(ShapeError, "60", _X, (7, 9))
    yield bad(LayoutError, "reshape", _T, (60,))


@reshape.sample
def _reshape_samples() -> Iterator[Sample]:
    yield sample(_X, (12, 5))
    yield sample(_T, (60,))
    yield sample(Arg(()), (1, 1))
    yield bad(ShapeError, "ambiguous", Arg((0, 4)), (0, -1))


@expand.sample
def _expand_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 1)), (3, 4))
    yield sample(Arg((3, 1)), (2, -1, 4))
    yield sample(Arg(()), (2, 3))
    yield sample(Arg((1,)), (0,))
    yield bad(ShapeError, "only sizes of 1", Arg((3,)), (4,))


transpose.sample(_samples((_X, 0, 2), (_T, -1, 1), (Arg(()), 0, 0)))
t.sample(_samples((Arg((3, 4)),), (Arg((3,)),), (Arg(()),)))
movedim.sample(_samples((_X, 0, 2), (_X, (0, 1), (2, 0))))
swapaxes.sample(_samples((_X, 0, 1)))
reshape_as.sample(_samples((_X, Arg((5, 12)))))
view_as.sample(_samples((_X, Arg((5, 12)))))
flatten.sample(_samples((_X,), (_T,), (_X, 1), (Arg(()),)))
unflatten.sample(_samples((_X, 1, (2, -1))))
unsqueeze.sample(_samples((_X, 0), (_X, -1), (_T, 1), (Arg(()), 0)))
squeeze.sample(
    _samples(
        (Arg((1, 3, 1)),), (Arg((1, 3, 1)), 0), (Arg((1, 3, 1)), (0, 2)), (_X, 1), (Arg(()), 0)
    )
)
expand_as.sample(_samples((Arg((1, 4)), Arg((3, 4)))))
broadcast_to.sample(_samples((Arg((1, 4)), (3, 4))))
alias.sample(_samples((_X,)))
reverse.sample(_samples((_X, 0), (Arg((3, 4, 5), layout="transposed"), -1), (Arg((0, 2)), 0)))
detach.sample(_samples((_X,)))
