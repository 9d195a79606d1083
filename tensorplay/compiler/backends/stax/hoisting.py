"""Move what loops over rows of columns would compute again for every row to a pass of its own.

In: the segments of a group. Out: segments in which values that depend only on the column are computed once, before, into a
row-local array. Code generation places every instruction in the outermost loop that knows its operands; where the
kept loop is the inner one, that is the innermost loop, and the mean of a column would be divided out again in every row:

    segment: for r in 300 (reduced), x0 in 200     ... tmp4 = truediv(tmp2, tmp3) ...
    becomes
    segment: for x0 in 200                         ... local hoisted0 = truediv(...)
    segment: for r in 300 (reduced), x0 in 200     ... tmp4 = local hoisted0 ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.index import Symbol
from tensorplay.compiler.backends.stax.loop_body import (
    Compute,
    Constant,
    IndexExpr,
    Instr,
    Load,
    LoadLocal,
    StoreLocal,
    ValueId,
    drop_unused,
    drop_unused_parts,
    operands,
    renumber,
)
from tensorplay.compiler.backends.stax.schedule import Inner, Local, Role, Segment
from tensorplay.core.dtypes import bool_
from tensorplay.ops.values import TABLE

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType

LEAST_COST = 4
"""A value is worth an array from the cost of a division on; reading the array costs about 1."""


@dataclass(frozen=True, slots=True)
class Hoisted:
    """Segments and the locals that were added."""

    segments: tuple[Segment, ...]
    locals: tuple[Local, ...]


def hoist_columns(segments: Sequence[Segment], axes: Mapping[str, tuple[Symbol, ...]]) -> Hoisted:
    """Hoist from every segment that reduces over loops outside its kept ones; `axes` are those of the locals."""
    done: list[Segment] = []
    added: list[Local] = []
    for segment in segments:
        kept = column_loops(segment)
        columns = ColumnValues(segment, frozenset(loop.symbol for loop in kept), axes)
        roots = columns.roots() if kept else []
        if not roots:
            done.append(segment)
            continue
        names = {root: f"hoisted{len(added) + k}" for k, root in enumerate(roots)}
        order = tuple(loop.symbol for loop in kept)
        added += (Local(name, columns.dtype_of(root), order) for root, name in names.items())
        vector = segment.vector if segment.vector in order else None
        done.append(Segment(tuple(kept), columns.computing(names), (), vector))
        done.append(columns.reading(names))
    return Hoisted(tuple(done), tuple(added))


def column_loops(segment: Segment) -> list[Inner]:
    """Return the loops that tell columns apart, where others lie outside them; else none."""
    if segment.is_reduction:
        return [loop for loop in segment.loops if loop.role is Role.KEPT]
    last = segment.loops[-1:]
    inside = len(segment.loops) > 1 and last[0].symbol == segment.vector
    return [*last] if inside and all(v.role is Role.KEPT for v in segment.loops) else []


class ColumnValues:
    """Which values of a segment depend only on its columns, and what they cost."""

    def __init__(
        self, segment: Segment, kept: frozenset[Symbol], axes: Mapping[str, tuple[Symbol, ...]]
    ) -> None:
        """Go once through the body; `kept` are the loops that tell columns apart."""
        self.segment = segment
        reduced = {loop.symbol for loop in segment.loops} - kept
        self.movable: list[bool] = []
        self.depends: list[bool] = []
        self.cost: list[int] = []
        for instruction in segment.body:
            uses: set[Symbol] = set()
            cost = 0
            match instruction:
                case Compute(op=op):
                    cost = TABLE[op].cost
                case Constant():
                    pass
                case IndexExpr(index=index):
                    uses = index.symbols()
                case Load(index=index):
                    uses = index.symbols()
                    cost = 1
                case LoadLocal(local=local):
                    uses = set(axes[local])
                case _:
                    self.movable.append(False)
                    self.depends.append(True)
                    self.cost.append(0)
                    continue
            args = operands(instruction)
            self.movable.append(not uses & reduced and all(self.movable[a] for a in args))
            self.depends.append(bool(uses & kept) or any(self.depends[a] for a in args))
            self.cost.append(cost + sum(self.cost[a] for a in args))

    def roots(self) -> list[ValueId]:
        """Return the values to hoist: movable, dear enough, and read by what must stay."""
        size = len(self.segment.body)
        read: set[ValueId] = set()
        for number, instruction in enumerate((*self.segment.body, *self.segment.after)):
            if number >= size or not self.movable[number]:
                read.update(a for a in operands(instruction) if a < size)
        return [
            n
            for n in sorted(read)
            if self.movable[n]
            and self.depends[n]
            and self.cost[n] >= LEAST_COST
            and isinstance(self.segment.body[n], Compute)
            and self.dtype_of(n) is not bool_  # a comparison again is cheaper than a mask in memory
        ]

    def dtype_of(self, value: ValueId) -> DType:
        """Return the dtype of a value that is hoisted."""
        instruction = self.segment.body[value]
        assert isinstance(instruction, Compute)  # noqa: S101  # roots are
        return instruction.dtype

    def computing(self, names: Mapping[ValueId, str]) -> tuple[Instr, ...]:
        """Return the body that computes the hoisted values into their locals."""
        new: dict[ValueId, ValueId] = {}
        body: list[Instr] = []
        for number, instruction in enumerate(self.segment.body):
            if self.movable[number]:
                new[number] = len(body)
                body.append(renumber(instruction, new.__getitem__))
        stores = [StoreLocal(name, new[value]) for value, name in names.items()]
        return drop_unused((*body, *stores))

    def reading(self, names: Mapping[ValueId, str]) -> Segment:
        """Return the segment with the hoisted values read from their locals."""
        body = [
            LoadLocal(names[n], self.dtype_of(n)) if n in names else i
            for n, i in enumerate(self.segment.body)
        ]
        changed, after = drop_unused_parts(body, self.segment.after)
        return replace(self.segment, body=changed, after=after)
