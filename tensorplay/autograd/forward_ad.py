"""Forward mode: dual tensors, whose tangents every operator carries along.

In: a tensor and the direction in which it changes. Out: results, and the directions in which they
change, from one forward computation that records nothing (Proposition 5.2).

>>> import tensorplay as tp
>>> from tensorplay.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(tp.tensor(3.0), tp.tensor(1.0))
...     print(forward_ad.unpack_dual(x * x).tangent)
tensor(6.)

A level is an operator mode: outside of `dual_level()` no call asks whether there are tangents. It
computes a call below itself, asks the operator for its tangent (`Operator.jvp`), and keeps that by
memory and layout, because autograd keeps twins of tensors. Levels nest: the inner one computes its
tangents through the outer one, each knows its own only. Autograd lies below, so tangents can be
differentiated in reverse mode, and a backward pass in forward mode. A `Function`, whose backward
pass is written by hand, needs a `jvp` for tangents.

[Note: tangents and memory] The tangent of a memory is a value. A write through a view replaces it by
the inverse scatters of the view's steps, and other views are made again from it. So a tangent that
was handed out never changes. A dual tensor, like a detached one, lies over the memory of another but
has a tangent of its own; it therefore gets a `Storage` of its own, whose version counts along.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from tensorplay import dispatch
from tensorplay._C import Storage
from tensorplay.autograd.function import Function, FunctionTransform, call_function
from tensorplay.autograd.record import OperatorNode
from tensorplay.core.errors import (
    ArgumentError,
    DTypeError,
    GradientError,
    NotDifferentiableError,
    ShapeError,
)
from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.registry import tp as operators
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tensorplay.autograd.function import FunctionContext
    from tensorplay.core.dtypes import DType
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values

Layout: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...], int, DType]"


class UnpackedDualTensor(NamedTuple):
    """What a dual tensor is made of."""

    primal: Tensor
    tangent: Tensor | None


class Memory:
    """The tangents of one storage: of the whole as first seen, and of views of it."""

    __slots__ = ("layout", "tangents")

    def __init__(self, layout: Layout, tangent: Tensor) -> None:
        """Start with the whole."""
        self.layout = layout
        self.tangents = {layout: tangent}


class DualLevel(FunctionTransform):
    """Computes the tangents of all calls and writes inside it."""

    def __init__(self) -> None:
        """Start without tangents."""
        self._memories: WeakKeyDictionary[Storage, Memory] = WeakKeyDictionary()
        self._twins: WeakKeyDictionary[Storage, WeakSet[Storage]] = WeakKeyDictionary()

    def call_values(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Compute a call below this level, and its tangent."""
        if operator.not_differentiable is not None:
            result = dispatch.call(operator, values)
            if operator.kind.is_view:
                self.separate(result)
            return result
        tensors = operator.tensors(values)
        tangents = [self.tangent_of(each) for each in tensors]
        result = dispatch.call(operator, values)
        if all(each is None for each in tangents):
            return result
        found: Any
        if isinstance(operator.kind, Composite) and operator.written_tangent is None:
            with self:
                parts = operator.kind.decompose(operator, values)
            outcome = parts if isinstance(parts, tuple) else (parts,)
            found = tuple(self.tangent_of(each) for each in outcome)
        else:
            if operator.kind.is_view:
                tangents = [_laid_out(operator, tensors[0], tangents[0]), *tangents[1:]]
            found = operator.jvp(values, result, tangents)
        results = result if isinstance(result, tuple) else (result,)
        for primal, tangent in zip(
            results, found if isinstance(found, tuple) else (found,) * len(results), strict=True
        ):
            if tangent is not None and primal.dtype.is_differentiable:
                self._note(primal, _conform(primal, tangent))
        return result

    def write(self, tensor: Tensor, value: Tensor) -> None:
        """Write below this level; the tangent of the memory changes with its contents."""
        before, given = self.tangent_of(tensor), self.tangent_of(value)
        node = value.grad_fn
        saved = node.saved if isinstance(node, OperatorNode) and before is not None else ()
        kept = [each for each in saved if each.tensor is tensor]
        dispatch.write(tensor, value)
        storage = _storage(tensor)
        for twin in self._twins.get(storage, ()):
            if twin is not storage:
                twin.bump()
        for each in kept:  # autograd saved a copy of what the write replaced
            if each.tensor is not None and each.tensor is not tensor and before is not None:
                self.start(each.tensor, before)
        if before is None and given is None:
            return
        if given is None:
            given = _zeros(tensor)
        root, steps = self._root(tensor)
        if steps:
            memory = self._memories.get(storage)
            whole = _zeros(root) if memory is None else memory.tangents[memory.layout]
            if whole.strides != root.strides:
                whole = whole.contiguous()
            given = dispatch.write_back(whole, steps, given)
        self.start(root, given)

    def tangent_of(self, tensor: Tensor) -> Tensor | None:
        """Return the tangent of a tensor, None where it is zero."""
        memory = self._memories.get(_storage(tensor))
        if memory is None or not tensor.dtype.is_differentiable:
            return None
        known = memory.tangents.get(_layout(tensor))
        if known is None:
            root, steps = self._root(tensor)
            if _layout(root) != memory.layout:
                raise GradientError(
                    f"a tensor of shape {tuple(tensor.shape)} shares the memory of a dual tensor, but "
                    "not by views of it, so its tangent is not known; make it with view operations"
                )
            known = memory.tangents[memory.layout]
            if known.strides != root.strides:
                known = known.contiguous()
            known = dispatch.replay_view(known, steps)[-1]
            memory.tangents[_layout(tensor)] = known
        return known

    def apply_function(
        self, function: type[Function], args: tuple[Any, ...]
    ) -> tuple[Any, FunctionContext]:
        """Apply a `Function` below this level, and its ``jvp`` to the tangents."""
        tangents = [self.tangent_of(each) if isinstance(each, Tensor) else None for each in args]
        outcome, ctx = call_function(function, args)
        if all(each is None for each in tangents):
            return outcome, ctx
        if function.jvp is Function.jvp:
            raise NotDifferentiableError(
                f"{function.__name__} is a Function with a backward pass written by hand, and no "
                "forward mode; give it jvp(ctx, *tangents), write it with operators, or use reverse "
                "mode"
            )
        if ctx._materialize:  # noqa: SLF001 - the context is this call's own
            tangents = [
                _zeros(each)
                if tangent is None and isinstance(each, Tensor) and each.dtype.is_differentiable
                else tangent
                for each, tangent in zip(args, tangents, strict=True)
            ]
        ctx._for_forward = ctx._forward_saved  # noqa: SLF001  # a friend of that class
        try:
            found = function.jvp(ctx, *tangents)
        finally:
            ctx._for_forward = None  # noqa: SLF001  # a friend of that class
        outputs = outcome if isinstance(outcome, tuple) else (outcome,)
        given = found if isinstance(found, tuple) else (found,)
        if len(given) != len(outputs):
            raise GradientError(
                f"{function.__name__}.jvp returned {len(given)} tangents for {len(outputs)} outputs"
            )
        constant = {id(each) for each in ctx._constant}  # noqa: SLF001  # a friend of that class
        dirty = {id(each) for each in ctx._dirty}  # noqa: SLF001  # a friend of that class
        for output, tangent in zip(outputs, given, strict=True):
            if not isinstance(output, Tensor) or tangent is None or id(output) in constant:
                continue
            if id(output) in dirty or self._memories.get(_storage(output)) is None:
                self.start(output, _conform(output, tangent))
            else:
                self._note(output, _conform(output, tangent))
        return outcome, ctx

    def start(self, tensor: Tensor, tangent: Tensor) -> None:
        """Let `tangent` be that of the whole of a tensor's memory."""
        self._memories[_storage(tensor)] = Memory(_layout(tensor), tangent)

    def separate(self, view: Tensor) -> None:
        """Give a view a tangent of its own: none yet. Writes to either count for both."""
        shared, own = _storage(view), Storage()
        group = self._twins.setdefault(shared, WeakSet((shared,)))
        group.add(own)
        self._twins[own] = group
        view.storage = own

    def _note(self, primal: Tensor, tangent: Tensor) -> None:
        """Keep the tangent of a result; one that is an argument has it already."""
        memory = self._memories.get(_storage(primal))
        if memory is None:
            self.start(primal, tangent)
        else:
            memory.tangents.setdefault(_layout(primal), tangent)

    def _root(self, tensor: Tensor) -> tuple[Tensor, list[dispatch.ViewStep]]:
        """Return the tensor that stands for the whole memory, and the steps from it to `tensor`."""
        storage = _storage(tensor)
        memory = self._memories.get(storage)
        steps: list[dispatch.ViewStep] = []
        while memory is None or _layout(tensor) != memory.layout:
            step = tensor._view  # noqa: SLF001 - the member that dispatch sets
            if step is None or step.source.storage is not storage:
                break
            steps.append(step)
            tensor = step.source
        steps.reverse()
        return tensor, steps


@contextmanager
def dual_level() -> Iterator[int]:
    """Compute tangents inside a ``with`` block, whose value is the number of the level."""
    level = DualLevel()
    with level:
        yield _levels().index(level)


def enter_dual_level() -> int:
    """Start a level until `exit_dual_level`; return its number."""
    DualLevel().__enter__()
    return len(_levels()) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the innermost level, which has to be number ``level`` if that is given."""
    levels = _levels()
    if not levels:
        raise GradientError("exit_dual_level: no dual level is entered")
    if level is not None and level != len(levels) - 1:
        raise GradientError(
            f"exit_dual_level: levels end in the order opposite to their start; the innermost is "
            f"{len(levels) - 1}, not {level}"
        )
    levels[-1].__exit__(None, None, None)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` that changes in the direction ``tangent``.

    Both are floating-point tensors of one shape and dtype. ``level`` is the innermost by default.
    """
    for name, each in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(each, Tensor):
            raise ArgumentError(f"make_dual: {name} must be a tensor, not {type(each).__name__}")
    if not tensor.dtype.is_differentiable or tangent.dtype is not tensor.dtype:
        raise DTypeError(
            f"make_dual: expected a floating-point tensor and a tangent of its dtype, found "
            f"{tensor.dtype} and {tangent.dtype}"
        )
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise ShapeError(
            f"make_dual: a tangent has the shape of its tensor, {tuple(tensor.shape)}, found "
            f"{tuple(tangent.shape)}"
        )
    chosen = _level("make_dual", level)
    if chosen.tangent_of(tensor) is not None:
        raise GradientError("make_dual: the tensor has a tangent at this level already")
    dual = _separate_view(tensor, chosen)
    chosen.start(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a view of ``tensor`` without its tangent, and the tangent, None where it is zero."""
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"unpack_dual: expected a tensor, found {type(tensor).__name__}")
    if level is None and not _levels():
        return UnpackedDualTensor(tensor, None)
    chosen = _level("unpack_dual", level)
    tangent = chosen.tangent_of(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_separate_view(tensor, chosen), tangent)


def _separate_view(tensor: Tensor, level: DualLevel) -> Tensor:
    """Return a view that has no tangent at `level`, and the same tangents at all others."""
    others = [(each, each.tangent_of(tensor)) for each in _levels() if each is not level]
    view: Tensor = operators.alias(tensor)
    level.separate(view)
    for each, tangent in others:
        if tangent is not None:
            each.start(view, tangent)
    return view


def _levels() -> list[DualLevel]:
    return [mode for mode in dispatch.current_modes() if isinstance(mode, DualLevel)]


def _level(name: str, number: int | None) -> DualLevel:
    levels = _levels()
    if not levels:
        raise GradientError(f"{name}: no dual level is entered; use `with dual_level():`")
    if number is not None and not 0 <= number < len(levels):
        raise GradientError(
            f"{name}: there is no dual level {number}; the innermost is {len(levels) - 1}"
        )
    return levels[-1 if number is None else number]


def _storage(tensor: Tensor) -> Storage:
    storage: Storage = tensor.untyped_storage()
    return storage


def _layout(tensor: Tensor) -> Layout:
    meta = tensor.tensor_meta
    return meta.shape, meta.strides, meta.offset, meta.dtype


def _zeros(tensor: Tensor) -> Tensor:
    zeros: Tensor = tensor.new_zeros(tensor.shape)
    return zeros


def _laid_out(operator: Operator, source: Tensor, tangent: Tensor | None) -> Tensor | None:
    """Return a tangent that can be viewed as its tensor is."""
    if tangent is None or tangent.strides == source.strides:
        return tangent
    if operator.name == "as_strided":
        raise NotDifferentiableError(
            "as_strided in forward mode needs a tangent with the strides of its tensor, "
            f"{tuple(source.strides)}, found {tuple(tangent.strides)}"
        )
    return tangent.contiguous()


def _conform(primal: Tensor, tangent: Tensor) -> Tensor:
    """Return a tangent in the shape and dtype of its tensor."""
    if tangent.dtype is not primal.dtype:
        tangent = tangent.to(primal.dtype)
    return tangent if tangent.shape == primal.shape else tangent.expand(primal.shape)


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
