"""`GraphLowering`: interpret an operator graph so that each node becomes a function or a buffer (6.1, 6.6).

In: an `OperatorGraph` and a `Target`. Out: a `LoopProgram`. Nodes run one at a time in their order: placeholders become
input buffers; a call looks up its lowering (the operator's own, else its kind's); an operator without one becomes a call
of its eager kernel. Values stay functions until something needs them in memory: an output, an external call, a
reduction's reader, or a reason of section 6.6 where several nodes read them. Layouts that nothing has fixed are decided
at the end, from the strides at which each buffer's loops read.

An output whose node carries the name of an input as `meta["write_back"]` is one that the caller will copy into that input.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax import op_lowerings as op_lowerings  # noqa: PLC0414  # registers its rules
from tensorplay.compiler.backends.stax.handlers.counting import CountingHandler
from tensorplay.compiler.backends.stax.handlers.symbolic import BufferFacts
from tensorplay.compiler.backends.stax.index import Expr, Symbol, linear_index
from tensorplay.compiler.backends.stax.ir import (
    Buffer,
    ComputedBuffer,
    ExternBuffer,
    ExternCall,
    FixedLayout,
    Index,
    InputBuffer,
    LoopProgram,
    Loops,
    Scatter,
    loop_variables,
    record_body,
)
from tensorplay.compiler.backends.stax.loop_body import Load, LoopBody
from tensorplay.compiler.backends.stax.loop_nodes import touched
from tensorplay.compiler.backends.stax.lowered import BufferDraft, LoweredTensor, Stored
from tensorplay.compiler.backends.stax.lowering_call import Call
from tensorplay.compiler.backends.stax.lowering_rules import has_complex, lower_call, needs_memory
from tensorplay.core.config import config
from tensorplay.core.errors import CompileError
from tensorplay.core.layout import contiguous_strides, strides_in_order
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Node, map_nodes
from tensorplay.ops.registry import Overload

if TYPE_CHECKING:
    from tensorplay.compiler.phases import OperatorGraph
    from tensorplay.compiler.target import Target
    from tensorplay.core.device import Device

logger = logging.getLogger(__name__)

Lowered = LoweredTensor | tuple[LoweredTensor, ...]


def lower_graph(graph: OperatorGraph, target: Target, *, strict: bool = False) -> LoopProgram:
    """Lower an operator graph. Under `strict`, a call without a lowering is an error."""
    return GraphLowering(graph, target, strict=strict).run()


class GraphLowering:
    """The interpreter; also what lowered tensors ask for new buffers."""

    def __init__(self, graph: OperatorGraph, target: Target, *, strict: bool) -> None:
        """Start without buffers."""
        self.graph = graph
        self.target = target
        self.strict = strict
        self.current = ""
        self.drafts: list[BufferDraft] = []
        self.facts: dict[str, BufferFacts] = {}
        self.values: dict[Node, Lowered] = {}
        self.fallbacks: list[str] = []
        self.uses: dict[Node, int] = {}
        self.output_names: dict[Node, str] = dict.fromkeys(graph.outputs, "")
        self.in_memory: set[Node] = set()
        self.live: set[Node] = set()
        self.order = {node.name: k for k, node in enumerate(graph.graph.nodes)}

    def run(self) -> LoopProgram:
        """Lower every node, then fix layouts and record the loop bodies."""
        self.count_uses()
        for node in self.graph.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = self.lower_input(node)
            elif node.op == "call_function" and node in self.live:
                value = self.lower_node(node)
                self.values[node] = value
                self.materialize(node, value)
        return self.finish()

    # ---- the passes over the graph ---------------------------------------------------------------

    def count_uses(self) -> None:
        """Count the places where each node is read, and find those that an external call will need in memory.

        What nothing reads isn't lowered, unless it has an effect.
        """
        for node in self.graph.outputs:
            self.uses[node] = self.uses.get(node, 0) + 1

        def count(used: Node) -> Node:
            self.uses[used] = self.uses.get(used, 0) + 1
            return used

        for node in reversed(list(self.graph.graph.nodes)):
            if node.op != "call_function" or (node not in self.uses and not has_effect(node)):
                continue
            self.live.add(node)
            for argument in (*node.args, *node.kwargs.values()):
                map_nodes(argument, count)
            kind = needs_memory(node)
            if kind == "arguments" or (kind == "if used" and node in self.in_memory):
                self.in_memory.update(node.inputs)

    def lower_input(self, node: Node) -> LoweredTensor:
        """Make an input buffer with the layout of the example."""
        meta = meta_of(node)
        draft = BufferDraft(
            node.name, meta.device, meta.dtype, meta.shape, meta.strides, eager_offset=meta.offset
        )
        self.register(draft)
        return LoweredTensor(
            self, meta.shape, meta.dtype, meta.device, Stored(draft), origins=(node.name,)
        )

    def lower_node(self, node: Node) -> Lowered:
        """Lower a call."""
        if node.target is operator.getitem:
            source, place = node.args
            assert isinstance(source, Node)  # noqa: S101  # the phase's invariant
            items = self.values[source]
            assert isinstance(items, tuple)  # noqa: S101  # for the type checker
            assert isinstance(place, int)  # noqa: S101  # for the type checker
            return items[place]
        overload = node.target
        if not isinstance(overload, Overload):
            msg = f"%{node.name}: {overload} is no operator; the operator graph is malformed"
            raise TypeError(msg)
        call = Call(self, node, overload, self.lowered_of)
        value = lower_call(call)
        if value is not None:
            return value
        if config.lower_debug:
            logger.warning(
                "no lowering: %s (%%%s); its eager kernel is called", overload, node.name
            )
        if self.strict:
            reason = " (there are no loops over complex numbers)" if has_complex(call) else ""
            msg = (
                f"{overload} (%{node.name}) has no lowering for {call.describe()}{reason}, and strict_native is on; "
                "register one with register_lowering, or compile without strict_native"
            )
            raise CompileError(msg)
        self.fallbacks.append(node.name)
        return self.extern(call)

    def lowered_of(self, node: Node) -> LoweredTensor:
        """Return the lowered tensor of a node that is a single tensor."""
        value = self.values[node]
        assert isinstance(value, LoweredTensor)  # noqa: S101  # the phase's invariant
        return value

    # ---- materialization (6.6) -------------------------------------------------------------------

    def materialize(self, node: Node, value: Lowered) -> None:
        """Give a value memory where that is certain to be needed, or pays."""
        if isinstance(value, tuple):
            return
        if node in self.output_names:
            # New memory starts with its first element: a dimension that runs backwards runs forwards.
            strides = tuple(map(abs, meta_of(node).strides))
            self.output_names[node] = value.realize_with(strides).buffer.memory.name
        if value.is_stored:
            return
        if node in self.in_memory:
            value.as_argument()
        elif value.depth >= choices.MAX_DEPTH:
            value.realize()
        elif self.uses.get(node, 0) > 1 and 0 not in value.size:
            counts = CountingHandler(self.facts)
            value.make_loader()(counts, loop_variables("i", value.size))
            if choices.should_realize(counts, self.uses[node], self.target):
                value.realize()

    # ---- buffers ---------------------------------------------------------------------------------

    def register(self, draft: BufferDraft) -> None:
        """Add a buffer to the program."""
        self.drafts.append(draft)
        layout = FixedLayout(draft.device, draft.dtype, draft.size, draft.current_strides())
        self.facts[draft.name] = layout.facts()

    def add_buffer(
        self, loops: Loops, device: Device, size: tuple[int, ...], origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make a buffer that loops write; its layout is flexible."""
        name = f"buf{len(self.drafts)}"
        names = {*origins, self.current} - {""}
        ordered = tuple(sorted(names, key=self.order.__getitem__))
        draft = BufferDraft(name, device, loops.dtype, size, None, ordered, loops)
        self.register(draft)
        return draft

    def add_scatter(
        self, loops: Scatter, target: BufferDraft, origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make the result of a scatter: the memory of its target, changed."""
        draft = self.add_buffer(loops, target.device, target.size, origins)
        draft.storage = target.memory
        return draft

    def extern(self, call: Call, *, into: bool = False) -> Lowered:
        """Make the buffers of a call of the operator's own kernel."""
        metas = call.node.meta["val"]
        single = isinstance(metas, TensorMeta)
        results: tuple[TensorMeta, ...] = (metas,) if single else metas  # type: ignore[assignment]  # its role says so
        extern = ExternCall(
            call.overload,
            tuple(call.map_tensors(a, LoweredTensor.as_argument) for a in call.node.args),
            {
                k: call.map_tensors(a, LoweredTensor.as_argument)
                for k, a in call.node.kwargs.items()
            },
            into,
            call.overload.operator.effect,
            call.node.name,
        )
        lowered = []
        for position, meta in enumerate(results):
            name = f"buf{len(self.drafts)}"
            draft = BufferDraft(
                name, meta.device, meta.dtype, meta.shape, meta.strides, (call.node.name,),
                None, extern, position,
            )  # fmt: skip
            self.register(draft)
            lowered.append(
                LoweredTensor(
                    self, meta.shape, meta.dtype, meta.device, Stored(draft), origins=draft.origins
                )
            )
        return lowered[0] if single else tuple(lowered)

    # ---- the end ---------------------------------------------------------------------------------

    def finish(self) -> LoopProgram:
        """Fix every layout, in the order of computation, and record the loop bodies."""
        outputs = tuple(self.output_names[node] for node in self.graph.outputs)
        write_backs = {
            name: str(node.meta["write_back"])
            for node, name in self.output_names.items()
            if "write_back" in node.meta
        }
        bodies: dict[str, LoopBody] = {}
        buffers: list[Buffer] = []
        for draft in self.drafts:
            if draft.loops is not None and 0 not in draft.loops.ranges:
                bodies[draft.name] = self.record(draft, draft.loops)
            layout = draft.layout()
            self.facts[draft.name] = layout.facts()
            if draft.loops is not None:
                buffers.append(ComputedBuffer(draft.name, layout, draft.loops, draft.origins))
            elif draft.call is not None:
                buffers.append(ExternBuffer(draft.name, layout, draft.call, draft.position))
            else:
                buffers.append(InputBuffer(draft.name, layout))
        return LoopProgram(tuple(buffers), bodies, outputs, tuple(self.fallbacks), write_backs)

    def record(self, draft: BufferDraft, loops: Loops) -> LoopBody:
        """Record a buffer's body; a flexible layout takes the order of dimensions in which the loops read."""
        name = draft.memory.name
        flexible = draft.memory.strides is None

        def place(index: Index) -> Expr:
            return linear_index(index, draft.current_strides())

        body = record_body(loops, name, place, self.facts)
        if flexible and draft.storage is None:
            preferred = preferred_strides(body, draft.size)
            if preferred != draft.fixed_strides():
                draft.strides = preferred
                body = record_body(loops, name, place, self.facts)
        return body


def has_effect(node: Node) -> bool:
    """Say whether a call does more than return a value."""
    return isinstance(node.target, Overload) and node.target.operator.effect


def preferred_strides(body: LoopBody, size: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides in the order in which a body reads: the writes then run along with the reads.

    The reads that reach most places decide; where one of them is in row-major order, that is the layout.
    """
    default = contiguous_strides(size)
    variables = [v.as_symbol() for v in loop_variables("i", size)]
    loops = [s for s in variables if s is not None]
    if len(loops) <= 1:
        return default
    loads = [i.index for i in body.instructions if isinstance(i, Load) and not i.indices]
    full = [e for e in loads if all(e.stride(s) for s in loops)]
    if not full:
        return default
    most = max(map(touched, full))
    orders = [read_order(e, variables) for e in full if touched(e) == most]
    row_major = read_order(linear_index(loop_variables("i", size), default), variables)
    return default if row_major in orders else strides_in_order(size, orders[0])


def read_order(e: Expr, variables: Sequence[Symbol | None]) -> list[int]:
    """Return the dimensions in the order of their strides in an address, largest first."""
    steps = [0 if s is None else abs(e.stride(s) or 0) for s in variables]
    return sorted(range(len(steps)), key=lambda k: -steps[k])


def meta_of(node: Node) -> TensorMeta:
    """Return the metadata of a node that is a single tensor."""
    meta = node.meta["val"]
    assert isinstance(meta, TensorMeta)  # noqa: S101  # the phase's invariant
    return meta
