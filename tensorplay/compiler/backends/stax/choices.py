"""Every decision about profit, in one file: what to materialize, split, fuse, tile.

A choice may make a program slow, never wrong: legality is decided elsewhere, and a test runs random choices. Change a
number or `score_fusion` here and watch `explain(...).schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod
from typing import TYPE_CHECKING

from tensorplay.compiler.target import CpuTarget, GpuTarget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensorplay.compiler.backends.stax.clusters import Cluster
    from tensorplay.compiler.backends.stax.handlers.counting import CountingHandler
    from tensorplay.compiler.backends.stax.schedule import BufferInfo
    from tensorplay.compiler.target import Target

# ---- materialization (6.6) -----------------------------------------------------------------------

EXPENSIVE_ON_CPU = frozenset({"exp", "log", "log10", "log1p", "log2", "sigmoid", "tanh"})
MAX_OPERATIONS = {"cpu": 50, "cuda": 30}
MAX_ACCUMULATED_READS = {"cpu": 12, "cuda": 8}
MAX_BUFFERS_READ = 4
MANY_USERS = 5

MAX_DEPTH = 40
"""Closures that call each other. A deeper chain is cut by a buffer, which fusion then keeps in registers; the limit
holds Python's stack small for graphs of any depth."""


def should_realize(counts: CountingHandler, users: int, target: Target) -> bool:
    """Say whether a value with several users is written to memory: the thresholds of section 6.6."""
    on_cpu = isinstance(target, CpuTarget)
    limit = MAX_OPERATIONS[target.device]
    return (
        (on_cpu and not EXPENSIVE_ON_CPU.isdisjoint(counts.used))
        or (on_cpu and users > MANY_USERS and counts.operations > limit * 3 // 4)
        or counts.operations > limit
        or len(counts.reads) > MAX_BUFFERS_READ
        or counts.read_count > MAX_ACCUMULATED_READS[target.device]
    )


MOST_PIECES = 8
"""Tensors that one loop joins (`cat`): each costs every element a comparison, unless the loop is split at the seams.
More are joined in rounds, each of which writes its parts to memory."""

UNROLLED_WINDOW = 32
"""So many elements of a window are merged in one expression, which fuses and needs no buffer; more in a loop."""

# ---- splitting reductions (6.5) ------------------------------------------------------------------

UNSPLIT_LENGTH = 8192
"""Algorithm 6.1, line 4: a reduction of this length or less is done by one block of threads."""

CPU_SEGMENTS = 64
"""Enough work items for the cores of any one machine; fixed, so that results don't depend on the thread count."""
CPU_SEGMENT_ELEMENTS = 8192
"""A segment shorter than this doesn't pay for the second level."""

NO_SPLIT_KINDS = frozenset({"argmax", "argmin", "welford"})


COLUMN_SEGMENTS = 16
COLUMN_SEGMENT_ROWS = 64
"""Sums of columns read whole rows in each of so many segments: memory is then read in one stream, and in parallel."""
COLUMN_ELEMENTS = 1 << 17
COLUMNS_ENOUGH = 1 << 15
"""So many columns are parallel enough, and long enough rows of tiles, by themselves."""


def reduction_segments(
    length: int, outputs: int, kind: str, target: Target, *, columns: bool = False
) -> int:
    """Return the number of segments of a reduction of `length` elements for each of `outputs` results.

    With `columns` the results lie next to each other in memory, not the elements of one result.
    """
    if kind in NO_SPLIT_KINDS or length <= 1 or outputs == 0:
        return 1
    if isinstance(target, GpuTarget):
        return gpu_segments(length, outputs, target)
    if columns:
        if length * outputs < COLUMN_ELEMENTS or outputs >= COLUMNS_ENOUGH:
            return 1
        segments = min(COLUMN_SEGMENTS, length // COLUMN_SEGMENT_ROWS)
    else:
        segments = min(CPU_SEGMENTS // outputs, length // CPU_SEGMENT_ELEMENTS)
    return 1 if segments <= 1 else near_divisor(length, segments)


def gpu_segments(length: int, outputs: int, target: GpuTarget) -> int:
    """Return the number of segments by Algorithm 6.1 of the chapter."""
    sms, warp, threads_per_sm = target.sm_count, target.warp_size, target.threads_per_sm
    fewest, most, threads = warp, 512, 8 * warp
    small, large = fewest * sms * threads_per_sm, most * sms * threads_per_sm
    if outputs >= 2 * sms or length <= UNSPLIT_LENGTH:
        return 1
    if outputs * length <= small:
        each = fewest
    elif outputs * length < large:
        blocks = sms * threads_per_sm // (2 * threads)
        per_output = -(-blocks // outputs)
        ideal = -(-length // (threads * per_output))
        each = even_length(length, ideal, threads)
    else:
        each = min(
            (d for d in divisors(length) if abs(d - most) <= 50),
            key=lambda d: abs(d - most),
            default=most,
        )
    return -(-length // (each * threads))


def even_length(length: int, ideal: int, threads: int) -> int:
    """Return a number of elements a thread near `ideal` with which `length` divides evenly, else `ideal`."""
    for step in range(max(1, ideal // 2)):
        for each in (ideal + step, ideal - step):
            if each > 0 and length % (each * threads) == 0:
                return each
    return max(1, ideal)


def divisors(n: int) -> list[int]:
    """Return all divisors."""
    small = [d for d in range(1, isqrt(n) + 1) if n % d == 0]
    return small + [n // d for d in reversed(small) if d * d != n]


def near_divisor(n: int, wanted: int) -> int:
    """Return the divisor of `n` nearest to `wanted` within a factor of two, else `wanted` itself."""
    candidates = [d for d in range(max(2, wanted // 2), 2 * wanted + 1) if n % d == 0]
    return min(candidates, key=lambda d: abs(d - wanted), default=wanted)


def moments_in_one_pass(row_bytes: int, target: Target) -> bool:
    """Say whether mean and variance of a row come from one pass: where a second would not hit the cache."""
    limit = target.l2_bytes if isinstance(target, CpuTarget) else 4 * MAX_GPU_ROW
    return row_bytes > limit


# ---- fusion --------------------------------------------------------------------------------------

MAX_NODES = 256
"""Larger kernels compile slowly and keep too many values alive."""
MAX_COST = 4096

SMALL_ITERATIONS = 4096
"""A kernel of one sequential row of this size is cheaper than two launches."""

SCALAR_COST = 16
"""A kernel that changes a buffer at places that depend on data runs without vectors; more than a few instructions are
not worth to be drawn into it. Measured: the places of 3 × 3 maxima, 145 instructions, 10 ms apart and 70 ms inside."""

LEAST_GAIN = 8
"""Giving up loops of the parallel nest must save at least one part in so many of the traffic."""
LEAST_ROWS = 8
"""The same on any machine, so that sums don't depend on its threads."""
MAX_GPU_ROW = 16384
"""Elements of a row that a block of threads holds in registers."""


@dataclass(frozen=True, slots=True, order=True)
class Score:
    """How much a fusion promises: larger is better. Bytes first, then what is close in the program."""

    shared_bytes: int
    closeness: int


def score_fusion(a: Cluster, b: Cluster, buffers: Mapping[str, BufferInfo]) -> Score:
    """Rank a pair of clusters: bytes that need not be moved again, then nearness."""
    return Score(shared_bytes(a, b, buffers), -abs(a.last - b.last))


def shared_bytes(a: Cluster, b: Cluster, buffers: Mapping[str, BufferInfo]) -> int:
    """Return the bytes of the buffers that both touch."""
    return sum(buffers[name].bytes for name in a.touched & b.touched)


def can_fuse(
    a: Cluster, b: Cluster, joined: Cluster, buffers: Mapping[str, BufferInfo], target: Target
) -> str | None:
    """Return why fusing a legal pair doesn't pay, or None if it does."""
    if len(joined.nodes) > MAX_NODES:
        return f"{len(joined.nodes)} nodes are more than {MAX_NODES}"
    cost = sum(n.cost for n in joined.nodes)
    if cost > MAX_COST:
        return f"a body of cost {cost} is over {MAX_COST}"
    if joined.iterations <= SMALL_ITERATIONS:
        return None
    if isinstance(target, CpuTarget) and a.is_update != b.is_update:
        other = a if b.is_update else b
        if any(node.cost > SCALAR_COST for node in other.nodes):
            return f"{other.name} would run without vectors"
    rows = prod(s.extent for s in joined.outer)
    length = joined.iterations // rows
    if isinstance(target, GpuTarget) and joined.is_reduction and length > MAX_GPU_ROW:
        return f"a row of {length} elements doesn't stay in a block's registers"
    saved = shared_bytes(a, b, buffers)
    for cluster in (a, b):
        if cluster.outer <= joined.outer:
            continue
        if rows < LEAST_ROWS:
            return f"{rows} rows are too few to run {cluster.name} in parallel"
        moved = sum(buffers[name].bytes for name in cluster.touched)
        if saved * LEAST_GAIN < moved:
            return f"{cluster.name} would give up parallel loops to save {saved} of {moved} bytes"
    return None


# ---- loops and tiles -----------------------------------------------------------------------------

TILE_ELEMENTS = 4096
"""Elements of a pointwise tile: long enough to hide the loop around it, short enough to share out."""
COLUMN_TILE = 2048
"""Columns of a reduction over outer dimensions: 8 KiB of float32, whose accumulators stay in L1."""
COLUMN_TILE_LEAST = 64
TRANSPOSED_TILE = 64
TRANSPOSED_RUN = 256
"""A tile in which one operand is read across the other: 64 rows of the one, read in runs of 256 elements.

Measured on 4096 by 4096 float32: 12 ms, against 17 for 64 by 64 and 23 for 16 by 256; the tile (64 KiB) stays in L2.
"""
TRANSPOSED_SHARE = 4
"""A transposed operand counts when it is at least one part in so many of the traffic."""
SHORT_EXTENT = 8
"""A loop shorter than this is a poor one to vectorize."""


def fits_row_buffers(size: int, target: Target) -> bool:
    """Say whether the values of a row stay close: in half of a CPU's L2, in a GPU block's registers."""
    return size <= (target.l2_bytes // 2 if isinstance(target, CpuTarget) else 4 * MAX_GPU_ROW)


def pointwise_tiles(extents: Sequence[int]) -> list[int]:
    """Return a tile size for every loop of a pointwise nest, given outermost first; 1 leaves a loop as it is."""
    total = 1
    for extent in extents:
        total *= extent
    left = max(256, min(TILE_ELEMENTS, total // 8))
    steps = []
    for extent in reversed(extents):
        step = min(extent, left)
        steps.append(step)
        left = left // step if step == extent else 1
    steps.reverse()
    return steps


def column_tile(extent: int, others: int) -> int:
    """Return the tile of a kept loop that is vectorized; `others` counts the parallel iterations beside it."""
    step = COLUMN_TILE
    while step > COLUMN_TILE_LEAST and others * -(-extent // step) < LEAST_ROWS:
        step //= 2
    return min(extent, step)
