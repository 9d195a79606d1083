"""`Function`: an operation with a backward pass written by hand.

>>> import tensorplay as tp
>>> class Cube(tp.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x * x * x
...     @staticmethod
...     def backward(ctx, grad):
...         (x,) = ctx.saved_tensors
...         return 3 * x * x * grad
>>> x = tp.tensor(2.0, requires_grad=True)
>>> Cube.apply(x).backward()
>>> x.grad
tensor(12.)
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from tensorplay import dispatch
from tensorplay.autograd.grad_mode import is_grad_enabled, no_grad
from tensorplay.autograd.inplace import rewrite_history
from tensorplay.autograd.node import Node
from tensorplay.autograd.saved import SavedTensor, alias, released_error
from tensorplay.autograd.tensor_state import attach, gradient_edge
from tensorplay.core.errors import ArgumentError, NotDifferentiableError
from tensorplay.functions import zeros
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tensorplay.autograd.node import Edge, Gradients


class FunctionContext:
    """What `forward` leaves for `backward`. Any further attributes can be set on it."""

    needs_input_grad: tuple[bool, ...]

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        """Note which arguments want gradients."""
        self.needs_input_grad = needs_input_grad
        self._to_save: tuple[Tensor | None, ...] = ()
        self._saved: tuple[SavedTensor | None, ...] | None = ()
        self._node: Node | None = None
        self._for_forward: tuple[Tensor | None, ...] | None = None
        self._forward_saved: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, outputs or intermediate tensors; in-place changes to them are noticed."""
        _check_saved("save_for_backward", tensors)
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which finds them as `saved_tensors`."""
        _check_saved("save_for_forward", tensors)
        self._forward_saved = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors of `save_for_backward`, in order; in `jvp` those of `save_for_forward`."""
        if self._for_forward is not None:
            return self._for_forward
        if self._node is None:
            return self._to_save
        if self._saved is None:
            raise released_error(self._node)
        node = self._node
        return tuple(None if each is None else each.unpack(node) for each in self._saved)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that these inputs were changed in place; they must be among the outputs."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether `backward` gets zeros (the default) or None for outputs nobody used."""
        self._materialize = value


def _check_saved(name: str, tensors: tuple[object, ...]) -> None:
    for tensor in tensors:
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentError(
                f"{name} takes tensors, not {type(tensor).__name__}; set other values as attributes "
                "of ctx"
            )


class FunctionNode(Node):
    """The node of one call of a `Function`."""

    __slots__ = ("ctx", "function")

    def __init__(
        self, edges: tuple[Edge | None, ...], function: type[Function], ctx: FunctionContext
    ) -> None:
        """Make the node of ``function.apply`` whose forward left ``ctx``."""
        super().__init__(edges)
        self.function = function
        self.ctx = ctx

    @property
    def title(self) -> str:
        """The name of the function, with ``Backward``."""
        return f"{self.function.__name__}Backward"

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Call the user's ``backward``."""
        ctx = self.ctx
        if ctx._saved is None:  # noqa: SLF001 - the context is this node's own
            raise released_error(self)
        if ctx._materialize:  # noqa: SLF001  # a friend of that class
            grads = tuple(
                zeros(spec[0], dtype=spec[1], device=spec[2]) if grad is None and spec else grad
                for grad, spec in zip(grads, self.outputs, strict=True)
            )
        ctx.needs_input_grad = tuple(wanted)
        ctx._node = self  # noqa: SLF001  # a friend of that class
        try:
            results = self.function.backward(ctx, *grads)
        finally:
            ctx._node = None  # noqa: SLF001  # a friend of that class
        return results if isinstance(results, tuple) else (results,)

    def release(self) -> None:
        """Drop the saved tensors."""
        self.ctx._saved = None  # noqa: SLF001  # a friend of that class
        self.ctx._to_save = ()  # noqa: SLF001  # a friend of that class


class Function:
    """Subclass with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``.

    ``forward`` runs without recording. ``backward`` gets one gradient for each output and returns
    one for each argument of ``forward`` (None for those that have none). Alternatively ``forward``
    takes no ``ctx`` and ``setup_context(ctx, inputs, output)`` fills it. Call ``apply``.
    """

    generate_vmap_rule = False
    """Part of PyTorch's interface; a batching rule is generated wherever there is no `vmap`."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - subclasses say which
        """Compute the outputs: a tensor, or a tuple that may hold other values too."""
        raise NotImplementedError("a Function defines forward(ctx, *args) as a static method")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401  # what the user saved and computed
        """Fill ``ctx`` from inputs and output, when ``forward`` takes none."""
        del ctx, inputs, output
        raise NotImplementedError("this Function's forward takes ctx itself")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:  # noqa: ANN401 - tensors or None
        """Map gradients of the outputs to gradients of the inputs."""
        del ctx, grads
        raise NotDifferentiableError("this Function defines no backward(ctx, *grads)")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:  # noqa: ANN401 - tensors or None
        """Map tangents of the inputs to tangents of the outputs, for forward mode."""
        del ctx, tangents
        raise NotDifferentiableError("this Function defines no jvp(ctx, *tangents)")

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *args: Any) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
        """Compute a batch: return the outputs and where each has the batch (`in_dims` says it of `args`).

        Without it, `forward`, `backward` and `jvp` are run on samples, as if they were written
        inside of the function that is vmapped.
        """
        del info, in_dims, args
        raise NotImplementedError("this Function defines no vmap(info, in_dims, *args)")

    @classmethod
    def apply(cls, *args: Any) -> Any:  # noqa: ANN401 - what forward returns
        """Run ``forward`` and remember how gradients pass through it."""
        return dispatch.call_function(cls.apply, cls._apply, args, {})

    @classmethod
    def _apply(cls, *args: Any) -> Any:  # noqa: ANN401 - as apply
        return call_function(cls, args)[0]


class VmapInfo(NamedTuple):
    """What a `Function` is told about a batch."""

    batch_size: int
    randomness: str


class FunctionTransform(dispatch.OperatorMode):
    """A transform, which also says what becomes of a `Function`."""

    is_transform = True

    def apply_function(
        self, function: type[Function], args: tuple[Any, ...]
    ) -> tuple[Any, FunctionContext]:
        """Return what `function.apply(*args)` returns under this transform, and its context."""
        raise NotImplementedError


def call_function(function: type[Function], args: tuple[Any, ...]) -> tuple[Any, FunctionContext]:
    """Apply a `Function` below the modes that are being handled; return its context, too."""
    mode = dispatch.innermost_transform()
    if isinstance(mode, FunctionTransform):
        with dispatch.below(mode):
            return mode.apply_function(function, args)
    outcome, ctx = run_forward(function, args)
    return record_function(function, args, outcome, ctx), ctx


def run_forward(function: type[Function], args: tuple[Any, ...]) -> tuple[Any, FunctionContext]:
    """Run ``forward`` without recording."""
    ctx = FunctionContext(wanted_gradients(args))
    with no_grad():
        if function.setup_context is Function.setup_context:
            return function.forward(ctx, *args), ctx
        outcome = function.forward(*args)
        function.setup_context(ctx, args, outcome)
        return outcome, ctx


def wanted_gradients(args: tuple[Any, ...]) -> tuple[bool, ...]:
    """Which arguments want a gradient of the call that is made."""
    if not is_grad_enabled():
        return (False,) * len(args)
    return tuple(isinstance(a, Tensor) and gradient_edge(a) is not None for a in args)


def record_function(
    function: type[Function],
    args: tuple[Any, ...],
    outcome: Any,  # noqa: ANN401 - what forward returns
    ctx: FunctionContext,
) -> Any:  # noqa: ANN401 - the same with a history
    """Give the outputs of ``forward`` their history, where a gradient can flow."""
    if not any(ctx.needs_input_grad):
        return outcome
    edges = tuple(gradient_edge(a) if isinstance(a, Tensor) else None for a in args)
    single = not isinstance(outcome, tuple)
    outputs = _record(
        FunctionNode(edges, function, ctx), ctx, args, (outcome,) if single else outcome
    )
    return outputs[0] if single else outputs


def _record(
    node: FunctionNode, ctx: FunctionContext, args: tuple[Any, ...], outputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Give the outputs their history and save what was asked for."""
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    dirty = {id(t) for t in ctx._dirty}  # noqa: SLF001 - same file
    constant = {id(t) for t in ctx._constant}  # noqa: SLF001  # a friend of that class
    if not dirty <= {id(y) for y in outputs}:
        raise ArgumentError("mark_dirty: a changed input must be returned from forward")
    results = [alias(y) if _needs_alias(y, inputs, dirty) else y for y in outputs]
    node.describe_outputs(results)
    numbers = {id(y): number for number, y in enumerate(outputs) if isinstance(y, Tensor)}
    ctx._saved = tuple(  # noqa: SLF001  # a friend of that class
        None if t is None else SavedTensor(t, numbers.get(id(t)) if id(t) not in inputs else None)
        for t in ctx._to_save  # noqa: SLF001  # a friend of that class
    )
    ctx._to_save = ()  # noqa: SLF001  # a friend of that class
    for number, (output, result) in enumerate(zip(outputs, results, strict=True)):
        if (
            isinstance(result, Tensor)
            and result.dtype.is_differentiable
            and id(output) not in constant
        ):
            if id(output) in dirty:
                rewrite_history(result, (node, number))
            else:
                attach(result, node, number)
    return tuple(results)


def _needs_alias(output: object, inputs: set[int], dirty: set[int]) -> bool:
    """Whether an output is a tensor with a history of its own, which it must keep."""
    return (
        isinstance(output, Tensor)
        and id(output) not in dirty
        and (id(output) in inputs or output.requires_grad)
    )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a ``backward`` that is not made of differentiable operations.

    Its results cannot be differentiated again: trying raises an error that names the function.
    """

    @functools.wraps(backward)
    def wrapper(ctx: FunctionContext, *grads: Tensor | None) -> Any:  # noqa: ANN401 - as backward
        with no_grad():
            outcome = backward(ctx, *grads)
        if not is_grad_enabled():
            return outcome
        results = outcome if isinstance(outcome, tuple) else (outcome,)
        node = OnceNode(tuple(None if g is None else gradient_edge(g) for g in grads), backward)
        twins = tuple(None if t is None else alias(t) for t in results)
        node.describe_outputs(twins)
        for number, twin in enumerate(twins):
            if twin is not None:
                attach(twin, node, number)
        return twins

    return wrapper


class OnceNode(Node):
    """The history of what a once-differentiable ``backward`` returned: an error."""

    __slots__ = ("function",)

    def __init__(self, edges: tuple[Edge | None, ...], function: Callable[..., Any]) -> None:
        """Make the node of the results of ``function``."""
        super().__init__(edges)
        self.function = function

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Refuse."""
        del grads, wanted
        raise NotDifferentiableError(
            f"{self.function.__qualname__} is marked once_differentiable, so its results have no "
            "gradient; write it with differentiable operations and drop the mark"
        )
