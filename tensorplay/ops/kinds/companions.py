"""Derivatives of pointwise operators, as operators: the companions.

The derivative of gelu by its input becomes the pointwise operator `gelu_backward(grad, input,
approximate)`. Its scalar function replays the differentiated program, so it has companions of its
own, to any order. A derivative that is only `grad`, `-grad`, `grad * x` or `grad / x` is a call of
that operator instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import RegistryError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import door
from tensorplay.ops import values as ops
from tensorplay.ops.expression import GRAD, RESULT, Input, Program, Step, replay
from tensorplay.ops.gradient import fit_gradient
from tensorplay.ops.signature import (
    TENSOR_ROLES,
    Parameter,
    Role,
    Signature,
    Values,
    has_dtype,
    is_tensor,
)
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.ops.kinds.pointwise import Pointwise
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor

INDEX, LINEAR = "index", "linear index"
"""Names of the inputs that stand for an element's place."""


@dataclass(frozen=True, slots=True)
class Derivative:
    """A derivative as an operator call: `operator(*arguments)` with names of arguments or numbers."""

    operator: Operator | None
    """None where the derivative is the gradient itself."""
    arguments: tuple[str | Number | None, ...]
    """`grad`, `result`, or names of parameters; None for a tensor that is not read."""


def derive(
    kind: Pointwise,
    operator: Operator,
    values: Values,
    name: str,
    computation: DType,
    *,
    forward: bool,
) -> Derivative | None:
    """How to compute `grad` times the derivative by the operand `name`; None where that is zero.

    `forward` is the tangent, which only complex numbers tell from the gradient.
    """
    program = kind.differential(operator, values, name, computation.compute, forward=forward)
    if program is None:
        return None
    known = _as_known_operator(program, operator)
    if known is not None:
        return known
    reads = kind.reads(operator, name)
    if RESULT not in reads:
        program = kind.differential(
            operator, values, name, computation.compute, use_result=False, forward=forward
        )
    needed = _read_by(program)
    if not needed <= reads:  # arguments that no sample has
        reads = needed
    companion = kind.companion(operator, name, reads, forward=forward)
    special = (GRAD, RESULT) if RESULT in reads else (GRAD,)
    own = companion.signature.parameters[len(special) :]
    places = operator.signature.places
    unread = {
        each.name
        for each in own
        if not each.optional and each.name not in needed and has_dtype(values[places[each.name]])
    }
    arguments = (None if each.name in unread else each.name for each in own)
    return Derivative(companion, (*special, *arguments))


def _read_by(program: Program | None) -> frozenset[str]:
    return frozenset() if program is None else frozenset(program.inputs) - {GRAD}


def usual_reads(operator: Operator, kind: Pointwise, name: str) -> frozenset[str]:
    """What the derivative by `name` reads, for the arguments of all samples together.

    The result is among it where no call would then save more tensors than its own derivative reads;
    otherwise the derivative is computed from the operands alone.
    """
    with_result: list[frozenset[str]] = []
    without: list[frozenset[str]] = []
    tensors: list[set[str]] = []
    for call in default_calls(operator):
        try:
            program = kind.differential(operator, call, name, dtypes.float32)
        except RegistryError:  # a companion that serves other arguments only, complex ones
            continue
        with_result.append(_read_by(program))
        program = kind.differential(operator, call, name, dtypes.float32, use_result=False)
        without.append(_read_by(program))
        given = zip(operator.signature.parameters, call, strict=True)
        tensors.append({each.name for each, value in given if has_dtype(value)} | {RESULT})
    if not with_result:
        return frozenset()
    together = frozenset[str]().union(*with_result)
    exact = all(
        together & own == needed for own, needed in zip(tensors, with_result, strict=True) if needed
    )
    return together if exact or RESULT not in together else frozenset[str]().union(*without)


def tensor_arguments(
    operator: Operator, values: Values
) -> tuple[tuple[str, ...], tuple[TensorMeta, ...]]:
    """Names and metas of the tensor arguments of a pointwise call."""
    pairs: list[tuple[str, Any]] = [
        (parameter.name, value)
        for parameter, value in zip(operator.signature.parameters, values, strict=True)
        if is_tensor(value)
    ]
    return tuple(name for name, _ in pairs), tuple(value.tensor_meta for _, value in pairs)


def gradient_of(
    operator: Operator, derivative: Derivative | None, known: Mapping[str, Any], meta: TensorMeta
) -> Tensor | None:
    """The gradient of one operand, in its shape and dtype; zeros where the derivative is zero."""
    if not meta.dtype.is_differentiable:
        return None
    if derivative is None:
        zeros: Tensor = operator.sibling("zeros")(meta.shape, dtype=meta.dtype, device=meta.device)
        return zeros
    return fit_gradient(apply_derivative(derivative, known), meta)


def apply_derivative(derivative: Derivative, known: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a tensor
    """Call a derivative with the values of the names that it reads."""
    arguments = tuple(
        known.get(each, each) if isinstance(each, str) else each for each in derivative.arguments
    )
    if derivative.operator is None:
        return arguments[0]
    if len(arguments) == len(
        derivative.operator.signature.parameters
    ):  # a companion takes every one
        return door.call(derivative.operator, arguments)
    return door.call(derivative.operator, derivative.operator.signature.bind(arguments, {}))


# ---- derivatives as operators -----------------------------------------------------------------------

_KNOWN = {"neg": "neg", "mul": "mul", "truediv": "div"}


def _as_known_operator(program: Program, operator: Operator) -> Derivative | None:
    """A derivative that is `grad`, `-grad`, `grad * x` or `grad / x` as a call of that operator."""
    output = program.nodes[program.output]
    parameters = operator.signature.parameters
    if isinstance(output, Input):
        return Derivative(None, (GRAD,))
    if (
        program.step_count != 1
        or not isinstance(output, Step)
        or output.instruction.name not in _KNOWN
    ):
        return None
    arguments: list[str | Number | None] = []
    for place in output.operands:
        node = program.nodes[place]
        if isinstance(node, Step):
            return None
        if isinstance(node, Input):
            if node.name not in {GRAD, RESULT} and parameters[operator.signature.places[node.name]].role not in {
                Role.TENSOR, Role.SCALAR, Role.STATIC,
            }:  # fmt: skip
                return None
            arguments.append(node.name)
        else:
            arguments.append(node.number)
    if arguments[0] != GRAD:
        return None
    return Derivative(operator.sibling(_KNOWN[output.instruction.name]), tuple(arguments))


def differentiable_names(operator: Operator) -> list[str]:
    """The operands that can have a derivative."""
    return [
        each.name
        for each in operator.signature.parameters
        if each.role in TENSOR_ROLES and each.role is not Role.MASK
    ]


def default_calls(operator: Operator) -> list[Values]:
    """Calls with float32 operands for each distinct set of other arguments among the samples, defaults first."""
    calls: list[Values] = []
    others: list[Mapping[str, object]] = [{}]
    for sample in operator.samples() if operator.samples is not None else ():
        if sample.error is None:
            bound = operator.signature.bind(sample.args, sample.kwargs)
            others.append(
                {
                    parameter.name: value
                    for parameter, value in zip(operator.signature.parameters, bound, strict=True)
                    if not parameter.takes_tensor
                    or value is None
                    or isinstance(value, (int, float))
                }
            )
    for other in others:
        call = _float_call(operator, other)
        if call is not None and call not in calls:
            calls.append(call)
    return calls


def _float_call(operator: Operator, other: Mapping[str, object]) -> Values | None:
    values: list[object] = []
    shape = (1,) if getattr(operator.kind, "index_name", None) is None else (1, 1)
    for parameter in operator.signature.parameters:
        if parameter.name in other:
            values.append(other[parameter.name])
        elif parameter.takes_tensor:
            kind = dtypes.bool_ if parameter.role is Role.MASK else dtypes.float32
            values.append(TensorMeta(shape, kind))
        elif parameter.required:
            return None
        else:
            values.append(parameter.default)
    return tuple(values)


def make_companion(
    operator: Operator, kind: Pointwise, name: str, reads: frozenset[str], *, forward: bool
) -> Operator:
    """`<operator>_backward[_<name>]`: grad, then what is read, then the arguments that are not tensors.

    With `forward`, `<operator>_tangent[_<name>]`.
    """
    own = operator.signature.parameters
    grad_name = _fresh_name("grad_output", operator.signature)
    special = {grad_name: GRAD}
    if RESULT in reads:
        special[_fresh_name("output", operator.signature)] = RESULT
    parameters = [
        Parameter(
            each,
            Role.TENSOR,
            inspect.Parameter.empty,
            keyword_only=False,
            optional=False,
            annotation="Tensor",
        )
        for each in special
    ]
    parameters += [
        each
        for each in own
        if each.name in reads or not each.takes_tensor or each.role is Role.STATIC or each.optional
    ]
    title = companion_name(operator, kind, name, reads, forward=forward)
    places = {each.name: i for i, each in enumerate(parameters)}

    def scalar_fn(**arguments: Any) -> Value:  # noqa: ANN401  # Values and plain arguments
        grad: Value = arguments[grad_name]
        index: tuple[Value, ...] = () if kind.index_name is None else arguments[kind.index_name]
        unread = TensorMeta((1,) * len(index), grad.dtype)
        found = [arguments.get(each.name, unread) for each in own]
        values = tuple(
            unread
            if value is None and each.takes_tensor and not each.optional
            else _as_meta(value, len(index))
            for each, value in zip(own, found, strict=True)
        )
        use_result = RESULT in reads
        program = kind.differential(
            operator, values, name, grad.dtype, use_result=use_result, forward=forward
        )
        if program is None:
            msg = f"{title}: the derivative is zero for these arguments"
            raise RegistryError(msg)
        inputs = {
            special.get(each.name, each.name): arguments[each.name]
            for each in parameters
            if isinstance(arguments[each.name], Value)
        }
        inputs.update({f"{INDEX}{i}": value for i, value in enumerate(index)})
        if kind.linear_name is not None:
            inputs[LINEAR] = arguments[kind.linear_name]
        missing = sorted(set(program.inputs) - set(inputs))
        if missing:
            msg = f"{title}: for these arguments the derivative also reads {', '.join(missing)}"
            raise RegistryError(msg)
        return replay(program, grad.handler, _with_real_parts(program, inputs))

    signature = Signature(title, tuple(parameters), operator.signature.supplied, places)
    doc = f"`grad` times the derivative of `{operator.name}` by `{name}` (derived)."
    return operator.derived(title, kind.of_companion(scalar_fn), signature, doc, scalar_fn)


def _with_real_parts(program: Program, inputs: Mapping[str, Value]) -> Mapping[str, Value]:
    """The real parts of what a program takes as real numbers: promotion made it complex (the gradient of abs)."""
    wanted = {each.name: each.dtype for each in program.nodes if isinstance(each, Input)}
    return {
        name: ops.real(value)
        if value.dtype.is_complex and name in wanted and not wanted[name].is_complex
        else value
        for name, value in inputs.items()
    }


def _fresh_name(name: str, signature: Signature) -> str:
    """A name that no parameter has: a companion of a companion has two gradients among its parameters.

    Never `GRAD` or `RESULT`, which stand for the gradient and the result of the operator that is
    being differentiated.
    """
    while name in signature.places:
        name = f"{name}_{name}"
    return name


def _as_meta(argument: object, ndim: int) -> object:
    return TensorMeta((1,) * ndim, argument.dtype) if isinstance(argument, Value) else argument


def companion_name(
    operator: Operator, kind: Pointwise, name: str, reads: frozenset[str], *, forward: bool
) -> str:
    """The plain name for what the derivative usually reads, a longer one for other arguments."""
    several = len(differentiable_names(operator)) > 1
    base = f"{operator.name}_{'tangent' if forward else 'backward'}"
    base += f"_{name}" if several else ""
    return base if reads == kind.reads(operator, name) else base + "_of_" + "_".join(sorted(reads))
