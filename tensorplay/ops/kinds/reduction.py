"""Reductions: a commutative monoid between two scalar functions.

    @reduction(SUM, result=FLOATING_ONLY)
    def mean(input: Value, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None) -> Value:
        return input                                   # before

    @mean.after
    def _(total: Value, count: Value) -> Value:
        return total / count

`before` sees one element in the accumulator's dtype; `after` the monoid's components (`total`;
`value, index`; or `mean, moment, count`) and, where it names them, `count` (elements reduced) and
the operator's own parameters. The result is contiguous.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentValueError, DTypeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import arrays
from tensorplay.ops.batching import operator_call
from tensorplay.ops.expression import Recorder
from tensorplay.ops.kinds.kind import NO_NAMES, Kind
from tensorplay.ops.monoids import Monoid
from tensorplay.ops.numpy_code import Kernels, compile_program
from tensorplay.ops.quiet import quiet
from tensorplay.ops.signature import Role, Values, dtype_of
from tensorplay.ops.values import Value
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator

ResultRule = Callable[[str, DType, DType | None], DType]
"""(operator, input dtype, dtype argument) → the dtype of the result, in whose compute type elements are combined."""


def same_dtype(name: str, dtype: DType, asked: DType | None) -> DType:
    """The input's dtype, or the one asked for."""
    del name
    return asked or dtype


def integers_to_int64(name: str, dtype: DType, asked: DType | None) -> DType:
    """Sums of bool and integers are int64."""
    del name
    return asked or (dtypes.int64 if dtype.kind in "biu" else dtype)


def floating_only(name: str, dtype: DType, asked: DType | None) -> DType:
    """Means of integers are refused."""
    found = asked or dtype
    if not found.is_differentiable:
        msg = f"{name}: expected a floating-point tensor, found {dtype}; convert it with .float() or pass dtype="
        raise DTypeError(msg)
    return found


def real_floating_only(name: str, dtype: DType, asked: DType | None) -> DType:
    """Variances of integers and complex numbers are refused."""
    found = floating_only(name, dtype, asked)
    if found.kind == "c":
        msg = f"{name}: complex tensors are not supported; use the parts, .real and .imag"
        raise DTypeError(msg)
    return found


def real_of_floating(name: str, dtype: DType, asked: DType | None) -> DType:
    """Variances are real, also of complex numbers; those of integers are refused."""
    return dtypes.to_real(floating_only(name, dtype, asked))


def always_bool(name: str, dtype: DType, asked: DType | None) -> DType:
    """Any and all."""
    del name, dtype, asked
    return dtypes.bool_


def ordered_to_int64(name: str, dtype: DType, asked: DType | None) -> DType:
    """Argmax and argmin."""
    del asked
    if dtype.kind == "c":
        msg = f"{name}: complex numbers have no order"
        raise DTypeError(msg)
    return dtypes.int64


def ordered(name: str, dtype: DType, asked: DType | None) -> DType:
    """Amax and amin."""
    del asked
    if dtype.kind == "c":
        msg = f"{name}: complex numbers have no order"
        raise DTypeError(msg)
    return dtype


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """A reduction for given dtypes: element dtype, accumulator, result."""

    element: DType
    """The dtype to which an element is converted first (its own compute dtype, or the result's)."""
    accumulator: DType
    result: DType


@dataclass(frozen=True, slots=True)
class _Steps:
    """An eager reduction, prepared."""

    dims: tuple[int, ...]
    keepdim: bool
    before: Callable[..., Any] | None
    after: Kernels | None
    result: DType


_LIMIT = 4096


class Reduction(Kind):
    """The interpretations of a monoid between two scalar functions."""

    name = "reduction"

    def __init__(
        self,
        before: Callable[..., Value],
        monoid: Monoid,
        result: ResultRule,
        *,
        needs_elements: bool = False,
    ) -> None:
        """`needs_elements`: an empty reduction is refused instead of giving the identity."""
        self.before_fn = before
        self.monoid = monoid
        self.result_rule = result
        self.needs_elements = needs_elements or monoid.components == 2  # argmax
        self.after_fn: Callable[..., Value] | None = None
        self._steps: dict[object, _Steps] = {}
        self._plans: dict[object, ReductionPlan] = {}

    # ---- the declaration's parts

    def plan(self, operator: Operator, values: Values) -> ReductionPlan:
        """The dtypes of a call."""
        source = dtype_of(values[0])
        places = operator.signature.places
        asked = values[places["dtype"]] if "dtype" in places else None
        result = self.result_rule(operator.name, source, asked)  # type: ignore[arg-type]  # bound as a dtype
        if result is dtypes.bool_:
            element = dtypes.bool_
        elif result is dtypes.int64 and self.monoid.components == 2:
            element = source.compute
        elif source.is_complex and asked is None:  # the result may be real
            element = source
        else:
            element = result.compute
        key = (element, result)
        found = self._plans.get(key)
        if found is None:
            seen = Recorder().input("input", element)
            entered = self.before_fn(**self._arguments(operator, values, seen)).dtype
            accumulator = self.monoid.accumulator(entered)
            found = self._plans[key] = ReductionPlan(element, accumulator, result)
        return found

    def dims(self, operator: Operator, values: Values) -> tuple[int, ...]:
        """The reduced dimensions, sorted; none for a 0-d tensor."""
        tensor: Any = values[0]
        ndim = len(tensor.shape)
        place = operator.signature.places.get("dim")
        dim: Any = None if place is None else values[place]
        if dim is None:
            return tuple(range(ndim))
        if not isinstance(dim, tuple):
            dim = (dim,)
        elif not dim:
            return tuple(range(ndim))
        found = layout.normalize_dims(operator.name, dim, ndim)
        return tuple(sorted(found)) if ndim else ()

    def keepdim(self, operator: Operator, values: Values) -> bool:
        """Whether reduced dimensions stay with size 1."""
        place = operator.signature.places.get("keepdim")
        return bool(values[place]) if place is not None else False

    def before(self, operator: Operator, values: Values, element: Value) -> Value:
        """An element (in its own dtype) as it enters the monoid, under any handler."""
        plan = self.plan(operator, values)
        seen = convert(element, plan.element)
        found = self.before_fn(**self._arguments(operator, values, seen))
        return convert(found, self.monoid.accumulator(found.dtype))

    def after(
        self, operator: Operator, values: Values, state: Sequence[Value], count: Value
    ) -> Value:
        """The result from the monoid's components, under any handler, in the result's dtype.

        `count` is the number of elements reduced, in the accumulator's dtype.
        """
        plan = self.plan(operator, values)
        if self.after_fn is None:
            return convert(state[-1] if self.monoid.components == 2 else state[0], plan.result)
        supplied: dict[str, object] = {"count": count}
        supplied.update(zip(_COMPONENTS[self.monoid.components], state, strict=True))
        for parameter, value in zip(operator.signature.parameters[1:], values[1:], strict=True):
            supplied[parameter.name] = value
        names = inspect.signature(self.after_fn).parameters
        return convert(self.after_fn(*(supplied[name] for name in names)), plan.result)

    def _arguments(self, operator: Operator, values: Values, element: Value) -> dict[str, object]:
        names = [each.name for each in operator.signature.parameters]
        return {**dict(zip(names, values, strict=True)), names[0]: element}

    # ---- interpretations

    def meta(self, operator: Operator, values: Values) -> TensorMeta:
        """The shape without the reduced dimensions, contiguous."""
        meta: Any = values[0]
        self._check(operator, meta.shape, self.dims(operator, values))
        return TensorMeta(
            self.meta_shape(operator, values), self.plan(operator, values).result, meta.device
        )

    def meta_shape(self, operator: Operator, values: Values) -> list[int]:
        """The result's shape."""
        tensor: Any = values[0]
        dims, keep = self.dims(operator, values), self.keepdim(operator, values)
        return [
            1 if i in dims else size for i, size in enumerate(tensor.shape) if keep or i not in dims
        ]

    def _check(self, operator: Operator, shape: Sequence[int], dims: Sequence[int]) -> None:
        if (
            self.needs_elements
            and any(shape[i] == 0 for i in dims)
            and 0 not in [size for i, size in enumerate(shape) if i not in dims]
        ):
            msg = f"{operator.name}: nothing to reduce: shape {tuple(shape)} is empty along {tuple(dims)}"
            raise ArgumentValueError(msg)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        """Before, reduce, after."""
        return quiet(self._compute, operator, values)

    def _compute(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        array: Any = values[0]
        key = (array.dtype, array.ndim, values[1:])
        steps = self._steps.get(key)
        if steps is None:
            if len(self._steps) >= _LIMIT:
                self._steps.clear()
            steps = self._steps[key] = self._prepare(operator, values)
        if array.size == 0:
            self._check(operator, array.shape, steps.dims)
            if self.needs_elements:
                return np.empty(self.meta_shape(operator, values), steps.result.numpy)
        elements = (
            array if steps.before is None else steps.before(array.reshape(array.shape or (1,)))
        )
        state = self.monoid.reduce(elements.reshape(array.shape), steps.dims, steps.keepdim)
        if steps.after is None:
            found = state[-1] if self.monoid.components == 2 else state[0]
            return (
                found
                if found.dtype == steps.result.numpy
                else arrays.convert(found, dtype=steps.result)
            )
        count = 1
        for i in steps.dims:
            count = count * array.shape[i]
        known = {f"state{i}": each.reshape(each.shape or (1,)) for i, each in enumerate(state)}
        known["count"] = np.array([count], state[0].dtype)
        found = steps.after.fresh(*(known[name] for name in steps.after.inputs))
        return found.reshape(state[0].shape)

    def _prepare(self, operator: Operator, values: Values) -> _Steps:
        """What a reduction of these dtypes along these dimensions does."""
        plan = self.plan(operator, values)
        source = dtype_of(values[0])
        recorder = Recorder()
        element = recorder.input("input", source)
        before = compile_program(recorder.finish(self.before(operator, values, element)))
        after = None
        if self.after_fn is not None:
            recorder = Recorder()
            state = [
                recorder.input(f"state{i}", plan.accumulator) for i in range(self.monoid.components)
            ]
            count = recorder.input("count", plan.accumulator)
            after = compile_program(recorder.finish(self.after(operator, values, state, count)))
        return _Steps(
            self.dims(operator, values), self.keepdim(operator, values),
            before.fresh if before.step_count else None, after, plan.result,
        )  # fmt: skip

    # ---- batches

    def batch(self, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The reduced dimensions one further back, behind the batch.

        Where an operator reduces one dimension or all (argmax), all are merged into one first.
        """
        place = operator.signature.places.get("dim")
        if place is None:
            return NotImplemented
        tensor: Any = values[0]
        meta: Any = metas[0]
        dims = self.dims(operator, metas)
        merged = not meta.shape or (
            len(dims) != 1 and operator.signature.parameters[place].role is not Role.DIMS
        )
        if merged:
            tensor = tensor.reshape((size, -1 if meta.numel else 0))
            dims = (0,)
        moved: Any = tuple(each + 1 for each in dims)
        if operator.signature.parameters[place].role is not Role.DIMS:
            moved = moved[0]
        changed = [tensor, *values[1:]]
        changed[place] = moved
        result = operator_call(operator, tuple(changed))
        if merged and self.keepdim(operator, metas):
            result = result.reshape((size, *(1 for _ in meta.shape)))
        return result

    # ---- overloads

    def overload_names(self, operator: Operator) -> Mapping[str, frozenset[str]]:
        """`default` reduces everything; `dim_IntList` names dimensions."""
        if "dim" not in operator.signature.places:
            return {"default": NO_NAMES}
        return {"default": frozenset({"dim", "keepdim"}), "dim_IntList": NO_NAMES}

    def overload_name(self, operator: Operator, values: Values) -> str:
        """`default` when no dimension is named."""
        places = operator.signature.places
        if "dim" not in places:
            return "default"
        return (
            "default"
            if values[places["dim"]] is None and not self.keepdim(operator, values)
            else "dim_IntList"
        )


_COMPONENTS = {1: ("total",), 2: ("value", "index"), 3: ("mean", "moment", "count")}
