"""Give every buffer a place: lifetimes, reuse in place, offsets in one arena.

In: a `Schedule`. Out: a `Plan`. A buffer lives from the step that writes it to the last that reads it; buffers whose
lives don't overlap share memory. A kernel may write over a buffer that it is the last to read, where it reads every
element at the latest in the iteration that writes the element's place.

    x → a = exp(x @ w)   [arena 0]
        b = a @ v        [arena 1]
        c = b * 2        written over b
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tensorplay.compiler.backends.stax.loop_body import Load, Store
from tensorplay.compiler.backends.stax.schedule import (
    Allocation,
    BufferInfo,
    Extern,
    Group,
    Place,
    Plan,
    Schedule,
    Step,
)

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector."""


def plan_memory(schedule: Schedule) -> Plan:
    """Plan the memory of a schedule. Linear but for the search in the list of free blocks."""
    last = last_uses(schedule)
    allocations = {name: Allocation(name, Place.INPUT) for name in schedule.inputs}
    arena = Arena()
    releases: list[tuple[str, ...]] = []
    for number, step in enumerate(schedule.steps):
        dying = [b for b in reads_of(step) if last.get(b) == number]
        for name in writes_of(step):
            if name in allocations:
                continue
            place = fixed_place(name, step, schedule)
            if place is None:
                info = schedule.buffers[name]
                old = replaceable(name, step, dying, allocations, schedule.buffers, arena)
                offset = arena.allocate(info.bytes) if old is None else arena.take_over(old, name)
                arena.owners[name] = offset
                place = Allocation(name, Place.ARENA, offset)
            allocations[name] = place
        ended = tuple(b for b in touched_by(step) if last.get(b, number) == number)
        for name in ended:
            if name in arena.owners:
                arena.free(arena.owners.pop(name), schedule.buffers[name].bytes)
        releases.append(tuple(b for b in ended if b not in schedule.outputs))
    for name in schedule.buffers:
        if name not in allocations:  # empty: no step writes it
            is_output = name in schedule.outputs
            allocations[name] = Allocation(name, Place.OUTPUT if is_output else Place.ARENA)
            arena.size = max(arena.size, 0 if is_output else ALIGNMENT)
    return Plan(schedule, allocations, arena.size, tuple(releases))


def last_uses(schedule: Schedule) -> dict[str, int]:
    """Return the last step that touches each buffer; outputs and inputs live on and are left out."""
    last: dict[str, int] = {}
    for number, step in enumerate(schedule.steps):
        for name in touched_by(step):
            last[name] = number
    for name in (*schedule.outputs, *schedule.inputs):
        last[name] = len(schedule.steps)
    return last


def fixed_place(name: str, step: Step, schedule: Schedule) -> Allocation | None:
    """Return where a buffer must be, or None if it may lie in the arena."""
    if name in schedule.aliases:
        return Allocation(name, Place.WRITE_BACK, alias=schedule.aliases[name])
    if isinstance(step, Extern) and not step.into:
        return Allocation(name, Place.EXTERN)
    return Allocation(name, Place.OUTPUT) if name in schedule.outputs else None


# ---- the arena -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Arena:
    """One block of memory; `holes` are its free parts as (offset, size), in order."""

    size: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    owners: dict[str, int] = field(default_factory=dict)

    def allocate(self, bytes_: int) -> int:
        """Take the smallest hole that is large enough, else grow."""
        wanted = round_up(bytes_)
        best = min(
            (h for h in self.holes if h[1] >= wanted), key=lambda h: (h[1], h[0]), default=None
        )
        if best is not None:
            self.holes.remove(best)
            if best[1] > wanted:
                insort(self.holes, (best[0] + wanted, best[1] - wanted))
            return best[0]
        offset = self.size
        if self.holes and sum(self.holes[-1]) == self.size:
            offset = self.holes.pop()[0]
        self.size = offset + wanted
        return offset

    def free(self, offset: int, bytes_: int) -> None:
        """Give memory back and join it with the holes beside it."""
        size = round_up(bytes_)
        for hole in [h for h in self.holes if offset in (sum(h), h[0] - size)]:
            self.holes.remove(hole)
            offset, size = min(offset, hole[0]), size + hole[1]
        insort(self.holes, (offset, size))

    def take_over(self, old: str, name: str) -> int:
        """Let a buffer have the memory of one that ends."""
        self.owners[name] = self.owners.pop(old)
        return self.owners[name]


def round_up(bytes_: int) -> int:
    """Round a size up to the alignment; nothing has no size."""
    return max(ALIGNMENT, -(-bytes_ // ALIGNMENT) * ALIGNMENT)


# ---- writing in place ----------------------------------------------------------------------------


def replaceable(
    name: str,
    step: Step,
    dying: Sequence[str],
    allocations: Mapping[str, Allocation],
    buffers: Mapping[str, BufferInfo],
    arena: Arena,
) -> str | None:
    """Return a buffer of the arena that ends in this step and that `name` may be written over."""
    if not isinstance(step, Group):
        return None
    for old in dying:
        if (
            old in arena.owners
            and allocations[old].place is Place.ARENA
            and round_up(buffers[old].bytes) == round_up(buffers[name].bytes)
            and buffers[old].dtype.itemsize == buffers[name].dtype.itemsize
            and is_in_place(step, name, old)
        ):
            return old
    return None


def is_in_place(group: Group, output: str, source: str) -> bool:
    """Say whether a group may write `output` over `source`.

    Every read of `source` must be at the address that the same iteration later writes, in an earlier segment or
    before the write in the same one.
    """
    accesses = [
        (segment, place, i)
        for segment, s in enumerate(group.segments)
        for place, i in enumerate((*s.body, *s.after))
        if isinstance(i, (Load, Store))
    ]
    writes = [(s, p, i) for s, p, i in accesses if isinstance(i, Store) and i.buffer == output]
    if len(writes) != 1 or output not in group.writes:
        return False
    segment, place, write = writes[0]
    return all(
        (s, p) < (segment, place) and i.index == write.index and not i.indices
        for s, p, i in accesses
        if i.buffer == source
    )


def safe_write_backs(
    steps: Sequence[Step], write_backs: Mapping[str, str], buffers: Mapping[str, BufferInfo]
) -> dict[str, str]:
    """Return the outputs that may be written straight into the input that the caller will overwrite.

    No later step may touch that input, the writer may read it only in place, both must have one layout, and nothing may
    fail any more once the input is changed: no check of the writer or after it, no kernel that isn't ours.
    """
    safe: dict[str, str] = {}
    for output, source in write_backs.items():
        writer = next((k for k, s in enumerate(steps) if output in writes_of(s)), None)
        if writer is None or layout_of(buffers[output]) != layout_of(buffers[source]):
            continue
        step, later = steps[writer], steps[writer + 1 :]
        if any(source in touched_by(s) for s in later) or any(map(can_fail, steps[writer:])):
            continue
        if source in safe.values() or not isinstance(step, Group):
            continue
        if is_in_place(step, output, source):
            safe[output] = source
    return safe


def layout_of(info: BufferInfo) -> tuple[object, ...]:
    """Return what two buffers must have in common to be one memory."""
    return info.dtype, info.shape, info.strides


def can_fail(step: Step) -> bool:
    """Say whether a step may raise an error."""
    return bool(step.checks) if isinstance(step, Group) else not step.into


# ---- what a step touches -------------------------------------------------------------------------


def reads_of(step: Step) -> tuple[str, ...]:
    """Return the buffers that a step reads in memory."""
    return step.reads + step.updates if isinstance(step, Group) else step.reads


def writes_of(step: Step) -> tuple[str, ...]:
    """Return the buffers that a step writes in memory."""
    return step.writes + step.updates if isinstance(step, Group) else step.outputs


def touched_by(step: Step) -> tuple[str, ...]:
    """Return the buffers that a step reads or writes in memory, each once."""
    return tuple(dict.fromkeys((*reads_of(step), *writes_of(step))))
