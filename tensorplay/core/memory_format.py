"""Memory formats: names for the order of dimensions in memory, as PyTorch has them.

>>> channels_last
tensorplay.channels_last
>>> channels_last.order(4)
(0, 2, 3, 1)
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from tensorplay.core.errors import ArgumentError, DimensionError


class MemoryFormat(Enum):
    """An order of dimensions in memory; the value is its public name."""

    CONTIGUOUS = "contiguous_format"
    PRESERVE = "preserve_format"
    CHANNELS_LAST = "channels_last"
    CHANNELS_LAST_3D = "channels_last_3d"

    def __repr__(self) -> str:
        """Text as in `tensorplay.channels_last`."""
        return f"tensorplay.{self.value}"

    def order(self, ndim: int) -> tuple[int, ...]:
        """The dimensions of a tensor, the slowest in memory first; refused for another rank."""
        wanted = {MemoryFormat.CHANNELS_LAST: 4, MemoryFormat.CHANNELS_LAST_3D: 5}.get(self, ndim)
        if ndim != wanted:
            raise DimensionError(
                f"{self.value} is an order of {wanted} dimensions, the tensor has {ndim}"
            )
        is_last = self in {MemoryFormat.CHANNELS_LAST, MemoryFormat.CHANNELS_LAST_3D}
        return (0, *range(2, ndim), 1) if is_last else tuple(range(ndim))


def checked_format(name: str, value: object) -> MemoryFormat:
    """A memory format; anything else is refused."""
    if not isinstance(value, MemoryFormat):
        raise ArgumentError(
            f"{name}: memory_format must be one of {', '.join(map(repr, MemoryFormat))}, found {value!r}"
        )
    return value


contiguous_format: Final = MemoryFormat.CONTIGUOUS
preserve_format: Final = MemoryFormat.PRESERVE
channels_last: Final = MemoryFormat.CHANNELS_LAST
channels_last_3d: Final = MemoryFormat.CHANNELS_LAST_3D
