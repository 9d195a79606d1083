"""Cuts the conditions of data gates out of a captured graph: a backward slice, linear.

The slice holds what the gates' values need: their inputs, the earlier writes into memory that these
read, switches of the grad mode, and, if any of it draws random numbers, all earlier draws. It is cut
before dead code is dropped, because in the graph itself the conditions are dead.
"""

from __future__ import annotations

from tensorplay._C import Storage
from tensorplay.compiler.capture.captured_graph import CapturedGraph
from tensorplay.graph import Graph, GraphModule, Node


def cut_guard_replay(captured: CapturedGraph) -> GraphModule | None:
    """Return a module that computes the values of all gates from the inputs; None without gates."""
    if not captured.gates:
        return None
    needed = _slice(captured)
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in captured.module.graph.nodes:
        if node.op == "placeholder" or node in needed:
            copies[node] = graph.copy_node(node, copies.__getitem__)
    graph.output(tuple(copies[gate.node] for gate in captured.gates))
    return GraphModule({}, graph)


def _slice(captured: CapturedGraph) -> set[Node]:
    needed: set[Node] = {gate.node for gate in captured.gates}
    read: set[Storage] = set()
    random_is_read = False
    for node in reversed(captured.module.graph.nodes):
        if node.op in {"placeholder", "output"}:
            continue
        written = captured.effects.get(node)
        if written is not None:
            is_draw = not written and node.user_set
            if written & read or not node.user_set or (is_draw and random_is_read):
                needed.add(node)
        if node in needed:
            random_is_read = random_is_read or (written is not None and not written)
            for value in node.input_set:
                needed.add(value)
                if value in captured.memory:
                    read.add(captured.memory[value])
            if node in captured.memory:
                read.add(captured.memory[node])
    return needed
