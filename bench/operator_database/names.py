"""Which function of ours an entry of the database means.

Comes in: an `OpInfo`. Goes out: a callable that takes our tensors, or `Absent` with a reason. An
entry whose operator is a lambda of the database (`lambda x, *args: x.view(*args)`) is called as it
is, with `tensorplay` where its text says `torch`: so its adaptations hold for us too.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorplay as tp

INTERNAL = ("jiterator_", "torch.ops.", "torch._", "sparse.", "_", "to_sparse", "__getitem__ngrad")
"""Names that are no part of PyTorch's public interface on strided tensors: sparse layouts, CUDA's
run-time kernels, functions behind other functions."""
CHANNEL_DROPOUTS = (
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_dropout",
    "feature_alpha_dropout",
)
PUBLIC_DUNDERS = ("__r", "__getitem__")


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such function here."""

    name: str


def is_internal(name: str) -> bool:
    """Whether a name stands outside of the comparison."""
    return name.startswith(INTERNAL) and not name.startswith(PUBLIC_DUNDERS)


def named(path: str) -> Callable[..., Any] | None:
    """The function at a dotted path in `tensorplay`, else the method or attribute of that name."""
    found: Any = tp
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            break
    if callable(found) and not isinstance(found, types.ModuleType):
        return found
    member = getattr(tp.Tensor, path, None)
    if callable(member):
        return lambda tensor, *args, **kwargs: getattr(_a_tensor(tensor), path)(*args, **kwargs)
    if isinstance(member, property) or inspect.isdatadescriptor(member):
        return lambda tensor: getattr(tensor, path)
    return None


def _a_tensor(value: Any) -> Any:
    """A method needs a tensor, as PyTorch's does."""
    if not isinstance(value, tp.Tensor):
        msg = f"expected a tensor, found {type(value).__name__}"
        raise TypeError(msg)
    return value


def ours(info: Any) -> Callable[..., Any] | Absent:  # an OpInfo
    """Our counterpart of an entry."""
    function = info.op
    if inspect.isfunction(function) and function.__name__ == "<lambda>":
        if "torch" not in function.__code__.co_names and named(info.name) is None:
            return Absent(info.name)
        if "torch" in function.__code__.co_names and _reaches(function) is None:
            return Absent(info.name)
        return over_ours(function)
    found = named(info.name)
    return Absent(info.name) if found is None else found


def over_ours(function: types.FunctionType) -> types.FunctionType:
    """A function of the database, with `tensorplay` where its text says `torch`, and without seeding PyTorch."""
    found = types.FunctionType(
        function.__code__,
        {**function.__globals__, "torch": tp, "wrapper_set_seed": _called},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    found.__kwdefaults__ = function.__kwdefaults__
    return found


def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def in_place(function: Any, name: str) -> Callable[..., Any] | None:  # their in-place form
    """Our counterpart of an entry's in-place form.

    A method or a function by its name, or, as for activations, the entry's function with
    ``inplace=True``: there it is a lambda of the database, or a `partial`.
    """
    if isinstance(function, functools.partial):
        found = named(name)
        return None if found is None else functools.partial(found, **function.keywords)
    if inspect.isfunction(function) and "torch" in function.__code__.co_names:
        return None if _reaches(function) is None else over_ours(function)
    written: str = getattr(function, "__name__", "<")
    written = name + "_" if written.startswith("<") else written
    return getattr(tp.Tensor, written, None) or getattr(tp, written, None)


def _reaches(function: types.FunctionType) -> Any:  # whatever it reaches
    """What the attribute names after `torch` in a lambda lead to."""
    names = function.__code__.co_names
    found: Any = tp
    for part in names[names.index("torch") + 1 :]:
        step = getattr(found, part, None)
        if step is None:
            return found if found is not tp and callable(found) else None
        found = step
    return found


def draws(info: Any) -> bool:  # an OpInfo
    """Whether results are random or uninitialized, so that only shape, dtype and distribution compare."""
    if info.has_nondeterministic_output or "empty" in info.name:
        return True
    function = info.op
    return inspect.isfunction(function) and "wrapper_set_seed" in function.__code__.co_names


def draws_by_channel(info: Any) -> bool:  # an OpInfo
    """Whether all of a channel shares one draw."""
    return info.name.rpartition(".")[2] in CHANNEL_DROPOUTS
