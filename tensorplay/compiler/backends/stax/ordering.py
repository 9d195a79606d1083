"""Put units into an order that needs little memory.

Several heuristics propose an order; the one with the least peak wins, ties going to the order of the program. All are
topological orders made with a heap: n log n.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tensorplay.compiler.backends.stax.schedule import BufferInfo
from tensorplay.compiler.backends.stax.units import (
    Unit,
    first_position,
    unit_reads,
    unit_writes,
)

Live: TypeAlias = tuple[Unit, set[int], int]
"""A unit, the numbers of the units that must run before it, and its own number."""


def order_units(
    units: Sequence[Live], buffers: Mapping[str, BufferInfo], outputs: frozenset[str]
) -> list[Unit]:
    """Return the units in the best of the proposed orders."""

    def growth(unit: Unit, left: Mapping[str, int]) -> int:
        made = sum(buffers[b].bytes for b in unit_writes(unit))
        freed = sum(
            buffers[b].bytes for b in set(unit_reads(unit)) if left.get(b) == 1 and b not in outputs
        )
        return made - freed

    proposals = [
        topological_order(units, lambda unit, _: (first_position(unit), 0)),
        topological_order(units, lambda unit, left: (growth(unit, left), first_position(unit))),
        topological_order(units, lambda unit, left: (-sum(
            left.get(b) == 1 for b in set(unit_reads(unit))), first_position(unit))),
    ]  # fmt: skip
    return min(proposals, key=lambda order: peak_bytes(order, buffers, outputs))


def count_readers(units: Sequence[Live]) -> dict[str, int]:
    """Return how many units read each buffer."""
    readers: dict[str, int] = {}
    for unit, _, _ in units:
        for buffer in set(unit_reads(unit)):
            readers[buffer] = readers.get(buffer, 0) + 1
    return readers


def topological_order(
    units: Sequence[Live], rank: Callable[[Unit, Mapping[str, int]], tuple[int, int]]
) -> list[Unit]:
    """Return the units so that each comes after those before it; of several that are ready, the least rank first.

    Ranks are taken when a unit becomes ready, from the number of readers that each buffer still waits for.
    """
    left = count_readers(units)
    waiting = {number: len(before) for _, before, number in units}
    unit_of = {number: unit for unit, _, number in units}
    after: dict[int, list[int]] = {}
    for _, before, number in units:
        for other in before:
            after.setdefault(other, []).append(number)
    ready = [(rank(u, left), n) for u, before, n in units if not before]
    heapq.heapify(ready)
    order: list[Unit] = []
    while ready:
        _, number = heapq.heappop(ready)
        unit = unit_of[number]
        order.append(unit)
        for buffer in set(unit_reads(unit)):
            left[buffer] -= 1
        for other in after.get(number, ()):
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, (rank(unit_of[other], left), other))
    if len(order) != len(units):
        stuck = sorted(n for n, count in waiting.items() if count > 0)
        msg = f"the fused program has a cycle through units {stuck}"
        raise AssertionError(msg)
    return order


def peak_bytes(
    order: Sequence[Unit], buffers: Mapping[str, BufferInfo], outputs: frozenset[str]
) -> int:
    """Return the most bytes of computed buffers that are alive at once."""
    last: dict[str, int] = {}
    for place, unit in enumerate(order):
        for buffer in (*unit_reads(unit), *unit_writes(unit)):
            last[buffer] = place
    alive: set[str] = set()
    now = peak = 0
    for place, unit in enumerate(order):
        for buffer in unit_writes(unit):
            if buffer not in alive:
                alive.add(buffer)
                now += buffers[buffer].bytes
        peak = max(peak, now)
        for buffer in {*unit_reads(unit), *unit_writes(unit)}:
            if last[buffer] == place and buffer in alive and buffer not in outputs:
                alive.discard(buffer)
                now -= buffers[buffer].bytes
    return peak
