"""State of a module tree as a flat dictionary from paths to tensors, and back.

The layout is PyTorch's: ``features.0.weight`` is the parameter ``weight`` of the child ``0`` of the
child ``features``; parameters stand before buffers, a module before its children.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensorplay.autograd import no_grad
from tensorplay.core.errors import TensorPlayError
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tensorplay.nn.module import Module
    from tensorplay.tensor import Tensor


class IncompatibleKeys(NamedTuple):
    """What did not match in `load_state_dict` with ``strict=False``."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class StateError(TensorPlayError):
    """The keys or shapes of a state dictionary are not those of the module."""


def state_places(
    module: Module, prefix: str = ""
) -> Iterator[tuple[str, dict[str, Parameter | None] | dict[str, Tensor | None], str]]:
    """Yield a path, the registry that holds the tensor, and its name there, for all state."""
    for path, owner in module.named_modules(prefix, remove_duplicate=False):
        start = f"{path}." if path else ""
        for registry in (owner._parameters, owner._buffers):  # noqa: SLF001 - same package
            for name, tensor in registry.items():
                if tensor is not None and name not in owner._transient_buffers:  # noqa: SLF001
                    yield start + name, registry, name


def save_state(module: Module, prefix: str, keep_vars: bool) -> dict[str, Tensor]:
    """Collect parameters and persistent buffers by path."""
    state = {}
    for path, registry, name in state_places(module, prefix):
        tensor = registry[name]
        if tensor is not None:
            state[path] = tensor if keep_vars else tensor.detach()
    return state


def load_state(
    module: Module, state: Mapping[str, Tensor], strict: bool, assign: bool
) -> IncompatibleKeys:
    """Check everything, then copy or assign."""
    places = {path: (registry, name) for path, registry, name in state_places(module)}
    missing = [path for path in places if path not in state]
    unexpected = [path for path in state if path not in places]
    faults = []
    if strict and missing:
        faults.append(f"Missing key(s) in state_dict: {_quoted(missing)}.")
    if strict and unexpected:
        faults.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}.")
    for path, (registry, name) in places.items():
        old, new = registry[name], state.get(path)
        if old is not None and new is not None and tuple(old.shape) != tuple(new.shape):
            faults.append(
                f"size mismatch for {path}: the shape in the state is {tuple(new.shape)}, "
                f"in the module {tuple(old.shape)}."
            )
    if faults:
        raise StateError(
            "\n\t".join([f"Error(s) in loading state_dict for {type(module).__name__}:", *faults])
        )
    with no_grad():
        for path, (registry, name) in places.items():
            old, new = registry[name], state.get(path)
            if old is None or new is None:
                continue
            if not assign:
                old.copy_(new)
            elif isinstance(old, Parameter):
                old.assign(new.detach())
            else:
                registry[name] = new  # type: ignore[assignment]  # a buffer, so any tensor
    return IncompatibleKeys(missing, unexpected)


def _quoted(paths: list[str]) -> str:
    return ", ".join(f'"{path}"' for path in paths)
