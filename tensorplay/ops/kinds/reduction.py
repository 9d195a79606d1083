"""Reductions: a commutative monoid between two scalar functions.

    @reduction(SUM, result=FLOATING_ONLY)
    def mean(input: Value, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None) -> Value:
        return input                                   # before

    @mean.after
    def _(total: Value, count: Value) -> Value:
        return total / count

`before` sees one element in the accumulator's dtype; `after` the monoid's components (`total`; `value, index`; or
`mean, moment, count`) and, where it names them, `count` (elements reduced) and the operator's own parameters. The result
is contiguous.
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
from tensorplay.ops.expression import Program, Recorder
from tensorplay.ops.kinds.kind import NO_NAMES, Kind
from tensorplay.ops.kinds.pointwise import dtype_of
from tensorplay.ops.monoids import Monoid
from tensorplay.ops.numpy_code import Kernels, compile_program
from tensorplay.ops.quiet import quiet
from tensorplay.ops.signature import Values
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


def always_bool(name: str, dtype: DType, asked: DType | None) -> DType:
    """any and all."""
    del name, dtype, asked
    return dtypes.bool_


def always_int64(name: str, dtype: DType, asked: DType | None) -> DType:
    """argmax and argmin."""
    del name, asked
    if dtype.kind == "c":
        msg = "complex numbers have no order"
        raise DTypeError(msg)
    return dtypes.int64


def ordered(name: str, dtype: DType, asked: DType | None) -> DType:
    """amax and amin."""
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


class Reduction(Kind):
    """The interpretations of a monoid between two scalar functions."""

    name = "reduction"

    def __init__(
        self, before: Callable[..., Value], monoid: Monoid, result: ResultRule, *, needs_elements: bool = False
    ) -> None:
        """`needs_elements`: an empty reduction is refused instead of giving the identity."""
        self.before_fn = before
        self.monoid = monoid
        self.result_rule = result
        self.needs_elements = needs_elements or monoid.components == 2  # noqa: PLR2004  # argmax
        self.after_fn: Callable[..., Value] | None = None
        self._kernels: dict[object, Kernels] = {}

    # ---- the declaration's parts

    def plan(self, operator: Operator, values: Values) -> ReductionPlan:
        """The dtypes of a call."""
        source = dtype_of(values[0])
        places = operator.signature.places
        asked = values[places["dtype"]] if "dtype" in places else None
        result = self.result_rule(operator.name, source, asked)  # type: ignore[arg-type]  # bound as a dtype
        if result is dtypes.bool_:
            element = dtypes.bool_
        elif result is dtypes.int64 and self.monoid.components == 2:  # noqa: PLR2004
            element = source.compute
        else:
            element = result.compute
        return ReductionPlan(element, self.monoid.accumulator(element), result)

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
            return convert(state[-1] if self.monoid.components == 2 else state[0], plan.result)  # noqa: PLR2004
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
        dims = self.dims(operator, values)
        self._check(operator, meta.shape, dims)
        keep = self.keepdim(operator, values)
        shape = [1 if i in dims else size for i, size in enumerate(meta.shape) if keep or i not in dims]
        return TensorMeta(shape, self.plan(operator, values).result, meta.device)

    def _check(self, operator: Operator, shape: Sequence[int], dims: Sequence[int]) -> None:
        if self.needs_elements and any(shape[i] == 0 for i in dims) and 0 not in [
            size for i, size in enumerate(shape) if i not in dims
        ]:
            msg = f"{operator.name}: nothing to reduce: shape {tuple(shape)} is empty along {tuple(dims)}"
            raise ArgumentValueError(msg)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        """Before, reduce, after."""
        array: Any = values[0]
        dims = self.dims(operator, values)
        self._check(operator, array.shape, dims)
        before = self._before_kernel(operator, values)
        elements = quiet(before, array)
        keep = self.keepdim(operator, values)
        if self.needs_elements and elements.size == 0:
            shape = [1 if i in dims else size for i, size in enumerate(array.shape) if keep or i not in dims]
            return np.empty(shape, self.plan(operator, values).result.numpy)
        state = quiet(self.monoid.reduce, elements, dims, keep)
        after = self._after_kernel(operator, values, [each.dtype for each in state])
        count = 1
        for i in dims:
            count = count * array.shape[i]
        found = np.asarray(quiet(after, state, count))
        return found if found.flags.c_contiguous else np.ascontiguousarray(found).reshape(found.shape)

    def _before_kernel(self, operator: Operator, values: Values) -> Callable[[Any], Any]:
        key = ("before", dtype_of(values[0]), _rest_key(values))
        kernels = self._kernels.get(key)
        if kernels is None:
            recorder = Recorder()
            element = recorder.input("input", dtype_of(values[0]))
            program = recorder.finish(self.before(operator, values, element))
            kernels = self._kernels[key] = compile_program(program)
        if kernels.step_count == 0:
            return _same
        return kernels.fresh

    def _after_kernel(
        self, operator: Operator, values: Values, state: Sequence[Any]
    ) -> Callable[[Sequence[Any], int], Any]:
        plan = self.plan(operator, values)
        if self.after_fn is None:
            place = -1 if self.monoid.components == 2 else 0  # noqa: PLR2004
            return lambda found, _: arrays.convert(np.asarray(found[place]), dtype=plan.result)
        key = ("after", dtype_of(values[0]), _rest_key(values))
        kernels = self._kernels.get(key)
        if kernels is None:
            kernels = self._kernels[key] = compile_program(self._after_program(operator, values, state))
        names = kernels.inputs
        fresh = kernels.fresh

        def after(found: Sequence[Any], count: int) -> Any:  # noqa: ANN401  # an array
            known = {f"state{i}": each for i, each in enumerate(found)}
            known["count"] = np.array(count, found[0].dtype)
            return fresh(*(known[name] for name in names))

        return after

    def _after_program(self, operator: Operator, values: Values, state: Sequence[Any]) -> Program:
        recorder = Recorder()
        inputs = [
            recorder.input(f"state{i}", dtypes.from_numpy_dtype(each)) for i, each in enumerate(state)
        ]
        count = recorder.input("count", inputs[0].dtype)
        return recorder.finish(self.after(operator, values, inputs, count))

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
        return "default" if values[places["dim"]] is None and not self.keepdim(operator, values) else "dim_IntList"


_COMPONENTS = {1: ("total",), 2: ("value", "index"), 3: ("mean", "moment", "count")}


def _same(array: Any) -> Any:  # noqa: ANN401  # an array
    return array


def _rest_key(values: Values) -> tuple[object, ...]:
    return values[1:]
