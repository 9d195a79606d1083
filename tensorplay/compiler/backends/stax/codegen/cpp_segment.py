"""A segment as nested C++ loops: where each instruction stands, vector loops with their rest, accumulators.

In: a `Segment` and its `Surroundings`. Out: lines. An instruction stands in the outermost loop where its operands are
known. A vector loop is printed for whole groups of registers and once more for what is left over. The sum of a row:

    Vec<float, 64> acc1(0.0f);
    for (int64_t r0_0 = 0; r0_0 < 2048; r0_0 += 64) {
        const auto tmp0 = load<64>(in0 + (2048*x0 + r0_0));
        acc1 = acc1 + tmp0;
    }
    const float tmp1 = reduce(Add(), acc1);

Three cases of accumulators. The vector loop is reduced: a vector of partial results, merged at the end. It is kept and
lies outside the reduced loops: one result a lane. Kept loops lie inside the reduced ones: an array over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.codegen.cpp_reductions import make_accumulator
from tensorplay.compiler.backends.stax.codegen.cpp_shape import VectorShape, choose_shape
from tensorplay.compiler.backends.stax.codegen.cpp_text import index_text
from tensorplay.compiler.backends.stax.codegen.cpp_turns import BeginOf, Range, Turns, find_turns
from tensorplay.compiler.backends.stax.codegen.cpp_values import (
    SCALAR,
    Lanes,
    StatementPrinter,
)
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Constant,
    IndexExpr,
    Load,
    LoadLocal,
    Reduce,
    Scan,
    Store,
    StoreLocal,
    has_effect,
    is_indirect,
    operands,
)
from tensorplay.compiler.backends.stax.schedule import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tensorplay.compiler.backends.stax.codegen.cpp_values import Surroundings
    from tensorplay.compiler.backends.stax.index import Expr, Symbol
    from tensorplay.compiler.backends.stax.loop_body import Instr, ValueId
    from tensorplay.compiler.backends.stax.schedule import Inner, Segment


class Lines:
    """Lines with their indentation."""

    def __init__(self, depth: int) -> None:
        """Start at an indentation."""
        self.depth = depth
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Append lines."""
        self.lines += ("    " * self.depth + line for line in lines)

    def open(self, line: str) -> None:
        """Append a line that opens a block."""
        self.add(f"{line} {{" if line else "{")
        self.depth += 1

    def close(self) -> None:
        """End a block."""
        self.depth -= 1
        self.add("}")


class SegmentPrinter:
    """Prints one segment."""

    def __init__(
        self, segment: Segment, around: Surroundings, written: frozenset[str], depth: int
    ) -> None:
        """Take the segment, and the buffers that the kernel writes."""
        self.segment = segment
        self.around = around
        self.written = written
        self.instructions: tuple[Instr, ...] = (*segment.body, *segment.after)
        self.loops = segment.loops
        vector = segment.vector or inner_vector(segment)
        if any(loop.symbol == vector and loop.role is Role.SCANNED for loop in self.loops):
            vector = None  # a running sum depends on its predecessor
        self.vector_depth = next(
            (d for d, loop in enumerate(self.loops) if loop.symbol == vector), None
        )
        if self.vector_depth is None:
            vector = None
        merging = [d for d, loop in enumerate(self.loops) if loop.role is not Role.KEPT]
        self.merges = any(isinstance(i, (Reduce, Scan)) for i in segment.body)
        self.start = (merging[0] if merging else len(self.loops)) if self.merges else None
        self.across = (
            tuple(loop for loop in self.loops[self.start :] if loop.role is Role.KEPT)
            if self.start is not None
            else ()
        )
        reduced_lanes = (
            self.vector_depth is not None and self.loops[self.vector_depth].role is Role.REDUCED
        )
        self.printer = StatementPrinter(
            self.instructions, vector, around, lanewise=not reduced_lanes
        )
        self.reduced_lanes = reduced_lanes
        self.shape: VectorShape | None = None
        if self.vector_depth is not None:
            extent = self.range(self.loops[self.vector_depth]).extent
            self.shape = choose_shape(segment.body, around.buffers, around.vector_bytes, extent)
        self.unaligned = self.find_unaligned()
        self.accumulators = {
            n: make_accumulator(n, i, self.printer)
            for n, i in enumerate(segment.body)
            if isinstance(i, (Reduce, Scan))
        }
        self.buckets: list[list[ValueId]] = [[] for _ in range(len(self.loops) + 1)]
        levels = self.levels()
        for number in range(len(segment.body)):
            self.buckets[levels[number]].append(number)
        self.out = Lines(depth)
        self.turns = Turns()
        if self.vector_depth is not None and self.loops[self.vector_depth].role is Role.KEPT:
            ranges = {loop.symbol: self.range(loop) for loop in self.loops}
            columns = self.loops[self.vector_depth]
            self.turns = find_turns(segment, columns, ranges, around, written)
        self.printer.turned.update(self.turns.places)

    # ---- levels --------------------------------------------------------------------------------------------------

    def levels(self) -> list[int]:
        """Return, for each instruction, how many of the segment's loops must be open around it."""
        depth_of = {loop.symbol: depth + 1 for depth, loop in enumerate(self.loops)}
        deepest = len(self.loops)
        stored = {i.local for i in self.instructions if isinstance(i, StoreLocal)}
        levels: list[int] = []

        def of_index(index: Expr) -> int:
            return max(
                (depth_of.get(s, 0) for s in index.symbols() if not is_indirect(s)), default=0
            )

        for i in self.instructions:
            level = max((levels[v] for v in operands(i)), default=0)
            match i:
                case Load(buffer=buffer, index=index):
                    level = deepest if buffer in self.written else max(level, of_index(index))
                case IndexExpr(index=index):
                    level = max(level, of_index(index))
                case LoadLocal(local=local):
                    axes = self.around.locals[local].axes
                    level = (
                        deepest
                        if local in stored
                        else max((depth_of.get(s, 0) for s in axes), default=0)
                    )
                case Store() | StoreLocal() | Reduce() | Scan():
                    level = deepest
                case _:
                    pass
            levels.append(level)
        return levels

    # ---- loops ---------------------------------------------------------------------------------------------------

    def range(self, loop: Inner) -> Range:
        """Return what a loop runs over."""
        tile = self.around.tiles.get(loop.symbol)
        if tile is not None:
            return Range(tile.begin, f"{loop.symbol}_end", tile.step, tile.is_full)
        stop = loop.extent if loop.stop is None else loop.stop
        return Range(str(loop.start), str(stop), stop - loop.start, is_fixed=True)

    def print(self) -> list[str]:
        """Return the segment's lines."""
        self.out.open("")
        self.out.add(*self.turns.lines)
        self.nest(0, SCALAR)
        self.out.close()
        return self.out.lines

    def nest(self, depth: int, lanes: Lanes) -> None:
        """Print what stands inside the first ``depth`` loops."""
        if depth == self.start:
            self.declare(lanes)
        for number in self.buckets[depth]:
            self.statement(number, lanes)
        if depth < len(self.loops):
            self.loop(self.loops[depth], lanes, lambda inner: self.nest(depth + 1, inner))
        if depth == self.start:
            self.finish(lanes)
        elif self.start is None and depth == len(self.loops):
            self.statements(range(len(self.segment.body), len(self.instructions)), lanes)

    def loop(self, loop: Inner, lanes: Lanes, inside: Inside) -> None:
        """Print a loop around what ``inside`` prints."""
        over = self.range(loop)
        name = str(loop.symbol)
        if self.vector_depth is not None and loop is self.loops[self.vector_depth]:
            self.vector_loop(name, over, inside)
            return
        self.out.open(f"for (int64_t {name} = {over.begin}; {name} < {over.end}; ++{name})")
        inside(lanes)
        self.out.close()

    def vector_loop(self, name: str, over: Range, inside: Inside) -> None:
        """Print the loop over whole groups of registers, then what is left."""
        main, tail = self.widths(over)
        if over.is_fixed and self.unaligned is None:
            whole = over.extent // main * main if main else 0
            rest = over.extent - whole
            begin = over.begin
            end = plus(begin, whole)
            if whole:
                self.step_loop(name, begin, end, Lanes(main), inside, once=whole == main)
            if rest > tail:
                self.rest_loop(name, end, over.end, tail, inside)
            elif rest:
                live = None if rest == tail else str(rest)
                self.step_loop(name, end, over.end, Lanes(tail, live, "_tail"), inside, once=True)
            return
        if self.unaligned is None:
            self.out.add(f"int64_t {name}_next = {over.begin};")
        else:
            self.first_loop(name, over, tail, inside)
        self.out.open(f"for (; {name}_next + {main} <= {over.end}; {name}_next += {main})")
        self.out.add(f"const int64_t {name} = {name}_next;")
        inside(Lanes(main))
        self.out.close()
        self.rest_loop(name, f"{name}_next", over.end, tail, inside)

    def first_loop(self, name: str, over: Range, width: int, inside: Inside) -> None:
        """Print the part of a vector before the first aligned place of what is written past the cache."""
        self.out.add(
            f"const int64_t {name}_live = lanes_before_aligned<{width}>({self.unaligned}, {over.length});",
            f"int64_t {name}_next = {plus(over.begin, f'{name}_live')};",
        )
        self.out.open(f"if ({name}_live)")
        self.out.add(f"const int64_t {name} = {over.begin};")
        inside(Lanes(width, f"{name}_live", "_tail"))
        self.out.close()

    def find_unaligned(self) -> str | None:
        """Return the address of a store past the cache whose rows begin at places that are not aligned.

        None if there is none: half a register's alignment is enough for `store_past_cache`.
        """
        if self.vector_depth is None:
            return None
        loop = self.loops[self.vector_depth]
        tile = self.around.tiles.get(loop.symbol)
        begin = loop.start if tile is None else tile.step
        for i in self.segment.body:
            if not isinstance(i, Store) or i.buffer not in self.around.streamed or i.indices:
                continue
            itemsize = self.around.buffers[i.buffer].dtype.itemsize
            if itemsize < 4 or i.index.stride(loop.symbol) != 1:
                continue
            steps = [c for m, c in i.index.terms.items() if m != (loop.symbol,)]
            if any(step * itemsize % 32 for step in (*steps, i.index.constant, begin)):
                name = BeginOf({loop.symbol: self.range(loop).begin})
                return f"{self.around.pointers[i.buffer]} + ({index_text(i.index, name)})"
        return None

    def widths(self, over: Range) -> tuple[int, int]:
        """Return the lanes of the main loop and of the rest; 0 where there is none."""
        assert self.shape is not None  # noqa: S101  # only called for vector loops
        if not over.is_fixed or self.unaligned is not None:
            return self.shape.main, self.shape.register
        main = self.shape.main if over.extent >= self.shape.main else 0
        rest = over.extent % self.shape.main if main else over.extent
        return main, self.shape.tail(rest) if rest else 0

    def step_loop(
        self, name: str, begin: str, end: str, lanes: Lanes, inside: Inside, *, once: bool
    ) -> None:
        """Print a loop in steps of whole vectors, or just its one iteration."""
        if once:
            self.out.open("")
            self.out.add(f"const int64_t {name} = {begin};")
        else:
            self.out.open(
                f"for (int64_t {name} = {begin}; {name} < {end}; {name} += {lanes.width})"
            )
        inside(lanes)
        self.out.close()

    def rest_loop(self, name: str, begin: str, end: str, width: int, inside: Inside) -> None:
        """Print the loop over what is left, whose last vector may be partial."""
        self.out.open(f"for (int64_t {name} = {begin}; {name} < {end}; {name} += {width})")
        self.out.add(
            f"const int64_t {name}_live = {end} - {name} < {width} ? {end} - {name} : {width};"
        )
        inside(Lanes(width, f"{name}_live", "_tail"))
        self.out.close()

    # ---- statements ----------------------------------------------------------------------------------------------

    def statements(self, numbers: Iterable[ValueId], lanes: Lanes) -> None:
        """Print several instructions."""
        for number in numbers:
            self.statement(number, lanes)

    def statement(self, number: ValueId, lanes: Lanes) -> None:
        """Print one instruction."""
        accumulator = self.accumulators.get(number)
        if accumulator is None:
            self.out.add(*self.printer.lines(number, lanes))
        elif self.across and self.reduced_lanes:
            merged = accumulator.merge_into_array(lanes, self.place(), masked=self.masked(lanes))
            self.out.add(*merged)
        elif self.across:
            self.out.add(*accumulator.update_array(lanes, self.place()))
        else:
            self.out.add(*accumulator.update(lanes, self.masked(lanes)))

    def masked(self, lanes: Lanes) -> bool:
        """Say whether lanes that don't exist must be kept out of the accumulators."""
        return self.reduced_lanes and lanes.live is not None

    # ---- accumulators --------------------------------------------------------------------------------------------

    def place(self) -> str:
        """Return where the accumulators of the current kept loops lie in their arrays."""
        return self.around.position([loop.symbol for loop in self.across])

    def declare(self, lanes: Lanes) -> None:
        """Print the accumulators with their first values."""
        for accumulator in self.accumulators.values():
            if self.across:
                size = self.around.padded_size([loop.symbol for loop in self.across])
                self.out.add(*accumulator.declare_array(size))
            elif self.reduced_lanes:
                main, tail = self.reduced_widths()
                if main:
                    self.out.add(*accumulator.declare(Lanes(main)))
                if tail:
                    self.out.add(*accumulator.declare(Lanes(tail, None, "_tail")))
            else:
                self.out.add(*accumulator.declare(lanes))

    def reduced_widths(self) -> tuple[int, int]:
        """Return the widths of the accumulators of a vector loop that is reduced."""
        assert self.vector_depth is not None  # noqa: S101  # implied by reduced_lanes
        return self.widths(self.range(self.loops[self.vector_depth]))

    def finish(self, lanes: Lanes) -> None:
        """Print what follows the reduced loops."""
        after = range(len(self.segment.body), len(self.instructions))
        results = [a for a in self.accumulators.values() if a.has_result]
        if not self.across:
            for accumulator in results:
                if self.reduced_lanes:
                    main, tail = self.reduced_widths()
                    self.out.add(*accumulator.merge_lanes(main, tail))
                else:
                    self.out.add(*accumulator.result(lanes))
            self.statements(after, lanes)
        elif after:
            needed = self.recomputed(after)

            def inside(inner: Lanes) -> None:
                for accumulator in results:
                    self.out.add(*accumulator.load_result(inner, self.place()))
                self.statements(needed, inner)
                self.statements(after, inner)

            self.loops_around(self.across, lanes, inside)

    def loops_around(self, loops: tuple[Inner, ...], lanes: Lanes, inside: Inside) -> None:
        """Print several loops around what ``inside`` prints."""
        if not loops:
            inside(lanes)
            return
        self.loop(loops[0], lanes, lambda inner: self.loops_around(loops[1:], inner, inside))

    def recomputed(self, after: Iterable[ValueId]) -> list[ValueId]:
        """Return the values of the body that ``after`` reads and that loops have hidden from it."""
        assert self.start is not None  # noqa: S101  # only called where something is merged
        visible = {n for bucket in self.buckets[: self.start + 1] for n in bucket}
        needed: set[ValueId] = set()
        pending = [v for number in after for v in operands(self.instructions[number])]
        while pending:
            value = pending.pop()
            hidden = value < len(self.segment.body) and value not in visible and value not in needed
            if hidden and not isinstance(self.instructions[value], (Reduce, Scan, Constant)):
                needed.add(value)
                pending += operands(self.instructions[value])
        return sorted(
            n
            for n in needed
            if not has_effect(self.instructions[n]) or isinstance(self.instructions[n], CheckBounds)
        )


if TYPE_CHECKING:
    from collections.abc import Callable

    Inside = Callable[[Lanes], None]


def inner_vector(segment: Segment) -> Symbol | None:
    """Return the innermost loop of a segment that must run in order, if whole vectors of it hit different places."""
    if not segment.loops:
        return None
    loop = segment.loops[-1]
    if loop.role is not Role.KEPT:
        return None
    stored = {i.buffer for i in segment.body if isinstance(i, Store)}
    for i in segment.body:
        match i:
            case Store(index=index):
                allowed = index.stride(loop.symbol) == 1
            case Load(buffer=buffer, index=index):
                allowed = buffer not in stored and index.stride(loop.symbol) in {0, 1}
            case Reduce() | Scan() | StoreLocal():
                allowed = False
            case _:
                allowed = True
        if not allowed:
            return None
    return loop.symbol


def plus(begin: str, amount: int | str) -> str:
    """Return the text of a sum."""
    if begin == "0" or not amount:
        return str(amount) if begin == "0" else begin
    if begin.isdigit() and isinstance(amount, int):
        return str(int(begin) + amount)
    return f"{begin} + {amount}"
