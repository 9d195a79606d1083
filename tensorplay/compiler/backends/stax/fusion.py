"""The dependence graph of units, and greedy fusion over it.

Pairs that share a buffer are fused, best score first, until no pair is left that is legal, free of cycles and worth it.
Only pairs that touch a common buffer are looked at, and of many readers of one buffer only neighbors: the number of
candidates is linear in the reads and writes of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax import choices, clusters
from tensorplay.compiler.backends.stax.clusters import Cluster
from tensorplay.compiler.backends.stax.schedule import BufferInfo, Reason, Refusal
from tensorplay.compiler.backends.stax.units import (
    ExternUnit,
    Unit,
    first_position,
    last_position,
    unit_name,
    unit_reads,
    unit_writes,
)

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.loop_nodes import SymbolSource
    from tensorplay.compiler.target import Target

PATH_LIMIT = 512
"""Units looked at in a search for a path; a pair that needs more is taken to stand in a cycle."""


@dataclass(slots=True)
class Links:
    """The units that must run before and after one."""

    before: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)


class UnitGraph:
    """Units and their dependences; fusing two makes a new unit with a new number."""

    def __init__(
        self,
        units: Sequence[Unit],
        buffers: Mapping[str, BufferInfo],
        target: Target,
        source: SymbolSource,
    ) -> None:
        """Find the dependences. Linear in reads and writes."""
        self.units: list[Unit | None] = list(units)
        self.links = [Links() for _ in units]
        self.buffers = buffers
        self.target = target
        self.source = source
        self.merged_into: list[int] = list(range(len(units)))
        self.refused: dict[tuple[int, int], Refusal] = {}
        self.touching: dict[str, list[int]] = {}
        writers: dict[str, list[int]] = {}
        readers: dict[str, list[int]] = {}
        last_effect: int | None = None
        for number, unit in enumerate(units):
            for buffer in unit_reads(unit):
                self.connect(writers.get(buffer, ()), number)
                readers.setdefault(buffer, []).append(number)
                self.touching.setdefault(buffer, []).append(number)
            for buffer in unit_writes(unit):
                self.connect(writers.get(buffer, ()), number)
                self.connect(readers.pop(buffer, ()), number)
                writers[buffer] = [number]
                self.touching.setdefault(buffer, []).append(number)
            if isinstance(unit, ExternUnit) and unit.step.effect:
                if last_effect is not None:
                    self.connect((last_effect,), number)
                last_effect = number

    def connect(self, before: Sequence[int], after: int) -> None:
        """Note that units must run before another."""
        for number in before:
            if number != after:
                self.links[number].after.add(after)
                self.links[after].before.add(number)

    def find(self, number: int) -> int:
        """Return the unit that a unit has become part of."""
        root = number
        while self.merged_into[root] != root:
            root = self.merged_into[root]
        while self.merged_into[number] != root:
            self.merged_into[number], number = root, self.merged_into[number]
        return root

    def live_units(self) -> list[tuple[Unit, set[int], int]]:
        """Return (unit, numbers of the units before it, number) for every unit, first position first."""
        live = [
            (unit, self.links[number].before, number)
            for number, unit in enumerate(self.units)
            if unit is not None
        ]
        return sorted(live, key=lambda item: first_position(item[0]))

    # ---- greedy fusion ---------------------------------------------------------------------------

    def fuse_all(self) -> None:
        """Fuse in rounds until one changes nothing.

        A later round looks again at pairs that stood in a cycle: what stood between them may have joined one of them.
        """
        while self.fuse_round():
            pass

    def fuse_round(self) -> bool:
        """Try every candidate pair once, best score first; say whether any was fused."""
        changed = False
        for a, b in self.candidates():
            first, second = self.find(a), self.find(b)
            if first != second and self.try_pair(first, second):
                changed = True
        return changed

    def candidates(self) -> list[tuple[int, int]]:
        """Return pairs of clusters that touch a common buffer, best score first; linear in the number of reads."""
        scored: dict[tuple[int, int], choices.Score] = {}
        for numbers in self.touching.values():
            live = list(dict.fromkeys(map(self.find, numbers)))
            live = [n for n in live if isinstance(self.units[n], Cluster)]
            for a, b in neighbors(live):
                pair = (min(a, b), max(a, b))
                if pair in scored or pair in self.refused:
                    continue
                one, other = self.units[pair[0]], self.units[pair[1]]
                if isinstance(one, Cluster) and isinstance(other, Cluster):
                    scored[pair] = choices.score_fusion(one, other, self.buffers)
        return sorted(scored, key=lambda p: scored[p], reverse=True)

    def try_pair(self, a: int, b: int) -> bool:
        """Fuse two units if that is legal and pays; else remember why not."""
        pair = (min(a, b), max(a, b))
        if pair in self.refused:
            return False
        one, other = self.units[a], self.units[b]
        if not isinstance(one, Cluster) or not isinstance(other, Cluster):
            return False
        if one.first > other.first:
            one, other, a, b = other, one, b, a
        joined = clusters.fuse(one, other, self.source)
        if isinstance(joined, Refusal):
            self.refused[pair] = joined
            return False
        veto = choices.can_fuse(one, other, joined, self.buffers, self.target)
        if veto is not None:
            self.refused[pair] = Refusal(Reason.NO_PROFIT, veto)
            return False
        between = self.path_between(a, b)
        if between is not None:
            self.refused[pair] = Refusal(Reason.CYCLE, f"{between} lies between")
            return False
        self.merge(a, b, joined)
        return True

    def merge(self, a: int, b: int, joined: Cluster) -> None:
        """Replace two units by their cluster."""
        number = len(self.units)
        self.units.append(joined)
        self.merged_into.append(number)
        links = Links(
            (self.links[a].before | self.links[b].before) - {a, b},
            (self.links[a].after | self.links[b].after) - {a, b},
        )
        self.links.append(links)
        for old in (a, b):
            self.units[old] = None
            self.merged_into[old] = number
        for other in links.before:
            self.links[other].after -= {a, b}
            self.links[other].after.add(number)
        for other in links.after:
            self.links[other].before -= {a, b}
            self.links[other].before.add(number)

    def path_between(self, a: int, b: int) -> str | None:
        """Return a unit on a path from one to the other that leaves both, or None."""
        return self.path(a, b) or self.path(b, a)

    def path(self, start: int, goal: int) -> str | None:
        """Return a unit on a path from `start` over others to `goal`, or None. Bounded by `PATH_LIMIT`."""
        end = self.units[goal]
        if end is None or len(self.links[goal].before) == (start in self.links[goal].before):
            return None
        last = last_position(end)
        pending = [n for n in self.links[start].after if n != goal]
        seen = set(pending)
        while pending:
            number = pending.pop()
            unit = self.units[number]
            if unit is None or first_position(unit) > last:
                continue
            if goal in self.links[number].after or len(seen) > PATH_LIMIT:
                return unit_name(unit)
            for following in self.links[number].after - seen:
                seen.add(following)
                pending.append(following)
        return None

    def refusals(self) -> dict[tuple[str, str], Refusal]:
        """Return why pairs of units that were looked at stayed apart, by the names of their last buffers."""
        found: dict[tuple[str, str], Refusal] = {}
        for (a, b), refusal in self.refused.items():
            one, other = self.find(a), self.find(b)
            first, second = self.units[one], self.units[other]
            if one != other and first is not None and second is not None:
                found[unit_name(first), unit_name(second)] = refusal
        return found


def neighbors(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first with each other, and each with the next: linear, where all pairs would be quadratic."""
    for place in range(1, len(numbers)):
        yield numbers[0], numbers[place]
        if place > 1:
            yield numbers[place - 1], numbers[place]
