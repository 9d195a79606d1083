"""`Cluster`: nodes that will become one kernel, and `fuse`, which says whether two may be one.

The nodes of a cluster share loop variables. `outer` are the loops that every node keeps: the parallel nest. What one
node writes and another reads must stay inside one outer iteration; then each iteration can run the nodes one after the
other, and a row is read from memory once.

Legality knows nothing of profit (`choices` does). Every refusal names a `Reason`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.index import Expr, Monomial, Symbol
from tensorplay.compiler.backends.stax.intervals import Interval
from tensorplay.compiler.backends.stax.matching import Match, match_loops
from tensorplay.compiler.backends.stax.schedule import Reason, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tensorplay.compiler.backends.stax.loop_body import Load
    from tensorplay.compiler.backends.stax.loop_nodes import LoopNode, SymbolSource


@dataclass(frozen=True)
class Cluster:
    """Nodes over common loop variables, in the order of the program."""

    nodes: tuple[LoopNode, ...]

    @cached_property
    def name(self) -> str:
        """The name of the last buffer."""
        return self.nodes[-1].name

    @cached_property
    def device(self) -> str:
        """The device of all nodes."""
        return self.nodes[0].device

    @cached_property
    def outer(self) -> frozenset[Symbol]:
        """The loops that every node keeps and none scans along: the parallel nest."""
        common = set(self.nodes[0].kept)
        for node in self.nodes[1:]:
            common &= set(node.kept)
        return frozenset(common - {node.scanned for node in self.nodes})

    @cached_property
    def reads(self) -> Mapping[str, tuple[tuple[LoopNode, Load], ...]]:
        """Every read of each buffer."""
        found: dict[str, list[tuple[LoopNode, Load]]] = {}
        for node in self.nodes:
            for buffer, loads in node.reads.items():
                found.setdefault(buffer, []).extend((node, load) for load in loads)
        return {name: tuple(loads) for name, loads in found.items()}

    @cached_property
    def writers(self) -> Mapping[str, LoopNode]:
        """The node that writes each buffer."""
        return {buffer: node for node in self.nodes for buffer in node.writes}

    @cached_property
    def touched(self) -> frozenset[str]:
        """All buffers that are read or written."""
        return frozenset(self.reads) | frozenset(self.writers)

    @cached_property
    def first(self) -> int:
        """The position of the first node."""
        return self.nodes[0].position

    @cached_property
    def last(self) -> int:
        """The position of the last node."""
        return self.nodes[-1].position

    @cached_property
    def iterations(self) -> int:
        """The iterations of the largest node."""
        return max(node.iterations for node in self.nodes)

    @cached_property
    def is_update(self) -> bool:
        """Say whether a node changes a buffer that was filled before."""
        return any(node.is_update for node in self.nodes)

    @cached_property
    def is_reduction(self) -> bool:
        """Say whether a node reduces."""
        return any(node.is_reduction for node in self.nodes)

    @cached_property
    def fixed_loops(self) -> frozenset[Symbol]:
        """The loops that can't be split: those that a scan runs along, and those of indirect writes."""
        fixed: set[Symbol] = set()
        for node in self.nodes:
            if node.scanned is not None:
                fixed.add(node.scanned)
            if node.is_update:
                fixed.update(node.loops)
        return frozenset(fixed)

    def address(self, buffer: str) -> Expr | None:
        """Return an address of a buffer that stands for the cluster's: the write, or the widest direct read."""
        writer = self.writers.get(buffer)
        if writer is not None:
            store = writer.writes[buffer]
            return store.index if store.mode == "set" else None
        direct = [load.index for _, load in self.reads[buffer] if not load.indices]
        return max(direct, key=lambda e: len(e.terms), default=None)

    def substitute(self, values: Mapping[Symbol, Expr]) -> Cluster:
        """Replace loop variables in every node."""
        return Cluster(tuple(n.substitute(values) for n in self.nodes)) if values else self


def fuse(a: Cluster, b: Cluster, source: SymbolSource) -> Cluster | Refusal:
    """Return the cluster of both, or why they can't be one kernel. Cycles are the scheduler's to find."""
    if a.device != b.device:
        return Refusal(Reason.DIFFERENT_DEVICES, f"{a.device}, {b.device}")
    shared = a.touched & b.touched
    if not shared:
        return Refusal(Reason.NO_SHARED_DATA)
    for one, other in ((a, b), (b, a)):
        if one.is_update:
            for buffer, node in one.writers.items():
                if node.is_update and buffer in other.touched:
                    return Refusal(Reason.INDIRECT_ACCESS, f"{node.name} scatters into {buffer}")
    match = match_through(a, b, shared, source)
    joined = Cluster(
        tuple(
            sorted(a.substitute(match.left).nodes + b.substitute(match.right).nodes, key=position)
        )
    )
    refusal = check_dependences(joined, shared)
    return joined if refusal is None else refusal


def position(node: LoopNode) -> int:
    """Return a node's place in the program."""
    return node.position


def extents(loops: Iterable[Symbol]) -> list[int]:
    """Return the extents of loops, for messages."""
    return [s.extent for s in loops]


def match_through(a: Cluster, b: Cluster, shared: Iterable[str], source: SymbolSource) -> Match:
    """Match the loops of two clusters through the buffers that both touch."""
    pairs = []
    for buffer in sorted(shared):
        left, right = a.address(buffer), b.address(buffer)
        if left is not None and right is not None:
            pairs.append((left, right))
    return match_loops(pairs, a.fixed_loops | b.fixed_loops, source)


def check_dependences(cluster: Cluster, shared: Iterable[str]) -> Refusal | None:
    """Refuse where one outer iteration would read what another writes."""
    outer = cluster.outer
    for buffer in shared:
        writer = cluster.writers.get(buffer)
        if writer is None:
            continue
        store = writer.writes[buffer]
        for reader, load in cluster.reads.get(buffer, ()):
            if reader is writer:
                continue
            if not stays_in_row(store.index, load.index, outer):
                return Refusal(
                    Reason.DISTANCE,
                    f"{writer.name} writes {buffer}[{store.index}], "
                    f"{reader.name} reads {buffer}[{load.index}]",
                )
    return None


def stays_in_row(write: Expr, read: Expr, outer: frozenset[Symbol]) -> bool:
    """Say whether everything that is read was written by the same outer iteration.

    Equal addresses are: a write tells all kept loops apart. Otherwise both must be the same function of the outer loops
    plus something that stays within one row, and the read part must lie within the written one.
    """
    if write == read:
        return True
    row_write, rest_write = split_row(write, outer)
    row_read, rest_read = split_row(read, outer)
    if row_write != row_read:
        return False
    if any(s in outer for s in rest_write.symbols() | rest_read.symbols()):
        return False
    strides = sorted(
        (abs(t), m[0].extent) for m, t in row_write.terms.items() if isinstance(m[0], Symbol)
    )
    if len(strides) != len(outer):
        return False
    low, high = rest_write.bounds
    reach = high - low
    for stride, extent in strides:
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return is_dense(rest_write) and Interval(low, high).contains(rest_read.bounds)


def is_dense(e: Expr) -> bool:
    """Say whether an address reaches every place between its bounds."""
    reach = 0
    for (atom, *others), stride in sorted(e.terms.items(), key=lambda item: abs(item[1])):
        if others or not isinstance(atom, Symbol) or abs(stride) > reach + 1:
            return False
        reach += abs(stride) * (atom.extent - 1)
    return True


def split_row(e: Expr, outer: frozenset[Symbol]) -> tuple[Expr, Expr]:
    """Split an address into the terms of the outer loops and the rest."""
    row: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, stride in e.terms.items():
        (row if len(monomial) == 1 and monomial[0] in outer else rest)[monomial] = stride
    return Expr(row, 0), Expr(rest, e.constant)


def dependences(cluster: Cluster) -> Iterator[tuple[LoopNode, LoopNode, str]]:
    """Yield (writer, reader, buffer) for every buffer that passes between nodes."""
    for buffer, writer in cluster.writers.items():
        seen: set[str] = set()
        for reader, _ in cluster.reads.get(buffer, ()):
            if reader is not writer and reader.name not in seen:
                seen.add(reader.name)
                yield writer, reader, buffer
