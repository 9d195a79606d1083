"""The forms of index operators: which element is read or written, on plain arithmetic.

- `Gather`: element `i` of the result is the element `place(i, read)` of one tensor, where
  `read(name, indices, size)` reads an index tensor under a bounds check;
- `Scatter`: element `i` of a value goes to `place(i, read)` of the result, which starts as a base;
- `Pieces`: the result is cut into boxes, each read from one operand at an affine place;
- `Merged`: each element of the result merges pieces along further dimensions by a monoid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tensorplay.core.dtypes import Number
from tensorplay.ops.monoids import Monoid

Indices: TypeAlias = Sequence[Any]


class Read(Protocol):
    """Reads an index for a dimension of `size` elements from an integer tensor.

    Negative ones count from the end, or are refused where `wraps` is false. For a list of tensors
    the parameter is written `"indices.0"`.
    """

    def __call__(self, parameter: str, indices: Indices, size: int, *, wraps: bool = True) -> Any:  # noqa: ANN401  # an index
        """The index at `indices` of the tensor `parameter`."""
        ...


Place: TypeAlias = Callable[[Indices, Read], Indices]


@dataclass(frozen=True, slots=True)
class Gather:
    """Read `source` at `place`."""

    source: str
    shape: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Scatter:
    """Write `value` (a tensor parameter, read at `value_place(i)`, or a number) for each `i` in `domain` to `place`."""

    base: str
    """The parameter that the result starts as."""
    value: str
    domain: tuple[int, ...]
    place: Place
    value_place: Callable[[Indices], Indices]
    combine: Monoid | None
    """None: the value replaces what is there.

    Which of several wins at an equal place is not defined.
    """


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds where `low <= value < high` and `value - low` is a multiple of `step`."""

    value: Any
    low: int
    high: int
    step: int = 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of the result. `source` is a tensor parameter (`"tensors.0"` for an item of a list) or a number."""

    source: str | Number
    conditions: Callable[[Indices], Sequence[Condition]]
    place: Callable[[Indices], Indices]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The first piece whose conditions hold gives the element; the last one has none."""

    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """Each element merges those of `pieces` along its last dimensions, as many as `along`, in row-major order.

    The monoid is a sum, or the greatest element (NaN is greater than numbers); with `place`, the result
    is the place of the first greatest element, of those that pieces read from tensors.
    """

    pieces: Pieces
    along: int
    monoid: Monoid
    place: Callable[[Indices], Any] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.pieces.shape[: len(self.pieces.shape) - self.along]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the dimensions that are merged."""
        return self.pieces.shape[len(self.pieces.shape) - self.along :]


Form: TypeAlias = Gather | Scatter | Pieces | Merged
