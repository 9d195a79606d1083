"""Graphs as text, in the form of the chapter's Listing 5.1.

One line a node: its name, the shape of its value, the number of its users, its kind and target, its
arguments. `target_text` names a target by the path under which Python finds it.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType
from typing import TYPE_CHECKING, Final

from tensorplay.graph.node import Node

if TYPE_CHECKING:
    from tensorplay.graph.graph import Graph

_NAMED: Final = (FunctionType, BuiltinFunctionType, MethodDescriptorType, type)


def graph_text(graph: Graph) -> str:
    """Return the whole graph, a line a node."""
    lines = [f"    {node_text(node)}" for node in graph.nodes]
    return "\n".join(["graph(", *lines, ")"])


def node_text(node: Node) -> str:
    """Return one node's line."""
    if node.op == "output":
        return f"return {value_text(node.args[0], sigil='')}"
    head = f"%{node.name}{shape_text(node)} : [num_users={len(node.users)}]"
    body = f"{node.op}[target={target_text(node.target)}]"
    if node.op in {"placeholder", "get_attr"}:
        return f"{head} = {body}"
    return f"{head} = {body}(args = {value_text(node.args)}, kwargs = {kwargs_text(node.kwargs)})"


def shape_text(node: Node) -> str:
    """Return ` shape=(64, 128)`, or nothing for inputs and values that aren't a single tensor."""
    if node.op == "placeholder":
        return ""
    shape = getattr(node.meta.get("val"), "shape", None)
    return "" if shape is None else f" shape={tuple(shape)}"


def target_text(target: object) -> str:
    """Return the path under which Python finds a target, or what the target calls itself."""
    if isinstance(target, str):
        return target
    if isinstance(target, MethodType) and isinstance(target.__self__, type):
        return f"{target_text(target.__self__)}.{target.__name__}"
    if not isinstance(target, _NAMED):
        return str(target)
    owner = getattr(target, "__objclass__", target)
    module = {"_operator": "operator"}.get(owner.__module__, owner.__module__)
    return f"{module}.{target.__qualname__}"


def value_text(value: object, *, sigil: str = "%") -> str:
    """Return an argument as text: nodes by name after `sigil`, everything else as Python has it."""
    if isinstance(value, Node):
        return f"{sigil}{value.name}"
    if isinstance(value, tuple):
        items = [value_text(item, sigil=sigil) for item in value]
        if hasattr(value, "_fields"):
            return f"{type(value).__name__}({', '.join(items)})"
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, list):
        return f"[{', '.join(value_text(item, sigil=sigil) for item in value)}]"
    if isinstance(value, dict):
        return kwargs_text(value, sigil=sigil)
    if isinstance(value, slice):
        parts = [value_text(part, sigil=sigil) for part in (value.start, value.stop, value.step)]
        return f"slice({', '.join(parts)})"
    if isinstance(value, _NAMED):
        return target_text(value)
    return repr(value)


def kwargs_text(kwargs: dict[str, object], *, sigil: str = "%") -> str:
    """Return keyword arguments as `{alpha: 1}`."""
    items = (f"{key}: {value_text(value, sigil=sigil)}" for key, value in kwargs.items())
    return f"{{{', '.join(items)}}}"
