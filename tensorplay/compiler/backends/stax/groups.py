"""Turn a cluster into a `Group`: an outer nest, segments, and row-local values instead of buffers.

In: a `Cluster` and what is known of its buffers. Out: a `Group`, complete for code generation. Nodes go, in order, into
the first segment that has their loops and comes after everything they need; a value that is used again in the same
iteration is passed on directly, one that a later segment of the same row reads becomes a `Local`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax.hoisting import hoist_columns
from tensorplay.compiler.backends.stax.index import Expr, Symbol, natural_key
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    IndexExpr,
    Instr,
    Load,
    LoadLocal,
    Part,
    Reduce,
    Store,
    StoreLocal,
    ValueId,
    drop_unused_parts,
    key,
    renumber,
)
from tensorplay.compiler.backends.stax.loop_nest import Nest, plan_nest
from tensorplay.compiler.backends.stax.loop_nodes import LoopNode, touched
from tensorplay.compiler.backends.stax.schedule import (
    BufferInfo,
    Group,
    Inner,
    Local,
    Role,
    Segment,
)
from tensorplay.compiler.backends.stax.seams import split_at_seams

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.clusters import Cluster
    from tensorplay.compiler.target import Target


def build_group(
    cluster: Cluster,
    buffers: Mapping[str, BufferInfo],
    needed_outside: frozenset[str],
    target: Target,
) -> Group:
    """Build the group of a cluster; `needed_outside` are the buffers that others read or that are returned.

    Its name is what it computes, not yet unique in the program.
    """
    nest, cluster = plan_nest(cluster, buffers, target)
    placements = place_nodes(cluster, nest)
    locals_by_buffer = choose_locals(cluster, nest, placements, buffers, needed_outside, target)
    builder = GroupBuilder(cluster, nest, placements, locals_by_buffer, needed_outside, buffers)
    return builder.build()


# ---- segments ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Placement:
    """A segment in the making: its loops, what it merges or scans over, and its nodes."""

    loops: frozenset[Symbol]
    reduced: frozenset[Symbol] | None = None
    scanned: Symbol | None = None
    nodes: list[LoopNode] = field(default_factory=list)
    vector: Symbol | None = None
    order: tuple[Symbol, ...] = ()

    def accepts(self, loops: frozenset[Symbol], node: LoopNode) -> bool:
        """Say whether a node can run in these loops, beside the nodes that are there."""
        if loops != self.loops:
            return False
        if node.is_reduction and self.reduced not in (None, frozenset(node.reduced)):
            return False
        if node.scanned is not None or self.scanned is not None:
            return node.scanned == self.scanned or not self.nodes
        return True

    def add(self, node: LoopNode) -> None:
        """Put a node at the end."""
        self.nodes.append(node)
        if node.is_reduction:
            self.reduced = frozenset(node.reduced)
        if node.scanned is not None:
            self.scanned = node.scanned


def place_nodes(cluster: Cluster, nest: Nest) -> list[Placement]:
    """Assign every node to a segment. Linear in nodes times segments."""
    placements: list[Placement] = []
    home: dict[str, int] = {}
    for node in cluster.nodes:
        loops = nest.segment_loops(node)
        earliest = 0
        for buffer, loads in node.reads.items():
            writer = cluster.writers.get(buffer)
            if writer is None or writer is node or writer.name not in home:
                continue
            same = same_iteration(writer, buffer, loads) and loops == nest.segment_loops(writer)
            earliest = max(earliest, home[writer.name] + (0 if same else 1))
        for number in range(earliest, len(placements)):
            if placements[number].accepts(loops, node):
                break
        else:
            number = len(placements)
            placements.append(Placement(loops))
        placements[number].add(node)
        home[node.name] = number
    for placement in placements:
        reduced = placement.reduced or frozenset()
        placement.vector = nest.vector_of(placement.nodes, placement.loops)
        placement.order = nest.order_segment(placement.loops, reduced, placement.vector)
    return placements


def same_iteration(writer: LoopNode, buffer: str, loads: Sequence[Load]) -> bool:
    """Say whether a value is read in the iteration that computes it."""
    store = writer.writes[buffer]
    return not writer.is_reduction and all(
        load.index == store.index and not load.indices for load in loads
    )


# ---- locals --------------------------------------------------------------------------------------


def choose_locals(
    cluster: Cluster,
    nest: Nest,
    placements: Sequence[Placement],
    buffers: Mapping[str, BufferInfo],
    needed_outside: frozenset[str],
    target: Target,
) -> dict[str, Local]:
    """Return the buffers that become row-local, in the order of their writers.

    A buffer does when only this cluster reads it, every read is at the place written by the same iteration, and what the
    row holds fits into the cache.
    """
    segment_of = {n.name: k for k, p in enumerate(placements) for n in p.nodes}
    chosen: dict[str, Local] = {}
    held = 0
    for buffer, writer in cluster.writers.items():
        if buffer in needed_outside or writer.is_update:
            continue
        index = writer.writes[buffer].index
        readers = cluster.reads.get(buffer, ())
        if any(load.index != index or load.indices for _, load in readers):
            continue
        axes = tuple(s for s in placements[segment_of[writer.name]].order if s in writer.kept)
        elsewhere = any(segment_of[n.name] != segment_of[writer.name] for n, _ in readers)
        size = prod(nest.extent(s) for s in axes) * buffers[buffer].dtype.itemsize
        if elsewhere:
            if not choices.fits_row_buffers(held + size, target):
                continue
            held += size
        chosen[buffer] = Local(buffer, buffers[buffer].dtype, axes)
    return chosen


# ---- bodies --------------------------------------------------------------------------------------


class SegmentBuilder:
    """Merges the instructions of a segment's nodes; equal ones once."""

    def __init__(self) -> None:
        """Start empty. Values of `after` have negative numbers until the body is complete."""
        self.body: list[Instr] = []
        self.after: list[Instr] = []
        self.known: dict[object, ValueId] = {}
        self.stored: dict[tuple[str, Expr], ValueId] = {}

    def add(self, instruction: Instr) -> ValueId:
        """Add to the body, or find the equal instruction."""
        identity = key(instruction)
        number = self.known.get(identity)
        if number is None:
            number = self.known[identity] = len(self.body)
            self.body.append(instruction)
        return number

    def add_after(self, instruction: Instr) -> ValueId:
        """Add to what runs when the reduced loops are done."""
        self.after.append(instruction)
        return -len(self.after)

    def finish(self) -> tuple[tuple[Instr, ...], tuple[Instr, ...]]:
        """Return body and after, numbered through, without what nothing uses."""
        size = len(self.body)
        after = [renumber(i, lambda v: v if v >= 0 else size - 1 - v) for i in self.after]
        return drop_unused_parts(self.body, after)


class GroupBuilder:
    """Builds the segments of one group."""

    def __init__(
        self,
        cluster: Cluster,
        nest: Nest,
        placements: Sequence[Placement],
        locals_by_buffer: Mapping[str, Local],
        needed_outside: frozenset[str],
        buffers: Mapping[str, BufferInfo],
    ) -> None:
        """Start without segments."""
        self.cluster = cluster
        self.nest = nest
        self.placements = placements
        self.locals_by_buffer = locals_by_buffer
        self.needed_outside = needed_outside
        self.buffers = buffers
        self.checks: list[str] = []
        self.used_locals: set[str] = set()
        self.segment_of = {n.name: k for k, p in enumerate(placements) for n in p.nodes}

    def build(self) -> Group:
        """Return the group."""
        segments = tuple(self.build_segment(k, p) for k, p in enumerate(self.placements))
        own = tuple(v for k, v in self.locals_by_buffer.items() if k in self.used_locals)
        if self.nest.vectorize:
            whole = frozenset(self.nest.rank) - {o.symbol for o in self.nest.outer}
            parts = [p for s in segments for p in split_at_seams(s, whole)]
            hoisted = hoist_columns(parts, {v.name: v.axes for v in own})
            segments, own = hoisted.segments, own + hoisted.locals
        instructions = [i for s in segments for i in (*s.body, *s.after)]
        loads = {i.buffer for i in instructions if isinstance(i, Load)}
        stores = {i.buffer for i in instructions if isinstance(i, Store)}
        updates = {i.buffer for i in instructions if isinstance(i, Store) and is_update(i)}
        origins = tuple(dict.fromkeys(o for n in self.cluster.nodes for o in n.origins))
        return Group(
            name=group_name(origins),
            device=self.cluster.device,
            outer=self.nest.outer,
            locals=own,
            segments=segments,
            reads=tuple(sorted(loads - stores, key=name_order)),
            writes=tuple(sorted(stores - updates, key=name_order)),
            updates=tuple(sorted(updates, key=name_order)),
            parallel=not self.cluster.is_update,
            checks=tuple(self.checks),
            index_bits=index_bits(instructions, self.buffers),
            operations=sum(n.cost * n.iterations for n in self.cluster.nodes),
            bytes_moved=traffic(instructions, self.buffers),
            nodes=tuple(n.name for n in self.cluster.nodes),
            origins=origins,
        )

    def build_segment(self, number: int, placement: Placement) -> Segment:
        """Merge the nodes of one segment."""
        builder = SegmentBuilder()
        for node in placement.nodes:
            self.add_node(builder, node, number)
        body, after = builder.finish()
        reduced = placement.reduced or frozenset()
        loops = tuple(
            Inner(
                s,
                s.extent,
                Role.REDUCED
                if s in reduced
                else Role.SCANNED
                if s == placement.scanned
                else Role.KEPT,
            )
            for s in placement.order
        )
        return Segment(loops, body, after, placement.vector)

    def add_node(self, builder: SegmentBuilder, node: LoopNode, segment: int) -> None:
        """Add a node's instructions to a segment."""
        new: dict[ValueId, ValueId] = {}
        for number, instruction in enumerate(node.instructions):
            match instruction:
                case Store():
                    self.add_store(builder, renumbered(instruction, new), segment)
                case Load(buffer=buffer, index=index):
                    value = builder.stored.get((buffer, index))
                    if value is None and buffer in self.locals_by_buffer:
                        self.used_locals.add(buffer)
                        value = builder.add(LoadLocal(buffer, instruction.dtype))
                    if value is None:
                        value = builder.add(renumber(instruction, new.__getitem__))
                    new[number] = value
                case Part():
                    new[number] = builder.add_after(renumber(instruction, new.__getitem__))
                case CheckBounds(value=value, size=size, check=check, mask=mask):
                    message = node.checks[check]
                    if message not in self.checks:
                        self.checks.append(message)
                    moved = CheckBounds(value, size, self.checks.index(message), mask)
                    new[number] = builder.add(renumber(moved, new.__getitem__))
                case _:
                    new[number] = builder.add(renumber(instruction, new.__getitem__))

    def add_store(self, builder: SegmentBuilder, store: Store, segment: int) -> None:
        """Write to memory, to a local, or only remember the value, as its readers need."""
        late = store.value < 0 or isinstance(builder.body[store.value], Reduce)
        put = builder.add_after if late else append_to(builder)
        local = self.locals_by_buffer.get(store.buffer)
        if not late and store.mode == "set" and store.mask is None:
            builder.stored[store.buffer, store.index] = store.value
        if local is None:
            put(store)
            return
        readers = self.cluster.reads.get(store.buffer, ())
        if any(late or self.segment_of[n.name] != segment for n, _ in readers):
            put(StoreLocal(store.buffer, store.value))


def append_to(builder: SegmentBuilder) -> Callable[[Instr], ValueId]:
    """Return the function that adds an instruction with an effect to the body."""

    def put(instruction: Instr) -> ValueId:
        builder.body.append(instruction)
        return len(builder.body) - 1

    return put


def renumbered(store: Store, new: Mapping[ValueId, ValueId]) -> Store:
    """Return the write with its operands renamed."""
    moved = renumber(store, new.__getitem__)
    assert isinstance(moved, Store)  # noqa: S101  # renumber keeps the kind
    return moved


# ---- facts of a group ----------------------------------------------------------------------------


def is_update(store: Store) -> bool:
    """Say whether a write changes a buffer that was written before."""
    return store.mode != "set"


def name_order(name: str) -> tuple[tuple[int, str], ...]:
    """Order buffer names with their numbers as numbers."""
    return natural_key(name)


def group_name(origins: Sequence[str]) -> str:
    """Return a name that says what is computed."""
    words = dict.fromkeys(
        o.rstrip("_0123456789") or o for o in origins if not o.startswith("primals")
    )
    return "_".join(["fused", *list(words)[:6]])


def index_bits(instructions: Sequence[Instr], buffers: Mapping[str, BufferInfo]) -> int:
    """Return 32 when every reachable offset and every index value is below 2**31, else 64.

    Offsets are counted in bytes where the element size could push them over: the rule is the largest reachable offset,
    never the number of elements (a strided view of three rows can reach past 2**31).
    """
    limit = 1 << 31
    for i in instructions:
        if not isinstance(i, (Load, Store, IndexExpr)):
            continue
        size = 1 if isinstance(i, IndexExpr) else buffers[i.buffer].dtype.itemsize
        low, high = i.index.bounds
        if low * size < -limit or high * size >= limit:
            return 64
    return 32


def traffic(instructions: Sequence[Instr], buffers: Mapping[str, BufferInfo]) -> int:
    """Return the bytes that must move at least: every place of every buffer once."""
    places: dict[str, int] = {}
    for i in instructions:
        if isinstance(i, (Load, Store)):
            places[i.buffer] = max(places.get(i.buffer, 0), touched(i.index))
    return sum(min(n, buffers[b].elements) * buffers[b].dtype.itemsize for b, n in places.items())
