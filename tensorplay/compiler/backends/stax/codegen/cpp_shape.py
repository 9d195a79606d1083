"""How many lanes a vector loop has: whole registers, several at once where the work is light.

In: a segment, its vector loop's range, and the machine's vector size. Out: a `VectorShape`: the lanes of the main loop
and those of what is left over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.codegen.cpp_text import register_bytes
from tensorplay.compiler.backends.stax.loop_body import (
    Compute,
    IndexExpr,
    Load,
    LoadLocal,
    Reduce,
    Store,
)
from tensorplay.ops.values import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tensorplay.compiler.backends.stax.loop_body import Instr
    from tensorplay.compiler.backends.stax.schedule import BufferInfo

LIGHT, MEDIUM = 24, 60
"""Costs of a body up to which four and two registers of each value are worked on at once: that hides the latency of
additions, and leaves enough registers (measured on the rows of bench/)."""
LEAST_LANES = 4
MOST_LANES = 64
"""Also what accumulators of arrays and row-local values are padded to."""


@dataclass(frozen=True, slots=True)
class VectorShape:
    """``register``: the lanes of one register. ``main``: those of the unrolled loop, a multiple of it."""

    register: int
    main: int

    def tail(self, rest: int) -> int:
        """Return the lanes for ``rest`` left-over elements: the least power of two, at most one register."""
        lanes = min(LEAST_LANES, self.register)
        while lanes < min(rest, self.register):
            lanes *= 2
        return lanes


def lane_bytes(body: Iterable[Instr], buffers: Mapping[str, BufferInfo]) -> int:
    """Return the size of the values that fill registers: the least of 4 bytes or more, else the largest.

    Wider ones (an int64 index beside float32 data) then take several registers.
    """
    sizes: set[int] = set()
    for i in body:
        match i:
            case (
                Load(dtype=dtype)
                | LoadLocal(dtype=dtype)
                | Compute(dtype=dtype)
                | Reduce(dtype=dtype)
            ):
                if dtype.kind != "b":
                    sizes.add(register_bytes(dtype))
            case IndexExpr(dtype=dtype):
                if dtype.kind == "f":
                    sizes.add(register_bytes(dtype))
            case Store(buffer=buffer):
                if buffers[buffer].dtype.kind != "b":
                    sizes.add(register_bytes(buffers[buffer].dtype))
            case _:
                pass
    wide = [s for s in sizes if s >= 4]
    return min(wide) if wide else max(sizes, default=1)


def body_cost(body: Iterable[Instr]) -> int:
    """Return the cost of one element, an addition or a memory access being 1."""
    return sum(
        TABLE[i.op].cost if isinstance(i, Compute) else 1
        for i in body
        if isinstance(i, (Compute, Load, Store, Reduce))
    )


def choose_shape(
    body: tuple[Instr, ...], buffers: Mapping[str, BufferInfo], vector_bytes: int, extent: int
) -> VectorShape:
    """Return the lanes for a loop over ``extent`` elements.

    Of the factors that the body's weight allows, the one that leaves the fewest elements, then the largest.
    """
    register = max(vector_bytes // lane_bytes(body, buffers), 2)
    while register > LEAST_LANES and register // 2 >= extent:
        register //= 2
    cost = body_cost(body)
    largest = 4 if cost <= LIGHT else 2 if cost <= MEDIUM else 1
    most = min(MOST_LANES, max(extent, register))
    factors = [f for f in (4, 2, 1) if f <= largest and f * register <= max(most, register)]
    best = min(factors, key=lambda f: (extent % (f * register) // register, -f))
    return VectorShape(register, best * register)
