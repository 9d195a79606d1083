"""Units of the schedule: clusters of loops, and external calls.

In: a `LoopProgram`. Out: one unit a computed buffer or external call, and what is known of every buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tensorplay.compiler.backends.stax.clusters import Cluster
from tensorplay.compiler.backends.stax.ir import (
    ComputedBuffer,
    ExternBuffer,
    ExternCall,
    LoopProgram,
    StridedView,
)
from tensorplay.compiler.backends.stax.loop_nodes import SymbolSource, make_node
from tensorplay.compiler.backends.stax.schedule import BufferInfo, BufferView, Extern


@dataclass(frozen=True, slots=True)
class ExternUnit:
    """An external call as a unit of the schedule."""

    step: Extern
    position: int


Unit: TypeAlias = Cluster | ExternUnit


def buffer_infos(program: LoopProgram) -> dict[str, BufferInfo]:
    """Return what each buffer holds; a scatter's result is its target's memory."""
    infos: dict[str, BufferInfo] = {}
    for b in program.buffers:
        layout = b.layout
        infos[b.name] = BufferInfo(
            b.name, layout.dtype, layout.size, layout.stride, str(layout.device), layout.reach
        )
    return infos


def make_units(program: LoopProgram, source: SymbolSource) -> list[Unit]:
    """Return one unit a computed buffer or external call, in the order of the program."""
    units: list[Unit] = []
    calls: dict[int, list[ExternBuffer]] = {}
    for b in program.buffers:
        if isinstance(b, ExternBuffer):
            calls.setdefault(id(b.call), []).append(b)
    done: set[int] = set()
    for position, b in enumerate(program.buffers):
        if isinstance(b, ComputedBuffer):
            if b.is_empty:
                continue
            body = program.bodies[b.name]
            node = make_node(b.name, position, str(b.layout.device), body, b.origins, source)
            units.append(Cluster((node,)))
        elif isinstance(b, ExternBuffer) and id(b.call) not in done:
            done.add(id(b.call))
            units.append(ExternUnit(make_extern(b.call, calls[id(b.call)]), position))
    return units


def make_extern(call: ExternCall, results: Sequence[ExternBuffer]) -> Extern:
    """Return the step of an external call."""
    reads: dict[str, None] = {}

    def view(argument: object) -> object:
        if isinstance(argument, StridedView):
            reads[argument.buffer] = None
            layout = argument.layout
            return BufferView(
                argument.buffer, layout.size, layout.stride, layout.offset, layout.dtype
            )
        if isinstance(argument, (list, tuple)):
            return type(argument)(map(view, argument))
        return argument

    args = tuple(map(view, call.args))
    kwargs = {k: view(v) for k, v in call.kwargs.items()}
    outputs = tuple(b.name for b in sorted(results, key=lambda b: b.position))
    return Extern(
        call.origin, call.overload, args, kwargs, outputs, tuple(reads), call.into, call.effect
    )


def unit_reads(unit: Unit) -> Sequence[str]:
    """Return the buffers that a unit reads."""
    return tuple(unit.reads) if isinstance(unit, Cluster) else unit.step.reads


def unit_writes(unit: Unit) -> Sequence[str]:
    """Return the buffers that a unit writes."""
    return tuple(unit.writers) if isinstance(unit, Cluster) else unit.step.outputs


def unit_name(unit: Unit) -> str:
    """Return the name of a unit's last buffer, or of its call."""
    return unit.name if isinstance(unit, Cluster) else unit.step.name


def first_position(unit: Unit) -> int:
    """Return the place of a unit's first part in the program."""
    return unit.first if isinstance(unit, Cluster) else unit.position


def last_position(unit: Unit) -> int:
    """Return the place of a unit's last part in the program."""
    return unit.last if isinstance(unit, Cluster) else unit.position
