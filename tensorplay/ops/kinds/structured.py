"""Structured operators: meta rule, eager kernel and gradients written out (matmul, convolution, sort, …).

    @structured(meta=_matmul_meta)
    def matmul(input: Array, other: Array) -> Array: ...   # the eager kernel, on NumPy arrays

They lower to a template or an extern call of their kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorplay.ops.kinds.kind import Kind
from tensorplay.ops.quiet import quiet

if TYPE_CHECKING:
    from tensorplay.ops.registry import Metas, Operator
    from tensorplay.ops.signature import Values


class Structured(Kind):
    """The declaration's own functions."""

    name = "structured"

    def __init__(self, kernel: Callable[..., Any], meta: Callable[..., Metas]) -> None:
        """Both take one argument for each parameter, `meta` positionally, `kernel` as the operator is called."""
        self._kernel = kernel
        self._meta = meta

    def meta(self, operator: Operator, values: Values) -> Metas:
        """The declared rule."""
        del operator
        return self._meta(*values)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # array or tuple
        """The declared kernel."""
        count = operator.signature.positional_count
        keywords = operator.signature.parameters[count:]
        if not keywords:
            return quiet(self._kernel, *values)
        named = {each.name: value for each, value in zip(keywords, values[count:], strict=True)}
        return quiet(self._kernel, *values[:count], **named)
