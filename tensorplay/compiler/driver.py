"""The straight line of a call, from a function and its arguments to something that runs.

    survey      what the function reads beside its arguments
    capture     the function as a graph, and the conditions of data gates as another
    record      the graph as operators, with the backward pass if one can follow
    transform   exact rewrites
    partition   a forward and a backward graph
    compile     the forward graph; the backward graph when it is first needed

`Specialization` is the result: what to run, with what, and when it may be used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorplay import _C, dispatch
from tensorplay.compiler.aot.aliasing import find_shared_memory
from tensorplay.compiler.aot.recorder import Recorder
from tensorplay.compiler.aot.region import Region, Toolchain
from tensorplay.compiler.aot.trace import InputSpec, trace_function
from tensorplay.compiler.backends import Backend, compile_graph
from tensorplay.compiler.capture.capture import capture
from tensorplay.compiler.capture.captured_graph import (
    CapturedGraph,
    OutputSlot,
)
from tensorplay.compiler.capture.environment import Environment
from tensorplay.compiler.capture.guard_replay import cut_guard_replay
from tensorplay.compiler.capture.mode import answer
from tensorplay.compiler.capture.structure import map_structure
from tensorplay.compiler.options import Options
from tensorplay.compiler.phases import OperatorGraph
from tensorplay.compiler.statistics import count
from tensorplay.compiler.target import Target
from tensorplay.compiler.transforms.dead_code import eliminate_dead_code
from tensorplay.compiler.transforms.fixpoint import transform
from tensorplay.core.config import config
from tensorplay.core.cycle_collector import without_collections
from tensorplay.core.random import default_generator
from tensorplay.graph import GraphModule, Interpreter, Node
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor


class Request(NamedTuple):
    """What the user asked of `tp.compile`."""

    backend: Backend
    options: Options
    strict_native: bool
    target: Target

    def toolchain(self) -> Toolchain:
        """Return what regions are compiled with."""

        @without_collections()  # a backward half arrives here alone
        def compile_operators(graph: OperatorGraph) -> Any:  # noqa: ANN401  # a CompiledProgram
            if config.verify:
                graph.verify()
            return compile_graph(
                self.backend, graph, self.target, self.options, strict=self.strict_native
            )

        return Toolchain(transform, compile_operators, self.options.memory_budget)


class Specialization(NamedTuple):
    """A compiled function for one kind of call.

    `run` takes the tensors of `captured.inputs` and returns the result, or, if `select` is a number,
    a tuple of which that item is the result. `gates_hold` takes the same tensors. `region` is None
    where the backend runs the captured graph.
    """

    captured: CapturedGraph
    region: Region | None
    guard: Region | None
    run: Callable[..., Any]
    select: int | None

    def gates_hold(self, tensors: Sequence[Tensor]) -> bool:
        """Whether all decisions on data would be made as they were at capture."""
        return self.first_changed_gate(tensors) is None

    def first_changed_gate(self, tensors: Sequence[Tensor]) -> str | None:
        """Return which decision on data would be made differently now, if any would."""
        if self.guard is None:
            return None
        count("gate_checks")
        state = default_generator.get_state()
        with dispatch.set_grad_enabled(False):
            values = self.guard(*tensors)
        default_generator.set_state(state)
        for gate, value in zip(self.captured.gates, values, strict=True):
            if value.array is None or answer(value.array, gate.what) != gate.answer:
                where = gate.node.meta.get("stack")
                return f"the answer of {gate.what} at {where} changed"
        return None


@without_collections()  # a graph of a million objects, all alive, costs the collector seconds
def capture_call(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    tensors: Sequence[Tensor],
    names: Sequence[str],
    environment: Environment,
) -> CapturedGraph:
    """Run the function once on tensors without data, and record what it calls.

    `tensors` are the distinct ones in the arguments, and `names` what to call them.
    """
    captured = capture(function, args, kwargs, tensors, names, environment)
    if config.verify:
        captured.verify()

    # Cut out what decided the branches that depend on data, then drop what nothing needs any more.
    captured = replace(captured, guard=cut_guard_replay(captured))
    eliminate_dead_code(captured.module.graph, captured.effects.__contains__)
    return captured


@without_collections()
def specialize(captured: CapturedGraph, request: Request) -> Specialization:
    """Compile a captured function."""
    # What decided the branches that depend on data is asked again at each call.
    tools = request.toolchain()
    samples = [each.sample for each in captured.inputs]
    guard = None
    if captured.guard is not None:
        with dispatch.set_grad_enabled(False):
            guard = _guard_region(captured.guard, samples, tools)

    # The backend for finding faults of capture runs the graph as it is.
    if request.backend.compile is None:
        run = _runner(captured, _run_captured(captured))
        return Specialization(captured, None, guard, run, None)

    # Record operators and the backward pass, rewrite, partition, compile.
    shared = find_shared_memory(samples)
    gradients = dispatch.is_grad_enabled() and any(each.requires_grad for each in samples)
    trace = trace_function(
        module_function(captured.module), input_specs(captured), shared, gradients=gradients
    )
    region = Region(trace, tools)
    run, select = _direct(captured, region) or (_runner(captured, region), None)
    return Specialization(captured, region, guard, run, select)


def input_specs(captured: CapturedGraph) -> list[InputSpec]:
    """Return what the inputs of a captured graph look like."""
    return [
        InputSpec(
            each.sample.tensor_meta,
            each.node.name,
            each.sample.requires_grad,
            each.sample.is_leaf,
            is_writable(each.sample),
        )
        for each in captured.inputs
    ]


def is_writable(tensor: Tensor) -> bool:
    """Whether a tensor's memory may be written."""
    return tensor.array is not None and tensor.array.flags.writeable


def module_function(
    module: GraphModule,
) -> Callable[[Recorder, Sequence[Tensor]], Sequence[Tensor]]:
    """Return the function that runs a captured graph under a recorder, noting the user's lines."""

    def run(recorder: Recorder, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        return _NotingInterpreter(module, recorder).run(*tensors)  # type: ignore[return-value]  # its role says so

    return run


class _NotingInterpreter(Interpreter):
    """Tells the recorder which of the user's lines the operators come from."""

    def __init__(self, module: GraphModule, recorder: Recorder) -> None:
        super().__init__(module)
        self._recorder = recorder

    def run_node(self, node: Node) -> object:
        self._recorder.stack = node.meta.get("stack")
        return super().run_node(node)


def _guard_region(module: GraphModule, samples: Sequence[Tensor], tools: Toolchain) -> Region:
    """Compile the conditions of gates. Writes in them stay inside: a guard changes nothing."""
    specs = [InputSpec(each.tensor_meta, "input") for each in samples]
    shared = find_shared_memory(samples)
    trace = trace_function(module_function(module), specs, shared, gradients=False)
    return Region(trace._replace(plan=trace.plan._replace(writes=())), tools)


def _run_captured(captured: CapturedGraph) -> Callable[..., Sequence[Tensor]]:
    """Return a function that runs the captured graph, as the backend `eager` does."""
    module = captured.module

    def run(*tensors: Tensor) -> Sequence[Tensor]:
        with dispatch.set_grad_enabled(dispatch.is_grad_enabled()):
            return module(*tensors)  # type: ignore[return-value]  # a flat tuple of tensors

    return run


def _direct(
    captured: CapturedGraph, region: Region
) -> tuple[Callable[..., Any], int | None] | None:
    """Return the program itself where running it is all that a call does."""
    direct = region.direct_outputs
    if direct is None or captured.assigned or not isinstance(region.forward, _C.Program):
        return None
    structure = captured.structure
    if isinstance(structure, OutputSlot):
        if structure.cls is not None:
            return None
        return region.forward, direct[structure.index]
    if (
        type(structure) is tuple
        and _slots_in_order(structure)
        and direct == tuple(range(len(region.forward_graph.outputs)))
    ):
        return region.forward, None
    return None


def _slots_in_order(structure: tuple[object, ...]) -> bool:
    """Whether a result is a flat tuple of the outputs, in order."""
    return all(
        isinstance(slot, OutputSlot) and slot.index == place and slot.cls is None
        for place, slot in enumerate(structure)
    )


def _runner(
    captured: CapturedGraph, compute: Callable[..., Sequence[Tensor]]
) -> Callable[..., Any]:
    """Return a function that computes, assigns rebound places, and builds the result."""
    structure, places = captured.structure, captured.assigned
    first_assigned = captured.num_results
    if isinstance(structure, OutputSlot) and structure.cls is None and not places:
        return lambda *tensors: compute(*tensors)[structure.index]

    def run(*tensors: Tensor) -> object:
        outputs = compute(*tensors)
        for place, value in zip(places, outputs[first_assigned:], strict=True):
            place.set(value)
        return map_structure(
            lambda leaf: _result(leaf, outputs, tensors) if isinstance(leaf, OutputSlot) else leaf,
            structure,
        )

    return run


def _result(slot: OutputSlot, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> Tensor:
    """Return an output, as an instance of the class that the function gave it."""
    output = outputs[slot.index]
    if slot.cls is None or type(output) is slot.cls:
        return output
    if any(output is each for each in inputs):  # it keeps its own class
        output = dispatch.call(tp.alias, (output,))
    output.__class__ = slot.cls
    return output
