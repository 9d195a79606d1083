"""`JointGraph`: the forward and the backward pass in one graph, each node tagged with its pass.

`text()` is the form of the chapter's Listing 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorplay.core.errors import VerifyError
from tensorplay.core.readable import Readable
from tensorplay.graph import Graph, Node
from tensorplay.graph.text import shape_text, target_text, value_text

FORWARD = "FW"
BACKWARD = "BW"


def is_backward(node: Node) -> bool:
    """Whether a node belongs to the backward pass."""
    return node.meta.get("tag") == BACKWARD


@dataclass(frozen=True, slots=True)
class JointGraph(Readable):
    """A pure graph that returns the `num_outputs` results first, then the gradients.

    The inputs are the `num_primals` inputs of the forward pass, then one tangent for each
    differentiable result. `gradient_of` says which primal each returned gradient belongs to.
    """

    graph: Graph
    num_primals: int
    num_outputs: int
    gradient_of: tuple[int, ...]

    @property
    def primals(self) -> tuple[Node, ...]:
        """The inputs of the forward pass."""
        return self.graph.placeholders[: self.num_primals]

    @property
    def tangents(self) -> tuple[Node, ...]:
        """The gradients of the results: the further inputs of the backward pass."""
        return self.graph.placeholders[self.num_primals :]

    @property
    def returned(self) -> tuple[Node, ...]:
        """The results and then the gradients, as they are returned: a node may stand twice."""
        return returned_nodes(self.graph)

    @property
    def outputs(self) -> tuple[Node, ...]:
        """The results of the forward pass."""
        return self.returned[: self.num_outputs]

    @property
    def gradients(self) -> tuple[Node, ...]:
        """The gradients that the backward pass returns."""
        return self.returned[self.num_outputs :]

    def text(self) -> str:
        """Return the graph in the form of Listing 5.2: tags, shapes, shortened targets."""
        return "\n".join(_line(node) for node in self.graph.nodes)

    def verify(self) -> None:
        """Raise `VerifyError` where a forward node reads the backward pass, or a tag is missing."""
        self.graph.verify()
        for node in self.graph.nodes:
            if node.op == "output":
                continue
            if node.meta.get("tag") not in {FORWARD, BACKWARD}:
                raise VerifyError(f"%{node.name} has no tag")
            if not is_backward(node):
                for read in node.input_set:
                    if is_backward(read):
                        raise VerifyError(f"[FW] %{node.name} reads [BW] %{read.name}")
        if len(self.gradients) != len(self.gradient_of):
            raise VerifyError("the joint graph doesn't say which primal each gradient belongs to")


def returned_nodes(graph: Graph) -> tuple[Node, ...]:
    """Return the nodes in a graph's flat output."""
    (value,) = graph.output_node.args
    if isinstance(value, tuple):
        nodes = tuple(node for node in value if isinstance(node, Node))
        if len(nodes) == len(value):
            return nodes
    raise VerifyError("the graph's output isn't a flat tuple of nodes")


def _line(node: Node) -> str:
    if node.op == "output":
        return f"[{FORWARD}] return {value_text(node.args[0], sigil='')}"
    target = target_text(node.target).removeprefix("tensorplay.ops.")
    call = f"{node.op}[target={target}]"
    if node.op == "placeholder":
        head = f"%{node.name} : [num_users={len(node.user_set)}] = {call}"
    else:
        head = f"%{node.name}{shape_text(node)} = {call}(args = {value_text(node.args)})"
    return f"[{node.meta['tag']}] {head}"
