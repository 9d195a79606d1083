"""Pointwise operators: a scalar function over `ops`, applied to every element.

    @pointwise(promotion=FLOAT)
    def gelu(input: Value, approximate: str = "none") -> Value:
        return input * 0.5 * (1 + ops.erf(input * SQRT_HALF))

From the function follow shapes and dtypes (broadcast and promotion), the eager kernel, the lowering (`expression`), the
gradient and the tangent. The derivative by one operand is again a pointwise operator, the *companion*: `gelu_backward`
(`mul_backward_other` where several operands have one). It takes the gradient and what the derivative reads. A derivative
that is only a sign, a product or a quotient calls `neg`, `mul` or `div` instead.

Operands are converted to the compute dtype of their common type before the function sees them, and the result is
converted once. A function with an `Index` parameter also depends on where the element is (`arange`, `tril`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.device import CPU
from tensorplay.core.dtypes import DType, Number
from tensorplay.core.errors import ArgumentError, DTypeError, NotDifferentiableError, RegistryError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import door
from tensorplay.ops.expression import GRAD, RESULT, Input, Program, Recorder, Step, differentiate, replay
from tensorplay.ops.gradient import Grads, Pullback, fit_gradient
from tensorplay.ops.kinds.kind import NO_NAMES, Kind
from tensorplay.ops.numpy_code import Kernels, compile_program, run
from tensorplay.ops.quiet import quiet
from tensorplay.ops.signature import NUMBER_ROLES, TENSOR_ROLES, Parameter, Role, Signature, Values, is_tensor
from tensorplay.ops.values import Handler, Value
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor


class Promotion(Enum):
    """How the operands' dtypes combine before the scalar function runs."""

    COMMON = "the common dtype"
    FLOAT = "the common dtype; bool and integers become the default float dtype"


COMMON, FLOAT = Promotion.COMMON, Promotion.FLOAT

ResultRule = DType | Callable[..., DType]


@dataclass(slots=True, eq=False)
class Plan:
    """A scalar function for given dtypes: promoted type, result type, recorded program, NumPy kernels."""

    computation: DType
    result: DType
    program: Program
    tensor_places: tuple[int, ...]
    sources: tuple[tuple[int, bool], ...]
    """The arguments that the program reads, in the order of its inputs, and which of them are numbers."""
    is_plain: bool
    """Whether the program reads every tensor operand, so that NumPy's broadcasting gives the result's shape."""
    kernels: Kernels | None = None
    derivatives: dict[str, Derivative | None] = field(default_factory=dict)

    def ready(self) -> Kernels:
        """The NumPy kernels, compiled at first use."""
        if self.kernels is None:
            self.kernels = compile_program(self.program)
        return self.kernels


@dataclass(frozen=True, slots=True)
class Derivative:
    """A derivative as an operator call: `operator(*arguments)` with names of arguments or numbers."""

    operator: Operator | None
    """None where the derivative is the gradient itself."""
    arguments: tuple[str | Number | None, ...]
    """`grad`, `result`, or names of parameters; None for a tensor that is not read."""


_PLAN_LIMIT = 4096
SMALL = 1 << 16
"""Elements up to which NumPy allocates; larger results come from the pool."""
INDEX, LINEAR = "index", "linear index"


class Pointwise(Kind):
    """The interpretations of a scalar function."""

    name = "pointwise"

    def __init__(
        self,
        scalar_fn: Callable[..., Value],
        *,
        promotion: Promotion = COMMON,
        result: ResultRule | None = None,
        shape: Callable[..., Sequence[int]] | None = None,
        index_name: str | None = None,
        linear_name: str | None = None,
    ) -> None:
        """`shape` gives the result's shape from the call where operands do not; `result` its dtype."""
        self.scalar_fn = scalar_fn
        self.promotion = promotion
        self.result = result
        self.shape = shape
        self.index_name = index_name
        self.linear_name = linear_name
        self._plans: dict[object, Plan] = {}
        self._roles: tuple[Role, ...] | None = None
        self._companions: dict[tuple[str, frozenset[str]], Operator] = {}

    # ---- dtypes and shapes

    def plan(self, operator: Operator, values: Values) -> Plan:
        """The scalar function for the dtypes of a call (of tensors or `TensorMeta`s)."""
        key: object = self._key(operator, values)
        if self.index_name is not None:
            key = (key, len(self._shape(operator, values)))
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _PLAN_LIMIT:
                self._plans.clear()
            found = self._plans[key] = self._make_plan(operator, values)
        return found

    def _key(self, operator: Operator, values: Values) -> tuple[object, ...]:
        """What a plan depends on: dtypes, which operands are 0-d or numbers, and the other arguments by value."""
        if self._roles is None:
            self._roles = tuple(each.role for each in operator.signature.parameters)
        key: list[object] = []
        for role, value in zip(self._roles, values, strict=True):
            if type(value) is np.ndarray:
                key.append(value.dtype if value.ndim else (value.dtype,))
            elif _has_dtype(value):
                key.append((value.dtype, value.ndim == 0))  # type: ignore[attr-defined]  # a tensor or a meta
            elif role is Role.SCALAR:
                key.append(type(value))
            elif role is Role.SIZES:
                continue
            elif type(value) is float:
                key.append((float, repr(value)))
            else:
                key.append((type(value), value))
        return tuple(key)

    def _make_plan(self, operator: Operator, values: Values) -> Plan:
        computation = self._computation(operator, values)
        recorder = Recorder()
        arguments: dict[str, object] = {}
        tensor_places: list[int] = []
        number_places: list[int] = []
        for place, (parameter, value) in enumerate(zip(operator.signature.parameters, values, strict=True)):
            argument: object = value
            if parameter.takes_tensor and value is not None:
                if _has_dtype(value):
                    loaded = recorder.input(parameter.name, dtype_of(value))
                    argument = _see(parameter, loaded, computation)
                    tensor_places.append(place)
                elif parameter.role is Role.SCALAR:
                    argument = recorder.input(parameter.name, computation.compute)
                    number_places.append(place)
            arguments[parameter.name] = None if parameter.role is Role.SIZES else argument
        self._supply_index(operator, values, recorder, arguments)
        if self.result is not None:
            self._declared_result(operator, values)  # refuses dtypes before the function meets them
        found = self._finish(operator, values, computation, self.scalar_fn(**arguments))
        program = recorder.finish(found)
        places = operator.signature.places
        sources = tuple(
            (places[name], places[name] in number_places) for name in program.inputs if name in places
        )
        is_plain = (
            self.shape is None
            and len(sources) == len(program.inputs)
            and set(tensor_places) <= {place for place, _ in sources}
            and program.step_count > 0
        )
        return Plan(computation, program.dtype, program, tuple(tensor_places), sources, is_plain)

    def _supply_index(
        self, operator: Operator, values: Values, recorder: Recorder, arguments: dict[str, object]
    ) -> None:
        if self.index_name is not None:
            ndim = len(self._shape(operator, values))
            arguments[self.index_name] = tuple(
                recorder.input(f"{INDEX}{i}", dtypes.int64) for i in range(ndim)
            )
        if self.linear_name is not None:
            arguments[self.linear_name] = recorder.input(LINEAR, dtypes.int64)

    def _computation(self, operator: Operator, values: Values) -> DType:
        dimensioned: list[DType] = []
        zero_dim: list[DType] = []
        numbers: list[DType] = []
        for parameter, value in zip(operator.signature.parameters, values, strict=True):
            if not parameter.takes_tensor or parameter.role in {Role.MASK, Role.RAW} or value is None:
                continue
            if _has_dtype(value):
                tensor: Any = value
                (dimensioned if tensor.ndim else zero_dim).append(dtype_of(value))
            elif parameter.takes_number and isinstance(value, (bool, int, float, complex, np.generic)):
                numbers.append(dtypes.dtype_of_number(value))  # type: ignore[arg-type]  # NumPy scalars too
            else:
                raise _not_an_operand(operator, parameter, value)
        if not dimensioned and not zero_dim and not numbers:
            return dtypes.get_default_dtype()
        found = dtypes.result_type(dimensioned, zero_dim, numbers)
        if self.promotion is FLOAT and found.kind in "biu":
            return dtypes.get_default_dtype()
        return found

    def _finish(self, operator: Operator, values: Values, computation: DType, found: Value) -> Value:
        if self.result is not None:
            return convert(found, self._declared_result(operator, values))
        return convert(found, computation) if found.dtype is computation.compute else found

    def _declared_result(self, operator: Operator, values: Values) -> DType:
        if isinstance(self.result, DType):
            return self.result
        assert self.result is not None  # noqa: S101  # asked only then
        return self.result(*values)

    def _shape(self, operator: Operator, values: Values) -> tuple[int, ...]:
        if self.shape is not None:
            return tuple(self.shape(*values))
        shapes = [
            value.shape  # type: ignore[attr-defined]  # a tensor, a meta or an array
            for parameter, value in zip(operator.signature.parameters, values, strict=True)
            if parameter.takes_tensor and _has_dtype(value)
        ]
        if not shapes:
            msg = f"{operator.name}() needs at least one tensor; signature: {operator.signature}"
            raise ArgumentError(msg)
        first = shapes[0]
        for shape in shapes:
            if shape != first:
                return layout.broadcast_shapes(operator.name, shapes)
        return first  # type: ignore[no-any-return]  # a shape

    def meta(self, operator: Operator, values: Values) -> TensorMeta:
        """Broadcast, promote, and order dimensions as the operands do."""
        shape = self._shape(operator, values)
        metas = [value for value in values if isinstance(value, TensorMeta)]
        result = self.plan(operator, values).result
        device = metas[0].device if metas else CPU
        if self.shape is not None:
            return TensorMeta(shape, result, device)
        strides = layout.pointwise_strides(shape, [(each.shape, each.strides) for each in metas])
        return TensorMeta(shape, result, device, strides)

    # ---- eager

    def kernel(self, operator: Operator, values: Values, out: Any = None) -> Any:  # noqa: ANN401  # arrays
        """Compute on arrays, into `out` where given."""
        plan = self.plan(operator, values)
        kernels = plan.ready()
        compute = plan.computation.compute
        inputs: list[Any] = []
        plain = plan.is_plain
        for place, is_number in plan.sources:
            value: Any = values[place]
            if is_number:
                value = number_array(value, compute)
            elif plain and not (value.flags.c_contiguous and 0 < value.size <= SMALL and value.ndim):
                plain = False
            inputs.append(value)
        if plain and (out is None or out.flags.c_contiguous):
            return self._plain(operator, values, kernels, inputs, out)
        shape = self._shape(operator, values)
        inputs += [_index_array(name, shape) for name in kernels.inputs[len(plan.sources) :]]
        operands = [] if self.shape is not None else [values[place] for place in plan.tensor_places]
        return run(kernels, inputs, operands, shape, plan.result, out)

    def _plain(  # noqa: PLR0913
        self, operator: Operator, values: Values, kernels: Kernels, inputs: Sequence[Any], out: Any  # noqa: ANN401
    ) -> Any:  # noqa: ANN401  # an array
        """Small contiguous operands: NumPy broadcasts them, and gives a contiguous result."""
        try:
            if out is None:
                return quiet(kernels.fresh, *inputs)
            quiet(kernels.into, out, *inputs)
            return out
        except ValueError:
            self._shape(operator, values)  # shapes that do not broadcast
            raise

    # ---- lowering

    def expression(
        self,
        operator: Operator,
        values: Values,
        handler: Handler,
        loaded: Mapping[str, Value],
        index: Sequence[Value] = (),
        linear: Value | None = None,
    ) -> Value:
        """The element of the result under any handler.

        `values` is the call with `TensorMeta`s; `loaded` has the element of each tensor argument, in its own dtype; `index`
        and `linear` the element's place (int64), where `index_name` and `linear_name` are not None. Numbers become constants.
        """
        computation = self.plan(operator, values).computation
        arguments: dict[str, object] = {}
        for parameter, value in zip(operator.signature.parameters, values, strict=True):
            argument: object = value
            if parameter.name in loaded:
                argument = _see(parameter, loaded[parameter.name], computation)
            elif parameter.role is Role.SCALAR and value is not None:
                argument = handler.constant(value, computation.compute)  # type: ignore[arg-type]  # a number
            arguments[parameter.name] = argument
        if self.index_name is not None:
            arguments[self.index_name] = tuple(index)
        if self.linear_name is not None:
            arguments[self.linear_name] = linear
        return self._finish(operator, values, computation, self.scalar_fn(**arguments))

    # ---- gradient and tangent

    def derivative(self, operator: Operator, values: Values, name: str) -> Derivative | None:
        """How to compute `grad` times the derivative by the operand `name`; None where that is zero."""
        plan = self.plan(operator, values)
        if name not in plan.derivatives:
            plan.derivatives[name] = self._derive(operator, values, name, plan)
        return plan.derivatives[name]

    def _derive(self, operator: Operator, values: Values, name: str, plan: Plan) -> Derivative | None:
        if plan.computation.kind == "c":
            msg = f"{operator.name}: gradients of complex tensors are not supported"
            raise NotDifferentiableError(msg)
        program = self.differential(operator, values, name, plan.computation.compute)
        if program is None:
            return None
        known = _as_known_operator(program, operator.signature)
        if known is not None:
            return known
        reads = frozenset(program.inputs) - {GRAD}
        companion = self.companion(operator, name, reads)
        special = (GRAD, RESULT) if RESULT in reads else (GRAD,)
        own = tuple(each.name for each in companion.signature.parameters[len(special) :])
        places = operator.signature.places
        unread = {each for each in own if each not in reads and _has_dtype(values[places[each]])}
        names = (*special, *(None if each in unread else each for each in own))
        return Derivative(companion, names)

    def differential(
        self, operator: Operator, values: Values, name: str, compute: DType
    ) -> Program | None:
        """The program of `grad` times the partial derivative by `name`, in the compute dtype."""
        recorder = Recorder()
        arguments: dict[str, object] = {}
        for parameter, value in zip(operator.signature.parameters, values, strict=True):
            argument: object = value
            if parameter.takes_tensor and value is not None:
                if parameter.role is Role.MASK:
                    argument = recorder.input(parameter.name, dtypes.bool_)
                elif parameter.role is Role.RAW:
                    argument = recorder.input(parameter.name, dtype_of(value).compute)
                elif parameter.role is not Role.STATIC or _has_dtype(value):
                    argument = recorder.input(parameter.name, compute)
            arguments[parameter.name] = argument
        self._supply_index(operator, values, recorder, arguments)
        program = recorder.finish(self.scalar_fn(**arguments))
        return differentiate(program, name)

    def companion(self, operator: Operator, name: str, reads: frozenset[str]) -> Operator:
        """The operator that computes the derivative by `name` from what it reads."""
        key = (name, reads)
        found = self._companions.get(key)
        if found is None:
            found = self._companions[key] = make_companion(operator, self, name, reads)
        return found

    def companion_named(self, operator: Operator, name: str) -> Operator:
        """The companion called `name`, after deriving all of them for the declared samples' dtypes."""
        for known in self._companions.values():
            if known.name == name:
                return known
        for wanted in differentiable_names(operator):
            for values in default_calls(operator):
                self.derivative(operator, values, wanted)
        for known in self._companions.values():
            if known.name == name:
                return known
        return super().companion_named(operator, name)

    def pullback(
        self, operator: Operator, values: Values, result: Any, needs: Sequence[bool]  # noqa: ANN401
    ) -> Pullback | None:
        """One call of a derivative for each operand that needs a gradient."""
        if not result.dtype.is_differentiable:
            return None
        names, metas = tensor_arguments(operator, values)
        derivatives = [
            (self.derivative(operator, values, name) if need and meta.dtype.is_differentiable else None)
            for name, meta, need in zip(names, metas, needs, strict=True)
        ]
        places = operator.signature.places
        saved: list[Any] = []
        slots: dict[str, int] = {}
        numbers: dict[str, object] = {}
        for derivative in derivatives:
            for name in () if derivative is None else derivative.arguments:
                if not isinstance(name, str) or name == GRAD or name in slots or name in numbers:
                    continue
                value = result if name == RESULT else values[places[name]]
                if is_tensor(value):
                    slots[name] = len(saved)
                    saved.append(value)
                else:
                    numbers[name] = value

        def pull(grads: Grads, tensors: Sequence[Tensor], wanted: Sequence[bool]) -> Grads:
            grad = grads[0]
            if grad is None:
                return (None,) * len(derivatives)
            known: dict[str, Any] = {**numbers, GRAD: grad}
            for name, slot in slots.items():
                known[name] = tensors[slot]
            return tuple(
                _gradient(derivative, known, meta) if want else None
                for derivative, meta, want in zip(derivatives, metas, wanted, strict=True)
            )

        return Pullback(tuple(saved), pull)

    def tangent(
        self, operator: Operator, values: Values, result: Any, tangents: Sequence[Tensor | None]  # noqa: ANN401
    ) -> Any:  # noqa: ANN401  # a tensor or None
        """The sum over operands of the derivative applied to the tangent."""
        names, _ = tensor_arguments(operator, values)
        known: dict[str, Any] = {RESULT: result}
        for parameter, value in zip(operator.signature.parameters, values, strict=True):
            known[parameter.name] = value
        total: Any = None
        for name, tangent in zip(names, tangents, strict=True):
            derivative = None if tangent is None else self.derivative(operator, values, name)
            if derivative is None:
                continue
            part = _apply(derivative, {**known, GRAD: tangent})
            total = part if total is None else total + part
        if total is None:
            return None
        return total if total.shape == result.shape else total.expand(result.shape)

    def missing_gradient(self, operator: Operator) -> str | None:
        """Derived."""
        del operator
        return None

    # ---- overloads

    def overload_names(self, operator: Operator) -> Mapping[str, frozenset[str]]:
        """`default`, or one for each choice of tensors and numbers."""
        places = _number_places(operator)
        if not places:
            return {"default": NO_NAMES}
        return {
            _choice_name(choice, first_is_input=places[0] == 0): NO_NAMES
            for choice in product((True, False), repeat=len(places))
        }

    def overload_name(self, operator: Operator, values: Values) -> str:
        """`Tensor` when every operand is a tensor, `Scalar` when the second is a number, and so on."""
        places = _number_places(operator)
        if not places:
            return "default"
        are_tensors = [_has_dtype(values[place]) for place in places if values[place] is not None]
        return _choice_name(are_tensors, first_is_input=places[0] == 0)


def _number_places(operator: Operator) -> list[int]:
    return [i for i, each in enumerate(operator.signature.parameters) if each.role in NUMBER_ROLES]


def _choice_name(are_tensors: Sequence[bool], *, first_is_input: bool) -> str:
    words = ["Tensor" if each else "Scalar" for each in are_tensors]
    if first_is_input and words[0] == "Tensor":
        words = words[1:]
    return "_".join(words) if len(set(words)) > 1 else (words or ["Tensor"])[0]


def _has_dtype(value: object) -> bool:
    return isinstance(value, (TensorMeta, np.ndarray)) or is_tensor(value)


def dtype_of(value: Any) -> DType:  # noqa: ANN401  # a tensor, a meta or an array
    """The DType of a tensor, of its metadata or of an array."""
    return dtypes.from_numpy_dtype(value.dtype) if isinstance(value, np.ndarray) else value.dtype


def _not_an_operand(operator: Operator, parameter: Parameter, value: object) -> ArgumentError:
    wanted = "a tensor or a number" if parameter.takes_number else "a tensor"
    msg = f"{operator.name}(): {parameter.name} must be {wanted}, found {type(value).__name__}: {value!r:.80}"
    return ArgumentError(msg)


def _see(parameter: Parameter, loaded: Value, computation: DType) -> Value:
    """An operand as the scalar function sees it."""
    if parameter.role is Role.MASK:
        return convert(loaded, dtypes.bool_)
    if parameter.role is Role.RAW:
        return convert(loaded, loaded.dtype.compute)
    return convert(convert(loaded, computation), computation.compute)


def _index_array(name: str, shape: Sequence[int]) -> Any:  # noqa: ANN401  # an int64 array
    """The indices along one dimension, or the linear indices, as an array that broadcasts to `shape`."""
    if name == LINEAR:
        return np.arange(layout.numel(shape), dtype=np.int64).reshape(shape)
    dim = int(name.removeprefix(INDEX))
    return np.arange(shape[dim], dtype=np.int64).reshape((-1,) + (1,) * (len(shape) - 1 - dim))


def number_array(value: object, dtype: DType) -> Any:  # noqa: ANN401  # an array
    """A Python number as an array of one element; integers wrap."""
    if dtype.is_integral:
        bits = 8 * dtype.itemsize
        whole = int(value) & ((1 << bits) - 1)  # type: ignore[call-overload]  # a number
        if dtype.kind == "i" and whole >> (bits - 1):
            whole -= 1 << bits
        return np.array([whole], dtype.numpy)
    return np.array([value], dtype.numpy)


def tensor_arguments(operator: Operator, values: Values) -> tuple[tuple[str, ...], tuple[TensorMeta, ...]]:
    """Names and metas of the tensor arguments of a pointwise call."""
    pairs: list[tuple[str, Any]] = [
        (parameter.name, value)
        for parameter, value in zip(operator.signature.parameters, values, strict=True)
        if is_tensor(value)
    ]
    return tuple(name for name, _ in pairs), tuple(value.tensor_meta for _, value in pairs)


def _gradient(derivative: Derivative | None, known: Mapping[str, Any], meta: TensorMeta) -> Tensor | None:
    if not meta.dtype.is_differentiable:
        return None
    if derivative is None:
        zeros: Tensor = registry_operator("zeros")(meta.shape, dtype=meta.dtype, device=meta.device)
        return zeros
    return fit_gradient(_apply(derivative, known), meta)


def _apply(derivative: Derivative, known: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a tensor
    arguments = tuple(known.get(each, each) if isinstance(each, str) else each for each in derivative.arguments)
    if derivative.operator is None:
        return arguments[0]
    if len(arguments) == len(derivative.operator.signature.parameters):  # a companion takes every one
        return door.call(derivative.operator, arguments)
    return door.call(derivative.operator, derivative.operator.signature.bind(arguments, {}))


def registry_operator(name: str) -> Operator:
    """An operator by name (the registry imports the kinds, so it is looked up when needed)."""
    from tensorplay.ops.registry import tp  # noqa: PLC0415  # mutual: the registry holds kinds, kinds derive operators

    return tp[name]


# ---- derivatives as operators -----------------------------------------------------------------------

_KNOWN = {"neg": "neg", "mul": "mul", "truediv": "div"}


def _as_known_operator(program: Program, signature: Signature) -> Derivative | None:
    """A derivative that is `grad`, `-grad`, `grad * x` or `grad / x` as a call of that operator."""
    output = program.nodes[program.output]
    if isinstance(output, Input):
        return Derivative(None, (GRAD,))
    if program.step_count != 1 or not isinstance(output, Step) or output.instruction.name not in _KNOWN:
        return None
    arguments: list[str | Number | None] = []
    for place in output.operands:
        node = program.nodes[place]
        if isinstance(node, Step):
            return None
        if isinstance(node, Input):
            if node.name not in {GRAD, RESULT} and signature.parameters[signature.places[node.name]].role not in {
                Role.TENSOR, Role.SCALAR, Role.STATIC,
            }:  # fmt: skip
                return None
            arguments.append(node.name)
        else:
            arguments.append(node.number)
    if arguments[0] != GRAD:
        return None
    operator = registry_operator(_KNOWN[output.instruction.name])
    return Derivative(operator, tuple(arguments))


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
                    if not parameter.takes_tensor or value is None or isinstance(value, (int, float))
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


def make_companion(operator: Operator, kind: Pointwise, name: str, reads: frozenset[str]) -> Operator:
    """`<operator>_backward[_<name>]`: grad, then what is read, then the arguments that are not tensors."""
    from tensorplay.ops.registry import Operator  # noqa: PLC0415  # see registry_operator

    own = operator.signature.parameters
    grad_name = _fresh_name("grad_output", operator.signature)
    special = {grad_name: GRAD}
    if RESULT in reads:
        special[_fresh_name("output", operator.signature)] = RESULT
    parameters = [
        Parameter(each, Role.TENSOR, _REQUIRED, keyword_only=False, optional=False, annotation="Tensor")
        for each in special
    ]
    parameters += [
        each
        for each in own
        if each.name in reads or not each.takes_tensor or each.role is Role.STATIC or each.optional
    ]
    title = companion_name(operator, kind, name, reads)
    places = {each.name: i for i, each in enumerate(parameters)}

    def scalar_fn(**arguments: Any) -> Value:  # noqa: ANN401  # Values and plain arguments
        grad: Value = arguments[grad_name]
        index: tuple[Value, ...] = () if kind.index_name is None else arguments[kind.index_name]
        unread = TensorMeta((1,) * len(index), grad.dtype)
        found = [arguments.get(each.name, unread) for each in own]
        values = tuple(
            unread if value is None and each.role is Role.STATIC else _as_meta(value, len(index))
            for each, value in zip(own, found, strict=True)
        )
        program = kind.differential(operator, values, name, grad.dtype)
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
        return replay(program, grad.handler, inputs)

    fresh = Pointwise(
        scalar_fn, promotion=kind.promotion, index_name=kind.index_name, linear_name=kind.linear_name
    )
    signature = Signature(title, tuple(parameters), operator.signature.supplied, places)
    doc = f"`grad` times the derivative of `{operator.name}` by `{name}` (derived)."
    return Operator(title, fresh, signature, doc, scalar_fn, operator.family, is_function=False)


def _fresh_name(name: str, signature: Signature) -> str:
    """A name that no parameter has: a companion of a companion has two gradients among its parameters.

    Never `GRAD` or `RESULT`, which stand for the gradient and the result of the operator that is being differentiated.
    """
    while name in signature.places:
        name = f"{name}_{name}"
    return name


def _as_meta(argument: object, ndim: int) -> object:
    return TensorMeta((1,) * ndim, argument.dtype) if isinstance(argument, Value) else argument


_REQUIRED = inspect.Parameter.empty


def companion_name(operator: Operator, kind: Pointwise, name: str, reads: frozenset[str]) -> str:
    """The plain name for what the default arguments read, longer names for other arguments."""
    names = differentiable_names(operator)
    base = f"{operator.name}_backward" + (f"_{name}" if len(names) > 1 else "")
    usual: frozenset[str] | None = None
    for call in default_calls(operator)[:1]:
        program = kind.differential(operator, call, name, dtypes.float32)
        usual = None if program is None else frozenset(program.inputs) - {GRAD}
    return base if usual is None or usual == reads else base + "_of_" + "_".join(sorted(reads))


def refuse_bool(name: str, value: Value, instead: str) -> None:
    """Refuse bool operands, where arithmetic on them has no agreed meaning."""
    if value.dtype.kind == "b":
        msg = f"{name} of bool tensors is not defined; {instead}"
        raise DTypeError(msg)
