"""`Sampling`: runs captured calls on copies of the real inputs, when the program asks for data.

It starts with all calls so far, in order, and then follows each call as it is recorded, so that
every call is run at most once and writes happen in their order. The inputs are copies: capture
changes no tensor. The caller restores the random state when capture ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorplay import dispatch
from tensorplay.compiler.aot.aliasing import copy_memory
from tensorplay.compiler.capture.captured_graph import CapturedInput
from tensorplay.graph import Graph, Interpreter, Node
from tensorplay.tensor import Tensor


class Sampling(Interpreter):
    """The values of a graph's nodes for the inputs at hand."""

    def __init__(self, graph: Graph, inputs: Sequence[CapturedInput]) -> None:
        """Run the calls that the graph holds so far."""
        super().__init__(graph)
        self.add_inputs(inputs)
        for node in graph.nodes:
            if node.op != "placeholder":
                self.run_call(node)

    def add_inputs(self, inputs: Sequence[CapturedInput]) -> None:
        """Take copies of further inputs."""
        with dispatch.without_modes():
            copies = copy_memory([each.sample for each in inputs])
        for each, copied in zip(inputs, copies, strict=True):
            copied.requires_grad = each.sample.requires_grad
            self._values[each.node] = copied

    def run_call(self, node: Node) -> None:
        """Run one more call, outside of all modes."""
        with dispatch.without_modes():
            self._values[node] = self.run_node(node)

    def value(self, node: Node) -> Tensor:
        """Return the value of a node that is a tensor."""
        value = self._values[node]
        if not isinstance(value, Tensor):
            raise TypeError(f"%{node.name} is no tensor")
        return value
