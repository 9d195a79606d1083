"""Index operators: which element is read or written depends on data, or on a case.

Four forms, each an index function on plain arithmetic that lowering runs on expressions and the
contract suite on integers; the eager kernel is NumPy's own and must agree.

- `Gather`: element `i` of the result is the element `place(i, read)` of one tensor, where
  `read(name, indices, size)` reads
  an index tensor under a bounds check (the adjoint is a scatter);
- `Scatter`: element `i` of a value goes to `place(i, read)` of the result, which starts as a base;
  equal places are
  overwritten or combined by a monoid;
- `Pieces`: the result is cut into boxes, each read from one operand at an affine place (cat, pad,
  slice_scatter);
- `Merged`: each element of the result merges the pieces along further dimensions by a monoid (what
  windows hold: pools, and the adjoint of reading windows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.ops.kinds.form_batches import run_form
from tensorplay.ops.kinds.forms import (
    Condition,
    Form,
    Gather,
    Indices,
    Merged,
    Piece,
    Pieces,
    Read,
    Scatter,
)
from tensorplay.ops.kinds.kind import Kind
from tensorplay.ops.quiet import quiet

if TYPE_CHECKING:
    from tensorplay.ops.registry import Metas, Operator
    from tensorplay.ops.signature import Values


class Index(Kind):
    """A declared form, with its meta rule and NumPy kernel."""

    name = "index"

    def __init__(
        self, kernel: Callable[..., Any], meta: Callable[..., Metas], form: Callable[..., Form]
    ) -> None:
        """All three take one argument for each parameter, positionally: arrays for `kernel`, `TensorMeta`s for the others."""
        self._kernel = kernel
        self._meta = meta
        self._form = form

    def form(self, operator: Operator, values: Values) -> Form:
        """The index function of a call (with `TensorMeta`s)."""
        del operator
        return self._form(*values)

    def meta(self, operator: Operator, values: Values) -> Metas:
        """The declared rule."""
        del operator
        return self._meta(*values)

    def batch(self, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The form of a sample, run on tensors of indices, with the batch as an index more."""
        return run_form(self.form(operator, metas), operator, values, metas, size)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        """The declared kernel; NumPy lays what it reads at places out as the places lie, results are row-major."""
        del operator
        found: Any = quiet(self._kernel, *values)
        return found if found.flags.c_contiguous else np.array(found, order="C")


__all__ = [
    "Condition",
    "Form",
    "Gather",
    "Index",
    "Indices",
    "Merged",
    "Piece",
    "Pieces",
    "Read",
    "Scatter",
]
