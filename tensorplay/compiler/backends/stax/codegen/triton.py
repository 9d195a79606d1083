"""Print groups as Triton kernels.

In: a `Group` and what its buffers hold. Out: a `TritonKernel`: the text of a module with one kernel, its parameters,
and a launch configuration. Example 6.1, ``x.t() + y``, reads ``x`` across its lines, so that its blocks have two axes:

    @triton.jit
    def fused_t_add_0(in_ptr0, in_ptr1, out_ptr0, YBLOCK: tl.constexpr, XBLOCK: tl.constexpr):
        ynumel = 256
        xnumel = 512
        yindex = tl.program_id(1) * YBLOCK + tl.arange(0, YBLOCK)[:, None]
        ymask = yindex < ynumel
        xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[None, :]
        xmask = xindex < xnumel
        x0 = yindex
        x1 = xindex
        tmp0 = tl.load(in_ptr0 + (x0 + 256*x1), ymask & xmask)
        tmp1 = tl.load(in_ptr1 + (512*x0 + x1), ymask & xmask)
        tmp2 = (tmp0 + tmp1)
        tl.store(out_ptr0 + (512*x0 + x1), tmp2, ymask & xmask)

The text of an instruction is its `triton` template. A block's shape is known here: each value carries the axes along
which it varies, and has size 1 along the others.

[Note: bounds checks on a GPU] A kernel with checks takes a last pointer to one int64. A failed check writes 1 + its
number there, and the access that it guards is masked off. Of several failures any one stays.

[Note: written twice] Where several iterations of one kernel overwrite one element, any of them may win on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final, assert_never

from tensorplay.compiler.backends.stax.codegen.triton_prelude import (
    called_functions,
    prelude_source,
)
from tensorplay.compiler.backends.stax.codegen.triton_reductions import ReductionPrinter, merge_text
from tensorplay.compiler.backends.stax.codegen.triton_text import (
    Value,
    constant_text,
    index_text,
    number_text,
    pointer_type,
    type_text,
)
from tensorplay.compiler.backends.stax.codegen.triton_tiles import (
    GRID_LIMIT,
    Axis,
    Tile,
    axes_of,
    plan_tile,
)
from tensorplay.compiler.backends.stax.index import Expr, Symbol
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Compute,
    Constant,
    IndexExpr,
    Load,
    LoadLocal,
    Part,
    Reduce,
    Scan,
    Store,
    StoreLocal,
    has_effect,
    is_indirect,
    operands,
)
from tensorplay.compiler.backends.stax.schedule import Role
from tensorplay.core import dtypes
from tensorplay.core.errors import CompileError
from tensorplay.ops.values import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tensorplay.compiler.backends.stax.loop_body import Instr, ValueId
    from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Segment
    from tensorplay.compiler.target import GpuTarget
    from tensorplay.core.dtypes import DType

INFIX: Final = frozenset({"add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne"})
"""Instructions whose text takes a bare number, which then has the type of the other operand."""
KNOWN_ALIGNMENT: Final = 16
"""Bytes: what a launch may take for granted of a pointer, which is what one thread reads or writes at most at once."""
IMPORTS: Final = "import triton\nimport triton.language as tl\n"
LIBDEVICE: Final = "from triton.language.extra.cuda import libdevice\n"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A pointer that the kernel takes; ``buffer`` is empty for the one of the bounds checks."""

    name: str
    buffer: str
    type: str


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A kernel as text, and how to launch it.

    ``blocks`` are the values of its constants. ``grid`` names the axis that each dimension of the grid runs through;
    there are as many blocks of threads along it as ``numels`` needs.
    """

    name: str
    source: str
    parameters: tuple[Parameter, ...]
    blocks: Mapping[str, int]
    numels: Mapping[str, int]
    grid: tuple[str, ...]
    warps: int

    def text(self) -> str:
        """Return the module's text."""
        return self.source

    def grid_for(self, blocks: Mapping[str, int]) -> tuple[int, ...]:
        """Return the number of blocks of threads in each dimension, for a choice of block sizes."""
        sizes = tuple(-(-self.numels[axis] // blocks[f"{axis.upper()}BLOCK"]) for axis in self.grid)
        return sizes or (1,)


def print_triton(
    group: Group, buffers: Mapping[str, BufferInfo], target: GpuTarget
) -> TritonKernel:
    """Return the Triton kernel of a group; `CompileError` says what cannot be printed."""
    return GroupPrinter(group, buffers, plan_tile(group, buffers, target)).kernel()


NOTHING: Final = Value("", dtypes.bool_)
"""In place of the value of an instruction that defines none."""


@dataclass(slots=True)
class GroupPrinter:
    """Prints one group. Values of all segments are numbered through, so that each name is assigned once."""

    group: Group
    buffers: Mapping[str, BufferInfo]
    tile: Tile
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    pointers: dict[str, str] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    base: int = 0
    position: int = 0
    axes: tuple[Axis, ...] = ()
    everywhere: frozenset[str] = frozenset()
    locals: dict[str, Value] = field(default_factory=dict)
    held: dict[tuple[str, Expr], Value] = field(default_factory=dict)
    computed: dict[str, Value] = field(default_factory=dict)
    dirty: set[str] = field(default_factory=set)
    checked: dict[ValueId, Value] = field(default_factory=dict)

    # ---- the kernel --------------------------------------------------------------------------------------------

    def kernel(self) -> TritonKernel:
        """Return the printed kernel."""
        parameters = self.parameters()
        self.pointers = {p.buffer: p.name for p in parameters}
        grid = self.grid_axes()
        self.axes = self.tile.axes(0)
        self.print_axes(grid)
        for number, segment in enumerate(self.group.segments):
            self.axes = self.tile.axes(number)
            self.print_segment(segment, number)
        body = "\n".join(self.lines)
        tunable = [a for a in (*self.tile.outer, *self.row_axis()) if not a.fixed]
        names = [p.name for p in parameters] + [f"{a.block_name}: tl.constexpr" for a in tunable]
        prelude = prelude_source(called_functions(body))
        libdevice = LIBDEVICE if "libdevice." in body + prelude else ""
        function = f"@triton.jit\ndef {self.group.name}({', '.join(names)}):\n{body}\n"
        parts = [IMPORTS + libdevice, *([prelude] if prelude else []), function]
        return TritonKernel(
            self.group.name,
            "\n\n".join(part.strip("\n") + "\n" for part in parts),
            parameters,
            {a.block_name: a.block for a in tunable},
            {a.name: a.numel for a in self.tile.outer},
            tuple(a.name for a in grid),
            self.tile.warps,
        )

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the pointers: what is read, written, changed, and where failed checks are told."""
        kinds = (
            ("in_ptr", self.group.reads),
            ("out_ptr", self.group.writes),
            ("in_out_ptr", self.group.updates),
        )
        found = [
            Parameter(f"{kind}{k}", name, pointer_type(self.buffers[name].dtype))
            for kind, names in kinds
            for k, name in enumerate(names)
        ]
        if self.group.checks:
            found.append(Parameter("error_ptr", "", pointer_type(dtypes.int64)))
        return tuple(found)

    def row_axis(self) -> tuple[Axis, ...]:
        """Return the axis of a looped kernel's rows, which all segments share."""
        return self.tile.rows[:1]

    def grid_axes(self) -> tuple[Axis, ...]:
        """Return the axes in the order of the grid's dimensions; the first has no limit."""
        return tuple(sorted(self.tile.outer, key=lambda a: (a.blocks <= GRID_LIMIT, a.name)))

    @property
    def index_type(self) -> str:
        """The integers in which indices are computed."""
        largest = max((a.numel for a in self.tile.outer), default=0)
        return "tl.int64" if self.group.index_bits > 32 or largest >= (1 << 31) - (1 << 16) else ""

    # ---- text --------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + text)

    def print_axes(self, grid: tuple[Axis, ...]) -> None:
        """Print sizes, indices and masks of the axes that every segment has."""
        axes = (*self.tile.outer, *self.tile.inner)
        for axis in axes:
            self.line(f"{axis.numel_name} = {axis.numel}")
        for axis in self.tile.inner:
            self.line(f"{axis.block_name}: tl.constexpr = {axis.block}")
        for axis in axes:
            offsets = f"tl.arange(0, {axis.block_name}){self.slice_of(axis)}"
            wide = f".to({self.index_type})" if self.index_type else ""
            if axis in self.tile.outer:
                program = f"tl.program_id({grid.index(axis)})"
                self.line(f"{axis.index} = {program}{wide} * {axis.block_name} + {offsets}")
            else:
                self.line(f"{axis.index} = {offsets}{wide}")
            self.print_mask(axis)
        self.print_symbols(axes)

    def print_mask(self, axis: Axis) -> None:
        """Print the mask of an axis."""
        if axis.mask is not None:
            self.line(f"{axis.mask} = {axis.index} < {axis.numel_name}")

    def slice_of(self, axis: Axis) -> str:
        """Return what puts a range of values along an axis of a block."""
        rank = len(self.axes)
        if rank == 1:
            return ""
        place = [a.name for a in self.axes].index(axis.name)
        return "[" + ", ".join(":" if k == place else "None" for k in range(rank)) + "]"

    def print_symbols(self, axes: tuple[Axis, ...]) -> None:
        """Print loop variables as parts of their axes' indices."""
        for axis in axes:
            for position, symbol in enumerate(axis.symbols):
                below = prod(s.extent for s in axis.symbols[position + 1 :])
                text = axis.index if below == 1 else f"{axis.index} // {below}"
                if position:
                    text = f"{text if below == 1 else f'({text})'} % {symbol.extent}"
                self.line(f"{symbol.name} = {text}")

    def shape(self, axes: frozenset[str]) -> str:
        """Return the shape of a value that varies along some axes."""
        sizes = [a.block_name if a.name in axes else "1" for a in self.axes]
        return f"[{', '.join(sizes)}]"

    def mask(self, axes: frozenset[str], *more: Value | None) -> tuple[str, frozenset[str]]:
        """Return the text of a mask of existing places, joined with others, and the axes along which it varies."""
        texts = [a.mask for a in self.axes if a.name in axes and a.mask is not None]
        varies = axes if texts else frozenset()
        for value in more:
            if value is not None:
                texts.append(value.text)
                varies |= value.axes
        return " & ".join(texts), varies

    # ---- segments ----------------------------------------------------------------------------------------------

    def print_segment(self, segment: Segment, number: int) -> None:
        """Print a segment; in the looped form a loop over blocks of its row."""
        if any(loop.start or loop.stop is not None for loop in segment.loops):
            raise CompileError(
                f"{self.group.name}: a segment over a part of its loops isn't printed for GPUs"
            )
        row = self.tile.rows[number] if self.tile.rows else None
        reductions = ReductionPrinter(self, segment)
        loops = {loop.symbol for loop in segment.loops}
        merged = {loop.symbol for loop in segment.loops if loop.role is Role.REDUCED}
        instructions = [*segment.body, *segment.after]
        self.values, self.checked = [NOTHING] * len(instructions), {}
        self.everywhere = self.places_of(loops)
        body = range(len(segment.body))
        if row is None or not row.symbols:
            self.print_instructions(instructions, body, reductions)
        else:
            self.print_looped(segment, row, reductions)
        self.everywhere = self.places_of(loops - merged)
        self.print_instructions(instructions, range(len(body), len(instructions)), reductions)
        self.base += len(instructions)

    def print_looped(self, segment: Segment, row: Axis, reductions: ReductionPrinter) -> None:
        """Print the loop over a row: what doesn't vary along it first, then accumulators, then the loop."""
        fixed = invariant(segment, frozenset(row.symbols))
        self.print_instructions(segment.body, sorted(fixed), reductions)
        for position, instruction in enumerate(segment.body):
            if isinstance(instruction, Reduce):
                reductions.start(instruction, self.base + position, segment.body)
        held, computed = dict(self.held), dict(self.computed)
        self.line(f"{row.numel_name} = {row.numel}")
        self.line(f"for {row.name}_offset in range(0, {row.numel}, {row.block_name}):")
        self.depth += 1
        wide = f".to({self.index_type})" if self.index_type else ""
        offsets = f"tl.arange(0, {row.block_name}){self.slice_of(row)}{wide}"
        self.line(f"{row.index} = {row.name}_offset + {offsets}")
        self.print_mask(row)
        self.print_symbols((row,))
        varying = [k for k in range(len(segment.body)) if k not in fixed]
        self.print_instructions(segment.body, varying, reductions)
        self.depth -= 1
        # Names that a loop defines end with it.
        self.held = {k: v for k, v in held.items() if self.held.get(k) is v}
        self.computed = computed
        reductions.finish()

    def places_of(self, loops: set[Symbol]) -> frozenset[str]:
        """Return the axes of the nest and of some loops: one place for each time that an instruction runs."""
        return frozenset(a.name for a in self.tile.outer) | axes_of(loops, self.axes)

    def print_instructions(
        self, instructions: Sequence[Instr], positions: Iterable[int], reductions: ReductionPrinter
    ) -> None:
        """Print the instructions at some positions of a segment, in order."""
        for position in positions:
            self.position = position
            self.values[position] = self.print_instruction(instructions[position], reductions)

    def print_instruction(self, instruction: Instr, reductions: ReductionPrinter) -> Value:
        """Print one instruction; return its value (`NOTHING` for those that define none)."""
        match instruction:
            case Constant(value, dtype):
                return Value(constant_text(value, dtype), dtype, constant=instruction)
            case Compute():
                return self.compute(instruction)
            case IndexExpr():
                return self.index_value(instruction)
            case Load():
                return self.load(instruction)
            case LoadLocal(local):
                return self.locals[local]
            case CheckBounds():
                self.check(instruction)
                return NOTHING
            case Reduce():
                return reductions.reduce(instruction, self.base + self.position)
            case Part(reduction, position, dtype):
                merged = self.values[reduction]
                return Value(merged.parts[position], dtype, merged.axes)
            case Scan():
                return self.scan(instruction)
            case Store():
                self.store(instruction)
                return NOTHING
            case StoreLocal(local, value):
                self.locals[local] = self.values[value]
                return NOTHING
            case _:
                assert_never(instruction)

    def define(self, text: str, dtype: DType, axes: frozenset[str]) -> Value:
        """Give the next value its text; a text that a value of this block has already gives that value."""
        known = self.computed.get(text)
        if known is not None:
            return known
        name = f"tmp{self.base + self.position}"
        self.line(f"{name} = {without_parentheses(text)}")
        value = Value(name, dtype, axes)
        if not text.startswith("tl.load("):
            self.computed[text] = value
        return value

    # ---- arithmetic --------------------------------------------------------------------------------------------

    def compute(self, instruction: Compute) -> Value:
        """Print an application of a scalar instruction by its template."""
        arguments = [self.values[a] for a in instruction.args]
        axes = frozenset().union(*(a.axes for a in arguments))
        bare = instruction.op in INFIX and any(a.constant is None for a in arguments)
        texts = [
            number_text(a.constant.value)
            if bare and a.constant is not None and is_plain(a.constant)
            else a.text
            for a in arguments
        ]
        if instruction.op == "to_dtype" and not needs_rule(arguments[0].dtype, instruction.dtype):
            return self.define(
                f"{texts[0]}.to({type_text(instruction.dtype)})", instruction.dtype, axes
            )
        template = TABLE[instruction.op].triton
        if template is None:
            msg = f"ops.{instruction.op} has no Triton text; compute it on the CPU or in eager mode"
            raise CompileError(msg)
        attrs = {
            name: type_text(value) if isinstance(value, dtypes.DType) else repr(value)
            for name, value in instruction.attrs
        }
        attrs.setdefault("dtype", type_text(instruction.dtype))
        return self.define(template.format(*texts, **attrs), instruction.dtype, axes)

    def scan(self, instruction: Scan) -> Value:
        """Print a running merge along the scanned axis."""
        value = self.values[instruction.value]
        segment = next(s for s in self.group.segments if instruction in s.body)
        symbol = next(loop.symbol for loop in segment.loops if loop.role is Role.SCANNED)
        axis = next((a for a in self.axes if symbol in a.symbols), None)
        if axis is None:
            return value
        axes = value.axes | {axis.name}
        text = self.broadcast(value, axes)
        merge = merge_text(instruction.kind)
        place = self.axes.index(axis)
        return self.define(
            f"tl.associative_scan({text}, {place}, {merge})", instruction.dtype, axes
        )

    def broadcast(self, value: Value, axes: frozenset[str]) -> str:
        """Return the text of a value with the full shape of some axes."""
        if value.axes == axes:
            return value.text
        return f"tl.broadcast_to({value.text}, {self.shape(axes)})"

    # ---- memory ------------------------------------------------------------------------------------------------

    def index(self, index: Expr, indices: tuple[ValueId, ...]) -> tuple[str, frozenset[str]]:
        """Return an index expression's text, and the axes along which it varies."""
        symbols = index.symbols()
        direct = {s for s in symbols if not is_indirect(s)}
        axes = axes_of(direct, self.axes)
        for symbol in symbols - direct:
            axes |= self.values[indices[int(symbol.name[1:])]].axes

        def name_of(symbol: Symbol) -> str:
            if is_indirect(symbol):
                return self.values[indices[int(symbol.name[1:])]].text
            return symbol.name if symbol.extent > 1 else "0"

        return index_text(index, name_of), axes

    def index_value(self, instruction: IndexExpr) -> Value:
        """Print an index expression as a value."""
        if instruction.index.is_constant:
            constant = Constant(instruction.index.constant, instruction.dtype)
            return Value(
                constant_text(constant.value, constant.dtype), constant.dtype, constant=constant
            )
        text, axes = self.index(instruction.index, instruction.indices)
        whole = text if instruction.index.as_symbol() is not None else f"({text})"
        return self.define(f"{whole}.to({type_text(instruction.dtype)})", instruction.dtype, axes)

    def pointer(self, buffer: str, text: str, axes: frozenset[str], shape: frozenset[str]) -> str:
        """Return the addresses of places, in a block that varies along the axes of ``shape`` too."""
        pointer = self.pointers[buffer]
        if shape <= axes:
            return f"{pointer} + ({text})"
        if not axes:
            offset = (
                f"tl.full({self.shape(shape)}, {text}, tl.int32)"
                if text.lstrip("-").isdigit()
                else (f"tl.broadcast_to({text}, {self.shape(shape)})")
            )
        else:
            offset = f"tl.broadcast_to({text}, {self.shape(axes | shape)})"
        return f"{pointer} + {offset}"

    def guards(self, indices: tuple[ValueId, ...]) -> list[Value | None]:
        """Return the checks of the values that an address contains."""
        return [self.checked.get(i) for i in indices]

    def load(self, instruction: Load) -> Value:
        """Print a read; what this block has read or stored before is still in its registers."""
        known = self.held.get((instruction.buffer, instruction.index))
        if known is not None and not instruction.indices:
            return known
        if instruction.buffer in self.dirty:
            self.line("tl.debug_barrier()")
            self.dirty.discard(instruction.buffer)
        text, axes = self.index(instruction.index, instruction.indices)
        given = None if instruction.mask is None else self.values[instruction.mask]
        mask, varies = self.mask(axes, given, *self.guards(instruction.indices))
        pointer = self.pointer(instruction.buffer, text, axes, varies)
        arguments = [pointer, *([mask] if mask else [])]
        if given is not None:
            arguments.append("other=0.0" if instruction.dtype.kind == "f" else "other=0")
        value = self.define(f"tl.load({', '.join(arguments)})", instruction.dtype, axes | varies)
        if given is None and not instruction.indices:
            self.held[instruction.buffer, instruction.index] = value
        return value

    def store(self, instruction: Store) -> None:
        """Print a write."""
        value = self.values[instruction.value]
        text, axes = self.index(instruction.index, instruction.indices)
        given = None if instruction.mask is None else self.values[instruction.mask]
        guards = [given, *self.guards(instruction.indices)]
        everywhere = self.everywhere if instruction.mode == "add" else axes
        extra = frozenset().union(
            *(g.axes for g in guards if g is not None), value.axes, everywhere
        )
        mask, varies = self.mask(axes | extra, *guards)
        pointer = self.pointer(instruction.buffer, text, axes, extra | varies)
        arguments = [pointer, value.text, *([mask] if mask else [])]
        if instruction.mode == "add":
            self.line(f'tl.atomic_add({", ".join(arguments)}, sem="relaxed")')
        else:
            self.line(f"tl.store({', '.join(arguments)})")
        for key in [k for k in self.held if k[0] == instruction.buffer]:
            del self.held[key]
        if instruction.mode == "set" and not instruction.indices and instruction.mask is None:
            self.held[instruction.buffer, instruction.index] = value
        self.dirty.add(instruction.buffer)

    def check(self, instruction: CheckBounds) -> None:
        """Print a bounds check. See [Note: bounds checks on a GPU]."""
        value = self.values[instruction.value]
        given = None if instruction.mask is None else self.values[instruction.mask]
        name = f"tmp{self.base + self.position}"
        self.line(f"{name} = ({value.text} >= 0) & ({value.text} < {instruction.size})")
        inside = Value(name, dtypes.bool_, value.axes)
        mask, varies = self.mask(value.axes, given)
        axes = value.axes | varies
        failed = f"{mask} & ~{name}" if mask else f"~{name}"
        pointer = f"error_ptr + tl.full({self.shape(axes)}, 0, tl.int32)" if axes else "error_ptr"
        self.line(f"tl.store({pointer}, {instruction.check + 1}, {failed})")
        earlier = self.checked.get(instruction.value)
        if earlier is not None:
            inside = Value(f"({earlier.text} & {name})", dtypes.bool_, value.axes)
        self.checked[instruction.value] = inside


def invariant(segment: Segment, row: frozenset[Symbol]) -> set[int]:
    """Return the positions of a body's instructions that have no effect and don't vary along the row."""
    stored = {i.buffer for i in segment.body if isinstance(i, Store)}
    found: set[int] = set()
    for position, instruction in enumerate(segment.body):
        if has_effect(instruction) or isinstance(instruction, (Reduce, Part, Scan)):
            continue
        if isinstance(instruction, Load) and (instruction.buffer in stored or instruction.indices):
            continue
        if isinstance(instruction, (Load, IndexExpr)) and instruction.index.symbols() & row:
            continue
        if found.issuperset(operands(instruction)):
            found.add(position)
    return found


def without_parentheses(text: str) -> str:
    """Return a text without parentheses around the whole of it."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            whole = position == len(text) - 1 and letter == ")"
            return text[1:-1] if whole else text
    return text


def is_plain(constant: Constant) -> bool:
    """Say whether a bare literal means the same number: finite, no negative zero, not a half type."""
    value = constant.value
    if isinstance(value, bool) or constant.dtype.kind not in "fi":
        return False
    if isinstance(value, float):
        return value == value and abs(value) != float("inf") and repr(value) != "-0.0"  # noqa: PLR0124  # NaN differs from itself
    return isinstance(value, int) and constant.dtype.name in {
        "int32",
        "int64",
        "float32",
        "float64",
    }


def needs_rule(source: DType, target: DType) -> bool:
    """Say whether a conversion needs more than Triton's own.

    That is to bool, from real numbers to integers, and to bfloat16 from what isn't float32, which rounds twice.
    """
    if target.kind == "b" or (source.kind == "f" and target.kind in "iu"):
        return True
    return target is dtypes.bfloat16 and source is not dtypes.float32
