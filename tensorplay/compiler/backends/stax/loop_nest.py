"""Plan the loops of a kernel: merge, order, pick the vector loop, tile.

In: a cluster. Out: a `Nest` and the same cluster over final loop variables: `x0`, `x1`, … for the parallel nest,
`r0_2`, … for loops that some node reduces or that lie inside rows.

The vector loop is the one along which most bytes lie next to each other. If it is a parallel loop it is tiled: segments
run over the tile, vectorized; a tile that covers its loop leaves no parallel loop. That one rule covers pointwise kernels
(tiles of a flat loop), column sums and batch statistics (tiles of columns, accumulators side by side) and transposed reads
(tiles in two loops). With the vector loop inside, rows run one after the other (softmax, layer norm, row sums).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax.clusters import Cluster
from tensorplay.compiler.backends.stax.index import Expr, Symbol, from_symbol
from tensorplay.compiler.backends.stax.loop_body import Load, Store
from tensorplay.compiler.backends.stax.loop_nodes import LoopNode, can_merge, index_of, touched
from tensorplay.compiler.backends.stax.schedule import BufferInfo, Outer
from tensorplay.compiler.target import CpuTarget

if TYPE_CHECKING:
    from tensorplay.compiler.target import Target


@dataclass(frozen=True)
class Nest:
    """The loops of a kernel. `rank` orders all loop variables, outermost first."""

    outer: tuple[Outer, ...]
    rank: Mapping[Symbol, int]
    vector: Symbol | None
    buffers: Mapping[str, BufferInfo]
    vectorize: bool
    sequential: bool

    def segment_loops(self, node: LoopNode) -> frozenset[Symbol]:
        """Return the loops that a node runs inside one outer iteration."""
        whole = {o.symbol for o in self.outer if o.step == 1}
        return node.loops - whole

    def extent(self, symbol: Symbol) -> int:
        """Return how many values a loop takes inside one outer iteration."""
        for o in self.outer:
            if o.symbol == symbol:
                return min(o.step, o.extent)
        return symbol.extent

    def order(self, loops: Iterable[Symbol]) -> tuple[Symbol, ...]:
        """Return loops outermost first."""
        return tuple(sorted(loops, key=self.rank.__getitem__))

    def order_segment(
        self, loops: frozenset[Symbol], reduced: frozenset[Symbol], vector: Symbol | None
    ) -> tuple[Symbol, ...]:
        """Return a segment's loops: kept ones, reduced ones, and the vector loop innermost."""
        return tuple(
            sorted(loops, key=lambda s: (s == vector, s in reduced, self.rank[s]))
            if not self.sequential
            else self.order(loops)
        )

    def vector_of(self, nodes: Sequence[LoopNode], loops: frozenset[Symbol]) -> Symbol | None:
        """Return the loop to vectorize in a segment."""
        if not self.vectorize or not loops:
            return None
        if self.vector in loops:
            return self.vector
        return best_vector(nodes, loops, self.buffers)


def plan_nest(
    cluster: Cluster, buffers: Mapping[str, BufferInfo], target: Target
) -> tuple[Nest, Cluster]:
    """Plan a cluster's loops; return them and the cluster over the final variables."""
    sequential = cluster.is_update
    if not sequential:
        cluster = merge_cluster(cluster, buffers)
    loops = order_loops(cluster, buffers)
    outer = [s for s in loops if s in cluster.outer]
    vector = None
    steps = dict.fromkeys(outer, 1)
    if isinstance(target, CpuTarget):
        if sequential:
            outer = outer[:-1] if len(outer) == len(loops) else outer
        else:
            vector = best_vector(cluster.nodes, frozenset(loops), buffers)
            steps = tile_loops(cluster, outer, vector, buffers)
    if vector is not None and vector in outer:
        outer = [s for s in outer if s != vector] + [vector]
    names = final_names(outer, [s for s in loops if s not in outer], cluster)
    nest = Nest(
        tuple(Outer(names[s], s.extent, steps[s]) for s in outer if steps[s] < s.extent),
        {names[s]: k for k, s in enumerate(loops)},
        None if vector is None else names[vector],
        buffers,
        isinstance(target, CpuTarget) and not sequential,
        sequential,
    )
    return nest, cluster.substitute({s: from_symbol(n) for s, n in names.items()})


def final_names(
    outer: Sequence[Symbol], inner: Sequence[Symbol], cluster: Cluster
) -> dict[Symbol, Symbol]:
    """Return the names that code shows, numbered through."""
    rows = cluster.is_reduction or any(n.scanned is not None for n in cluster.nodes)
    names: dict[Symbol, Symbol] = {}
    for s in outer:
        names[s] = Symbol(f"x{len(names)}", 0, s.upper)
    for s in inner:
        names[s] = Symbol(f"r0_{len(names)}" if rows else f"x{len(names)}", 0, s.upper)
    return names


# ---- merging and order ---------------------------------------------------------------------------


def merge_cluster(cluster: Cluster, buffers: Mapping[str, BufferInfo]) -> Cluster:
    """Merge loops that Proposition 6.3 allows in every node at once."""
    loops = order_loops(cluster, buffers)
    exprs = {
        node.name: [e for e in map(index_of, node.instructions) if e is not None]
        for node in cluster.nodes
    }
    runs: list[list[Symbol]] = []
    for symbol in loops:
        if runs and mergeable(runs[-1][-1], symbol, cluster, exprs):
            runs[-1].append(symbol)
        else:
            runs.append([symbol])
    return Cluster(tuple(node.merge(runs) for node in cluster.nodes))


def mergeable(
    outer: Symbol, inner: Symbol, cluster: Cluster, exprs: Mapping[str, Sequence[Expr]]
) -> bool:
    """Say whether two loops play the same part in every node, and every address allows the merge."""
    for node in cluster.nodes:
        roles = [(s in node.kept, s in node.reduced, s == node.scanned) for s in (outer, inner)]
        if roles[0] != roles[1] or roles[0][2]:
            return False
        if (roles[0][0] or roles[0][1]) and not can_merge(outer, inner, exprs[node.name]):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Access:
    """An address and the bytes that reaching all of its places moves."""

    index: Expr
    bytes: int


def accesses_of(nodes: Iterable[LoopNode], buffers: Mapping[str, BufferInfo]) -> list[Access]:
    """Return every read and write of the nodes, most bytes first; equal ones once."""
    found: dict[tuple[str, Expr], Access] = {}
    for node in nodes:
        for i in node.instructions:
            if isinstance(i, (Load, Store)) and (i.buffer, i.index) not in found:
                size = buffers[i.buffer].dtype.itemsize
                found[i.buffer, i.index] = Access(i.index, touched(i.index) * size)
    return sorted(found.values(), key=lambda a: -a.bytes)


def order_loops(cluster: Cluster, buffers: Mapping[str, BufferInfo]) -> list[Symbol]:
    """Return all loop variables, largest steps first, judged by the access with most bytes that uses each.

    Indirect writes fix the order: a later write to a place wins, as it does in eager execution.
    """
    loops = list(dict.fromkeys(s for n in cluster.nodes for s in (*n.kept, *n.reduced)))
    if cluster.is_update:
        return loops
    steps: dict[Symbol, int] = {}
    for access in accesses_of(cluster.nodes, buffers):
        for s in loops:
            if s not in steps:
                step = access.index.stride(s)
                if step:
                    steps[s] = abs(step)
        if len(steps) == len(loops):
            break
    return sorted(loops, key=lambda s: -steps.get(s, 0))


# ---- the vector loop and tiles -------------------------------------------------------------------


def best_vector(
    nodes: Iterable[LoopNode], loops: frozenset[Symbol], buffers: Mapping[str, BufferInfo]
) -> Symbol | None:
    """Return the loop along which most bytes are adjacent; strided access counts against a loop."""
    scores = dict.fromkeys(sorted(loops, key=lambda s: s.name), 0.0)
    for access in accesses_of(nodes, buffers):
        for s in scores:
            step = access.index.stride(s)
            if step == 1:
                scores[s] += access.bytes
            elif step != 0:
                scores[s] -= access.bytes / 4
    for s in scores:
        if s.extent < choices.SHORT_EXTENT and scores[s] > 0:
            scores[s] *= s.extent / choices.SHORT_EXTENT
    return max(scores, key=lambda s: (scores[s], s.extent), default=None)


def tile_loops(
    cluster: Cluster,
    outer: Sequence[Symbol],
    vector: Symbol | None,
    buffers: Mapping[str, BufferInfo],
) -> dict[Symbol, int]:
    """Return the tile size of every parallel loop; 1 leaves it as it is."""
    steps = dict.fromkeys(outer, 1)
    if vector is None or vector not in outer:
        return steps
    others = [s for s in outer if s != vector]
    if any(node.loops - set(outer) for node in cluster.nodes):
        steps[vector] = choices.column_tile(vector.extent, prod(s.extent for s in others))
        return steps
    across = transposed_loop(cluster, others, vector, buffers)
    if across is not None:
        steps[across] = min(across.extent, choices.TRANSPOSED_RUN)
        steps[vector] = min(vector.extent, choices.TRANSPOSED_TILE)
        return steps
    ordered = [*others, vector]
    return dict(zip(ordered, choices.pointwise_tiles([s.extent for s in ordered]), strict=True))


def transposed_loop(
    cluster: Cluster,
    others: Sequence[Symbol],
    vector: Symbol,
    buffers: Mapping[str, BufferInfo],
) -> Symbol | None:
    """Return a loop along which a fair part of the traffic is adjacent while it is strided along the vector loop."""
    accesses = accesses_of(cluster.nodes, buffers)
    total = sum(a.bytes for a in accesses)
    for access in accesses:
        if access.bytes * choices.TRANSPOSED_SHARE < total:
            break
        if access.index.stride(vector) not in {0, 1}:
            for s in others:
                if access.index.stride(s) == 1 and s.extent >= choices.SHORT_EXTENT:
                    return s
    return None
