"""Print reductions: of a row held whole by one call, of a looped row by accumulators that the loop updates.

In: `Reduce` instructions. Out: lines of a kernel. In the looped form (``tmp3`` is the sum of ``tmp2``):

    _tmp3 = tl.full([XBLOCK, R0_BLOCK], 0.0, tl.float32)
    for r0_offset in range(0, 100000, R0_BLOCK):
        …
        _tmp3 = tl.where(r0_mask, _tmp3 + tmp2, _tmp3)
    tmp3 = tl.sum(_tmp3, 1, keep_dims=True)

Places outside the row hold the identity of the monoid. Sums are trees over a block's lanes, so that the error bound is
that of blocked summation (Section 6.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax.codegen.triton_text import Value, constant_text
from tensorplay.compiler.backends.stax.schedule import Role
from tensorplay.core import dtypes
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.compiler.backends.stax.codegen.triton import GroupPrinter
    from tensorplay.compiler.backends.stax.codegen.triton_tiles import Axis
    from tensorplay.compiler.backends.stax.loop_body import Instr, Reduce, Scalar
    from tensorplay.compiler.backends.stax.schedule import Segment
    from tensorplay.core.dtypes import DType

MERGE: Final = {
    "sum": "tp_add", "prod": "tp_mul", "max": "tp_maximum", "min": "tp_minimum",
    "any": "tp_or", "all": "tp_and", "xor_sum": "tp_xor",
}  # fmt: skip


def merge_text(kind: str) -> str:
    """Return the function that merges two values of a monoid."""
    if kind not in MERGE:
        raise CompileError(f"a running {kind} isn't printed for GPUs")
    return MERGE[kind]


def identity(kind: str, dtype: DType) -> Scalar:
    """Return the neutral value of a monoid with one component, or of the value of ``argmax`` and ``argmin``."""
    match kind:
        case "max" | "argmax":
            return (
                dtypes.iinfo(dtype).min
                if dtype.is_integral
                else -math.inf
                if dtype.kind == "f"
                else False
            )
        case "min" | "argmin":
            return (
                dtypes.iinfo(dtype).max
                if dtype.is_integral
                else math.inf
                if dtype.kind == "f"
                else True
            )
        case "prod" | "all":
            return True if dtype.kind == "b" else 1
        case _:
            return False if dtype.kind == "b" else 0


@dataclass(slots=True)
class Accumulator:
    """The accumulators of one reduction of a looped row."""

    instruction: Reduce
    name: str
    dtypes: tuple[DType, ...]


@dataclass(slots=True)
class ReductionPrinter:
    """Prints the reductions of one segment."""

    printer: GroupPrinter
    segment: Segment
    accumulators: dict[int, Accumulator] = field(default_factory=dict)

    @property
    def reduced(self) -> tuple[Axis, ...]:
        """The axes that are merged over."""
        symbols = {loop.symbol for loop in self.segment.loops if loop.role is Role.REDUCED}
        return tuple(a for a in self.printer.axes if symbols & set(a.symbols))

    def reduce(self, instruction: Reduce, number: int) -> Value:
        """Print a reduction where it stands; in the looped form the update of its accumulators."""
        values = [self.printer.values[a] for a in instruction.args]
        accumulator = self.accumulators.get(number)
        if accumulator is not None:
            return self.update(accumulator, values)
        if not self.reduced:
            return self.single(instruction, values)
        axes = frozenset().union(*(v.axes for v in values)) | {a.name for a in self.reduced}
        texts = [self.printer.broadcast(v, axes) for v in values]
        kept = axes - {a.name for a in self.reduced}
        name = f"tmp{number}"
        if instruction.kind == "welford":
            return self.whole_welford(instruction, name, texts[0], kept)
        mask, _ = self.printer.mask(frozenset(a.name for a in self.reduced))
        if mask:
            neutral = self.neutral(instruction, [v.dtype for v in values])
            for k, text in enumerate(texts):
                masked = f"_{name}" if len(texts) == 1 else f"_{name}_{k}"
                self.printer.line(f"{masked} = tl.where({mask}, {text}, {neutral[k]})")
                texts[k] = masked
        return self.merge(instruction, name, texts, kept)

    def neutral(self, instruction: Reduce, types: Sequence[DType]) -> list[str]:
        """Return the texts of the identity's components."""
        first = constant_text(identity(instruction.kind, types[0]), types[0])
        return [first, *(constant_text(dtypes.iinfo(d).max, d) for d in types[1:])]

    def merge(
        self, instruction: Reduce, name: str, texts: list[str], kept: frozenset[str]
    ) -> Value:
        """Merge blocks along the reduced axes."""
        kind = instruction.kind
        for place in self.places(kept):
            keep = "" if place is None else ", keep_dims=True"
            axis = "None" if place is None else str(place)
            if kind in {"argmax", "argmin"}:
                pair = f"_{name}_value, {name}"
                self.printer.line(
                    f"{pair} = tl.reduce(({texts[0]}, {texts[1]}), {axis}, tp_{kind}{keep})"
                )
                texts = [f"_{name}_value", name]
            elif kind in {"any", "all"} or instruction.dtype.kind == "b":
                call = "max" if kind in {"any", "max"} else "min"
                self.printer.line(f"{name} = tl.{call}({texts[0]}.to(tl.int32), {axis}{keep}) != 0")
                texts = [name]
            elif kind == "sum" and instruction.dtype.itemsize >= 4:
                self.printer.line(f"{name} = tl.sum({texts[0]}, {axis}{keep})")
                texts = [name]
            else:
                self.printer.line(
                    f"{name} = tl.reduce({texts[0]}, {axis}, {merge_text(kind)}{keep})"
                )
                texts = [name]
        return Value(name, instruction.dtype, kept)

    def places(self, kept: frozenset[str]) -> list[int | None]:
        """Return the axes to merge along, one after the other; None merges everything into a scalar."""
        if not kept:
            return [None]
        return [self.printer.axes.index(a) for a in reversed(self.reduced)]

    def single(self, instruction: Reduce, values: list[Value]) -> Value:
        """Merge a row of one element."""
        if instruction.kind in {"argmax", "argmin"}:
            return values[1]
        if instruction.kind != "welford":
            return values[0]
        dtype = instruction.dtype
        parts = (values[0].text, constant_text(0.0, dtype), constant_text(1.0, dtype))
        return Value(values[0].text, dtype, values[0].axes, parts=parts)

    def whole_welford(
        self, instruction: Reduce, name: str, text: str, kept: frozenset[str]
    ) -> Value:
        """Print mean and sum of squared distances of a row held whole: two passes over registers."""
        mask, _ = self.printer.mask(frozenset(a.name for a in self.reduced))
        count = math.prod(a.numel for a in self.reduced)
        number = constant_text(float(count), instruction.dtype)

        def total(value: str, target: str) -> None:
            masked = f"tl.where({mask}, {value}, 0.0)" if mask else value
            for place in self.places(kept):
                keep = "" if place is None else ", keep_dims=True"
                self.printer.line(f"{target} = tl.sum({masked}, {place}{keep})")
                masked = target

        total(text, f"_{name}")
        self.printer.line(f"{name}_mean = tp_div(_{name}, {number})")
        self.printer.line(f"_{name}_distance = {text} - {name}_mean")
        total(f"_{name}_distance * _{name}_distance", f"{name}_m2")
        parts = (f"{name}_mean", f"{name}_m2", number)
        return Value(name, instruction.dtype, kept, parts=parts)

    # ---- looped rows -------------------------------------------------------------------------------------------

    def start(self, instruction: Reduce, number: int, body: Sequence[Instr]) -> None:
        """Print the accumulators of a reduction before the loop over its row."""
        name = f"_tmp{number}"
        shape = self.printer.shape(frozenset(a.name for a in self.printer.axes))

        def full(target: str, value: Scalar, dtype: DType) -> None:
            typed = constant_text(value, dtype).removeprefix("tl.full([], ")
            self.printer.line(f"{target} = tl.full({shape}, {typed}")

        if instruction.kind == "welford":
            for part in ("mean", "m2", "count"):
                full(f"{name}_{part}", 0.0, instruction.dtype)
            types: tuple[DType, ...] = (instruction.dtype,)
        elif instruction.kind in {"argmax", "argmin"}:
            value = body[instruction.args[0]].dtype  # type: ignore[union-attr]  # it defines a value
            full(f"{name}_0", identity(instruction.kind, value), value)
            full(f"{name}_1", dtypes.iinfo(instruction.dtype).max, instruction.dtype)
            types = (value, instruction.dtype)
        else:
            full(name, identity(instruction.kind, instruction.dtype), instruction.dtype)
            types = (instruction.dtype,)
        self.accumulators[number] = Accumulator(instruction, name, types)

    def update(self, accumulator: Accumulator, values: list[Value]) -> Value:
        """Print the update of a reduction's accumulators inside the loop."""
        printer, name, kind = self.printer, accumulator.name, accumulator.instruction.kind
        axes = frozenset(a.name for a in printer.axes)
        mask, _ = printer.mask(axes)
        if kind == "welford":
            zero, one = (constant_text(x, accumulator.instruction.dtype) for x in (0.0, 1.0))
            state = f"{name}_mean, {name}_m2, {name}_count"
            value = f"tl.where({mask}, {values[0].text}, {name}_mean)"
            printer.line(
                f"{state} = tp_welford({state}, {value}, {zero}, tl.where({mask}, {one}, {zero}))"
            )
        elif kind in {"argmax", "argmin"}:
            first = f"tl.where({mask}, {values[0].text}, {self.neutral(accumulator.instruction, accumulator.dtypes)[0]})"
            second = f"tl.where({mask}, {values[1].text}, {self.neutral(accumulator.instruction, accumulator.dtypes)[1]})"
            printer.line(f"{name}_0, {name}_1 = tp_{kind}({name}_0, {name}_1, {first}, {second})")
        else:
            merged = {
                "sum": f"{name} + {values[0].text}", "prod": f"{name} * {values[0].text}",
                "any": f"{name} | {values[0].text}", "all": f"{name} & {values[0].text}",
                "xor_sum": f"{name} ^ {values[0].text}",
            }.get(kind, f"{MERGE[kind]}({name}, {values[0].text})")  # fmt: skip
            printer.line(f"{name} = tl.where({mask}, {merged}, {name})")
        return values[0]

    def finish(self) -> None:
        """Print the merges of the accumulators' lanes after the loop, and put the results in place of the updates."""
        printer = self.printer
        kept = frozenset(a.name for a in printer.axes) - {a.name for a in self.reduced}
        for number, accumulator in self.accumulators.items():
            instruction, name = accumulator.instruction, accumulator.name
            if instruction.kind == "welford":
                result = self.merge_welford(accumulator, name.removeprefix("_"), kept)
            else:
                texts = [f"{name}_0", f"{name}_1"] if len(accumulator.dtypes) > 1 else [name]
                result = self.merge(instruction, name.removeprefix("_"), texts, kept)
            printer.values[number - printer.base] = result

    def merge_welford(self, accumulator: Accumulator, name: str, kept: frozenset[str]) -> Value:
        """Merge the lanes' means and distances."""
        parts = tuple(f"{name}_{part}" for part in ("mean", "m2", "count"))
        lanes = f"({', '.join(f'_{part}' for part in parts)})"
        for place in self.places(kept):
            keep = "" if place is None else ", keep_dims=True"
            self.printer.line(f"{', '.join(parts)} = tl.reduce({lanes}, {place}, tp_welford{keep})")
            lanes = f"({', '.join(parts)})"
        return Value(name, accumulator.instruction.dtype, kept, parts=parts)
