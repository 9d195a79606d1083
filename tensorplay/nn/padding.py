"""Padding layers: values around images of one, two and three dimensions.

``padding`` is one number for all ends, or two numbers a dimension, the last dimension first; negative ones take away.

>>> import tensorplay as tp
>>> tp.nn.ReflectionPad1d(2)(tp.arange(3.0).reshape(1, 3))
tensor([[2., 1., 0., 1., 2., 1., 0.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from tensorplay.nn import functional
from tensorplay.nn.module import Module

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

Each = int | Sequence[int]


class _Pad(Module):
    ndim: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Each) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.ndim) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """Pad the last dimensions."""
        return functional.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Each, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Pad the last dimensions."""
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The numbers and the value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Each) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class _ReflectionPad(_Pad):
    mode = "reflect"


class _ReplicationPad(_Pad):
    mode = "replicate"


class _CircularPad(_Pad):
    mode = "circular"


class ConstantPad1d(_ConstantPad):
    """A value around the last dimension."""

    ndim = 1


class ConstantPad2d(_ConstantPad):
    """A value around the last two dimensions."""

    ndim = 2


class ConstantPad3d(_ConstantPad):
    """A value around the last three dimensions."""

    ndim = 3


class ZeroPad1d(_ZeroPad):
    """Zeros around the last dimension."""

    ndim = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two dimensions."""

    ndim = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three dimensions."""

    ndim = 3


class ReflectionPad1d(_ReflectionPad):
    """The mirror image without the border around the last dimension."""

    ndim = 1


class ReflectionPad2d(_ReflectionPad):
    """The mirror image without the border around the last two dimensions."""

    ndim = 2


class ReflectionPad3d(_ReflectionPad):
    """The mirror image without the border around the last three dimensions."""

    ndim = 3


class ReplicationPad1d(_ReplicationPad):
    """The nearest element around the last dimension."""

    ndim = 1


class ReplicationPad2d(_ReplicationPad):
    """The nearest element around the last two dimensions."""

    ndim = 2


class ReplicationPad3d(_ReplicationPad):
    """The nearest element around the last three dimensions."""

    ndim = 3


class CircularPad1d(_CircularPad):
    """The other end around the last dimension."""

    ndim = 1


class CircularPad2d(_CircularPad):
    """The other end around the last two dimensions."""

    ndim = 2


class CircularPad3d(_CircularPad):
    """The other end around the last three dimensions."""

    ndim = 3
