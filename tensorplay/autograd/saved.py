"""Tensors that a node keeps for its backward pass, and the check that nobody changed them.

Every in-place write counts up the version of the memory it writes to. A saved tensor notes the
version and compares it when the backward pass asks for the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.autograd.grad_mode import is_grad_enabled, no_grad
from tensorplay.core.errors import GradientError, VersionError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from tensorplay.autograd.node import Node


class SavedTensor:
    """One input or output of a call, as it was at the call.

    An output is kept without its history, because the history is the node that keeps it.
    """

    __slots__ = ("output_nr", "tensor", "version")

    def __init__(self, tensor: Tensor, output_nr: int | None = None) -> None:
        """Keep ``tensor``; ``output_nr`` says which output of the saving node it is, if any."""
        self.tensor: Tensor | None = tensor if output_nr is None else alias(tensor)
        self.output_nr = output_nr
        self.version = _version(tensor)

    def unpack(self, node: Node) -> Tensor:
        """Return the tensor; ``node`` is the one that saved it."""
        tensor = self.tensor
        if tensor is None:
            raise released_error(node)
        if _version(tensor) != self.version:
            kind = "an input" if self.output_nr is None else "the output"
            raise VersionError(
                f"the backward pass of {node.name} needs {kind} of shape {tuple(tensor.shape)} and "
                f"dtype {tensor.dtype} as it was, but it has been changed by an in-place operation "
                f"(it was saved at version {self.version} and is at version {_version(tensor)}); "
                "change a clone() of it, or write the operation without the trailing underscore"
            )
        if self.output_nr is None or not is_grad_enabled():
            return tensor
        tensor = alias(tensor)
        tensor.grad_fn, tensor.output_nr, tensor.requires_grad = node, self.output_nr, True
        return tensor

    def release(self) -> None:
        """Let the tensor go."""
        self.tensor = None


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


def released_error(node: Node) -> GradientError:
    """Say that a second backward pass needs ``retain_graph=True``."""
    return GradientError(
        f"the backward pass of {node.name} ran before and what it had saved was dropped; call the "
        "first backward() or grad() with retain_graph=True to run a second one"
    )


def _version(tensor: Tensor) -> int:
    storage = tensor.storage
    return 0 if storage is None else storage.version
