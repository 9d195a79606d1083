"""What a function reads without being given it: globals, closure cells, items, attributes.

`survey` starts from the function (and from objects among its arguments), looks at what the code
names, and follows what it finds: functions into their code, objects into the attributes that some
reached code names, containers into their items, modules of `nn` into parameters and submodules. It
returns the facts found, which become guards, and the places of the tensors, which become inputs.

[Note: what is surveyed] The survey is by name, so it sees at least what the code can reach through
globals, closures, attributes and items, whichever branch runs. It doesn't enter the standard
library, NumPy, or our own functions; it does enter objects of our own classes (`nn.BatchNorm2d`,
`optim.Adam`), because their attributes are the user's state.

>>> import math; __name__ = "example"
>>> scale = [3]
>>> environment = survey([(lambda x: math.sqrt(x) * scale[0], "f")])
>>> sorted(fact.place.name for fact in environment.facts)
['math', 'scale', 'scale', 'the defaults of f', 'the defaults of f']
"""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Iterable
from types import (
    BuiltinFunctionType,
    EllipsisType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Final

import numpy as np

from tensorplay._C import Dispatcher, TensorBase
from tensorplay.compiler.capture.code_names import code_names
from tensorplay.compiler.capture.places import (
    MISSING,
    Fact,
    FactKind,
    Place,
    PlaceKind,
    as_it_is,
    expected_items,
)
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType

_BY_VALUE: Final = (
    *(int, float, complex, bool, str, bytes, type(None), range, slice, frozenset, set),
    *(EllipsisType, enum.Enum, DType, Device, MethodType, np.generic),
)
_DEFINITIONS: Final = (FunctionType, property, staticmethod, classmethod)
_OPAQUE: Final = (BuiltinFunctionType, MethodWrapperType, WrapperDescriptorType)
_OURS: Final = "tensorplay"
_CLOSED: Final = (sys.stdlib_module_names | {"numpy", "optree", "ml_dtypes"}) - {"__main__"}
_REGISTRIES: Final = ("_parameters", "_buffers", "_modules")
_CONSTRUCTORS: Final = frozenset({"__init__", "__new__"})
_IMPLICIT: Final = frozenset({"__call__", "__enter__", "__exit__", "__getitem__", "forward"})
_SMALL_ARRAY: Final = 4096
"""Bytes up to which the contents of a free NumPy array are compared at each call."""
_LARGE: Final = 1000
"""Items of containers with more of them than this are compared, but not followed."""


class Environment:
    """What a survey found. `containers` are the mutable ones that it went through.

    `used` are the names that reached code reads for more than to update them.
    """

    __slots__ = ("containers", "facts", "tensors", "used")

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.tensors: dict[int, Place] = {}
        self.containers: list[tuple[dict[object, object] | list[object], str]] = []
        self.used: set[str] = set()

    def facts_of_unused_tensors(self, used: Iterable[object]) -> list[Fact]:
        """Return that the free tensors which became no inputs are the same objects.

        Code may have compared them (`if mask is not None`, `a is b`) without computing with them.
        """
        known = {id(tensor) for tensor in used}
        return [
            Fact(place, "is", value)
            for key, place in self.tensors.items()
            if key not in known and isinstance(value := place.get(), TensorBase)
        ]

    def moved_facts(self) -> list[Fact]:
        """Return the facts that running the function has changed and that it may depend on.

        Counters that code only counts up, and lists and dicts that only grew, are left out.
        """
        return [
            fact
            for fact in self.facts
            if not fact.holds() and fact.place.key in self.used | {None} and not fact.has_grown()
        ]


def survey(roots: Iterable[tuple[object, str]]) -> Environment:
    """Look at everything that code reachable from the `roots` (objects and their names) reads."""
    surveyor = _Surveyor()
    for value, name in roots:
        surveyor.pending.append((value, name, None))
    surveyor.run()
    return surveyor.environment


class _Surveyor:
    """The state of one survey. Values wait in `pending`, so depth costs no recursion."""

    def __init__(self) -> None:
        self.environment = Environment()
        self.pending: list[tuple[object, str, Place | None]] = []
        self.seen: dict[int, object] = {}
        self.attributes: set[str] = set()
        self.owners: list[tuple[object, str, frozenset[str]]] = []

    def run(self) -> None:
        """Follow values until none is new, then look for attributes named since; repeat."""
        while self.pending:
            while self.pending:
                self.visit(*self.pending.pop())
            named = frozenset(self.attributes)
            for place, (owner, name, done) in enumerate(tuple(self.owners)):
                fresh = named - done
                if fresh:
                    self.owners[place] = (owner, name, named)
                    self.visit_attributes(owner, name, fresh)

    def look(self, place: Place) -> None:
        """Have the value in a place visited."""
        value = place.get()
        if value is not MISSING:
            self.pending.append((value, place.name, place))

    def visit(self, value: object, name: str, place: Place | None) -> None:
        """Note what `place` holds, and follow it unless that was done before."""
        known = id(value) in self.seen
        if isinstance(value, type) and place is not None and not _is_ours(value):
            self.attributes |= _CONSTRUCTORS  # code that names a class may call it
        if isinstance(value, TensorBase):
            if place is not None:
                self.environment.tensors.setdefault(id(value), place)
        elif place is not None:
            self.environment.facts.append(_fact_of(place, value))
        if not known:
            self.seen[id(value)] = value
            self.follow(value, name)

    def follow(self, value: object, name: str) -> None:
        """Visit what a value leads to."""
        if isinstance(value, Dispatcher):
            self.pending.append((getattr(value, "function", None), name, None))
            return
        match value:
            case FunctionType():
                if not _is_closed(value):
                    self.follow_function(value, name)
            case MethodType():
                self.pending.append((value.__self__, name.rpartition(".")[0] or name, None))
                self.pending.append((value.__func__, name, None))
            case property():
                self.pending.append((value.fget, name, None))
            case staticmethod() | classmethod():
                self.pending.append((value.__func__, name, None))
            case functools.partial():
                self.pending.append((value.func, f"{name}.func", None))
                self.pending.append((value.args, f"{name}.args", None))
                self.pending.append((value.keywords, f"{name}.keywords", None))
            case list() | tuple() | dict():
                self.follow_container(value, name)
            case TensorBase() | type():
                if not _is_closed(value):
                    self.own(value, name)
            case ModuleType():
                if not _is_closed(value) and not _is_ours(value):
                    self.own(value, name)
            case _ if isinstance(value, (*_BY_VALUE, *_OPAQUE)):
                pass
            case _ if not _is_closed(type(value)):
                self.own(value, name)
                self.pending.append((type(value), type(value).__name__, None))

    def follow_function(self, function: FunctionType, name: str) -> None:
        """Visit a function's closure, defaults and globals."""
        names = code_names(function.__code__)
        self.attributes |= names.attributes
        self.environment.used |= names.used
        cells = function.__closure__ or ()
        for key, cell in zip(function.__code__.co_freevars, cells, strict=True):
            self.look(Place("cell", cell, key, key))
        for key in ("__defaults__", "__kwdefaults__"):
            if _is_ours(function):
                self.pending.append((getattr(function, key), f"the defaults of {name}", None))
            else:
                self.look(Place("attribute", function, key, f"the defaults of {name}"))
        self.pending.append((getattr(function, "__wrapped__", None), name, None))
        if not _is_ours(function):
            for key in sorted(names.globals & function.__globals__.keys()):
                self.look(Place("dict", function.__globals__, key, key))

    def follow_container(
        self, value: list[object] | tuple[object, ...] | dict[object, object], name: str
    ) -> None:
        """Note the items of a container, and visit those that lead further."""
        if not isinstance(value, tuple):
            self.environment.containers.append((value, name))
        place = Place("itself", value, None, name)
        self.environment.facts.append(Fact(place, "items", expected_items(value)))
        if len(value) > _LARGE:
            return
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        kind: PlaceKind = "dict" if isinstance(value, dict) else "sequence"
        for key, item in pairs:
            if isinstance(item, TensorBase):
                self.look(Place(kind, value, key, f"{name}[{_key_text(key)}]"))
            elif not isinstance(item, _BY_VALUE) or isinstance(item, MethodType):
                self.pending.append((item, f"{name}[{_key_text(key)}]", None))

    def own(self, value: object, name: str) -> None:
        """Remember to look at those attributes of `value` that reached code names."""
        self.owners.append((value, name, frozenset()))
        self.attributes |= _IMPLICIT

    def visit_attributes(self, owner: object, name: str, named: frozenset[str]) -> None:
        """Visit the attributes `named` of a tensor, a class, a module or an instance."""
        match owner:
            case TensorBase():
                if "grad" in named:
                    self.look(Place("attribute", owner, "grad", f"{name}.grad"))
            case type():
                self.visit_class(owner, name, named)
            case _:
                state = getattr(owner, "__dict__", None)
                if isinstance(state, dict):
                    self.visit_state(state, name, named)
                for key in sorted(named & _slots_of(type(owner))):  # type: ignore[arg-type]  # classes are hashable
                    self.look(Place("attribute", owner, key, f"{name}.{key}"))

    def visit_state(self, state: dict[object, object], name: str, named: frozenset[str]) -> None:
        """Visit what an instance's dict holds, and the registries of a module of `nn` in it."""
        for key in sorted(named & state.keys()):
            if key not in _REGISTRIES:
                self.look(Place("dict", state, key, f"{name}.{key}"))
        if "forward" not in named:
            return
        self.environment.containers.append((state, name))
        if "_parameters" in state and "training" in state:
            self.look(Place("dict", state, "training", f"{name}.training"))
        for registry in _REGISTRIES:
            entries = state.get(registry)
            if isinstance(entries, dict):
                self.environment.containers.append((entries, name))
                place = Place("itself", entries, None, f"{name}.{registry}")
                self.environment.facts.append(Fact(place, "items", expected_items(entries)))
                for key in entries:
                    self.look(Place("dict", entries, key, f"{name}.{key}"))

    def visit_class(self, cls: type, name: str, named: frozenset[str]) -> None:
        """Visit the methods and class attributes that reached code names, and special methods."""
        for base in cls.__mro__:
            if base is object or _is_closed(base):
                continue
            for key, value in vars(base).items():
                if key in named:
                    if not _is_ours(base) and isinstance(value, (*_BY_VALUE, *_DEFINITIONS)):
                        self.look(Place("attribute", base, key, f"{name}.{key}"))
                    self.pending.append((value, f"{name}.{key}", None))
                elif (
                    "forward" in named
                    and key[:2] == "__"
                    and key not in _CONSTRUCTORS
                    and isinstance(value, FunctionType)
                    and not _is_ours(base)
                ):
                    self.pending.append((value, f"{name}.{key}", None))


def _fact_of(place: Place, value: object) -> Fact:
    """Return what is guarded of a value: small arrays by their contents, which may change in place."""
    if isinstance(value, np.ndarray) and value.nbytes <= _SMALL_ARRAY:
        return Fact(place, "equals", value.copy())
    kind: FactKind = "equals" if isinstance(value, _BY_VALUE) else "is"
    return Fact(place, kind, as_it_is(value))


def _key_text(key: object) -> str:
    return f"the {type(key).__name__} {id(key):#x}" if isinstance(key, TensorBase) else repr(key)


def _module_name(value: object) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name if isinstance(name, str) else "builtins"


def _is_closed(value: object) -> bool:
    """Whether a function, class or module belongs to a library that the survey doesn't enter."""
    return _module_name(value).partition(".")[0] in _CLOSED


def _is_ours(value: object) -> bool:
    return _module_name(value).partition(".")[0] == _OURS


@functools.lru_cache(maxsize=1024)
def _slots_of(cls: type) -> frozenset[str]:
    slots: set[str] = set()
    for base in cls.__mro__:
        found = vars(base).get("__slots__", ())
        slots.update((found,) if isinstance(found, str) else found)
    return frozenset(slots)
