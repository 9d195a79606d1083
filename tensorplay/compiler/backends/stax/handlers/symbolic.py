"""`SymbolicHandler`: what all interpretations inside a loop nest share.

A value is one of three things: an integer known as an index expression (its `data` is an `Expr`), a truth value
known before the program runs (`data` is a bool), or something that the derived handler emitted (`data` is its
token). Integer arithmetic on index expressions stays an index expression, as long as it can't wrap around: so an
index that is computed from `arange` turns into the address itself (Example 6.3). Comparisons that the ranges of
the loop variables decide are folded, and `where` on a folded condition takes its branch.

A derived handler supplies `emit`, `emit_constant`, `emit_index`, `emit_load`, `emit_check` and
`symbol_for`; it may ask `interval` what is known of a value.

[Note: masked loads] `select(condition, first, second)` is `first()` where the condition holds, else `second()`.
Loads and bounds checks inside run only where their value is used; everything else runs everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, cast

from tensorplay.compiler.backends.stax.index import Expr, Symbol, from_symbol, to_expr
from tensorplay.compiler.backends.stax.intervals import Interval
from tensorplay.core import dtypes
from tensorplay.ops.instructions import dtype_range, propagate
from tensorplay.ops.values import NO_ATTRS, TABLE, Value, result_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tensorplay.core.dtypes import DType, Number
    from tensorplay.ops.values import Instruction


class BufferFacts(NamedTuple):
    """What a handler knows of a buffer: its dtype, and the places that exist, counted from the first element."""

    dtype: DType
    reach: Interval


class SymbolicHandler(ABC):
    """A handler that keeps integers symbolic for as long as it can."""

    def __init__(self, buffers: Mapping[str, BufferFacts]) -> None:
        """Start without a mask; `buffers` tells what may be read."""
        self.buffers = buffers
        self.mask: Value | None = None
        self.intervals: dict[object, Interval] = {}

    # ---- what a derived handler supplies ---------------------------------------------------------

    @abstractmethod
    def emit(
        self,
        instruction: Instruction,
        operands: Sequence[object],
        attrs: Mapping[str, object],
        dtype: DType,
    ) -> object:
        """Emit a scalar instruction on tokens; return the token of its result."""

    @abstractmethod
    def emit_constant(self, number: Number, dtype: DType) -> object:
        """Emit a constant."""

    @abstractmethod
    def emit_index(self, expr: Expr, dtype: DType) -> object:
        """Emit the value of an index expression."""

    @abstractmethod
    def emit_load(self, buffer: str, index: Expr, mask: object | None) -> object:
        """Emit a read."""

    @abstractmethod
    def emit_check(self, token: object, size: int, what: str, mask: object | None) -> None:
        """Emit a check of `0 <= token < size`."""

    @abstractmethod
    def symbol_for(self, token: object, size: int) -> Symbol:
        """Return a symbol `tmp…` in `[0, size)` that stands for an emitted integer in addresses."""

    # ---- the handler protocol --------------------------------------------------------------------

    def apply(
        self, instruction: Instruction, operands: Sequence[Value], attrs: Mapping[str, object]
    ) -> Value:
        """Fold what is known, emit the rest."""
        dtype = result_dtype(instruction, operands, attrs)
        if any(isinstance(v.data, (Expr, bool)) for v in operands):
            folded = self.fold(instruction.name, operands, dtype)
            if folded is not None:
                return folded
        tokens = [self.token(v) for v in operands]
        token = self.emit(instruction, tokens, attrs, dtype)
        if dtype.kind in "iu":
            known = [self.interval(v) for v in operands]
            self.learn(token, Interval(*propagate(instruction, dtype, known)))
        return Value(self, dtype, token)

    def constant(self, number: Number, dtype: DType) -> Value:
        """Return a constant: symbolic for integers and truth values."""
        if dtype.kind in "iu":
            return Value(self, dtype, to_expr(wrap_integer(number, dtype)))
        if dtype.kind == "b":
            return Value(self, dtype, bool(number))
        return Value(self, dtype, self.emit_constant(number, dtype))

    def load(self, buffer: str, index: object) -> Value:
        """Read an element; `index` is an address, strides applied.

        A mask is left out where every place that the address can take is in the buffer: reading too much costs nothing.
        """
        address = to_expr(cast("Expr | int", index))
        facts = self.buffers[buffer]
        mask = None
        if self.mask is not None and not (
            facts.reach.contains(address.bounds) and self.is_direct(address)
        ):
            mask = self.token(self.mask)
        return Value(self, facts.dtype, self.emit_load(buffer, address, mask))

    def index_expr(self, expr: object, dtype: DType) -> Value:
        """Return an index expression as a value of `dtype`."""
        e = to_expr(cast("Expr | int", expr))
        if dtype.kind in "iu" and fits(e.bounds, dtype):
            return Value(self, dtype, e)
        return Value(self, dtype, self.emit_index(e, dtype))

    def indirect(self, value: Value, size: object, what: str, *, wrap: bool = True) -> Expr:
        """Return a value as an index in `[0, size)`.

        A negative value counts from the end (unless `wrap` is off); the correction and the bounds check are left
        out where the value's interval proves them needless. `what` names the operator and dimension in the error.
        """
        extent = cast("int", size)
        legal = Interval(0, extent - 1)
        known = self.interval(value)
        if isinstance(value.data, Expr):
            if legal.contains(known):
                return value.data
            if wrap and known.upper < 0 and known.lower >= -extent:
                return value.data + extent
        if value.dtype is not dtypes.int64:
            value = self.convert(value, dtypes.int64)
        if wrap and known.lower < 0:
            negative = self.apply(TABLE["lt"], (value, self.constant(0, dtypes.int64)), NO_ATTRS)
            shifted = self.apply(
                TABLE["add"], (value, self.constant(extent, dtypes.int64)), NO_ATTRS
            )
            value = self.apply(TABLE["where"], (negative, shifted, value), NO_ATTRS)
        token = self.token(value)
        if not (legal.contains(known) or (wrap and Interval(-extent, extent - 1).contains(known))):
            self.emit_check(
                token, extent, what, None if self.mask is None else self.token(self.mask)
            )
        if isinstance(value.data, Expr) and legal.contains(value.data.bounds):
            return value.data
        return from_symbol(self.symbol_for(token, extent))

    def select(
        self, condition: Value, first: Callable[[], Value], second: Callable[[], Value]
    ) -> Value:
        """Return `first()` where the condition holds, else `second()`; see [Note: masked loads]."""
        if isinstance(condition.data, bool):
            return first() if condition.data else second()
        negated = self.apply(TABLE["logical_not"], (condition,), NO_ATTRS)
        a, b = self.under(condition, first), self.under(negated, second)
        return self.apply(TABLE["where"], (condition, a, b), NO_ATTRS)

    def under(self, condition: Value, body: Callable[[], Value]) -> Value:
        """Run `body` with its loads and checks under a condition."""
        outer = self.mask
        self.mask = condition
        if outer is not None:
            self.mask = self.apply(TABLE["logical_and"], (outer, condition), NO_ATTRS)
        try:
            return body()
        finally:
            self.mask = outer

    # ---- knowledge -------------------------------------------------------------------------------

    def interval(self, value: Value) -> Interval:
        """Return what is known of a value: everything its dtype holds, or less."""
        data = value.data
        if isinstance(data, Expr):
            return data.bounds
        if isinstance(data, bool):
            return Interval(int(data), int(data))
        return self.intervals.get(data) or Interval(*dtype_range(value.dtype))

    def is_direct(self, address: Expr) -> bool:
        """Say whether an address doesn't depend on data."""
        return not any(s.name.startswith("tmp") for s in address.symbols())

    def learn(self, token: object, interval: Interval) -> None:
        """Note an interval of an emitted value."""
        self.intervals[token] = interval

    def token(self, value: Value) -> object:
        """Return the token of a value, emitting it where it was only known so far."""
        data = value.data
        if isinstance(data, Expr):
            if data.is_constant:
                return self.emit_constant(data.constant, value.dtype)
            token = self.emit_index(data, value.dtype)
            self.learn(token, data.bounds)
            return token
        if isinstance(data, bool):
            return self.emit_constant(data, value.dtype)
        return data

    def convert(self, value: Value, dtype: DType) -> Value:
        """Convert a value."""
        return self.apply(TABLE["to_dtype"], (value,), {"dtype": dtype})

    # ---- folding ---------------------------------------------------------------------------------

    def fold(self, name: str, operands: Sequence[Value], dtype: DType) -> Value | None:
        """Return the result where it is an index expression or a known truth value, else None."""
        data = [v.data for v in operands]
        if name == "where":
            return operands[1 if data[0] else 2] if isinstance(data[0], bool) else None
        if name in LOGIC:
            return self.fold_logic(name, operands)
        if not all(isinstance(d, Expr) for d in data):
            return None
        exprs = cast("list[Expr]", data)
        if name in COMPARISONS:
            answer = compare(name, (exprs[0] - exprs[1]).bounds)
            return None if answer is None else Value(self, dtype, answer)
        if dtype.kind not in "iu":
            return None
        result = fold_arithmetic(name, exprs)
        return (
            None if result is None or not fits(result.bounds, dtype) else Value(self, dtype, result)
        )

    def fold_logic(self, name: str, operands: Sequence[Value]) -> Value | None:
        """Fold a logical instruction with a known operand."""
        known = [v.data for v in operands]
        if name == "logical_not":
            return Value(self, dtypes.bool_, not known[0]) if isinstance(known[0], bool) else None
        for first, second in ((0, 1), (1, 0)):
            truth = known[first]
            if isinstance(truth, bool):
                if name == "logical_and":
                    return operands[second] if truth else operands[first]
                if name == "logical_or":
                    return operands[first] if truth else operands[second]
                if not truth:
                    return operands[second]
        return None


LOGIC = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def fold_arithmetic(name: str, operands: list[Expr]) -> Expr | None:
    """Return an integer instruction's result as an index expression, or None."""
    a = operands[0]
    match name:
        case "to_dtype":
            return a
        case "neg":
            return -a
        case "abs":
            return a if a.bounds.lower >= 0 else -a if a.bounds.upper <= 0 else None
        case "add":
            return a + operands[1]
        case "sub":
            return a - operands[1]
        case "mul":
            return a * operands[1]
        case "floordiv" if operands[1].is_constant and operands[1].constant:
            return a // operands[1]
        case "remainder" if operands[1].is_constant and operands[1].constant:
            return a % operands[1]
        case "maximum" | "minimum":
            low, high = (a - operands[1]).bounds
            if low >= 0:
                return a if name == "maximum" else operands[1]
            if high <= 0:
                return operands[1] if name == "maximum" else a
            return None
        case _:
            return None


def compare(name: str, difference: Interval) -> bool | None:
    """Decide a comparison from the interval of `a - b`; None where it is open."""
    low, high = difference
    less, equal, greater = high < 0, low == 0 == high, low > 0
    match name:
        case "lt":
            return True if less else False if low >= 0 else None
        case "le":
            return True if high <= 0 else False if greater else None
        case "gt":
            return True if greater else False if high <= 0 else None
        case "ge":
            return True if low >= 0 else False if less else None
        case "eq":
            return True if equal else False if less or greater else None
        case _:
            return False if equal else True if less or greater else None


def fits(bounds: Interval, dtype: DType) -> bool:
    """Say whether every value is representable, so that integer arithmetic doesn't wrap."""
    low, high = dtype_range(dtype)
    return low <= bounds.lower and bounds.upper <= high


def wrap_integer(number: Number, dtype: DType) -> int:
    """Return the number that an integer constant of this dtype holds: out of range it wraps."""
    value = int(cast("int", number))
    low, high = dtype_range(dtype)
    span = int(high) - int(low) + 1
    return (value - int(low)) % span + int(low)
