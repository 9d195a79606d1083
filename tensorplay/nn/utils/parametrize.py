"""Parametrizations: a parameter becomes a function of others, which are trained in its place.

`register_parametrization(module, "weight", function)` moves the parameter to
``module.parametrizations.weight.original`` and makes ``module.weight`` a property that computes it.
Several functions for one name run one after another.

>>> import tensorplay as tp
>>> class Symmetric(tp.nn.Module):
...     def forward(self, x):
...         return x.triu() + x.triu(1).t()
>>> layer = register_parametrization(tp.nn.Linear(3, 3), "weight", Symmetric())
>>> bool((layer.weight == layer.weight.t()).all())
True
>>> [name for name, _ in layer.named_parameters()]
['bias', 'parametrizations.weight.original']
"""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.nn.container import ModuleDict, ModuleList
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

_cache: ContextVar[dict[tuple[int, str], Tensor] | None] = ContextVar("_cache", default=None)


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once within the ``with`` statement."""
    if _cache.get() is not None:  # the outermost one keeps them
        yield
        return
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


class ParametrizationList(ModuleList):
    """The functions of one parametrized tensor, with what they start from.

    ``original`` holds it, or ``original0``, ``original1`` … where the first function's
    ``right_inverse`` gives several tensors.
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        wants_grad = original.requires_grad
        is_parameter = isinstance(original, Parameter)
        self.shape, self.dtype = tuple(original.shape), original.dtype
        value: Any = original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        parts = (value,) if self.is_tensor else tuple(value)
        self.ntensors = len(parts)
        for name, part in zip(self._names(), parts, strict=True):
            if not isinstance(part, Tensor):
                raise ArgumentError(f"right_inverse returns tensors, not {type(part).__name__}")
            if isinstance(part, Parameter) and part is original:
                self.register_parameter(name, part)  # optimizers keep the object
            elif is_parameter:
                held = part.detach().clone() if part.storage is original.storage else part.detach()
                self.register_parameter(name, Parameter(held, wants_grad))
            else:
                self.register_buffer(name, part)
        if not unsafe:
            self._check(original)

    def _names(self) -> list[str]:
        if self.is_tensor:
            return ["original"]
        return [f"original{number}" for number in range(self.ntensors)]

    def _check(self, original: Tensor) -> None:
        with no_grad():
            found = self()
        if not isinstance(found, Tensor):
            raise ArgumentError(f"a parametrization returns a tensor, not {type(found).__name__}")
        if tuple(found.shape) != tuple(original.shape) or found.dtype is not original.dtype:
            raise ArgumentValueError(
                "a parametrization keeps shape and dtype, unless unsafe=True: from "
                f"{tuple(original.shape)}, {original.dtype} to {tuple(found.shape)}, {found.dtype}"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with no_grad():
            found: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise ArgumentError(
                        f"{type(module).__name__} has no right_inverse, so the parametrized tensor "
                        "cannot be assigned"
                    )
                found = module.right_inverse(found)
            parts = (found,) if self.is_tensor else tuple(found)
            for name, part in zip(self._names(), parts, strict=True):
                getattr(self, name).copy_(part)

    def forward(self) -> Tensor:
        """Compute the parametrized tensor."""
        first, *rest = list(self)
        value: Tensor = first(*(getattr(self, name) for name in self._names()))
        for module in rest:
            value = module(value)
        return value


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute ``module.tensor_name`` by ``parametrization`` from now on; return the module.

    Where the parametrization has a ``right_inverse``, the original is its value, so that the tensor
    stays what it was. ``unsafe`` allows shape and dtype to change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        found = _list(module, tensor_name)
        with no_grad():
            value = getattr(module, tensor_name)
            if hasattr(parametrization, "right_inverse"):
                wanted = parametrization.right_inverse(value)
                found.right_inverse(wanted)
        found.append(parametrization)
        if not unsafe:
            found._check(value)  # noqa: SLF001 - same file
        return module
    registries = (module._parameters, module._buffers)  # noqa: SLF001 - nn's own registries
    holder = next((each for each in registries if each.get(tensor_name) is not None), None)
    if holder is None:
        raise ArgumentValueError(
            f"{type(module).__name__} has no parameter or buffer {tensor_name!r} to parametrize"
        )
    original: Any = holder[tensor_name]
    made = ParametrizationList([parametrization], original, unsafe)
    del holder[tensor_name]
    if not is_parametrized(module):
        _make_class(module)
        module.__dict__["_modules"]["parametrizations"] = ModuleDict()
    _lists(module).register_module(tensor_name, made)
    setattr(type(module), tensor_name, _property(tensor_name))
    return module


def _lists(module: Module) -> ModuleDict:
    found = module._modules["parametrizations"]  # noqa: SLF001 - nn's own registries
    assert isinstance(found, ModuleDict)  # noqa: S101 - made above
    return found


def _list(module: Module, name: str) -> ParametrizationList:
    found = _lists(module)[name]
    assert isinstance(found, ParametrizationList)  # noqa: S101 - made above
    return found


def _property(name: str) -> property:
    def get(self: Module) -> Tensor:
        kept = _cache.get()
        key = (id(self), name)
        if kept is None:
            return _computed(self, name)
        if key not in kept:
            kept[key] = _computed(self, name)
        return kept[key]

    def put(self: Module, value: Tensor) -> None:
        _list(self, name).right_inverse(value)

    return property(get, put)


def _computed(module: Module, name: str) -> Tensor:
    found: Tensor = _list(module, name)()
    return found


def _make_class(module: Module) -> None:
    """Give the module a class of its own, which can have properties."""
    base = type(module)

    def reduce(self: Module, protocol: object) -> Any:  # noqa: ANN401  # pickle's own form
        del protocol
        return _again, (base, tuple(_lists(self).keys())), self.__dict__

    made = type(f"Parametrized{base.__name__}", (base,), {"__reduce_ex__": reduce, "_base": base})
    made.__module__ = base.__module__
    object.__setattr__(module, "__class__", made)


def _again(base: type[Module], names: tuple[str, ...]) -> Module:
    """Make an empty parametrized module, for copies and pickles."""
    module = base.__new__(base)
    _make_class(module)
    for name in names:
        setattr(type(module), name, _property(name))
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or one tensor of it, is parametrized."""
    lists = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(lists, ModuleDict) or not hasattr(type(module), "_base"):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor a plain one again: with its present value, or with its original one."""
    if not is_parametrized(module, tensor_name):
        raise ArgumentValueError(
            f"{type(module).__name__} has no parametrization of {tensor_name!r} to remove"
        )
    found = _list(module, tensor_name)
    if not leave_parametrized and not found.is_tensor:
        raise ArgumentValueError(
            f"{tensor_name!r} has several originals; leave_parametrized=True keeps its value"
        )
    with no_grad():
        value = getattr(module, tensor_name)
    original: Tensor = getattr(found, "original" if found.is_tensor else "original0")
    is_parameter = isinstance(original, Parameter)
    if found.is_tensor and is_parameter:
        assert isinstance(original, Parameter)  # noqa: S101 - as the line above says
        if leave_parametrized:
            original.assign(value.detach().clone())
        kept: Tensor = original  # optimizers keep the object
    elif is_parameter:
        wants = any(each.requires_grad for each in found.parameters(recurse=False))
        kept = Parameter(value.detach().clone(), wants)
    else:
        kept = value.detach().clone() if leave_parametrized else original
    delattr(type(module), tensor_name)
    del _lists(module)[tensor_name]
    if len(_lists(module)) == 0:
        del module._modules["parametrizations"]  # noqa: SLF001 - nn's own registries
        object.__setattr__(module, "__class__", type(module)._base)  # type: ignore[attr-defined]  # noqa: SLF001  # a friend of that class
    if isinstance(kept, Parameter):
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, kept)
    return module


def type_before_parametrizations(module: Module) -> type[Module]:
    """Return the class that a module had before it was parametrized."""
    found: type[Module] = getattr(type(module), "_base", type(module))
    return found
