"""Backends: what turns an operator graph into something that runs.

`register_backend` adds one; `eager` and `aot_eager` are there for finding faults (Algorithm 11.1):
`eager` runs the captured graph, `aot_eager` runs the operator graphs of the forward and the backward
pass operator by operator, and `stax` compiles those.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from tensorplay.compiler.backends.interpreted import interpret
from tensorplay.compiler.statistics import count
from tensorplay.core.errors import ArgumentValueError, RegistryError

if TYPE_CHECKING:
    from tensorplay.compiler.options import Options
    from tensorplay.compiler.phases import OperatorGraph
    from tensorplay.compiler.target import Target
    from tensorplay.tensor import Tensor


class CompiledProgram(Protocol):
    """What a backend returns: call it with the input tensors, get a tuple of new tensors."""

    def __call__(self, tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]:
        """Run the program."""
        ...


CompileFunction: TypeAlias = "Callable[[OperatorGraph, Target, Options], CompiledProgram]"


class Backend(NamedTuple):
    """A backend by name. Without `compile`, the captured graph itself is run."""

    name: str
    compile: Callable[[OperatorGraph, Target, Options, bool], CompiledProgram] | None
    """Takes also whether to refuse what only an operator's eager kernel can compute."""


def _compile_with_stax(
    graph: OperatorGraph, target: Target, options: Options, strict: bool
) -> CompiledProgram:
    pipeline = importlib.import_module("tensorplay.compiler.backends.stax.pipeline")
    program: CompiledProgram = pipeline.compile(graph, target, options, strict=strict)
    return program


_backends: Final[dict[str, Backend]] = {
    "stax": Backend("stax", _compile_with_stax),
    "aot_eager": Backend("aot_eager", lambda graph, *_: interpret(graph)),
    "eager": Backend("eager", None),
}


def register_backend(name: str, compile: CompileFunction) -> None:
    """Let `tp.compile(f, backend=name)` compile operator graphs by this function."""
    if name in _backends:
        raise RegistryError(f"backend {name!r} is registered already; choose another name")
    _backends[name] = Backend(
        name, lambda graph, target, options, _strict: compile(graph, target, options)
    )


def find_backend(name: str) -> Backend:
    """Return a backend by name. Raises `ArgumentValueError` with the names there are."""
    backend = _backends.get(name)
    if backend is None:
        import difflib

        close = difflib.get_close_matches(name, _backends, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        known = ", ".join(map(repr, _backends))
        raise ArgumentValueError(f"compile: there is no backend {name!r}{hint} There are {known}")
    return backend


def compile_graph(
    backend: Backend, graph: OperatorGraph, target: Target, options: Options, *, strict: bool
) -> CompiledProgram:
    """Compile a graph; where the backend fails, interpret it and warn, or raise if `strict`.

    Interpreting gives the same results without the speed: whoever needs the speed asks for `strict`.
    """
    if backend.compile is None:
        return interpret(graph)
    try:
        return backend.compile(graph, target, options, strict)
    except Exception as error:
        if strict:
            raise
        count("fallbacks")
        message = (
            f"backend {backend.name!r} failed, so a graph of {len(graph.graph.nodes)} nodes is "
            f"interpreted: results are the same, speed is not. strict_native=True makes this an "
            f"error. The failure: {type(error).__name__}: {error}"
        )
        warnings.warn(message, CompileWarning, stacklevel=2)
        return interpret(graph)


class CompileWarning(UserWarning):
    """A compiled function runs, but not as fast as asked for."""


__all__ = [
    "Backend",
    "CompileWarning",
    "CompiledProgram",
    "compile_graph",
    "find_backend",
    "register_backend",
]
