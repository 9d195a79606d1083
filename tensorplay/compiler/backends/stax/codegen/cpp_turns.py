"""Transposed tiles: an operand that is read across the vector loop is turned in a small buffer first.

In: a segment whose vector loop is kept. Out: the statements that turn tiles, and where each load then finds its element.
Without it a load would read one element a lane, each of a cache line of its own. For ``x.t() + y`` in tiles of 64 by 64:

    alignas(64) float tile0[4096];
    transpose_tile(tile0, 64, in0 + (256*x1_begin + x0_begin), 256, x0_end - x0_begin, x1_end - x1_begin);
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.codegen.cpp_text import array_text, index_text, memory_type
from tensorplay.compiler.backends.stax.codegen.cpp_values import padded
from tensorplay.compiler.backends.stax.loop_body import Load
from tensorplay.compiler.backends.stax.schedule import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorplay.compiler.backends.stax.codegen.cpp_values import Surroundings
    from tensorplay.compiler.backends.stax.index import Symbol
    from tensorplay.compiler.backends.stax.loop_body import ValueId
    from tensorplay.compiler.backends.stax.schedule import Inner, Segment

LEAST: Final = 4
"""Rows and columns of a tile from which turning it pays."""
MOST_ELEMENTS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Range:
    """What a loop runs over; ``extent`` is exact when ``is_fixed``, else the most there can be."""

    begin: str
    end: str
    extent: int
    is_fixed: bool

    @property
    def length(self) -> str:
        """The number of iterations as text."""
        return self.end if self.begin == "0" else f"{self.end} - {self.begin}"


@dataclass(frozen=True, slots=True)
class Turns:
    """``lines`` turn the tiles; ``places`` is the address of the first lane for each load that reads one."""

    lines: list[str] = field(default_factory=list)
    places: dict[ValueId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BeginOf:
    """Names a symbol in the address where a tile begins."""

    begins: Mapping[Symbol, str]

    def __call__(self, symbol: Symbol) -> str:
        """Return the text."""
        return self.begins.get(symbol, str(symbol))


def find_turns(
    segment: Segment,
    columns: Inner,
    ranges: Mapping[Symbol, Range],
    around: Surroundings,
    written: frozenset[str],
) -> Turns:
    """Turn what is strided along the vector loop ``columns`` and adjacent along another kept loop."""
    turns = Turns()
    inside = {loop.symbol for loop in segment.loops}
    names: dict[Load, str] = {}
    for number, load in enumerate(segment.body):
        if not isinstance(load, Load) or load.indices or load.mask is not None:
            continue
        step = load.index.stride(columns.symbol)
        if step in {0, 1, None} or load.buffer in written:
            continue
        kept = (loop for loop in segment.loops if loop.role is Role.KEPT)
        rows = next((loop for loop in kept if load.index.stride(loop.symbol) == 1), None)
        if rows is None or load.index.symbols() & inside != {rows.symbol, columns.symbol}:
            continue
        down, across = ranges[rows.symbol], ranges[columns.symbol]
        width = padded(across.extent)
        if min(down.extent, across.extent) < LEAST or down.extent * width > MOST_ELEMENTS:
            continue
        name = names.get(load)
        if name is None:
            name = names[load] = f"tile{number}"
            begin = BeginOf({rows.symbol: down.begin, columns.symbol: across.begin})
            source = f"{around.pointers[load.buffer]} + ({index_text(load.index, begin)})"
            counts = f"{down.length}, {across.length}"
            kind = memory_type(load.dtype)
            turns.lines.append(array_text(kind, name, down.extent * width))
            turns.lines.append(f"transpose_tile({name}, {width}, {source}, {step}, {counts});")
        place = f"{width}*({rows.symbol} - {down.begin}) + ({columns.symbol} - {across.begin})"
        turns.places[number] = f"{name} + ({place})"
    return turns
