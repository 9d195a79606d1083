"""`CountingHandler`: how much an `inner_fn` does and what it reads; the basis of materialization (6.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.handlers.symbolic import BufferFacts, SymbolicHandler
from tensorplay.compiler.backends.stax.index import Expr, Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensorplay.core.dtypes import DType, Number
    from tensorplay.ops.values import Instruction


class CountingHandler(SymbolicHandler):
    """Counts operations and reads without keeping them. Loads, constants and index expressions are no operations."""

    def __init__(self, buffers: Mapping[str, BufferFacts]) -> None:
        """Count against these buffers."""
        super().__init__(buffers)
        self.operations = 0
        self.cost = 0
        self.used: set[str] = set()
        self.reads: dict[str, int] = {}
        self.count = 0

    @property
    def read_count(self) -> int:
        """The number of reads, repeated ones included."""
        return sum(self.reads.values())

    def fresh(self) -> object:
        """Return a new token."""
        self.count += 1
        return self.count - 1

    def emit(
        self,
        instruction: Instruction,
        operands: Sequence[object],  # noqa: ARG002  # part of the interface
        attrs: Mapping[str, object],  # noqa: ARG002  # the handlers' interface
        dtype: DType,  # noqa: ARG002  # the handlers' interface
    ) -> object:
        """Count a scalar instruction."""
        self.operations += 1
        self.cost += instruction.cost
        self.used.add(instruction.name)
        return self.fresh()

    def emit_constant(self, number: Number, dtype: DType) -> object:  # noqa: ARG002  # the handlers' interface
        """Let a constant pass."""
        return self.fresh()

    def emit_index(self, expr: Expr, dtype: DType) -> object:  # noqa: ARG002  # the handlers' interface
        """Let an index expression pass."""
        return self.fresh()

    def emit_load(self, buffer: str, index: Expr, mask: object | None) -> object:  # noqa: ARG002  # the handlers' interface
        """Count a read."""
        self.reads[buffer] = self.reads.get(buffer, 0) + 1
        return self.fresh()

    def emit_check(self, token: object, size: int, what: str, mask: object | None) -> None:  # noqa: ARG002  # the handlers' interface
        """Count a check as one operation."""
        self.operations += 1

    def symbol_for(self, token: object, size: int) -> Symbol:
        """Return a symbol for an emitted value."""
        return Symbol(f"tmp{token}", 0, size - 1)
