"""`CompiledFunction`: finds the specialization of a call, or makes one.

The two levels of dispatch run in C (`_C.Dispatcher`): level 1 compares the tensors of the last call
by identity and version, level 2 looks the call's signature up. Both check the *guards*: the facts
that the survey found, and the metadata of free tensors. Guards and keys are made from the same data,
so they can't disagree; where no specialization fits, the first fact that differs says why.

Python sees the calls that C doesn't: those with keyword arguments, containers or objects among the
arguments are flattened here and handed back; calls while another function is captured run as they
are, so that they become part of that.
"""

from __future__ import annotations

import enum
import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, Final, NamedTuple

from tensorplay import _C, dispatch
from tensorplay.autograd.saved import without_saved_hooks
from tensorplay.compiler.backends import CompileWarning
from tensorplay.compiler.capture.captured_graph import Argument, CapturedGraph, Held, Lifted
from tensorplay.compiler.capture.environment import Environment, survey
from tensorplay.compiler.capture.places import ANY_TENSOR, Fact, Place, same_value
from tensorplay.compiler.capture.structure import flatten
from tensorplay.compiler.driver import Request, Specialization, capture_call, specialize
from tensorplay.compiler.specialize.description import (
    describe_call,
    describe_tensor,
    first_difference,
    leaf_names,
    name_arguments,
)
from tensorplay.compiler.statistics import count
from tensorplay.core import dtypes
from tensorplay.core.config import config
from tensorplay.core.errors import CompileError
from tensorplay.tensor import Tensor

_C.register_same_value(same_value, ANY_TENSOR)

_DEFAULT_DTYPE: Final = Place("sequence", dtypes._default, 0, "the default dtype")  # noqa: SLF001  # a friend of that class
_SIMILAR: Final = 8
"""How many of the latest specializations a new call is compared with."""


ALL: Final[weakref.WeakSet[CompiledFunction]] = weakref.WeakSet()
"""Every compiled function that is alive."""


class _CallKey:
    """The structure of a call as C sees it: hashable, with the arguments while the call runs."""

    __slots__ = ("_hash", "args", "key", "kwargs", "objects")

    def __init__(
        self,
        key: object,
        objects: tuple[object, ...],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
    ) -> None:
        self.key = key
        self.objects = objects
        self.args = args
        self.kwargs = kwargs
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CallKey) and other.key == self.key


class _Record(NamedTuple):
    """A specialization and the call that it was made for, in words."""

    specialization: Specialization
    call: Mapping[str, str]
    facts: tuple[Fact, ...]


class _Moves(enum.Enum):
    """Whether results depend on facts that the function itself changes.

    [Note: moved facts] `self.calls += 1` changes a fact that the survey found. Guarding it would
    compile every call anew; not guarding it would be wrong where the result depends on it. It can't
    where code only counts up, or only appends: such changes happen at capture, once. Where code also
    reads the fact, the function is captured a second time: if that recorded the same graph, the fact
    is taken for irrelevant; else it is guarded, and each call is compiled anew, until the limit's
    message names it.
    """

    UNKNOWN = "unknown"
    IRRELEVANT = "irrelevant"
    RELEVANT = "relevant"


class CompiledFunction(_C.Dispatcher):
    """A compiled function: call it like the function."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_lock",
        "_moves",
        "_records",
        "_suspect",
        "_warned",
        "function",
        "name",
        "reasons",
        "request",
    )

    def __init__(self, function: Callable[..., Any], request: Request) -> None:
        super().__init__()
        if isinstance(function, FunctionType):
            functools.update_wrapper(self, function)
        self.function = function
        self.request = request
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.reasons: list[str] = []
        self._records: list[_Record] = []
        self._lock = threading.RLock()
        self._warned = False
        self._moves = _Moves.UNKNOWN
        self._suspect: _Record | None = None
        ALL.add(self)

    def specialized(self, made: Specialization) -> None:
        """Take note of a new specialization; subclasses may show it to somebody."""

    def forget(self) -> None:
        """Drop every specialization."""
        with self._lock:
            self.clear()
            self._records.clear()
            self.reasons.clear()
            self._warned = False

    def __get__(self, instance: object, owner: type | None = None) -> object:
        """Bind as a method, so that methods can be compiled in the class body."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        """Return what it is."""
        return f"<compiled {self.name}, {len(self._records)} specializations>"

    def call_slow(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
        """Handle a call that C can't look up by itself."""
        if dispatch.current_modes():
            return self.function(*args, **kwargs)
        structure = flatten((args, kwargs))
        for tensor in structure.tensors:
            if tensor.array is None:
                return self.function(*args, **kwargs)
        key = _CallKey(structure.key, structure.objects, args, kwargs)
        try:
            return self.dispatch(key, structure.tensors)
        finally:
            key.args, key.kwargs = (), {}

    def call_miss(self, structure: Any, leaves: tuple[Any, ...], /) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
        """Specialize for a call that no entry fits, and run it."""
        if isinstance(structure, _CallKey):
            args, kwargs, objects = structure.args, structure.kwargs, structure.objects
        else:
            args, kwargs, objects = leaves, {}, ()
        made_before = len(self._records)
        with self._lock, without_saved_hooks():  # they are for what the compiled function saves
            is_made = len(self._records) != made_before  # by another thread
            found = None if is_made else self._specialize(structure, leaves, args, kwargs, objects)
        if is_made:
            return self.dispatch(structure, leaves)
        if found is None:
            return self.function(*args, **kwargs)
        made, samples = found
        result = made.run(*samples)
        return result if made.select is None else result[made.select]

    def _specialize(
        self,
        structure: Any,  # noqa: ANN401  # as C sees it
        leaves: tuple[Any, ...],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        objects: tuple[object, ...],
    ) -> tuple[Specialization, list[Tensor]] | None:
        """Compile for a call and add an entry; None where the limit is reached. Also return its tensors."""
        arguments = name_arguments(self.function, args, kwargs)
        call = {**describe_call(arguments), "grad mode": str(dispatch.is_grad_enabled())}
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if self._records and not self._may_recompile(call, tensors):
            return None
        roots: list[tuple[object, str]] = [(self.function, self.name)]
        roots += [(value, name) for name, value in leaf_names(arguments) if _is_in(value, objects)]
        entry_key = self.signature(structure, leaves)
        environment = survey(roots)
        distinct = list({id(tensor): tensor for tensor in tensors}.values())
        captured = capture_call(
            self.function, args, kwargs, distinct, _names_of(distinct, arguments), environment
        )
        made, facts, is_suspect = self._judge(captured, environment, call)
        if made is None:
            made = specialize(captured, self.request)
            self.specialized(made)
        record = _Record(made._replace(captured=without_samples(captured)), call, facts)
        self._suspect = record if is_suspect else None
        self.add(entry_key, self._entry(record, structure, leaves, is_suspect=is_suspect))
        self._records.append(record)
        return made, [each.sample for each in captured.inputs]

    def _judge(
        self, captured: CapturedGraph, environment: Environment, call: Mapping[str, str]
    ) -> tuple[Specialization | None, tuple[Fact, ...], bool]:
        """Decide what to guard; see [Note: moved facts].

        Returns a specialization that can be used again, the facts to guard, and whether the entry
        must fail once, so that the function is captured a second time.
        """
        used = [each.sample for each in captured.inputs]
        facts = (
            *environment.facts,
            *environment.facts_of_unused_tensors(used),
            Fact(_DEFAULT_DTYPE, "is", dtypes.get_default_dtype()),
        )
        still = tuple(fact for fact in facts if fact.holds())
        if self._moves is _Moves.IRRELEVANT or not environment.moved_facts():
            return None, still, False
        suspect = self._suspect
        if self._moves is _Moves.UNKNOWN and suspect is not None and suspect.call == call:
            if is_same_capture(suspect.specialization.captured, captured):
                self._moves = _Moves.IRRELEVANT
                return suspect.specialization, still, False
            self._moves = _Moves.RELEVANT
        if self._moves is _Moves.RELEVANT:
            return None, facts, False
        return None, still, True

    def _entry(
        self, record: _Record, structure: object, leaves: tuple[object, ...], *, is_suspect: bool
    ) -> _C.Entry:
        """Return what C needs to find and run a specialization again."""
        made = record.specialization
        number_of = {id(leaf): number for number, leaf in reversed(list(enumerate(leaves)))}
        inputs = made.captured.inputs
        arguments = tuple(
            number_of[id(leaf)]
            for leaf in {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor)}.values()
        )
        sources = [each.source for each in inputs if not isinstance(each.source, Argument)]
        places = [
            source.place
            if isinstance(source, Lifted)
            else Place("itself", source.tensor, None, "a tensor")
            for source in sources
        ]
        free = [place.get() for place in places]

        def gates_hold(*now: object) -> bool:
            given = [now[number] for number in arguments]
            return made.gates_hold([*given, *(place.get() for place in places)])  # type: ignore[list-item]  # its role says so

        guards = [_guard_spec(fact) for fact in record.facts]
        if is_suspect:
            guards.append(("call", _never))
        return _C.Entry(
            made.run,
            arguments,
            self.signature(structure, (*leaves, *free)),
            tuple((place.kind, place.container, place.key) for place in places),
            tuple(guards),
            made.select,
            gates_hold if made.guard is not None else None,
        )

    def _may_recompile(self, call: Mapping[str, str], tensors: Sequence[Tensor]) -> bool:
        """Note why no specialization fits; at the limit, raise or warn once, and say no."""
        if self._warned and len(self._records) >= config.recompile_limit:
            return False
        reason = self._why(call, tensors)
        if len(self._records) < config.recompile_limit:
            self.reasons.append(reason)
            count("recompilations")
            return True
        message = (
            f"{self.name} was compiled {len(self._records)} times, which is the limit "
            f"(TP_RECOMPILE_LIMIT). The latest reason: {reason}"
        )
        if self.request.strict_native:
            raise CompileError(message)
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{message}. Calls that fit no specialization run uncompiled from now on",
                CompileWarning,
                stacklevel=4,
            )
        return False

    def _why(self, call: Mapping[str, str], tensors: Sequence[Tensor]) -> str:
        """Return the first condition in which a call differs from the latest one that is like it."""
        for record in reversed(self._records[-_SIMILAR:]):
            if first_difference(record.call, call) is None:
                return _changed_fact(record, tensors)
        reason = first_difference(self._records[-1].call, call) or "nothing that has a name"
        return f"{reason}{_advice(reason)}"


STATE: Final = frozenset(CompiledFunction.__slots__)
"""The attributes that belong to a compiled function itself."""


def _changed_fact(record: _Record, tensors: Sequence[Tensor]) -> str:
    """Return what changed since a specialization for a call that looks the same."""
    for fact in record.facts:
        if not fact.holds():
            return fact.difference()
    inputs = record.specialization.captured.inputs
    given: list[Tensor] = []
    distinct = list({id(tensor): tensor for tensor in tensors}.values())
    for each in inputs:
        source = each.source
        now: object = source.tensor if isinstance(source, Held) else None
        if isinstance(source, Lifted):
            now = source.place.get()
            if not isinstance(now, Tensor):
                return f"{source.place.name} is no tensor any more"
            was, is_now = describe_tensor(each.sample), describe_tensor(now)
            if was != is_now:
                return f"{source.place.name} was {was} and is {is_now}"
        elif isinstance(source, Argument) and source.number < len(distinct):
            now = distinct[source.number]
        if isinstance(now, Tensor):
            given.append(now)
    changed = record.specialization.first_changed_gate(given)
    return changed or "which tensors share memory, or a flag of a free tensor, changed"


def _advice(reason: str) -> str:
    """Return how to avoid a recompilation, where there is a way."""
    value = reason.rpartition(" is ")[2]
    if value.lstrip("-").replace(".", "", 1).replace("e-", "", 1).isdigit():
        return "; Python numbers are specialized by value: pass a 0-d tensor where the number changes often"
    if value.startswith("a tensor of shape"):
        return "; shapes, dtypes and strides are specialized: pad to a few sizes where they change often"
    return ""


def _is_in(value: object, objects: Sequence[object]) -> bool:
    return any(value is each for each in objects)


def _names_of(tensors: Sequence[Tensor], arguments: Mapping[str, object]) -> list[str]:
    names = {id(value): name for name, value in reversed(leaf_names(arguments))}
    return [names.get(id(tensor), "input") for tensor in tensors]


def without_samples(captured: CapturedGraph) -> CapturedGraph:
    """Return a captured graph that describes the tensors of its call, and doesn't hold them."""

    def like(tensor: Tensor) -> Tensor:
        twin = dispatch.tensor_of_meta(tensor.tensor_meta)
        twin.requires_grad = tensor.requires_grad
        return twin

    inputs = tuple(each._replace(sample=like(each.sample)) for each in captured.inputs)
    return replace(captured, inputs=inputs)


def _never() -> bool:
    """Fail a guard, so that a function is captured once more."""
    return False


def is_same_capture(a: CapturedGraph, b: CapturedGraph) -> bool:
    """Whether two captures recorded the same: graph, constants, structure, gates."""
    return (
        a.text() == b.text()
        and repr(a.structure) == repr(b.structure)
        and [gate.answer for gate in a.gates] == [gate.answer for gate in b.gates]
        and (a.guard is None or b.guard is None or a.guard.code == b.guard.code)
    )


def _guard_spec(fact: Fact) -> tuple[Any, ...]:
    place = fact.place
    return fact.kind, place.kind, place.container, place.key, fact.expected
