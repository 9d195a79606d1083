"""Match the loops of two sets of nodes through the buffers that both touch.

Two nodes have loops of their own. They iterate over the same rows where they reach one buffer by the same steps:

    A reads  x[d0]               (d0 in 8192)
    B reads  x[128*d1 + d2]      (d1 in 64, d2 in 128)

A's loop is split, `d0 = 128*d1 + d2`, and both now have the loops d1, d2. The address that tells most iterations
apart is matched first and may split loops of either side; other shared addresses then only pair whole loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.index import Expr, Symbol, from_symbol, to_expr
from tensorplay.compiler.backends.stax.loop_nodes import loop_terms, touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tensorplay.compiler.backends.stax.loop_nodes import SymbolSource

Pair = tuple[Expr, Expr]


@dataclass(slots=True)
class Match:
    """What to substitute on either side so that equal loops have equal symbols."""

    left: dict[Symbol, Expr] = field(default_factory=dict)
    right: dict[Symbol, Expr] = field(default_factory=dict)
    matched: set[Symbol] = field(default_factory=set)


@dataclass(slots=True)
class Axis:
    """The part of a loop that isn't matched yet: `extent` values, `stride` apart in the address."""

    symbol: Symbol
    stride: int
    extent: int


Part = tuple[Symbol, int]
"""A new symbol and its extent."""


def match_loops(pairs: Sequence[Pair], fixed: Iterable[Symbol], source: SymbolSource) -> Match:
    """Match loops through pairs of addresses of one buffer each; `fixed` loops are never split."""
    match = Match()
    if not pairs:
        return match
    whole = set(fixed)
    ranked = sorted(pairs, key=lambda p: -min(touched(p[0]), touched(p[1])))
    split_axes(*ranked[0], whole, match, source)
    for left, right in ranked[1:]:
        pair_whole_loops(left, right, match)
    return match


def split_axes(
    left: Expr, right: Expr, whole: set[Symbol], match: Match, source: SymbolSource
) -> None:
    """Walk both addresses from the smallest stride up, splitting loops into common factors."""
    a, b = axes_of(left), axes_of(right)
    parts_a: dict[Symbol, list[Part]] = {}
    parts_b: dict[Symbol, list[Part]] = {}
    i = j = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        if x.stride != y.stride:
            if abs(x.stride) < abs(y.stride):
                leave(x, parts_a, source)
                i += 1
            else:
                leave(y, parts_b, source)
                j += 1
            continue
        common = min(x.extent, y.extent)
        fits = x.extent % common == 0 and y.extent % common == 0
        if not fits or any(axis.extent != common and axis.symbol in whole for axis in (x, y)):
            leave(x, parts_a, source)
            leave(y, parts_b, source)
            i, j = i + 1, j + 1
            continue
        shared = x.symbol if x.symbol.extent == common else source.fresh(common)
        parts_a.setdefault(x.symbol, []).append((shared, common))
        parts_b.setdefault(y.symbol, []).append((shared, common))
        match.matched.add(shared)
        i += advance(x, common)
        j += advance(y, common)
    for axis in a[i:]:
        leave(axis, parts_a, source)
    for axis in b[j:]:
        leave(axis, parts_b, source)
    note(parts_a, match.left)
    note(parts_b, match.right)


def axes_of(e: Expr) -> list[Axis]:
    """Return the loops that an address is linear in, smallest stride first; of equal ones (a window) the longest."""
    return sorted(
        (Axis(s, t, s.extent) for s, t in loop_terms(e) if e.stride(s) is not None),
        key=lambda axis: (abs(axis.stride), -axis.extent),
    )


def advance(axis: Axis, common: int) -> int:
    """Take a factor off an axis; return 1 when nothing is left."""
    axis.extent //= common
    axis.stride *= common
    return int(axis.extent == 1)


def leave(axis: Axis, parts: dict[Symbol, list[Part]], source: SymbolSource) -> None:
    """Keep what is left of an axis as a loop of its own."""
    if axis.symbol in parts:
        parts[axis.symbol].append((source.fresh(axis.extent), axis.extent))


def note(parts: dict[Symbol, list[Part]], values: dict[Symbol, Expr]) -> None:
    """Write down every loop as the sum of its factors, the first factor being the fastest."""
    for symbol, factors in parts.items():
        value = to_expr(0)
        step = 1
        for new, extent in factors:
            value = value + from_symbol(new) * step
            step *= extent
        if value.as_symbol() != symbol:
            values[symbol] = value


def pair_whole_loops(left: Expr, right: Expr, match: Match) -> None:
    """Pair loops of equal stride and extent that no earlier address has matched."""
    if match.left:
        left = left.substitute(match.left)
    if match.right:
        right = right.substitute(match.right)
    free = {
        (t, s.extent): s
        for s, t in loop_terms(left)
        if s not in match.matched and left.stride(s) is not None
    }
    for symbol, stride in loop_terms(right):
        if symbol in match.matched or right.stride(symbol) is None:
            continue
        partner = free.pop((stride, symbol.extent), None)
        if partner is None:
            continue
        match.matched.add(partner)
        rename = {symbol: from_symbol(partner)}
        for old, value in match.right.items():
            match.right[old] = value.substitute(rename)
        match.right[symbol] = from_symbol(partner)
