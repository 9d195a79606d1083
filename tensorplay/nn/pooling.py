"""Pooling layers over images of one, two and three dimensions; see the functions of the same names.

>>> import tensorplay as tp
>>> tp.nn.MaxPool2d(2)(tp.zeros(1, 3, 6, 6)).shape
(1, 3, 3, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tensorplay.nn import functional
from tensorplay.nn.module import Module
from tensorplay.ops.library.fractional_pool import checked_output
from tensorplay.ops.library.windows import each

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

Each = int | Sequence[int]
SomeEach = int | None | Sequence[int | None]


class _MaxPool(Module):
    ndim: ClassVar[int]

    def __init__(
        self,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        dilation: Each = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:  # noqa: ANN401  # a tensor, or two with indices
        """Pool each channel."""
        function: Any = getattr(functional, f"max_pool{self.ndim}d")
        return function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The window."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _MaxUnpool(Module):
    ndim: ClassVar[int]

    def __init__(self, kernel_size: Each, stride: Each | None = None, padding: Each = 0) -> None:
        super().__init__()
        self.kernel_size = self._tuple(kernel_size)
        self.stride = self.kernel_size if stride is None else self._tuple(stride)
        self.padding = self._tuple(padding)

    def _tuple(self, value: Each) -> tuple[int, ...]:
        return (value,) * self.ndim if isinstance(value, int) else tuple(value)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Put elements back to the places that the pool gave."""
        function: Any = getattr(functional, f"max_unpool{self.ndim}d")
        result: Tensor = function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return result

    def extra_repr(self) -> str:
        """The window."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


def _one(value: Each) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


class _AvgPool(Module):
    ndim: ClassVar[int]

    def __init__(
        self,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        if self.ndim == 1:
            self.kernel_size = _one(kernel_size)
            self.stride, self.padding = _one(self.stride), _one(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Pool each channel."""
        function: Any = getattr(functional, f"avg_pool{self.ndim}d")
        more = () if self.ndim == 1 else (self.divisor_override,)
        result: Tensor = function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, *more,
        )  # fmt: skip
        return result

    def extra_repr(self) -> str:
        """The window."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPool(Module):
    ndim: ClassVar[int]

    def __init__(
        self,
        norm_type: float,
        kernel_size: Each,
        stride: Each | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Pool each channel."""
        function: Any = getattr(functional, f"lp_pool{self.ndim}d")
        result: Tensor = function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return result

    def extra_repr(self) -> str:
        """The norm and the window."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _AdaptiveAvgPool(Module):
    ndim: ClassVar[int]

    def __init__(self, output_size: SomeEach) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Pool each channel."""
        function: Any = getattr(functional, f"adaptive_avg_pool{self.ndim}d")
        result: Tensor = function(input, self.output_size)
        return result

    def extra_repr(self) -> str:
        """The size of the output."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(Module):
    ndim: ClassVar[int]

    def __init__(self, output_size: SomeEach, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:  # noqa: ANN401  # a tensor, or two with indices
        """Pool each channel."""
        function: Any = getattr(functional, f"adaptive_max_pool{self.ndim}d")
        return function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """The size of the output."""
        return f"output_size={self.output_size}"


class _FractionalMaxPool(Module):
    ndim: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Each,
        output_size: Each | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        output = checked_output(name, self.ndim, output_size, output_ratio)
        self.kernel_size = each(name, "kernel_size", kernel_size, self.ndim)
        self.output_size = None if output_size is None else output
        self.output_ratio = None if output_ratio is None else output
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:  # noqa: ANN401  # a tensor, or two with indices
        """Pool each channel over windows drawn anew."""
        function: Any = getattr(functional, f"fractional_max_pool{self.ndim}d")
        return function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows whose starts are drawn, so many or for such a part of ``(N, C, H, W)`` (Graham 2014)."""

    ndim = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows whose starts are drawn, so many or for such a part of ``(N, C, D, H, W)`` (Graham 2014)."""

    ndim = 3


class MaxPool1d(_MaxPool):
    """The largest element of each window; padding never wins. NaN does. Of ``(N, C, L)``, or without ``N``."""

    ndim = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window; padding never wins. NaN does. Of ``(N, C, H, W)``, or without ``N``."""

    ndim = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window; padding never wins. NaN does. Of ``(N, C, D, H, W)``, or without ``N``."""

    ndim = 3


class MaxUnpool1d(_MaxUnpool):
    """Elements put back to the places that `MaxPool1d` gave, zeros elsewhere. Of ``(N, C, L)``, or without ``N``."""

    ndim = 1


class MaxUnpool2d(_MaxUnpool):
    """Elements put back to the places that `MaxPool2d` gave, zeros elsewhere. Of ``(N, C, H, W)``, or without ``N``."""

    ndim = 2


class MaxUnpool3d(_MaxUnpool):
    """Elements put back to the places that `MaxPool3d` gave, zeros elsewhere. Of ``(N, C, D, H, W)``, or without ``N``."""

    ndim = 3


class AvgPool1d(_AvgPool):
    """The mean of each window, counting padding as zeros unless told otherwise. Of ``(N, C, L)``, or without ``N``."""

    ndim = 1


class AvgPool2d(_AvgPool):
    """The mean of each window, counting padding as zeros unless told otherwise. Of ``(N, C, H, W)``, or without ``N``."""

    ndim = 2


class AvgPool3d(_AvgPool):
    """The mean of each window, counting padding as zeros unless told otherwise. Of ``(N, C, D, H, W)``, or without ``N``."""

    ndim = 3


class LPPool1d(_LPPool):
    """The norm of each window. Of ``(N, C, L)``, or without ``N``."""

    ndim = 1


class LPPool2d(_LPPool):
    """The norm of each window. Of ``(N, C, H, W)``, or without ``N``."""

    ndim = 2


class LPPool3d(_LPPool):
    """The norm of each window. Of ``(N, C, D, H, W)``, or without ``N``."""

    ndim = 3


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over cells chosen so that the output has a given size (None keeps the input's). Of ``(N, C, L)``, or without ``N``."""

    ndim = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over cells chosen so that the output has a given size (None keeps the input's). Of ``(N, C, H, W)``, or without ``N``."""

    ndim = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over cells chosen so that the output has a given size (None keeps the input's). Of ``(N, C, D, H, W)``, or without ``N``."""

    ndim = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest element of cells chosen so that the output has a given size. Of ``(N, C, L)``, or without ``N``."""

    ndim = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest element of cells chosen so that the output has a given size. Of ``(N, C, H, W)``, or without ``N``."""

    ndim = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest element of cells chosen so that the output has a given size. Of ``(N, C, D, H, W)``, or without ``N``."""

    ndim = 3
