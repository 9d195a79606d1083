"""`OperatorGraph`: what the front hands to a backend, and the builder that makes one.

An operator graph is a pure function in single assignment. Its nodes are

- placeholders, one a tensor input, `meta["val"]` a `TensorMeta`;
- calls whose target is an operator `Overload`, with defaults filled in by `Overload.normalize`;
  `meta["val"]` is a `TensorMeta`, or a tuple of them where the operator returns several tensors;
- `operator.getitem(node, i)`, which takes one tensor out of such a tuple;
- one output, a flat tuple of nodes.

There is no attribute, no Python scalar among inputs or outputs, no in-place operator, and no output
that is itself an input or that stands twice. The strides in an output's `TensorMeta` are those that
eager execution gives: a backend must produce them. Nodes that draw random state are the only ones
with an effect; they stay in the order in which they stand. `OperatorGraphBuilder` is used by the
recording of operators and, by hand, in tests:

>>> build = OperatorGraphBuilder()                                    # doctest: +SKIP
>>> x = build.input(TensorMeta.contiguous((64, 128), float32, cpu))   # doctest: +SKIP
>>> graph = build.output(build.call(tp.ops.tp.relu.default, x))       # doctest: +SKIP
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorplay.core.errors import VerifyError
from tensorplay.core.readable import Readable
from tensorplay.graph import Graph, Node, map_nodes
from tensorplay.ops.registry import Operator, Overload

if TYPE_CHECKING:
    from tensorplay.core.meta import TensorMeta


@dataclass(frozen=True, slots=True)
class OperatorGraph(Readable):
    """A pure graph of operator overloads, tensors in and tensors out."""

    graph: Graph

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The placeholders, in the order of the arguments."""
        return self.graph.placeholders

    @property
    def outputs(self) -> tuple[Node, ...]:
        """The nodes whose values are returned, in order."""
        return self.graph.output_node.inputs

    def text(self) -> str:
        """Return the graph as text, in the form of the chapter's Listing 5.1."""
        return self.graph.text()

    def verify(self) -> None:
        """Raise `VerifyError` where the graph isn't what the module's docstring promises. Linear."""
        self.graph.verify()
        for node in self.graph.nodes:
            if node.op not in {"placeholder", "call_function", "output"}:
                raise VerifyError(f"%{node.name}: an operator graph holds no {node.op}")
            if node.op != "output" and "val" not in node.meta:
                raise VerifyError(f"%{node.name} carries no metadata of its value")
        outputs = self.outputs
        if self.graph.output_node.args != (outputs,):
            raise VerifyError("an operator graph returns a flat tuple of nodes, each once")
        for node in outputs:
            if node.op == "placeholder":
                raise VerifyError(f"an operator graph doesn't return its input %{node.name}")


class OperatorGraphBuilder:
    """Appends inputs and operator calls to a graph, deriving each value's metadata."""

    def __init__(self) -> None:
        """Start an empty graph."""
        self.graph = Graph()

    def input(self, meta: TensorMeta, name: str | None = None) -> Node:
        """Add an input that looks like `meta`, by default named `primals_1` and counted on."""
        count = sum(node.op == "placeholder" for node in self.graph.nodes)
        node = self.graph.placeholder(name or f"primals_{count + 1}")
        node.meta["val"] = meta
        return node

    def call(self, overload: Overload, *args: object, **kwargs: object) -> Node:
        """Add a call of `overload`; nodes stand for tensors among the arguments."""
        values = overload.bind(args, kwargs)
        full_args, full_kwargs = overload.shown(values)
        node = self.graph.call_function(overload, full_args, full_kwargs)
        kind = overload.operator.kind
        metas = tuple(map_nodes(value, value_of) for value in values)
        node.meta["val"] = kind.meta(overload.operator, metas)
        return node

    def item(self, node: Node, index: int) -> Node:
        """Add the selection of one tensor out of the several that `node` returns."""
        values = node.meta["val"]
        if not isinstance(values, tuple):
            raise TypeError(f"%{node.name} is a single tensor: there is no item {index} to take")
        item = self.graph.call_function(operator.getitem, (node, index))
        item.meta["val"] = values[index]
        return item

    def output(self, *nodes: Node) -> OperatorGraph:
        """End the graph: return the values of `nodes`."""
        self.graph.output(tuple(nodes))
        return OperatorGraph(self.graph)


def operator_of(node: Node) -> Operator | None:
    """Return the operator that a node calls; None for other nodes."""
    return node.target.operator if isinstance(node.target, Overload) else None


def has_effect(node: Node) -> bool:
    """Whether a call of an operator does more than return a value: it draws random state."""
    return isinstance(node.target, Overload) and node.target.operator.effect


def value_of(node: Node) -> TensorMeta:
    """Return the metadata of a node that is a single tensor."""
    return node.meta["val"]  # type: ignore[return-value]  # the phase's invariant, see `verify`
