"""Parts of a tensor as tensors of their own: `unbind_copy`, `split_with_sizes_copy`.

In: a tensor and how it falls apart. Out: a tuple of contiguous tensors that share no memory with it. Unlike those of the
views `unbind` and `split`, their gradients come back together, as one `cat`: a loop over n parts costs a backward pass of n
parts, where n views would each pad their gradient to the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.errors import ArgumentValueError, DimensionError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.joining import cat, stack
from tensorplay.ops.library.parts import split, unbind
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.core.meta import TensorMeta
    from tensorplay.tensor import Tensor


@composite()
def unbind_copy(input: Tensor, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """All slices along a dimension, without it, each a new tensor.

    >>> import tensorplay as tp
    >>> tp.unbind_copy(tp.tensor([[1, 2], [3, 4]]), 1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    return tuple(part.clone() for part in unbind(input, dim))


@unbind_copy.gradient("input")
def _(grads: Sequence[Tensor | None], input: TensorMeta, dim: int) -> Tensor:
    place = layout.normalize_dim("unbind_copy", dim, input.ndim)
    shape = [size for d, size in enumerate(input.shape) if d != place]
    if not grads:
        return tp.zeros(input.shape, dtype=input.dtype, device=input.device)
    return stack([_present(grad, shape, input) for grad in grads], place)


@composite()
def split_with_sizes_copy(input: Tensor, split_sizes: Size, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """Parts of the sizes given along a dimension, each a new tensor. The sizes add up to the dimension's.

    >>> import tensorplay as tp
    >>> tp.split_with_sizes_copy(tp.tensor([1, 2, 3]), (1, 2))
    (tensor([1]), tensor([2, 3]))
    """
    place = layout.normalize_dim("split_with_sizes_copy", dim, input.ndim)
    sizes = tuple(split_sizes)
    if any(size < 0 for size in sizes) or sum(sizes) != input.shape[place]:
        raise ArgumentValueError(
            f"split_with_sizes_copy: sizes {sizes} are at least 0 and add up to dimension {dim}, "
            f"which has {input.shape[place]}"
        )
    return tuple(part.clone() for part in split(input, sizes, place)) if sizes else ()


@split_with_sizes_copy.gradient("input")
def _(
    grads: Sequence[Tensor | None], input: TensorMeta, split_sizes: Sequence[int], dim: int
) -> Tensor:
    place = layout.normalize_dim("split_with_sizes_copy", dim, input.ndim)
    if not grads:
        return tp.zeros(input.shape, dtype=input.dtype, device=input.device)
    shapes = (
        [size if d == place else other for d, other in enumerate(input.shape)]
        for size in split_sizes
    )
    parts = [_present(grad, shape, input) for grad, shape in zip(grads, shapes, strict=True)]
    return cat(parts, place)


def _present(grad: Tensor | None, shape: Sequence[int], like: TensorMeta) -> Tensor:
    """The gradient of a part, zeros where nothing reads it."""
    return tp.zeros(shape, dtype=like.dtype, device=like.device) if grad is None else grad


@unbind_copy.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((2, 3, 4), layout="transposed"), -1)
    yield sample(Arg((10, 2)), 0)
    yield bad(DimensionError, "0-d", Arg(()))
    yield bad(DimensionError, "unbind", Arg((2, 3)), 2)


@split_with_sizes_copy.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((5, 4)), (1, 0, 4))
    yield sample(Arg((2, 6), layout="strided"), (2, 2, 2), 1)
    yield sample(Arg((3, 2)), (3,))
    yield bad(ArgumentValueError, "add up", Arg((5,)), (2, 2))
    yield bad(ArgumentValueError, "at least 0", Arg((5,)), (-1, 6))
    yield bad(DimensionError, "split", Arg((2, 3)), (1, 1), 2)
