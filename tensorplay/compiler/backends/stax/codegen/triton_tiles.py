"""The tile of a Triton kernel: which loops become which axes of its blocks, and how large the blocks are.

In: a `Group`. Out: a `Tile`: its axes, and whether rows are held whole. Three forms:

- pointwise: no loops inside rows. One axis ``x`` over the flattened nest, or ``y`` and ``x`` where one operand is
  read across the other (Example 6.1), so that both are read along their lines;
- persistent: every loop inside rows is an axis ``r0``, ``r1``, … of its own, and a block holds all of it. Row values
  stay in registers from segment to segment, and a value that doesn't depend on an axis has size 1 there;
- looped: the loops of each segment are flattened into one axis ``r0``, which the kernel runs through in blocks.

The nest's loops are the axis ``x`` in the last two forms. An axis with one value is left out.

Measured on an H200 (cubins of these texts, launched by the driver): pointwise, transposed and row kernels of 256 MiB
move 4.0 to 4.5 TB/s; column sums 3.2 (1,024 columns) to 4.4 TB/s (65,536), where 32 columns a block had given 0.08.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.loop_body import Load, Store
from tensorplay.compiler.backends.stax.schedule import Role
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tensorplay.compiler.backends.stax.index import Symbol
    from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Segment
    from tensorplay.compiler.target import GpuTarget

POINTWISE_BLOCK: Final = 1024
LEAST_BLOCK: Final = 128
BLOCKS_A_MULTIPROCESSOR: Final = 2
SQUARE_BLOCK: Final = 32
"""Sides of a two-dimensional tile: one line of 128 bytes of float32 for either operand."""
LEAST_ACROSS: Final = 8
"""A loop shorter than this isn't worth an axis of its own."""
ROW_WHOLE: Final = 1024
"""A single reduction holds rows up to this length whole; longer ones it runs through."""
ROW_KEPT: Final = 65536
"""Elements (padded to powers of two) of the rows that a block of 32 warps can hold in registers."""
TILE_ELEMENTS: Final = 2048
LONG_BLOCK: Final = 2048
ACROSS_ELEMENTS: Final = 1024
ACROSS_COLUMNS: Final = (32, 8)
"""Most and fewest columns of a block where what is reduced lies across lines: 8 are a sector of 32 bytes."""
FEW_BLOCKS: Final = 256
ELEMENTS_A_WARP: Final = 512
GRID_LIMIT: Final = 65535
"""Blocks that the second dimension of a grid takes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a kernel's blocks: flattened loops, the last of ``symbols`` fastest. ``block`` is a power of two.

    ``fixed``: the block holds the whole axis and isn't to be tuned.
    """

    name: str
    symbols: tuple[Symbol, ...]
    block: int
    fixed: bool = False

    @property
    def numel(self) -> int:
        """The number of values."""
        return prod(s.extent for s in self.symbols)

    @property
    def block_name(self) -> str:
        """The name of the constant that is the block's size."""
        return f"{self.name.upper()}BLOCK" if self.name in "xy" else f"{self.name.upper()}_BLOCK"

    @property
    def numel_name(self) -> str:
        """The name of the number of values."""
        return f"{self.name}numel" if self.name in "xy" else f"{self.name}_numel"

    @property
    def index(self) -> str:
        """The name of the index along the axis."""
        return f"{self.name}index" if self.name in "xy" else f"{self.name}_index"

    @property
    def mask(self) -> str | None:
        """The name of the mask of the values that exist; None where all of a block do."""
        if self.fixed and self.numel == self.block:
            return None
        return f"{self.name}mask" if self.name in "xy" else f"{self.name}_mask"

    @property
    def blocks(self) -> int:
        """The number of blocks along the axis."""
        return -(-self.numel // self.block)


@dataclass(frozen=True, slots=True)
class Tile:
    """``outer`` are the axes that the grid runs through, ``inner`` those of rows held whole.

    ``rows`` gives each segment's flattened axis in the looped form; it has no loops where the segment has none.
    """

    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...] = ()
    rows: tuple[Axis, ...] = ()

    def axes(self, segment: int) -> tuple[Axis, ...]:
        """Return the axes of blocks in a segment, outermost first. All segments have as many."""
        return (*self.outer, self.rows[segment]) if self.rows else (*self.outer, *self.inner)

    @property
    def warps(self) -> int:
        """The number of warps of a block of threads.

        In the looped form a thread has two to eight elements of a block, and blocks are wider where there are few.
        """
        blocks = prod(a.blocks for a in self.outer)
        if self.rows:
            return 8 if blocks >= FEW_BLOCKS else 16
        elements = prod(a.block for a in (*self.outer, *self.inner))
        return min(32 if self.inner else 8, max(1, power_of_two(elements // ELEMENTS_A_WARP)))


def plan_tile(group: Group, buffers: Mapping[str, BufferInfo], target: GpuTarget) -> Tile:
    """Plan the tile of a group for a GPU."""
    nest = tuple(o.symbol for o in group.outer if o.symbol.extent > 1)
    if any(o.step > 1 for o in group.outer):
        raise CompileError(
            f"{group.name} is tiled for a CPU: schedule it for a GPU target to print it as Triton"
        )
    row = tuple(dict.fromkeys(s for g in group.segments for s in loops_of(g)))
    if not row:
        return pointwise_tile(group, nest, buffers, target)
    padded = prod(power_of_two(s.extent) for s in row)
    several = len(group.segments) > 1 or any(not is_uniform(s) for s in group.segments)
    scans = any(s for g in group.segments for s in scanned(g))
    if padded <= (ROW_KEPT if several or scans else ROW_WHOLE):
        inner = tuple(
            Axis(f"r{k}", (s,), power_of_two(s.extent), fixed=True) for k, s in enumerate(row)
        )
        block = shared_out(nest, max(1, TILE_ELEMENTS // padded), 1, target)
        return Tile(outer_axes(nest, block), inner)
    return looped_tile(group, nest, buffers, target)


def shared_out(nest: tuple[Symbol, ...], most: int, least: int, target: GpuTarget) -> int:
    """Return how many iterations of the nest a block takes: as many as leave work for every multiprocessor."""
    numel = prod(s.extent for s in nest)
    share = power_of_two(numel // (BLOCKS_A_MULTIPROCESSOR * target.sm_count))
    return min(most, max(least, share), power_of_two(numel))


def pointwise_tile(
    group: Group, nest: tuple[Symbol, ...], buffers: Mapping[str, BufferInfo], target: GpuTarget
) -> Tile:
    """Return one axis, or two where a fair part of the traffic runs across the rest."""
    across = across_symbol(group, nest, buffers)
    if across is None:
        return Tile(outer_axes(nest, shared_out(nest, POINTWISE_BLOCK, LEAST_BLOCK, target)))
    fast = nest[-1]
    others = (*(s for s in nest if s not in {across, fast}), across)
    return Tile(
        (
            Axis("y", others, min(SQUARE_BLOCK, power_of_two(prod(s.extent for s in others)))),
            Axis("x", (fast,), min(SQUARE_BLOCK, power_of_two(fast.extent))),
        )
    )


def looped_tile(
    group: Group, nest: tuple[Symbol, ...], buffers: Mapping[str, BufferInfo], target: GpuTarget
) -> Tile:
    """Return a tile that runs through each segment's loops in blocks."""
    if any(local.axes for local in group.locals):
        raise CompileError(
            f"{group.name}: rows of this length don't stay in a GPU block's registers"
        )
    for segment in group.segments:
        if not is_uniform(segment) or any(scanned(segment)):
            raise CompileError(
                f"{group.name}: a scan, or a reduction beside loops that it keeps, is too long for a block"
            )
    length = max(prod(s.extent for s in loops_of(g)) for g in group.segments)
    if nest and runs_along(group, nest[-1], buffers):
        columns = shared_out(nest, *ACROSS_COLUMNS, target)
        block = min(ACROSS_ELEMENTS // columns, power_of_two(length))
    else:
        columns, block = 1, min(LONG_BLOCK, power_of_two(length))
    rows = tuple(Axis("r0", loops_of(g), block) for g in group.segments)
    return Tile(outer_axes(nest, columns), (), rows)


def outer_axes(nest: tuple[Symbol, ...], block: int) -> tuple[Axis, ...]:
    """Return the axis of the flattened nest, if it has more than one value."""
    return (Axis("x", nest, block),) if nest else ()


# ---- questions about groups ------------------------------------------------------------------------------------


def loops_of(segment: Segment) -> tuple[Symbol, ...]:
    """Return the loops of a segment that have more than one value."""
    return tuple(loop.symbol for loop in segment.loops if loop.extent > 1)


def scanned(segment: Segment) -> Iterator[Symbol]:
    """Yield the loops that a segment scans along."""
    return (loop.symbol for loop in segment.loops if loop.role is Role.SCANNED)


def is_uniform(segment: Segment) -> bool:
    """Say whether all loops of a segment have one role."""
    return len({loop.role for loop in segment.loops}) <= 1


def accesses(group: Group) -> Iterator[Load | Store]:
    """Yield every access of memory."""
    for segment in group.segments:
        for instruction in (*segment.body, *segment.after):
            if isinstance(instruction, (Load, Store)):
                yield instruction


def across_symbol(
    group: Group, nest: tuple[Symbol, ...], buffers: Mapping[str, BufferInfo]
) -> Symbol | None:
    """Return a loop along which an operand is adjacent that is strided along the last loop."""
    if len(nest) < 2 or nest[-1].extent < LEAST_ACROSS:
        return None
    largest = max((buffers[a.buffer].bytes for a in accesses(group)), default=0)
    for access in accesses(group):
        if buffers[access.buffer].bytes * 4 >= largest and access.index.stride(nest[-1]) not in {
            0,
            1,
        }:
            for symbol in nest[:-1]:
                if access.index.stride(symbol) == 1 and symbol.extent >= LEAST_ACROSS:
                    return symbol
    return None


def runs_along(group: Group, symbol: Symbol, buffers: Mapping[str, BufferInfo]) -> bool:
    """Say whether the largest operand is adjacent along a loop of the nest."""
    loads = [a for a in accesses(group) if isinstance(a, Load)]
    largest = max(loads, key=lambda a: buffers[a.buffer].bytes, default=None)
    return largest is not None and largest.index.stride(symbol) == 1


def power_of_two(n: int) -> int:
    """Return the least power of two that isn't below ``n``."""
    return 1 << max(0, n - 1).bit_length()


def axes_of(symbols: Iterable[Symbol], axes: tuple[Axis, ...]) -> frozenset[str]:
    """Return the names of the axes that symbols belong to."""
    wanted = set(symbols)
    return frozenset(a.name for a in axes if wanted & set(a.symbols))
