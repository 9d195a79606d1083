"""Tables of vectors, and random zeros: the layers that read by index and drop by chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import bool_, int32, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, IndexRangeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite()
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Look rows of ``weight`` (V, D) up: indices (*) give (*, D).

    Indices lie in [0, V): others raise an `IndexError`. The row ``padding_idx`` gets no gradient.
    """
    check_index("embedding", input.tensor_meta)
    if weight.ndim != 2:
        raise ShapeError(f"embedding: expected a table (V, D), got shape {tuple(weight.shape)}")
    rows = weight.index_select(0, input.reshape(-1))
    rows = rows.reshape((*input.shape, weight.shape[1]))
    if padding_idx is None or not weight.requires_grad:
        return rows
    padding = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
    return tp.where((input == padding).unsqueeze(-1), rows.detach(), rows)


@embedding.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3), int64, 0, 5), Arg((5, 4)))
    yield sample(Arg((3,), int32, values=[0, 2, 0]), Arg((3, 2), layout="transposed"))
    yield sample(Arg((), int64, values=[1]), Arg((3, 2)))
    yield sample(Arg((0,), int64), Arg((3, 2)))
    yield bad(IndexRangeError, "out of range", Arg((2,), int64, values=[0, -1]), Arg((3, 2)))
    yield bad(IndexRangeError, "out of range", Arg((2,), int64, values=[0, 3]), Arg((3, 2)))
    yield bad(DTypeError, "int64", Arg((2,)), Arg((3, 2)))
    yield bad(ShapeError, "a table", Arg((2,), int64, 0, 3), Arg((3,)))


@composite()
def one_hot(input: Tensor, num_classes: int) -> Tensor:
    """Turn classes (*) into int64 (*, num_classes) with a 1 at the class.

    Classes lie in [0, num_classes): others raise an `IndexError`.
    """
    check_index("one_hot", input.tensor_meta)
    zeros = tp.zeros((*input.shape, num_classes), dtype=int64)
    return zeros.scatter(-1, input.unsqueeze(-1), 1)


@one_hot.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3), int64, 0, 5), 5)
    yield sample(Arg((), int32, values=[2]), 3)
    yield sample(Arg((0, 2), int64), 3)
    yield bad(DTypeError, "int64", Arg((2,)), 3)
    yield bad(IndexRangeError, "index 3 is out of range", Arg((2,), int64, values=[0, 3]), 3)
    yield bad(IndexRangeError, "index -1 is out of range", Arg((2,), int64, values=[0, -1]), 3)


@composite()
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability ``p`` and divide the others by ``1 − p``.

    Without ``training`` the input itself. Gradients are zero exactly where the result was dropped.
    """
    if not 0.0 <= p <= 1.0:
        raise ArgumentValueError(f"dropout: the probability lies in [0, 1], got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return tp.where(tp.zeros((), dtype=bool_), input, 0.0)
    kept = tp.rand(input.shape) >= p
    return tp.where(kept, input * (1.0 / (1.0 - p)), 0.0)


@dropout.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.5, False)
    yield sample(Arg((3, 4)), 1.0)
    yield sample(Arg((3, 4)), 0.0)
    yield bad(ArgumentValueError, "probability", Arg((3, 4)), 1.5)
