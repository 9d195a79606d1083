"""Which tensors lie in one storage, and where."""

from __future__ import annotations

from collections.abc import Sequence

from tensorplay import _C
from tensorplay.autograd.inplace import InPlaceWrite
from tensorplay.autograd.tensor_state import attach, gradient_edge
from tensorplay.compiler.aot.trace import SharedMemory
from tensorplay.core import layout
from tensorplay.dispatch import copy_over
from tensorplay.tensor import Tensor


def find_shared_memory(tensors: Sequence[Tensor]) -> tuple[SharedMemory, ...]:
    """Return the storages that several of these (distinct) tensors with data lie in."""
    groups: dict[int, list[int]] = {}
    for number, tensor in enumerate(tensors):
        groups.setdefault(id(tensor.storage), []).append(number)
    return tuple(
        _shared_memory(tensors, members) for members in groups.values() if len(members) > 1
    )


def _shared_memory(tensors: Sequence[Tensor], members: Sequence[int]) -> SharedMemory:
    starts = [tensors[member].storage_offset() for member in members]
    extents = [
        layout.extent(tensors[member].shape, tensors[member].strides, start)
        for member, start in zip(members, starts, strict=True)
        if tensors[member].numel()
    ]
    low = min((low for low, _ in extents), default=0)
    high = max((high for _, high in extents), default=low - 1)
    offsets = tuple(start - low for start in starts)
    return SharedMemory(tuple(members), offsets, high - low + 1)


def copy_with_layout(tensor: Tensor) -> Tensor:
    """Return the present value in memory of its own, with the same strides and the present history."""
    assert tensor.array is not None  # noqa: S101  # tensors without data have no program
    low, high = layout.extent(tensor.shape, tensor.strides)
    whole = _C.empty((high - low + 1,), tensor.dtype.numpy)
    array = _C.view(whole, tensor.shape, tensor.strides, -low)
    copy_over(array, tensor.array)
    copy: Tensor = _C.wrap(array)
    edge = gradient_edge(tensor)
    if edge is not None:
        node = InPlaceWrite((edge,))
        node.describe_outputs((copy,))
        attach(copy, node, 0)
    return copy


def copy_memory(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return copies of tensors that share memory with each other as these do, outside autograd."""
    copies: list[Tensor | None] = [None] * len(tensors)
    for shared in find_shared_memory(tensors):
        first = tensors[shared.members[0]]
        assert first.array is not None  # noqa: S101  # asked of tensors with data
        whole = _C.view(first.array, (shared.size,), (1,), -shared.offsets[0]).copy()
        base: Tensor = _C.wrap(whole)
        for member, offset in zip(shared.members, shared.offsets, strict=True):
            tensor = tensors[member]
            array = _C.view(whole, tensor.shape, tensor.strides, offset)
            copies[member] = _C.wrap_view(array, base)
    return [
        tensor.detach().clone() if copy is None else copy
        for tensor, copy in zip(tensors, copies, strict=True)
    ]
