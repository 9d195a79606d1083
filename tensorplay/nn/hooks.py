"""Hooks of modules: what runs before and after `forward`, a backward pass, saving and loading.

>>> import tensorplay as tp
>>> layer = tp.nn.ReLU()
>>> with layer.register_forward_hook(lambda module, args, result: result * 10):
...     print(layer(tp.tensor([-1.0, 2.0])))
tensor([ 0., 20.])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tensorplay.autograd import Function, RemovableHandle, is_grad_enabled
from tensorplay.core.errors import ArgumentError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.nn.module import Module

AnyHook = Any
"""A function; `Module`'s registering methods say what it takes."""

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class ForwardHook:
    """A hook around `forward`, and how it is called."""

    function: AnyHook
    with_kwargs: bool
    always_call: bool = False


@dataclass(slots=True)
class ModuleHooks:
    """All hooks of one module, in the order in which they run."""

    forward_pre: dict[int, ForwardHook] = field(default_factory=dict)
    forward: dict[int, ForwardHook] = field(default_factory=dict)
    backward_pre: dict[int, AnyHook] = field(default_factory=dict)
    backward: dict[int, AnyHook] = field(default_factory=dict)
    state_pre: dict[int, AnyHook] = field(default_factory=dict)
    state_post: dict[int, AnyHook] = field(default_factory=dict)
    load_pre: dict[int, AnyHook] = field(default_factory=dict)
    load_post: dict[int, AnyHook] = field(default_factory=dict)


def add(hooks: dict[int, Entry], entry: Entry, prepend: bool = False) -> RemovableHandle:
    """Add a hook behind the others, or before them."""
    others = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    handle = RemovableHandle(hooks, entry)
    hooks.update(others)
    return handle


def forward_pre_hooks(module: Hooked) -> list[AnyHook]:
    """The functions that run before `forward`, in their order."""
    own = module._hooks  # noqa: SLF001  # of this file
    return [] if own is None else [hook.function for hook in own.forward_pre.values()]


def remove_forward_pre_hook(module: Hooked, function: AnyHook) -> None:
    """Take a function out of those that run before `forward`."""
    waiting = module._own_hooks().forward_pre  # noqa: SLF001  # of this file
    for key in [key for key, hook in waiting.items() if hook.function is function]:
        del waiting[key]


class Hooked:
    """The part of `Module` that registers hooks."""

    _hooks: ModuleHooks | None

    def register_forward_pre_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before `forward`; what it returns replaces the arguments.

        ``with_kwargs``: ``hook(module, args, kwargs)``, which may return ``(args, kwargs)``.
        """
        return add(self._own_hooks().forward_pre, ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., object],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, result)`` after `forward`; what it returns replaces it.

        ``with_kwargs``: ``hook(module, args, kwargs, result)``. ``always_call``: also when the call
        raises, with the result as far as there is one.
        """
        entry = ForwardHook(hook, with_kwargs, always_call)
        return add(self._own_hooks().forward, entry, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients by the outputs are known.

        A tuple with None for what is no tensor; what it returns replaces them.
        """
        return add(self._own_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients by the inputs are known.

        Inputs are the positional arguments; None stands for what is no tensor. What it returns
        replaces ``grad_input``.
        """
        return add(self._own_hooks().backward, hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` reads the module."""
        return add(self._own_hooks().state_pre, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, metadata)`` after `state_dict` read the module."""
        return add(self._own_hooks().state_post, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call a hook before `load_state_dict` looks at the state, which it may change.

        ``hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)``; what it
        appends to ``errors`` is reported.
        """
        return add(self._own_hooks().load_pre, hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may take keys out of the lists."""
        return add(self._own_hooks().load_post, hook)

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            self.__dict__["_hooks"] = ModuleHooks()
        found: ModuleHooks = self.__dict__["_hooks"]
        return found


def call(module: Module, hooks: ModuleHooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401  # what forward returns
    """Run the module between its hooks."""
    result: Any = None
    try:
        for before in tuple(hooks.forward_pre.values()):
            args, kwargs = _before(module, before, args, kwargs)
        watch = _Watch(module, hooks) if hooks.backward or hooks.backward_pre else None
        if watch is not None and is_grad_enabled():
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        for after in tuple(hooks.forward.values()):
            result = _after(module, after, args, kwargs, result)
        if watch is not None and is_grad_enabled():
            result = watch.outputs(result)
    except Exception:
        for after in tuple(hooks.forward.values()):
            if after.always_call:
                _after(module, after, args, kwargs, result)
        raise
    return result


def _before(
    module: Module, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not hook.with_kwargs:
        replaced = hook.function(module, args)
        if replaced is None:
            return args, kwargs
        return (replaced if isinstance(replaced, tuple) else (replaced,)), kwargs
    replaced = hook.function(module, args, kwargs)
    if replaced is None:
        return args, kwargs
    if not isinstance(replaced, tuple) or len(replaced) != 2:
        raise ArgumentError(
            "a forward pre-hook with kwargs returns None or (args, kwargs), not "
            f"{type(replaced).__name__}"
        )
    return replaced


def _after(
    module: Module, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any], result: object
) -> object:
    if hook.with_kwargs:
        replaced = hook.function(module, args, kwargs, result)
    else:
        replaced = hook.function(module, args, result)
    return result if replaced is None else replaced


# ---- backward ------------------------------------------------------------------------------------


class _Passage(Function):
    """Tensors pass unchanged; their gradients go through a function."""

    @staticmethod
    def forward(ctx: Any, change: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401  # a context
        """Return the tensors."""
        ctx.change = change
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:  # noqa: ANN401  # a context
        """Return the gradients as the function changes them."""
        return (None, *ctx.change(grads))


class _Watch:
    """One call of a module: its gradients by outputs arrive first, those by inputs later."""

    def __init__(self, module: Module, hooks: ModuleHooks) -> None:
        self.module = module
        self.hooks = hooks
        self.by_outputs: tuple[Tensor | None, ...] = ()
        self.count = 0
        self.places: tuple[int, ...] = ()

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let the positional tensors that have gradients pass."""
        self.count = len(args)
        self.places = _differentiable(args)
        return _passed(args, self.places, self.on_inputs)

    def outputs(self, result: Any) -> Any:  # noqa: ANN401  # what forward returned
        """Let the tensors of the result pass: one, or those in a tuple or a list."""
        single = not isinstance(result, (tuple, list))
        items = (result,) if single else tuple(result)
        places = _differentiable(items)
        self.output_count, self.output_places = len(items), places
        passed = _passed(items, places, self.on_outputs)
        return passed[0] if single else _rebuilt(result, passed)

    def on_outputs(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Run the pre-hooks, and keep the gradients for the hooks."""
        full = _spread(grads, self.output_places, self.output_count)
        for hook in tuple(self.hooks.backward_pre.values()):
            full = _replaced(hook(self.module, full), full)
        self.by_outputs = full
        if not self.places:  # no input has a gradient: nothing else will call the hooks
            for hook in tuple(self.hooks.backward.values()):
                hook(self.module, (None,) * self.count, full)
        return tuple(full[place] for place in self.output_places)

    def on_inputs(self, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """Run the hooks."""
        full = _spread(grads, self.places, self.count)
        for hook in tuple(self.hooks.backward.values()):
            full = _replaced(hook(self.module, full, self.by_outputs), full)
        return tuple(full[place] for place in self.places)


def _differentiable(items: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(i for i, x in enumerate(items) if isinstance(x, Tensor) and x.requires_grad)


def _passed(
    items: tuple[Any, ...], places: tuple[int, ...], change: Callable[..., Any]
) -> tuple[Any, ...]:
    if not places:
        return items
    tensors = _Passage.apply(change, *(items[place] for place in places))
    found = list(items)
    for place, tensor in zip(places, tensors, strict=True):
        found[place] = tensor
    return tuple(found)


def _rebuilt(result: Any, items: tuple[Any, ...]) -> Any:  # noqa: ANN401  # a tuple, a named one, or a list
    kind = type(result)
    return kind(*items) if hasattr(result, "_fields") else kind(items)


def _spread(
    grads: tuple[Tensor | None, ...], places: tuple[int, ...], count: int
) -> tuple[Tensor | None, ...]:
    """Put None where no gradient can be."""
    full: list[Tensor | None] = [None] * count
    for place, grad in zip(places, grads, strict=True):
        full[place] = grad
    return tuple(full)


def _replaced(found: object, grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """Return what a hook gave back instead of the gradients, if anything."""
    if found is None:
        return grads
    replaced = found if isinstance(found, tuple) else (found,)
    if len(replaced) != len(grads):
        raise ArgumentError(
            f"a backward hook returns {len(grads)} gradients, as many as it got, not {len(replaced)}"
        )
    return replaced
