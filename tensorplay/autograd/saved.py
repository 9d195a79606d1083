"""Tensors that a node keeps for its backward pass, and the check that nobody changed them.

Every in-place write counts up the version of the memory it writes to. A saved tensor notes the
version and compares it when the backward pass asks for the value.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

from tensorplay.autograd.grad_mode import is_grad_enabled, no_grad
from tensorplay.autograd.node import Node
from tensorplay.core.errors import GradientError, VersionError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tensorplay.autograd.node import Gradients


Pack: TypeAlias = "Callable[[Tensor], Any]"
Unpack: TypeAlias = "Callable[[Any], Tensor]"

saved_hooks: ContextVar[tuple[Pack, Unpack] | str | None] = ContextVar(
    "hooks of saved tensors", default=None
)
"""What `graph.saved_tensors_hooks` set; the message where hooks are refused."""


@contextmanager
def without_saved_hooks() -> Iterator[None]:
    """Keep saved tensors themselves inside a ``with`` block."""
    token = saved_hooks.set(None)
    try:
        yield
    finally:
        saved_hooks.reset(token)


class SavedTensor:
    """One input or output of a call, as it was at the call.

    An output is kept without its history, because the history is the node that keeps it. With hooks,
    what the pack hook returned is kept instead, and the history is noted beside it.
    """

    __slots__ = ("history", "output_nr", "packed", "tensor", "version")

    def __init__(self, tensor: Tensor, output_nr: int | None = None) -> None:
        """Keep ``tensor``; ``output_nr`` says which output of the saving node it is, if any."""
        storage = tensor.storage
        if storage is not None and storage.is_inference:
            raise GradientError(
                f"a tensor of shape {tuple(tensor.shape)} that was made in inference_mode can't be saved for a "
                "backward pass; use a clone() made outside of inference_mode"
            )
        self.output_nr = output_nr
        self.packed: tuple[Any, Unpack] | None = None
        self.tensor: Tensor | None = None
        hooks = saved_hooks.get()
        if hooks is None or isinstance(hooks, str):
            self.tensor = tensor if output_nr is None else alias(tensor)
            self.version = _version(tensor)
            return
        self.version = 0
        self.history = (
            (tensor.grad_fn, tensor.output_nr, tensor if tensor.is_leaf else None)
            if output_nr is None and tensor.requires_grad
            else None
        )
        pack, unpack = hooks
        with without_saved_hooks(), no_grad():
            self.packed = pack(tensor if output_nr is None else alias(tensor)), unpack

    def unpack(self, node: Node | None) -> Tensor:
        """Return the tensor; ``node`` is the one that saved it."""
        if self.packed is not None:
            return self._with_history(self._unpacked(), node)
        tensor = self.tensor
        if tensor is None:
            raise released_error(node)
        if _version(tensor) != self.version:
            kind = "an input" if self.output_nr is None else "the output"
            raise VersionError(
                f"the backward pass of {_title(node)} needs {kind} of shape {tuple(tensor.shape)} and "
                f"dtype {tensor.dtype} as it was, but it has been changed by an in-place operation "
                f"(it was saved at version {self.version} and is at version {_version(tensor)}); "
                "change a clone() of it, or write the operation without the trailing underscore"
            )
        if self.output_nr is None or not is_grad_enabled() or node is None:
            return tensor
        tensor = alias(tensor)
        tensor.grad_fn, tensor.output_nr, tensor.requires_grad = node, self.output_nr, True
        return tensor

    def _unpacked(self) -> Tensor:
        assert self.packed is not None  # noqa: S101 - asked only then
        packed, unpack = self.packed
        with without_saved_hooks(), no_grad():
            tensor = unpack(packed)
        if not isinstance(tensor, Tensor):
            raise GradientError(
                f"the unpack hook of saved tensors has to return a tensor, found {type(tensor).__name__}"
            )
        return tensor

    def _with_history(self, tensor: Tensor, node: Node | None) -> Tensor:
        """An unpacked tensor with the history of the one that was packed."""
        if not is_grad_enabled():
            return tensor
        if self.output_nr is not None:
            if node is None:
                return tensor
            tensor = alias(tensor)
            tensor.grad_fn, tensor.output_nr, tensor.requires_grad = node, self.output_nr, True
            return tensor
        if self.history is None:
            return tensor
        grad_fn, number, leaf = self.history
        if tensor is leaf:
            return tensor
        tensor = alias(tensor)
        if leaf is not None:
            grad_fn, number = PassedOn(((leaf, 0),)), 0
            grad_fn.describe_outputs((tensor,))
        tensor.grad_fn, tensor.output_nr, tensor.requires_grad = grad_fn, number, True
        return tensor

    def release(self) -> None:
        """Let the tensor go."""
        self.tensor = self.packed = None


class PassedOn(Node):
    """A tensor that stands for another: its gradient is the other's."""

    __slots__ = ()

    def apply(self, grads: Gradients, wanted: Sequence[bool]) -> Sequence[Tensor | None]:
        """Pass the gradient on."""
        del wanted
        return grads


def alias(tensor: Tensor) -> Tensor:
    """Return the same value and memory as a leaf that wants no gradient, without a call.

    A tensor without data keeps its class and attributes, by which a recording mode knows it.
    """
    if tensor.array is not None:
        twin = Tensor.__new__(Tensor)
    else:
        twin = type(tensor).__new__(type(tensor))
        twin.__dict__.update(tensor.__dict__)
    twin.array, twin.storage = tensor.array, tensor.storage
    twin.dtype, twin.meta = tensor.dtype, tensor.meta
    return twin


def copy_with_history(tensor: Tensor) -> Tensor:
    """Return the present value in memory of its own, with the present history."""
    with no_grad():
        copy = tensor.clone()
    copy.grad_fn, copy.output_nr = tensor.grad_fn, tensor.output_nr
    copy.requires_grad = tensor.requires_grad
    return copy


def _title(node: Node | None) -> str:
    return "a call" if node is None else node.title


def released_error(node: Node | None) -> GradientError:
    """Say that a second backward pass needs ``retain_graph=True``."""
    return GradientError(
        f"the backward pass of {_title(node)} ran before and what it had saved was dropped; call the "
        "first backward() or grad() with retain_graph=True to run a second one"
    )


def _version(tensor: Tensor) -> int:
    storage = tensor.storage
    return 0 if storage is None else storage.version
