"""The layers of einops as modules: `Rearrange`, `Reduce`, `EinMix`.

EinMix("b t (h c) -> b h t c", weight_shape="h c d", ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from tensorplay import functions, nn
from tensorplay.tensor import Tensor


class Rearrange(RearrangeMixin, nn.Module):  # type: ignore[misc]  # einops ships no types
    """`einops.rearrange` with a fixed pattern."""

    def forward(self, x: Tensor) -> Tensor:
        """The tensor, rearranged."""
        return self._apply_recipe(x)  # type: ignore[no-any-return]  # einops has no types


class Reduce(ReduceMixin, nn.Module):  # type: ignore[misc]  # einops ships no types
    """`einops.reduce` with a fixed pattern and reduction."""

    def forward(self, x: Tensor) -> Tensor:
        """The tensor, reduced."""
        return self._apply_recipe(x)  # type: ignore[no-any-return]  # einops has no types


class EinMix(_EinmixMixin, nn.Module):  # type: ignore[misc]  # einops ships no types
    """A linear map between named axes, with a weight and perhaps a bias."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    pre_rearrange: Rearrange | None
    post_rearrange: Rearrange | None

    def _create_parameters(
        self,
        weight_shape: Sequence[int],
        weight_bound: float,
        bias_shape: Sequence[int] | None,
        bias_bound: float,
    ) -> None:
        self.weight = _uniform(weight_shape, weight_bound)
        self.bias = None if bias_shape is None else _uniform(bias_shape, bias_bound)

    def _create_rearrange_layers(
        self,
        pre_reshape_pattern: str | None,
        pre_reshape_lengths: Mapping[str, int] | None,
        post_reshape_pattern: str | None,
        post_reshape_lengths: Mapping[str, int] | None,
    ) -> None:
        self.pre_rearrange = _rearranging(pre_reshape_pattern, pre_reshape_lengths)
        self.post_rearrange = _rearranging(post_reshape_pattern, post_reshape_lengths)

    def forward(self, x: Tensor) -> Tensor:
        """The tensor, mixed."""
        if self.pre_rearrange is not None:
            x = self.pre_rearrange(x)
        found = functions.einsum(self.einsum_pattern, x, self.weight)
        if self.bias is not None:
            found = found + self.bias
        return found if self.post_rearrange is None else self.post_rearrange(found)


def _uniform(shape: Sequence[int], bound: float) -> nn.Parameter:
    return nn.Parameter((functions.rand(tuple(shape)) * 2 - 1) * bound)


def _rearranging(pattern: str | None, lengths: Mapping[str, int] | None) -> Any:  # noqa: ANN401  # a layer or None
    make: Any = Rearrange  # einops ships no types
    return None if pattern is None else make(pattern, **(lengths or {}))


__all__ = ["EinMix", "Rearrange", "Reduce"]
