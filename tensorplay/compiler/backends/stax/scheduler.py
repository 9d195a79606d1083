"""Decide what runs together and in which order.

In: a `LoopProgram`. Out: a `Schedule`: groups (kernels) and external calls, in an order that respects every dependence.

1. Every computed buffer becomes a `LoopNode` in canonical loops; every external call stays as it is (`units`).
2. Reads and writes give the dependence graph, over which pairs are fused (`fusion`).
3. The units are put into the order that needs least memory (`ordering`).
4. Every cluster is turned into a `Group` (`groups`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax import clusters
from tensorplay.compiler.backends.stax.clusters import Cluster
from tensorplay.compiler.backends.stax.fusion import UnitGraph
from tensorplay.compiler.backends.stax.groups import build_group
from tensorplay.compiler.backends.stax.ir import InputBuffer, LoopProgram
from tensorplay.compiler.backends.stax.loop_nodes import SymbolSource
from tensorplay.compiler.backends.stax.memory import safe_write_backs, touched_by
from tensorplay.compiler.backends.stax.ordering import order_units
from tensorplay.compiler.backends.stax.schedule import (
    BufferInfo,
    Refusal,
    Schedule,
    Step,
)
from tensorplay.compiler.backends.stax.units import (
    Unit,
    buffer_infos,
    make_units,
    unit_reads,
)

if TYPE_CHECKING:
    from tensorplay.compiler.target import Target


def schedule_program(program: LoopProgram, target: Target) -> Schedule:
    """Schedule a program."""
    buffers = buffer_infos(program)
    source = SymbolSource()
    graph = UnitGraph(make_units(program, source), buffers, target, source)
    graph.fuse_all()
    units = order_units(graph.live_units(), buffers, frozenset(program.outputs))
    steps = build_steps(units, buffers, frozenset(program.outputs), target)
    inputs = tuple(b.name for b in program.buffers if isinstance(b, InputBuffer))
    used = {b for step in steps for b in touched_by(step)} | set(program.outputs) | set(inputs)
    return Schedule(
        steps,
        {name: info for name, info in buffers.items() if name in used},
        inputs,
        program.outputs,
        graph.refusals(),
        safe_write_backs(steps, program.write_backs, buffers),
    )


def legal(a: Cluster, b: Cluster) -> Refusal | None:
    """Say why two clusters can't be one kernel, cycles aside; None if they can. Profit isn't asked."""
    joined = clusters.fuse(a, b, SymbolSource("p"))
    return joined if isinstance(joined, Refusal) else None


def build_steps(
    units: Sequence[Unit],
    buffers: Mapping[str, BufferInfo],
    outputs: frozenset[str],
    target: Target,
) -> tuple[Step, ...]:
    """Turn every unit into a step; a buffer that only its own cluster reads need not exist outside.

    Groups that compute the same are numbered, so that a name says nothing of what else is in the program.
    """
    readers: dict[str, set[int]] = {}
    for number, unit in enumerate(units):
        for buffer in unit_reads(unit):
            readers.setdefault(buffer, set()).add(number)
        if isinstance(unit, Cluster):
            for buffer, node in unit.writers.items():
                if node.is_update:
                    readers.setdefault(buffer, set()).add(number)
    steps: list[Step] = []
    names: Counter[str] = Counter()
    for number, unit in enumerate(units):
        if not isinstance(unit, Cluster):
            steps.append(unit.step)
            continue
        needed = frozenset(
            b for b in unit.writers if b in outputs or readers.get(b, set()) - {number}
        )
        group = build_group(unit, buffers, needed, target)
        steps.append(replace(group, name=f"{group.name}_{names[group.name]}"))
        names[group.name] += 1
    return tuple(steps)
