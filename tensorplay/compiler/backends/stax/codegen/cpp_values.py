"""Statements: one instruction of a loop body as C++, on one value or on a vector of consecutive ones.

In: an instruction, and the `Lanes` it works on. Out: lines such as

    const auto tmp0 = load<16>(in0 + (1000*x0 + r0_0));
    const auto tmp2 = (tmp0 - m);
    const auto tmp3 = tp::exp(tmp2);

A value that does not change along the vector loop is *uniform*: a scalar, also where the others are vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.codegen.cpp_shape import MOST_LANES
from tensorplay.compiler.backends.stax.codegen.cpp_text import (
    in_parentheses,
    index_text,
    literal,
    memory_type,
    register_type,
    vector_type,
)
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Compute,
    Constant,
    IndexExpr,
    Load,
    LoadLocal,
    Reduce,
    Scan,
    Store,
    StoreLocal,
)
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import CompileError
from tensorplay.ops.values import TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.compiler.backends.stax.index import Expr, Symbol
    from tensorplay.compiler.backends.stax.loop_body import Instr, ValueId
    from tensorplay.compiler.backends.stax.schedule import BufferInfo, Local

COMBINED: Final[Mapping[str, str]] = {
    "set": "{1}",
    "overwrite": "{1}",
    "add": "{0} + {1}",
    "prod": "{0} * {1}",
    "max": "maximum({0}, {1})",
    "min": "minimum({0}, {1})",
}
"""What a store of each mode writes: ``{0}`` was there, ``{1}`` is the value."""

EXACT_ON_HALVES: Final = frozenset(
    {"to_dtype", "where", "neg", "abs", "relu", "maximum", "minimum", "fmax", "fmin", "copysign"}
    | {"floor", "ceil", "trunc", "round", "sign"}
)
"""Instructions whose result is a half value when the operands are: no rounding follows."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes that statements work on: ``width`` consecutive values of the vector loop, or one value if it is 0.

    Only the first ``live`` of them exist, all if it is None. ``suffix`` tells which accumulators take the results.
    """

    width: int = 0
    live: str | None = None
    suffix: str = ""

    @property
    def count_argument(self) -> str:
        """The last argument of loads and stores."""
        return f", {self.live}" if self.live is not None else ""


SCALAR: Final = Lanes()


@dataclass(frozen=True, slots=True)
class Tile:
    """What a tiled loop variable runs over inside one outer iteration."""

    begin: str
    step: int
    is_full: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the statements of a kernel refer to."""

    buffers: Mapping[str, BufferInfo]
    pointers: Mapping[str, str]
    locals: Mapping[str, Local]
    tiles: Mapping[Symbol, Tile]
    streamed: frozenset[str]
    vector_bytes: int
    apart: Mapping[str, str]
    """For the instructions whose function is called out of line, the namespace of its copy."""

    def extent(self, symbol: Symbol) -> int:
        """Return how many values a loop variable takes at most inside one outer iteration."""
        tile = self.tiles.get(symbol)
        return symbol.extent if tile is None else min(tile.step, symbol.extent)

    def position(self, axes: Sequence[Symbol]) -> str:
        """Return the place of an element in a row-major array over the current range of ``axes``.

        The last axis is padded, see `padded_size`.
        """
        pieces: list[str] = []
        stride = 1
        for symbol in reversed(axes):
            tile = self.tiles.get(symbol)
            place = str(symbol) if tile is None else f"({symbol} - {tile.begin})"
            pieces.append(place if stride == 1 else f"{stride}*{place}")
            stride *= padded(self.extent(symbol)) if symbol == axes[-1] else self.extent(symbol)
        return " + ".join(reversed(pieces)) or "0"

    def padded_size(self, axes: Sequence[Symbol]) -> int:
        """Return the elements of such an array: whole vectors may be stored at its end."""
        size = 1
        for symbol in axes:
            size *= padded(self.extent(symbol)) if symbol == axes[-1] else self.extent(symbol)
        return size


def padded(extent: int) -> int:
    """Round up to what a vector may touch past the end."""
    return -(-extent // MOST_LANES) * MOST_LANES


class StatementPrinter:
    """Prints the instructions of one segment, once what varies along its vector loop is known."""

    def __init__(
        self,
        instructions: Sequence[Instr],
        vector: Symbol | None,
        around: Surroundings,
        *,
        lanewise: bool,
    ) -> None:
        """Take body and after, numbered through; ``lanewise``: reductions leave one result a lane."""
        self.instructions = instructions
        self.vector = vector
        self.around = around
        self.short_indices = self.find_short_indices()
        self.turned: dict[ValueId, str] = {}
        """Loads that read a tile which the segment has transposed, and where there."""
        self.varying: list[bool] = []
        for instruction in instructions:
            self.varying.append(vector is not None and self.varies(instruction, lanewise=lanewise))

    def varies(self, instruction: Instr, *, lanewise: bool) -> bool:
        """Say whether the lanes of a vector may hold different results."""
        match instruction:
            case Constant():
                return False
            case LoadLocal(local=local):
                return self.vector in self.around.locals[local].axes
            case Load(index=index, indices=indices, mask=mask):
                used = indices if mask is None else (*indices, mask)
                return self.vector in index.symbols() or any(self.varying[v] for v in used)
            case IndexExpr(index=index, indices=indices):
                return self.vector in index.symbols() or any(self.varying[v] for v in indices)
            case Compute(args=args):
                return any(self.varying[v] for v in args)
            case Reduce():
                return lanewise
            case Scan():
                return True
            case _:
                return False

    def find_short_indices(self) -> set[ValueId]:
        """Return the index values below 2**31 that only argmax and argmin read: 32 bits do, in half the registers."""
        candidates = {
            n
            for n, i in enumerate(self.instructions)
            if isinstance(i, IndexExpr)
            and i.index.bounds.lower >= 0
            and i.index.bounds.upper < 2**31
        }
        for i in self.instructions:
            match i:
                case Reduce(kind=("argmax" | "argmin"), args=(value, _)):
                    candidates.discard(value)
                case _:
                    from tensorplay.compiler.backends.stax.loop_body import operands

                    candidates.difference_update(operands(i))
        return candidates

    # ---- operands ------------------------------------------------------------------------------------------------

    def dtype_of(self, value: ValueId) -> DType:
        """Return the dtype of a value."""
        dtype = getattr(self.instructions[value], "dtype", None)
        if not isinstance(dtype, DType):
            raise CompileError(f"tmp{value} has no value: {self.instructions[value]}")
        return dtype

    def scalar(self, value: ValueId) -> str:
        """Return the name of a uniform value, or the number that it is."""
        instruction = self.instructions[value]
        if isinstance(instruction, Constant):
            return literal(instruction.value, instruction.dtype)
        return f"tmp{value}"

    def operand(self, value: ValueId, lanes: Lanes) -> str:
        """Return a value with all its lanes: a vector where the statement is one."""
        if not lanes.width or self.varying[value]:
            return self.scalar(value)
        return f"{vector_type(self.dtype_of(value), lanes.width)}({self.scalar(value)})"

    def symbol_name(self, indices: Sequence[ValueId], *, lane: bool) -> SymbolName:
        """Return what stands for a symbol in an address, in every lane or in the first."""
        return SymbolName(self, tuple(indices), lane=lane)

    def stride(self, index: Expr, indices: Sequence[ValueId]) -> int | None:
        """Return the step of an address from lane to lane; None if it isn't one fixed number."""
        if self.vector is None:
            return 0
        if any(self.varying[v] for v in indices):
            return None
        return index.stride(self.vector)

    # ---- statements ----------------------------------------------------------------------------------------------

    def lines(self, number: ValueId, lanes: Lanes) -> list[str]:
        """Return the statements of an instruction; reductions and scans are the segment's affair."""
        instruction = self.instructions[number]
        match instruction:
            case Constant() | Reduce() | Scan():
                return []
            case Store():
                return [self.store(instruction, lanes)]
            case StoreLocal(local=local, value=value):
                return [self.store_local(self.around.locals[local], value, lanes)]
            case CheckBounds():
                return [self.check(instruction, lanes)]
            case _:
                here = lanes if self.varying[number] else SCALAR
                return [self.define(number, self.expression(number, here), here)]

    def define(self, number: ValueId, expression: str, lanes: Lanes) -> str:
        """Return the declaration of a value."""
        kind = "auto" if lanes.width else register_type(self.dtype_of(number))
        return f"const {kind} tmp{number} = {expression};"

    def expression(self, number: ValueId, lanes: Lanes) -> str:
        """Return the expression of a value."""
        instruction = self.instructions[number]
        match instruction:
            case Compute():
                return self.compute(instruction, lanes)
            case Load() if lanes.width and number in self.turned:
                return f"load<{lanes.width}>({self.turned[number]})"
            case Load():
                return self.load(instruction, lanes)
            case LoadLocal(local=local):
                return self.load_local(self.around.locals[local], lanes)
            case IndexExpr():
                return self.index(number, instruction, lanes)
            case _:
                raise CompileError(f"no expression for {instruction}")

    def compute(self, c: Compute, lanes: Lanes) -> str:
        """Return a scalar instruction's text with its operands put in."""
        instruction = TABLE[c.op]
        if lanes.width and (
            instruction.cpp.startswith("tp::") or all(not self.varying[a] for a in c.args)
        ):
            operands = [self.operand(a, lanes) for a in c.args]
        else:
            operands = [self.scalar(a) for a in c.args]
        attrs = {name: memory_type(v) if isinstance(v, DType) else str(v) for name, v in c.attrs}
        attrs.setdefault("dtype", memory_type(c.dtype))
        text = instruction.cpp.format(*operands, **attrs)
        if c.op in self.around.apart:
            text = text.replace("tp::", f"{self.around.apart[c.op]}::", 1)
        if c.dtype.compute is not c.dtype and c.op not in EXACT_ON_HALVES:
            return f"convert<{memory_type(c.dtype)}>({text})"
        return text

    def address(self, buffer: str, index: Expr, indices: Sequence[ValueId]) -> str:
        """Return a pointer to the element of the first lane."""
        pointer = self.around.pointers[buffer]
        text = index_text(index, self.symbol_name(indices, lane=False))
        if text == "0":
            return pointer
        return f"{pointer} + {in_parentheses(text)}"

    def element(self, buffer: str, index: Expr, indices: Sequence[ValueId]) -> str:
        """Return a pointer to the element of lane ``lane``."""
        text = index_text(index, self.symbol_name(indices, lane=True))
        return f"{self.around.pointers[buffer]} + {in_parentheses(text)}"

    def load(self, load: Load, lanes: Lanes) -> str:
        """Return a read of memory."""
        zero = literal(0, load.dtype)
        if not lanes.width:
            text = f"load({self.address(load.buffer, load.index, load.indices)})"
            return text if load.mask is None else f"{self.scalar(load.mask)} ? {text} : {zero}"
        stride = self.stride(load.index, load.indices)
        width, count = lanes.width, lanes.count_argument
        varying_mask = load.mask is not None and self.varying[load.mask]
        if stride is None or (varying_mask and stride != 1):
            text = f"load({self.element(load.buffer, load.index, load.indices)})"
            if varying_mask:
                text = f"tmp{load.mask}[lane] ? {text} : {zero}"
            text = f"lanes<{width}>([&](int64_t lane) {{ return {text}; }}{count})"
        else:
            place = self.address(load.buffer, load.index, load.indices)
            if varying_mask and stride == 1:
                text = f"load_where<{width}>({place}, tmp{load.mask}{count})"
            elif stride == 0:
                text = f"{vector_type(load.dtype, width)}(load({place}))"
            elif stride == 1:
                text = f"load<{width}>({place}{count})"
            else:
                text = f"load_strided<{width}>({place}, {stride}{count})"
        if load.mask is not None and not varying_mask:
            return f"{self.scalar(load.mask)} ? {text} : {vector_type(load.dtype, width)}({zero})"
        return text

    def load_local(self, local: Local, lanes: Lanes) -> str:
        """Return a read of a row-local value."""
        name = local_name(local)
        if not local.axes:
            return name
        place = self.around.position(local.axes)
        if not lanes.width:
            return f"load({name} + {place})"
        if local.axes[-1] == self.vector:
            return f"load<{lanes.width}>({name} + {place})"
        return f"load_strided<{lanes.width}>({name} + {place}, {self.local_stride(local)}{lanes.count_argument})"

    def local_stride(self, local: Local) -> int:
        """Return the step of a local's elements along the vector loop."""
        stride = 1
        for symbol in reversed(local.axes):
            if symbol == self.vector:
                return stride
            extent = self.around.extent(symbol)
            stride *= padded(extent) if symbol == local.axes[-1] else extent
        return 0

    def index(self, number: ValueId, expression: IndexExpr, lanes: Lanes) -> str:
        """Return an index expression as a value."""
        target = memory_type(expression.dtype)
        text = index_text(expression.index, self.symbol_name(expression.indices, lane=False))
        if not lanes.width:
            return f"convert<{target}>(int64_t({text}))"
        stride = self.stride(expression.index, expression.indices)
        if stride is None:
            text = index_text(expression.index, self.symbol_name(expression.indices, lane=True))
            return f"lanes<{lanes.width}>([&](int64_t lane) {{ return convert<{target}>(int64_t({text})); }}{lanes.count_argument})"
        low, high = expression.index.bounds
        reach = max(abs(low), abs(high)) + 64 * abs(stride)  # dead lanes count too
        short = reach < 2**31 and (number in self.short_indices or expression.dtype.name != "int64")
        counter = "int32_t" if short else "int64_t"
        step = "" if stride == 1 else f" * {counter}({stride})"
        vector = f"Vec<{counter}, {lanes.width}>({counter}({text})) + iota<{counter}, {lanes.width}>(){step}"
        if number in self.short_indices or target == counter:
            return vector
        return f"convert<{target}>({vector})"

    def store(self, store: Store, lanes: Lanes) -> str:
        """Return a write to memory."""
        dtype = self.around.buffers[store.buffer].dtype
        stride = self.stride(store.index, store.indices) if lanes.width else 0
        varying_mask = bool(lanes.width) and store.mask is not None and self.varying[store.mask]
        if not lanes.width:
            place = self.address(store.buffer, store.index, store.indices)
            value = self.combined(store, f"load({place})", self.scalar(store.value), dtype)
            text = f"store({place}, {value});"
        elif stride != 1 or varying_mask:
            return self.store_lanes(store, lanes, dtype)
        else:
            place = self.address(store.buffer, store.index, store.indices)
            value = self.operand(store.value, lanes)
            value = COMBINED[store.mode].format(
                f"load<{lanes.width}>({place}{lanes.count_argument})", value
            )
            function = (
                "store_past_cache"
                if store.buffer in self.around.streamed and lanes.live is None
                else "store"
            )
            text = f"{function}({place}, {value}{lanes.count_argument});"
        if store.mask is not None:
            return f"if ({self.scalar(store.mask)}) {text}"
        return text

    def store_lanes(self, store: Store, lanes: Lanes, dtype: DType) -> str:
        """Return a write lane by lane, in order, so that the last of several to one place wins."""
        place = self.element(store.buffer, store.index, store.indices)
        value = f"tmp{store.value}[lane]" if self.varying[store.value] else self.scalar(store.value)
        text = f"store({place}, {self.combined(store, f'load({place})', value, dtype)});"
        if store.mask is not None:
            mask = f"tmp{store.mask}[lane]" if self.varying[store.mask] else self.scalar(store.mask)
            text = f"if ({mask}) {text}"
        end = lanes.live or str(lanes.width)
        return f"for (int64_t lane = 0; lane < {end}; ++lane) {text}"

    def combined(self, store: Store, old: str, value: str, dtype: DType) -> str:
        """Return what a store of one element writes; narrow integers come back from C++'s promotion."""
        text = COMBINED[store.mode].format(old, value)
        return f"{register_type(dtype)}({text})" if store.mode in {"add", "prod"} else text

    def store_local(self, local: Local, value: ValueId, lanes: Lanes) -> str:
        """Return a write of a row-local value; its array has room for whole vectors."""
        name = local_name(local)
        if not local.axes:
            return f"{name} = {self.scalar(value)};"
        place = self.around.position(local.axes)
        if not lanes.width or self.vector not in local.axes:
            return f"store({name} + {place}, {self.scalar(value)});"
        if local.axes[-1] == self.vector:
            return f"store({name} + {place}, {self.operand(value, lanes)});"
        end = lanes.live or str(lanes.width)
        lane = f"tmp{value}[lane]" if self.varying[value] else self.scalar(value)
        return (
            f"for (int64_t lane = 0; lane < {end}; ++lane) "
            f"store({name} + {place} + {self.local_stride(local)}*lane, {lane});"
        )

    def check(self, check: CheckBounds, lanes: Lanes) -> str:
        """Return a bounds check, which ends the kernel."""
        value = self.scalar(check.value)
        kind = register_type(self.dtype_of(check.value))
        mask = None if check.mask is None else self.scalar(check.mask)
        bad = f"(({value} < {kind}(0)) | ({value} >= {kind}({check.size})))"
        if self.varying[check.value] and lanes.live is not None:
            bad += f" & first_lanes<{self.dtype_of(check.value).itemsize}, {lanes.width}>({lanes.live})"
        if mask is not None:
            bad += f" & {mask}"
        return f"if (any({bad})) return {1 + check.check};"


@dataclass(frozen=True, slots=True)
class SymbolName:
    """What stands for a symbol in an address: loop variables and the values of indirect addresses."""

    printer: StatementPrinter
    indices: tuple[ValueId, ...]
    lane: bool

    def __call__(self, symbol: Symbol) -> str:
        """Return the text."""
        from tensorplay.compiler.backends.stax.loop_body import is_indirect

        if is_indirect(symbol):
            value = self.indices[int(symbol.name[1:])]
            varies = self.lane and self.printer.varying[value]
            text = f"{self.printer.scalar(value)}{'[lane]' if varies else ''}"
            return text if self.printer.dtype_of(value).name == "int64" else f"int64_t({text})"
        if self.lane and symbol == self.printer.vector:
            return f"({symbol} + lane)"
        return str(symbol)


def local_name(local: Local) -> str:
    """Return the C++ name of a row-local value."""
    return f"row_{local.name}"
