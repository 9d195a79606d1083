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

from tensorplay.autograd.anomaly import anomaly
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
PreHook: TypeAlias = "Callable[[Gradients], Gradients | None]"
PostHook: TypeAlias = "Callable[[Gradients, Gradients], Gradients | None]"

Hook = TypeVar("Hook")

_sequence = itertools.count()


class Node:
    """One differentiable call: its edges, and (in subclasses) how gradients pass through it."""

    __slots__ = (
        "__weakref__",
        "_metadata",
        "edges",
        "hooks",
        "outputs",
        "post_hooks",
        "pre_hooks",
        "retained",
        "sequence",
    )

    def __init__(self, edges: tuple[Edge | None, ...]) -> None:
        """Make a node whose inputs' gradients flow to ``edges``; its outputs are described afterwards."""
        self.edges = edges
        self.outputs: tuple[OutputSpec | None, ...] = ()
        self.hooks: dict[int, dict[int, TensorHook]] | None = None
        self.retained: dict[int, ReferenceType[Tensor]] | None = None
        self.pre_hooks: dict[int, PreHook] | None = None
        self.post_hooks: dict[int, PostHook] | None = None
        self._metadata: dict[str, Any] | None = None
        self.sequence = next(_sequence)
        if anomaly.enabled:
            self.metadata.update(anomaly.origin())

    @property
    def title(self) -> str:
        """What made the node, as messages name it."""
        return type(self).__name__

    def name(self) -> str:
        """Return what made the node: ``"MulBackward"``."""
        return self.title

    @property
    def metadata(self) -> dict[str, Any]:
        """Anything that users (and anomaly mode) note of the call."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Where the gradients of the inputs flow: nodes, `AccumulateGrad` for leaves, ``(None, 0)`` for nowhere."""
        return tuple((None, 0) if edge is None else _shown(edge) for edge in self.edges)

    def register_prehook(self, hook: PreHook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before gradients pass through the node.

        A tuple that it returns replaces the gradients of the outputs.
        """
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle(self.pre_hooks, hook)

    def register_hook(self, hook: PostHook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after gradients have passed through the node.

        A tuple that it returns replaces the gradients of the inputs.
        """
        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle(self.post_hooks, hook)

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
        return f"<{self.title}>"


class AccumulateGrad(Node):
    """Where the gradient of a leaf ends: it is added to ``variable.grad``. Made to be looked at."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        """Stand for a leaf."""
        super().__init__(())
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        """Whether both stand for the same leaf."""
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        """The leaf's."""
        return hash(self.variable)


def _shown(edge: Edge) -> tuple[Node, int]:
    target, number = edge
    return (target if isinstance(target, Node) else AccumulateGrad(target)), number


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
