"""`Region`: a traced function at run time: programs, writes, views, gradients (section 5.6).

    results = forward(inputs)             one compiled program
    inputs that the function writes take their new contents
    outputs = results, inputs, or views of them

Where a gradient can flow, the results get a node of the autograd graph (what an `autograd.Function`
would leave, without its generality), whose backward pass runs the backward program, which is compiled
when it is first needed. When the caller records the backward pass
itself (`create_graph=True`), the gradients are computed by a region of their own, traced from the
joint graph, so they can be differentiated again, to any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tensorplay import _C, dispatch
from tensorplay.autograd import is_grad_enabled
from tensorplay.autograd.node import Node as HistoryNode
from tensorplay.autograd.saved import SavedTensor, alias, released_error
from tensorplay.autograd.tensor_state import attach, gradient_edge
from tensorplay.compiler.aot.aliasing import copy_with_layout
from tensorplay.compiler.aot.joint_graph import returned_nodes
from tensorplay.compiler.aot.recorder import Recorder
from tensorplay.compiler.aot.trace import (
    FromInput,
    InputSpec,
    OutputPlan,
    SharedMemory,
    Trace,
    trace_function,
)
from tensorplay.compiler.phases import OperatorGraph, value_of
from tensorplay.core import layout
from tensorplay.core.errors import CompileError, VersionError
from tensorplay.core.meta import TensorMeta
from tensorplay.functions import zeros
from tensorplay.graph import Graph, Node
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from tensorplay.compiler.aot.backward import Gradients
    from tensorplay.compiler.aot.partition import Partition

Program: TypeAlias = "Callable[[Sequence[Tensor]], tuple[Tensor, ...]]"


class Toolchain(NamedTuple):
    """What a region is compiled with: the rewrites of its graph, and the backend."""

    transform: Callable[[Graph], None]
    compile: Callable[[OperatorGraph], Program]
    memory_budget: float = 1.0


class Source(NamedTuple):
    """Where a result comes from: output `number` of a program, or input `number`, or a copy of it."""

    is_input: bool
    number: int
    is_copy: bool = False

    def pick(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> Tensor:
        """Return the tensor."""
        tensor = (inputs if self.is_input else outputs)[self.number]
        return tensor.clone() if self.is_copy else tensor


class Region:
    """A compiled function of tensors: call it with tensors like those that it was traced for."""

    def __init__(self, trace: Trace, tools: Toolchain) -> None:
        """Transform and partition the traced graph, and compile the forward program."""
        self.trace = trace
        self.plan = trace.plan
        self.tools = tools
        tools.transform(trace.graph)
        self.gradients: Gradients | None = None
        if trace.joint is None:
            returned = returned_nodes(trace.graph)
            distinct = _distinct_computed(returned)
            trace.graph.output_node.args = (distinct,)
            self.forward_graph = OperatorGraph(trace.graph)
        else:
            from tensorplay.compiler.aot.backward import Gradients

            self.gradients = Gradients(trace.joint, self.plan, tools, compile_region)
            returned = trace.joint.outputs
            distinct = self.gradients.partition.forward_outputs
            self.forward_graph = self.gradients.partition.forward
        written = {position for _, position in self.plan.writes}
        self.sources = _result_sources(returned, distinct, trace.graph.placeholders, written)
        shared = {member for each in self.plan.shared for member in each.members}
        self.plain_inputs = [n for n in range(len(self.plan.inputs)) if n not in shared]
        self.input_places = {number: place for place, number in enumerate(self.plain_inputs)}
        for number in range(len(self.plan.shared)):
            self.input_places[len(self.plan.inputs) + number] = len(self.plain_inputs) + number
        self.records = any(self.plan.has_gradient)
        if not self.records:
            self._offer_write_backs(returned)
        self.forward = tools.compile(self.forward_graph)

    def _offer_write_backs(self, returned: Sequence[Node]) -> None:
        """Tell the backend which results may be written straight into the inputs that take them."""
        plan, inputs = self.plan, self.forward_graph.inputs
        uses = Counter(returned)
        for target, position in plan.writes:
            node, source = returned[position], inputs[self.input_places[target]]
            meta = value_of(source)
            if (
                node.op != "placeholder"
                and uses[node] == 1
                and _is_same_layout(value_of(node), meta)
                and (target >= len(plan.inputs) or plan.inputs[target].is_writable)
                and not layout.has_internal_overlap(meta.shape, meta.strides)
            ):
                node.meta["write_back"] = source.name

    @property
    def partition(self) -> Partition | None:
        """The forward and the backward graph, where a gradient can flow."""
        return None if self.gradients is None else self.gradients.partition

    @property
    def direct_outputs(self) -> tuple[int, ...] | None:
        """The program outputs that are the region's outputs, if running the program is all of it."""
        plan = self.plan
        if plan.writes or plan.shared or plan.constants or self.records:
            return None
        sources = [
            self.sources[each.number]
            for each in plan.outputs
            if not isinstance(each, FromInput) and not each.steps
        ]
        if len(sources) != len(plan.outputs) or any(
            each.is_input or each.is_copy for each in sources
        ):
            return None
        return tuple(each.number for each in sources)

    def __call__(self, *tensors: Tensor) -> list[Tensor]:
        """Run the function."""
        plan = self.plan
        bases = [_memory_of(each, tensors) for each in plan.shared]
        inputs = [*(tensors[number] for number in self.plain_inputs), *bases, *plan.constants]
        if self.records and is_grad_enabled():
            kept = () if self.gradients is None else self.gradients.kept
            for target, _ in plan.writes:
                place = self.input_places[target]
                if place in kept:  # the backward pass needs it as it was
                    inputs[place] = copy_with_layout(inputs[place])
            results = self._run_recorded(inputs)
        else:
            outputs = self.forward(inputs)
            results = [source.pick(outputs, inputs) for source in self.sources]
        for target, position in plan.writes:
            written = tensors[target] if target < len(tensors) else bases[target - len(tensors)]
            if results[position] is written:  # the program wrote straight into it
                written.untyped_storage().bump()
            elif written.is_leaf and written.requires_grad:  # the function wrote it under no_grad
                with dispatch.set_grad_enabled(False):
                    dispatch.write(written, results[position])
            else:
                dispatch.write(written, results[position])
        return [_output(each, tensors, results) for each in plan.outputs]

    def _run_recorded(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Run the forward program and give the results their history."""
        node = CompiledRegionBackward(self, inputs)
        outputs = self.forward(inputs)
        with dispatch.set_grad_enabled(False):
            results = [source.pick(outputs, inputs) for source in self.sources]
        saved = () if self.gradients is None else self.gradients.values_to_save(outputs, inputs)
        results = [
            alias(result) if source.is_input and not source.is_copy else result
            for result, source in zip(results, self.sources, strict=True)
        ]
        node.attach_to(results, saved)
        return results


def compile_region(
    function: Callable[[Recorder, Sequence[Tensor]], Sequence[Tensor]],
    inputs: Sequence[InputSpec],
    shared: Sequence[SharedMemory],
    tools: Toolchain,
    *,
    gradients: bool,
) -> Region:
    """Trace a function of tensors and compile it."""
    return Region(trace_function(function, inputs, shared, gradients=gradients), tools)


class CompiledRegionBackward(HistoryNode):
    """The place of one call of a region in the autograd graph.

    It keeps what the backward program reads, and the inputs from which derivatives of the gradients
    would be computed.
    """

    __slots__ = ("inputs", "region", "saved", "versions")

    def __init__(self, region: Region, inputs: Sequence[Tensor]) -> None:
        super().__init__(tuple(map(gradient_edge, inputs)))
        self.region = region
        read = () if region.gradients is None else region.gradients.read_again
        self.inputs: dict[int, Tensor] | None = {number: inputs[number] for number in read}
        self.versions = {number: inputs[number].untyped_storage().version for number in read}
        self.saved: list[SavedTensor] = []

    def attach_to(self, results: Sequence[Tensor], saved: Sequence[Tensor]) -> None:
        """Become the history of the results, and keep `saved`."""
        number_of = {id(result): number for number, result in enumerate(results)}
        self.saved = [SavedTensor(each, number_of.get(id(each))) for each in saved]
        self.describe_outputs(results)
        for number, flow in enumerate(self.region.plan.has_gradient):
            if flow:
                attach(results[number], self, number)

    def apply(
        self, grads: Sequence[Tensor | None], wanted: Sequence[bool]
    ) -> Sequence[Tensor | None]:
        """Run the backward program, or, to be recorded, the region of the gradients."""
        del wanted
        region, inputs = self.region, self.inputs
        if inputs is None:
            raise released_error(self)
        if region.gradients is None:
            error = region.trace.gradient_error
            raise CompileError("this function has no backward pass") if error is None else error
        saved = [each.unpack(self) for each in self.saved]
        tangents = [
            zeros(output[0], dtype=output[1], device=output[2]) if grad is None else grad
            for grad, output, flow in zip(
                grads, self.outputs, region.plan.has_gradient, strict=True
            )
            if flow and output is not None
        ]
        if is_grad_enabled():
            _check_versions(inputs, self.versions)
            values = region.gradients.recorded(inputs, saved, tangents)
        else:
            values = region.gradients.computed(saved, tangents)
        found: list[Tensor | None] = [None] * len(self.edges)
        for number, value in zip(region.gradients.input_numbers, values, strict=True):
            found[number] = value
        return found

    def release(self) -> None:
        """Drop what was saved."""
        self.inputs, self.saved = None, []


def _is_same_layout(a: TensorMeta, b: TensorMeta) -> bool:
    return (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)


def _distinct_computed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(node for node in nodes if node.op != "placeholder"))


def _result_sources(
    returned: Sequence[Node],
    outputs: Sequence[Node],
    inputs: Sequence[Node],
    written: set[int],
) -> list[Source]:
    """Say where each result comes from. Results that the caller sees have memory of their own."""
    output_number = {node: number for number, node in enumerate(outputs)}
    input_number = {node: number for number, node in enumerate(inputs)}
    sources: list[Source] = []
    given: set[Node] = set()
    for position, node in enumerate(returned):
        if node in input_number:
            is_copy = position not in written
            sources.append(Source(is_input=True, number=input_number[node], is_copy=is_copy))
            continue
        is_copy = position not in written and node in given
        sources.append(Source(is_input=False, number=output_number[node], is_copy=is_copy))
        if position not in written:
            given.add(node)
    return sources


def _output(plan: OutputPlan, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> Tensor:
    tensor = (inputs if isinstance(plan, FromInput) else results)[plan.number]
    for step in plan.steps:
        tensor = dispatch.call(step.operator, (tensor, *step.arguments))
    return tensor


def _memory_of(shared: SharedMemory, tensors: Sequence[Tensor]) -> Tensor:
    """Return the memory that some inputs share, from the first to the last element, as a tensor."""
    member, offset = shared.members[0], shared.offsets[0]
    tensor = tensors[member]
    assert tensor.array is not None  # noqa: S101  # only tensors with data share memory here
    array = _C.view(tensor.array, (shared.size,), (1,), -offset)
    memory: Tensor = _C.wrap_view(array, tensor)
    return memory


def _check_versions(inputs: Mapping[int, Tensor], versions: Mapping[int, int]) -> None:
    for number, tensor in inputs.items():
        if tensor.untyped_storage().version != versions[number]:
            raise VersionError(
                f"differentiating the gradient of a compiled function needs its input {number} of "
                f"shape {tuple(tensor.shape)} as it was, but it has been changed by an in-place "
                "operation; change a clone() of it"
            )
