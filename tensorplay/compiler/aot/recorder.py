"""Records operators into a pure graph: the dispatcher's view of a program, with writes made values.

`Recorder` is an operator mode. Tensors that it made have no data; their results follow from meta
rules, their gradients from autograd, which lies below the mode, so a backward pass that runs under
the recorder is recorded too (Algorithm 5.1).

[Note: functionalization] Memory has a *current value*, a node. A write replaces it: through a view,
by the inverse scatters of the view's steps; other views of that memory are made again from it when
they are read next. So `y[0].add_(1)` becomes select, add, select_scatter, and no node changes what
another returned. Tensors are told apart by memory and layout, because autograd keeps twins of them.

Composites that have a gradient of their own are one operator for autograd, but their parts are what
is recorded.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from tensorplay import dispatch
from tensorplay._C import Storage
from tensorplay.compiler.aot.joint_graph import BACKWARD, FORWARD
from tensorplay.compiler.phases import value_of
from tensorplay.core import layout as layouts
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import CompileError
from tensorplay.core.meta import TensorMeta
from tensorplay.dispatch import OperatorMode, ViewStep
from tensorplay.graph import Graph, Node, map_leaves
from tensorplay.graph.node import LEAVES
from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.signature import Values
from tensorplay.tensor import Tensor

_FLAT: Final = LEAVES | {Tensor}
Layout: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int, DType]


class Memory:
    """One storage: its whole as first seen, its current value, and the nodes of views of that."""

    __slots__ = ("layout", "node", "views", "writes")

    def __init__(self, layout: Layout, node: Node) -> None:
        self.layout = layout
        self.node = node
        self.views: dict[Layout, Node] = {}
        self.writes = 0


class Recorder(OperatorMode):
    """Appends operator calls to `graph`. `tag` and `stack` are noted on each node."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.tag = FORWARD
        self.stack: object = None
        self.constants: dict[int, tuple[Tensor, Tensor]] = {}
        self._memories: dict[Storage, Memory] = {}
        self._last_primal: Node | None = None
        self._last_tangent: Node | None = None

    def input(
        self, meta: TensorMeta, name: str, *, requires_grad: bool = False, is_tangent: bool = False
    ) -> Tensor:
        """Add an input and return the tensor that stands for it."""
        node = self._placeholder(name, is_tangent=is_tangent)
        node.meta["val"] = meta
        node.meta["tag"] = BACKWARD if is_tangent else FORWARD
        tensor = dispatch.tensor_of_meta(meta)
        tensor.requires_grad = requires_grad
        self._memories[tensor.untyped_storage()] = Memory(layout_of(meta), node)
        return tensor

    def call_values(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Compute a call on metadata and append it."""
        values = self._without_data(values)
        if isinstance(operator.kind, Composite):
            with self:
                return dispatch.execute(operator, values)
        tensors = operator.tensors(values)
        if operator is tp.as_strided:
            memory = self._memories.get(tensors[0].untyped_storage())
            if memory is not None and memory.writes:
                _check_is_whole(memory)
        if tensors:
            result = dispatch.execute(operator, values)
            if isinstance(result, Tensor) and any(result is tensor for tensor in tensors):
                return result
        else:
            if dispatch.creation_device(operator, values).type == "meta":
                raise CompileError(
                    f"{operator.name}(device='meta') makes a tensor without data, and compiled functions "
                    "compute: make it outside of the function"
                )
            result = _tensors_of(operator.kind.meta(operator, values))
        overload = operator.overload_of(values)
        args, kwargs = overload.shown(values)
        node = self.graph.call_function(
            overload,
            tuple(self._argument(a) if a.__class__ in _FLAT else self._nested(a) for a in args),
            {key: self._nested(arg) for key, arg in kwargs.items()},
        )
        self._register(node, result)
        return result

    def write(self, tensor: Tensor, value: Tensor) -> None:
        """Make `value` the current value of `tensor`, and of what it is a view of."""
        tensor, value = self.without_data(tensor), self.without_data(value)
        memory = self._memories[tensor.untyped_storage()]
        node = self.node_of(value)
        layout = layout_of(tensor.tensor_meta)
        views: dict[Layout, Node] = {}
        if layout == memory.layout:
            whole = self._laid_out(value, memory)
        else:
            steps = dispatch.view_steps(tensor)
            _check_raw_strides(steps, memory)
            with self, dispatch.set_grad_enabled(False):
                written = dispatch.write_back(steps[0].source, steps, value)
            whole = self._laid_out(written, memory)
            if has_strides(value_of(node), layout[1]):
                views[layout] = node
        with self:
            dispatch.execute_write(tensor, value)
        memory.node, memory.views = whole, views
        memory.writes += 1

    def node_of(self, tensor: Tensor) -> Node:
        """Return the node of the tensor's current value, recording views of it where needed."""
        tensor = self.without_data(tensor)
        memory = self._memories.get(tensor.untyped_storage())
        if memory is None:
            raise CompileError(
                f"a tensor of shape {tuple(tensor.shape)} without data, which was not made here, is "
                "used in a compiled function: it was kept from the capture of another call"
            )
        layout = layout_of(tensor.tensor_meta)
        if layout == memory.layout:
            return memory.node
        node = memory.views.get(layout)
        if node is None:
            steps = dispatch.view_steps(tensor)
            if memory.writes:
                _check_raw_strides(steps, memory)
            with self, dispatch.set_grad_enabled(False):
                dispatch.replay_view(steps[0].source, steps)
            node = memory.views[layout]
        return node

    def _laid_out(self, value: Tensor, memory: Memory) -> Node:
        """Return a value's node, in the order of the memory that it is written to: views of that fit it."""
        shape, strides, offset, dtype = memory.layout
        whole = TensorMeta(shape, dtype, value.device, strides, offset)
        node = self.node_of(value)
        if has_strides(value_of(node), layouts.dense_like(shape, strides)):
            return node
        with self, dispatch.set_grad_enabled(False):
            return self.node_of(in_order_of(value, whole))

    def memory_of(self, tensor: Tensor) -> Memory:
        """Return what is known of the tensor's storage."""
        return self._memories[tensor.untyped_storage()]

    def without_data(self, tensor: Tensor) -> Tensor:
        """Return a recorded tensor as it is; for one with data, an input that stands for it."""
        if tensor.array is None:
            return tensor
        known = self.constants.get(id(tensor))
        if known is None:
            stand_in = self.input(tensor.tensor_meta, "constant")
            known = self.constants[id(tensor)] = (tensor, stand_in)
        return known[1]

    def _without_data(self, values: Values) -> Values:
        return tuple(
            self.without_data(value)
            if isinstance(value, Tensor)
            else self._without_data(value)
            if type(value) is tuple
            else value
            for value in values
        )

    def _argument(self, value: object) -> object:
        return self.node_of(value) if isinstance(value, Tensor) else value

    def _nested(self, value: object) -> object:
        return value if value.__class__ in LEAVES else map_leaves(value, self._argument)

    def _register(self, node: Node, result: Tensor | tuple[Tensor, ...]) -> None:
        node.meta["tag"] = self.tag
        if self.stack is not None:
            node.meta["stack"] = self.stack
        if isinstance(result, Tensor):
            node.meta["val"] = meta = result.tensor_meta
            memory = self._memories.get(result.untyped_storage())
            if memory is None:
                self._memories[result.untyped_storage()] = Memory(layout_of(meta), node)
            else:
                memory.views[layout_of(meta)] = node
            return
        node.meta["val"] = tuple(each.tensor_meta for each in result)
        for index, each in enumerate(result):
            item = self.graph.call_function(python_operator.getitem, (node, index))
            self._register(item, each)

    def _placeholder(self, name: str, *, is_tangent: bool) -> Node:
        """Add an input: a primal after the primals there are, a tangent after all inputs."""
        after = self._last_primal
        if is_tangent and self._last_tangent is not None:
            after = self._last_tangent
        with self.graph.inserting_after(after if after is not None else self.graph.end):
            node = self.graph.placeholder(name)
        if is_tangent:
            self._last_tangent = node
        else:
            self._last_primal = node
        return node


def in_order_of(value: Tensor, meta: TensorMeta) -> Tensor:
    """Record a copy of a value, dense, with its dimensions in memory in the order of another layout."""
    strides = layouts.dense_like(meta.shape, meta.strides)
    order = sorted(range(meta.ndim), key=lambda dim: -strides[dim])
    back = sorted(range(meta.ndim), key=order.__getitem__)
    copy: Tensor = tp.permute(tp.contiguous_copy(tp.permute(value, order)), back)
    return copy


def has_strides(meta: TensorMeta, strides: Sequence[int]) -> bool:
    """Whether a layout has these strides, dimensions of size 1 apart."""
    return all(
        s == t for size, s, t in zip(meta.shape, meta.strides, strides, strict=True) if size != 1
    )


def _check_raw_strides(steps: Sequence[ViewStep], memory: Memory) -> None:
    """Refuse a view by `as_strided` where the memory's value is only a part of its storage."""
    if any(step.operator is tp.as_strided for step in steps):
        _check_is_whole(memory)


def _check_is_whole(memory: Memory) -> None:
    """Refuse memory of which an input shows a part: a written value doesn't have the rest."""
    shape, strides, offset, _ = memory.layout
    if offset != 0 or not layouts.is_dense(shape, strides):
        raise CompileError(
            f"as_strided of an input of shape {shape}, strides {strides} and offset {offset}, and a "
            "write to it: the input is a view, and its neighbours in memory aren't known here; pass "
            "the whole tensor, or a clone() of the view"
        )


def layout_of(meta: TensorMeta) -> Layout:
    """Return what tells a view from the others of its memory."""
    return meta.shape, meta.strides, meta.offset, meta.dtype


def _tensors_of(metas: TensorMeta | tuple[TensorMeta, ...]) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    if isinstance(metas, tuple):
        return tuple(map(dispatch.tensor_of_meta, metas))
    return dispatch.tensor_of_meta(metas)
