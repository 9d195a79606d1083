"""`TextHandler`: print an `inner_fn` as the chapter does (Listings 6.2 to 6.4).

Nothing is merged: two reads of one place are two lines, as in Listing 6.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.handlers.symbolic import BufferFacts, SymbolicHandler
from tensorplay.compiler.backends.stax.index import Expr, Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensorplay.core.dtypes import DType, Number
    from tensorplay.ops.values import Instruction


class TextHandler(SymbolicHandler):
    """Collects one line an instruction; the tokens are names `tmp0`, `tmp1` and so on."""

    def __init__(self, buffers: Mapping[str, BufferFacts]) -> None:
        """Print against these buffers."""
        super().__init__(buffers)
        self.lines: list[str] = []
        self.count = 0

    def line(self, call: str) -> str:
        """Add `tmpk = call`; return `tmpk`."""
        name = f"tmp{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {call}")
        return name

    def emit(
        self,
        instruction: Instruction,
        operands: Sequence[object],
        attrs: Mapping[str, object],
        dtype: DType,  # noqa: ARG002  # part of the interface
    ) -> object:
        """Print a scalar instruction."""
        inside = [repr(o) for o in operands] + [str(v) for v in attrs.values()]
        return self.line(f"ops.{instruction.name}({', '.join(inside)})")

    def emit_constant(self, number: Number, dtype: DType) -> object:
        """Print a constant."""
        return self.line(f"ops.constant({number!r}, {dtype!r})")

    def emit_index(self, expr: Expr, dtype: DType) -> object:
        """Print an index expression."""
        return self.line(f"ops.index_expr({expr}, {dtype!r})")

    def emit_load(self, buffer: str, index: Expr, mask: object | None) -> object:
        """Print a read."""
        where = "" if mask is None else f", mask={mask!r}"
        return self.line(f"ops.load({buffer!r}, {index}{where})")

    def emit_check(self, token: object, size: int, what: str, mask: object | None) -> None:
        """Print a bounds check, which names no value."""
        where = "" if mask is None else f", mask={mask!r}"
        self.lines.append(f"ops.check_bounds({token!r}, {size}, {what!r}{where})")

    def symbol_for(self, token: object, size: int) -> Symbol:
        """Return a symbol with the value's name."""
        return Symbol(str(token), 0, size - 1)
