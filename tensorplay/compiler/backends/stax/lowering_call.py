"""`Call`: one node of the operator graph to lower, with its arguments bound to the operator's parameters.

Rules get a call and return a lowered tensor; what they ask of the interpreter is the protocol `Lowering`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from tensorplay.compiler.backends.stax.ir import PointwiseFn, Scatter
from tensorplay.compiler.backends.stax.lowered import (
    BufferDraft,
    LoweredTensor,
    ViewOf,
)
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Node, map_nodes
from tensorplay.ops.signature import Values
from tensorplay.ops.values import NO_ATTRS, TABLE, Value

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.ir import Loops
    from tensorplay.compiler.target import Target
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.ops.registry import Operator, Overload


class Lowering(Protocol):
    """What the rules need of the interpreter."""

    target: Target
    current: str
    """The node whose own rule runs: an origin of every buffer that the rule makes."""

    def add_buffer(
        self, loops: Loops, device: Device, size: tuple[int, ...], origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make a buffer that loops write."""
        ...

    def add_scatter(
        self, loops: Scatter, target: BufferDraft, origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make the result of a scatter."""
        ...

    def extern(
        self, call: Call, *, into: bool = False
    ) -> LoweredTensor | tuple[LoweredTensor, ...]:
        """Make the buffers of a call of the operator's own kernel."""
        ...


class Call:
    """One node to lower: the operator, its call with metadata in place of tensors, and the lowered tensors."""

    def __init__(
        self,
        lowering: Lowering,
        node: Node,
        overload: Overload,
        tensor_of: Callable[[Node], LoweredTensor],
    ) -> None:
        """Bind the node's arguments to the operator's parameters."""
        self.lowering = lowering
        self.node = node
        self.overload = overload
        self.tensor_of = tensor_of
        args = tuple(map_nodes(a, self.meta_of) for a in node.args)
        kwargs = {k: map_nodes(a, self.meta_of) for k, a in node.kwargs.items()}
        self.values: Values = overload.bind(args, kwargs)

    @property
    def operator(self) -> Operator:
        """The operator that is called."""
        return self.overload.operator

    @property
    def meta(self) -> TensorMeta:
        """The metadata of the result, a single tensor."""
        return cast("TensorMeta", self.node.meta["val"])

    def meta_of(self, node: Node) -> TensorMeta:
        """Return a tensor argument's metadata."""
        return cast("TensorMeta", node.meta["val"])

    def tensors(self) -> dict[str, LoweredTensor]:
        """Return the tensor arguments by parameter name, items of lists as `name.0`, `name.1`."""
        args = tuple(map_nodes(a, self.tensor_of) for a in self.node.args)
        kwargs = {k: map_nodes(a, self.tensor_of) for k, a in self.node.kwargs.items()}
        found: dict[str, LoweredTensor] = {}
        bound = self.overload.bind(args, kwargs)
        for parameter, value in zip(self.operator.signature.parameters, bound, strict=True):
            if isinstance(value, LoweredTensor):
                found[parameter.name] = value
            elif isinstance(value, tuple):
                for place, item in enumerate(value):
                    if isinstance(item, LoweredTensor):
                        found[f"{parameter.name}.{place}"] = item
        return found

    def map_tensors(self, argument: object, change: Callable[[LoweredTensor], object]) -> object:
        """Return an argument of the node with every tensor in it changed."""
        return map_nodes(argument, lambda n: change(self.tensor_of(n)))

    def describe(self) -> str:
        """Return the dtypes of the tensors, for messages."""
        return ", ".join(t.dtype.name for t in self.tensors().values()) or "no tensors"

    def computed(
        self,
        inner_fn: PointwiseFn,
        sources: Sequence[LoweredTensor],
        view: ViewOf | None = None,
        dtype: DType | None = None,
    ) -> LoweredTensor:
        """Return the result, or what becomes it and has another dtype, as a function over indices."""
        meta = self.meta
        return LoweredTensor(
            self.lowering,
            meta.shape,
            meta.dtype if dtype is None else dtype,
            meta.device,
            inner_fn=inner_fn,
            depth=1 + max((s.depth for s in sources), default=0),
            origins=merge_origins(sources, self.node.name),
            view=view,
            eager_strides=meta.strides,
        )


def merge_origins(sources: Sequence[LoweredTensor], name: str) -> tuple[str, ...]:
    """Return the graph nodes that a value comes from since the last buffers, and itself."""
    found: dict[str, None] = {}
    for source in sources:
        found.update(
            dict.fromkeys(source.origins if source.stored is None or is_input(source) else ())
        )
    found[name] = None
    return tuple(found)


def is_input(tensor: LoweredTensor) -> bool:
    """Say whether a tensor lies in an input buffer."""
    stored = tensor.stored
    return stored is not None and stored.buffer.is_input


def apply_instruction(name: str, *operands: Value) -> Value:
    """Apply a scalar instruction by name."""
    return operands[0].handler.apply(TABLE[name], operands, NO_ATTRS)
