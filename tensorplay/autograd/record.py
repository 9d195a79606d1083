"""Recording: a differentiable operator call leaves a node with the operator's pullback.

`on_call` is what dispatch calls when an argument wants a gradient; it computes the result below
autograd, asks the operator for its pullback and gives the result its history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay import dispatch
from tensorplay.autograd.node import Node
from tensorplay.autograd.saved import SavedTensor, alias, copy_with_history
from tensorplay.autograd.tensor_state import attach, gradient_edge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.autograd.node import Edge, Gradients
    from tensorplay.ops.gradient import Pullback
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


class OperatorNode(Node):
    """The node of an operator call: one edge a tensor argument."""

    __slots__ = ("operator", "pull", "saved")

    def __init__(
        self,
        edges: tuple[Edge | None, ...],
        operator: Operator,
        pullback: Pullback,
        results: tuple[Tensor, ...],
    ) -> None:
        """Save what the pullback reads; results among it are kept without their history."""
        super().__init__(edges)
        self.operator = operator
        self.pull = pullback.pull
        numbers = {id(result): number for number, result in enumerate(results)}
        self.saved = tuple(
            SavedTensor(tensor, numbers.get(id(tensor))) for tensor in pullback.saved
        )
        self.describe_outputs(results)

    @property
    def title(self) -> str:
        """``MulBackward``."""
        words = self.operator.name.split("_")
        return "".join(word.capitalize() for word in words) + "Backward"

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Run the pullback."""
        saved = [each.unpack(self) for each in self.saved]
        return self.pull(grads, saved, wanted)

    def keep_before_write(self, tensor: Tensor) -> None:
        """Save a copy of ``tensor``, which the node's own result is about to overwrite.

        So ``y.mul_(x)`` can be differentiated by ``x`` though it needs ``y`` as it was.
        """
        for each in self.saved:
            if each.tensor is tensor:
                each.tensor = copy_with_history(tensor)
                each.version = 0

    def release(self) -> None:
        """Drop the saved tensors."""
        for each in self.saved:
            each.release()


def on_call(operator: Operator, values: Values, tensors: list[Tensor]) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """Compute a call below autograd and record it where a gradient can flow."""
    return record_call(operator, values, tensors, dispatch.compute(operator, values))


def record_call(
    operator: Operator,
    values: Values,
    tensors: list[Tensor],
    result: Any,  # noqa: ANN401  # a tensor or a tuple of them
) -> Any:  # noqa: ANN401  # the same with a history
    """Give the result of a call its history, where a gradient can flow."""
    edges = tuple(gradient_edge(tensor) for tensor in tensors)
    needs = tuple(edge is not None for edge in edges)
    if not any(needs):
        return result
    single = not isinstance(result, tuple)
    results: tuple[Tensor, ...] = (result,) if single else result
    if any(each is tensor for each in results for tensor in tensors):
        results = tuple(alias(each) for each in results)
        result = results[0] if single else results
    pullback = operator.vjp(values, result, needs)
    if pullback is None:
        return result
    node = OperatorNode(edges, operator, pullback, results)
    for number, each in enumerate(results):
        if each.dtype.is_differentiable:
            attach(each, node, number)
    return result
