"""`Graph`: nodes in execution order, linked both ways, so that every edit is constant-time.

>>> import operator
>>> graph = Graph()
>>> x = graph.placeholder("x")
>>> y = graph.call_function(operator.mul, (x, 2))
>>> output = graph.output((y,))
>>> print(graph.text())
graph(
    %x : [num_users=1] = placeholder[target=x]
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%x, 2), kwargs = {})
    return (mul,)
)
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NoReturn

from tensorplay.core.errors import VerifyError
from tensorplay.core.readable import Readable
from tensorplay.graph.names import Namespace
from tensorplay.graph.node import LEAVES, Node, map_nodes
from tensorplay.graph.text import graph_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tensorplay.graph.node import Op, Target


class NodeList:
    """A view of a graph's order. The node at hand may be erased or moved while iterating."""

    __slots__ = ("_end", "_length")

    def __init__(self, end: Node, length: int) -> None:
        """View the `length` nodes that are linked between `end` and itself."""
        self._end = end
        self._length = length

    def __len__(self) -> int:
        """Return the number of nodes."""
        return self._length

    def __iter__(self) -> Iterator[Node]:
        """Yield the nodes in execution order."""
        node = self._end.next
        while node is not self._end:
            following = node.next
            yield node
            node = following if node.graph is None else node.next

    def __reversed__(self) -> Iterator[Node]:
        """Yield the nodes from the last to the first."""
        node = self._end.previous
        while node is not self._end:
            following = node.previous
            yield node
            node = following if node.graph is None else node.previous


class Graph(Readable):
    """An ordered list of nodes with single assignment: a node reads only nodes before it."""

    __slots__ = ("_end", "_insert_before", "_length", "_namespace", "meta")

    def __init__(self) -> None:
        """Make an empty graph; new nodes are appended until `inserting_before` says otherwise."""
        self._length = 0
        self._namespace = Namespace()
        self._end = Node(self, "", "output", "end", (), {})
        self._insert_before = self._end
        self.meta: dict[str, object] = {}

    @property
    def nodes(self) -> NodeList:
        """The nodes in execution order."""
        return NodeList(self._end, self._length)

    @property
    def end(self) -> Node:
        """The marker that follows the last node and precedes the first; it is no node itself."""
        return self._end

    @property
    def placeholders(self) -> tuple[Node, ...]:
        """The inputs, in order."""
        return tuple(node for node in self.nodes if node.op == "placeholder")

    @property
    def output_node(self) -> Node:
        """The output node: the last one. Raises `ValueError` when the graph has none yet."""
        last = self._end.previous
        if last is self._end or last.op != "output":
            message = "the graph has no output yet: call graph.output(value)"
            raise ValueError(message)
        return last

    def create_node(
        self,
        op: Op,
        target: Target,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
        name: str | None = None,
    ) -> Node:
        """Make a node and put it at the insertion point.

        `name` is a wish, by default the target's own name; a taken one gets a number.
        """
        wish = name if name is not None else _target_name(target)
        node = Node(self, self._namespace.create(wish), op, target, args, kwargs or {})
        _link(node, self._insert_before)
        self._length += 1
        return node

    def placeholder(self, name: str) -> Node:
        """Add an input after the inputs there are (at the insertion point)."""
        return self.create_node("placeholder", name, name=name)

    def get_attr(self, path: str) -> Node:
        """Add a read of the attribute at a dotted path of the module that owns the graph."""
        return self.create_node("get_attr", path)

    def call_function(
        self,
        function: Callable[..., object],
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a Python function or an operator overload."""
        return self.create_node("call_function", function, args, kwargs, name)

    def call_method(
        self,
        method: str,
        args: tuple[object, ...],
        kwargs: dict[str, object] | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method, args, kwargs, name)

    def call_module(
        self,
        path: str,
        args: tuple[object, ...],
        kwargs: dict[str, object] | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of the submodule at a dotted path."""
        return self.create_node("call_module", path, args, kwargs, name)

    def output(self, value: object) -> Node:
        """Add the output: a node, or nodes nested in containers."""
        return self.create_node("output", "output", (value,))

    @contextlib.contextmanager
    def inserting_before(self, node: Node) -> Iterator[None]:
        """Put new nodes just before `node` inside the `with` block."""
        saved = self._insert_before
        self._insert_before = node
        try:
            yield
        finally:
            self._insert_before = saved

    def inserting_after(self, node: Node) -> contextlib.AbstractContextManager[None]:
        """Put new nodes just after `node`, in the order in which they are made."""
        return self.inserting_before(node.next)

    def move_before(self, node: Node, place: Node) -> None:
        """Move `node` to just before `place`."""
        if node is place:
            return
        _unlink(node)
        _link(node, place)

    def erase_node(self, node: Node) -> None:
        """Remove a node that nobody reads. Raises `ValueError` when somebody does."""
        if node.user_set:
            readers = ", ".join(user.name for user in node.users)
            message = f"can't erase %{node.name}: it is still read by {readers}"
            raise ValueError(message)
        if node.graph is not self:
            message = f"can't erase %{node.name}: it isn't in this graph"
            raise ValueError(message)
        if self._insert_before is node:
            self._insert_before = node.next
        node.set_arguments((), {})
        _unlink(node)
        self._namespace.release(node.name)
        node.graph = None
        self._length -= 1

    def copy_node(self, node: Node, mapping: Callable[[Node], object]) -> Node:
        """Append a copy of another graph's node, with its inputs passed through `mapping`."""
        args = tuple(
            arg if arg.__class__ in LEAVES else map_nodes(arg, mapping) for arg in node.args
        )
        kwargs = {
            key: arg if arg.__class__ in LEAVES else map_nodes(arg, mapping)
            for key, arg in node.kwargs.items()
        }
        copy = self.create_node(node.op, node.target, args, kwargs, node.name)
        copy.meta.update(node.meta)
        return copy

    def copy(self) -> tuple[Graph, Mapping[Node, Node]]:
        """Return a copy of the graph, and the map from its nodes to the copy's."""
        graph = Graph()
        graph.meta.update(self.meta)
        copies: dict[Node, Node] = {}
        for node in self.nodes:
            copies[node] = graph.copy_node(node, copies.__getitem__)
        return graph, copies

    def text(self) -> str:
        """Return the graph as text, in the form of the chapter's Listing 5.1."""
        return graph_text(self)

    def verify(self) -> None:
        """Check what every pass may rely on; raise `VerifyError` on the first violation. Linear.

        Names are unique; a node reads only nodes before it, of this graph; users and inputs agree;
        the placeholders come first; there is one output, at the end.
        """
        seen: dict[Node, None] = {}
        names: set[str] = set()
        inputs_ended = False
        for node in self.nodes:
            _verify_place(self, node)
            if node.name in names:
                _fail(f"two nodes have the name {node.name}")
            for read in node.inputs:
                if read not in seen:
                    _fail(f"%{node.name} reads %{read.name}, which doesn't come before it")
                if node not in read.user_set:
                    _fail(f"%{node.name} reads %{read.name} but isn't among its users")
            for user in node.user_set:
                if user.graph is not self or node not in user.input_set:
                    _fail(f"%{node.name} lists the user %{user.name}, which doesn't read it")
            if node.op != "placeholder":
                inputs_ended = True
            elif inputs_ended:
                _fail(f"the placeholder %{node.name} comes after other nodes")
            if node.op == "output" and node.next is not self._end:
                _fail("the output isn't the last node")
            seen[node] = None
            names.add(node.name)
        if len(seen) != self._length:
            _fail(f"the graph counts {self._length} nodes but links {len(seen)}")


def _fail(message: str) -> NoReturn:
    raise VerifyError(message)


def _verify_place(graph: Graph, node: Node) -> None:
    if node.graph is not graph:
        _fail(f"%{node.name} is linked into this graph but belongs to another")
    if node.next.previous is not node or node.previous.next is not node:
        _fail(f"the links around %{node.name} are broken")
    if (node.op == "call_function") == isinstance(node.target, str):
        _fail(f"%{node.name}: the target of {node.op} can't be {node.target!r}")


def _target_name(target: Target) -> str:
    if isinstance(target, str):
        return target.rpartition(".")[2] or target
    wish = getattr(target, "node_name", None) or getattr(target, "__name__", None)
    return str(wish) if wish is not None else type(target).__name__.lower()


def _link(node: Node, place: Node) -> None:
    previous = place.previous
    previous.next = node
    node.previous = previous
    node.next = place
    place.previous = node


def _unlink(node: Node) -> None:
    node.previous.next = node.next
    node.next.previous = node.previous
