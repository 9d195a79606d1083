"""Drops the nodes that nothing needs: reverse reachability, linear. Class: bitwise.

Needed is what the output reads, and what has an effect: drawing random state, or, in a captured
graph, writing into a tensor (the caller says which nodes those are).
"""

from __future__ import annotations

from collections.abc import Callable

from tensorplay.compiler.phases import has_effect
from tensorplay.graph import Graph, Node


def eliminate_dead_code(graph: Graph, is_needed: Callable[[Node], bool] = has_effect) -> int:
    """Erase unneeded calls and attributes; return how many. Inputs stay."""
    erased = 0
    for node in reversed(graph.nodes):
        if node.op in {"placeholder", "output"} or node.user_set or is_needed(node):
            continue
        graph.erase_node(node)
        erased += 1
    return erased
