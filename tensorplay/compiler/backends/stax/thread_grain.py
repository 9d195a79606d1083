"""Decide how many iterations of a kernel a thread takes at once (Algorithm 8.1).

In: a `Group`'s counts and the target. Out: the grain of its launch: all iterations where threads don't pay. The model is
a roof with two sides: the larger of the time to move the bytes and the time to compute, on one core.

Measured on 2 cores: with workers that still spin, two threads win from 4 us of serial work on; waking one that sleeps
costs the caller 2 to 5 us, and the caller works on meanwhile.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.schedule import Group
    from tensorplay.compiler.target import CpuTarget

SERIAL_NANOSECONDS: Final = 8_000.0
"""A kernel that is faster runs on the calling thread."""
CHUNK_NANOSECONDS: Final = 4_000.0
"""What a thread takes at once is worth at least this much time."""
L2_BYTES_PER_NANOSECOND: Final = 64.0
L3_BYTES_PER_NANOSECOND: Final = 32.0
MEMORY_BYTES_PER_NANOSECOND: Final = 16.0
"""What one core moves to and from each level."""
VECTORS_PER_NANOSECOND: Final = 2.0
"""Vector additions of one core."""


def parallel_grain(group: Group, target: CpuTarget) -> int:
    """Return how many iterations a thread takes at once."""
    trip = max(group.iterations, 1)
    if target.threads <= 1 or not group.parallel:
        return trip
    nanoseconds = serial_nanoseconds(group, target)
    if nanoseconds < SERIAL_NANOSECONDS:
        return trip
    return min(trip, max(1, math.ceil(trip * CHUNK_NANOSECONDS / nanoseconds)))


def serial_nanoseconds(group: Group, target: CpuTarget) -> float:
    """Return about how long one core takes for a kernel."""
    if group.bytes_moved <= target.l2_bytes:
        bandwidth = L2_BYTES_PER_NANOSECOND
    elif group.bytes_moved <= target.l3_bytes:
        bandwidth = L3_BYTES_PER_NANOSECOND
    else:
        bandwidth = MEMORY_BYTES_PER_NANOSECOND
    lanes = max(target.vector_bytes // 4, 1) if any(s.vector for s in group.segments) else 1
    return max(group.bytes_moved / bandwidth, group.operations / (lanes * VECTORS_PER_NANOSECOND))
