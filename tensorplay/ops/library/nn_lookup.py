"""Tables of vectors: rows by index, sums of them, and classes as rows of zeros with a one.

>>> import tensorplay as tp
>>> table = tp.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
>>> tp.embedding_bag(tp.tensor([0, 2, 1]), table, tp.tensor([0, 2]), mode="sum")
tensor([[4., 6.],
        [2., 3.]])
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import int32, int64
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DataNeededError,
    DTypeError,
    IndexRangeError,
    ShapeError,
)
from tensorplay.ops.declare import composite
from tensorplay.ops.library.gathering import check_index
from tensorplay.ops.library.linalg_norms import linalg_vector_norm
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


@composite(public=False)
def gradient_scaled(input: Tensor, scale: Tensor) -> Tensor:
    """`input` itself; its derivative is defined as `scale`, which broadcasts."""
    del scale
    return input.clone()


@gradient_scaled.gradient("input")
def _(grad: Tensor, scale: Tensor) -> Tensor:
    return grad * scale


@gradient_scaled.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, result
    scale: Tensor = values[1]  # type: ignore[assignment]  # a tensor parameter
    return None if tangents[0] is None else tangents[0] * scale


@gradient_scaled.sample
def _() -> Iterator[Sample]:
    # other scales are no derivative that finite differences could find
    yield sample(Arg((2, 3)), Arg((2, 1), int64, values=[1, 1]))


def _check_table(name: str, input: Tensor, weight: Tensor, sparse: bool) -> None:
    check_index(name, input.tensor_meta)
    if weight.ndim != 2:
        raise ShapeError(f"{name}: expected a table (V, D), got shape {tuple(weight.shape)}")
    if sparse:
        raise ArgumentValueError(
            f"{name}: there are no sparse tensors here; with sparse=False the gradient is dense"
        )


def _padding(name: str, padding_idx: int | None, weight: Tensor) -> int | None:
    count = weight.shape[0]
    if padding_idx is None:
        return None
    if not -count <= padding_idx < count:
        raise ArgumentValueError(
            f"{name}: padding_idx={padding_idx} is no row of a table of {count}"
        )
    return padding_idx + count if padding_idx < 0 else padding_idx


def _limit_norms(places: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows at ``places`` down to ``max_norm``, in the table itself."""
    held = weight.detach()
    rows = held.index_select(0, places)
    norms = linalg_vector_norm(rows, norm_type, 1, True)
    limited = tp.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
    held.index_copy_(0, places, limited)


def _rows(places: Tensor, weight: Tensor, padding: int | None, scale_grad_by_freq: bool) -> Tensor:
    """Return the rows at ``places`` (N), (N, D), with the gradients that an embedding has."""
    rows = weight.index_select(0, places)
    if not weight.requires_grad:
        return rows
    if scale_grad_by_freq:
        zeros = tp.zeros((weight.shape[0],), dtype=int64, device=weight.device)
        counts = zeros.scatter_add(0, places.to(int64), tp.ones_like(places, dtype=int64))
        shares = counts.index_select(0, places).to(weight.dtype).reciprocal()
        rows = gradient_scaled(rows, shares.unsqueeze(1))
    if padding is not None:
        rows = tp.where((places == padding).unsqueeze(-1), rows.detach(), rows)
    return rows


@composite()
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look rows of ``weight`` (V, D) up: indices (*) give (*, D).

    Indices lie in [0, V): others raise an `IndexError`. The row ``padding_idx`` gets no gradient.
    Rows that are looked up and whose ``norm_type``-norm exceeds ``max_norm`` are scaled down to it in
    ``weight`` itself. With ``scale_grad_by_freq`` the gradient of a row is divided by the number of
    times that it was looked up. Sparse gradients are refused.

    >>> import tensorplay as tp
    >>> tp.embedding(tp.tensor([2, 0]), tp.tensor([[1.0], [2.0], [3.0]]))
    tensor([[3.],
            [1.]])
    """
    _check_table("embedding", input, weight, sparse)
    padding = _padding("embedding", padding_idx, weight)
    places = input.reshape(-1)
    if max_norm is not None:
        _limit_norms(places, weight, max_norm, norm_type)
    rows = _rows(places, weight, padding, scale_grad_by_freq)
    return rows.reshape((*input.shape, weight.shape[1]))


@embedding.sample
def _() -> Iterator[Sample]:
    table = Arg((3, 2))
    yield sample(Arg((2, 3), int64, 0, 5), Arg((5, 4)))
    yield sample(Arg((3,), int32, values=[0, 2, 0]), Arg((3, 2), layout="transposed"))
    yield sample(Arg((), int64, values=[1]), table)
    yield sample(Arg((0,), int64), table)
    yield sample(Arg((2,), int64, 0, 3), table, max_norm=100.0)
    yield bad(IndexRangeError, "out of range", Arg((2,), int64, values=[0, -1]), table)
    yield bad(IndexRangeError, "out of range", Arg((2,), int64, values=[0, 3]), table)
    yield bad(DTypeError, "int64", Arg((2,)), table)
    yield bad(ShapeError, "a table", Arg((2,), int64, 0, 3), Arg((3,)))
    yield bad(ArgumentValueError, "no row", Arg((2,), int64, 0, 3), table, 3)
    yield bad(ArgumentValueError, "sparse", Arg((2,), int64, 0, 3), table, sparse=True)


# ---- bags -----------------------------------------------------------------------------------------------


@composite()
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Reduce the rows of each bag of indices: "sum", "mean" or "max"; an empty bag gives zeros.

    Bags are the rows of ``input`` (B, N), or the parts of ``input`` (N) that begin at ``offsets`` (B);
    with ``include_last_offset`` the last offset is the end. ``per_sample_weights``, of the input's
    shape, multiply the rows of a sum. Entries equal to ``padding_idx`` count nothing. The other
    arguments are those of `embedding`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.embedding_bag(tp.tensor([[0, 2]]), tp.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    tensor([[3., 4.]])
    """
    _check_table("embedding_bag", input, weight, sparse)
    _check_bags(input, offsets, mode, per_sample_weights)
    padding = _padding("embedding_bag", padding_idx, weight)
    places = input.reshape(-1)
    if max_norm is not None:
        _limit_norms(places, weight, max_norm, norm_type)
    rows = _rows(places, weight, padding, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    counted = None if padding is None else places != padding
    if offsets is None:
        return _reduce_rows(rows, counted, input.shape, mode)
    bags, count = _bag_numbers(places, offsets, include_last_offset)
    return _reduce_bags(rows, counted, bags, count, mode)


def _check_bags(
    input: Tensor, offsets: Tensor | None, mode: str, per_sample_weights: Tensor | None
) -> None:
    name = "embedding_bag"
    if mode not in {"sum", "mean", "max"}:
        raise ArgumentValueError(f"{name}: mode is 'sum', 'mean' or 'max', not {mode!r}")
    if input.ndim == 2 and offsets is not None:
        raise ArgumentError(f"{name}: the rows of a 2-d input are the bags; leave offsets out")
    if input.ndim == 1 and offsets is None:
        raise ArgumentError(f"{name}: a 1-d input needs offsets, the places where bags begin")
    if input.ndim not in {1, 2}:
        raise ShapeError(f"{name}: input is (N) or (B, N), got shape {tuple(input.shape)}")
    if offsets is not None:
        check_index(name, offsets.tensor_meta)
        if offsets.ndim != 1:
            raise ShapeError(f"{name}: offsets are (B), got shape {tuple(offsets.shape)}")
    if per_sample_weights is None:
        return
    if mode != "sum":
        raise ArgumentValueError(f"{name}: per_sample_weights need mode='sum', not {mode!r}")
    if per_sample_weights.shape != input.shape:
        raise ShapeError(
            f"{name}: per_sample_weights have shape {tuple(per_sample_weights.shape)}, input "
            f"{tuple(input.shape)}"
        )


def _reduce_rows(rows: Tensor, counted: Tensor | None, shape: Sequence[int], mode: str) -> Tensor:
    """Reduce bags of one size."""
    bags = rows.reshape((*shape, rows.shape[1]))
    if counted is None:
        if mode == "sum" or shape[1] == 0:
            return bags.sum(1)
        return bags.mean(1) if mode == "mean" else bags.amax(1)
    kept = counted.reshape((*shape, 1))
    if mode == "max":
        top = tp.where(kept, bags, -math.inf).amax(1)
        return tp.where(kept.any(1), top, 0.0)
    total = tp.where(kept, bags, 0.0).sum(1)
    return total / kept.sum(1).clamp(min=1) if mode == "mean" else total


def _bag_numbers(places: Tensor, offsets: Tensor, include_last_offset: bool) -> tuple[Tensor, int]:
    """Return the bag of each entry, and the number of bags."""
    count = offsets.shape[0] - (1 if include_last_offset else 0)
    if count < 0:
        raise ShapeError("embedding_bag: include_last_offset needs at least one offset")
    _check_offsets(offsets, places.shape[0])
    begins = offsets[:count].to(int64)
    zeros = tp.zeros((places.shape[0] + 1,), dtype=int64, device=places.device)
    marks = zeros.scatter_add(0, begins, tp.ones_like(begins))
    return marks[: places.shape[0]].cumsum(0) - 1, count


def _check_offsets(offsets: Tensor, length: int) -> None:
    """Check what only data can tell, where there is data."""
    held = offsets.detach()
    if held.array is None or held.shape[0] == 0:
        return
    first, last = int(held[0].item()), int(held[-1].item())
    if first != 0:
        raise ArgumentValueError(f"embedding_bag: the first offset is 0, got {first}")
    if last > length:
        raise IndexRangeError(
            f"embedding_bag: offset {last} is beyond the end of an input of {length} entries"
        )


def _reduce_bags(
    rows: Tensor, counted: Tensor | None, bags: Tensor, count: int, mode: str
) -> Tensor:
    """Reduce the rows of each bag number."""
    shape = (count, rows.shape[1])
    if mode == "max":
        low = tp.full(shape, -math.inf, dtype=rows.dtype, device=rows.device)
        given = rows if counted is None else tp.where(counted.unsqueeze(1), rows, -math.inf)
        index = bags.unsqueeze(1).expand(rows.shape)
        top = low.scatter_reduce(0, index, given, "amax")
        return tp.where(_sizes(counted, bags, count).unsqueeze(1) > 0, top, 0.0)
    given = rows if counted is None else tp.where(counted.unsqueeze(1), rows, 0.0)
    zeros = tp.zeros(shape, dtype=rows.dtype, device=rows.device)
    total = zeros.index_add(0, bags, given)
    if mode == "sum":
        return total
    return total / _sizes(counted, bags, count).clamp(min=1).unsqueeze(1)


def _sizes(counted: Tensor | None, bags: Tensor, count: int) -> Tensor:
    """Return the number of entries that count in each bag."""
    ones = tp.ones_like(bags) if counted is None else counted.to(int64)
    return tp.zeros((count,), dtype=int64, device=bags.device).scatter_add(0, bags, ones)


@embedding_bag.sample
def _() -> Iterator[Sample]:
    table, bags, flat = Arg((5, 3)), Arg((2, 4), int64, 0, 5), Arg((6,), int64, 0, 5)
    offsets, weights = Arg((3,), int64, values=[0, 2, 2]), Arg((6,), low=0.5)
    for mode in ("sum", "mean", "max"):
        yield sample(bags, table, mode=mode)
        yield sample(flat, table, offsets, mode=mode)
        yield sample(
            flat, table, Arg((3,), int64, values=[0, 4, 6]), mode=mode, include_last_offset=True
        )
    yield sample(flat, table, offsets, mode="sum", per_sample_weights=weights)
    yield bad(ArgumentValueError, "mode is", bags, table, mode="median")
    yield bad(ArgumentError, "leave offsets out", bags, table, offsets)
    yield bad(ArgumentError, "needs offsets", flat, table)
    yield bad(ArgumentValueError, "mode='sum'", flat, table, offsets, per_sample_weights=weights)
    yield bad(ShapeError, "input is", Arg((1, 2, 3), int64, 0, 3), table)
    yield bad(IndexRangeError, "out of range", Arg((1, 1), int64, values=[5]), table)
    yield bad(IndexRangeError, "beyond the end", flat, table, Arg((2,), int64, values=[0, 7]))


@composite()
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Turn classes (*) into int64 (*, num_classes) with a 1 at the class.

    Classes lie in [0, num_classes): others raise an `IndexError`. With ``num_classes=-1`` there are as
    many as the largest class says, which takes the data.

    >>> import tensorplay as tp
    >>> tp.one_hot(tp.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    check_index("one_hot", input.tensor_meta)
    if num_classes == -1:
        if input.numel() == 0:
            raise ArgumentValueError("one_hot: without classes, num_classes must be given")
        if input.array is None:
            raise DataNeededError(
                "one_hot: how many classes there are depends on data, which a recorded tensor does not have; "
                "pass num_classes"
            )
        num_classes = int(input.max().item()) + 1
    elif num_classes < 0 or (num_classes == 0 and input.numel() != 0):
        raise ArgumentValueError(f"one_hot: num_classes is above 0, or -1, got {num_classes}")
    zeros = tp.zeros((*input.shape, num_classes), dtype=int64)
    return zeros.scatter(-1, input.unsqueeze(-1), 1)


@one_hot.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3), int64, 0, 5), 5)
    yield sample(Arg((), int32, values=[2]), 3)
    yield sample(Arg((0, 2), int64), 3)
    yield bad(DTypeError, "int64", Arg((2,)), 3)
    yield bad(ArgumentValueError, "must be given", Arg((0,), int64))
    yield bad(ArgumentValueError, "above 0", Arg((2,), int64), -2)
    yield bad(IndexRangeError, "index 3 is out of range", Arg((2,), int64, values=[0, 3]), 3)
    yield bad(IndexRangeError, "index -1 is out of range", Arg((2,), int64, values=[0, -1]), 3)
