"""`Interpreter`: runs a graph node by node, with one method per kind of node to override.

Passes that give nodes another meaning (metadata, recording, lowering) derive from it. It keeps a
value no longer than its last use.

>>> import operator
>>> from tensorplay.graph import Graph, Interpreter
>>> graph = Graph()
>>> x = graph.placeholder("x")
>>> output = graph.output((graph.call_function(operator.add, (x, 1)),))
>>> Interpreter(graph).run(2)
(3,)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.graph.graph_module import GraphModule, find_attribute, find_callable
from tensorplay.graph.node import LEAVES, map_nodes
from tensorplay.graph.python_code import last_uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tensorplay.graph.graph import Graph
    from tensorplay.graph.node import Node


class Interpreter:
    """Runs a `Graph`, or a `GraphModule` with its attributes. Iterative: any depth will do."""

    def __init__(self, source: Graph | GraphModule) -> None:
        """Prepare to run `source`, any number of times."""
        self.root: object = source
        self.graph = source.graph if isinstance(source, GraphModule) else source
        self._dying = last_uses(self.graph)
        self._values: dict[Node, object] = {}
        self._inputs: Iterator[object] = iter(())

    def run(self, *args: object) -> object:
        """Run the graph on the values of its placeholders and return its output."""
        self._inputs = iter(args)
        values = self._values = {}
        result: object = None
        for node in self.graph.nodes:
            value = self.run_node(node)
            if node.op == "output":
                result = value
            else:
                values[node] = value
            for dead in self._dying.get(node, ()):
                values.pop(dead, None)
        self._values = {}
        return result

    def run_node(self, node: Node) -> object:
        """Return the value of one node. Every node passes through here."""
        args, kwargs = self.arguments(node)
        match node.op:
            case "call_function":
                return self.call_function(node, args, kwargs)
            case "placeholder":
                return self.placeholder(node)
            case "get_attr":
                return self.get_attr(node)
            case "call_method":
                return self.call_method(node, args, kwargs)
            case "call_module":
                return self.call_module(node, args, kwargs)
            case "output":
                return self.output(node, args)

    def arguments(self, node: Node) -> tuple[tuple[object, ...], dict[str, object]]:
        """Return the node's arguments with the values of the nodes in them."""
        find = self._values.__getitem__
        args = tuple(arg if arg.__class__ in LEAVES else map_nodes(arg, find) for arg in node.args)
        return args, {key: map_nodes(arg, find) for key, arg in node.kwargs.items()}

    def placeholder(self, node: Node) -> object:
        """Return the next input."""
        try:
            return next(self._inputs)
        except StopIteration:
            message = f"the graph needs a value for its input %{node.name}, but none is left"
            raise TypeError(message) from None

    def get_attr(self, node: Node) -> object:
        """Return the attribute that the node names."""
        return find_attribute(self.root, node.path)

    def call_function(
        self, node: Node, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        """Call the node's target."""
        return node.function(*args, **kwargs)

    def call_method(
        self, node: Node, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        """Call the method that the node names on the first argument."""
        receiver, *rest = args
        method: Callable[..., object] = getattr(receiver, node.path)
        return method(*rest, **kwargs)

    def call_module(
        self, node: Node, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        """Call the submodule that the node names."""
        return find_callable(self.root, node.path)(*args, **kwargs)

    def output(self, _node: Node, args: tuple[object, ...]) -> object:
        """Return the value that the graph returns."""
        return args[0]
