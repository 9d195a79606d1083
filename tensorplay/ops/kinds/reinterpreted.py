"""Views of the same memory as elements of another dtype: a complex number as its two parts, and back.

    @reinterpreted(to_real, inverse=lambda input: ("view_as_complex", ()))
    def view_as_real(input: TensorMeta) -> Layout: ...

The declared function gives shape, strides and offset in elements of the new dtype. Both directions are
linear over the reals and orthogonal, so that the inverse is the adjoint, and undoes a write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorplay import _C
from tensorplay.core.dtypes import DType
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import door
from tensorplay.ops.kinds.view import Inverse, View, ViewMap
from tensorplay.ops.numpy_code import element_strides
from tensorplay.ops.signature import Values, dtype_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor

Layout = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and offset, in elements of the new dtype."""


class Reinterpreted(View):
    """The interpretations of a change of dtype over the same memory."""

    def __init__(
        self,
        layout_of: Callable[[TensorMeta], Layout],
        dtype_rule: Callable[[DType], DType],
        inverse: Inverse,
    ) -> None:
        """`layout_of` refuses what cannot be seen as the other dtype."""
        super().__init__(_no_map, inverse=inverse, scatter=None, copies=False)
        self.layout_of = layout_of
        self.dtype_rule = dtype_rule

    def meta(self, operator: Operator, values: Values) -> TensorMeta:
        """The layout in elements of the new dtype."""
        del operator
        meta: Any = values[0]
        shape, strides, offset = self.layout_of(meta)
        return TensorMeta(shape, self.dtype_rule(meta.dtype), meta.device, strides, offset)

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        """The array's memory with another dtype."""
        del operator
        array: Any = values[0]
        meta = TensorMeta(array.shape, dtype_of(array), strides=element_strides(array))
        shape, strides, _ = self.layout_of(meta)
        if not array.size:
            return _C.empty(shape, self.dtype_rule(meta.dtype))
        first = _C.view(array, (1 if meta.dtype.is_complex else 2,), (1,), 0)
        return _C.view(first.view(self.dtype_rule(meta.dtype).numpy), shape, strides, 0)

    def batch(self, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """Parts are the last dimension, whatever is in front."""
        del metas, size
        batch: Any = values[0]
        return door.call(operator, (batch if batch.dtype.is_complex else batch.contiguous(),))

    def _inverse_call(
        self, operator: Operator, meta: TensorMeta, arguments: tuple[object, ...], value: Tensor
    ) -> Tensor | None:
        if not value.dtype.is_complex:  # parts that do not lie side by side are brought together
            value = value.contiguous()
        return super()._inverse_call(operator, meta, arguments, value)


def _no_map(*_: object) -> ViewMap:
    msg = "a view with another dtype has no index map"
    raise TypeError(msg)


__all__ = ["Layout", "Reinterpreted"]
