"""Nested containers as text and tensors by name, and back: what lets `save` keep an optimizer's state.

Comes in: dicts, lists and tuples of tensors, numbers, strings and None. Goes out: the tensors, each named by its path,
and JSON that says where they stood.

>>> import tensorplay as tp
>>> text, tensors = take_apart({"epoch": 3, "model": {"weight": tp.ones(2)}})
>>> list(tensors), put_together(text, tensors)
(['model.weight'], {'epoch': 3, 'model': {'weight': tensor([1., 1.])}})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tensorplay.core.errors import ArgumentError
from tensorplay.tensor import Tensor

_PLAIN = (bool, int, float, str, type(None))
_SEQUENCES = {"list": list, "tuple": tuple}


def take_apart(tree: object) -> tuple[str, dict[str, Tensor]]:
    """The structure as JSON, and the tensors by their paths. ArgumentError names a value that can't be kept."""
    tensors: dict[str, Tensor] = {}
    return json.dumps(_described(tree, (), tensors, ())), tensors


def put_together(text: str, tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401  # what was saved
    """What `take_apart` took apart."""
    return _rebuilt(json.loads(text), tensors)


def _described(
    value: object, path: tuple[str, ...], tensors: dict[str, Tensor], around: tuple[object, ...]
) -> Any:  # noqa: ANN401  # JSON
    """What stands at a path, inside of the containers ``around``."""
    if any(value is each for each in around):
        raise ArgumentError(f"save: {_place(path)} is a container that it lies in; save a tree")
    inside = (*around, value)
    if isinstance(value, Tensor):
        name = ".".join(path) or "tensor"
        while name in tensors:  # {"a.b": x, "a": {"b": y}}
            name += "'"
        tensors[name] = value
        return {"tensor": name}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, _PLAIN):
                found = type(key).__name__
                msg = f"save: a key at {_place(path)} is of type {found}; use strings or numbers"
                raise ArgumentError(msg)
        items = [
            [key, _described(each, (*path, str(key)), tensors, inside)]
            for key, each in value.items()
        ]
        return {"dict": items}
    if isinstance(value, (list, tuple)) and type(value).__name__ in _SEQUENCES:
        parts = [_described(each, (*path, str(i)), tensors, inside) for i, each in enumerate(value)]
        return {type(value).__name__: parts}
    if type(value) in _PLAIN:
        return {"value": value}
    msg = (
        f"save: the value at {_place(path)} is of type {type(value).__name__}; what can be saved "
        "are tensors, numbers, strings and None, in dicts, lists and tuples"
    )
    raise ArgumentError(msg)


def _place(path: tuple[str, ...]) -> str:
    return repr(".".join(path)) if path else "the top"


def _rebuilt(described: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401  # what was saved
    ((kind, content),) = described.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {key: _rebuilt(each, tensors) for key, each in content}
    if kind == "value":
        return content
    return _SEQUENCES[kind](_rebuilt(each, tensors) for each in content)
