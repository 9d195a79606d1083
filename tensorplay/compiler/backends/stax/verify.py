"""Verifiers between the stages: what each phase promises to the next. Linear; on where `config.verify` is.

A failure is a fault of the compiler, never of the user, and names the group, the segment and the instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.ir import ComputedBuffer, LoopProgram
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    IndexExpr,
    Instr,
    Load,
    LoadLocal,
    Part,
    Reduce,
    Scan,
    Store,
    StoreLocal,
    has_effect,
    instruction_text,
    is_indirect,
    operands,
)
from tensorplay.compiler.backends.stax.memory import is_in_place, touched_by, writes_of
from tensorplay.compiler.backends.stax.schedule import Group, Place, Plan, Role, Schedule, Segment
from tensorplay.core.errors import VerifyError

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.index import Expr, Symbol


def fail(where: str, what: str) -> None:
    """Raise the error of a broken promise."""
    msg = f"{where}: {what}; this is a fault of the compiler, please report it"
    raise VerifyError(msg)


def verify_program(program: LoopProgram) -> None:
    """Check that names are unique, bodies are in single assignment and outputs exist."""
    names = [b.name for b in program.buffers]
    if len(set(names)) != len(names):
        fail("loop program", f"two buffers have one name: {names}")
    for b in program.buffers:
        if isinstance(b, ComputedBuffer) and not b.is_empty:
            body = program.bodies[b.name]
            verify_instructions(body.instructions, b.name)
            stores = [i for i in body.instructions if isinstance(i, Store)]
            if len(stores) != 1 or stores[0].buffer != b.storage:
                fail(b.name, f"it must be written once, found {len(stores)} writes")
            verify_symbols(body.instructions, {*body.loops, *body.reduced}, b.name)
    missing = set(program.outputs) - set(names)
    if missing:
        fail("loop program", f"outputs {sorted(missing)} are no buffers")


def verify_instructions(instructions: Sequence[Instr], where: str) -> None:
    """Check that every operand is defined before, and defines a value."""
    for number, instruction in enumerate(instructions):
        for operand in operands(instruction):
            if not 0 <= operand < number or has_effect(instructions[operand]):
                fail(where, f"{instruction_text(number, instruction)} reads tmp{operand}")


def verify_symbols(instructions: Iterable[Instr], loops: set[Symbol], where: str) -> None:
    """Check that addresses use only the loops around them and as many placeholders as there are values."""
    for number, instruction in enumerate(instructions):
        if not isinstance(instruction, (Load, Store, IndexExpr)):
            continue
        for symbol in instruction.index.symbols():
            if is_indirect(symbol):
                known = int(symbol.name[1:]) < len(instruction.indices)
            else:
                known = symbol in loops
            if not known:
                fail(where, f"{instruction_text(number, instruction)} uses {symbol}")


def verify_schedule(schedule: Schedule) -> None:
    """Check groups, and that every buffer is written before it is read."""
    written = {*schedule.inputs, *(b.name for b in schedule.buffers.values() if not b.elements)}
    for step in schedule.steps:
        if isinstance(step, Group):
            verify_group(step, schedule)
            early = [b for b in step.reads if b not in written]
        else:
            early = [b for b in step.reads if b not in written]
        if early:
            fail(step.name, f"it reads {early} before they are written")
        written.update(writes_of(step))
    missing = set(schedule.outputs) - written
    if missing:
        fail("schedule", f"outputs {sorted(missing)} are never written")


def verify_group(group: Group, schedule: Schedule) -> None:
    """Check a group: names, locals, loops and addresses."""
    declared = {*group.reads, *group.writes, *group.updates}
    if len(declared) != len(group.reads) + len(group.writes) + len(group.updates):
        fail(group.name, "a buffer stands in two of reads, writes and updates")
    plain = {o.symbol for o in group.outer if o.step == 1}
    tiled = set(group.tiled)
    axes = {v.name: v.axes for v in group.locals}
    filled: set[str] = set()
    for number, segment in enumerate(group.segments):
        where = f"{group.name}, segment {number}"
        loops = {loop.symbol for loop in segment.loops}
        if loops & plain or len(loops) != len(segment.loops):
            fail(where, "a loop stands twice")
        if segment.vector is not None and segment.vector not in loops:
            fail(where, f"the vector loop {segment.vector} isn't one of its loops")
        verify_instructions((*segment.body, *segment.after), where)
        verify_symbols((*segment.body, *segment.after), loops | plain, where)
        verify_parts(segment, where)
        for instruction in (*segment.body, *segment.after):
            match instruction:
                case Load(buffer=buffer, index=index) | Store(buffer=buffer, index=index):
                    if buffer not in declared:
                        fail(where, f"{buffer} isn't declared")
                    verify_reach(index, schedule.buffers[buffer].elements, buffer, group, where)
                case LoadLocal(local=local):
                    if local not in filled:
                        fail(where, f"the local {local} is read before it is written")
                case StoreLocal(local=local):
                    if not set(axes[local]) <= loops:
                        fail(where, f"the local {local} has axes {axes[local]}")
                    filled.add(local)
                case CheckBounds(check=check):
                    if check >= len(group.checks):
                        fail(where, f"check {check} has no message")
                case _:
                    pass
        if not tiled - loops <= set():
            unused = tiled - loops
            if any(uses(segment, s) for s in unused):
                fail(where, f"{unused} are tiled, and no loops of the segment")


def verify_parts(segment: Segment, where: str) -> None:
    """Check that values of reductions are read only when they exist, and that scans have a loop."""
    reductions = {n for n, i in enumerate(segment.body) if isinstance(i, Reduce)}
    if reductions and not segment.is_reduction:
        fail(where, "it reduces over no loop")
    for number, instruction in enumerate(segment.body):
        if isinstance(instruction, Part) or reductions & set(operands(instruction)):
            fail(where, f"{instruction_text(number, instruction)} reads an unfinished reduction")
        if isinstance(instruction, Scan) and Role.SCANNED not in {v.role for v in segment.loops}:
            fail(where, "it scans along no loop")
    late = {n + len(segment.body) for n in range(len(segment.after))}
    for number, instruction in enumerate(segment.after):
        if isinstance(instruction, (Reduce, Scan)):
            fail(where, "it reduces after its loops")
        if isinstance(instruction, (Store, StoreLocal)):
            value = instruction.value
            if value not in reductions and value not in late:
                text = instruction_text(len(segment.body) + number, instruction)
                fail(where, f"{text}: a value of the loops is gone after them")


def verify_reach(index: Expr, elements: int, buffer: str, group: Group, where: str) -> None:
    """Check that a direct address stays within its buffer; inputs of negative strides reach before their start."""
    low, high = index.bounds
    if buffer in group.reads or elements == 0:
        return
    if low < 0 or high >= elements:
        fail(where, f"{buffer}[{index}] reaches [{low}, {high}] of {elements} elements")


def uses(segment: Segment, symbol: Symbol) -> bool:
    """Say whether an address in a segment uses a loop variable."""
    return any(
        symbol in i.index.symbols()
        for i in (*segment.body, *segment.after)
        if isinstance(i, (Load, Store, IndexExpr))
    )


def verify_plan(plan: Plan) -> None:
    """Check that every buffer has a place, and that buffers alive at once don't overlap but where one replaces another."""
    schedule = plan.schedule
    last: dict[str, int] = {}
    first: dict[str, int] = {}
    for number, step in enumerate(schedule.steps):
        for name in touched_by(step):
            if name not in plan.allocations:
                fail(step.name, f"{name} has no place")
            first.setdefault(name, number)
            last[name] = number
    held = sorted(
        (a for a in plan.allocations.values() if a.place is Place.ARENA),
        key=lambda a: first.get(a.buffer, 0),
    )
    for k, a in enumerate(held):
        end_a = a.offset + schedule.buffers[a.buffer].bytes
        if a.offset % 64 or end_a > plan.arena_bytes:
            fail(a.buffer, f"it lies at {a.offset} of {plan.arena_bytes} bytes")
        for b in held[k + 1 :]:
            end, start = last[a.buffer], first[b.buffer]
            step = schedule.steps[end]
            replaces = isinstance(step, Group) and is_in_place(step, b.buffer, a.buffer)
            if start > end or (start == end and replaces):
                continue
            if a.offset < b.offset + schedule.buffers[b.buffer].bytes and b.offset < end_a:
                fail(a.buffer, f"it shares memory with {b.buffer} while both are alive")
