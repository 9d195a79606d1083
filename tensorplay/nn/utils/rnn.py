"""Batches of sequences of different lengths: padded, or packed so that nothing is computed for the padding.

A `PackedSequence` holds the elements by time: first those of all sequences at time 0, the longest sequence first, then
those at time 1 of all that are that long, and so on.

>>> import tensorplay as tp
>>> packed = tp.nn.utils.rnn.pack_sequence([tp.tensor([1, 2, 3]), tp.tensor([4])])
>>> packed.data, packed.batch_sizes
(tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
>>> tp.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
(tensor([[1, 2, 3],
        [4, 0, 0]]), tensor([3, 1]))
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import argsort, cat, full, stack, tensor
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


class PackedSequence(NamedTuple):
    """Sequences by time.

    ``data`` (total, …) has all elements, ``batch_sizes`` (int64) how many there are at each time. ``sorted_indices`` says
    which sequence of the batch comes first, second, … in it; ``unsorted_indices`` is its inverse. Both are None where
    the batch was sorted by falling length.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> Self:  # noqa: ANN401 - those of Tensor.to
        """Convert the data."""
        return self._replace(data=self.data.to(*args, **kwargs))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes one."""
    return None if permutation is None else argsort(permutation)


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack a padded batch (T, N, …), or (N, T, …) with ``batch_first``; the first ``lengths[n]`` elements count.

    Lengths fall, unless ``enforce_sorted=False``: then the sequences are sorted, and unsorted again in the results.
    """
    sizes = _lengths(lengths)
    steps = input if not batch_first else input.transpose(0, 1)
    if len(sizes) != steps.shape[1]:
        raise ShapeError(
            f"pack_padded_sequence: {len(sizes)} lengths for a batch of {steps.shape[1]} sequences"
        )
    if min(sizes) < 1 or max(sizes) > steps.shape[0]:
        raise ArgumentValueError(
            f"pack_padded_sequence: lengths lie between 1 and {steps.shape[0]}, got {sizes}"
        )
    order = sorted(range(len(sizes)), key=lambda n: -sizes[n])
    if enforce_sorted and any(a < b for a, b in pairwise(sizes)):
        raise ArgumentValueError(
            f"pack_padded_sequence: lengths fall, got {sizes}; enforce_sorted=False sorts the batch"
        )
    sorted_indices = None
    if not enforce_sorted:
        sorted_indices = tensor(order, dtype=dtypes.int64, device=input.device)
        steps = steps.index_select(1, sorted_indices)
    counts = [sum(1 for size in sizes if size > t) for t in range(max(sizes))]
    data = cat([steps[t, :count] for t, count in enumerate(counts)], 0)
    return PackedSequence(
        data,
        tensor(counts, dtype=dtypes.int64),
        sorted_indices,
        invert_permutation(sorted_indices),
    )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the padded batch (T, N, …), or (N, T, …) with ``batch_first``, and the lengths (int64).

    ``total_length`` makes T larger than the longest sequence.
    """
    counts: list[int] = sequence.batch_sizes.tolist()
    longest, rows, start = len(counts), counts[0], 0
    if total_length is not None and total_length < longest:
        raise ArgumentValueError(
            f"pad_packed_sequence: total_length={total_length} is below the longest sequence, "
            f"{longest}"
        )
    steps = []
    for count in counts:
        present = sequence.data[start : start + count]
        start += count
        steps.append(_filled(present, rows, padding_value, 0, "right"))
    steps = [*steps, *[_like(steps[0], padding_value)] * ((total_length or longest) - longest)]
    padded = stack(steps, 0)
    sizes = [sum(1 for count in counts if count > n) for n in range(rows)]
    lengths = tensor(sizes, dtype=dtypes.int64)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: Literal["left", "right"] = "right",
) -> Tensor:
    """Stack sequences (T_n, …) into (max T, N, …), or (N, max T, …) with ``batch_first``.

    >>> import tensorplay as tp
    >>> tp.nn.utils.rnn.pad_sequence([tp.tensor([1, 2]), tp.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    given = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not given:
        raise ArgumentValueError("pad_sequence: expected at least one sequence, got none")
    if padding_side not in {"left", "right"}:
        raise ArgumentValueError(
            f"pad_sequence: padding_side is 'left' or 'right', got {padding_side!r}"
        )
    longest = max(each.shape[0] for each in given)
    filled = [_filled(each, longest, padding_value, 0, padding_side) for each in given]
    return stack(filled, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences (T_n, …) of a padded batch, padded on the right."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[n, :size] for n, size in enumerate(_lengths(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (T_n, …), sorted by falling length unless ``enforce_sorted=False``."""
    lengths = [each.shape[0] for each in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _lengths(lengths: Tensor | Sequence[int]) -> list[int]:
    values = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [int(value) for value in values]


def _filled(
    part: Tensor, size: int, value: float, dim: int, side: Literal["left", "right"]
) -> Tensor:
    """Lengthen a tensor along a dimension."""
    missing = size - part.shape[dim]
    if missing == 0:
        return part
    shape = (*part.shape[:dim], missing, *part.shape[dim + 1 :])
    rest = full(shape, value, dtype=part.dtype, device=part.device)
    return cat((part, rest) if side == "right" else (rest, part), dim)


def _like(part: Tensor, value: float) -> Tensor:
    return full(part.shape, value, dtype=part.dtype, device=part.device)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
