"""Images resized, as modules.

>>> import tensorplay as tp
>>> tp.nn.Upsample(scale_factor=2, mode="bilinear")(tp.zeros(1, 3, 4, 4)).shape
(1, 3, 8, 8)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorplay.nn import functional
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class Upsample(Module):
    """`nn.functional.interpolate` with its settings: ``(N, C, …)`` to a size, or by a factor."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = (
            tuple(map(float, scale_factor))
            if isinstance(scale_factor, Sequence)
            else None
            if scale_factor is None
            else float(scale_factor)
        )
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Resize."""
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The factor or the size, and the mode."""
        first = (
            f"size={self.size}"
            if self.scale_factor is None
            else f"scale_factor={self.scale_factor}"
        )
        return f"{first}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` by nearest elements."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` bilinearly, with the outermost elements mapped to each other."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
