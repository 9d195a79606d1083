"""Batches: a level at which every tensor stands for one sample of a batch.

In: a function of samples, and tensors that hold a batch of them. Out: what the function gives for
all samples, from one run of it. `tensorplay.func.vmap` is the public face.

>>> import tensorplay as tp
>>> with BatchLevel(3) as level:
...     x = level.sample(tp.arange(6.0).reshape(3, 2))
...     y = x.sum()
>>> x.shape, y.shape, level.whole(y)
((2,), (), tensor([1., 5., 9.]))

A level is an operator mode. A *sample* is a tensor without data, of a sample's shape and strides,
that carries the tensor with the batch in front. A call is computed on these by a batching rule
(`ops.batching`), below this level: other levels, autograd and recording see ordinary calls.

[Note: two histories] Autograd lies below the modes, and a function of samples may differentiate:
so a call is recorded twice, where someone wants gradients. The samples have a history of their own,
whose backward pass computes with samples; what they carry has the history by which gradients flow
out of the batch. A tensor without the batch belongs to both.

[Note: writes] Views of a sample carry views, so a write reaches what it should. A tensor that was
made at this level without the batch (`zeros(3)`) takes the batch when it is written to
(`BatchLevel._take_batch`); one from outside can't, and the write is refused.
"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from tensorplay import dispatch
from tensorplay.autograd.function import FunctionTransform
from tensorplay.autograd.function_batches import apply_to_batch
from tensorplay.autograd.record import record_call
from tensorplay.autograd.saved import alias
from tensorplay.core.errors import BatchError, DataNeededError
from tensorplay.core.meta import TensorMeta
from tensorplay.core.source_line import at_user_line
from tensorplay.ops.batching import (
    each_tensor,
    install_runner,
    one_by_one,
)
from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensorplay._C import Storage
    from tensorplay.autograd.function import Function, FunctionContext
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values

Randomness: TypeAlias = Literal["error", "different", "same"]

_CARRIED: Final = "_carried"
"""The attribute of a sample: its level, the tensor that it stands for, and whether that has the batch."""


class BatchWarning(UserWarning):
    """An operator has no batching rule: its samples are computed one after the other."""


class BatchLevel(FunctionTransform):
    """Computes all calls and writes inside it for a batch of `size` samples."""

    def __init__(self, size: int, randomness: Randomness = "error") -> None:
        """Start without samples."""
        self.size = size
        self.randomness = randomness
        self._made: WeakKeyDictionary[Storage, list[weakref.ref[Tensor]]] = WeakKeyDictionary()

    # ---- samples

    def sample(self, whole: Tensor) -> Tensor:
        """The sample that stands for a tensor with the batch in front."""
        meta = whole.tensor_meta
        one = TensorMeta(meta.shape[1:], meta.dtype, meta.device, meta.strides[1:])
        return self._carrying(dispatch.tensor_of_meta(one), whole)

    def _carrying(self, tensor: Tensor, whole: Tensor, has_batch: bool = True) -> Tensor:
        tensor.__dict__[_CARRIED] = (self, whole, has_batch)
        return tensor

    def carried(self, tensor: Tensor) -> Tensor | None:
        """What a sample of this level carries; None for other tensors."""
        if tensor.array is not None:
            return None
        found = tensor.__dict__.get(_CARRIED)
        return None if found is None or found[0] is not self else found[1]

    def is_sample(self, tensor: Tensor) -> bool:
        """Whether a tensor stands for one sample of this level's batch."""
        if tensor.array is not None:
            return False
        found = tensor.__dict__.get(_CARRIED)
        return found is not None and found[0] is self and found[2]

    def whole(self, tensor: Tensor) -> Tensor:
        """The tensor of all samples, the batch in front; the same for all where there is no batch."""
        found = self.carried(tensor)
        if found is not None and self.is_sample(tensor):
            return found
        found = tensor if found is None else found
        expanded: Tensor = found.expand((self.size, *found.shape))
        return expanded

    # ---- calls

    def call_values(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Compute a call for all samples."""
        tensors = operator.tensors(values)
        if operator.effect:
            return self._draw(operator, values)
        if not any(self.is_sample(each) for each in tensors):
            result = dispatch.call(operator, self._without_level(values))
            self._note_made(tensors, result)
            return result
        wants = (
            dispatch.is_grad_enabled()
            and operator.not_differentiable is None
            and any(dispatch.has_history(each) for each in tensors)
        )
        if isinstance(operator.kind, Composite):
            with self:
                result = operator.kind.decompose(
                    operator, self._without_history(values) if wants else values
                )
        else:
            result = self._compute(operator, values)
        return record_call(operator, values, tensors, result) if wants else result

    def _compute(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # samples
        """A call by its batching rule, without a history at this level."""
        wholes = self._without_level(values)
        metas = tuple(map(_meta_of, values))
        try:
            one = operator.kind.meta(operator, metas)
        except DataNeededError as error:
            raise BatchError(
                f"vmap: {operator.name} gives results of different shapes for different samples: "
                f"{error}{at_user_line()}"
            ) from None
        rule = operator.batching_rule or operator.kind.batch
        found = rule(operator, wholes, metas, self.size)
        if found is NotImplemented and operator.batching_rule is not None:
            found = operator.kind.batch(operator, wholes, metas, self.size)
        if found is NotImplemented:
            found = self._one_by_one(operator, wholes, metas, one)
        if operator.kind.is_view:
            return self._carrying(dispatch.compute(operator, values), found)
        return tuple(map(self.sample, found)) if isinstance(found, tuple) else self.sample(found)

    def _one_by_one(self, operator: Operator, wholes: Values, metas: Values, one: Any) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The results of each sample, stacked."""
        _warn_once(operator.name)
        if not self.size:
            return _empty(one)
        found = one_by_one(operator, wholes, metas, self.size)
        if isinstance(found[0], tuple):
            return tuple(tp.stack(each, 0) for each in zip(*found, strict=True))
        return tp.stack(found, 0)

    def _draw(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # the generator's state
        """Random numbers, as the caller of `vmap` wants them."""
        if self.randomness == "error":
            raise BatchError(
                "vmap: the function draws random numbers; say with randomness='different' or "
                f"randomness='same' whether each sample gets its own{at_user_line()}"
            )
        if self.randomness == "same":
            return dispatch.call(operator, values)
        rule = operator.batching_rule
        if rule is None:
            raise BatchError(f"vmap: {operator.name} has no batching rule")
        return self.sample(rule(operator, values, values, self.size))

    def apply_function(
        self, function: type[Function], args: tuple[Any, ...]
    ) -> tuple[Any, FunctionContext]:
        """Apply a `Function` to samples (see `function_batches`)."""
        return apply_to_batch(self, function, args)

    def inside(self, value: Any) -> Any:  # noqa: ANN401  # a tensor or another value
        """What a sample carries; other values themselves."""
        found = self.carried(value) if isinstance(value, Tensor) else None
        return value if found is None else found

    # ---- writes

    def write(self, tensor: Tensor, value: Tensor) -> None:
        """Write for all samples."""
        if not self.is_sample(tensor):
            if not self.is_sample(value):
                into = self.carried(tensor)
                given = self.carried(value)
                dispatch.write(tensor if into is None else into, value if given is None else given)
                return
            self._take_batch(tensor)
        into, given = self.carried(tensor), self.whole(value)
        assert into is not None  # noqa: S101  # a sample carries one
        with self:
            dispatch.execute_write(tensor, value)
        into.copy_(given)

    def _note_made(self, tensors: Sequence[Tensor], result: Any) -> None:  # noqa: ANN401  # a tensor or a structure of them
        """Remember the tensors over memory that was made at this level."""
        for each in result if isinstance(result, tuple) else (result,):
            storage = each.untyped_storage()
            known = self._made.get(storage)
            if known is None:
                if any(other.untyped_storage() is storage for other in tensors):
                    continue
                known = self._made[storage] = []
            known.append(weakref.ref(each))

    def _take_batch(self, tensor: Tensor) -> None:
        """Give a tensor that was made at this level, and its views, a place for each sample."""
        made = self._made.pop(tensor.untyped_storage(), None)
        step = tensor._view  # noqa: SLF001 - the member that dispatch sets
        base = tensor if step is None else step.base
        if made is None or self.carried(base) is not None:
            raise BatchError(
                f"vmap: a tensor of shape {tuple(tensor.shape)} that all samples share, because it "
                "came from outside of the function, can't take values that differ between samples; "
                f"write into a clone() of it, or pass it as an argument with in_dims{at_user_line()}"
            )
        alive = [each for each in (reference() for reference in made) if each is not None]
        whole = tp.alias(base).expand((self.size, *base.shape)).contiguous()
        with self:
            self._become(base, self.sample(whole))
            for each in alive:
                if each is not base and self.carried(each) is None:
                    steps = dispatch.view_steps(each)
                    self._become(each, dispatch.replay_view(base, steps)[-1])

    def _become(self, tensor: Tensor, sample: Tensor) -> None:
        """Turn a tensor into a sample that stands in its place."""
        tensor.meta = sample.tensor_meta
        tensor.array = None
        tensor.__dict__[_CARRIED] = sample.__dict__[_CARRIED]

    # ---- values

    def _without_level(self, values: Values) -> Values:
        """The call with what samples carry in their place."""

        def inside(tensor: Tensor, _: Tensor) -> Tensor:
            found = self.carried(tensor)
            return tensor if found is None else found

        return each_tensor(values, values, inside)  # type: ignore[arg-type]  # metas are not asked for

    def _without_history(self, values: Values) -> Values:
        """The call with tensors that have no history at this level, and what they carry has its own."""

        def twin(tensor: Tensor, _: Tensor) -> Tensor:
            if self.carried(tensor) is not None:
                return alias(tensor)
            meta = tensor.tensor_meta
            return self._carrying(dispatch.tensor_of_meta(meta), tensor, has_batch=False)

        return each_tensor(values, values, twin)  # type: ignore[arg-type]  # metas are not asked for

    def refuse_data(self, tensor: Tensor, what: str) -> None:
        """Samples have different data."""
        if self.is_sample(tensor):
            raise BatchError(
                f"vmap: {what} asks for the data of one sample, but the function runs once for all "
                f"{self.size}; use where(condition, a, b) instead of control flow that depends on "
                f"data{at_user_line()}"
            )


def carried_outside(tensor: Tensor) -> Tensor | None:
    """What a sample of any level carries; None for other tensors."""
    if tensor.array is not None:
        return None
    found = tensor.__dict__.get(_CARRIED)
    return None if found is None else found[1]


def _meta_of(value: object) -> object:
    if isinstance(value, Tensor):
        return value.tensor_meta
    return tuple(map(_meta_of, value)) if type(value) is tuple else value


def _empty(meta: Any) -> Any:  # noqa: ANN401  # metas, tensors
    """The results of no samples."""
    if isinstance(meta, tuple):
        return tuple(map(_empty, meta))
    return tp.zeros((0, *meta.shape), dtype=meta.dtype)


_warned: set[str] = set()


def _warn_once(name: str) -> None:
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"vmap: {name} has no batching rule, so its samples are computed one after the other "
            f"(said once){at_user_line()}",
            BatchWarning,
            stacklevel=2,
        )


def run_over_batch(function: Callable[..., Any], size: int, tensors: Sequence[Tensor]) -> Any:  # noqa: ANN401  # tensors
    """Run a function of samples on tensors with the batch in front; so do its results."""
    level = BatchLevel(size, "same")
    with level:
        results = function(*map(level.sample, tensors))
    if isinstance(results, tuple):
        return tuple(None if each is None else level.whole(each) for each in results)
    return None if results is None else level.whole(results)


install_runner(run_over_batch)

__all__ = ["BatchLevel", "BatchWarning", "carried_outside"]
