"""Convolution layers.

Weights have PyTorch's names, shapes and initial distributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import empty
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

Pair = int | tuple[int, int]


class Conv2d(Module):
    """Cross-correlation of images, ``(N, C, H, W) → (N, out_channels, H', W')``.

    ``H' = ⌊(H + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1``. ``weight`` is
    ``(out_channels, in_channels / groups, kernel, kernel)``. ``padding`` may be ``"valid"`` (none) or
    ``"same"`` (the output's size is the input's; needs stride 1).
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair | Literal["same", "valid"] = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentValueError(
                f"groups={groups} must divide in_channels={in_channels} and "
                f"out_channels={out_channels}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = padding if isinstance(padding, str) else _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty((out_channels,), dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.uniform_by_fan_in_(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve a batch of images."""
        return functional.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0, 0):
            text += f", padding={self.padding}"
        if self.dilation != (1, 1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias is not None else text + ", bias=False"


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])
