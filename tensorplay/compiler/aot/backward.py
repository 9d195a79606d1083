"""The backward side of a region: what is saved, the backward programs, derivatives of gradients.

In: a joint graph. Out: gradients, computed by a backward program (one for each combination of the
tangents' strides, compiled when first needed), or, where the caller records the backward pass, as
results of a region that is traced from the joint graph and can be differentiated in turn.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tensorplay.compiler.aot.joint_graph import JointGraph
from tensorplay.compiler.aot.partition import gradient_graph, partition_min_cut
from tensorplay.compiler.aot.remat import trait_of
from tensorplay.compiler.aot.trace import Function, InputSpec, Plan, SharedMemory
from tensorplay.compiler.phases import OperatorGraph
from tensorplay.compiler.statistics import count
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Interpreter, Node
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from tensorplay.compiler.aot.recorder import Recorder
    from tensorplay.compiler.aot.region import Program, Region, Toolchain


_SAVED, _TANGENT, _COMPUTED = 0, 1, 2
"""Where a tensor of the backward pass comes from."""


class CompileRegion(Protocol):
    """`region.compile_region`, which stands above this module."""

    def __call__(
        self,
        function: Function,
        inputs: Sequence[InputSpec],
        shared: Sequence[SharedMemory],
        tools: Toolchain,
        *,
        gradients: bool,
    ) -> Region:
        """Trace and compile a function of tensors."""
        ...


class Gradients:
    """The backward side of a region."""

    def __init__(
        self, joint: JointGraph, plan: Plan, tools: Toolchain, compile_region: CompileRegion
    ) -> None:
        """Partition the joint graph. `compile_region` makes the region of the gradients."""
        self.joint = joint
        self.tools = tools
        self._compile_region = compile_region
        self.partition = partition_min_cut(joint, trait_of, memory_budget=tools.memory_budget)
        shared = {member for each in plan.shared for member in each.members}
        plain = [number for number in range(len(plan.inputs)) if number not in shared]
        place = {number: position for position, number in enumerate(plain)}
        self.input_numbers = [place[number] for number in joint.gradient_of]
        self.recorded_graph, self.recorded_inputs = gradient_graph(joint, trait_of)
        tangents = set(joint.tangents)
        primals = {node: number for number, node in enumerate(joint.primals)}
        outputs = {node: number for number, node in enumerate(self.partition.forward_outputs)}
        states = [node for node in self.recorded_inputs if node.op != "placeholder"]
        wanted = [*self.partition.backward_inputs, *states]
        self.saved_nodes = [node for node in dict.fromkeys(wanted) if node not in tangents]
        self._saved = [
            (True, primals[node]) if node in primals else (False, outputs[node])
            for node in self.saved_nodes
        ]
        self.read_again = frozenset(
            primals[node] for node in self.recorded_inputs if node in primals
        )
        """The inputs that derivatives of the gradients are computed from."""
        self.kept = self.read_again | {number for is_input, number in self._saved if is_input}
        """The inputs that a call keeps in one way or the other."""
        order = {node: number for number, node in enumerate(self.saved_nodes)}
        tangent_number = {node: number for number, node in enumerate(joint.tangents)}
        computed = {node: number for number, node in enumerate(self.partition.backward_outputs)}
        known = {node: (_SAVED, number) for node, number in order.items()}
        known.update({node: (_TANGENT, number) for node, number in tangent_number.items()})
        self._given = [known[node] for node in self.partition.backward_inputs]
        self._found = [
            (_COMPUTED, computed[node]) if node in computed else known[node]
            for node in joint.gradients
        ]
        self._lock = threading.Lock()
        self._programs: dict[object, Program] = {}
        self._regions: dict[object, Region] = {}

    def values_to_save(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return what a call keeps for its backward pass, in the order of `saved_nodes`."""
        return [(inputs if is_input else outputs)[number] for is_input, number in self._saved]

    def computed(self, saved: Sequence[Tensor], tangents: Sequence[Tensor]) -> list[Tensor]:
        """Return the gradients by the backward program, compiled for the tangents' strides."""
        program = self._programs.get(tuple([each.strides for each in tangents]))
        if program is None:
            program = self._compile_backward(tangents)
        groups: list[Sequence[Tensor]] = [saved, tangents]
        groups.append(program([groups[group][number] for group, number in self._given]))
        return [groups[group][number] for group, number in self._found]

    def recorded(
        self, inputs: Mapping[int, Tensor], saved: Sequence[Tensor], tangents: Sequence[Tensor]
    ) -> list[Tensor]:
        """Return the gradients as results of a region that can itself be differentiated.

        `inputs` are those of `read_again`.
        """
        known: dict[Node, Tensor] = dict(zip(self.saved_nodes, saved, strict=True))
        known.update({self.joint.primals[number]: each for number, each in inputs.items()})
        known.update(zip(self.joint.tangents, tangents, strict=True))
        outputs = self.recorded_graph_outputs()
        if not outputs:
            return [known[node] for node in self.joint.gradients]
        arguments = [known[node] for node in self.recorded_inputs]
        key = tuple((each.requires_grad, each.strides) for each in arguments)
        with self._lock:
            region = self._regions.get(key)
            if region is None:
                region = self._regions[key] = self._compile_recorded(arguments)
        found = region(*arguments)
        known.update(zip(outputs, found, strict=True))
        return [known[node] for node in self.joint.gradients]

    def recorded_graph_outputs(self) -> tuple[Node, ...]:
        """Return the distinct gradients that are computed, as nodes of the joint graph."""
        given = set(self.recorded_inputs)
        found = (n for n in self.joint.gradients if n.op != "placeholder" and n not in given)
        return tuple(dict.fromkeys(found))

    def backward_graph(self, tangents: Sequence[Tensor]) -> OperatorGraph:
        """Return the backward graph for tangents with these strides."""
        graph, copies = self.partition.backward.graph.copy()
        strides = {
            node.name: each for node, each in zip(self.joint.tangents, tangents, strict=True)
        }
        for node in copies.values():
            tangent = strides.get(node.name)
            if node.op == "placeholder" and tangent is not None:
                node.meta["val"] = meta_like(tangent)
        return OperatorGraph(graph)

    def _compile_backward(self, tangents: Sequence[Tensor]) -> Program:
        with self._lock:
            key = tuple(each.strides for each in tangents)
            program = self._programs.get(key)
            if program is None:
                program = self.tools.compile(self.backward_graph(tangents))
                self._programs[key] = program
                count("backwards_compiled")
        return program

    def _compile_recorded(self, arguments: Sequence[Tensor]) -> Region:
        graph = self.recorded_graph.graph
        specs = [
            InputSpec(meta_like(each), node.name, requires_grad=each.requires_grad)
            for each, node in zip(arguments, self.recorded_inputs, strict=True)
        ]

        def run(_recorder: Recorder, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
            return Interpreter(graph).run(*tensors)  # type: ignore[return-value]  # tensors only

        return self._compile_region(run, specs, (), self.tools, gradients=True)


def meta_like(tensor: Tensor) -> TensorMeta:
    """Return the metadata of a tensor, as an input's."""
    return TensorMeta(tensor.shape, tensor.dtype, tensor.device, tensor.strides)
