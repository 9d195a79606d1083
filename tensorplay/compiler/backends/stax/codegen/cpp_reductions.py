"""Accumulators of reductions and scans: how they start, take a value, and become a result.

In: a `Reduce` or `Scan`. Out: lines. A reduction keeps one or more *cells*: a sum has one, argmax the best value and
where it was. A cell is a scalar, a vector with a partial
result in every lane, or an array with a result for every point of the kept loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.codegen.cpp_text import (
    array_text,
    literal,
    memory_type,
    register_type,
)
from tensorplay.compiler.backends.stax.codegen.cpp_values import Lanes, StatementPrinter
from tensorplay.compiler.backends.stax.loop_body import Reduce, Scan
from tensorplay.core import dtypes
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorplay.compiler.backends.stax.loop_body import Scalar, ValueId
    from tensorplay.core.dtypes import DType


@dataclass(frozen=True, slots=True)
class Monoid:
    """The merge of two values as C++ (``{0}``, ``{1}``), and its function object in ``tp_vec.h``."""

    merge: str
    functor: str


MONOIDS: Final[Mapping[str, Monoid]] = {
    "sum": Monoid("{0} + {1}", "Add()"),
    "prod": Monoid("{0} * {1}", "Mul()"),
    "max": Monoid("maximum({0}, {1})", "Max()"),
    "min": Monoid("minimum({0}, {1})", "Min()"),
    "any": Monoid("{0} | {1}", "Or()"),
    "all": Monoid("{0} & {1}", "And()"),
    "xor_sum": Monoid("{0} ^ {1}", "Xor()"),
}


def identity(kind: str, dtype: DType) -> Scalar:
    """Return the value that changes nothing when merged."""
    match kind:
        case "sum" | "any" | "xor_sum":
            return 0
        case "prod" | "all":
            return 1
        case "max" | "min" | "argmax" | "argmin":
            largest = kind in {"min", "argmin"}
            if dtype.kind == "b":
                return largest
            if dtype.kind == "f":
                return float("inf") if largest else float("-inf")
            info = dtypes.iinfo(dtype)
            return info.max if largest else info.min
        case _:
            raise CompileError(f"the reduction {kind!r} has no C++ form")


@dataclass(frozen=True, slots=True)
class Cell:
    """One variable of an accumulator: its name, the C++ type of a lane, and its first value."""

    name: str
    lane: str
    start: str

    def vector(self, width: int) -> str:
        """Return the type of a vector of cells."""
        return f"Mask<1, {width}>" if self.lane == "bool" else f"Vec<{self.lane}, {width}>"


def make_accumulator(
    number: ValueId, instruction: Reduce | Scan, printer: StatementPrinter
) -> Accumulator:
    """Return the accumulator of a reduction or scan."""
    kind = instruction.kind
    if isinstance(instruction, Scan):
        dtype = instruction.dtype
        start = literal(identity(kind, dtype), dtype)
        return Accumulator(
            number,
            kind,
            (instruction.value,),
            printer,
            (Cell(f"acc{number}", register_type(dtype), start),),
        )
    dtype = instruction.dtype
    if kind in {"argmax", "argmin"}:
        value, index = instruction.args
        valued = printer.dtype_of(value)
        at = "int32_t" if index in printer.short_indices else "int64_t"
        best = Cell(f"best{number}", register_type(valued), literal(identity(kind, valued), valued))
        cells: tuple[Cell, ...] = (best, Cell(f"at{number}", at, f"{at}(0)"))
    else:
        cells = (Cell(f"acc{number}", register_type(dtype), literal(identity(kind, dtype), dtype)),)
    return Accumulator(number, kind, instruction.args, printer, cells)


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The cells of one reduction or scan, and the statements over them."""

    number: ValueId
    kind: str
    args: tuple[ValueId, ...]
    printer: StatementPrinter
    cells: tuple[Cell, ...]

    @property
    def is_scan(self) -> bool:
        """Say whether every step has a result."""
        return isinstance(self.printer.instructions[self.number], Scan)

    @property
    def has_result(self) -> bool:
        """Say whether there is a result after the loops."""
        return not self.is_scan

    # ---- start ---------------------------------------------------------------------------------------------------

    def declare(self, lanes: Lanes) -> list[str]:
        """Return the declarations as scalars or vectors."""
        return [
            f"{cell.vector(lanes.width)} {cell.name}{lanes.suffix}({cell.start});"
            if lanes.width
            else f"{cell.lane} {cell.name} = {cell.start};"
            for cell in self.cells
        ]

    def declare_array(self, size: int) -> list[str]:
        """Return the declarations as arrays."""
        return [
            line
            for cell in self.cells
            for line in (
                array_text(cell.lane, cell.name, size),
                f"for (int64_t i = 0; i < {size}; ++i) {cell.name}[i] = {cell.start};",
            )
        ]

    # ---- taking a value ------------------------------------------------------------------------------------------

    def merged(self, lanes: Lanes, names: tuple[str, ...], *, masked: bool) -> list[str]:
        """Return the statements that merge the current operands into cells of these names."""
        value = self.first_operand(lanes, masked=masked)
        if self.kind in MONOIDS:
            operand = value if lanes.width else f"{self.cells[0].lane}({value})"
            return [f"{names[0]} = {MONOIDS[self.kind].merge.format(names[0], operand)};"]
        return [
            f"take_{self.kind[3:]}({names[0]}, {names[1]}, {value}, {self.index_operand(lanes)});"
        ]

    def first_operand(self, lanes: Lanes, *, masked: bool) -> str:
        """Return the value to merge; with ``masked``, the identity in lanes that don't exist."""
        value = self.printer.operand(self.args[0], lanes)
        if not masked:
            return value
        live = f"first_lanes<1, {lanes.width}>({lanes.live})"
        return f"where({live}, {value}, {self.cells[0].vector(lanes.width)}({self.cells[0].start}))"

    def index_operand(self, lanes: Lanes) -> str:
        """Return the index operand of argmax in the type of its cell."""
        value, lane = self.args[1], self.cells[1].lane
        text = self.printer.scalar(value)
        if lanes.width and not self.printer.varying[value]:
            return f"{self.cells[1].vector(lanes.width)}({lane}({text}))"
        return text if lanes.width else f"{lane}({text})"

    def update(self, lanes: Lanes, masked: bool) -> list[str]:
        """Return the statements of one step on scalars or vectors."""
        names = tuple(
            f"{cell.name}{lanes.suffix}" if self.has_suffix(lanes) else cell.name
            for cell in self.cells
        )
        lines = self.merged(lanes, names, masked=masked)
        if self.is_scan:
            lines.append(f"const auto tmp{self.number} = {names[0]};")
        return lines

    def has_suffix(self, lanes: Lanes) -> bool:
        """Say whether the main and the left-over lanes have accumulators of their own."""
        return bool(lanes.width)

    def update_array(self, lanes: Lanes, place: str) -> list[str]:
        """Return the statements of one step on the arrays, whose neighbours are the lanes."""
        names = tuple(f"{cell.name}_here" for cell in self.cells)
        pairs = list(zip(names, self.cells, strict=True))
        lines = [
            f"auto {name} = load<{lanes.width}>({cell.name} + {place});"
            if lanes.width
            else f"auto {name} = {cell.name}[{place}];"
            for name, cell in pairs
        ]
        lines += self.merged(lanes, names, masked=False)
        lines += (f"store({cell.name} + {place}, {name});" for name, cell in pairs)
        if self.is_scan:
            return [*lines, f"const auto tmp{self.number} = {names[0]};"]
        return ["{", *(f"    {line}" for line in lines), "}"]

    def merge_into_array(self, lanes: Lanes, place: str, *, masked: bool) -> list[str]:
        """Return the statements of one step that merges all lanes into one element of the arrays."""
        names = tuple(f"{cell.name}[{place}]" for cell in self.cells)
        values = [self.first_operand(lanes, masked=masked)]
        if self.kind in MONOIDS:
            monoid = MONOIDS[self.kind]
            reduced = f"reduce({monoid.functor}, {values[0]})"
            return [f"{names[0]} = {monoid.merge.format(names[0], reduced)};"]
        arguments = ", ".join((*names, *values, self.index_operand(lanes)))
        return [f"merge_{self.kind[3:]}({arguments});"]

    # ---- results -------------------------------------------------------------------------------------------------

    def result(self, lanes: Lanes) -> list[str]:
        """Return the declarations of the result, from scalars or from vectors with one result a lane."""
        return self.named(
            [f"{cell.name}{lanes.suffix}" if lanes.width else cell.name for cell in self.cells],
            lanes,
        )

    def load_result(self, lanes: Lanes, place: str) -> list[str]:
        """Return the declarations of the result, from the arrays."""
        return self.named(
            [
                f"load<{lanes.width}>({cell.name} + {place})"
                if lanes.width
                else f"{cell.name}[{place}]"
                for cell in self.cells
            ],
            lanes,
        )

    def merge_lanes(self, main: int, tail: int) -> list[str]:
        """Return the declarations of the result, from vectors of partial results."""
        suffixes = [suffix for suffix, width in (("", main), ("_tail", tail)) if width]
        if self.kind in MONOIDS:
            functor = MONOIDS[self.kind].functor
            parts = [f"reduce({functor}, {self.cells[0].name}{suffix})" for suffix in suffixes]
            text = parts[0] if len(parts) == 1 else MONOIDS[self.kind].merge.format(*parts)
            return self.named([text], Lanes())
        lines = [f"{cell.lane} {cell.name}_all = {cell.start};" for cell in self.cells]
        names = ", ".join(f"{cell.name}_all" for cell in self.cells)
        for suffix in suffixes:
            vectors = ", ".join(f"{cell.name}{suffix}" for cell in self.cells)
            lines.append(f"merge_{self.kind[3:]}({names}, {vectors});")
        return lines + self.named([f"{cell.name}_all" for cell in self.cells], Lanes())

    def named(self, cells: list[str], lanes: Lanes) -> list[str]:
        """Bind the result that later instructions read."""
        if self.kind in {"argmax", "argmin"}:
            target = memory_type(self.printer.dtype_of(self.number))
            return [self.declaration(self.number, f"convert<{target}>({cells[1]})", lanes)]
        return [self.declaration(self.number, cells[0], lanes)]

    def declaration(self, number: ValueId, text: str, lanes: Lanes) -> str:
        """Return the declaration of a value."""
        kind = "auto" if lanes.width else register_type(self.printer.dtype_of(number))
        return f"const {kind} tmp{number} = {text};"
