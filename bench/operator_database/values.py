"""Arguments from PyTorch to us, results back: tensors with their strides, dtypes, generators, structures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import torch

import tensorplay as tp

DTYPES: dict[Any, tp.dtype] = {
    getattr(torch, each.name): each for each in tp.ALL_DTYPES if hasattr(torch, each.name)
}
TORCH_DTYPES: dict[tp.dtype, Any] = {ours: theirs for theirs, ours in DTYPES.items()}
_BITS = {torch.bfloat16: (torch.int16, ml_dtypes.bfloat16)}


class Bridge:
    """Converts the arguments of one call; one tensor that stands twice stays one tensor."""

    def __init__(self, *, gradients: bool = False) -> None:
        """With `gradients`, tensors that require a gradient there require one here."""
        self.gradients = gradients
        self.known: dict[int, tp.Tensor] = {}
        self.leaves: list[tuple[torch.Tensor, tp.Tensor]] = []
        """Tensors that require a gradient: theirs and ours, in order."""

    def __call__(self, value: Any) -> Any:  # any argument
        """Our form of an argument."""
        if isinstance(value, torch.Tensor):
            found = self.known.get(id(value))
            if found is None:
                found = self.known[id(value)] = self._tensor(value)
            return found
        if isinstance(value, (tuple, list)):
            parts = [self(each) for each in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, Mapping):
            return {key: self(each) for key, each in value.items()}
        if isinstance(value, torch.dtype):
            return DTYPES.get(value, value)
        if isinstance(value, torch.device):
            return tp.device(str(value))
        if isinstance(value, (torch.memory_format, torch.layout)):
            name = str(value).removeprefix("torch.")
            return getattr(tp, name, name)
        if isinstance(value, torch.Generator):
            return tp.Generator(value.initial_seed())
        if isinstance(value, torch.nn.Module):
            return _module_of(value)
        if dataclasses.is_dataclass(value) and hasattr(tp.nn, type(value).__name__):
            settings = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
            return getattr(tp.nn, type(value).__name__)(**self(settings))
        return value

    def _tensor(self, value: torch.Tensor) -> tp.Tensor:
        tensor = tensor_of(value)
        if self.gradients and value.requires_grad:
            tensor.requires_grad_()
            self.leaves.append((value, tensor))
        return tensor


def _module_of(value: torch.nn.Module) -> tp.nn.Module:
    """Our module of the same class and settings; it has no parameters."""
    if next(value.parameters(), None) is not None:
        raise NotImplementedError(f"the module {type(value).__name__} has parameters")
    made: tp.nn.Module = getattr(tp.nn, type(value).__name__)()
    for name, setting in vars(value).items():
        if not name.startswith("_"):
            setattr(made, name, setting)
    return made


def tensor_of(value: torch.Tensor) -> tp.Tensor:
    """A tensor of ours with the same elements and strides, in memory of its own."""
    if value.layout is not torch.strided:
        raise NotImplementedError(f"layout {value.layout}")
    value = value.detach().resolve_conj().resolve_neg()
    count = value.untyped_storage().nbytes() // value.element_size()
    flat = value if value.numel() == 0 else value.as_strided((count,), (1,), 0)
    bits, numpy_dtype = _BITS.get(value.dtype, (None, None))
    array = flat.numpy() if bits is None else flat.view(bits).numpy().view(numpy_dtype)
    array = array.copy()
    if value.numel() == 0:
        return tp.from_numpy(array)
    if value.storage_offset():  # a part of a larger memory, which as_strided reaches
        whole = tp.from_numpy(array.reshape(-1))
        place = value.storage_offset()
        return whole.as_strided(tuple(value.shape), tuple(value.stride()), place).detach()
    strides = [each * array.itemsize for each in value.stride()]
    array = np.lib.stride_tricks.as_strided(array.reshape(-1), tuple(value.shape), strides)
    return tp.from_numpy(array)


def torch_of(tensor: tp.Tensor) -> torch.Tensor:
    """A copy of a tensor of ours."""
    tensor = tensor.detach()
    array = np.array(tensor.numpy(), order="C")
    for theirs, (_, numpy_dtype) in _BITS.items():
        if array.dtype == numpy_dtype:
            flat = array.reshape(-1).view(np.int16)
            return torch.from_numpy(flat).view(theirs).reshape(array.shape)
    return torch.from_numpy(array)


def back(value: Any) -> Any:  # any result
    """Their form of a result."""
    if isinstance(value, tp.Tensor):
        return torch_of(value)
    if isinstance(value, (tuple, list)):
        return tuple(back(each) for each in value)
    if isinstance(value, tp.dtype):
        return TORCH_DTYPES.get(value, value)
    return value


def map_tensors(value: Any, function: Callable[[Any], Any]) -> Any:  # any structure
    """A structure with `function` applied to its tensors, theirs or ours."""
    if isinstance(value, (torch.Tensor, tp.Tensor)):
        return function(value)
    if isinstance(value, (tuple, list)):
        return tuple(map_tensors(each, function) for each in value)
    return value


def tensors_in(value: Any) -> list[Any]:  # any structure
    """The tensors of a result in order."""
    if isinstance(value, (torch.Tensor, tp.Tensor)):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []
