"""Runs a function under the recorder and says what it did to memory.

In: a function on tensors and what its inputs look like. Out: a `Trace`: one pure graph (a joint graph
where a gradient can flow), and the *plan* by which the caller sees what eager execution would have
shown: which inputs are written, which results are inputs or views of inputs, which share memory.

The graph returns *results*, each with memory of its own: first the new contents of inputs that were
written, then the values from which the outputs are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from tensorplay import dispatch
from tensorplay.autograd import grad
from tensorplay.autograd.inplace import InPlaceWrite
from tensorplay.autograd.saved import alias
from tensorplay.autograd.tensor_state import attach, gradient_edge
from tensorplay.compiler.aot.joint_graph import BACKWARD, JointGraph, is_backward
from tensorplay.compiler.aot.recorder import Recorder, has_strides, in_order_of
from tensorplay.compiler.phases import operator_of
from tensorplay.core import layout
from tensorplay.core.errors import CompileError, GradientError, NotDifferentiableError
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Graph, Node
from tensorplay.ops.registry import Operator, tp
from tensorplay.tensor import Tensor


class InputSpec(NamedTuple):
    """What an input looks like. Only computed ones (no leaves) can be written under autograd."""

    meta: TensorMeta
    name: str
    requires_grad: bool = False
    is_leaf: bool = True
    is_writable: bool = True


class SharedMemory(NamedTuple):
    """Inputs that lie in one storage: their numbers, and how far each is from the first element.

    `size` is the number of elements from the first to the last that any of them shows.
    """

    members: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int


class Step(NamedTuple):
    """One view operator with its arguments."""

    operator: Operator
    arguments: tuple[object, ...]


class FromInput(NamedTuple):
    """An output that is an input, or the view of it that `steps` make."""

    number: int
    steps: tuple[Step, ...] = ()


class FromResult(NamedTuple):
    """An output that is a result, or the view of it that `steps` make."""

    number: int
    steps: tuple[Step, ...] = ()


OutputPlan: TypeAlias = FromInput | FromResult


class Plan(NamedTuple):
    """How calls of the recorded function look from outside.

    `inputs` are those of the function; the graph takes, after them, `constants`. `shared` inputs
    are replaced by the memory that they lie in. `writes` pairs inputs (or, from `len(inputs)` on,
    shared memories) with the result that is their new contents.
    """

    inputs: tuple[InputSpec, ...]
    shared: tuple[SharedMemory, ...]
    constants: tuple[Tensor, ...]
    writes: tuple[tuple[int, int], ...]
    outputs: tuple[OutputPlan, ...]
    has_gradient: tuple[bool, ...]
    """Of each result: whether a gradient can flow into it."""


class Trace(NamedTuple):
    """A recorded function. `joint` is there where gradients can flow; else `graph` is all.

    `gradient_error` is what autograd said when there is no backward pass although one was wanted.
    """

    plan: Plan
    graph: Graph
    joint: JointGraph | None
    gradient_error: Exception | None = None


Function: TypeAlias = "Callable[[Recorder, Sequence[Tensor]], Sequence[Tensor]]"


def trace_function(
    function: Function,
    inputs: Sequence[InputSpec],
    shared: Sequence[SharedMemory] = (),
    *,
    gradients: bool,
) -> Trace:
    """Run `function(recorder, tensors)` on tensors without data, and then its backward pass.

    With `gradients` it runs in grad mode, else in the current one.

    Inputs that share memory are first taken to be apart; only if one of them turns out to be
    written, the function is run again on views of the memory that they share.
    """
    records = gradients or dispatch.is_grad_enabled()
    tracing = _Tracing(inputs, ())
    outputs = tracing.run(function, records=records)
    written = tracing.written_inputs()
    overlapping = tuple(each for each in shared if not written.isdisjoint(each.members))
    if overlapping:
        for each in overlapping:
            if gradients and any(inputs[member].requires_grad for member in each.members):
                names = ", ".join(inputs[member].name for member in each.members)
                raise CompileError(
                    f"the inputs {names} share memory, one of them is written, and one requires a "
                    "gradient: pass clones, or call the function without compiling it"
                )
        tracing = _Tracing(inputs, overlapping)
        outputs = tracing.run(function, records=records)
    return tracing.finish(outputs, records=records)


class _Tracing:
    """One run of a function under a recorder."""

    def __init__(self, inputs: Sequence[InputSpec], shared: Sequence[SharedMemory]) -> None:
        self.specs = tuple(inputs)
        self.shared = tuple(shared)
        self.recorder = Recorder()
        in_shared = {member: each for each in shared for member in each.members}
        self.primals: list[Tensor | None] = []
        for number, spec in enumerate(inputs):
            if number in in_shared:
                self.primals.append(None)
                continue
            self.primals.append(
                self.recorder.input(
                    spec.meta, f"primals_{number + 1}", requires_grad=spec.requires_grad
                )
            )
        self.bases = [self._base(each) for each in shared]
        known = [*self.primals, *self.bases]
        self.placeholders = [
            None if each is None else self.recorder.node_of(each) for each in known
        ]
        self.tensors: list[Tensor] = [
            _computed(primal) if spec.requires_grad and not spec.is_leaf else primal
            for primal, spec in zip(self.primals, inputs, strict=True)
            if primal is not None
        ]
        if shared:
            self._insert_members()

    def _base(self, shared: SharedMemory) -> Tensor:
        first = self.specs[shared.members[0]]
        meta = TensorMeta((shared.size,), first.meta.dtype, first.meta.device)
        return self.recorder.input(meta, f"memory_{shared.members[0] + 1}")

    def _insert_members(self) -> None:
        with self.recorder:
            for base, each in zip(self.bases, self.shared, strict=True):
                for member, offset in sorted(zip(each.members, each.offsets, strict=True)):
                    meta = self.specs[member].meta
                    view = tp.as_strided(base, meta.shape, meta.strides, offset)
                    self.tensors.insert(member, view)

    def run(self, function: Function, *, records: bool) -> Sequence[Tensor]:
        with self.recorder, dispatch.set_grad_enabled(records):
            return function(self.recorder, self.tensors)

    def written_inputs(self) -> set[int]:
        return {
            number
            for number, tensor in enumerate(self.tensors)
            if self.recorder.memory_of(tensor).writes
        }

    def finish(self, outputs: Sequence[Tensor], *, records: bool) -> Trace:
        """Plan the outputs, record the backward pass, and end the graph."""
        results: list[Tensor] = []
        writes = self._plan_writes(results)
        plans = self._plan_outputs(outputs, results)
        nodes = self._written_values(writes, results)
        nodes += [self._own_memory(result) for result in results[len(writes) :]]
        flows = tuple(
            records and result.requires_grad and not self._is_leaf_input(result)
            for result in results
        )
        gradient_of: list[int] = []
        error: Exception | None = None
        if any(flows):
            try:
                found = self._backward([r for r, flow in zip(results, flows, strict=True) if flow])
            except (GradientError, NotDifferentiableError) as caught:
                error = caught
                self._forget_backward()
            else:
                gradient_of = [number for number, gradient in found if gradient is not None]
                nodes += [self.recorder.node_of(g) for _, g in found if g is not None]
        self.recorder.graph.output(tuple(nodes))
        constants = tuple(tensor for tensor, _ in self.recorder.constants.values())
        plan = Plan(self.specs, self.shared, constants, writes, plans, flows)
        graph = self.recorder.graph
        joint = None
        if any(flows) and error is None:
            num_primals = len(graph.placeholders) - sum(flows)
            joint = JointGraph(graph, num_primals, len(results), tuple(gradient_of))
        return Trace(plan, graph, joint, error)

    def _plan_writes(self, results: list[Tensor]) -> tuple[tuple[int, int], ...]:
        """Make the new contents of written inputs results."""
        writes: list[tuple[int, int]] = []
        shared_members = {member for each in self.shared for member in each.members}
        places = [
            (number, tensor)
            for number, tensor in enumerate(self.tensors)
            if number not in shared_members
        ]
        places += [(len(self.specs) + number, base) for number, base in enumerate(self.bases)]
        for number, tensor in places:
            if self.recorder.memory_of(tensor).writes:
                writes.append((number, len(results)))
                results.append(tensor)
        return tuple(writes)

    def _written_values(
        self, writes: Sequence[tuple[int, int]], results: Sequence[Tensor]
    ) -> list[Node]:
        """Return the nodes of the new contents of written inputs.

        Where one input takes what another held before that was written, a copy is recorded: at run
        time the other may have its new contents already.
        """
        before = {id(self.placeholders[number]) for number, _ in writes}
        nodes: list[Node] = []
        for number, position in writes:
            node = self.recorder.node_of(results[position])
            if id(node) in before and node is not self.placeholders[number]:
                with self.recorder:
                    node = self.recorder.node_of(tp.clone(results[position]))
            nodes.append(node)
        return nodes

    def _is_leaf_input(self, result: Tensor) -> bool:
        """Whether a result is an input that was written outside autograd: no gradient flows to it."""
        return result.grad_fn is None and any(result is primal for primal in self.primals)

    def _plan_outputs(
        self, outputs: Sequence[Tensor], results: list[Tensor]
    ) -> tuple[OutputPlan, ...]:
        """Say where each output comes from, adding to the results what has to be computed."""
        number_of = {id(tensor): number for number, tensor in enumerate(self.tensors)}
        memory_sharers: dict[int, set[int]] = {}
        recorded = [self.recorder.without_data(output) for output in outputs]
        for output in recorded:
            key = id(output.untyped_storage())
            memory_sharers.setdefault(key, set()).add(id(output))
        plans: list[OutputPlan] = []
        result_of: dict[int, int] = {}
        for output in recorded:
            memory = id(output.untyped_storage())
            source, steps = _origin(output, number_of)
            if id(source) in number_of:
                plans.append(FromInput(number_of[id(source)], steps))
                continue
            if steps and len(memory_sharers[memory]) == 1 and _fills_memory(output, source):
                source, steps = output, ()
            if id(source) not in result_of:
                result_of[id(source)] = len(results)
                results.append(source)
            plans.append(FromResult(result_of[id(source)], steps))
        return tuple(plans)

    def _own_memory(self, result: Tensor) -> Node:
        """Return a node for a result that the caller gets: with its strides, and no view of others.

        After writes through views, the current value of a tensor may be a view of what was written,
        or lie in another order.
        """
        node = self.recorder.node_of(result)
        meta = result.tensor_meta
        is_view = _is_view(node) and not dispatch.view_steps(result)
        value = node.meta["val"]
        if not is_view and isinstance(value, TensorMeta) and has_strides(value, meta.strides):
            return node
        with self.recorder:
            return self.recorder.node_of(in_order_of(result, meta))

    def _forget_backward(self) -> None:
        """Erase what was recorded of a backward pass that turned out not to exist."""
        graph = self.recorder.graph
        for node in reversed(graph.nodes):
            if is_backward(node):
                graph.erase_node(node)

    def _backward(self, results: Sequence[Tensor]) -> list[tuple[int, Tensor | None]]:
        """Record the gradients of the primals, given a tangent for each result."""
        self.recorder.tag = BACKWARD
        tangents = [
            self.recorder.input(_tangent_meta(result), f"tangents_{number + 1}", is_tangent=True)
            for number, result in enumerate(results)
        ]
        wanted = [
            (number, primal)
            for number, primal in enumerate(self.primals)
            if primal is not None and primal.requires_grad
        ]
        if not wanted:
            return []
        with self.recorder:
            found = grad(
                list(results), [primal for _, primal in wanted], tangents, allow_unused=True
            )
        return [(number, g) for (number, _), g in zip(wanted, found, strict=True)]


def _computed(primal: Tensor) -> Tensor:
    """Return the primal as a computed tensor, whose gradient is the primal's."""
    twin = alias(primal)
    node = InPlaceWrite((gradient_edge(primal),))
    node.describe_outputs((twin,))
    attach(twin, node, 0)
    return twin


def _origin(tensor: Tensor, number_of: dict[int, int]) -> tuple[Tensor, tuple[Step, ...]]:
    """Return the input, or else the base, that a tensor is a view of, and the steps to it."""
    found: list[Step] = []
    if id(tensor) not in number_of:
        for step in reversed(dispatch.view_steps(tensor)):
            found.append(Step(step.operator, step.arguments))
            tensor = step.source
            if id(tensor) in number_of:
                break
    return tensor, tuple(reversed(found))


def _fills_memory(view: Tensor, base: Tensor) -> bool:
    """Whether a view shows each element of its base once, in whatever order."""
    meta = view.tensor_meta
    return meta.numel == base.numel() and layout.is_dense(meta.shape, meta.strides)


def _is_view(node: Node) -> bool:
    operator = operator_of(node)
    return operator is not None and operator.kind.is_view


def _tangent_meta(result: Tensor) -> TensorMeta:
    meta = result.tensor_meta
    return TensorMeta(meta.shape, meta.dtype, meta.device, meta.strides)
