"""Calls in words: what a specialization depends on, so that a recompilation can say why.

>>> describe_call({"n": 3, "pair": [1.5, "s"]})
{'n': '3', 'pair[0]': '1.5', 'pair[1]': "'s'"}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from tensorplay._C import TensorBase
from tensorplay.compiler.capture.structure import open_container


def name_arguments(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments by the names of the parameters that take them."""
    try:
        bound = signature(getattr(function, "forward", function)).bind(*args, **kwargs)
    except (TypeError, ValueError):
        named: dict[str, object] = {f"argument {place}": each for place, each in enumerate(args)}
        return {**named, **kwargs}
    found: dict[str, object] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is kind.VAR_POSITIONAL:
            found.update((f"{name}_{place}", each) for place, each in enumerate(value))
        elif kind is kind.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return found


def leaf_names(arguments: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the leaves of the arguments with the paths that lead to them, in flattening order."""
    found: list[tuple[str, object]] = []
    pending = list(arguments.items())[::-1]
    while pending:
        name, value = pending.pop()
        container = open_container(value)
        if container is None:
            found.append((name, value))
        elif isinstance(value, dict):
            pending.extend([(f"{name}[{key!r}]", each) for key, each in value.items()][::-1])
        else:
            children = [(f"{name}[{place}]", each) for place, each in enumerate(container.children)]
            pending.extend(reversed(children))
    return found


def describe_call(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return what a call depends on, by name: tensors by their metadata, other values as text."""
    names: dict[int, str] = {}
    facts: dict[str, str] = {}
    for name, value in leaf_names(arguments):
        if isinstance(value, TensorBase):
            first = names.setdefault(id(value), name)
            facts[name] = describe_tensor(value) if first == name else f"the same tensor as {first}"
        else:
            text = repr(value)
            facts[name] = text if len(text) <= 60 else f"{text[:57]}..."
    return facts


def describe_tensor(tensor: Any) -> str:  # noqa: ANN401  # a Tensor
    """Return a tensor's metadata in words."""
    grad = ", requires grad" if tensor.requires_grad else ""
    return (
        f"a tensor of shape {tuple(tensor.shape)}, {tensor.dtype.name}, "
        f"strides {tuple(tensor.strides)}{grad}"
    )


def first_difference(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the first fact that two calls disagree on, in words."""
    for name in [*before, *(name for name in now if name not in before)]:
        was, value = before.get(name, "absent"), now.get(name, "absent")
        if was != value:
            return f"{name} was {was} and is {value}"
    return None
