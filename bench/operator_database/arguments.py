"""Arguments of a call in PyTorch's tensors, made anew: copies, leaves, those of a wider dtype as reference.

>>> import torch
>>> widened(torch.ones(1)).dtype
torch.float64
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import tensorplay as tp
from bench.operator_database import values


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Nested arguments with `function` of each tensor in its place."""
    if isinstance(value, (torch.Tensor, tp.Tensor)):
        return function(value)
    if isinstance(value, list):
        return [mapped(each, function) for each in value]
    if type(value) is tuple:
        return tuple(mapped(each, function) for each in value)
    if isinstance(value, dict):
        return {key: mapped(each, function) for key, each in value.items()}
    return value


def copies(value: Any) -> Any:
    """Arguments with fresh tensors of the same strides, so that a call changes nothing."""
    return mapped(value, _copy)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.strided:
        return tensor
    tensor = tensor.detach()
    place = tensor.storage_offset()
    if not place:
        return tensor.clone()
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    whole = tensor.as_strided((count,), (1,), 0).clone()
    return whole.as_strided(tensor.shape, tensor.stride(), place)


def as_leaves(value: Any) -> Any:
    """Arguments with tensors that are leaves, one for one."""
    known: dict[int, torch.Tensor] = {}

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in known:
            known[id(tensor)] = tensor.detach().requires_grad_(tensor.requires_grad)
        return known[id(tensor)]

    return mapped(value, leaf)


def inputs_of(args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors that require a gradient, each once."""
    found = {id(each): each for each in values.tensors_in((*args, *kwargs.values()))}
    return [each for each in found.values() if each.requires_grad]


def widened(value: Any) -> Any:
    """A tensor, or a dtype, in double precision; other values as they are."""
    wide = {torch.float32: torch.float64, torch.bfloat16: torch.float64, torch.float16: torch.float64,
            torch.complex64: torch.complex128}  # fmt: skip
    if isinstance(value, torch.Tensor) and value.dtype in wide:
        return value.detach().to(wide[value.dtype])
    if isinstance(value, torch.dtype):
        return wide.get(value, value)
    return value


def widened_number(value: Any) -> Any:
    """Also integers, for a floating result of them: PyTorch converts them to the default dtype first."""
    if isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex()):
        return value.to(torch.float64)
    return widened(value)


def widened_leaf(value: Any) -> Any:
    """As `widened`; what requires a gradient is a leaf again."""
    found = widened(value)
    if isinstance(value, torch.Tensor) and value.requires_grad:
        return found.detach().requires_grad_()
    return found
