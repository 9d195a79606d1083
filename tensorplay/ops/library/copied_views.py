"""Views as copies: `permute_copy` is `permute` in memory of its own, and so on for each view.

One rule makes them: the view, then a copy in row-major order. Beside them the sums and parts that
are views with a check: `sum_to_size`, `narrow_copy`, `split_with_sizes`, `ravel`.

>>> import tensorplay as tp
>>> tp.transpose_copy(tp.tensor([[1, 2], [3, 4]]), 0, 1)
tensor([[1, 3],
        [2, 4]])
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops import door
from tensorplay.ops.declare import composite
from tensorplay.ops.examples import with_example
from tensorplay.ops.library import parts, strided, views
from tensorplay.ops.library.conversion import contiguous_copy
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size, Sizes

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _copy_of(view: Operator, values: str, found: str) -> Operator:
    """The operator `<view>_copy` of a view; its example gives `found` for `values`."""

    def declared(*values: Any) -> Tensor:  # noqa: ANN401  # the view's arguments
        found: Tensor = door.call(view, values)
        return contiguous_copy(found)

    declared.__name__ = f"{view.name}_copy"
    about, _, _ = inspect.cleandoc(view.doc).partition(">>>")
    declared.__doc__ = with_example(
        f"`{view.name}` as a copy: {about.rstrip()}", f"{view.name}_copy({values}).tolist()", found
    )
    parameters = list(inspect.signature(view.function).parameters.values())
    declared.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by `signature_of`
    operator = composite()(declared)
    assert view.samples is not None  # noqa: S101  # declared beside the view
    operator.sample(view.samples)
    return operator


for _view, _values, _found in (
    (views.alias, "tp.tensor([1, 2])", "[1, 2]"),
    (strided.as_strided, "tp.arange(6), (2, 2), (3, 1)", "[[0, 1], [3, 4]]"),
    (parts.diagonal, "tp.tensor([[1, 2], [3, 4]])", "[1, 4]"),
    (views.expand, "tp.tensor([[1], [2]]), (2, 3)", "[[1, 1, 1], [2, 2, 2]]"),
    (views.permute, "tp.tensor([[1, 2], [3, 4]]), (1, 0)", "[[1, 3], [2, 4]]"),
    (parts.select, "tp.tensor([[1, 2], [3, 4]]), 1, 0", "[1, 3]"),
    (parts.slice, "tp.arange(5), 0, 1, 4", "[1, 2, 3]"),
    (views.squeeze, "tp.tensor([[1, 2]])", "[1, 2]"),
    (views.t, "tp.tensor([[1, 2], [3, 4]])", "[[1, 3], [2, 4]]"),
    (views.transpose, "tp.tensor([[1, 2], [3, 4]]), 0, 1", "[[1, 3], [2, 4]]"),
    (strided.unfold, "tp.arange(5), 0, 3, 2", "[[0, 1, 2], [2, 3, 4]]"),
    (views.unsqueeze, "tp.tensor([1, 2]), 1", "[[1], [2]]"),
    (views.view, "tp.arange(4), (2, 2)", "[[0, 1], [2, 3]]"),
):
    _copy_of(_view, _values, _found)


@composite(method=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow` as a copy: `length` elements along `dim` from `start` on.

    >>> import tensorplay as tp
    >>> tp.narrow_copy(tp.tensor([1, 2, 3]), 0, 1, 2)
    tensor([2, 3])
    """
    return contiguous_copy(input.narrow(dim, start, length))


@composite(method=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in row-major order as a vector: a view where strides allow it, else a copy.

    >>> import tensorplay as tp
    >>> tp.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """
    return input.reshape(-1)


@composite(method=True, public=False)
def sum_to_size(input: Tensor, size: Sizes) -> Tensor:
    """The sum over dimensions that broadcasting `size` to the tensor's shape would stretch.

    The size must broadcast to the shape (`ShapeError`). Sums of bools and integers are int64.

    >>> import tensorplay as tp
    >>> tp.ones(2, 3).sum_to_size(2, 1)
    tensor([[3.],
            [3.]])
    """
    lead = input.ndim - len(size)
    fits = lead >= 0 and all(
        wanted in {1, own} for own, wanted in zip(input.shape[lead:], size, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"sum_to_size: size {tuple(size)} does not broadcast to the shape {tuple(input.shape)}"
        )
    added = [k for k in range(input.ndim) if k < lead or (size[k - lead] == 1 != input.shape[k])]
    if not added:
        return input.sum() if not input.ndim else input
    return input.sum(added, keepdim=True).reshape(size)


@composite(method=True)
def split_with_sizes(input: Tensor, split_sizes: Size, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """Views of parts of the given sizes along `dim`, which they must fill (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.split_with_sizes(tp.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    place = layout.normalize_dim("split_with_sizes", dim, input.ndim)
    sizes = tuple(split_sizes)
    if any(each < 0 for each in sizes) or sum(sizes) != input.shape[place]:
        raise ArgumentValueError(
            f"split_with_sizes: sizes {sizes} do not fill dimension {dim} of {input.shape[place]} elements"
        )
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(input.narrow(place, a, n) for a, n in zip(starts, sizes, strict=True))


def _independent(name: str, of: Operator, sizes: str, found: str) -> Operator:
    """PyTorch's `unsafe_…`: parts that are no views of one another; here each is a copy.

    Its example cuts 0, 1, 2 into parts.
    """

    def declared(*values: Any) -> Any:  # noqa: ANN401  # as the operator
        return tuple(contiguous_copy(each) for each in door.call(of, values))

    declared.__name__ = name
    declared.__doc__ = with_example(
        f"As `{of.name}`, with each part a copy that may be written to alone.",
        f"{name}(tp.arange(3), {sizes})", found,
    )  # fmt: skip
    declared.__signature__ = inspect.signature(of.function)  # type: ignore[attr-defined]  # read by `signature_of`
    operator = composite(method=True)(declared)
    assert of.samples is not None  # noqa: S101  # declared beside it
    operator.sample(of.samples)
    return operator


@narrow_copy.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1, 1, 2)
    yield sample(Arg((3, 4), layout="transposed"), 0, -2, 2)


@ravel.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), layout="transposed"))
    yield sample(Arg(()))


@sum_to_size.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), (3, 1))
    yield sample(Arg((3, 4), layout="transposed"), (3, 4))
    yield sample(Arg((2, 3)), ())
    yield bad(ShapeError, "does not broadcast", Arg((2, 3)), (2,))
    yield bad(ShapeError, "does not broadcast", Arg((3,)), (1, 3))


@split_with_sizes.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((5, 2)), (2, 0, 3))
    yield sample(Arg((3, 4), layout="transposed"), (1, 3), -1)
    yield bad(ArgumentValueError, "do not fill", Arg((5,)), (2, 2))


for _name, _of, _sizes, _parts in (
    ("unsafe_split", parts.split, "2", "(tensor([0, 1]), tensor([2]))"),
    ("unsafe_chunk", parts.chunk, "2", "(tensor([0, 1]), tensor([2]))"),
    ("unsafe_split_with_sizes", split_with_sizes, "(1, 2)", "(tensor([0]), tensor([1, 2]))"),
):
    _independent(_name, _of, _sizes, _parts)
