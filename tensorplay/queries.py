"""Questions about tensors whose answers are Python values, and two that arrange several tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.core import dtypes, layout
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.core.dtypes import DType, Number


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: `|input - other| <= atol + rtol * |other|`."""
    return bool(tp.isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Tensor, other: Tensor) -> bool:  # PyTorch's name
    """Whether two tensors have one shape and equal elements."""
    return input.shape == other.shape and bool(tp.eq(input, other).all())


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor is not zero."""
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return input.shape == other.shape


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point type."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative values."""
    return input.is_signed()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in `inference_mode`, so that autograd may not keep it."""
    return input.is_inference()


def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is pending: never, conjugates are computed at once."""
    del input
    return False


def is_neg(input: Tensor) -> bool:
    """Whether a negation is pending: never, negatives are computed at once."""
    del input
    return False


def numel(input: Tensor) -> int:  # PyTorch's name
    """The number of elements."""
    return input.numel()


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The common shape to which shapes broadcast; a number is a shape of one dimension."""
    found = [(each,) if isinstance(each, int) else each for each in shapes]
    return layout.broadcast_shapes("broadcast_shapes", found)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    shape = layout.broadcast_shapes("broadcast_tensors", [each.shape for each in tensors])
    return tuple(tp.expand(each, shape) for each in tensors)


def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """The sum of products that `equation` describes; operands one by one or in one sequence.

    See `tensorplay.ops.tp.einsum` for the notation.
    """
    first = operands[0] if len(operands) == 1 else operands
    given = operands if isinstance(first, Tensor) else first
    result: Tensor = tp.einsum(equation, given)
    return result


def result_type(input: Tensor | Number, other: Tensor | Number) -> DType:
    """The dtype of an arithmetic operator's result."""
    dimensioned: list[DType] = []
    zero_dim: list[DType] = []
    numbers: list[DType] = []
    for each in (input, other):
        if isinstance(each, Tensor):
            (dimensioned if each.ndim else zero_dim).append(each.dtype)
        else:
            numbers.append(dtypes.dtype_of_number(each))
    return dtypes.result_type(dimensioned, zero_dim, numbers)


def can_cast(source: DType, target: DType) -> bool:
    """Whether a conversion keeps the category: no float to integer, no number to bool."""
    rank = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    return rank[source.kind] <= rank[target.kind] and not (
        source.kind == "i" and target.kind == "u"
    )


AS_METHODS = (allclose, equal, is_conj, is_neg, is_nonzero, is_same_size)
"""The questions that are methods of the first tensor too."""
