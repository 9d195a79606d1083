"""Graphs of operations: the compiler's common form, at both levels.

A captured graph holds what the user wrote (functions, methods, modules), an operator graph holds
operator overloads; both are a `Graph` of `Node`s. `GraphModule` makes a graph callable, as Python
source that can be read; `Interpreter` runs one node by node; `Tracer` records one.
"""

from __future__ import annotations

from tensorplay.core.source_line import SourceLine
from tensorplay.graph.graph import Graph
from tensorplay.graph.graph_module import GraphModule
from tensorplay.graph.interpreter import Interpreter
from tensorplay.graph.node import Node, Op, Target, map_leaves, map_nodes
from tensorplay.graph.tracer import Tracer

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Op",
    "SourceLine",
    "Target",
    "Tracer",
    "map_leaves",
    "map_nodes",
]
