"""In-place operations: what a write does to the history of a tensor, its root, and its views.

``y = x[0]; y.mul_(w)`` changes ``y`` and a part of ``x``. Afterwards ``y`` is the product, and ``x`` is
``select_scatter(x_before, product, 0, 0)``, without this being computed: `WriteThroughView` knows how
gradients pass through it. Other views of ``x`` are made again from it when they are used next
(`tensor_state.refresh_view`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensorplay import dispatch
from tensorplay.autograd.node import Node
from tensorplay.autograd.record import OperatorNode
from tensorplay.autograd.tensor_state import gradient_edge, refresh_view, replace_history
from tensorplay.core.errors import GradientError
from tensorplay.functions import zeros
from tensorplay.ops.kinds.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensorplay.autograd.node import Edge, Gradients
    from tensorplay.core.meta import TensorMeta
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


class InPlaceWrite(Node):
    """A tensor took the contents of a value: its gradient is the value's."""

    __slots__ = ()

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Pass the gradient on."""
        del wanted
        return grads


class Step(NamedTuple):
    """One view operator on the way from a root to the view that was written to."""

    operator: Operator
    source: TensorMeta
    arguments: Values


class WriteThroughView(Node):
    """A root took the contents of a value in the part that a view shows.

    The root before gets the gradient outside of that part, the value gets it inside.
    """

    __slots__ = ("steps",)

    def __init__(self, root: Edge | None, value: Edge | None, steps: tuple[Step, ...]) -> None:
        """Make the node of the root after the write; ``steps`` lead from it to the view."""
        super().__init__((root, value))
        self.steps = steps

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Split the gradient."""
        grad = grads[0]
        if grad is None:
            return None, None
        parts = [grad]
        for step in self.steps:
            parts.append(dispatch.call(step.operator, (parts[-1], *step.arguments)))
        inside = parts.pop()
        if not wanted[0]:
            return None, inside
        outside = zeros(inside.shape, dtype=inside.dtype, device=inside.device)
        for step, part in zip(reversed(self.steps), reversed(parts), strict=True):
            kind = step.operator.kind
            assert isinstance(kind, View)  # noqa: S101 - steps are views
            outside = kind.scattered(step.operator, step.source, step.arguments, part, outside)
        return outside, inside if wanted[1] else None


def on_write(tensor: Tensor, value: Tensor) -> None:
    """Store ``value`` in ``tensor`` and rewrite the histories; dispatch calls it for every write."""
    root = check_in_place(tensor)
    edge = gradient_edge(value)
    if isinstance(value.grad_fn, OperatorNode):
        value.grad_fn.keep_before_write(tensor)
    dispatch.store(tensor, value)
    if root is tensor:
        rewrite_history(tensor, edge)
    else:
        _rewrite_root(tensor, root, edge)


def check_in_place(tensor: Tensor) -> Tensor:
    """Refuse to change a leaf that requires a gradient; return the tensor whose history changes."""
    step = tensor._view  # noqa: SLF001 - the member that dispatch sets
    root: Tensor = tensor if step is None or step.root is None else step.root
    if root.requires_grad and root.grad_fn is None:
        what = "a leaf tensor" if root is tensor else "a view of a leaf tensor"
        raise GradientError(
            f"in-place operation: {what} that requires a gradient (shape {tuple(tensor.shape)}) cannot "
            "be changed while gradients are recorded; do it under no_grad(), or change a clone()"
        )
    return root


def rewrite_history(tensor: Tensor, edge: Edge | None) -> None:
    """Give a tensor that follows no other the history of what was written to it."""
    if edge is None and not tensor.requires_grad:
        return
    replace_history(tensor, InPlaceWrite((edge,)))


def _rewrite_root(view: Tensor, root: Tensor, edge: Edge | None) -> None:
    """Give the root of a view the history of a write through the view."""
    steps = tuple(
        Step(step.operator, step.source.tensor_meta, step.arguments)
        for step in dispatch.view_steps(view, root)
    )
    replace_history(root, WriteThroughView(gradient_edge(root), edge, steps))
    refresh_view(view)
