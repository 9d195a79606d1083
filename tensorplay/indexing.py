"""`tensor[index]` and `tensor[index] = value`.

An index is split into its basic part (integers, slices, None, ...), which makes a view out of
select, slice and unsqueeze, and its advanced part (integer and bool tensors, lists), which the
operator `index` gathers and `index_put` writes. A bool tensor stands for the indices of its true
elements.

>>> import tensorplay as tp
>>> x = tp.arange(12).reshape(3, 4)
>>> x[1:, -1], x[[0, 2], 1]
(tensor([ 7, 11]), tensor([1, 9]))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorplay import dispatch
from tensorplay.core import dtypes
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    IndexRangeError,
    ShapeError,
)
from tensorplay.ops.registry import tp
from tensorplay.tensor import Tensor, tensor_from_data


def getitem(tensor: Tensor, index: Any) -> Tensor:  # noqa: ANN401  # any index
    """`tensor[index]`: a view for basic indices, else a new tensor."""
    kind = type(index)
    if kind is int:
        return dispatch.call(tp.select, (tensor, 0, index))  # type: ignore[no-any-return]  # the operator gives one tensor
    view, advanced = _basic(tensor, _as_tuple(index))
    if advanced:
        return dispatch.call(tp.index, (view, _trimmed(advanced)))  # type: ignore[no-any-return]  # the operator gives one tensor
    return dispatch.call(tp.alias, (tensor,)) if view is tensor else view


def setitem(tensor: Tensor, index: Any, value: Any) -> None:  # noqa: ANN401  # any index and value
    """`tensor[index] = value`: the value broadcasts and is converted to the tensor's dtype."""
    items = _as_tuple(index)
    value = _value_tensor(tensor, value)
    mask = _leading_mask(tensor, items)
    if mask is not None and value.ndim <= tensor.ndim - mask.ndim:
        _write_where(tensor, mask, value)
        return
    view, advanced = _basic(tensor, items)
    if advanced:
        new = dispatch.call(
            tp.index_put, (view, _trimmed(advanced), _without_leading_ones(value, view), False)
        )
        dispatch.write(view, new)
        return
    while value.ndim > view.ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    if value.shape != view.shape:
        value = _expanded(value, view)
    dispatch.write(view, value)


def _expanded(value: Tensor, view: Tensor) -> Tensor:
    try:
        return value.expand(view.shape)
    except ShapeError:
        msg = f"setitem: a value of shape {tuple(value.shape)} does not fit the indexed shape {tuple(view.shape)}"
        raise ShapeError(msg) from None


def _without_leading_ones(value: Tensor, view: Tensor) -> Tensor:
    while value.ndim > view.ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    return value


def _value_tensor(tensor: Tensor, value: Any) -> Tensor:  # noqa: ANN401  # a tensor, a number or nested sequences
    if isinstance(value, Tensor):
        return value if value.dtype is tensor.dtype else value.to(tensor.dtype)
    if isinstance(value, (bool, int, float, complex)):
        if isinstance(value, complex) and tensor.dtype.kind != "c":
            msg = f"setitem: a complex number does not fit a {tensor.dtype} tensor"
            raise DTypeError(msg)
        return tp.full((), value, dtype=tensor.dtype, device=tensor.device)
    return tensor_from_data(value, dtype=tensor.dtype)


def _as_tuple(index: Any) -> tuple[Any, ...]:  # noqa: ANN401  # any index
    return index if type(index) is tuple else (index,)


def _leading_mask(tensor: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """The bool tensor of `tensor[mask]` when it has the tensor's first dimensions."""
    if len(items) != 1:
        return None
    mask = items[0]
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
        mask = tensor_from_data(mask)
    is_mask = isinstance(mask, Tensor) and mask.dtype is dtypes.bool_
    return mask if is_mask and mask.shape == tensor.shape[: mask.ndim] else None


def _write_where(tensor: Tensor, mask: Tensor, value: Tensor) -> None:
    """`tensor[mask] = value` where the value is the same for each true element: no count is needed."""
    _expanded(value, tensor)
    for _ in range(tensor.ndim - mask.ndim):
        mask = mask.unsqueeze(-1)
    if value.ndim == 0:
        new = dispatch.call_operator(tp.masked_fill, (tensor, mask, value))
    else:
        new = dispatch.call_operator(tp.where, (mask, value, tensor))
    dispatch.write(tensor, new)


def _consumed(item: Any) -> int:  # noqa: ANN401  # one index
    """How many dimensions an index uses."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, Tensor) and item.dtype is dtypes.bool_:
        return item.ndim
    if isinstance(item, np.ndarray) and item.dtype == np.bool_:
        return item.ndim
    return 1


def _basic(tensor: Tensor, items: tuple[Any, ...]) -> tuple[Tensor, list[Tensor | None]]:
    """Apply the basic part; the rest as one index tensor or None for each dimension of the view."""
    items = tuple(_canonical(item) for item in items)
    used = 0
    for item in items:
        used += _consumed(item)
    if used > tensor.ndim:
        msg = (
            f"too many indices: {used} for a {tensor.ndim}-d tensor of shape {tuple(tensor.shape)}"
        )
        raise IndexRangeError(msg)
    if sum(item is Ellipsis for item in items) > 1:
        msg = "an index can only have one ellipsis ('...')"
        raise IndexRangeError(msg)
    view = tensor
    dim = 0
    advanced: list[Tensor | None] = []
    for item in items:
        if item is Ellipsis:
            skipped = tensor.ndim - used
            advanced += [None] * skipped
            dim += skipped
        elif item is None:
            view = dispatch.call(tp.unsqueeze, (view, dim))
            advanced.append(None)
            dim += 1
        elif isinstance(item, slice):
            view = _sliced(view, dim, item)
            advanced.append(None)
            dim += 1
        elif isinstance(item, np.ndarray):
            found = _known_places(view, dim, item)
            advanced += found
            dim += len(found)
        elif isinstance(item, Tensor):
            view, found = _advanced(view, dim, item)
            advanced += found
            dim += len(found)
        elif isinstance(item, bool):
            view = dispatch.call(tp.unsqueeze, (view, dim))
            place = tensor_from_data([0] if item else [], dtype=dtypes.int64)
            advanced.append(place)
            dim += 1
        else:
            view = dispatch.call(tp.select, (view, dim, item))
    return view, advanced if any(each is not None for each in advanced) else []


def _canonical(item: Any) -> Any:  # noqa: ANN401  # one index
    """Lists and arrays as tensors, those of bools as arrays; 0-d integers as integers."""
    kind = type(item)
    if kind is int or item is None or item is Ellipsis or kind is slice or kind is bool:
        return item
    if isinstance(item, Tensor):
        if item.ndim == 0 and item.dtype.is_integral and item.array is not None:
            return int(item)
        if item.dtype.kind not in "biu":
            msg = f"index tensors must be integers or bools, found {item.dtype}"
            raise DTypeError(msg)
        return item
    if isinstance(item, (list, tuple, range, np.ndarray)):
        mask = _known_mask(item)
        if mask is not None:
            return mask
        data = list(item) if isinstance(item, range) else item
        found = tensor_from_data(data)
        return (
            found.to(dtypes.int64)
            if found.numel() == 0 and found.dtype.kind == "f"
            else _canonical_array(found)
        )
    if hasattr(item, "__index__"):
        return item.__index__()
    msg = f"cannot index with {type(item).__name__}: {item!r:.60}; use integers, slices, None, ..., lists or tensors"
    raise ArgumentError(msg)


def _known_mask(item: Any) -> np.ndarray[Any, Any] | None:  # noqa: ANN401  # an array or a sequence
    """A list or an array of bools, whose number of true elements is known, as an array."""
    if not isinstance(item, np.ndarray):
        first = item
        while isinstance(first, (list, tuple)) and first:
            first = first[0]
        if not isinstance(first, (bool, np.bool_)):
            return None
    array = np.asarray(item)
    return array if array.dtype == np.bool_ and array.ndim else None


def _canonical_array(found: Tensor) -> Tensor:
    if found.dtype.kind not in "biu":
        msg = f"indices must be integers or bools, found {found.dtype}"
        raise DTypeError(msg)
    return found


def _sliced(view: Tensor, dim: int, item: slice) -> Tensor:
    if item.start is None and item.stop is None and item.step is None:
        return view
    step = 1 if item.step is None else item.step.__index__()
    start = None if item.start is None else item.start.__index__()
    stop = None if item.stop is None else item.stop.__index__()
    if step == 0:
        msg = "slice step must not be 0; use a positive step, or a negative one to go backwards"
        raise ArgumentValueError(msg)
    if step < 0:
        return _sliced_backwards(view, dim, slice(start, stop, step))
    return dispatch.call(tp.slice, (view, dim, start, stop, step))  # type: ignore[no-any-return]  # the operator gives one tensor


def _sliced_backwards(view: Tensor, dim: int, item: slice) -> Tensor:
    """The same elements in ascending order, reversed."""
    places = range(*item.indices(view.shape[dim]))
    lowest, end = (places[-1], places[0] + 1) if places else (0, 0)
    ascending = dispatch.call(tp.slice, (view, dim, lowest, end, -item.step))
    return dispatch.call(tp.reverse, (ascending, dim))  # type: ignore[no-any-return]  # the operator gives one tensor


def _advanced(view: Tensor, dim: int, item: Tensor) -> tuple[Tensor, list[Tensor | None]]:
    """An index tensor; a bool one becomes the indices of its true elements."""
    if item.dtype is not dtypes.bool_:
        return view, [item if item.dtype is dtypes.int64 else item.to(dtypes.int64)]
    check_mask(view, dim, item)
    if item.ndim == 0:
        view = dispatch.call(tp.unsqueeze, (view, dim))
        return view, [dispatch.call(tp.nonzero, (item.unsqueeze(0),)).select(1, 0)]
    if item.numel() == 0:
        return view, _known_places(view, dim, np.zeros(item.shape, np.bool_))
    places = dispatch.call(tp.nonzero, (item,))
    return view, [places.select(1, k) for k in range(item.ndim)]


def places_of(tensor: Tensor, dim: int, mask: Tensor) -> list[Tensor | None]:
    """The places of the true elements of a bool tensor that indexes the dimensions from `dim` on."""
    return _advanced(tensor, dim, mask)[1]


def _known_places(view: Tensor, dim: int, mask: np.ndarray[Any, Any]) -> list[Tensor | None]:
    """The indices of the true elements of an array."""
    check_mask(view, dim, mask)
    return [tensor_from_data(place) for place in np.nonzero(mask)]


def check_mask(view: Tensor, dim: int, mask: Tensor | np.ndarray[Any, Any]) -> None:
    """A mask has the sizes of its dimensions; also 0, as the array API standard says, and then selects nothing."""
    wanted = view.shape[dim : dim + mask.ndim]
    fits = mask.ndim == len(wanted)
    if not fits or any(
        size not in {0, full} for size, full in zip(mask.shape, wanted, strict=True)
    ):
        msg = f"the bool index has shape {tuple(mask.shape)}, the dimensions that it indexes {tuple(wanted)}"
        raise IndexRangeError(msg)


def _trimmed(indices: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """Without the Nones at the end."""
    found = list(indices)
    while found and found[-1] is None:
        found.pop()
    return tuple(found)
