"""One operation of a graph, and the arguments that tie it to the others.

A `Node` is one of six kinds (`Op`): an input, an attribute, a call of a function, of a method or of
a module, or the output. Arguments are ordinary Python values in which other nodes may stand, nested
in tuples, lists, dicts and slices; the users of a node follow from them. Arguments are never changed
in place: assign `node.args` or `node.kwargs`.

>>> from tensorplay.graph import Graph
>>> graph = Graph()
>>> x = graph.placeholder("x")
>>> y = graph.call_method("add", (x, [x, -1]))
>>> x.users, y.inputs
((add,), (x,))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.graph.graph import Graph

Op: TypeAlias = Literal[
    "placeholder", "get_attr", "call_function", "call_method", "call_module", "output"
]
Target: TypeAlias = "Callable[..., object] | str"


class Node:
    """One operation of a `Graph`. Made by the graph's methods, never directly.

    `previous` and `next` are its neighbours in the graph's order (the graph's end marker at both
    ends); `input_set` and `user_set` are dicts used as ordered sets. Only `Graph` and `Node` write
    them.
    """

    __slots__ = (
        "_args",
        "_kwargs",
        "graph",
        "input_set",
        "meta",
        "name",
        "next",
        "op",
        "previous",
        "target",
        "user_set",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: Op,
        target: Target,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> None:
        """Make an unlinked node; `Graph.create_node` puts it into the order."""
        self.graph: Graph | None = graph
        self.name = name
        self.op: Op = op
        self.target = target
        self.meta: dict[str, object] = {}
        self.previous: Node = self
        self.next: Node = self
        self.user_set: dict[Node, None] = {}
        self._args = args
        self._kwargs = kwargs
        self.input_set: dict[Node, None] = {}
        self._link_inputs()

    def __repr__(self) -> str:
        """Return the node's name: unique in its graph."""
        return self.name

    @property
    def args(self) -> tuple[object, ...]:
        """The positional arguments. Assigning them updates the users of the nodes in them."""
        return self._args

    @args.setter
    def args(self, args: tuple[object, ...]) -> None:
        self.set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, object]:
        """The keyword arguments. Assigning them updates the users of the nodes in them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, object]) -> None:
        self.set_arguments(self._args, kwargs)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that this node reads, each once, in order of first appearance."""
        return tuple(self.input_set)

    @property
    def users(self) -> tuple[Node, ...]:
        """The nodes that read this node, each once, in the order in which they began to."""
        return tuple(self.user_set)

    @property
    def has_users(self) -> bool:
        """Whether any node reads this one."""
        return bool(self.user_set)

    @property
    def function(self) -> Callable[..., object]:
        """The target of a `call_function`. Raises `TypeError` for other kinds."""
        if isinstance(self.target, str):
            raise TypeError(f"%{self.name} ({self.op}) has no function as its target")
        return self.target

    @property
    def path(self) -> str:
        """The target of the other kinds: a name or a dotted path. Raises `TypeError` otherwise."""
        if not isinstance(self.target, str):
            raise TypeError(f"%{self.name} ({self.op}) has no path as its target")
        return self.target

    def set_arguments(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Replace both argument collections at once and update users."""
        for node in self.input_set:
            del node.user_set[self]
        self._args = args
        self._kwargs = kwargs
        self.input_set = {}
        self._link_inputs()

    def replace_all_uses_with(self, other: Node) -> tuple[Node, ...]:
        """Make every user read `other` instead, and return those users. Linear in their arguments."""
        users = tuple(user for user in self.user_set if user is not other)
        for user in users:
            user.replace_input_with(self, other)
        return users

    def replace_input_with(self, old: Node, new: Node) -> None:
        """Read `new` wherever this node reads `old`."""

        def swap(node: Node) -> object:
            return new if node is old else node

        args = tuple(map_nodes(arg, swap) for arg in self._args)
        kwargs = {key: map_nodes(arg, swap) for key, arg in self._kwargs.items()}
        self.set_arguments(args, kwargs)

    def text(self) -> str:
        """Return the node as one line of `Graph.text()`."""
        from tensorplay.graph.text import node_text

        return node_text(self)

    def _link_inputs(self) -> None:
        inputs = self.input_set
        for arg in self._args:
            if arg.__class__ is Node:
                inputs[arg] = None
            elif arg.__class__ not in LEAVES:
                collect_nodes(arg, inputs)
        for arg in self._kwargs.values():
            if arg.__class__ is Node:
                inputs[arg] = None
            elif arg.__class__ not in LEAVES:
                collect_nodes(arg, inputs)
        for node in inputs:
            node.user_set[self] = None


LEAVES: Final = frozenset({int, float, bool, str, complex, type(None)})
"""Argument types that hold no node; the common ones, tested first because capture is hot."""


def collect_nodes(value: object, found: dict[Node, None]) -> None:
    """Add the nodes that stand anywhere in the argument `value` to `found`."""
    if isinstance(value, Node):
        found[value] = None
    elif isinstance(value, (tuple, list)):
        for item in value:
            collect_nodes(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            collect_nodes(item, found)
    elif isinstance(value, slice):
        collect_nodes(value.start, found)
        collect_nodes(value.stop, found)
        collect_nodes(value.step, found)


def map_nodes(value: object, function: Callable[[Node], object]) -> object:
    """Return the argument `value` with `function` applied to every node in it."""
    return map_leaves(value, lambda leaf: function(leaf) if isinstance(leaf, Node) else leaf)


def map_leaves(value: object, function: Callable[[object], object]) -> object:
    """Return `value` with `function` applied to everything in it that is not a container.

    The containers are those that an argument may nest: tuples (named ones keep their class), lists,
    dicts, and slices.
    """
    kind = value.__class__
    if kind in LEAVES or kind is Node:
        return function(value)
    if isinstance(value, tuple):
        items = [map_leaves(item, function) for item in value]
        return kind(*items) if hasattr(kind, "_fields") else tuple(items)
    if isinstance(value, list):
        return [map_leaves(item, function) for item in value]
    if isinstance(value, dict):
        return {key: map_leaves(item, function) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(
            map_leaves(value.start, function),
            map_leaves(value.stop, function),
            map_leaves(value.step, function),
        )
    return function(value)
