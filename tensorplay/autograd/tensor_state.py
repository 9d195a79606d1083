"""What autograd keeps about tensors: where gradients flow to, hooks, and ``.grad``.

A view's history follows its root, the tensor that it is a view of (`dispatch.ViewStep`): when
something was written into the root, or through another view of it, the root has a new node, and
the view is made again from it (`refresh_view`) before anyone looks at its history.
"""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from tensorplay import dispatch
from tensorplay.autograd.node import Node, RemovableHandle
from tensorplay.core.errors import GradientError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.autograd.node import Edge, TensorHook
    from tensorplay.tensor import Tensor

_NO_HOOKS: dict[int, TensorHook] = {}
_leaf_hooks: dict[int, tuple[weakref.ReferenceType[Tensor], dict[int, TensorHook]]] = {}
_accumulated_hooks: dict[
    int, tuple[weakref.ReferenceType[Tensor], dict[int, Callable[[Tensor], None]]]
] = {}


def _forgetter(known: dict[int, Any], key: int) -> Callable[[object], None]:
    """What drops the entry of a tensor that is gone; it holds the dictionary, also when Python ends."""

    def forget(_: object) -> None:
        known.pop(key, None)

    return forget


def gradient_edge(tensor: Tensor) -> Edge | None:
    """Return where the gradient of ``tensor`` flows to, None where it wants none."""
    if tensor._view is not None:  # noqa: SLF001 - the member that dispatch sets
        refresh_view(tensor)
    node: Node | None = tensor.grad_fn
    if node is not None:
        return node, tensor.output_nr
    return (tensor, 0) if tensor.requires_grad else None


def attach(tensor: Tensor, node: Node, output: int) -> None:
    """Make ``tensor`` the output number ``output`` of ``node``."""
    tensor.grad_fn, tensor.output_nr, tensor.requires_grad = node, output, True


def replace_history(tensor: Tensor, node: Node) -> None:
    """Make ``tensor`` the one output of ``node``, after an in-place operation.

    Hooks stay with the value before, which they were registered for; `retain_grad` follows.
    """
    retained = retains_grad(tensor)
    if retained:
        del tensor.grad_fn.retained[tensor.output_nr]
    node.describe_outputs((tensor,))
    attach(tensor, node, 0)
    if retained:
        retain_grad(tensor)


def refresh_view(view: Tensor) -> None:
    """Take the history over that the root has got since the view was made."""
    step = view._view  # noqa: SLF001  # a friend of that class
    root = step.root
    if root is None:
        return
    now = dispatch.history_number(root)
    if step.history == now:
        return
    with dispatch.set_grad_enabled(True):
        made_again = dispatch.replay_view(root, dispatch.view_steps(view, root))[-1]
    view.grad_fn, view.output_nr = made_again.grad_fn, made_again.output_nr
    view.requires_grad = made_again.requires_grad
    step.history = now


def register_hook(tensor: Tensor, hook: TensorHook) -> RemovableHandle:
    """Call ``hook(grad)`` whenever the gradient of ``tensor`` is complete.

    What the hook returns, unless None, replaces the gradient. It runs once a backward pass.
    """
    edge = gradient_edge(tensor)
    if edge is None:
        raise GradientError("a hook needs a tensor that requires a gradient")
    if isinstance(edge[0], Node):
        return edge[0].add_hook(edge[1], hook)
    key = id(tensor)
    entry = _leaf_hooks.get(key)
    if entry is None:
        reference = weakref.ref(tensor, _forgetter(_leaf_hooks, key))
        entry = _leaf_hooks[key] = reference, {}
    return RemovableHandle(entry[1], hook)


def leaf_hooks(leaf: Node | Tensor) -> dict[int, TensorHook]:
    """Return the hooks of a leaf tensor, the target of an edge."""
    entry = _leaf_hooks.get(id(leaf))
    return _NO_HOOKS if entry is None else entry[1]


def register_post_accumulate_grad_hook(
    tensor: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call ``hook(tensor)`` whenever a backward pass has added to the ``.grad`` of a leaf."""
    if tensor.grad_fn is not None or not tensor.requires_grad:
        raise GradientError(
            "register_post_accumulate_grad_hook is for leaves that require a gradient: only they "
            "accumulate one"
        )
    key = id(tensor)
    entry = _accumulated_hooks.get(key)
    if entry is None:
        reference = weakref.ref(tensor, _forgetter(_accumulated_hooks, key))
        entry = _accumulated_hooks[key] = reference, {}
    return RemovableHandle(entry[1], hook)


def run_accumulated_hooks(tensor: Tensor) -> None:
    """Call the hooks of a leaf whose ``.grad`` is complete."""
    entry = _accumulated_hooks.get(id(tensor))
    if entry is not None:
        for hook in tuple(entry[1].values()):
            hook(tensor)


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a tensor that is not a leaf in its ``.grad``, too."""
    edge = gradient_edge(tensor)
    if edge is None:
        raise GradientError("retain_grad needs a tensor that requires a gradient")
    if isinstance(edge[0], Node):
        if edge[0].retained is None:
            edge[0].retained = {}
        edge[0].retained[edge[1]] = weakref.ref(tensor)


def retains_grad(tensor: Tensor) -> bool:
    """Whether `retain_grad` was called on this tensor, which is not a leaf."""
    node: Node | None = tensor.grad_fn
    if node is None or node.retained is None:
        return False
    reference = node.retained.get(tensor.output_nr)
    return reference is not None and reference() is tensor


def accumulate_grad(tensor: Tensor, box: list[Tensor], *, keep_history: bool) -> None:
    """Add the gradient in ``box`` to ``tensor.grad``, and empty the box.

    The first gradient becomes ``.grad`` itself when nothing else can see its memory and it lies in
    memory as the tensor does, else a copy does, so that later changes to ``.grad`` reach nobody.
    Later ones are added in place unless the pass is recorded (``keep_history``). The box must hold
    the caller's only reference.
    """
    grad = box.pop()
    old = tensor.grad
    if old is not None:
        if keep_history:
            tensor.grad = old + grad
        else:
            old.add_(grad)
        return
    storage = grad.storage
    is_own = (
        grad.strides == tensor.strides
        and sys.getrefcount(grad) == 2  # this frame and the argument of getrefcount
        and sys.getrefcount(storage) == 3  # the tensor, too
    )
    tensor.grad = grad if is_own else grad.clone()
