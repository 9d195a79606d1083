"""The types between scheduling and code generation: groups, segments, the schedule and the plan. All frozen.

`LoopProgram` → scheduler → `Schedule` (what runs together, in which order) → memory planning → `Plan` (where
every buffer lives) → codegen prints each `Group` as one kernel, the wrapper prints the steps.

A group is one kernel: an outer nest of parallel loops, and inside it *segments*, run one after the other for every
outer iteration. Softmax over rows of 1000, where `e` stays in a row buffer and memory is read and written once:

    group softmax: for x0 in 16384
      locals m: float32, e: float32[r0_0], s: float32
      segment: for r0_0 in 1000 (reduced), vector r0_0
        tmp0 = load primals_1[1000*x0 + r0_0] : float32
        tmp1 = reduce max(tmp0) : float32
      after:
        local m = tmp1
      segment: for r0_0 in 1000 (reduced), vector r0_0
        tmp0 = load primals_1[1000*x0 + r0_0] : float32
        tmp1 = local m : float32
        tmp2 = sub(tmp0, tmp1) : float32
        tmp3 = exp(tmp2) : float32
        local e = tmp3
        tmp5 = reduce sum(tmp3) : float32
      after:
        local s = tmp5
      segment: for r0_0 in 1000, vector r0_0
        tmp0 = local e : float32
        tmp1 = local s : float32
        tmp2 = div(tmp0, tmp1) : float32
        store buf4[1000*x0 + r0_0] = tmp2

How to print it as C++ (`int64_t kernel(void* const* buffers, int64_t begin, int64_t end)`):

- `buffers` are `Group.reads + Group.writes + Group.updates` in that order, each buffer once.
- The flattened outer iteration number runs over `[begin, end)` with `Group.iterations` in all; the last of
  `outer` is the fastest. A loop with `step == 1` gives its symbol the loop's number. A loop with `step > 1` is
  *tiled*: it counts tiles, and its symbol is then a loop of segments, which runs over
  `[tile*step, min((tile+1)*step, extent))`. The symbol keeps its full value, so no expression changes.
- A segment is a nest of its `loops` in the given order, around `body`; then `after`. Loops with role
  `REDUCED` are those that `Reduce` merges over; an accumulator exists for every point of the other (`KEPT`)
  loops. `after` runs once for every point of the kept loops. Values are numbered through `body` and `after`.
- `vector` is the loop whose consecutive values fill the lanes (None: scalar). If its role is `REDUCED`, lanes
  are merged at the end; if `KEPT` and the segment reduces, every lane is an accumulator of its own, and where the
  reduced loops lie outside the accumulators are an array over the kept loops (or registers, for a short tile).
- A `Local` without axes is a scalar variable of the outer iteration. With axes it is an array over the current
  tile (or the whole extent) of each axis, row-major, first element at the start of the tile.
- Accesses of one iteration happen in order; nothing else is promised between iterations of a `vector` loop, and
  outer iterations may run in any order and at once when `parallel`.
- The summation order of a `Reduce` must depend on the group only, not on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.compiler.backends.stax.loop_body import instruction_text
from tensorplay.core.readable import Readable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorplay.compiler.backends.stax.index import Symbol
    from tensorplay.compiler.backends.stax.loop_body import Instr
    from tensorplay.core.dtypes import DType
    from tensorplay.ops.registry import Overload


class Role(Enum):
    """What a loop of a segment is to its reductions and scans."""

    KEPT = "kept"
    REDUCED = "reduced"
    SCANNED = "scanned"


@dataclass(frozen=True, slots=True)
class Outer:
    """One loop of the parallel nest. `step > 1`: it counts tiles of `step` values, see the module's docstring."""

    symbol: Symbol
    extent: int
    step: int = 1

    @property
    def iterations(self) -> int:
        """The number of values, or tiles, that it runs through."""
        return -(-self.extent // self.step)


@dataclass(frozen=True, slots=True)
class Inner:
    """One loop of a segment: all of `extent`, or, if the group tiles this symbol, the current tile of it.

    `start` and `stop` narrow it to `[start, stop)` (only loops that aren't tiled), where a segment was split
    at the seams of a concatenation.
    """

    symbol: Symbol
    extent: int
    role: Role = Role.KEPT
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Local:
    """A value that lives for one outer iteration: a scalar, or an array over the current range of `axes`."""

    name: str
    dtype: DType
    axes: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """One pass over the row: a loop nest around `body`, then `after` for every point of the kept loops."""

    loops: tuple[Inner, ...]
    body: tuple[Instr, ...]
    after: tuple[Instr, ...] = ()
    vector: Symbol | None = None

    @property
    def is_reduction(self) -> bool:
        """Say whether something is merged over a loop."""
        return any(loop.role is Role.REDUCED for loop in self.loops)


@dataclass(frozen=True)
class Group(Readable):
    """One kernel.

    `reads` are only read, `writes` only written (or written before they are read, by the same outer iteration), `updates`
    are read and changed in place.

    `checks` are the messages of the bounds checks. `index_bits` is 32 when every address and every index value
    that the kernel forms is below 2**31, counted from the largest reachable offset, else 64. `operations` counts
    scalar operations (weighted by cost) and `bytes_moved` the least memory traffic of the whole group: together
    they say whether threads pay. `nodes` names the buffers that it computes, `origins` the graph nodes.
    """

    name: str
    device: str
    outer: tuple[Outer, ...]
    locals: tuple[Local, ...]
    segments: tuple[Segment, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    updates: tuple[str, ...] = ()
    parallel: bool = True
    checks: tuple[str, ...] = ()
    index_bits: int = 64
    operations: int = 0
    bytes_moved: int = 0
    nodes: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @cached_property
    def iterations(self) -> int:
        """The number of iterations of the flattened outer nest."""
        return prod(loop.iterations for loop in self.outer)

    @cached_property
    def tiled(self) -> Mapping[Symbol, int]:
        """The tile size of every symbol that the outer nest tiles."""
        return {loop.symbol: loop.step for loop in self.outer if loop.step > 1}

    def text(self) -> str:
        """Return the loops, the locals and the instructions."""
        outer = ", ".join(
            f"{o.symbol} in {o.extent}" + (f" by {o.step}" if o.step > 1 else "")
            for o in self.outer
        )
        lines = [f"group {self.name}: for {outer}" if outer else f"group {self.name}: once"]
        if self.locals:
            lines.append("  locals " + ", ".join(map(local_text, self.locals)))
        for segment in self.segments:
            lines += (f"  {line}" for line in segment_lines(segment))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class BufferView:
    """A strided view of a buffer, as an argument of an external kernel. Strides and offset in elements."""

    buffer: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Extern(Readable):
    """A call of an operator's own kernel (matrix multiply, convolution, …) on arrays.

    `args` and `kwargs` are those of `overload`, with a `BufferView` for every tensor (also inside lists).
    `outputs` name the buffers of its results, in order. With `into`, the kernel writes into memory that the plan
    allocates (`overload`'s kernel takes `out`); else it allocates its results itself, and the wrapper copies one
    whose strides differ from its `BufferInfo`. `effect`: it must run once, in order (it draws random state).
    """

    name: str
    overload: Overload
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    outputs: tuple[str, ...]
    reads: tuple[str, ...]
    into: bool = False
    effect: bool = False

    def text(self) -> str:
        """Return the call as one line."""
        inside = [argument_text(a) for a in self.args] + [
            f"{k}={argument_text(v)}" for k, v in self.kwargs.items()
        ]
        return f"extern {', '.join(self.outputs)} = {self.overload}({', '.join(inside)})"


Step: TypeAlias = Group | Extern


@dataclass(frozen=True, slots=True)
class BufferInfo:
    """What a buffer holds. `elements` counts the elements from the first to the last reachable one."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    elements: int

    @property
    def bytes(self) -> int:
        """The size of its memory."""
        return self.elements * self.dtype.itemsize


class Reason(Enum):
    """Why two nodes were not fused: a closed list."""

    NO_SHARED_DATA = "they share no data"
    DIFFERENT_DEVICES = "they run on different devices"
    DISTANCE = "one reads elements that the other writes in another outer iteration"
    INDIRECT_ACCESS = "one writes to places that depend on data"
    CYCLE = "something between them would have to run before and after the fused kernel"
    NO_PROFIT = "choices.can_fuse refused"


@dataclass(frozen=True, slots=True)
class Refusal(Readable):
    """Why a pair was not fused, with a detail for people."""

    reason: Reason
    detail: str = ""

    def text(self) -> str:
        """Return the reason and the detail."""
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


@dataclass(frozen=True)
class Schedule(Readable):
    """Steps in the order in which they run, every buffer they touch, and why pairs stayed apart.

    `aliases` gives for an output buffer the input that it may be written into (the caller's write-back), where no
    step after its writer reads that input.
    """

    steps: tuple[Step, ...]
    buffers: Mapping[str, BufferInfo]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    refusals: Mapping[tuple[str, str], Refusal] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The steps that are kernels."""
        return tuple(s for s in self.steps if isinstance(s, Group))

    def text(self) -> str:
        """Return the steps, then the reasons for each pair that was not fused."""
        lines = [step.text() for step in self.steps]
        lines += (f"not fused: {a}, {b}: {r.text()}" for (a, b), r in self.refusals.items())
        return "\n".join(lines)


class Place(Enum):
    """Where a buffer lives."""

    INPUT = "input"
    OUTPUT = "output"
    ARENA = "arena"
    EXTERN = "extern"
    WRITE_BACK = "write back"


@dataclass(frozen=True, slots=True)
class Allocation:
    """The memory of one buffer.

    `INPUT`: the caller's array. `OUTPUT`: allocated for each call and returned. `ARENA`: `offset` bytes (a
    multiple of 64) into one block that the call allocates, or keeps. `EXTERN`: made by the external call.
    `WRITE_BACK`: the memory of the input `alias`, whose old value nothing reads any more.
    """

    buffer: str
    place: Place
    offset: int = 0
    alias: str = ""


@dataclass(frozen=True)
class Plan(Readable):
    """A schedule and the place of every buffer; `releases[k]` are the buffers whose last reader is step k."""

    schedule: Schedule
    allocations: Mapping[str, Allocation]
    arena_bytes: int
    releases: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return one line a buffer."""
        lines = [f"arena: {self.arena_bytes} bytes"]
        for a in self.allocations.values():
            info = self.schedule.buffers[a.buffer]
            where = (
                f" at {a.offset}" if a.place is Place.ARENA else f" of {a.alias}" if a.alias else ""
            )
            lines.append(
                f"{a.buffer}: {info.dtype.name}{list(info.shape)} stride={list(info.strides)} {a.place.value}{where}"
            )
        return "\n".join(lines)


def local_text(local: Local) -> str:
    """Return a local's name, dtype and axes."""
    axes = ", ".join(map(str, local.axes))
    return f"{local.name}: {local.dtype.name}" + (f"[{axes}]" if axes else "")


def segment_lines(segment: Segment) -> list[str]:
    """Return the lines of a segment."""
    loops = ", ".join(map(inner_text, segment.loops))
    vector = f", vector {segment.vector}" if segment.vector is not None else ""
    lines = [f"segment: for {loops}{vector}" if loops else "segment:"]
    lines += (f"  {instruction_text(n, i)}" for n, i in enumerate(segment.body))
    if segment.after:
        lines.append("after:")
        base = len(segment.body)
        lines += (f"  {instruction_text(base + n, i)}" for n, i in enumerate(segment.after))
    return lines


def inner_text(loop: Inner) -> str:
    """Return a segment's loop."""
    role = "" if loop.role is Role.KEPT else f" ({loop.role.value})"
    narrowed = loop.start != 0 or loop.stop is not None
    extent = (
        f"[{loop.start}, {loop.extent if loop.stop is None else loop.stop})"
        if narrowed
        else f"{loop.extent}"
    )
    return f"{loop.symbol} in {extent}{role}"


def argument_text(argument: object) -> str:
    """Return an argument of an external call; a plain whole buffer by its name."""
    if isinstance(argument, BufferView):
        return f"{argument.buffer}{list(argument.shape)}:{list(argument.strides)}+{argument.offset}"
    if isinstance(argument, (list, tuple)):
        return "[" + ", ".join(map(argument_text, argument)) + "]"
    return repr(argument)
