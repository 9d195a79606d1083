"""Merges nodes that compute the same value: value numbering, linear. Class: bitwise.

Two calls are the same when target and arguments are (numbers compared by type and bits). Calls that
draw random state differ each time and are left alone. Two values that are both returned are left
apart, because the caller gets two tensors, whose memory is not shared. In a joint graph the forward
node stays, so that the backward pass reads it.

The operands of commutative operators are compared without their order: IEEE addition and
multiplication are commutative.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from typing import Final

from tensorplay.compiler.phases import has_effect, operator_of
from tensorplay.graph import Graph, Node

COMMUTATIVE: Final = frozenset(
    {"add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "logical_xor"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor"}
)


def merge_equal_values(graph: Graph) -> int:
    """Make each value be computed once; return how many nodes were merged into earlier ones."""
    returned = set(graph.output_node.input_set)
    leaders: dict[Hashable, Node] = {}
    merged = 0
    for node in graph.nodes:
        if node.op != "call_function" or has_effect(node):
            continue
        leader = leaders.setdefault(value_number(node), node)
        if leader is node:
            continue
        if node in returned and (leader in returned or leader.op == "placeholder"):
            continue
        if node in returned:
            returned.add(leader)
        node.replace_all_uses_with(leader)
        graph.erase_node(node)
        merged += 1
    return merged


def value_number(node: Node) -> Hashable:
    """Return what is equal for two nodes that compute the same value."""
    args = tuple(map(argument_key, node.args))
    operator = operator_of(node)
    if operator is not None and operator.name in COMMUTATIVE and node.kwargs.get("alpha", 1) == 1:
        args = tuple(sorted(args[:2], key=hash)) + args[2:]
    kwargs = tuple((key, argument_key(value)) for key, value in node.kwargs.items())
    return id(node.target), args, kwargs


def argument_key(value: object) -> Hashable:
    """Return a hashable form of an argument in which equal means exchangeable."""
    if isinstance(value, Node):
        return "node", id(value)
    if isinstance(value, float):
        return "float", struct.pack("d", value)
    if isinstance(value, complex):
        return "complex", struct.pack("dd", value.real, value.imag)
    if isinstance(value, (tuple, list)):
        return type(value).__name__, tuple(map(argument_key, value))
    if isinstance(value, dict):
        return "dict", tuple((key, argument_key(item)) for key, item in value.items())
    if isinstance(value, slice):
        return "slice", tuple(map(argument_key, (value.start, value.stop, value.step)))
    return type(value).__name__, value if _is_hashable(value) else id(value)


def _is_hashable(value: object) -> bool:
    return isinstance(value, Hashable)
