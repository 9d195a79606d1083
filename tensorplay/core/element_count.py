"""`ElementCount`: what `tensor.size` is, for users of PyTorch and of the array API standard alike.

PyTorch has a method, `x.size()` and `x.size(0)`; the standard, like NumPy, an attribute that is the
number of elements. Both kinds of code meet our tensors, so `x.size` is an integer that can be called.

>>> size = ElementCount((2, 3))
>>> size, size + 1, size == 6, isinstance(size, int)
(6, 7, True, True)
>>> size(), size(-1)
((2, 3), 3)
"""

from __future__ import annotations

import math
from typing import Any, Self

from tensorplay.core.errors import DimensionError


class ElementCount(int):
    """The number of elements of a tensor; called, its shape or the size of one dimension."""

    _shape: tuple[int, ...]

    def __new__(cls, shape: tuple[int, ...]) -> Self:
        """Multiply the sizes."""
        made = super().__new__(cls, math.prod(shape))
        made._shape = shape
        return made

    def __call__(self, dim: int | None = None) -> Any:  # noqa: ANN401  # a shape or one size
        """The shape, or the size of one dimension."""
        if dim is None:
            return self._shape
        if not -len(self._shape) <= dim < len(self._shape):
            msg = f"size: dimension {dim} does not exist in a {len(self._shape)}-d tensor"
            raise DimensionError(msg)
        return self._shape[dim]

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Pickle and copy as the plain number."""
        return int, (int(self),)
