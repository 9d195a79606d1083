"""All rewrites of an operator graph, repeated until none applies. Class: bitwise.

[Note: termination] Every rewrite lowers the measure (number of calls, weight of the operators) in
the lexicographic order of natural numbers, which is well-founded: merging and dropping lower the
first; folding and simplifying lower the first or, one call for another, the second. So the loop
ends; in practice after two rounds, the second of which finds nothing.
"""

from __future__ import annotations

from tensorplay.compiler.phases import operator_of
from tensorplay.compiler.transforms.dead_code import eliminate_dead_code
from tensorplay.compiler.transforms.equal_values import merge_equal_values
from tensorplay.compiler.transforms.fold import fold_constants
from tensorplay.compiler.transforms.simplify import WEIGHTS, simplify
from tensorplay.core.config import config
from tensorplay.core.errors import VerifyError
from tensorplay.graph import Graph


def transform(graph: Graph) -> None:
    """Rewrite `graph` in place until no rewrite applies. Linear in its size per round."""
    before = measure(graph)
    while True:
        fold_constants(graph)
        simplify(graph)
        merge_equal_values(graph)
        eliminate_dead_code(graph)
        after = measure(graph)
        if config.verify:
            graph.verify()
            if after > before:
                raise VerifyError(f"a rewrite raised the measure from {before} to {after}")
        if after == before:
            return
        before = after


def measure(graph: Graph) -> tuple[int, int]:
    """Return what every rewrite lowers."""
    calls = weight = 0
    for node in graph.nodes:
        if node.op == "call_function":
            calls += 1
            operator = operator_of(node)
            weight += WEIGHTS.get(operator.name, 1) if operator is not None else 1
    return calls, weight
