"""Composite operators: functions over tensor operators.

    @composite
    def softmax(input: Tensor, dim: int) -> Tensor:
        shifted = exp(input - input.amax(dim, keepdim=True).detach())
        return shifted / shifted.sum(dim, keepdim=True)

A call runs the function, so that recording, autograd and the compiler see its parts. With a written
gradient it is one operator down to autograd, and its parts appear below (`decompose`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core.meta import TensorMeta
from tensorplay.ops.gradient import Result
from tensorplay.ops.kinds.kind import Kind
from tensorplay.ops.signature import Values

if TYPE_CHECKING:
    from tensorplay.ops.registry import Metas, Operator
    from tensorplay.tensor import Tensor

Runner = Callable[["Operator", Values], Any]

_runner: list[Runner] = []


def install_runner(runner: Runner) -> None:
    """Set what runs a composite on arrays or metas: the dispatcher does."""
    _runner[:] = [runner]


class Composite(Kind):
    """The interpretations of a function over operators."""

    name = "composite"

    def decompose(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # tensor or tuple
        """Run the function on tensors."""
        signature = operator.signature
        names = signature.keyword_names
        if not names:
            return operator.function(*values)
        count = signature.positional_count
        return operator.function(*values[:count], **dict(zip(names, values[count:], strict=True)))

    def meta(self, operator: Operator, values: Values) -> Metas:
        """The function on tensors without data."""
        found = _runner[0](operator, values)
        return _metas(found)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # array or tuple
        """The function on tensors over these arrays."""
        found = _runner[0](operator, values)
        return tuple(each.array for each in found) if isinstance(found, tuple) else found.array

    def tangent(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        tangents: Sequence[Tensor | None],
    ) -> Any:  # noqa: ANN401  # tensor or tuple
        """Only for those with a written gradient; the others never arrive here."""
        return super().tangent(operator, values, result, tangents)

    def missing_gradient(self, operator: Operator) -> str | None:
        """Follows from the parts."""
        del operator
        return None


def _metas(found: Any) -> Metas:  # noqa: ANN401  # tensor or tuple
    if isinstance(found, tuple):
        return tuple(_one(each) for each in found)
    return _one(found)


def _one(tensor: Any) -> TensorMeta:  # noqa: ANN401  # a tensor
    meta: TensorMeta = tensor.tensor_meta
    return meta
