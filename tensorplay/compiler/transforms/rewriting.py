"""What rewrites of operator graphs share: the test that a replacement is exact, and new calls.

A value may stand for another only if nobody can tell them apart: same shape, dtype and strides. A
value that is returned may not be replaced by an input, by a view, or by another returned value,
because the caller gets memory of its own for each.
"""

from __future__ import annotations

from tensorplay.compiler.phases import operator_of, value_of
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Graph, Node, map_nodes
from tensorplay.ops.registry import Operator, tp


class Rewriter:
    """The graph under rewriting, and what is known of its values."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.returned = set(graph.output_node.input_set)

    def replace(self, node: Node, other: Node) -> bool:
        """Let `other` stand for `node` if that is exact, and say whether it was."""
        if not same_layout(node, other):
            return False
        if node in self.returned:
            called = operator_of(other)
            is_view = called is not None and called.kind.is_view
            if other.op == "placeholder" or other in self.returned or is_view:
                return False
            self.returned.add(other)
        node.replace_all_uses_with(other)
        self.graph.erase_node(node)
        return True

    def call(self, place: Node, operator: Operator | str, *args: object, **kwargs: object) -> Node:
        """Insert a call before `place`, with the metadata and the tag that follow from it."""
        if isinstance(operator, str):
            operator = tp[operator]
        values = operator.signature.bind(args, kwargs)
        metas = tuple(map_nodes(value, value_of) for value in values)
        overload = operator.overload_of(metas)
        full_args, full_kwargs = overload.shown(values)
        with self.graph.inserting_before(place):
            node = self.graph.call_function(overload, full_args, full_kwargs)
        node.meta["val"] = operator.kind.meta(operator, metas)
        for key in ("tag", "stack"):
            if key in place.meta:
                node.meta[key] = place.meta[key]
        return node


def same_layout(node: Node, other: Node) -> bool:
    """Whether two nodes are single tensors of one shape, dtype and strides."""
    a, b = node.meta.get("val"), other.meta.get("val")
    return (
        isinstance(a, TensorMeta)
        and isinstance(b, TensorMeta)
        and (a.shape, a.dtype, a.strides, a.device) == (b.shape, b.dtype, b.strides, b.device)
    )


def call_of(value: object, name: str) -> Node | None:
    """Return `value` if it is a call of the operator `name`."""
    if isinstance(value, Node):
        operator = operator_of(value)
        if operator is not None and operator.name == name:
            return value
    return None
