"""Recorded scalar programs: one handler that several interpretations stand on.

A scalar function run under `Recorder` leaves a `Program`: a list of steps in single-assignment form
over its inputs, equal steps shared. From it follow the eager kernel (`numpy_source`), the
derivative (`differentiate`) and, by `replay`, the same computation under any other handler.

>>> from tensorplay.core import dtypes
>>> recorder = Recorder()
>>> x = recorder.input("x", dtypes.float32)
>>> print(recorder.finish(x * 2 + x).text())
x: float32
t0 = constant 2.0 float32
t1 = mul(x, t0)
t2 = add(t1, x)
return t2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import DTypeError, NotDifferentiableError
from tensorplay.ops import values as ops
from tensorplay.ops.values import NO_ATTRS, Attrs, Handler, Instruction, Value, result_dtype

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """A named input of a program."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of a dtype."""

    number: Number
    dtype: DType


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction applied to earlier nodes, given by their positions."""

    instruction: Instruction
    operands: tuple[int, ...]
    attrs: Attrs
    dtype: DType


Node: TypeAlias = Input | Constant | Step


@dataclass(frozen=True, slots=True)
class Program:
    """Nodes in an order where operands come first; the value at position `output` is the result."""

    nodes: tuple[Node, ...]
    output: int

    @property
    def dtype(self) -> DType:
        """The dtype of the result."""
        return self.nodes[self.output].dtype

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs that the result depends on, in order of creation."""
        return tuple(node.name for node in self.nodes if isinstance(node, Input))

    @property
    def step_count(self) -> int:
        """The number of instructions."""
        return sum(isinstance(node, Step) for node in self.nodes)

    def text(self) -> str:
        """One line a node."""
        names: list[str] = []
        lines: list[str] = []
        for node in self.nodes:
            if isinstance(node, Input):
                names.append(node.name)
                lines.append(f"{node.name}: {node.dtype.name}")
                continue
            name = f"t{sum(each.startswith('t') and each[1:].isdigit() for each in names)}"
            names.append(name)
            if isinstance(node, Constant):
                lines.append(f"{name} = constant {node.number!r} {node.dtype.name}")
            else:
                operands = [names[i] for i in node.operands]
                operands += [f"{key}={value!r}" for key, value in node.attrs.items()]
                lines.append(f"{name} = {node.instruction.name}({', '.join(operands)})")
        return "\n".join([*lines, f"return {names[self.output]}"])


class Recorder:
    """A handler that records. Equal nodes are shared; exact identities are simplified.

    `1*x`, `x/1` and double negation are exact in IEEE arithmetic, so that derivatives read well.
    """

    def __init__(self) -> None:
        """Start an empty program."""
        self.nodes: list[Node] = []
        self._known: dict[Key, int] = {}

    def _put(self, key: Key, node: Node) -> Value:
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return Value(self, node.dtype, place)

    def input(self, name: str, dtype: DType) -> Value:
        """Declare an input."""
        return self._put(("input", name), Input(name, dtype))

    def constant(self, number: Number, dtype: DType) -> Value:
        """A constant; its key keeps -0.0 and 0.0, 1 and True apart."""
        number = _fit(number, dtype)
        return self._put(("constant", repr(number), dtype), Constant(number, dtype))

    def apply(self, instruction: Instruction, operands: Sequence[Value], attrs: Attrs) -> Value:
        """Record a step."""
        places = tuple(_place(each) for each in operands)
        dtype = result_dtype(instruction, operands, attrs)
        same = self._simplify(instruction.name, places)
        if same is not None and self.nodes[same].dtype is dtype:
            return Value(self, dtype, same)
        if instruction.name == "conj":
            moved = self._conjugated(places[0])
            if moved is not None:
                return moved
        key = (instruction.name, places, *sorted(attrs.items()))
        return self._put(key, Step(instruction, places, attrs, dtype))

    def _simplify(self, name: str, places: tuple[int, ...]) -> int | None:
        if name in {"mul", "truediv"}:
            a, b = places
            if self._is_one(b):
                return a
            if name == "mul" and self._is_one(a):
                return b
        elif name in {"neg", "conj"}:
            node = self.nodes[places[0]]
            if isinstance(node, Step) and node.instruction.name == name:
                return node.operands[0]
        return None

    def _conjugated(self, place: int) -> Value | None:
        """The conjugate of a constant; of a rational function of conjugates, that function of their arguments."""
        node = self.nodes[place]
        if isinstance(node, Constant):
            return self.constant(node.number.conjugate(), node.dtype)
        if not isinstance(node, Step) or node.instruction.name not in _COMMUTE_WITH_CONJ:
            return None
        operands = [self.nodes[each] for each in node.operands]
        if not any(isinstance(each, Step) and each.instruction.name == "conj" for each in operands):
            return None
        given = [
            Value(self, each.dtype, i) for i, each in zip(node.operands, operands, strict=True)
        ]
        turned = [ops.conj(each) if each.dtype.is_complex else each for each in given]
        return self.apply(node.instruction, turned, node.attrs)

    def _is_one(self, place: int) -> bool:
        node = self.nodes[place]
        return isinstance(node, Constant) and node.number == 1

    def finish(self, result: Value) -> Program:
        """The program of `result`, without nodes that it does not need."""
        return _prune(self.nodes, _place(result))


_COMMUTE_WITH_CONJ = frozenset({"add", "sub", "mul", "truediv", "neg", "where"})


def _place(value: Value) -> int:
    place = value.data
    assert isinstance(place, int)  # noqa: S101  # values of this handler
    return place


def _fit(number: Number, dtype: DType) -> Number:
    """A Python number of the dtype's category: integers wrap, floats keep their double value."""
    kind = dtype.kind
    if kind == "f":
        if isinstance(number, complex):
            msg = f"a complex constant {number!r} does not fit {dtype}"
            raise DTypeError(msg)
        return float(number)
    if kind == "b":
        return bool(number)
    if kind == "c":
        return complex(number)
    if isinstance(number, complex):
        msg = f"a complex constant {number!r} does not fit {dtype}"
        raise DTypeError(msg)
    bits = 8 * dtype.itemsize
    whole = int(number) & ((1 << bits) - 1)
    return whole - (1 << bits) if kind == "i" and whole >> (bits - 1) else whole


def _prune(nodes: Sequence[Node], output: int) -> Program:
    needed = {output}
    for place in range(output, -1, -1):
        node = nodes[place]
        if place in needed and isinstance(node, Step):
            needed.update(node.operands)
    kept = sorted(needed)
    number = {place: i for i, place in enumerate(kept)}
    fresh: list[Node] = []
    for place in kept:
        node = nodes[place]
        if isinstance(node, Step):
            node = Step(
                node.instruction, tuple(number[i] for i in node.operands), node.attrs, node.dtype
            )
        fresh.append(node)
    return Program(tuple(fresh), number[output])


def replay(program: Program, handler: Handler, inputs: Mapping[str, Value]) -> Value:
    """Run a program under another handler."""
    found: list[Value] = []
    for node in program.nodes:
        if isinstance(node, Input):
            found.append(inputs[node.name])
        elif isinstance(node, Constant):
            found.append(handler.constant(node.number, node.dtype))
        else:
            operands = [found[i] for i in node.operands]
            found.append(handler.apply(node.instruction, operands, node.attrs))
    return found[program.output]


RESULT, GRAD = "result", "grad"


def differentiate(program: Program, wanted: str, *, use_result: bool = True) -> Program | None:
    """The program of `grad` times the partial derivative by the input `wanted`; None where it is zero.

    Reverse mode over the recorded steps. Its inputs are `grad`, inputs of `program`, and, with
    `use_result`, `result` where a partial is written with the program's own result (exp, tanh,
    sqrt, …). Of complex numbers it is `grad` times the conjugate of the derivative (or what
    `RealLinear` gives): the gradient whose negative is the direction of steepest descent.
    """
    recorder = Recorder()
    depends = _dependents(program, wanted)
    if program.output not in depends or not program.dtype.is_differentiable:
        return None
    values = _again(program, recorder, use_result=use_result)
    adjoints: dict[int, Value] = {program.output: recorder.input(GRAD, program.dtype)}
    total: Value | None = None
    for place in range(program.output, -1, -1):
        adjoint, node = adjoints.pop(place, None), program.nodes[place]
        if adjoint is None or place not in depends:
            continue
        if isinstance(node, Input):
            total = adjoint
            continue
        assert isinstance(node, Step)  # noqa: S101  # constants depend on nothing
        operands = [values[i] for i in node.operands]
        found = _contributions(node, adjoint, values[place], operands)
        for number, (operand, given) in enumerate(zip(node.operands, found, strict=True)):
            if operand not in depends:
                continue
            part = _defined(node, number, given)
            if part is None:
                continue
            before = adjoints.get(operand)
            adjoints[operand] = part if before is None else before + part
    return None if total is None else recorder.finish(total)


def differentiate_forward(
    program: Program, wanted: str, *, use_result: bool = True
) -> Program | None:
    """The program of the result's tangent, where the tangent of `wanted` is `grad`; None where it is zero.

    For real numbers `differentiate` gives the same function; for complex ones that one is its transpose.
    """
    recorder = Recorder()
    depends = _dependents(program, wanted)
    if program.output not in depends or not program.dtype.is_differentiable:
        return None
    values = _again(program, recorder, use_result=use_result)
    tangents: dict[int, Value] = {}
    for place, node in enumerate(program.nodes):
        if place not in depends:
            continue
        if isinstance(node, Input):
            tangents[place] = recorder.input(GRAD, node.dtype)
            continue
        assert isinstance(node, Step)  # noqa: S101  # constants depend on nothing
        operands = [values[i] for i in node.operands]
        total: Value | None = None
        for number, operand in enumerate(node.operands):
            if operand in tangents:
                part = _tangent_part(node, number, tangents[operand], values[place], operands)
                total = part if total is None or part is None else total + part
        if total is not None:
            tangents[place] = total
    found = tangents.get(program.output)
    return None if found is None else recorder.finish(found)


def _tangent_part(
    step: Step, number: int, tangent: Value, result: Value, operands: Sequence[Value]
) -> Value | None:
    """What the tangent of one operand adds to that of the result."""
    if step.instruction.name == "to_dtype":
        return ops.to_dtype(tangent, step.dtype)
    parts = step.instruction.parts
    if parts is not None and _meets_complex(step, operands):
        return parts.forward(tangent, result, *operands)[number]
    if step.instruction.partials is None:
        return None
    found = step.instruction.partials(tangent, result, *operands)[number]
    return _defined(step, number, found)


def _defined(step: Step, number: int, part: Value | ops.Undefined | None) -> Value | None:
    """The partial derivative by an operand; an error where there is none."""
    if isinstance(part, ops.Undefined):
        msg = f"{step.instruction.name} has no derivative by operand {number}: {part.reason}"
        raise NotDifferentiableError(msg)
    return part


def _again(program: Program, recorder: Recorder, *, use_result: bool) -> list[Value]:
    """The values of all nodes, recorded; with `use_result` the last one as the input `result`."""
    values: list[Value] = []
    for place, node in enumerate(program.nodes):
        if isinstance(node, Step):
            operands = [values[i] for i in node.operands]
            values.append(
                recorder.input(RESULT, node.dtype)
                if use_result and place == program.output
                else recorder.apply(node.instruction, operands, node.attrs)
            )
        elif isinstance(node, Input):
            values.append(recorder.input(node.name, node.dtype))
        else:
            values.append(recorder.constant(node.number, node.dtype))
    return values


def _dependents(program: Program, wanted: str) -> set[int]:
    found: set[int] = set()
    for place, node in enumerate(program.nodes):
        if isinstance(node, Input):
            if node.name == wanted and node.dtype.is_differentiable:
                found.add(place)
        elif (
            isinstance(node, Step)
            and any(i in found for i in node.operands)
            and node.dtype.is_differentiable
        ):
            found.add(place)
    return found


def _contributions(
    step: Step, adjoint: Value, result: Value, operands: Sequence[Value]
) -> Sequence[Value | ops.Undefined | None]:
    """What the adjoint of a step's result gives to each of its operands.

    Of a holomorphic function it is multiplied by the conjugate of the derivative, that is, the partials
    are applied to its conjugate and conjugated.
    """
    if step.instruction.name == "to_dtype":
        return (ops.to_dtype(adjoint, operands[0].dtype),)
    is_complex = _meets_complex(step, operands)
    if is_complex and step.instruction.parts is not None:
        return step.instruction.parts.adjoint(adjoint, result, *operands)
    if step.instruction.partials is None:  # zero almost everywhere
        return (None,) * len(operands)
    if not is_complex:
        return step.instruction.partials(adjoint, result, *operands)
    found = step.instruction.partials(ops.conj(adjoint), result, *operands)
    return tuple(ops.conj(each) if isinstance(each, Value) else each for each in found)


def _meets_complex(step: Step, operands: Sequence[Value]) -> bool:
    return step.dtype.is_complex or any(each.dtype.is_complex for each in operands)


__all__ = [
    "GRAD",
    "NO_ATTRS",
    "RESULT",
    "Constant",
    "Input",
    "Program",
    "Recorder",
    "Step",
    "differentiate",
    "differentiate_forward",
    "replay",
]
