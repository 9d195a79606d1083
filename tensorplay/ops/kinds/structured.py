"""Structured operators: meta rule, eager kernel and gradients written out (matmul, convolution, sort, …).

    @structured(meta=_matmul_meta)
    def matmul(input: Array, other: Array) -> Array: ...   # the eager kernel, on NumPy arrays

They lower to a template or an extern call of their kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorplay.ops.kinds.kind import Kind

if TYPE_CHECKING:
    from tensorplay.ops.registry import Metas, Operator
    from tensorplay.ops.signature import Values


class Structured(Kind):
    """The declaration's own functions."""

    name = "structured"

    def __init__(self, kernel: Callable[..., Any], meta: Callable[..., Metas]) -> None:
        """`kernel` and `meta` take one argument for each parameter, positionally."""
        self._kernel = kernel
        self._meta = meta

    def meta(self, operator: Operator, values: Values) -> Metas:
        """The declared rule."""
        del operator
        return self._meta(*values)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # array or tuple
        """The declared kernel."""
        del operator
        return self._kernel(*values)
