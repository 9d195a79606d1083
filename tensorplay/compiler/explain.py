"""`Explanation`: every stage of a compilation as an object that prints itself.

>>> import tensorplay as tp
>>> e = tp.compile(lambda x: x * 2, backend="aot_eager").explain(tp.ones(3))
>>> print(e.captured.text())
graph(
    %x : [num_users=1] = placeholder[target=x]
    %mul shape=(3,) : [num_users=1] = call_function[target=operator.mul](args = (%x, 2), kwargs = {})
    return (mul,)
)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from tensorplay.compiler.aot.joint_graph import JointGraph
from tensorplay.compiler.aot.partition import Partition
from tensorplay.compiler.capture.captured_graph import CapturedGraph
from tensorplay.compiler.capture.environment import survey
from tensorplay.compiler.capture.structure import flatten
from tensorplay.compiler.driver import Request, Specialization, capture_call, specialize
from tensorplay.compiler.phases import OperatorGraph
from tensorplay.compiler.specialize.description import leaf_names, name_arguments
from tensorplay.core.readable import Readable
from tensorplay.graph.names import to_identifier

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.artifact_cache import Lookup
    from tensorplay.compiler.backends.stax.ir import LoopProgram
    from tensorplay.compiler.backends.stax.schedule import Plan, Schedule
    from tensorplay.compiler.backends.stax.sources import KernelSource


class Stage(Protocol):
    """A phase of the compiler, as far as a reader is concerned."""

    def text(self) -> str:
        """Return the phase as text."""
        ...


@dataclass(frozen=True, slots=True)
class Text(Readable):
    """A phase that is text: the wrapper module."""

    content: str

    def text(self) -> str:
        """Return the text."""
        return self.content


class Kernels(tuple["KernelSource", ...], Readable):
    """The kernels of a program, each with `.name` and `.source`."""

    __slots__ = ()

    def text(self) -> str:
        """Return all sources."""
        return "\n".join(f"// {kernel.name}\n{kernel.source}" for kernel in self)


@dataclass(frozen=True, slots=True)
class NativeStages:
    """What Stax makes of one operator graph."""

    buffers: LoopProgram
    schedule: Schedule
    plan: Plan
    kernels: Kernels
    wrapper: Text
    artifact: Lookup | None
    """Whether the cache had it, and if not, which fields of the key changed; None for a target that runs nothing."""

    def stages(self) -> Iterator[tuple[str, Stage]]:
        """Return the stages with their names, in order."""
        for name in ("buffers", "schedule", "plan", "kernels", "wrapper", "artifact"):
            stage = getattr(self, name)
            if stage is not None:
                yield name, stage


@dataclass(frozen=True, slots=True)
class Explanation(Readable):
    """The stages of one specialization.

    `joint_graph`, `partition` and `backward` are None where no gradient can flow; what follows
    `operator_graph` is of the forward pass, and None where the backend isn't Stax. `captured_only`
    is all there is for the backend `eager`.
    """

    captured: CapturedGraph
    operator_graph: OperatorGraph | None
    joint_graph: JointGraph | None
    partition: Partition | None
    forward: NativeStages | None
    backward: NativeStages | None

    @property
    def buffers(self) -> LoopProgram:
        """The loop program: every buffer and the computation that fills it."""
        return self._forward().buffers

    @property
    def schedule(self) -> Schedule:
        """The kernels as loop nests, and why pairs of computations were not fused."""
        return self._forward().schedule

    @property
    def plan(self) -> Plan:
        """Where each buffer lies in memory."""
        return self._forward().plan

    @property
    def kernels(self) -> Kernels:
        """The generated kernels."""
        return self._forward().kernels

    @property
    def wrapper(self) -> Text:
        """The generated module that holds and calls the kernels."""
        return self._forward().wrapper

    @property
    def artifact(self) -> Lookup | None:
        """What the cache had of it: found, or built, and the fields of the key that had changed."""
        return self._forward().artifact

    def stages(self) -> Iterator[tuple[str, Stage]]:
        """Return the stages that there are, with their names, in order."""
        for name in ("captured", "joint_graph", "partition", "operator_graph"):
            stage = getattr(self, name)
            if stage is not None:
                yield name, stage
        for prefix, native in (("", self.forward), ("backward_", self.backward)):
            if native is not None:
                yield from ((f"{prefix}{name}", stage) for name, stage in native.stages())

    def text(self) -> str:
        """Return all stages as text, one after the other."""
        return "\n\n".join(f"---- {name}\n{stage.text()}" for name, stage in self.stages())

    def _forward(self) -> NativeStages:
        if self.forward is None:
            raise AttributeError(
                "only the backend 'stax' has buffers, a schedule, kernels, a wrapper"
            )
        return self.forward


def explain_call(
    function: Callable[..., Any],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    request: Request,
) -> Explanation:
    """Compile a call and keep every stage."""
    arguments = name_arguments(function, args, kwargs)
    structure = flatten((args, kwargs))
    names = {id(value): name for name, value in reversed(leaf_names(arguments))}
    tensors: list[Any] = list({id(each): each for each in structure.tensors}.values())
    name = getattr(function, "__qualname__", type(function).__qualname__)
    roots = [(function, name), *((each, type(each).__name__) for each in structure.objects)]
    captured = capture_call(
        function,
        args,
        kwargs,
        tensors,
        [names.get(id(each), "input") for each in tensors],
        survey(roots),
    )
    made = specialize(captured, request)
    return explain_specialization(made, request)


def explain_specialization(made: Specialization, request: Request) -> Explanation:
    """Return the stages of a specialization."""
    region = made.region
    if region is None:
        return Explanation(made.captured, None, None, None, None, None)
    partition = region.partition
    is_native = request.backend.name == "stax"
    return Explanation(
        captured=made.captured,
        operator_graph=region.forward_graph,
        joint_graph=region.trace.joint,
        partition=partition,
        forward=native_stages(region.forward_graph, request) if is_native else None,
        backward=native_stages(partition.backward, request) if partition and is_native else None,
    )


def native_stages(graph: OperatorGraph, request: Request) -> NativeStages:
    """Run an operator graph through Stax up to the sources."""
    from tensorplay.compiler.backends.stax import pipeline

    stages = pipeline.plan_graph(graph, request.target)
    sources = pipeline.print_sources(stages.plan, request.target)
    return NativeStages(
        buffers=stages.program,
        schedule=stages.schedule,
        plan=stages.plan,
        kernels=Kernels(sources.kernels),
        wrapper=Text(sources.wrapper),
        artifact=pipeline.explain_lookup(
            graph, request.target, request.options, strict=request.strict_native
        ),
    )


_COUNT: Final = itertools.count(1)


def dump(explanation: Explanation, name: str, folder: Path) -> Path:
    """Write the stages of one compilation as numbered files into a new folder below `folder`."""
    place = folder / f"{next(_COUNT):03}_{to_identifier(name)}"
    place.mkdir(parents=True, exist_ok=True)
    for number, (stage, value) in enumerate(explanation.stages(), 1):
        suffix = ".py" if stage.endswith("wrapper") else ".txt"
        (place / f"{number:02}_{stage}{suffix}").write_text(value.text() + "\n", encoding="utf-8")
    (place / "00_captured.py").write_text(explanation.captured.code, encoding="utf-8")
    return place
