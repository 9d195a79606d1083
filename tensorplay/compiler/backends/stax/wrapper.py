"""The wrapper: a plan and its kernels printed as a Python module.

In: a `Plan`, its kernels as C++ text, and the launch of each group. Out: a module that a person can read, which defines
`call`, a `tensorplay._C.Program` that checks the inputs, allocates, launches, and returns the outputs in one step. For
``(relu(x + w) * 2).sum(-1)`` the module ends with

    async_compile.wait(globals())

    call = Program(
        inputs=(
            (float32, (64, 128), (128, 1)),  # 0: primals_1
            (float32, (64, 128), (128, 1)),  # 1: primals_2
        ),
        buffers=(
            ("output", float32, (64,), (1,)),  # 2: buf2
        ),
        steps=(
            ("launch", cpp_fused_add_mul_relu_sum_0, (0, 1, 2), 64, 64, ()),  # primals_1, primals_2 -> buf2
        ),
        outputs=(2,),
    )

An input of another dtype, shape or stride than is written there is refused when the module is called.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from tensorplay.compiler.backends.stax.schedule import BufferView, Extern, Group, Place
from tensorplay.compiler.backends.stax.thread_grain import parallel_grain
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType, Undefined
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tensorplay.compiler.backends.stax.schedule import Plan
    from tensorplay.compiler.backends.stax.sources import KernelSource, Launch
    from tensorplay.compiler.target import CpuTarget

INTO: Final = {"matmul": "matmul", "mm": "matmul", "bmm": "matmul"}
"""Operators whose kernel takes the result's memory as its last argument, and the name of that kernel."""


def print_wrapper(
    plan: Plan,
    kernels: Sequence[KernelSource],
    launches: Mapping[str, Launch],
    target: CpuTarget,
    title: str,
) -> str:
    """Return the module's text; ``launches`` says by the name of a group which kernel computes it."""
    return ModulePrinter(plan, kernels, launches, target, title).text()


@dataclass(slots=True)
class ModulePrinter:
    """Prints one module. Buffers get numbers: the inputs first, then the others as the plan lists them."""

    plan: Plan
    kernels: Sequence[KernelSource]
    launches: Mapping[str, Launch]
    target: CpuTarget
    title: str
    numbers: dict[str, int] = field(default_factory=dict)
    views: dict[BufferView, int] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    functions: list[str] = field(default_factory=list)
    called: set[str] = field(default_factory=set)
    buffers: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the module."""
        inputs = list(self.input_lines())
        self.number_buffers()
        steps = list(self.step_lines())
        outputs = tuple_text(str(self.numbers[name]) for name in self.plan.schedule.outputs)
        program = [
            *section("inputs", inputs),
            *section("buffers", self.buffers),
            *section("steps", steps),
            f"    outputs={outputs},",
        ]
        if self.plan.arena_bytes:
            program.append(f"    workspace={self.plan.arena_bytes},")
        program.append(f'    name="{self.title}",')
        compile_ = (
            [f'async_compile = AsyncCompile(isa="{self.target.isa}")'] if self.kernels else []
        )
        parts = [
            f'"""{self.title}: written by tensorplay, for {self.target.isa}."""',
            "\n".join(self.import_lines()),
            *compile_,
            *map(kernel_text, self.kernels),
            *(["async_compile.wait(globals())"] if self.kernels else []),
            *self.functions,
            "\n".join(["call = Program(", *program, ")"]),
        ]
        return "\n\n".join(parts) + "\n"

    # ---- the head ------------------------------------------------------------------------------------------------

    def import_lines(self) -> Iterator[str]:
        """Yield the imports that the module needs."""
        functions = "".join(self.functions)
        matmul = ", matmul" if " matmul(" in functions or "matmul" in self.called else ""
        yield f"from tensorplay._C import Program{matmul}"
        if self.kernels:
            yield f"from {__package__}.async_compile import AsyncCompile"
        if "dtypes." in functions:
            yield "from tensorplay.core import dtypes"
        if "Device(" in functions:
            yield "from tensorplay.core.device import Device"
        if self.dtypes:
            yield f"from tensorplay.core.dtypes import {', '.join(sorted(self.dtypes))}"
        if "tp." in functions:
            yield "from tensorplay.ops.registry import tp"

    def dtype(self, dtype: DType) -> str:
        """Return the name of a dtype, and import it."""
        name = "bool_" if dtype.name == "bool" else dtype.name
        self.dtypes.add(name)
        return name

    # ---- buffers -------------------------------------------------------------------------------------------------

    def input_lines(self) -> Iterator[str]:
        """Number the inputs and yield their lines."""
        for name in self.plan.schedule.inputs:
            info = self.plan.schedule.buffers[name]
            number = self.numbers[name] = len(self.numbers)
            yield f"({self.dtype(info.dtype)}, {info.shape}, {info.strides}),  # {number}: {name}"

    def number_buffers(self) -> None:
        """Number the other buffers and write their lines."""
        for name, allocation in self.plan.allocations.items():
            info = self.plan.schedule.buffers[name]
            layout = f"{self.dtype(info.dtype)}, {info.shape}, {info.strides}"
            match allocation.place:
                case Place.INPUT:
                    continue
                case Place.OUTPUT:
                    self.add_buffer(name, f'("output", {layout})')
                case Place.ARENA:
                    self.add_buffer(name, f'("slot", {allocation.offset}, {layout})')
                case Place.EXTERN:
                    self.add_buffer(name, f'("result", {layout})')
                case Place.WRITE_BACK:
                    source = self.plan.schedule.buffers[allocation.alias]
                    if (source.dtype, source.shape, source.strides) != (
                        (info.dtype, info.shape, info.strides)
                    ):
                        raise CompileError(
                            f"{name} cannot be written into {allocation.alias}: they differ in layout"
                        )
                    self.numbers[name] = self.numbers[allocation.alias]
                case _:
                    assert_never(allocation.place)

    def add_buffer(self, name: str, spec: str) -> int:
        """Append a line of the buffer table; return its number."""
        number = len(self.plan.schedule.inputs) + len(self.buffers)
        self.numbers.setdefault(name, number)
        self.buffers.append(f"{spec},  # {number}: {name}")
        return number

    def view_number(self, view: BufferView) -> int:
        """Return the number of a view of a buffer; of the buffer itself where the view is all of it."""
        info = self.plan.schedule.buffers[view.buffer]
        whole = BufferView(info.name, info.shape, info.strides, 0, info.dtype)
        if view == whole:
            return self.numbers[view.buffer]
        if view not in self.views:
            layout = f"{self.dtype(view.dtype)}, {view.shape}, {view.strides}"
            spec = f'("view", {self.numbers[view.buffer]}, {view.offset}, {layout})'
            self.views[view] = self.add_buffer(f"{view.buffer} view {len(self.views)}", spec)
        return self.views[view]

    def pointer_number(self, buffer: str, place: int) -> int:
        """Return the number of a buffer, or of what is left of it from one of its elements on."""
        if not place:
            return self.numbers[buffer]
        info = self.plan.schedule.buffers[buffer]
        return self.view_number(
            BufferView(buffer, (info.elements - place,), (1,), place, info.dtype)
        )

    # ---- steps ---------------------------------------------------------------------------------------------------

    def step_lines(self) -> Iterator[str]:
        """Yield the steps, each with a comment that says what it reads and writes and what ends there."""
        for position, step in enumerate(self.plan.schedule.steps):
            line = self.launch(step) if isinstance(step, Group) else self.extern(step)
            ended = [
                name
                for name in (self.plan.releases[position] if self.plan.releases else ())
                if self.plan.allocations[name].place not in {Place.INPUT, Place.OUTPUT}
            ]
            yield line + (f"; frees {', '.join(ended)}" if ended else "")

    def launch(self, group: Group) -> str:
        """Return the step of a kernel."""
        launch = self.launches[group.name]
        numbers = tuple_text(str(self.pointer_number(*pointer)) for pointer in launch.pointers)
        grain = parallel_grain(group, self.target)
        checks = tuple_text(map(repr, group.checks))
        count = len(group.reads)
        reads = ", ".join(map(pointer_text, launch.pointers[:count]))
        writes = ", ".join(map(pointer_text, launch.pointers[count:]))
        return f'("launch", {launch.kernel}, {numbers}, {group.iterations}, {grain}, {checks}),  # {reads} -> {writes}'

    def extern(self, step: Extern) -> str:
        """Write the function that calls an operator's kernel; return its step."""
        parameters: dict[int, str] = {}

        def write(argument: object) -> str:
            if isinstance(argument, BufferView):
                number = self.view_number(argument)
                return parameters.setdefault(number, self.fresh(argument.buffer, parameters))
            if isinstance(argument, (list, tuple)):
                inside = tuple_text(map(write, argument))
                return inside if isinstance(argument, tuple) else f"[{inside[1:-1].rstrip(',')}]"
            return literal(argument)

        arguments = [write(a) for a in step.args]
        arguments += (f"{name}={write(value)}" for name, value in step.kwargs.items())
        results = [self.numbers[name] for name in step.outputs]
        if step.into:
            outs = [
                parameters.setdefault(self.numbers[name], self.fresh(name, parameters))
                for name in step.outputs
            ]
            arguments += outs
            results = []
        operator = step.overload.operator.name
        if step.into and operator not in INTO:
            raise CompileError(f"{operator} cannot write into memory that the plan allocates")
        callee = INTO[operator] if step.into else f"tp.{operator}.kernel"
        function = f"extern_{len(self.functions)}_{operator}"
        if step.into and arguments == list(parameters.values()):
            function = callee  # it takes the arrays as they come
            self.called.add(callee)
        else:
            call = f"{callee}({', '.join(arguments)})"
            body = call if step.into else f"return {call}"
            names = ", ".join(parameters.values())
            self.functions.append(f"\ndef {function}({names}):\n    {body}\n")
        numbers = tuple_text(map(str, parameters))
        made = tuple_text(map(str, results))
        reads, writes = ", ".join(step.reads), ", ".join(step.outputs)
        return f'("extern", {function}, {numbers}, {made}),  # {reads} -> {writes}'

    def fresh(self, name: str, parameters: Mapping[int, str]) -> str:
        """Return a parameter's name that is not taken."""
        taken = set(parameters.values())
        base = candidate = identifier(name)
        count = 1
        while candidate in taken:
            count += 1
            candidate = f"{base}_{count}"
        return candidate


# ---- texts -----------------------------------------------------------------------------------------------------


def kernel_text(kernel: KernelSource) -> str:
    """Return the statement that submits a kernel."""
    source = kernel.source.strip("\n")
    quoted = source.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return f"{kernel.name} = async_compile.cpp(\"{kernel.name}\", '''\n{quoted}\n''')"


def pointer_text(pointer: tuple[str, int]) -> str:
    """Return a buffer's name, and where in it a kernel begins."""
    buffer, place = pointer
    return f"{buffer} + {place}" if place else buffer


def tuple_text(items: Iterator[str] | Sequence[str] | map[str]) -> str:
    """Return a tuple's text."""
    texts = list(items)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def section(name: str, lines: list[str]) -> list[str]:
    """Return an argument of the program that is a tuple, a line an item."""
    if not lines:
        return [f"    {name}=(),"]
    return [f"    {name}=(", *(f"        {line}" for line in lines), "    ),"]


def identifier(name: str) -> str:
    """Return a name that Python takes as a parameter's and that hides nothing the module uses."""
    name = re.sub(r"\W", "_", name)
    reserved = keyword.iskeyword(name) or hasattr(builtins, name)
    return (
        f"{name}_" if reserved or name in {"tp", "dtypes", "Device", "Program", "matmul"} else name
    )


def literal(value: object) -> str:
    """Return the text that evaluates to an operator's constant argument."""
    match value:
        case None | bool() | int() | str():
            return repr(value)
        case float():
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        case complex():
            return f"complex({literal(value.real)}, {literal(value.imag)})"
        case DType():
            return f"dtypes.{'bool_' if value.name == 'bool' else value.name}"
        case Undefined():
            return "dtypes.undefined"
        case Device():
            return f"Device({value.type!r}, {value.index})"
        case slice():
            return f"slice({literal(value.start)}, {literal(value.stop)}, {literal(value.step)})"
        case _:
            raise CompileError(
                f"an argument of an external call has the type {type(value).__name__}, which the wrapper cannot "
                f"write: {value!r}"
            )
