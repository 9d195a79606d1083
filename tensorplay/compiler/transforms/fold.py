"""Folds constants: values whose elements are all one number known at compile time. Class: bitwise.

Uniform are filled tensors, views of uniform values, and pointwise operators of uniform values.
The number is computed by the operator's own eager kernel on one element, so it has the bits that
eager execution gives: `maximum` of a literal NaN is NaN. A uniform value becomes one fill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tensorplay.compiler.phases import has_effect, operator_of
from tensorplay.compiler.transforms.rewriting import Rewriter
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Graph, Node, map_nodes
from tensorplay.ops.kinds.pointwise import Pointwise
from tensorplay.ops.registry import Operator
from tensorplay.ops.signature import Values

FILL: Final = "full"
"""The operator that makes a tensor of one number."""


def fold_constants(graph: Graph) -> int:
    """Replace computed uniform values by `full`; return how many."""
    numbers = uniform_values(graph)
    rewriter = Rewriter(graph)
    folded = 0
    for node, array in numbers.items():
        operator = operator_of(node)
        meta = node.meta["val"]
        if operator is None or operator.name == FILL or not node.user_set:
            continue
        if not isinstance(meta, TensorMeta) or not meta.is_contiguous:
            continue
        number = array.reshape(()).item()
        made = rewriter.call(node, FILL, meta.shape, number, dtype=meta.dtype, device=meta.device)
        rewriter.replace(node, made)
        folded += 1
    return folded


def uniform_values(graph: Graph) -> dict[Node, Any]:
    """Return the nodes whose elements are all one number, with an array of that one element."""
    found: dict[Node, Any] = {}
    for node in graph.nodes:
        operator = operator_of(node)
        if operator is None or has_effect(node) or not isinstance(node.meta["val"], TensorMeta):
            continue
        values = operator.signature.bind(node.args, node.kwargs)
        if operator.name == FILL:
            found[node] = _created(operator, values, node.meta["val"])
        elif operator.kind.is_view:
            (source,) = node.inputs
            if source in found:
                found[node] = found[source].reshape((1,) * node.meta["val"].ndim)
        elif (
            _is_elementwise(operator) and node.inputs and all(read in found for read in node.inputs)
        ):
            computed = _computed(operator, values, found)
            if computed is not None:
                found[node] = computed.reshape((1,) * node.meta["val"].ndim)
    return found


def _is_elementwise(operator: Operator) -> bool:
    """Whether equal elements of the operands give equal elements of the result."""
    kind = operator.kind
    return (
        isinstance(kind, Pointwise)
        and kind.shape is None
        and kind.index_name is None
        and kind.linear_name is None
    )


def _created(operator: Operator, values: Values, meta: TensorMeta) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    import numpy as np

    number: Any = values[operator.signature.places["fill_value"]]
    return np.full((1,) * meta.ndim, number, meta.dtype.numpy)


def _computed(operator: Operator, values: Values, found: Mapping[Node, Any]) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """Compute one element; None where eager execution would raise, which is left to run time."""
    arrays = tuple(map_nodes(value, found.__getitem__) for value in values)
    try:
        return operator.kind.kernel(operator, arrays)
    except (ArithmeticError, TypeError, ValueError):
        return None
