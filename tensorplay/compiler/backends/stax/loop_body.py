"""Loop bodies: the computation of one buffer as a flat list of instructions, the only form that later stages read.

In: an `inner_fn` closure, run once by the recording handler. Out: a `LoopBody` in single assignment: instruction
number k defines value `tmpk`. Every value that depends on memory or on the loop variables is an instruction; every
address is an `Expr` in loop variables, in *elements* from the buffer's first element, strides already applied.

    for i0 in 64: reduce r0_0 in 128
      tmp0 = load primals_1[128*i0 + r0_0] : float32
      tmp1 = load primals_2[128*i0 + r0_0] : float32
      tmp2 = add(tmp0, tmp1) : float32
      tmp3 = reduce sum(tmp2) : float32
      store buf2[i0] = tmp3

What a code generator must know of each instruction is said in its class.

[Note: indirect addresses] An address that depends on data contains placeholder symbols `j0`, `j1`, … (made by
`indirect_symbol`). `indices[k]` is the number of the value that `jk` stands for; it is an int64 value already
corrected for negative indices and, unless proved, checked by a `CheckBounds` that precedes the access.

[Note: masks] An instruction with a `mask` touches memory (or fails its check) only where the mask is true. A masked
load gives zero elsewhere. Arithmetic on such zeros runs everywhere and must not trap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.compiler.backends.stax.index import Expr, Symbol
from tensorplay.core.readable import Readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tensorplay.core.dtypes import DType

ValueId: TypeAlias = int
"""The position of an instruction in its body; `tmp7` is the value of instruction 7."""

Scalar: TypeAlias = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Compute:
    """Apply a scalar instruction of `ops.instructions`: `tmpk = op(args, **attrs)`.

    `attrs` are the instruction's attributes as (name, value) pairs, sorted by name. A conversion is
    `op="to_dtype"` with the target in `dtype`; one to float16 or bfloat16 rounds, and is never dropped.
    """

    op: str
    args: tuple[ValueId, ...]
    dtype: DType
    attrs: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """A number. Compared by bits: 0.0 and -0.0 differ, NaN equals NaN; see `key`."""

    value: Scalar
    dtype: DType


@dataclass(frozen=True, slots=True)
class IndexExpr:
    """The value of an index expression, converted to `dtype`. In 64 bits unless the group says 32 suffice."""

    index: Expr
    dtype: DType
    indices: tuple[ValueId, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """Read element `index` of a buffer, as its storage `dtype`. See [Note: indirect addresses], [Note: masks]."""

    buffer: str
    index: Expr
    dtype: DType
    indices: tuple[ValueId, ...] = ()
    mask: ValueId | None = None


@dataclass(frozen=True, slots=True)
class LoadLocal:
    """Read a row-local value (`schedule.Local`) at the current values of its axes."""

    local: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class CheckBounds:
    """Fail unless `0 <= args[value] < size`; `check` numbers the message in `Group.checks`.

    It comes before the access that needs it and defines no value. Where a check fails, the kernel writes what it
    likes and returns `1 + check`.
    """

    value: ValueId
    size: int
    check: int
    mask: ValueId | None = None


@dataclass(frozen=True, slots=True)
class Reduce:
    """Merge `args` over all reduced loops of the segment, from the identity of the monoid `kind`.

    The value exists only after those loops: only instructions of `Segment.after` (in a `LoopBody`: later
    `Store`s) may use it. Kinds and operands: `sum`, `prod`, `max`, `min`, `any`, `all`, `xor_sum`
    take one value of `dtype`; a NaN wins in `max` and `min`. `argmax` and `argmin` take (value, index) with
    index int64 and give the index of the extreme, the first NaN before any number, the smaller index on ties.
    `welford` takes one value and has three parts, see `Part`.
    """

    kind: str
    args: tuple[ValueId, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a `welford` reduction: mean (0), sum of squared distances (1), count (2)."""

    reduction: ValueId
    position: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Scan:
    """The running merge (inclusive) of `value` along the scanned loop, restarted in every outer iteration."""

    kind: str
    value: ValueId
    dtype: DType


@dataclass(frozen=True, slots=True)
class Store:
    """Write `value` to element `index` of a buffer. Defines no value.

    `mode` "set": the element's one definition; the place is a different one in every iteration. The others change a
    buffer that an earlier kernel filled, several iterations may hit one element, and iterations run in order:
    "overwrite" (the last one wins), "add", "prod", "max", "min" (combine with what is there).
    """

    buffer: str
    index: Expr
    value: ValueId
    mode: str = "set"
    indices: tuple[ValueId, ...] = ()
    mask: ValueId | None = None


@dataclass(frozen=True, slots=True)
class StoreLocal:
    """Write a row-local value at the current values of its axes. Defines no value."""

    local: str
    value: ValueId


Instr: TypeAlias = (
    Compute
    | Constant
    | IndexExpr
    | Load
    | LoadLocal
    | CheckBounds
    | Reduce
    | Part
    | Scan
    | Store
    | StoreLocal
)


@dataclass(frozen=True, slots=True)
class LoopBody(Readable):
    """One buffer's loops and what they do; `instructions` ends with its stores.

    `loops` are the loop variables of the result, outermost first; `reduced` those merged over; `scanned` is the
    one of `loops` that a scan runs along.
    """

    loops: tuple[Symbol, ...]
    reduced: tuple[Symbol, ...]
    instructions: tuple[Instr, ...]
    scanned: Symbol | None = None
    checks: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the loops and one instruction a line."""
        head = ", ".join(f"{s} in {s.extent}" for s in self.loops)
        tail = ", ".join(f"{s} in {s.extent}" for s in self.reduced)
        first = (
            f"for {head}:"
            if not tail
            else f"for {head}: reduce {tail}"
            if head
            else f"reduce {tail}"
        )
        lines = [first if self.loops or self.reduced else "once:"]
        lines += (f"  {instruction_text(n, i)}" for n, i in enumerate(self.instructions))
        return "\n".join(lines)


@lru_cache(maxsize=1024)
def indirect_symbol(position: int, size: int) -> Symbol:
    """Return the placeholder `jk` of an address; its range is what the check or the proof guarantees."""
    return Symbol(f"j{position}", 0, size - 1)


def is_indirect(symbol: Symbol) -> bool:
    """Say whether a symbol stands for a value read from memory."""
    return re.fullmatch(r"j\d+", symbol.name) is not None


def operands(instruction: Instr) -> tuple[ValueId, ...]:
    """Return the values that an instruction reads, in order, masks last."""
    match instruction:
        case Compute(args=args) | Reduce(args=args):
            return args
        case IndexExpr(indices=indices):
            return indices
        case Load(indices=indices, mask=mask):
            return indices if mask is None else (*indices, mask)
        case CheckBounds(value=value, mask=mask):
            return (value,) if mask is None else (value, mask)
        case Part(reduction=value) | Scan(value=value) | StoreLocal(value=value):
            return (value,)
        case Store(value=value, indices=indices, mask=mask):
            return (value, *indices) if mask is None else (value, *indices, mask)
        case _:
            return ()


def has_effect(instruction: Instr) -> bool:
    """Say whether an instruction is there for what it does, not for a value."""
    return isinstance(instruction, (Store, StoreLocal, CheckBounds))


def key(instruction: Instr) -> object:
    """Return what two instructions that compute the same have in common; constants by type and bits."""
    if isinstance(instruction, Constant):
        return (Constant, instruction.dtype, type(instruction.value), repr(instruction.value))
    return instruction


def instruction_text(number: int, instruction: Instr) -> str:
    """Return an instruction as one line."""
    match instruction:
        case Compute(op, args, dtype, attrs):
            inside = [f"tmp{a}" for a in args] + [f"{name}={value}" for name, value in attrs]
            return f"tmp{number} = {op}({', '.join(inside)}) : {dtype.name}"
        case Constant(value, dtype):
            return f"tmp{number} = constant {value!r} : {dtype.name}"
        case IndexExpr(index, dtype, indices):
            return f"tmp{number} = index {with_values(index, indices)} : {dtype.name}"
        case Load(buffer, index, dtype, indices, mask):
            return f"tmp{number} = load {buffer}[{with_values(index, indices)}]{when(mask)} : {dtype.name}"
        case LoadLocal(local, dtype):
            return f"tmp{number} = local {local} : {dtype.name}"
        case CheckBounds(value, size, check, mask):
            return f"check {check}: 0 <= tmp{value} < {size}{when(mask)}"
        case Reduce(kind, args, dtype):
            return (
                f"tmp{number} = reduce {kind}({', '.join(f'tmp{a}' for a in args)}) : {dtype.name}"
            )
        case Part(reduction, position, dtype):
            return f"tmp{number} = part {position} of tmp{reduction} : {dtype.name}"
        case Scan(kind, value, dtype):
            return f"tmp{number} = scan {kind}(tmp{value}) : {dtype.name}"
        case Store(buffer, index, value, mode, indices, mask):
            verb = {"set": "store", "overwrite": "store over"}.get(mode, mode)
            return f"{verb} {buffer}[{with_values(index, indices)}] = tmp{value}{when(mask)}"
        case StoreLocal(local, value):
            return f"local {local} = tmp{value}"


def with_values(index: Expr, indices: tuple[ValueId, ...]) -> str:
    """Return the text of an address with `tmpk` in place of the placeholders."""
    text = str(index)
    return re.sub(r"\bj(\d+)\b", lambda m: f"tmp{indices[int(m[1])]}", text) if indices else text


def when(mask: ValueId | None) -> str:
    """Return the text of a mask."""
    return "" if mask is None else f" where tmp{mask}"


def map_indices(instruction: Instr, change: Callable[[Expr], Expr]) -> Instr:
    """Return the instruction with its index expression changed."""
    match instruction:
        case Load(buffer, index, dtype, indices, mask):
            return Load(buffer, change(index), dtype, indices, mask)
        case Store(buffer, index, value, mode, indices, mask):
            return Store(buffer, change(index), value, mode, indices, mask)
        case IndexExpr(index, dtype, indices):
            return IndexExpr(change(index), dtype, indices)
        case _:
            return instruction


def renumber(instruction: Instr, new: Callable[[ValueId], ValueId]) -> Instr:
    """Return the instruction with its operands renamed."""
    match instruction:
        case Compute(op, args, dtype, attrs):
            return Compute(op, tuple(map(new, args)), dtype, attrs)
        case Reduce(kind, args, dtype):
            return Reduce(kind, tuple(map(new, args)), dtype)
        case IndexExpr(index, dtype, indices):
            return IndexExpr(index, dtype, tuple(map(new, indices))) if indices else instruction
        case Load(buffer, index, dtype, indices, mask):
            if not indices and mask is None:
                return instruction
            return Load(
                buffer, index, dtype, tuple(map(new, indices)), None if mask is None else new(mask)
            )
        case CheckBounds(value, size, check, mask):
            return CheckBounds(new(value), size, check, None if mask is None else new(mask))
        case Part(reduction, position, dtype):
            return Part(new(reduction), position, dtype)
        case Scan(kind, value, dtype):
            return Scan(kind, new(value), dtype)
        case Store(buffer, index, value, mode, indices, mask):
            masked = None if mask is None else new(mask)
            return Store(buffer, index, new(value), mode, tuple(map(new, indices)), masked)
        case StoreLocal(local, value):
            return StoreLocal(local, new(value))
        case _:
            return instruction


def drop_unused(instructions: Sequence[Instr]) -> tuple[Instr, ...]:
    """Return the instructions that have an effect or feed one, numbered from zero. Linear."""
    kept, _ = drop_unused_parts(instructions, ())
    return kept


def drop_unused_parts(
    body: Sequence[Instr], after: Sequence[Instr]
) -> tuple[tuple[Instr, ...], tuple[Instr, ...]]:
    """Do the same for two parts that are numbered through."""
    instructions = [*body, *after]
    needed = [has_effect(i) for i in instructions]
    for number in range(len(instructions) - 1, -1, -1):
        if needed[number]:
            for operand in operands(instructions[number]):
                needed[operand] = True
    if all(needed):
        return tuple(body), tuple(after)
    new: dict[ValueId, ValueId] = {}
    kept: list[Instr] = []
    for number, instruction in enumerate(instructions):
        if needed[number]:
            new[number] = len(kept)
            kept.append(renumber(instruction, new.__getitem__))
    size = sum(needed[: len(body)])
    return tuple(kept[:size]), tuple(kept[size:])


def accesses(body: LoopBody) -> Iterator[Load | Store]:
    """Yield every read and write of memory, in order."""
    return (i for i in body.instructions if isinstance(i, (Load, Store)))
