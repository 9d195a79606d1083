"""Convolutions of one, two and three dimensions as modules, and the transposed ones.

Weights have PyTorch's names, shapes and initial distributions.

>>> import tensorplay as tp
>>> tp.nn.Conv2d(3, 8, 3, padding="same")(tp.zeros(2, 3, 5, 5)).shape
(2, 8, 5, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import empty
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

Each = int | Sequence[int]
PaddingMode = Literal["zeros", "reflect", "replicate", "circular"]
MODES = ("zeros", "reflect", "replicate", "circular")


def one_each(value: Each, ndim: int) -> tuple[int, ...]:
    """One integer a dimension."""
    return (value,) * ndim if isinstance(value, int) else tuple(value)


class ConvNd(Module):
    """What convolutions have in common: ``weight``, ``bias`` and settings."""

    weight: Parameter
    bias: Parameter | None
    ndim: ClassVar[int]
    transposed: ClassVar[bool]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Each,
        stride: Each,
        padding: Each | str,
        dilation: Each,
        output_padding: Each,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ArgumentValueError(
                f"groups={groups} must divide in_channels={in_channels} and "
                f"out_channels={out_channels}"
            )
        if padding_mode not in MODES or (self.transposed and padding_mode != "zeros"):
            allowed = "'zeros'" if self.transposed else f"one of {MODES}"
            raise ArgumentValueError(f"padding_mode is {allowed}, not {padding_mode!r}")
        n = self.ndim
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = one_each(kernel_size, n)
        self.stride = one_each(stride, n)
        self.padding = padding if isinstance(padding, str) else one_each(padding, n)
        self.dilation = one_each(dilation, n)
        self.output_padding = one_each(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str) and padding not in {"same", "valid"}:
            raise ArgumentValueError(f"padding is 'same', 'valid' or numbers, not {padding!r}")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ArgumentValueError(f"padding='same' needs stride 1, got {self.stride}")
        self.weight = Parameter(empty(self.weight_shape(), dtype=dtype, device=device))
        shift = Parameter(empty((out_channels,), dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def weight_shape(self) -> tuple[int, ...]:
        """``(out_channels, in_channels / groups, *kernel)``, transposed the other way round."""
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw the parameters anew from ``U(−1/√fan_in, 1/√fan_in)``."""
        init.uniform_by_fan_in_(self.weight, self.bias)

    def _convolve(self, input: Tensor) -> Tensor:
        function: Any = getattr(functional, f"conv{self.ndim}d")
        padding: object = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._ends(), self.padding_mode)
            padding = 0
        result: Tensor = function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )
        return result

    def _ends(self) -> list[int]:
        """How much to add at the ends of each dimension, the last one first."""
        if self.padding == "valid":
            return [0] * (2 * self.ndim)
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [end for count in reversed(total) for end in (count // 2, count - count // 2)]
        widths = () if isinstance(self.padding, str) else self.padding
        return [end for width in reversed(widths) for end in (width, width)]

    def _convolve_transposed(self, input: Tensor, output_size: Sequence[int] | None) -> Tensor:
        function: Any = getattr(functional, f"conv_transpose{self.ndim}d")
        more = self.output_padding if output_size is None else self._missing(input, output_size)
        result: Tensor = function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            more,
            self.groups,
            self.dilation,
        )
        return result

    def _missing(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """The output padding with which the result has a size."""
        n = self.ndim
        asked = tuple(output_size)[-n:]
        padding = () if isinstance(self.padding, str) else self.padding
        least = tuple(
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(
                input.shape[-n:], self.stride, padding, self.dilation, self.kernel_size,
                strict=True,
            )
        )  # fmt: skip
        more = tuple(a - b for a, b in zip(asked, least, strict=True))
        if any(
            m < 0 or m >= max(s, d)
            for m, s, d in zip(more, self.stride, self.dilation, strict=True)
        ):
            raise ArgumentValueError(
                f"output_size {asked} is not possible: sizes start at {least} and are less than a "
                f"stride {self.stride} (or dilation) larger"
            )
        return more

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        none, one = (0,) * self.ndim, (1,) * self.ndim
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != none:
            text += f", padding={self.padding}"
        if self.dilation != one:
            text += f", dilation={self.dilation}"
        if self.output_padding != none:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Convolution(ConvNd):
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Each,
        stride: Each = 1,
        padding: Each | Literal["same", "valid"] = 0,
        dilation: Each = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Convolve a batch of images, or one."""
        return self._convolve(input)


class Conv1d(_Convolution):
    """Cross-correlation of ``(N, C, L)`` or ``(C, L)``, see `nn.functional.conv1d`.

    ``weight`` is ``(out_channels, in_channels / groups, kernel)``. ``padding`` may be ``"valid"`` (none) or
    ``"same"`` (the output's size is the input's; needs stride 1); ``padding_mode`` says with what.
    """

    ndim = 1


class Conv2d(_Convolution):
    """Cross-correlation of images, ``(N, C, H, W) → (N, out_channels, H', W')``, see `nn.functional.conv2d`.

    ``H' = ⌊(H + 2·padding − dilation·(kernel − 1) − 1) / stride⌋ + 1``. ``weight`` is
    ``(out_channels, in_channels / groups, kernel, kernel)``. ``padding`` may be ``"valid"`` (none) or
    ``"same"`` (the output's size is the input's; needs stride 1); ``padding_mode`` says with what.
    """

    ndim = 2


class Conv3d(_Convolution):
    """Cross-correlation of volumes ``(N, C, D, H, W)`` or ``(C, D, H, W)``, see `nn.functional.conv3d`.

    ``weight`` is ``(out_channels, in_channels / groups, kernel, kernel, kernel)``; the settings are `Conv2d`'s.
    """

    ndim = 3


class _Transposed(ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Each,
        stride: Each = 1,
        padding: Each = 0,
        output_padding: Each = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Each = 1,
        padding_mode: PaddingMode = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups,
            bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Apply the adjoint of a convolution; ``output_size`` chooses among the possible sizes."""
        return self._convolve_transposed(input, output_size)


class ConvTranspose1d(_Transposed):
    """The adjoint of a convolution of ``(N, C, L)`` or ``(C, L)``, see `nn.functional.conv_transpose1d`.

    ``weight`` is ``(in_channels, out_channels / groups, kernel)``.
    """

    ndim = 1


class ConvTranspose2d(_Transposed):
    """The adjoint of a convolution of images, see `nn.functional.conv_transpose2d`.

    ``H' = (H − 1)·stride − 2·padding + dilation·(kernel − 1) + output_padding + 1``. ``weight`` is
    ``(in_channels, out_channels / groups, kernel, kernel)``.
    """

    ndim = 2


class ConvTranspose3d(_Transposed):
    """The adjoint of a convolution of volumes, see `nn.functional.conv_transpose3d`.

    ``weight`` is ``(in_channels, out_channels / groups, kernel, kernel, kernel)``.
    """

    ndim = 3
