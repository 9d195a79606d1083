"""Pointwise operators: a scalar function over `ops`, applied to every element.

    @pointwise(promotion=FLOAT)
    def gelu(input: Value, approximate: str = "none") -> Value:
        return input * 0.5 * (1 + ops.erf(input * SQRT_HALF))

From the function follow shapes and dtypes (broadcast and promotion), the eager kernel, the lowering
(`expression`), the gradient and the tangent. The derivative by one operand is again a pointwise
operator, the *companion*: `gelu_backward` (`mul_backward_other` where several operands have one).
It takes the gradient and what the derivative reads. A derivative that is only a sign, a product or
a quotient calls `neg`, `mul` or `div` instead.

Operands are converted to the compute dtype of their common type before the function sees them, and
the result is converted once. A function with an `Index` parameter also depends on where the element
is (`arange`, `tril`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.device import CPU
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentError, DTypeError, NotDifferentiableError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import each_tensor, operator_call, padded, tensor_metas, with_batch
from tensorplay.ops.expression import (
    GRAD,
    RESULT,
    Program,
    Recorder,
    differentiate,
    differentiate_forward,
)
from tensorplay.ops.gradient import Grads, Pullback, Result
from tensorplay.ops.kinds.batched import batched_pointwise
from tensorplay.ops.kinds.companions import (
    INDEX,
    LINEAR,
    Derivative,
    apply_derivative,
    default_calls,
    derive,
    differentiable_names,
    gradient_of,
    make_companion,
    tensor_arguments,
    usual_reads,
)
from tensorplay.ops.kinds.kind import NO_NAMES, Kind
from tensorplay.ops.numpy_code import Kernels, compile_program, run
from tensorplay.ops.quiet import quiet
from tensorplay.ops.signature import (
    NUMBER_ROLES,
    Parameter,
    Role,
    Values,
    dtype_of,
    has_dtype,
    is_tensor,
)
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
PromotionRule = Promotion | Callable[..., Promotion]
"""How operands combine, or a function of the call that says so."""


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
    derivatives: dict[tuple[str, bool], Derivative | None] = field(default_factory=dict)

    def ready(self) -> Kernels:
        """The NumPy kernels, compiled at first use."""
        if self.kernels is None:
            self.kernels = compile_program(self.program)
        return self.kernels


_PLAN_LIMIT = 4096
SMALL = 1 << 16
"""Elements up to which NumPy allocates; larger results come from the pool."""


class Pointwise(Kind):
    """The interpretations of a scalar function."""

    name = "pointwise"

    def __init__(
        self,
        scalar_fn: Callable[..., Value],
        *,
        promotion: PromotionRule = COMMON,
        result: ResultRule | None = None,
        shape: Callable[..., Sequence[int]] | None = None,
        index_name: str | None = None,
        linear_name: str | None = None,
    ) -> None:
        """`shape` gives the result's shape from the call where operands do not.

        `result` its dtype.
        """
        self.scalar_fn = scalar_fn
        self.promotion = promotion
        self.result = result
        self.shape = shape
        self.index_name = index_name
        self.linear_name = linear_name
        self._plans: dict[object, Plan] = {}
        self._roles: tuple[Role, ...] | None = None
        self._companions: dict[tuple[str, frozenset[str], bool], Operator] = {}
        self._reads: dict[str, frozenset[str]] = {}
        self._batched: Operator | None = None

    # ---- dtypes and shapes

    def plan(self, operator: Operator, values: Values) -> Plan:
        """The scalar function for the dtypes of a call (of tensors or `TensorMeta`s)."""
        key: object = (self._key(operator, values), dtypes.get_default_dtype().code)
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
            elif has_dtype(value):
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
        for place, (parameter, value) in enumerate(
            zip(operator.signature.parameters, values, strict=True)
        ):
            argument: object = value
            if parameter.takes_tensor and value is not None:
                if has_dtype(value):
                    loaded = recorder.input(parameter.name, dtype_of(value))
                    argument = _see(parameter, loaded, computation)
                    tensor_places.append(place)
                elif parameter.role is Role.SCALAR:
                    argument = recorder.input(parameter.name, computation.compute)
                    number_places.append(place)
            arguments[parameter.name] = None if parameter.role is Role.SIZES else argument
        self._supply_index(operator, values, recorder, arguments)
        if self.result is not None:
            self._declared_result(values)  # refuses dtypes before the function meets them
        found = self._finish(values, computation, self.scalar_fn(**arguments))
        program = recorder.finish(found)
        places = operator.signature.places
        sources = tuple(
            (places[name], places[name] in number_places)
            for name in program.inputs
            if name in places
        )
        is_plain = (
            self.shape is None
            and len(sources) == len(program.inputs)
            and set(tensor_places) <= {place for place, _ in sources}
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
            if (
                not parameter.takes_tensor
                or parameter.role in {Role.MASK, Role.RAW}
                or value is None
            ):
                continue
            if has_dtype(value):
                tensor: Any = value
                (dimensioned if tensor.ndim else zero_dim).append(dtype_of(value))
            elif parameter.takes_number and isinstance(
                value, (bool, int, float, complex, np.generic)
            ):
                numbers.append(dtypes.dtype_of_number(value))  # type: ignore[arg-type]  # NumPy scalars too
            else:
                raise _not_an_operand(operator, parameter, value)
        if not dimensioned and not zero_dim and not numbers:
            return dtypes.get_default_dtype()
        if numbers and self.shape is None and not any(has_dtype(each) for each in values):
            msg = f"{operator.name}(): expected at least one tensor, found only numbers"
            raise ArgumentError(msg)
        found = dtypes.result_type(dimensioned, zero_dim, numbers)
        if not (dimensioned or zero_dim) and self.result is not None:
            # A number alone is what the result can hold of it: `full((), 0.1, dtype=float64)` is 0.1.
            asked = self._declared_result(values)
            if asked.kind == found.kind:
                return asked
        rule = self.promotion
        promotion = rule if isinstance(rule, Promotion) else rule(*values)
        if promotion is FLOAT and found.kind in "biu":
            return dtypes.get_default_dtype()
        return found

    def _finish(self, values: Values, computation: DType, found: Value) -> Value:
        if self.result is not None:
            return convert(found, self._declared_result(values))
        return convert(found, computation) if found.dtype is computation.compute else found

    def _declared_result(self, values: Values) -> DType:
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
            if parameter.takes_tensor and has_dtype(value)
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
        return self.run_plan(self.plan(operator, values), operator, values, out)

    def run_plan(self, plan: Plan, operator: Operator, values: Values, out: Any) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Run a plan of this call on arrays."""
        kernels = plan.ready()
        compute = plan.computation.compute
        inputs: list[Any] = []
        plain = plan.is_plain
        for place, is_number in plan.sources:
            value: Any = values[place]
            if is_number:
                value = number_array(value, compute)
            elif plain and not (
                value.flags.c_contiguous and 0 < value.size <= SMALL and value.ndim
            ):
                plain = False
            inputs.append(value)
        if plain and (out is None or out.flags.c_contiguous):
            return self._plain(operator, values, kernels, inputs, out)
        shape = self._shape(operator, values)
        inputs.extend(_index_array(name, shape) for name in kernels.inputs[len(plan.sources) :])
        operands: list[Any] = []
        if self.shape is None:
            operands = [values[place] for place in plan.tensor_places]
        return run(kernels, inputs, operands, shape, plan.result, out)

    def _plain(
        self,
        operator: Operator,
        values: Values,
        kernels: Kernels,
        inputs: Sequence[Any],
        out: Any,  # noqa: ANN401  # any value
    ) -> Any:  # noqa: ANN401  # an array
        """Small contiguous operands: NumPy broadcasts them, and gives a contiguous result."""
        try:
            if kernels.native is not None:
                return kernels.native(*inputs, out)
            if out is None:
                return quiet(kernels.fresh, *inputs)
            quiet(kernels.into, out, *inputs)
        except ValueError:
            self._shape(operator, values)  # shapes that do not broadcast
            raise
        return out

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

        `values` is the call with `TensorMeta`s; `loaded` has the element of each tensor argument,
        in its own dtype; `index` and `linear` the element's place (int64), where `index_name` and
        `linear_name` are not None. Numbers become constants.
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
        return self._finish(values, computation, self.scalar_fn(**arguments))

    # ---- gradient and tangent

    def derivative(
        self, operator: Operator, values: Values, name: str, *, forward: bool = False
    ) -> Derivative | None:
        """How to compute `grad` times the derivative by the operand `name`.

        None where that is zero. `forward` asks for the tangent, which is the same of real numbers.
        """
        plan = self.plan(operator, values)
        forward = forward and (plan.computation.is_complex or plan.result.is_complex)
        key = (name, forward)
        if key not in plan.derivatives:
            plan.derivatives[key] = derive(
                self, operator, values, name, plan.computation, forward=forward
            )
        return plan.derivatives[key]

    def differential(
        self,
        operator: Operator,
        values: Values,
        name: str,
        compute: DType,
        *,
        use_result: bool = True,
        forward: bool = False,
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
                elif parameter.role is not Role.STATIC or has_dtype(value):
                    argument = recorder.input(parameter.name, compute)
            arguments[parameter.name] = argument
        self._supply_index(operator, values, recorder, arguments)
        program = recorder.finish(self.scalar_fn(**arguments))
        rule = differentiate_forward if forward else differentiate
        return rule(program, name, use_result=use_result)

    def reads(self, operator: Operator, name: str) -> frozenset[str]:
        """What the companion for the operand `name` takes besides `grad`."""
        found = self._reads.get(name)
        if found is None:
            found = self._reads[name] = usual_reads(operator, self, name)
        return found

    def companion(
        self, operator: Operator, name: str, reads: frozenset[str], *, forward: bool = False
    ) -> Operator:
        """The operator that computes the derivative by `name` from what it reads."""
        key = (name, reads, forward)
        found = self._companions.get(key)
        if found is None:
            found = make_companion(operator, self, name, reads, forward=forward)
            self._companions[key] = found
        return found

    def of_companion(self, scalar_fn: Callable[..., Value]) -> Pointwise:
        """The kind of a companion: another scalar function under the same rules."""
        return Pointwise(
            scalar_fn,
            # Its call has other parameters than a rule reads, and its operands are floats.
            promotion=self.promotion if isinstance(self.promotion, Promotion) else COMMON,
            index_name=self.index_name,
            linear_name=self.linear_name,
        )

    # ---- batches

    def batch(self, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The batch as a dimension in front of all others, to which the samples' dimensions are aligned.

        Samples without dimensions are converted first, because promotion ranks 0-d tensors lower.
        """
        ndim = max((len(meta.shape) for meta in tensor_metas(metas)), default=0)
        computation = self._computation(operator, metas)
        tensors = tensor_metas(metas)
        convert_first = any(not meta.shape for meta in tensors) and any(
            meta.dtype is not computation for meta in tensors
        )
        outside = {
            id(value)
            for parameter, value in zip(operator.signature.parameters, values, strict=True)
            if parameter.role in {Role.MASK, Role.RAW}
        }

        def aligned(value: Tensor, meta: TensorMeta) -> Tensor:
            if convert_first and id(value) not in outside and meta.dtype is not computation:
                value = value.to(computation)
            return padded(value, meta, ndim)

        if self.index_name is None and self.linear_name is None and self.shape is None:
            return operator_call(operator, each_tensor(values, metas, aligned))
        shape = self._shape(operator, metas)
        whole = each_tensor(
            values,
            metas,
            lambda value, meta: padded(with_batch(value, meta, size), meta, len(shape)),
        )
        return operator_call(self.batched(operator), (size, layout.numel(shape), *whole))

    def batched(self, operator: Operator) -> Operator:
        """The operator with a batch in front, for those whose elements know their place."""
        if self._batched is None:
            self._batched = batched_pointwise(operator, self)
        return self._batched

    def companion_named(self, operator: Operator, name: str) -> Operator:
        """The companion called `name`, after deriving those of the declared samples."""
        if all(known.name != name for known in self._companions.values()):
            for wanted in differentiable_names(operator):
                for values in default_calls(operator):
                    with suppress(NotDifferentiableError):  # by one of the operands
                        self.derivative(operator, values, wanted)
        for known in self._companions.values():
            if known.name == name:
                return known
        return super().companion_named(operator, name)

    def pullback(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        needs: Sequence[bool],
    ) -> Pullback | None:
        """One call of a derivative for each operand that needs a gradient."""
        if not result.dtype.is_differentiable:
            return None
        names, metas = tensor_arguments(operator, values)
        derivatives = [
            (
                self.derivative(operator, values, name)
                if need and meta.dtype.is_differentiable
                else None
            )
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
                gradient_of(operator, derivative, known, meta) if want else None
                for derivative, meta, want in zip(derivatives, metas, wanted, strict=True)
            )

        return Pullback(tuple(saved), pull)

    def tangent(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        tangents: Sequence[Tensor | None],
    ) -> Any:  # noqa: ANN401  # a tensor or None
        """The sum over operands of the derivative applied to the tangent."""
        names, _ = tensor_arguments(operator, values)
        known: dict[str, Any] = {RESULT: result}
        for parameter, value in zip(operator.signature.parameters, values, strict=True):
            known[parameter.name] = value
        total: Any = None
        for name, tangent in zip(names, tangents, strict=True):
            derivative = (
                None if tangent is None else self.derivative(operator, values, name, forward=True)
            )
            if derivative is None:
                continue
            part = apply_derivative(derivative, {**known, GRAD: tangent})
            total = part if total is None else total + part
        if total is None:
            return None
        if result.dtype.is_complex and not total.dtype.is_complex:  # the tangent of a real operand
            total = total.to(result.dtype)
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
        are_tensors = [has_dtype(values[place]) for place in places if values[place] is not None]
        return _choice_name(are_tensors, first_is_input=places[0] == 0)


def _number_places(operator: Operator) -> list[int]:
    return [i for i, each in enumerate(operator.signature.parameters) if each.role in NUMBER_ROLES]


def _choice_name(are_tensors: Sequence[bool], *, first_is_input: bool) -> str:
    words = ["Tensor" if each else "Scalar" for each in are_tensors]
    if first_is_input and words[0] == "Tensor":
        words = words[1:]
    return "_".join(words) if len(set(words)) > 1 else (words or ["Tensor"])[0]


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
    """A Python number as an array of one element; integers of 64 bits wrap, larger ones are refused."""
    if dtype.is_integral:
        bits = 8 * dtype.itemsize
        number = int(value)  # type: ignore[call-overload]  # a number
        if number.bit_length() > 63:
            dtypes.check_range("a Python number", number, dtypes.uint64)
        whole = number & ((1 << bits) - 1)
        if dtype.kind == "i" and whole >> (bits - 1):
            whole -= 1 << bits
        return np.array([whole], dtype.numpy)
    return np.array([value], dtype.numpy)


def refuse_bool(name: str, value: Value, instead: str) -> None:
    """Refuse bool operands, where arithmetic on them has no agreed meaning."""
    if value.dtype.kind == "b":
        msg = f"{name} of bool tensors is not defined; {instead}"
        raise DTypeError(msg)
