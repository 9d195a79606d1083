"""Split a segment where a condition on a loop variable changes: at the seams of a concatenation.

In: a segment whose body compares a loop variable with constants. Out: segments over the parts of that loop. In each part
the comparisons are decided, masks are gone and the reads of the other parts with them:

    segment: for r in 96                    tmp2 = lt(r, 32); load a[r] where tmp2; load b[r - 32] where not tmp2; where(…)
    becomes
    segment: for r in [0, 32)               load a[r]
    segment: for r in [32, 96)              load b[r - 32]

Only loops that run through all of their range inside one outer iteration are split, and only where nothing is merged or
scanned along the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tensorplay.compiler.backends.stax.handlers.symbolic import compare
from tensorplay.compiler.backends.stax.index import Expr, Symbol, from_symbol
from tensorplay.compiler.backends.stax.intervals import Interval
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Compute,
    Constant,
    IndexExpr,
    Instr,
    Load,
    ValueId,
    drop_unused,
    renumber,
)
from tensorplay.compiler.backends.stax.schedule import Inner, Role, Segment
from tensorplay.core.dtypes import bool_

MOST_SEAMS = 8
"""More parts than this make the kernel longer than they make it faster."""
SHORTEST_LOOP = 16
"""A shorter loop costs more in parts than in masks."""


def split_at_seams(segment: Segment, whole: frozenset[Symbol]) -> list[Segment]:
    """Return a segment in parts, or as it is; `whole` are the loops that aren't tiled."""
    if segment.after or any(loop.role is not Role.KEPT for loop in segment.loops):
        return [segment]
    found: dict[Symbol, set[int]] = {}
    for _, symbol, seam in comparisons(segment.body):
        if symbol in whole and 0 < seam < symbol.extent >= SHORTEST_LOOP:
            found.setdefault(symbol, set()).add(seam)
    if not found:
        return [segment]
    symbol = max(found, key=lambda s: (len(found[s]), s.extent))
    ends = [0, *sorted(found[symbol]), symbol.extent]
    if len(ends) - 2 > MOST_SEAMS:
        return [segment]
    return [part_of(segment, symbol, ends[k], ends[k + 1]) for k in range(len(ends) - 1)]


def comparisons(body: Sequence[Instr]) -> Iterator[tuple[ValueId, Symbol, int]]:
    """Yield (number, loop, seam) for every comparison of a loop variable plus a constant with a constant."""
    for number, instruction in enumerate(body):
        if not isinstance(instruction, Compute) or instruction.op not in {"lt", "ge"}:
            continue
        left, right = (body[a] for a in instruction.args)
        if not isinstance(left, IndexExpr) or not isinstance(right, Constant):
            continue
        symbol = (left.index - left.index.constant).as_symbol()
        if symbol is not None and isinstance(right.value, int):
            yield number, symbol, right.value - left.index.constant


def part_of(segment: Segment, symbol: Symbol, start: int, stop: int) -> Segment:
    """Return the segment over `[start, stop)` of one loop, with what that decides folded."""
    loops = tuple(
        Inner(loop.symbol, loop.extent, loop.role, start, stop) if loop.symbol == symbol else loop
        for loop in segment.loops
    )
    # A variable of the same name, known to lie in the part, decides the comparisons.
    here = {symbol: from_symbol(Symbol(symbol.name, start, stop - 1))}
    known: dict[ValueId, bool] = {}
    new: dict[ValueId, ValueId] = {}
    body: list[Instr] = []
    for number, old in enumerate(segment.body):
        truth = decide(old, segment.body, known, here)
        if truth is not None:
            known[number] = truth
        same = alias(old, known)
        if same is not None:
            new[number] = new[same]
            continue
        mask = (
            known.get(old.mask)
            if isinstance(old, (Load, CheckBounds)) and old.mask is not None
            else None
        )
        if mask is False and isinstance(old, CheckBounds):
            continue
        new[number] = len(body)
        body.append(renumber(folded(old, truth, mask), new.__getitem__))
    return Segment(loops, drop_unused(body), (), segment.vector)


def folded(instruction: Instr, truth: bool | None, mask: bool | None) -> Instr:
    """Return what an instruction is where its truth value or its mask is known."""
    if truth is not None:
        return Constant(truth, bool_)
    if mask is None or not isinstance(instruction, (Load, CheckBounds)):
        return instruction
    if mask or isinstance(instruction, CheckBounds):
        return replace(instruction, mask=None)
    return Constant(0, instruction.dtype)


def alias(instruction: Instr, known: dict[ValueId, bool]) -> ValueId | None:
    """Return the operand that an instruction equals, or None."""
    if not isinstance(instruction, Compute):
        return None
    args = instruction.args
    if instruction.op == "where" and args[0] in known:
        return args[1 if known[args[0]] else 2]
    if instruction.op in {"logical_and", "logical_or"}:
        neutral = instruction.op == "logical_and"
        for one, other in ((0, 1), (1, 0)):
            if known.get(args[one]) is neutral and args[other] not in known:
                return args[other]
    return None


def decide(
    instruction: Instr,
    body: Sequence[Instr],
    known: dict[ValueId, bool],
    here: dict[Symbol, Expr],
) -> bool | None:
    """Return the truth value of an instruction in this part, or None where it is open."""
    if not isinstance(instruction, Compute) or instruction.dtype is not bool_:
        return None
    args = instruction.args
    match instruction.op:
        case "logical_not":
            return None if args[0] not in known else not known[args[0]]
        case "logical_and" | "logical_or":
            absorbing = instruction.op == "logical_or"
            truths = [known.get(a) for a in args]
            if absorbing in truths:
                return absorbing
            return None if None in truths else not absorbing
        case "lt" | "le" | "gt" | "ge" | "eq" | "ne":
            left, right = (interval_of(body[a], here) for a in args)
            return None if left is None or right is None else compare(instruction.op, left - right)
        case _:
            return None


def interval_of(instruction: Instr, here: dict[Symbol, Expr]) -> Interval | None:
    """Return the range of an integer in this part."""
    if isinstance(instruction, IndexExpr) and not instruction.indices:
        return instruction.index.substitute(here).bounds
    if isinstance(instruction, Constant) and type(instruction.value) is int:
        return Interval.exactly(instruction.value)
    return None
