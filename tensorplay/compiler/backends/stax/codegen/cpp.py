"""A group of the schedule as one C++ kernel.

In: a `Group`, what is known of its buffers, and the machine. Out: C++ text over ``tensorplay/include``. The sum of the
rows of a matrix:

    #include "tp_arith.h"

    extern "C" int64_t fused_sum_0(void* const* buffers, int64_t begin, int64_t end) {
        using namespace tp;
        const float* in0 = (const float*)buffers[0];
        float* out0 = (float*)buffers[1];
        for (int64_t x0 = begin; x0 < end; ++x0) {
            …
        }
        return 0;
    }

The kernel runs iterations ``[begin, end)`` of the flattened outer loops and returns 0, or 1 + the number of the bounds
check that failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.codegen.cpp_segment import Lines, SegmentPrinter
from tensorplay.compiler.backends.stax.codegen.cpp_text import (
    array_text,
    in_parentheses,
    memory_type,
    register_type,
)
from tensorplay.compiler.backends.stax.codegen.cpp_values import Surroundings, Tile, local_name
from tensorplay.compiler.backends.stax.loop_body import Compute
from tensorplay.compiler.backends.stax.sources import KernelSource
from tensorplay.ops.values import TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Local
    from tensorplay.compiler.target import CpuTarget

ALIGNMENT: Final = 64
"""Bytes: where the memory of every buffer begins, at least."""
MOST_CACHED_BYTES: Final = 64 << 20
"""Larger buffers are written past the cache whatever its size is said to be (a virtual machine shows that of all)."""
ELEMENTARY: Final = 12
"""The cost of an instruction from which its text is a long inline function."""
MANY_CALLS: Final = 16
"""A kernel with more calls of elementary functions than this calls them out of line.

Inlined, one sine takes the C++ compiler 0.1 to 0.3 s, and a hundred of them in one function far more than a hundred times that.
"""


def print_kernel(
    group: Group, buffers: Mapping[str, BufferInfo], target: CpuTarget
) -> KernelSource:
    """Return the C++ source of a group."""
    return KernelSource(group.name, KernelPrinter(group, buffers, target).text(), "cpp")


def streamed_bytes(target: CpuTarget) -> int:
    """Return the size from which a buffer is written past the cache.

    Measured with a cache of 32 MiB, a write and then a read of the whole: 48 MiB take 3.3 ms through the cache and 3.8
    past it, 64 MiB take 5.4 and 5.1, 128 MiB 12.3 and 10.0.
    """
    return min(target.l3_bytes * 3 // 2, MOST_CACHED_BYTES)


def known_alignment(info: BufferInfo, target: CpuTarget) -> int:
    """Return the bytes to which a kernel takes a buffer's beginning to be aligned."""
    return ALIGNMENT if info.bytes >= streamed_bytes(target) else 1


HEADERS: Final = ("tp_arith.h", "tp_math.h", "tp_special.h")
"""Each includes the one before it; the first compiles 15 ms faster than the second."""


def header_of(group: Group) -> str:
    """Return the smallest header that has all the functions a kernel calls."""
    called = (
        HEADERS.index(TABLE[each.op].header)
        for segment in group.segments
        for each in (*segment.body, *segment.after)
        if isinstance(each, Compute)
    )
    return HEADERS[max(called, default=0)]


def functions_apart(group: Group) -> tuple[str, ...]:
    """Return the elementary functions that a kernel calls out of line, because it makes many calls."""
    calls = [
        each.op
        for segment in group.segments
        for each in (*segment.body, *segment.after)
        if isinstance(each, Compute) and TABLE[each.op].cost >= ELEMENTARY
    ]
    return tuple(sorted(set(calls))) if len(calls) > MANY_CALLS else ()


class KernelPrinter:
    """Prints one kernel."""

    def __init__(self, group: Group, buffers: Mapping[str, BufferInfo], target: CpuTarget) -> None:
        """Name the buffers and tiles."""
        self.group = group
        self.buffers = buffers
        self.pointers: dict[str, str] = {}
        for kind, names in (("in", group.reads), ("out", group.writes), ("io", group.updates)):
            self.pointers.update({name: f"{kind}{n}" for n, name in enumerate(names)})
        tiles = {
            loop.symbol: Tile(f"{loop.symbol}_begin", loop.step, loop.extent % loop.step == 0)
            for loop in group.outer
            if loop.step > 1
        }
        limit = streamed_bytes(target)
        streamed = frozenset(b for b in group.writes if buffers[b].bytes >= limit)
        self.around = Surroundings(
            buffers,
            self.pointers,
            {v.name: v for v in group.locals},
            tiles,
            streamed,
            target.vector_bytes,
            dict.fromkeys(functions_apart(group), f"of_{group.name}"),
        )

    def text(self) -> str:
        """Return the whole source."""
        out = Lines(0)
        out.add(f'#include "{header_of(self.group)}"', "")
        if self.around.apart:
            copies = " ".join(f"TP_OUT_OF_LINE({name})" for name in self.around.apart)
            out.add(f"namespace of_{self.group.name} {{ {copies} }}", "")
        out.open(
            f'extern "C" int64_t {self.group.name}(void* const* buffers, int64_t begin, int64_t end)'
        )
        out.add("using namespace tp;")
        for number, (name, pointer) in enumerate(self.pointers.items()):
            kind = memory_type(self.buffers[name].dtype)
            const = "const " if name in self.group.reads else ""
            out.add(f"{const}{kind}* {pointer} = ({const}{kind}*)buffers[{number}];")
        self.outer_loop(out)
        if self.around.streamed:
            out.add("stream_end();")
        out.add("return 0;")
        out.close()
        return "\n".join(line.rstrip() for line in out.lines) + "\n"

    def outer_loop(self, out: Lines) -> None:
        """Print the loop over the flattened outer nest, its loop variables, and the segments."""
        outer = self.group.outer
        plain = len(outer) == 1 and outer[0].step == 1
        name = str(outer[0].symbol) if plain else "step"
        out.open(f"for (int64_t {name} = begin; {name} < end; ++{name})")
        if not plain:
            self.loop_variables(out)
        for local in self.group.locals:
            out.add(self.local_declaration(local))
        written = frozenset((*self.group.writes, *self.group.updates))
        for segment in self.group.segments:
            out.lines += SegmentPrinter(segment, self.around, written, out.depth).print()
        out.close()

    def loop_variables(self, out: Lines) -> None:
        """Print the outer loop variables as digits of the iteration number; the last is the fastest."""
        below = 1
        lines: list[str] = []
        for position, loop in reversed(list(enumerate(self.group.outer))):
            digit = "step" if below == 1 else f"step / {below}"
            if position:
                digit = f"{digit} % {loop.iterations}"
            below *= loop.iterations
            if loop.step == 1:
                lines.append(f"const int64_t {loop.symbol} = {digit};")
                continue
            lines.append(
                f"const int64_t {loop.symbol}_begin = {in_parentheses(digit)} * {loop.step};"
            )
            end = f"{loop.symbol}_begin + {loop.step}"
            if loop.extent % loop.step:
                end = f"{end} < {loop.extent} ? {end} : {loop.extent}"
            lines.append(f"const int64_t {loop.symbol}_end = {end};")
        out.add(*lines)

    def local_declaration(self, local: Local) -> str:
        """Return the declaration of a row-local value."""
        kind = register_type(local.dtype)
        if not local.axes:
            return f"{kind} {local_name(local)};"
        return array_text(kind, local_name(local), self.around.padded_size(local.axes))
