"""einops on tensors: a backend that einops finds, and its layers as modules.

`einops.rearrange`, `reduce`, `repeat`, `einsum`, `pack` and `unpack` know a tensor by the subclasses of
their `AbstractBackend`. This module defines ours; `import tensorplay` has it loaded as soon as somebody
imports einops, in whichever order. It imports einops, so ask for it only where einops is installed.

    from tensorplay.interop.einops import EinMix, Rearrange, Reduce

    model = tp.nn.Sequential(Rearrange("b c h w -> b (c h w)"), tp.nn.Linear(48, 10))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from einops._backends import AbstractBackend

from tensorplay import functions
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError
from tensorplay.tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from tensorplay.interop.einops_layers import EinMix, Rearrange, Reduce

Array = np.ndarray[Any, np.dtype[Any]]


class TensorPlayBackend(AbstractBackend):  # type: ignore[misc]  # einops ships no types
    """What einops asks of a library of tensors."""

    framework_name = "tensorplay"

    def is_appropriate_type(self, tensor: object) -> bool:
        """Whether this is one of our tensors."""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Array) -> Tensor:
        """A tensor over the memory of an array."""
        return from_numpy(x)

    def to_numpy(self, x: Tensor) -> Array:
        """The array under a tensor."""
        return x.numpy(force=True)

    def arange(self, start: int, stop: int) -> Tensor:
        """Integers from `start` up to `stop`."""
        return functions.arange(start, stop, dtype=dtypes.int64)

    def shape(self, x: Tensor) -> tuple[int, ...]:
        """The sizes."""
        return tuple(x.shape)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in another shape."""
        return functions.reshape(x, tuple(shape))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """The dimensions in another order."""
        return functions.permute(x, tuple(axes))

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        """A reduction over axes."""
        reductions: Mapping[str, Any] = {
            "min": functions.amin, "max": functions.amax, "sum": functions.sum, "mean": functions.mean,
            "prod": functions.prod, "any": functions.any, "all": functions.all,
        }  # fmt: skip
        if operation not in reductions:
            msg = f"einops: reductions are {', '.join(reductions)}, found {operation!r}"
            raise ArgumentValueError(msg)
        result: Tensor = reductions[operation](x, tuple(axes))
        return result

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        """Tensors joined along a new first axis."""
        return functions.stack(tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        """A new axis of size 1."""
        return functions.unsqueeze(x, new_position)

    def add_axes(self, x: Tensor, n_axes: int, pos2len: Mapping[int, int]) -> Tensor:
        """New axes of given sizes, along which elements repeat; no memory is used for them."""
        sizes = [-1] * n_axes
        for position, size in pos2len.items():
            x = self.add_axis(x, position)
            sizes[position] = size
        return functions.expand(x, tuple(sizes))

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        """The tensor repeated as a whole along its axes."""
        return functions.tile(x, tuple(repeats))

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """Tensors joined along an axis."""
        return functions.cat(tensors, axis)

    def is_float_type(self, x: Tensor) -> bool:
        """Whether a mean makes sense."""
        return x.is_floating_point() or x.is_complex()

    def layers(self) -> Any:  # noqa: ANN401  # a module
        """The module of layers."""
        from tensorplay.interop import einops_layers

        return einops_layers

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        """The sum of products that a pattern of single letters describes."""
        return functions.einsum(pattern, *x)


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a layer
    """The layers, loaded at first use: einops does not need them."""
    if name in {"EinMix", "Rearrange", "Reduce"}:
        from tensorplay.interop import einops_layers

        return getattr(einops_layers, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


__all__ = ["EinMix", "Rearrange", "Reduce", "TensorPlayBackend"]
