"""Rules about shapes and strides: pure functions on tuples of sizes.

Strides and offsets count elements. Sizes meet only arithmetic and comparisons, so that symbolic
sizes can flow through.

>>> contiguous_strides((2, 3, 4))
(12, 4, 1)
>>> broadcast_shapes("add", [(2, 1, 4), (3, 1)])
(2, 3, 4)
>>> reshape_strides((4, 6), (6, 1), (2, 2, 6))
(12, 6, 1)
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorplay.core.errors import DimensionError, LayoutError, ShapeError

Shape = tuple[int, ...]


def numel(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    count = 1
    for size in shape:
        count = count * size
    return count


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Row-major strides; a size of 0 counts as 1, as everywhere in NumPy-like libraries."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * (max(1, size))
    strides.reverse()
    return tuple(strides)


def is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements lie in row-major order; strides of size-1 dimensions do not matter."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return 0 in shape
            expected = expected * size
    return True


def normalize_dim(name: str, dim: int, ndim: int) -> int:
    """A dimension number in `[0, ndim)`; a 0-d tensor accepts 0 and -1."""
    limit = ndim if ndim > 0 else 1
    if not -limit <= dim < limit:
        msg = f"{name}: dimension {dim} is outside [{-limit}, {limit - 1}] for a {ndim}-d tensor"
        raise DimensionError(msg)
    return dim + limit if dim < 0 else dim


def normalize_dims(name: str, dims: Sequence[int], ndim: int) -> Shape:
    """Several distinct dimension numbers in `[0, ndim)`, in the order given."""
    seen = tuple(normalize_dim(name, dim, ndim) for dim in dims)
    if len(set(seen)) != len(seen):
        msg = f"{name}: a dimension appears twice in {tuple(dims)}"
        raise DimensionError(msg)
    return seen


def broadcast_shapes(name: str, shapes: Sequence[Sequence[int]]) -> Shape:
    """The common shape of operands; sizes of 1 stretch, missing leading dimensions are added."""
    if len(shapes) == 1:
        return tuple(shapes[0])
    ndim = max((len(shape) for shape in shapes), default=0)
    result: list[int] = [1] * ndim
    for shape in shapes:
        start = ndim - len(shape)
        for i, size in enumerate(shape):
            if size == 1:
                continue
            if result[start + i] == 1:
                result[start + i] = size
            elif result[start + i] != size:
                texts = " and ".join(str(tuple(each)) for each in shapes)
                msg = (
                    f"{name}: shapes {texts} do not broadcast: dimension {start + i - ndim} has sizes "
                    f"{result[start + i]} and {size}; sizes must be equal or 1"
                )
                raise ShapeError(msg)
    return tuple(result)


def broadcast_strides(shape: Sequence[int], strides: Sequence[int], to: Sequence[int]) -> Shape:
    """The strides of an operand seen in a larger broadcast shape: 0 along stretched dimensions."""
    lead = len(to) - len(shape)
    return (0,) * lead + tuple(
        0 if size == 1 and wide != 1 else stride
        for size, stride, wide in zip(shape, strides, to[lead:], strict=True)
    )


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether some order of the dimensions makes the elements contiguous: no gap and no overlap."""
    order = sorted(
        (i for i, size in enumerate(shape) if size != 1), key=lambda i: strides[i], reverse=True
    )
    return is_contiguous([shape[i] for i in order], [strides[i] for i in order])


def dense_like(shape: Sequence[int], strides: Sequence[int]) -> Shape:
    """Strides without gaps in the order of `strides`: what `empty_like` and `clone` give.

    Dense inputs keep their strides; others get dense strides in the same order of dimensions, as
    pointwise operators.
    """
    if is_dense(shape, strides):
        return tuple(strides)
    return pointwise_strides(shape, [(tuple(shape), tuple(strides))])


def strides_in_order(shape: Sequence[int], outer_to_inner: Sequence[int]) -> Shape:
    """Dense strides whose memory order of dimensions is `outer_to_inner`."""
    strides = [1] * len(shape)
    step = 1
    for dim in reversed(outer_to_inner):
        strides[dim] = step
        step = step * (max(1, shape[dim]))
    return tuple(strides)


def pointwise_strides(shape: Sequence[int], operands: Sequence[tuple[Shape, Shape]]) -> Shape:
    """Strides of a pointwise operator's fresh output.

    `operands` are the (shape, strides) of its tensor operands. When every operand of full shape is
    contiguous the output is; when they are dense with equal strides it has those; otherwise the
    dimensions are ordered by the operands' strides, earlier operands deciding first, dimensions of
    stride 0 undecided.
    """
    if 0 in shape:
        return contiguous_strides(shape)
    shape = tuple(shape)
    full = [strides for each, strides in operands if each == shape]
    if len(full) == len(operands):
        if all(is_contiguous(shape, strides) for strides in full):
            return contiguous_strides(shape)
        first = full[0]
        if is_dense(shape, first) and all(strides == first for strides in full[1:]):
            return first
    seen = [broadcast_strides(each, strides, shape) for each, strides in operands]
    order: list[int] = []  # inner to outer
    for dim in range(len(shape) - 1, -1, -1):
        place = len(order)
        for k in range(len(order) - 1, -1, -1):
            decision = _compare_strides(shape, seen, dim, order[k])
            if decision < 0:
                place = k
            elif decision > 0:
                break
        order.insert(place, dim)
    return strides_in_order(shape, order[::-1])


def _compare_strides(shape: Shape, operands: Sequence[Shape], a: int, b: int) -> int:
    """Negative when dimension `a` belongs inside `b`, positive when outside, 0 when undecided."""
    for strides in operands:
        step_a, step_b = abs(strides[a]), abs(strides[b])
        if step_a == 0 or step_b == 0:
            continue
        if step_a != step_b:
            return -1 if step_a < step_b else 1
        if shape[a] != shape[b]:
            return -1 if shape[a] < shape[b] else 1
    return 0


def reshape_strides(
    shape: Sequence[int], strides: Sequence[int], to: Sequence[int]
) -> Shape | None:
    """Strides of a reshape that shares memory, or None where it needs a copy.

    Proposition 6.3: adjacent dimensions merge when the outer stride is the inner size times the
    inner stride.
    """
    if 0 in shape:
        return contiguous_strides(to)
    groups: list[tuple[int, int]] = []  # (elements, innermost stride), outer to inner
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if groups and groups[-1][1] == size * stride:
            groups[-1] = (groups[-1][0] * size, stride)
        else:
            groups.append((size, stride))
    result = [1] * len(to)
    place = len(to) - 1
    for count, innermost in reversed(groups):
        filled, stride = 1, innermost
        while place >= 0 and (filled < count or to[place] == 1):
            result[place] = stride
            filled, stride = filled * to[place], stride * to[place]
            place -= 1
        if filled != count:
            return None
    step = result[place + 1] * to[place + 1] if place + 1 < len(to) else 1
    for i in range(place, -1, -1):  # leading sizes of 1
        result[i] = step
    return tuple(result)


def infer_size(name: str, size: Sequence[int], shape: Sequence[int]) -> Shape:
    """Replace one -1 in `size` so that it holds the elements of `shape`."""
    count = numel(shape)
    unknown = [i for i, each in enumerate(size) if each == -1]
    if len(unknown) > 1:
        msg = f"{name}: only one size may be -1, found {tuple(size)}"
        raise ShapeError(msg)
    if any(each < -1 for each in size):
        msg = f"{name}: sizes must not be negative, found {tuple(size)}"
        raise ShapeError(msg)
    known = numel([each for each in size if each != -1])
    if unknown:
        if known == 0:
            msg = f"{name}: -1 is ambiguous in {tuple(size)} because another size is 0"
            raise ShapeError(msg)
        if count % known != 0:
            msg = f"{name}: the {count} elements of shape {tuple(shape)} do not fit size {tuple(size)}"
            raise ShapeError(msg)
        return tuple(count // known if each == -1 else each for each in size)
    if known != count:
        msg = f"{name}: size {tuple(size)} has {known} elements, the tensor of shape {tuple(shape)} has {count}"
        raise ShapeError(msg)
    return tuple(size)


def extent(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> tuple[int, int]:
    """The lowest and highest element offsets that are reached.

    `(offset, offset - 1)` when empty.
    """
    low = high = offset
    for size, stride in zip(shape, strides, strict=True):
        if size == 0:
            return offset, offset - 1
        if stride < 0:
            low = low + (size - 1) * stride
        else:
            high = high + (size - 1) * stride
    return low, high


def has_internal_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two different indices may reach one element (exact for nested dimensions)."""
    reached = 0
    pairs = sorted((abs(t), s) for s, t in zip(shape, strides, strict=True) if s != 1)
    for stride, size in pairs:
        if size == 0:
            return False
        if stride <= reached:
            return True
        reached = reached + (size - 1) * stride
    return False


def check_as_strided(
    shape: Sequence[int], strides: Sequence[int], offset: int, low: int, high: int
) -> None:
    """Refuse a layout that leaves the elements `[low, high]` of its storage."""
    if len(shape) != len(strides):
        msg = f"as_strided: {len(shape)} sizes but {len(strides)} strides"
        raise LayoutError(msg)
    if any(size < 0 for size in shape):
        msg = f"as_strided: sizes must not be negative, found {tuple(shape)}"
        raise LayoutError(msg)
    first, last = extent(shape, strides, offset)
    if last >= first and (first < low or last > high):
        msg = (
            f"as_strided: size {tuple(shape)}, strides {tuple(strides)}, offset {offset} reach elements "
            f"[{first}, {last}] of a storage with [{low}, {high}]"
        )
        raise LayoutError(msg)
