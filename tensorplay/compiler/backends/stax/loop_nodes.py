"""`LoopNode`: one buffer's loop body in canonical form, and the questions that fusion asks of it.

In: a `LoopBody` as it was recorded. Out: a node whose loops are in the order of memory, merged where Proposition 6.3
allows, with symbols that no other node has. `reads` and `writes` list the distinct addresses of each buffer.

    for i0 in 64, i1 in 128:  load x[128*i0 + i1] ... store buf2[128*i0 + i1]
    becomes
    for d0 in 8192:           load x[d0] ... store buf2[d0]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tensorplay.compiler.backends.stax.index import Expr, Symbol, from_symbol
from tensorplay.compiler.backends.stax.loop_body import (
    Compute,
    IndexExpr,
    Instr,
    Load,
    LoopBody,
    Reduce,
    Scan,
    Store,
    is_indirect,
    map_indices,
)
from tensorplay.ops.values import TABLE


@dataclass(frozen=True)
class LoopNode:
    """One computed buffer in canonical loops.

    `kept` are the loops of the result, outermost first, `reduced` those merged over. `name` is the buffer's, and
    `position` the node's place in the order of the program.
    """

    name: str
    position: int
    device: str
    kept: tuple[Symbol, ...]
    reduced: tuple[Symbol, ...]
    instructions: tuple[Instr, ...]
    scanned: Symbol | None
    checks: tuple[str, ...]
    origins: tuple[str, ...] = ()

    @cached_property
    def reads(self) -> Mapping[str, tuple[Load, ...]]:
        """The reads of each buffer, those with equal addresses once."""
        found: dict[str, dict[Expr, Load]] = {}
        for i in self.instructions:
            if isinstance(i, Load):
                found.setdefault(i.buffer, {}).setdefault(i.index, i)
        return {name: tuple(loads.values()) for name, loads in found.items()}

    @cached_property
    def writes(self) -> Mapping[str, Store]:
        """The write of each buffer."""
        return {i.buffer: i for i in self.instructions if isinstance(i, Store)}

    @cached_property
    def loops(self) -> frozenset[Symbol]:
        """All loop variables."""
        return frozenset(self.kept) | frozenset(self.reduced)

    @cached_property
    def iterations(self) -> int:
        """The number of times that the body runs."""
        return prod(s.extent for s in self.loops)

    @cached_property
    def cost(self) -> int:
        """The cost of one iteration, an addition being 1."""
        return sum(
            TABLE[i.op].cost if isinstance(i, Compute) else 1
            for i in self.instructions
            if isinstance(i, (Compute, Reduce, Scan, Load, Store))
        )

    @property
    def is_reduction(self) -> bool:
        """Say whether the node merges over a loop."""
        return any(isinstance(i, Reduce) for i in self.instructions)

    @cached_property
    def is_update(self) -> bool:
        """Say whether the node changes a buffer that was filled before (a scatter)."""
        return any(s.mode != "set" for s in self.writes.values())

    def substitute(self, values: Mapping[Symbol, Expr]) -> LoopNode:
        """Replace loop variables; each becomes the symbols of its value, in the order of their strides."""
        if not any(s in values for s in self.loops):
            return self
        return replace(
            self,
            kept=replace_loops(self.kept, values),
            reduced=replace_loops(self.reduced, values),
            instructions=substitute_all(self.instructions, values),
            scanned=self.scanned if self.scanned is None else renamed(self.scanned, values),
        )

    def merge(self, runs: Sequence[Sequence[Symbol]]) -> LoopNode:
        """Merge every run of loops into one loop, as Proposition 6.3 allows."""
        values: dict[Symbol, Expr] = {}
        new: dict[Symbol, Symbol] = {}
        for run in runs:
            if len(run) > 1 and run[-1] in self.loops:
                merged = Symbol(f"{run[-1].name}m", 0, prod(s.extent for s in run) - 1)
                values.update(unmerge(run, from_symbol(merged)))
                new[run[-1]] = merged
        if not values:
            return self
        return replace(
            self,
            kept=tuple(new.get(s, s) for s in self.kept if s in new or s not in values),
            reduced=tuple(new.get(s, s) for s in self.reduced if s in new or s not in values),
            instructions=substitute_all(self.instructions, values),
        )


class SymbolSource:
    """Hands out loop variables that are used nowhere else."""

    def __init__(self, prefix: str = "d") -> None:
        """Start counting; names are the prefix and a number."""
        self.prefix = prefix
        self.count = 0

    def fresh(self, extent: int) -> Symbol:
        """Return a new loop variable."""
        self.count += 1
        return Symbol(f"{self.prefix}{self.count - 1}", 0, extent - 1)


def make_node(
    name: str,
    position: int,
    device: str,
    body: LoopBody,
    origins: tuple[str, ...],
    source: SymbolSource,
) -> LoopNode:
    """Put a body into canonical form: loops ordered by memory, merged, with fresh symbols."""
    exprs = [e for e in map(index_of, body.instructions) if e is not None]
    kept, reduced = list(body.loops), list(body.reduced)
    store = next(i for i in body.instructions if isinstance(i, Store))
    if store.mode == "set":
        kept.sort(key=lambda s: -abs(store.index.stride(s) or 0))
    if reduced:
        loads = [i.index for i in body.instructions if isinstance(i, Load)]
        main = max(loads, key=lambda e: coverage(e, reduced), default=store.index)
        reduced.sort(key=lambda s: -abs(main.stride(s) or 0))
    runs = merge_runs(kept, exprs, body.scanned) + merge_runs(reduced, exprs, None)
    values: dict[Symbol, Expr] = {}
    new: dict[Symbol, Symbol] = {}
    for run in runs:
        symbol = source.fresh(prod(s.extent for s in run))
        new[run[-1]] = symbol
        values.update(unmerge(run, from_symbol(symbol)))
    last_kept = {s for s in kept if s in new}
    return LoopNode(
        name,
        position,
        device,
        tuple(new[s] for s in kept if s in last_kept),
        tuple(new[s] for s in reduced if s in new),
        substitute_all(body.instructions, values),
        None if body.scanned is None else new[body.scanned],
        body.checks,
        origins,
    )


def index_of(instruction: Instr) -> Expr | None:
    """Return the index expression in an instruction."""
    return instruction.index if isinstance(instruction, (Load, Store, IndexExpr)) else None


def coverage(e: Expr, loops: Iterable[Symbol]) -> int:
    """Return how many of the loops' iterations an address tells apart."""
    return prod(s.extent for s in loops if e.stride(s))


def merge_runs(
    loops: Sequence[Symbol], exprs: Sequence[Expr], alone: Symbol | None
) -> list[list[Symbol]]:
    """Group adjacent loops that Proposition 6.3 allows to merge; `alone` stays by itself."""
    runs: list[list[Symbol]] = []
    for symbol in loops:
        if (
            runs
            and symbol != alone
            and runs[-1][-1] != alone
            and can_merge(runs[-1][-1], symbol, exprs)
        ):
            runs[-1].append(symbol)
        else:
            runs.append([symbol])
    return runs


def can_merge(outer: Symbol, inner: Symbol, exprs: Iterable[Expr]) -> bool:
    """Say whether every address has `stride(outer) = extent(inner) * stride(inner)`."""
    extent = inner.extent
    for e in exprs:
        a, b = e.stride(outer), e.stride(inner)
        if a is None or b is None or a != extent * b:
            return False
    return True


def unmerge(run: Sequence[Symbol], merged: Expr) -> dict[Symbol, Expr]:
    """Return every loop of a run in terms of the merged variable."""
    if len(run) == 1:
        return {run[0]: merged}
    values: dict[Symbol, Expr] = {}
    inner = 1
    for place, symbol in enumerate(reversed(run)):
        part = merged // inner
        values[symbol] = part if place == len(run) - 1 else part % symbol.extent
        inner *= symbol.extent
    return values


def substitute_all(
    instructions: Sequence[Instr], values: Mapping[Symbol, Expr]
) -> tuple[Instr, ...]:
    """Replace loop variables in every index; equal indices are worked out once."""
    cache: dict[Expr, Expr] = {}

    def change(e: Expr) -> Expr:
        new = cache.get(e)
        if new is None:
            new = cache[e] = e.substitute(values) if e.terms else e
        return new

    return tuple(map_indices(i, change) for i in instructions)


def replace_loops(loops: Iterable[Symbol], values: Mapping[Symbol, Expr]) -> tuple[Symbol, ...]:
    """Replace loop variables in a list of loops; a split one becomes several, largest stride first."""
    result: list[Symbol] = []
    for symbol in loops:
        value = values.get(symbol)
        if value is None:
            result.append(symbol)
            continue
        parts = sorted(value.terms.items(), key=lambda item: -item[1])
        result += [atom for (atom,), _ in parts if isinstance(atom, Symbol)]
    return tuple(result)


def renamed(symbol: Symbol, values: Mapping[Symbol, Expr]) -> Symbol:
    """Return the one symbol that replaces another."""
    value = values.get(symbol)
    if value is None:
        return symbol
    new = value.as_symbol()
    if new is None:
        msg = f"the scanned loop {symbol} can't be split into {value}"
        raise ValueError(msg)
    return new


def loop_terms(e: Expr) -> Iterator[tuple[Symbol, int]]:
    """Yield the loop variables that an address is linear in, with their strides."""
    for monomial, stride in e.terms.items():
        atom = monomial[0]
        if len(monomial) == 1 and isinstance(atom, Symbol) and not is_indirect(atom):
            yield atom, stride


def touched(e: Expr) -> int:
    """Return how many places an address reaches as its loop variables run."""
    return prod(s.extent for s in e.symbols() if not is_indirect(s))
