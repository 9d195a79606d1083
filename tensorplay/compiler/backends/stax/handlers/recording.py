"""`RecordingHandler`: run an `inner_fn` once on symbols and record the instructions.

Equal instructions are recorded once (in-kernel common subexpression elimination); `finish` drops those whose
values nothing uses and numbers the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tensorplay.compiler.backends.stax.handlers.symbolic import BufferFacts, SymbolicHandler
from tensorplay.compiler.backends.stax.index import Expr, Symbol, from_symbol
from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Compute,
    Constant,
    IndexExpr,
    Instr,
    Load,
    Part,
    Reduce,
    Scan,
    Store,
    drop_unused,
    indirect_symbol,
    key,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensorplay.core.dtypes import DType, Number
    from tensorplay.ops.values import Instruction


class RecordingHandler(SymbolicHandler):
    """Collects the instructions of one loop body."""

    def __init__(self, buffers: Mapping[str, BufferFacts]) -> None:
        """Record against these buffers."""
        super().__init__(buffers)
        self.instructions: list[Instr] = []
        self.checks: list[str] = []
        self.known: dict[object, int] = {}
        self.indirects: dict[Symbol, int] = {}

    def add(self, instruction: Instr) -> int:
        """Record an instruction, or find the equal one; return its number."""
        identity = key(instruction)
        number = self.known.get(identity)
        if number is None:
            number = self.known[identity] = len(self.instructions)
            self.instructions.append(instruction)
        return number

    def emit(
        self,
        instruction: Instruction,
        operands: Sequence[object],
        attrs: Mapping[str, object],
        dtype: DType,
    ) -> object:
        """Record a scalar instruction."""
        args = cast("tuple[int, ...]", tuple(operands))
        extra = tuple(sorted((k, v) for k, v in attrs.items() if k != "dtype")) if attrs else ()
        return self.add(Compute(instruction.name, args, dtype, extra))

    def emit_constant(self, number: Number, dtype: DType) -> object:
        """Record a constant."""
        return self.add(Constant(number, dtype))

    def emit_index(self, expr: Expr, dtype: DType) -> object:
        """Record an index expression."""
        index, indices = self.place_indirects(expr)
        return self.add(IndexExpr(index, dtype, indices))

    def emit_load(self, buffer: str, index: Expr, mask: object | None) -> object:
        """Record a read."""
        dtype = self.buffers[buffer].dtype
        address, indices = self.place_indirects(index)
        return self.add(Load(buffer, address, dtype, indices, cast("int | None", mask)))

    def emit_check(self, token: object, size: int, what: str, mask: object | None) -> None:
        """Record a bounds check, with the message of the error."""
        message = f"{what}: an index is out of range for a dimension of {size} elements"
        if message not in self.checks:
            self.checks.append(message)
        number = self.checks.index(message)
        self.add(CheckBounds(cast("int", token), size, number, cast("int | None", mask)))

    def symbol_for(self, token: object, size: int) -> Symbol:
        """Return a symbol for an emitted value; it becomes a placeholder when an address is recorded."""
        symbol = Symbol(f"tmp{token}", 0, size - 1)
        self.indirects[symbol] = cast("int", token)
        return symbol

    def place_indirects(self, expr: Expr) -> tuple[Expr, tuple[int, ...]]:
        """Replace the symbols of emitted values by `j0`, `j1`, …; return the values in that order."""
        if not self.indirects:
            return expr, ()
        found = sorted(
            (s for s in expr.symbols() if s in self.indirects), key=lambda s: self.indirects[s]
        )
        if not found:
            return expr, ()
        new = {s: from_symbol(indirect_symbol(k, int(s.upper) + 1)) for k, s in enumerate(found)}
        return expr.substitute(new), tuple(self.indirects[s] for s in found)

    # ---- the ends of a body ----------------------------------------------------------------------

    def reduce(self, kind: str, values: Sequence[object], dtype: DType) -> int:
        """Record a reduction over the reduced loops."""
        return self.add(Reduce(kind, cast("tuple[int, ...]", tuple(values)), dtype))

    def part(self, reduction: int, position: int, dtype: DType) -> int:
        """Record one component of a reduction."""
        return self.add(Part(reduction, position, dtype))

    def scan(self, kind: str, value: object, dtype: DType) -> int:
        """Record a running merge."""
        return self.add(Scan(kind, cast("int", value), dtype))

    def store(self, buffer: str, index: Expr, value: object, mode: str = "set") -> None:
        """Record a write; it isn't merged with equal ones."""
        address, indices = self.place_indirects(index)
        self.instructions.append(Store(buffer, address, cast("int", value), mode, indices))

    def finish(self) -> tuple[Instr, ...]:
        """Return the instructions that have an effect or feed one, numbered from zero."""
        return drop_unused(self.instructions)
