"""Let groups that differ only in names and in where their data begins be launches of one kernel.

In: a `Schedule`, and what prints one group. Out: the kernels, each text once, and a `Launch` for every group. The steps of
a recurrent network read and write other rows of the same arrays; the kernel of a row gets pointers to it:

    group fused_tanh_0: for x0 in 64                    group fused_tanh_1: for x0 in 64
      tmp0 = load gates[x0] : float32                     tmp0 = load gates[x0 + 64] : float32
      tmp1 = tanh(tmp0) : float32                         tmp1 = tanh(tmp0) : float32
      store buf3[x0] = tmp1                               store buf5[x0] = tmp1

    ("launch", fused_tanh_0, (gates, buf3), …)          ("launch", fused_tanh_0, (gates + 64, buf5), …)

So the text names no buffer of the program, and programs that have a kernel in common find it in the cache. Memory was
planned before this: what a kernel may write over is decided by the addresses of its group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.loop_body import Load, LoadLocal, Store, StoreLocal
from tensorplay.compiler.backends.stax.sources import KernelSource, Launch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tensorplay.compiler.backends.stax.loop_body import Instr
    from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Schedule

    Buffers = Mapping[str, BufferInfo]


def share_kernels(
    schedule: Schedule,
    print_group: Callable[[Group, Buffers], KernelSource],
    granule: Callable[[BufferInfo], int],
) -> tuple[tuple[KernelSource, ...], dict[str, Launch]]:
    """Return every kernel once, named for its first group, and the launch of each group.

    A pointer is moved by a multiple of ``granule(buffer)`` bytes, so that what a printer knows of alignment stays true.
    """
    kernels: dict[str, KernelSource] = {}
    launches: dict[str, Launch] = {}
    for group in schedule.groups:
        general, buffers, pointers = generalize(group, schedule.buffers, granule)
        printed = print_group(general, buffers)
        kernel = kernels.setdefault(printed.source.replace(group.name, "kernel"), printed)
        launches[group.name] = Launch(kernel.name, pointers)
    return tuple(kernels.values()), launches


def generalize(
    group: Group, buffers: Buffers, granule: Callable[[BufferInfo], int]
) -> tuple[Group, Buffers, tuple[tuple[str, int], ...]]:
    """Return a group over parameters instead of buffers, what each parameter is, and what it stands for here."""
    lowest: dict[str, int] = {}
    for segment in group.segments:
        for i in (*segment.body, *segment.after):
            if isinstance(i, (Load, Store)):
                lowest[i.buffer] = min(lowest.get(i.buffer, i.index.constant), i.index.constant)
    order = {name: place for place, name in enumerate(lowest)}
    new: dict[str, str] = {}
    for kind, names in (("in", group.reads), ("out", group.writes), ("io", group.updates)):
        by_first_use = sorted(names, key=lambda name: order.get(name, len(order)))
        new.update({name: f"{kind}{k}" for k, name in enumerate(by_first_use)})
    shifts = {name: first_place(buffers[name], lowest.get(name, 0), granule) for name in new}
    rows = {local.name: str(k) for k, local in enumerate(group.locals)}

    def general(instruction: Instr) -> Instr:
        match instruction:
            case Load(buffer=buffer, index=index) | Store(buffer=buffer, index=index):
                return replace(instruction, buffer=new[buffer], index=index - shifts[buffer])
            case LoadLocal(local=local) | StoreLocal(local=local):
                return replace(instruction, local=rows[local])
            case _:
                return instruction

    parameters = list(new.values())
    end_of_reads, end_of_writes = len(group.reads), len(group.reads) + len(group.writes)
    changed = replace(
        group,
        locals=tuple(replace(v, name=rows[v.name]) for v in group.locals),
        segments=tuple(
            replace(s, body=tuple(map(general, s.body)), after=tuple(map(general, s.after)))
            for s in group.segments
        ),
        reads=tuple(parameters[:end_of_reads]),
        writes=tuple(parameters[end_of_reads:end_of_writes]),
        updates=tuple(parameters[end_of_writes:]),
    )
    infos = {parameter: replace(buffers[name], name=parameter) for name, parameter in new.items()}
    return changed, infos, tuple(shifts.items())


def first_place(info: BufferInfo, lowest: int, granule: Callable[[BufferInfo], int]) -> int:
    """Return how far a pointer is moved when the lowest constant of its addresses is ``lowest``: never out of the buffer."""
    if not 0 < lowest < info.elements or any(step < 0 for step in info.strides):
        return 0
    return lowest - lowest % max(1, granule(info) // info.dtype.itemsize)
