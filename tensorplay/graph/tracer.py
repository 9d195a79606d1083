"""`Tracer`: records calls into a graph. Both levels of recording stand on it.

A tracer knows which node stands for a value (`node_of`, given by whoever makes the values), turns
arguments into nodes, and notes the user's line on each node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.core.source_line import user_line
from tensorplay.graph.graph import Graph
from tensorplay.graph.node import LEAVES, Node, map_leaves

if TYPE_CHECKING:
    from tensorplay.graph.node import Op, Target

NodeOf: TypeAlias = Callable[[object], Node | None]


class Tracer:
    """Appends calls to a graph."""

    def __init__(self, node_of: NodeOf, graph: Graph | None = None) -> None:
        """Record into `graph`; `node_of` gives the node of a recorded value, else None."""
        self.graph = graph if graph is not None else Graph()
        self.node_of = node_of

    def record(
        self,
        op: Op,
        target: Target,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
        name: str | None = None,
    ) -> Node:
        """Append a call whose arguments hold recorded values, and note the user's line."""
        argument = self.argument
        node_args = tuple(
            arg if arg.__class__ in LEAVES else map_leaves(arg, argument) for arg in args
        )
        node_kwargs = (
            {key: map_leaves(arg, argument) for key, arg in kwargs.items()} if kwargs else {}
        )
        node = self.graph.create_node(op, target, node_args, node_kwargs, name)
        line = user_line()
        if line is not None:
            node.meta["stack"] = line
        return node

    def argument(self, value: object) -> object:
        """Return what stands for one leaf of an argument: its node if it is recorded."""
        node = self.node_of(value)
        return value if node is None else node
