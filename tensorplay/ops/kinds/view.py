"""Views: an index map. The element `i` of the view is the element `source(i)` of the tensor.

    @view(inverse=lambda input, dims: ("permute", (inverse_permutation(dims),)))
    def permute(input: TensorMeta, dims: Sizes) -> ViewMap:
        return ViewMap([input.shape[d] for d in dims], lambda i: [i[dims.index(k)] for k in
        range(len(dims))])

An affine map `A i + c` gives the strides `A^T t` and the offset `o + t·c` (Proposition 6.2), read
off at 0 and at the unit vectors. The index map itself is what lowering composes. The adjoint is the
inverse view where the map is a bijection, else the declared scatter into zeros; the same scatter
rebuilds a base after a write through the view. A view that cannot share memory (`flip`, `repeat`)
copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.errors import LayoutError, TensorPlayError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import door
from tensorplay.ops.batching import over_batch
from tensorplay.ops.gradient import Grads, Pullback, Result
from tensorplay.ops.kinds.batched import derived, sample_meta
from tensorplay.ops.kinds.kind import Kind, linear_tangent
from tensorplay.ops.numpy_code import element_strides
from tensorplay.ops.signature import Values, dtype_of

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.tensor import Tensor

IndexMap: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]
"""Indices of the view to indices of the tensor, with `+ - * // %` only: integers, expressions or arrays."""
Inverse: TypeAlias = Callable[..., tuple[str, tuple[object, ...]]]
"""(meta of the tensor, arguments) → the view operator and its arguments that undo this one."""


@dataclass(frozen=True, slots=True)
class ViewMap:
    """A view of a tensor: its shape and its index map."""

    shape: Sequence[int]
    source: IndexMap
    strides: tuple[int, ...] | None = None
    """Given where they do not follow from an affine map (reshape)."""


@dataclass(frozen=True, slots=True)
class _Layout:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


_LIMIT = 8192


class View(Kind):
    """The interpretations of an index map."""

    name = "view"

    def __init__(
        self,
        view_map: Callable[..., ViewMap],
        *,
        inverse: Inverse | None,
        scatter: str | None,
        copies: bool,
    ) -> None:
        """`inverse` for bijections, `scatter` (an operator `(input, src, *arguments)`) for injections."""
        self.declared_map = view_map
        self.inverse = inverse
        self.scatter = scatter
        self.copies = copies
        self.is_view = not copies
        self._layouts: dict[object, _Layout] = {}
        self._batched: Operator | None = None

    def view_map(self, meta: TensorMeta, *arguments: object) -> ViewMap:
        """The view's shape and index map."""
        return self.declared_map(meta, *arguments)

    # ---- layouts

    def layout(self, meta: TensorMeta, arguments: tuple[object, ...]) -> _Layout:
        """Shape, strides and offset (from the tensor's first element) of the view."""
        key = (meta.shape, meta.strides, arguments)
        found = self._layouts.get(key)
        if found is None:
            if len(self._layouts) >= _LIMIT:
                self._layouts.clear()
            found = self._layouts[key] = self._layout(meta, arguments)
        return found

    def _layout(self, meta: TensorMeta, arguments: tuple[object, ...]) -> _Layout:
        found = self.view_map(meta, *arguments)
        shape = tuple(found.shape)
        if 0 in shape:
            return _Layout(shape, layout.contiguous_strides(shape), 0)
        if found.strides is not None:
            return _Layout(shape, found.strides, 0)
        strides, offset = affine_layout(found, meta.strides)
        return _Layout(shape, strides, offset)

    def meta(self, operator: Operator, values: Values) -> TensorMeta:
        """The view's layout over the tensor's; contiguous for copies."""
        del operator
        meta: Any = values[0]
        if self.copies:
            return TensorMeta(self.view_map(meta, *values[1:]).shape, meta.dtype, meta.device)
        found = self.layout(meta, values[1:])
        return TensorMeta(
            found.shape, meta.dtype, meta.device, found.strides, meta.offset + found.offset
        )

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        """A strided view of the array, or the gathered copy."""
        del operator
        array: Any = values[0]
        key = (array.shape, array.strides, array.itemsize, values[1:])
        found = self._layouts.get(key)
        if found is None:
            meta = TensorMeta(array.shape, dtype_of(array), strides=element_strides(array))
            if self.copies:
                return self._copy(array, self.view_map(meta, *values[1:]))
            found = self._layouts[key] = self.layout(meta, values[1:])
        return _C.view(array, found.shape, found.strides, found.offset)

    def _copy(self, array: Any, found: ViewMap) -> Any:  # noqa: ANN401  # arrays
        shape = tuple(found.shape)
        result = _C.empty(shape, array.dtype)
        if 0 not in shape:
            index = np.ogrid[tuple(slice(size) for size in shape)] if shape else ()
            result[...] = array[tuple(found.source(index))]
        return result

    # ---- gradient and tangent

    def pullback(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        needs: Sequence[bool],
    ) -> Pullback:
        """The inverse view, or the scatter into zeros."""
        del result, needs
        tensor: Any = values[0]
        meta: TensorMeta = tensor.tensor_meta

        def pull(grads: Grads, saved: Sequence[Tensor], wanted: Sequence[bool]) -> Grads:
            del saved
            if grads[0] is None or not wanted[0]:
                return (None,)
            return (self.adjoint(operator, meta, values[1:], grads[0]),)

        return Pullback((), pull)

    def adjoint(
        self, operator: Operator, meta: TensorMeta, arguments: tuple[object, ...], grad: Tensor
    ) -> Tensor:
        """The gradient of the tensor from the gradient of the view."""
        undone = self._inverse_call(operator, meta, arguments, grad)
        if undone is not None:
            return undone
        zeros = operator.sibling("zeros")(meta.shape, dtype=meta.dtype, device=meta.device)
        return self.scattered(operator, meta, arguments, zeros, grad)

    def _inverse_call(
        self, operator: Operator, meta: TensorMeta, arguments: tuple[object, ...], value: Tensor
    ) -> Tensor | None:
        if self.inverse is None:
            return None
        name, undo = self.inverse(meta, *arguments)
        found: Tensor = operator.sibling(name)(value, *undo)
        return found

    def scattered(
        self,
        operator: Operator,
        meta: TensorMeta,
        arguments: tuple[object, ...],
        base: Tensor,
        value: Tensor,
    ) -> Tensor:
        """`base` with the view's elements replaced by `value`: the inverse scatter of functionalization."""
        undone = self._inverse_call(operator, meta, arguments, value)
        if undone is not None:
            return undone
        if self.scatter is None:
            raise overlapping_write(operator.name)
        scatter = operator.sibling(self.scatter)
        found: Tensor = door.call(scatter, scatter.signature.bind((base, value, *arguments), {}))
        return found

    def tangent(
        self,
        operator: Operator,
        values: Values,
        result: Result,
        tangents: Sequence[Tensor | None],
    ) -> Any:  # noqa: ANN401  # a tensor
        """The same view of the tangent."""
        del result
        return linear_tangent(operator, values, tangents)

    # ---- batches

    def batch(self, operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
        """The view of each sample: the same index map behind the batch's own index."""
        del size
        meta: Any = metas[0]
        tensor: Any = values[0]
        if len(values) == 1 and self._is_identity(meta) and self._is_identity(tensor.tensor_meta):
            return door.call(operator, values)  # alias
        return door.call(self.batched(operator), values)

    def _is_identity(self, meta: TensorMeta) -> bool:
        """Whether every element stays at its place."""
        try:
            found = self.view_map(meta)
        except TensorPlayError:  # a matrix has a transpose, a batch of matrices has none
            return False
        probe = [1000 + i for i in range(meta.ndim)]
        return tuple(found.shape) == meta.shape and list(found.source(probe)) == probe

    def batched(self, operator: Operator) -> Operator:
        """The view of each sample of a batch, as an operator."""
        if self._batched is None:
            self._batched = derived(operator, BatchedView(operator, self), self.declared_map)
        return self._batched

    def missing_gradient(self, operator: Operator) -> str | None:
        """Derived where an inverse or a scatter is declared."""
        if operator.gradients or self.inverse is not None or self.scatter is not None:
            return None
        return "a view needs inverse= or scatter="


def overlapping_write(name: str) -> LayoutError:
    """The refusal of a write whose result would depend on the order."""
    return LayoutError(
        f"{name}: writing through this view is refused: several of its elements are one in memory; clone it first"
    )


def affine_layout(found: ViewMap, strides: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Strides and offset of an affine view: `A^T t` and `t·c` (Proposition 6.2)."""
    ndim = len(found.shape)
    origin = found.source([0] * ndim)
    offset = _dot(strides, origin)
    result: list[int] = []
    for k in range(ndim):
        unit = [0] * ndim
        unit[k] = 1
        result.append(_dot(strides, found.source(unit)) - offset)
    return tuple(result), offset


def _dot(strides: Sequence[int], index: Sequence[int]) -> int:
    total = 0
    for stride, place in zip(strides, index, strict=True):
        total = total + stride * place
    return total


class BatchedView(View):
    """A view of each sample of a batch: what is declared for one, behind the batch's index."""

    def __init__(self, operator: Operator, kind: View) -> None:
        """Derive the map of `operator`, of kind `kind`."""
        super().__init__(
            kind.declared_map, inverse=kind.inverse, scatter=kind.scatter, copies=kind.copies
        )
        self.of_sample = kind
        self.operator = operator

    def view_map(self, meta: TensorMeta, *arguments: object) -> ViewMap:
        """The batch's index, then the map of a sample."""
        found = self.of_sample.view_map(sample_meta(meta), *arguments)
        strides = None if found.strides is None else (meta.strides[0], *found.strides)
        return ViewMap(
            (meta.shape[0], *found.shape), lambda i: [i[0], *found.source(i[1:])], strides
        )

    def adjoint(
        self, operator: Operator, meta: TensorMeta, arguments: tuple[object, ...], grad: Tensor
    ) -> Tensor:
        """The adjoint of each sample's view."""
        del operator
        one = sample_meta(meta)
        found: Tensor = over_batch(
            lambda grad: self.of_sample.adjoint(self.operator, one, arguments, grad),
            meta.shape[0],
            (grad,),
        )
        return found

    def scattered(
        self,
        operator: Operator,
        meta: TensorMeta,
        arguments: tuple[object, ...],
        base: Tensor,
        value: Tensor,
    ) -> Tensor:
        """Each sample with its view's elements replaced."""
        del operator
        one = sample_meta(meta)
        found: Tensor = over_batch(
            lambda base, value: self.of_sample.scattered(
                self.operator, one, arguments, base, value
            ),
            meta.shape[0],
            (base, value),
        )
        return found

    def pullback(
        self, operator: Operator, values: Values, result: Result, needs: Sequence[bool]
    ) -> Pullback:
        """The pullback of each sample's view, a written one too."""
        if not self.operator.gradients:
            return super().pullback(operator, values, result, needs)
        tensor: Any = values[0]
        meta: TensorMeta = tensor.tensor_meta
        kind, rule = type(tensor), self.operator.vjp

        def pull(grads: Grads, saved: Sequence[Tensor], wanted: Sequence[bool]) -> Grads:
            del saved
            if grads[0] is None or not wanted[0]:
                return (None,)

            like: Any = _C.TensorBase.__new__(kind)  # only its shape is read
            like.meta, like.dtype = sample_meta(meta), meta.dtype

            def of_sample(grad: Tensor) -> Tensor | None:
                pullback = rule((like, *values[1:]), grad, (True,))
                assert pullback is not None  # noqa: S101  # views have a gradient
                return pullback.pull((grad,), pullback.saved, wanted)[0]

            found: Tensor = over_batch(of_sample, meta.shape[0], (grads[0],))
            return (found,)

        return Pullback((), pull)


class StridedView(View):
    """as_strided: a layout of the storage, whatever the tensor's own layout is."""

    def meta(self, operator: Operator, values: Values) -> TensorMeta:
        """The given layout; the offset counts from the start of the storage."""
        del operator
        meta: Any = values[0]
        size, stride, offset = values[1:]
        first: Any = meta.offset if offset is None else offset
        return TensorMeta(size, meta.dtype, meta.device, stride, first)  # type: ignore[arg-type]  # bound as sizes

    def kernel(self, operator: Operator, values: Values) -> Any:  # noqa: ANN401  # an array
        """A view of the array's memory; refused where it would leave it."""
        del operator
        array: Any = values[0]
        size: Any
        stride: Any
        offset: Any
        size, stride, offset = values[1:]
        low, high = _C.reach(array)
        first = 0 if offset is None else offset + low
        layout.check_as_strided(size, stride, first, low, high)
        return _C.view(array, size, stride, first)
