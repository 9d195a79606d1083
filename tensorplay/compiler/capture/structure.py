"""Containers of arguments and results: how to open, compare and rebuild them.

Lists, tuples (named ones too), deques, dicts and their subclasses, dataclass instances, and whatever is
registered with optree are containers; everything else is a leaf. Tensors are the leaves that count;
numbers, strings, NumPy arrays and the like belong to the structure, by value; other objects by
identity.

>>> structure = flatten(([1, 2.0], {"k": None}))
>>> structure.key == flatten(([1, 2.0], {"k": None})).key
True
>>> structure.key == flatten(([1, 2], {"k": None})).key
False
>>> map_structure(lambda leaf: leaf * 10, [1, (2, {"k": 3})])
[10, (20, {'k': 30})]
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import struct
import sys
from collections import deque
from collections.abc import Callable, Sequence
from types import EllipsisType, NoneType
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tensorplay._C import TensorBase
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType

Rebuild: TypeAlias = Callable[[Sequence[object]], object]

SCALARS: Final = (int, float, complex, bool, str, bytes, NoneType, EllipsisType, range, slice)
NAMESPACE: Final = "tensorplay"
"""Classes registered with optree in this namespace, or in the global one, are containers."""
BY_VALUE: Final = (*SCALARS, enum.Enum, DType, Device, np.generic, np.ndarray)


class Container(NamedTuple):
    """An opened container: what sets it apart beside its children, and how to rebuild it."""

    tag: object
    children: tuple[object, ...]
    rebuild: Rebuild


def open_container(value: object) -> Container | None:
    """Open a container; return None for a leaf."""
    kind = type(value)
    if kind in _LEAF_TYPES or isinstance(value, (TensorBase, *BY_VALUE)):
        return None
    if isinstance(value, (list, tuple)):
        named = hasattr(kind, "_fields")
        rebuild: Rebuild = (lambda items: kind(*items)) if named else kind
        return Container(kind, tuple(value), rebuild)
    if isinstance(value, deque):
        return Container(
            (kind, value.maxlen), tuple(value), lambda items: type(value)(items, value.maxlen)
        )
    if isinstance(value, dict):
        return _open_dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field.name for field in dataclasses.fields(value))
        names = tuple(name for name in fields if hasattr(value, name))
        children = tuple(getattr(value, name) for name in names)
        return Container((kind, names), children, lambda items: _with_fields(kind, names, items))
    return _open_registered(value)


def _open_dict(value: dict[object, object]) -> Container:
    keys = tuple(value)

    def rebuild(items: Sequence[object]) -> object:
        pairs = dict(zip(keys, items, strict=True))
        if type(value) is dict:
            return pairs
        twin: dict[object, object] = copy.copy(
            value
        )  # an OrderedDict keeps its order, a defaultdict its factory
        twin.update(pairs)
        return twin

    tag = tuple(scalar_key(key) if isinstance(key, BY_VALUE) else id(key) for key in keys)
    return Container((type(value), tag), tuple(value.values()), rebuild)


def _with_fields(kind: type, names: Sequence[str], items: Sequence[object]) -> object:
    twin: object = object.__new__(kind)
    for name, item in zip(names, items, strict=True):
        object.__setattr__(twin, name, item)
    return twin


def _open_registered(value: object) -> Container | None:
    """Open an instance of a class that the user registered with optree."""
    optree = sys.modules.get("optree")  # without importing it, nobody can have registered one
    if optree is None or optree.tree_is_leaf(value, namespace=NAMESPACE):
        return None
    level = optree.tree_flatten_one_level(value, namespace=NAMESPACE)
    return Container(
        (type(value), repr(level.metadata)),
        tuple(level.children),
        lambda items: level.unflatten_func(level.metadata, items),
    )


def scalar_key(value: object) -> object:
    """Return what is equal for values of one type that Python could not tell apart."""
    if isinstance(value, float):
        return (float, struct.pack("d", value)) if value == value else (float, "nan")  # noqa: PLR0124  # NaN differs from itself
    if isinstance(value, complex):
        return (complex, scalar_key(value.real), scalar_key(value.imag))
    if isinstance(value, (np.generic, np.ndarray)):
        return type(value), value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, slice):
        return (slice, *map(scalar_key, (value.start, value.stop, value.step)))
    return type(value), value


class Structure(NamedTuple):
    """A flattened value. `key` is equal for values that differ in their tensors only.

    It also tells which containers and objects are the same object.
    """

    key: object
    tensors: tuple[TensorBase, ...]
    objects: tuple[object, ...]


def flatten(value: object) -> Structure:
    """Take a nested value apart. Recursive in the nesting, which is the user's."""
    flattener = _Flattener()
    key = flattener.encode(value)
    return Structure(key, tuple(flattener.tensors), tuple(flattener.objects))


class _Flattener:
    def __init__(self) -> None:
        self.tensors: list[TensorBase] = []
        self.objects: list[object] = []
        self.met: dict[int, int] = {}

    def encode(self, value: object) -> object:
        kind = type(value)
        if kind in _PLAIN_TYPES:
            return kind, value
        if isinstance(value, TensorBase):
            self.tensors.append(value)
            return _TENSOR
        if kind is not list and kind is not tuple and isinstance(value, BY_VALUE):
            return scalar_key(value)
        number = self.met.get(id(value))
        if number is not None:
            return "again", number
        self.met[id(value)] = len(self.met)
        if kind is list or kind is tuple:
            return (kind, *[self.encode(each) for each in value])  # type: ignore[attr-defined]  # its role says so
        container = open_container(value)
        if container is None:
            self.objects.append(value)
            return "object", id(value)
        return (container.tag, *[self.encode(each) for each in container.children])


_TENSOR: Final = "tensor"
_LEAF_TYPES: Final = frozenset({int, float, bool, str, complex, type(None)})
_PLAIN_TYPES: Final = frozenset({int, bool, str, bytes, type(None)})
"""Leaves that are told apart by type and equality."""


def map_structure(
    function: Callable[[object], object], value: object, memo: dict[int, object] | None = None
) -> object:
    """Return a copy of `value` with `function` applied to its leaves.

    A container that stands in several places is copied once, so identities among containers hold.
    """
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    container = open_container(value)
    if container is None:
        return function(value)
    items = [map_structure(function, child, memo) for child in container.children]
    result = container.rebuild(items)
    memo[id(value)] = result
    return result
