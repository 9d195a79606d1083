"""`capture`: a function and its arguments to a `CapturedGraph`.

The function is run once, on stand-ins. What it returns becomes the outputs. Containers among the
arguments are copied, so that the function can't change the caller's; if it changes the copies,
capture refuses, because the changes would be lost.

[Note: rebound places] `self.running = 0.9 * self.running + 0.1 * x.mean()` assigns a recorded tensor
to an attribute. After the run, the places that the survey went through are looked at again: a place
that holds a recorded tensor gets back what it held, and the tensor becomes an output that each call
assigns. Anything else that the function did to Python objects has happened once, at capture.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CoroutineType, FunctionType, GeneratorType, ModuleType
from typing import Any, Final

from tensorplay import dispatch
from tensorplay.compiler.capture.captured_graph import CapturedGraph, OutputSlot
from tensorplay.compiler.capture.environment import Environment
from tensorplay.compiler.capture.mode import CaptureMode, capture_error
from tensorplay.compiler.capture.places import Place
from tensorplay.compiler.capture.structure import map_structure, open_container
from tensorplay.compiler.statistics import count
from tensorplay.core.errors import CaptureError
from tensorplay.core.random import default_generator
from tensorplay.core.source_line import user_line
from tensorplay.graph import GraphModule, Node
from tensorplay.tensor import Tensor

_LARGE: Final = 1000
"""Objects up to which a result that is no container is searched for tensors."""


def capture(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    tensors: Sequence[Tensor],
    names: Sequence[str],
    environment: Environment,
) -> CapturedGraph:
    """Run `function(*args, **kwargs)` on stand-ins for the distinct `tensors` among its arguments."""
    count("captures")
    mode = CaptureMode(environment.tensors)
    stand_ins = {
        id(tensor): mode.argument(index, tensor, name)
        for index, (tensor, name) in enumerate(zip(tensors, names, strict=True))
    }
    copies = _Copies(stand_ins)
    places = _Watch(environment)
    try:
        with mode, _kept_state(), _no_draws():
            result = function(*copies.of(args), **copies.of(kwargs))
    except BaseException:
        with contextlib.suppress(CaptureError):
            places.rebound(mode)
        raise
    copies.check_unchanged()
    mode.check_attributes()
    assigned = places.rebound(mode)
    outputs: list[Node] = []
    given = set(map(id, stand_ins.values()))

    def to_slot(leaf: object) -> object:
        if isinstance(leaf, Tensor):
            outputs.append(mode.node_of(leaf))
            is_made = mode.is_recorded(leaf) and id(leaf) not in given and type(leaf) is not Tensor
            return OutputSlot(len(outputs) - 1, type(leaf) if is_made else None)
        if isinstance(leaf, (GeneratorType, CoroutineType)):
            raise capture_error("it is a generator or a coroutine, which runs later", None)
        if any(map(mode.is_recorded, _held_by(leaf))):
            raise capture_error(
                f"it returns a {type(leaf).__name__} that holds tensors: return them as a list, tuple, dict or "
                "dataclass, or register the class with optree",
                None,
            )
        return leaf

    structure = map_structure(to_slot, result)
    num_results = len(outputs)
    outputs += [mode.node_of(tensor) for _, tensor in assigned]
    mode.graph.output(tuple(outputs))
    return CapturedGraph(
        module=GraphModule({}, mode.graph),
        inputs=tuple(mode.inputs),
        structure=structure,
        num_results=num_results,
        assigned=tuple(place for place, _ in assigned),
        gates=tuple(mode.gates),
        effects=mode.effects,
        memory=mode.memory,
    )


@contextlib.contextmanager
def _kept_state() -> Iterator[None]:
    """Undo what a capture does to the grad mode and, in sampling, to the random state."""
    state = default_generator.get_state()
    token = dispatch.push_grad_mode(dispatch.is_grad_enabled())
    try:
        yield
    finally:
        dispatch.pop_grad_mode(token)
        default_generator.set_state(state)


@contextlib.contextmanager
def _no_draws() -> Iterator[None]:
    """Refuse draws from the generators of Python and NumPy: they would happen once, at capture."""
    generators = [_Generator(name) for name in ("random", "numpy.random") if name in sys.modules]
    yield
    for generator in generators:
        if generator.was_used():
            generator.restore()
            raise capture_error(
                f"it draws numbers of the module {generator.name}, which would happen once, now: draw "
                "tensors with tensorplay.rand and its like, or pass the numbers as arguments",
                None,
            )


class _Generator:
    """The global generator of a module, and its state when the capture began."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._module: Any = sys.modules[name]  # not imported here: most programs don't need it
        self._before = self._state()

    def was_used(self) -> bool:
        """Whether a number was drawn since."""
        return bool(self._state() != self._before)

    def restore(self) -> None:
        """Undo the draws."""
        put = "setstate" if self.name == "random" else "set_state"
        getattr(self._module, put)(self._before)

    def _state(self) -> Any:  # noqa: ANN401  # the module's own form
        if self.name == "random":
            return self._module.getstate()
        kind, words, *rest = self._module.get_state()
        return kind, words.tolist(), *rest


class _Copies:
    """Copies of the arguments' containers, with stand-ins for tensors."""

    def __init__(self, stand_ins: Mapping[int, Tensor]) -> None:
        self._stand_ins = stand_ins
        self._memo: dict[int, object] = {}
        self._contents: list[tuple[object, tuple[object, ...]]] = []

    def of(self, value: Any) -> Any:  # noqa: ANN401  # the same structure
        """Copy a value."""
        copied = map_structure(self._leaf, value, self._memo)
        self._remember(copied)
        return copied

    def check_unchanged(self) -> None:
        """Raise `CaptureError` if the function changed a list or dict that it was given."""
        for value, children in self._contents:
            container = open_container(value)
            now = () if container is None else container.children
            if len(now) != len(children) or any(
                a is not b for a, b in zip(now, children, strict=True)
            ):
                raise capture_error(
                    f"it changes a {type(value).__name__} that it was given, which a compiled call "
                    "can't do: return the new contents instead",
                    user_line(),
                )

    def _leaf(self, leaf: object) -> object:
        return self._stand_ins[id(leaf)] if isinstance(leaf, Tensor) else leaf

    def _remember(self, value: object) -> None:
        container = open_container(value)
        if container is not None:
            if not isinstance(value, tuple):
                self._contents.append((value, container.children))
            for child in container.children:
                self._remember(child)


class _Watch:
    """The contents of the containers that the survey went through, before the function ran."""

    def __init__(self, environment: Environment) -> None:
        self._places = [*environment.tensors.values()]
        self._places += [f.place for f in environment.facts if f.place.kind == "cell"]
        self._held = [(place, place.get()) for place in self._places]
        self._contents = [
            (container, name, dict(container) if isinstance(container, dict) else list(container))
            for container, name in environment.containers
        ]

    def rebound(self, mode: CaptureMode) -> list[tuple[Place, Tensor]]:
        """Return the places that now hold recorded tensors, and restore what they held."""
        found: dict[tuple[int, object], tuple[Place, Tensor]] = {}
        for place, before in self._held:
            now = place.get()
            if now is not before and isinstance(now, Tensor) and mode.is_recorded(now):
                place.set(before)
                found[id(place.container), place.key] = (place, now)
        for container, name, contents in self._contents:
            for key, now in _entries(container):
                if mode.is_recorded(now) and isinstance(now, Tensor):
                    place = _restore(container, key, contents, name)
                    found[id(container), key] = (place, now)
                elif isinstance(now, (tuple, list)) and any(map(mode.is_recorded, now)):
                    raise capture_error(
                        f"it puts a {type(now).__name__} of tensors into {name}, which lies outside of "
                        "it: assign single tensors, or return them",
                        None,
                    )
        return list(found.values())


def _held_by(value: object) -> Iterator[object]:
    """Yield the tensors that a value holds: among its items, attributes, slots, closure cells, and in turn theirs."""
    seen, pending = {id(value)}, [value]
    while pending and len(seen) < _LARGE:
        each = pending.pop()
        inside = (
            (each.__closure__, each.__defaults__) if isinstance(each, FunctionType) else (each,)
        )
        for held in gc.get_referents(*inside):
            if isinstance(held, Tensor):
                yield held
            elif id(held) not in seen and not isinstance(held, (type, ModuleType)):
                seen.add(id(held))
                pending.append(held)


def _entries(container: dict[object, object] | list[object]) -> list[tuple[object, object]]:
    return list(container.items() if isinstance(container, dict) else enumerate(container))


def _restore(
    container: dict[object, object] | list[object], key: object, contents: object, name: str
) -> Place:
    """Put back what a container held at a key, and return the place."""
    if isinstance(container, dict) and isinstance(contents, dict):
        if key in contents:
            container[key] = contents[key]
        else:
            del container[key]
        return Place("dict", container, key, f"{name}.{key}")
    if isinstance(container, list) and isinstance(contents, list) and isinstance(key, int):
        if len(container) == len(contents):
            container[key] = contents[key]
            return Place("sequence", container, key, f"{name}[{key}]")
        del container[key:]
    raise capture_error(
        f"it puts a tensor into the list {name}, which lies outside of it: return it instead", None
    )
