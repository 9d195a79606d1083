"""Places: where a value that a compiled function reads without being given it can be found again.

A `Place` is a container, a key in it, and how to look: in a dict, in a list or tuple, in a closure
cell, or among an object's attributes (or the container itself is meant). A `Fact` says what was found in a place at capture; a guard
asks whether that still holds.

>>> scope = {"h": abs}
>>> place = Place("dict", scope, "h", "the global h")
>>> fact = Fact(place, "is", abs)
>>> fact.holds(), scope.update(h=len), fact.holds()
(True, None, False)
>>> fact.difference()
'the global h is another object: it was <built-in function abs>, it is <built-in function len>'
"""

from __future__ import annotations

import enum
import math
import struct
from types import CellType, MethodType, NoneType
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from tensorplay._C import TensorBase
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType

PlaceKind: TypeAlias = Literal["dict", "sequence", "cell", "attribute", "itself"]
FactKind: TypeAlias = Literal["is", "equals", "items"]


class _Missing:
    """What a place holds that isn't there any more."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()


class _AnyTensor:
    """Stands for a tensor among the items of a container: which one is asked at each call."""


ANY_TENSOR: Final = _AnyTensor()


class Place(NamedTuple):
    """A key of a container, and the container's kind. `name` is how messages call it."""

    kind: PlaceKind
    container: object
    key: object
    name: str

    def __repr__(self) -> str:
        """Return text without the container, which may be all of a module's globals."""
        return f"Place({self.kind!r}, {self.name!r})"

    def get(self) -> object:
        """Return what the place holds now, `MISSING` if it isn't there."""
        container = self.container
        if self.kind == "itself":
            return container
        if self.kind == "attribute":
            return getattr(container, str(self.key), MISSING)
        if isinstance(container, dict):
            return container.get(self.key, MISSING)
        if isinstance(container, CellType):
            try:
                return container.cell_contents
            except ValueError:
                return MISSING
        if isinstance(container, (list, tuple)) and isinstance(self.key, int):
            return container[self.key] if self.key < len(container) else MISSING
        return MISSING

    def set(self, value: object) -> None:
        """Put `value` into the place. Raises `TypeError` where Python has no way to."""
        container = self.container
        if self.kind == "attribute":
            setattr(container, str(self.key), value)
        elif isinstance(container, dict):
            container[self.key] = value
        elif isinstance(container, CellType):
            container.cell_contents = value
        elif isinstance(container, list) and isinstance(self.key, int):
            container[self.key] = value
        else:
            raise TypeError(f"{self.name} can't be assigned")


class Fact(NamedTuple):
    """What was found in a place.

    `is`: this very object. `equals`: a value of the same type that equals it, bit for bit.
    `items`: a list, dict or tuple whose items are those of the tuple `expected`, where
    `ANY_TENSOR` stands for tensors.
    """

    place: Place
    kind: FactKind
    expected: object

    def holds(self) -> bool:
        """Whether the place holds the same now."""
        value = self.place.get()
        if self.kind == "is":
            return value is self.expected
        if self.kind == "equals":
            return same_value(value, self.expected)
        items = items_of(value)
        expected = self.expected
        return (
            items is not None
            and isinstance(expected, tuple)
            and len(items) == len(expected)
            and all(
                item is known
                or (known is ANY_TENSOR and isinstance(item, TensorBase))
                or same_value(item, known)
                for item, known in zip(items, expected, strict=True)
            )
        )

    def has_grown(self) -> bool:
        """Whether a container holds what it held, in the same places, and more after that."""
        value = self.place.get()
        if self.kind != "items" or not isinstance(self.expected, tuple):
            return False
        count = len(self.expected)
        if isinstance(value, list):
            return len(value) > count and same_value(tuple(value[:count]), self.expected)
        if isinstance(value, dict):
            keys, values = self.expected[: count // 2], self.expected[count // 2 :]
            kept = list(value.items())[: count // 2]
            return len(value) > len(keys) and all(
                (key is k or key == k) and (item is v or same_value(item, v))
                for (key, item), k, v in zip(kept, keys, values, strict=True)
            )
        return False

    def difference(self) -> str:
        """Say in a few words how the place differs from what was found."""
        value = self.place.get()
        if self.kind == "items":
            return f"the contents of {self.place.name} changed"
        if self.kind == "is" and value is not MISSING and type(value) is type(self.expected):
            was, now = _short(self.expected), _short(value)
            return f"{self.place.name} is another object: it was {was}, it is {now}"
        return f"{self.place.name} changed from {_short(self.expected)} to {_short(value)}"


def expected_items(value: object) -> tuple[object, ...]:
    """Return what an `items` fact expects of a container that looks like this one now."""
    items = items_of(value) or ()
    return tuple(ANY_TENSOR if isinstance(item, TensorBase) else as_it_is(item) for item in items)


def as_it_is(value: object) -> object:
    """Return a value that stays as this one is now: a set as a copy of it, which can't change."""
    return set(value) if type(value) is set else value


def items_of(value: object) -> tuple[object, ...] | None:
    """Return the items of a container in order (keys and values of a dict), None if it is none."""
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return None


def same_value(a: object, b: object) -> bool:
    """Whether two values are of one type and equal, where floats are compared bit for bit."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, complex) and isinstance(b, complex):
        return same_value(a.real, b.real) and same_value(a.imag, b.imag)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(map(same_value, a.values(), b.values()))
    if isinstance(a, (np.generic, np.ndarray)) and isinstance(b, (np.generic, np.ndarray)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    return isinstance(a, PLAIN_TYPES) and bool(a == b)


PLAIN_TYPES: Final = (
    *(int, str, bytes, NoneType, range, slice, frozenset, set, enum.Enum, DType, Device),
)
"""Types whose equality is that of their values and cheap; floats and containers apart."""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
