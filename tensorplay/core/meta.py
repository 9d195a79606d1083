"""What is known of a tensor without its data.

Meta rules return it, recording tensors and graph nodes carry it, compiler inputs are described by
it.

>>> from tensorplay.core import dtypes
>>> TensorMeta((2, 3), dtypes.float32)
TensorMeta(shape=(2, 3), dtype=tensorplay.float32, device=device(type='cpu'), strides=(3, 1), offset=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorplay.core import layout
from tensorplay.core.device import CPU, Device
from tensorplay.core.dtypes import DType


@dataclass(frozen=True, slots=True, init=False)
class TensorMeta:
    """Shape, dtype, device, strides and offset, the last two in elements.

    A tensor without elements always has contiguous strides.
    """

    shape: tuple[int, ...]
    dtype: DType
    device: Device
    strides: tuple[int, ...]
    offset: int

    def __init__(
        self,
        shape: Sequence[int],
        dtype: DType,
        device: Device = CPU,
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> None:
        """Contiguous strides unless given."""
        shape = tuple(shape)
        if strides is None or 0 in shape:
            strides = layout.contiguous_strides(shape)
        put = object.__setattr__
        put(self, "shape", shape)
        put(self, "dtype", dtype)
        put(self, "device", device)
        put(self, "strides", tuple(strides))
        put(self, "offset", offset)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> int:
        """The number of elements."""
        return layout.numel(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, each counted once."""
        return self.numel * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return layout.is_contiguous(self.shape, self.strides)

    def contiguous(self) -> TensorMeta:
        """The same shape and dtype in row-major order at offset 0."""
        return TensorMeta(self.shape, self.dtype, self.device)

    def with_dtype(self, dtype: DType) -> TensorMeta:
        """The same layout with another dtype."""
        return TensorMeta(self.shape, dtype, self.device, self.strides, self.offset)
