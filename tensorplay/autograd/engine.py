"""The reverse engine: gradients flow from roots to leaves, each node once, without recursion.

In: roots (edges with their gradients). Out: the gradients of the wanted edges, or of every leaf.
Nodes are taken from a heap by descending number, which is a topological order (see
`tensorplay.autograd.node`): when a node's turn comes, every contribution to its gradient has
arrived and is summed. With named targets only nodes on a path to one of them run, and each is told
which of its gradients are wanted, so that a traced backward pass holds nothing superfluous. The
caller hands out the gradients of leaves afterwards, so an error on the way changes nothing.

The engine computes with operators only (gradients are summed by ``add``) and never looks at data,
so it also runs on recording tensors.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.autograd.anomaly import anomaly, origin_text
from tensorplay.autograd.node import Node
from tensorplay.autograd.tensor_state import leaf_hooks
from tensorplay.core.errors import GradientError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.gradient import fit_gradient
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tensorplay.autograd.node import Edge, OutputSpec, TensorHook

EdgeKey: TypeAlias = "tuple[int, int]"


def edge_key(edge: Edge) -> EdgeKey:
    """Return what tells edges apart: the target's identity and the output's number."""
    return id(edge[0]), edge[1]


def propagate(
    roots: Iterable[tuple[Edge, Tensor]],
    targets: Sequence[Edge] | None,
    *,
    keep_graph: bool,
) -> dict[EdgeKey, tuple[Edge, Tensor]]:
    """Send gradients from ``roots`` to ``targets``, or to all leaves when ``targets`` is None.

    Return the gradient that each target received, by `edge_key`; targets that none reached are
    missing. Unless ``keep_graph``, nodes drop what they saved once they have run. Linear in the
    edges, times the logarithm of the nodes that wait at one time.
    """
    run = _Run(targets)
    for edge, grad in roots:
        run.deliver(edge, grad, None)
    if targets is not None:
        run.restrict_to_paths()
    _running.append(run)
    try:
        _run_nodes(run, keep_graph)
        return run.finish()
    finally:
        _running.pop()


_running: list[_Run] = []
"""The backward passes that are on, outermost first."""


def queue_callback(callback: Callable[[], None]) -> None:
    """Call something once, at the end of the backward pass that is on."""
    if not _running:
        raise GradientError("queue_callback: no backward pass is running")
    _running[-1].callbacks.append(callback)


def current_pass() -> object:
    """What stands for the backward pass that is on; None outside of one."""
    return _running[-1] if _running else None


def _run_nodes(run: _Run, keep_graph: bool) -> None:
    """Let every node have its turn."""
    while run.heap:
        node, grads = run.next_node()
        _apply_hooks(node, grads)
        if not run.capture(node, grads):
            continue
        if node.pre_hooks is not None:
            grads = _before_node(node, grads)
        for target, result in zip(node.edges, _gradients(node, grads, run), strict=True):
            if target is not None and result is not None and run.wants(target):
                run.deliver(target, result, node)
        if not keep_graph:
            node.release()


class _Run:
    """What has arrived where, and which nodes still have their turn to come."""

    __slots__ = (
        "__weakref__", "arrived", "callbacks", "captured", "heap", "leaves", "needed", "targets",
    )  # fmt: skip

    def __init__(self, targets: Sequence[Edge] | None) -> None:
        self.targets = None if targets is None else {edge_key(edge): edge for edge in targets}
        self.arrived: dict[Node, list[Tensor | None]] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: dict[EdgeKey, tuple[Edge, Tensor]] = {}
        self.captured: dict[EdgeKey, tuple[Edge, Tensor]] = {}
        self.needed: set[Node] | None = None
        self.callbacks: list[Callable[[], None]] = []

    def deliver(self, edge: Edge, grad: Tensor, source: Node | None) -> None:
        """Add ``grad``, which ``source`` returned, to what has arrived at ``edge``."""
        target, number = edge
        if isinstance(target, Node):
            grad = _conform(grad, target.outputs[number], source)
            arrived = self.arrived.get(target)
            if arrived is None:
                self.arrived[target] = arrived = [None] * len(target.outputs)
                heappush(self.heap, (-target.sequence, target))
            sum_so_far = arrived[number]
            arrived[number] = grad if sum_so_far is None else sum_so_far + grad
            return
        grad = _conform(grad, (target.shape, target.dtype, target.device), source)
        key = edge_key(edge)
        waiting = self.leaves.get(key)
        self.leaves[key] = edge, grad if waiting is None else waiting[1] + grad

    def restrict_to_paths(self) -> None:
        """Find the nodes from which a target can be reached; only they will run."""
        reached = set(self.arrived)
        stack = list(reached)
        while stack:
            for edge in stack.pop().edges:
                if edge is not None and isinstance(edge[0], Node) and edge[0] not in reached:
                    reached.add(edge[0])
                    stack.append(edge[0])
        self.needed = set()
        for node in sorted(reached, key=_sequence_number):
            if any(edge is not None and self.wants(edge) for edge in node.edges):
                self.needed.add(node)

    def wants(self, edge: Edge) -> bool:
        """Whether a gradient that flows along ``edge`` ends at a target."""
        if self.targets is None or self.needed is None:
            return True
        return edge_key(edge) in self.targets or edge[0] in self.needed

    def next_node(self) -> tuple[Node, list[Tensor | None]]:
        """Take the node whose gradients are complete."""
        node = heappop(self.heap)[1]
        return node, self.arrived.pop(node)

    def capture(self, node: Node, grads: list[Tensor | None]) -> bool:
        """Keep the gradients that were asked for; say whether the node has to run at all."""
        if self.targets is None:
            return True
        for number, grad in enumerate(grads):
            edge = self.targets.get((id(node), number))
            if edge is not None and grad is not None:
                self.captured[id(node), number] = edge, grad
        return self.needed is None or node in self.needed

    def finish(self) -> dict[EdgeKey, tuple[Edge, Tensor]]:
        """Run the leaves' hooks and return all gradients that were asked for."""
        for key, (edge, grad) in self.leaves.items():
            if self.targets is None or key in self.targets:
                self.captured[key] = edge, _run_hooks(leaf_hooks(edge[0]), grad)
        for callback in self.callbacks:
            callback()
        return self.captured


def _sequence_number(node: Node) -> int:
    return node.sequence


def _gradients(node: Node, grads: list[Tensor | None], run: _Run) -> Sequence[Tensor | None]:
    """Run one node and check that it returns one gradient an input."""
    wanted = tuple(edge is not None and run.wants(edge) for edge in node.edges)
    before = anomaly.running
    try:
        if anomaly.enabled:
            anomaly.running = node
        results = node.apply(tuple(grads), wanted)
        if anomaly.enabled and anomaly.check_nan:
            anomaly.check(node, results)
    except Exception as error:
        where = origin_text(node)
        error.add_note(
            f"This happened in the backward pass of {node.title}."
            + ("" if where in str(error) else where)
        )
        raise
    finally:
        anomaly.running = before
    if len(results) != len(node.edges):
        raise GradientError(
            f"the backward of {node.title} returned {len(results)} gradients for "
            f"{len(node.edges)} inputs; return one for each, None where there is none"
        )
    if node.post_hooks is not None:
        for hook in tuple(node.post_hooks.values()):
            replaced = hook(tuple(results), tuple(grads))
            if replaced is not None:
                results = _as_many(replaced, results, f"a hook of {node.title}")
    return results


def _before_node(node: Node, grads: list[Tensor | None]) -> list[Tensor | None]:
    """Let the node's own hooks see and replace the gradients of its outputs."""
    for hook in tuple((node.pre_hooks or {}).values()):
        replaced = hook(tuple(grads))
        if replaced is not None:
            grads = list(_as_many(replaced, grads, f"a prehook of {node.title}"))
    return grads


def _as_many(
    found: Tensor | Sequence[Tensor | None], given: Sequence[Tensor | None], who: str
) -> Sequence[Tensor | None]:
    if isinstance(found, Tensor):  # a hook of one gradient returned it alone
        found = (found,)
    if len(found) != len(given):
        raise GradientError(f"{who} returned {len(found)} gradients for {len(given)}")
    return found


def _apply_hooks(node: Node, grads: list[Tensor | None]) -> None:
    """Let the hooks of the node's outputs see and replace their gradients."""
    if node.hooks is not None:
        for number, hooks in node.hooks.items():
            grad = grads[number]
            if grad is not None:
                grads[number] = _run_hooks(hooks, grad)
    if node.retained is not None:
        for number, reference in node.retained.items():
            tensor = reference()
            grad = grads[number]
            if tensor is not None and grad is not None:
                tensor.grad = grad if tensor.grad is None else tensor.grad + grad


def _run_hooks(hooks: dict[int, TensorHook], grad: Tensor) -> Tensor:
    for hook in tuple(hooks.values()):
        replaced = hook(grad)
        if replaced is not None:
            grad = replaced
    return grad


def _conform(grad: Tensor, spec: OutputSpec | None, source: Node | None) -> Tensor:
    """Check a gradient against the value it belongs to; sum over dimensions it is broadcast in."""
    if spec is None:
        raise GradientError("a gradient arrived at an output that is no tensor")
    shape, dtype, device = spec
    if grad.shape == shape and grad.dtype is dtype:
        return grad
    if grad.shape != shape and not _is_broadcast_of(grad.shape, shape):
        who = "the caller" if source is None else source.title
        raise ShapeError(
            f"{who} returned a gradient of shape {tuple(grad.shape)} for a value of shape "
            f"{tuple(shape)}; a gradient has the shape of its value, or one that it broadcasts to"
        )
    return fit_gradient(grad, TensorMeta(shape, dtype, device))


def _is_broadcast_of(wide: tuple[int, ...], narrow: tuple[int, ...]) -> bool:
    if len(wide) < len(narrow):
        return False
    tail = wide[len(wide) - len(narrow) :]
    return all(n in (w, 1) for w, n in zip(tail, narrow, strict=True))
