"""State of a module tree as a flat dictionary from paths to tensors, and back.

The layout is PyTorch's: ``features.0.weight`` is the parameter ``weight`` of the child ``0`` of the
child ``features``; parameters stand before buffers, a module before its children.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tensorplay.autograd import no_grad
from tensorplay.core.errors import TensorPlayError
from tensorplay.nn.parameter import Parameter, is_lazy
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tensorplay.nn.module import Module


class IncompatibleKeys(NamedTuple):
    """What did not match in `load_state_dict` with ``strict=False``."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class StateError(TensorPlayError):
    """The keys or shapes of a state dictionary are not those of the module."""


EXTRA = "_extra_state"
"""The name of what `Module.get_extra_state` returns."""


class Place(NamedTuple):
    """Where an entry of a state lives: in a registry of a module, or in its extra state."""

    path: str
    owner: Module
    registry: dict[str, Any] | None
    name: str


def state_places(module: Module) -> Iterator[Place]:
    """Yield every place that a state has an entry for: parents first, parameters before buffers."""
    for path, owner in module.named_modules(remove_duplicate=False):
        yield from _own_places(owner, f"{path}." if path else "")


def _own_places(owner: Module, start: str) -> Iterator[Place]:
    for registry in (owner._parameters, owner._buffers):  # noqa: SLF001 - same package
        for name, tensor in registry.items():
            if tensor is not None and name not in owner._transient_buffers:  # noqa: SLF001  # a friend of that class
                yield Place(start + name, owner, registry, name)
    if _has_extra_state(owner):
        yield Place(f"{start}{EXTRA}", owner, None, EXTRA)


def _has_extra_state(module: Module) -> bool:
    from tensorplay.nn.module import Module

    own = getattr(module.get_extra_state, "__func__", None)  # of the module inside a compiled one
    return own is not Module.get_extra_state


def save_state(
    module: Module, state: dict[str, Any], prefix: str, keep_vars: bool
) -> dict[str, Any]:
    """Collect parameters and persistent buffers by path, which follows ``prefix`` as it is."""
    owners = []
    for path, owner in module.named_modules(remove_duplicate=False):
        start = f"{prefix}{path}." if path else prefix
        owners.append((owner, start))
        for hook in _hooks(owner, "state_pre"):
            hook(owner, start, keep_vars)
        for place in _own_places(owner, start):
            if place.registry is None:
                state[place.path] = owner.get_extra_state()
                continue
            tensor = place.registry[place.name]
            if tensor is not None:
                state[place.path] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
    for owner, start in reversed(owners):
        for hook in _hooks(owner, "state_post"):
            hook(owner, state, start, {})
    return state


def _hooks(module: Module, kind: str) -> tuple[Any, ...]:
    found = module._hooks  # noqa: SLF001 - same package
    return () if found is None else tuple(getattr(found, kind).values())


def load_state(
    module: Module, state: Mapping[str, Any], strict: bool, assign: bool
) -> IncompatibleKeys:
    """Check everything, then copy or assign."""
    keys = IncompatibleKeys([], [])
    faults: list[str] = []
    owners = list(module.named_modules(remove_duplicate=False))
    if any(_hooks(owner, "load_pre") for _, owner in owners):
        state = dict(state)
    for path, owner in owners:
        for hook in _hooks(owner, "load_pre"):
            start = f"{path}." if path else ""
            hook(owner, state, start, {}, strict, keys.missing_keys, keys.unexpected_keys, faults)
    places = {place.path: place for place in state_places(module)}
    keys.missing_keys.extend(path for path in places if path not in state)
    keys.unexpected_keys.extend(path for path in state if path not in places)
    for path, place in places.items():
        if place.registry is not None and path in state:
            faults.extend(_fault(path, place.registry[place.name], state[path]))
    posts = [(owner, hook) for _, owner in owners for hook in _hooks(owner, "load_post")]
    _refuse(module, keys if strict and not posts else None, faults)
    with no_grad():
        for path, place in places.items():
            if path in state:
                _take(place, state[path], assign)
    for owner, hook in posts:
        hook(owner, keys)
    if strict and posts:
        _refuse(module, keys, [])
    return keys


def _fault(path: str, old: Tensor | None, new: object) -> list[str]:
    """Say what does not fit. A parameter without a shape takes any."""
    if not isinstance(new, Tensor):
        return [f"{path} is a {type(new).__name__} in the state, not a tensor."]
    if is_lazy(old):
        return []
    if is_lazy(new):
        return [f"{path} has no shape in the state: it is of a lazy module that was never called."]
    if old is not None and tuple(old.shape) != tuple(new.shape):
        shapes = f"the shape in the state is {tuple(new.shape)}, in the module {tuple(old.shape)}"
        return [f"size mismatch for {path}: {shapes}."]
    return []


def _refuse(module: Module, keys: IncompatibleKeys | None, faults: list[str]) -> None:
    """Raise if there are faults, or keys that do not match."""
    listed = []
    if keys is not None and keys.missing_keys:
        listed.append(f"Missing key(s) in state_dict: {_quoted(keys.missing_keys)}.")
    if keys is not None and keys.unexpected_keys:
        listed.append(f"Unexpected key(s) in state_dict: {_quoted(keys.unexpected_keys)}.")
    if listed or faults:
        head = f"Error(s) in loading state_dict for {type(module).__name__}:"
        raise StateError("\n\t".join([head, *listed, *faults]))


def _take(place: Place, new: Any, assign: bool) -> None:  # noqa: ANN401  # a tensor, or extra state
    """Copy or assign one entry."""
    if place.registry is None:
        place.owner.set_extra_state(new)
        return
    old = place.registry[place.name]
    if old is None or is_lazy(new):
        return
    if is_lazy(old):
        old.materialize(tuple(new.shape))
    if not assign:
        old.copy_(new)
    elif isinstance(old, Parameter):
        old.assign(new.detach())
    else:
        place.registry[place.name] = new


def _quoted(paths: list[str]) -> str:
    return ", ".join(f'"{path}"' for path in paths)
