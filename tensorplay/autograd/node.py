"""Nodes of the autograd graph: what a differentiable call leaves behind.

A call with an input that requires a gradient leaves one `Node`. The node holds one *edge* an input: the place that the
input's gradient flows to. An edge is `(target, number)`, where the target is the node that made the input (and the
number says which of its outputs), or the leaf tensor itself (and the number is 0), or `None` where no gradient is
wanted. So for ``y = (x * 2).sum()`` with a leaf ``x``:

    y.grad_fn          = <SumBackward>   edges ((<MulBackward>, 0),)
    y.grad_fn.edges[0] = <MulBackward>   edges ((x, 0), None)

Edges never change, and nodes are numbered as they are made, so a node's edges lead to smaller numbers only: descending
numbers are a topological order, and the engine needs no other.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from weakref import ReferenceType

    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType

Gradients: TypeAlias = "tuple[Tensor | None, ...]"
Edge: TypeAlias = "tuple[Node | Tensor, int]"
OutputSpec: TypeAlias = "tuple[tuple[int, ...], DType, Device]"
TensorHook: TypeAlias = "Callable[[Tensor], Tensor | None]"

Hook = TypeVar("Hook")

_sequence = itertools.count()


class Node:
    """One differentiable call: its edges, and (in subclasses) how gradients pass through it."""

    __slots__ = ("__weakref__", "edges", "hooks", "outputs", "retained", "sequence")

    def __init__(self, edges: tuple[Edge | None, ...]) -> None:
        """Make a node whose inputs' gradients flow to ``edges``; its outputs are described afterwards."""
        self.edges = edges
        self.outputs: tuple[OutputSpec | None, ...] = ()
        self.hooks: dict[int, dict[int, TensorHook]] | None = None
        self.retained: dict[int, ReferenceType[Tensor]] | None = None
        self.sequence = next(_sequence)

    @property
    def name(self) -> str:
        """What made the node, as messages name it."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | Tensor | None, int], ...]:
        """The edges with ``(None, 0)`` for inputs that want no gradient."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Map the gradients of the outputs to those of the inputs; ``wanted`` says which are needed.

        A gradient that is ``None`` is zero, on the way in and on the way out.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Drop what was saved for the backward pass."""

    def describe_outputs(self, values: Sequence[object]) -> None:
        """Note shape, dtype and device of the outputs that are tensors, as gradients must have."""
        self.outputs = tuple(
            (value.shape, value.dtype, value.device) if isinstance(value, Tensor) else None
            for value in values
        )

    def add_hook(self, output: int, hook: TensorHook) -> RemovableHandle:
        """Call ``hook`` with the whole gradient of an output before it passes through the node."""
        if self.hooks is None:
            self.hooks = {}
        return RemovableHandle(self.hooks.setdefault(output, {}), hook)

    def __repr__(self) -> str:
        """``<MulBackward>``."""
        return f"<{self.name}>"


class RemovableHandle:
    """Take a hook out again with `remove`, or by using the handle in a ``with`` statement."""

    __slots__ = ("_hooks", "key")

    _keys = itertools.count()

    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        """Add ``hook`` to ``hooks`` under a fresh key."""
        self.key = next(RemovableHandle._keys)
        self._hooks: dict[int, Any] = hooks
        hooks[self.key] = hook

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        self._hooks.pop(self.key, None)

    def __enter__(self) -> Self:
        """Return the handle."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Take the hook out."""
        self.remove()
