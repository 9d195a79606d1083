"""Turning, cutting and combining tensors: rot90, tensor_split and its relatives, meshgrid, repeat_interleave.

>>> import tensorplay as tp
>>> tp.rot90(tp.tensor([[1, 2], [3, 4]]))
tensor([[2, 4],
        [1, 3]])
>>> tp.repeat_interleave(tp.tensor([1, 2]), 2)
tensor([1, 1, 2, 2])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.dtypes import Number, int32, int64
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DataNeededError,
    DimensionError,
    DTypeError,
    ShapeError,
)
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Parts, Size, is_tensor

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- turning ------------------------------------------------------------------------------------------


@composite(method=True)
def rot90(input: Tensor, k: int = 1, dims: Size = (0, 1)) -> Tensor:
    """`k` quarter turns in the plane of two dimensions, from the first toward the second (a copy).

    >>> import tensorplay as tp
    >>> tp.rot90(tp.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise ArgumentValueError(f"rot90: dims must name two dimensions, found {tuple(dims)}")
    a, b = layout.normalize_dims("rot90", dims, input.ndim)
    turns = k % 4
    if turns == 1:
        return input.flip((b,)).transpose(a, b).contiguous()
    if turns == 2:
        return input.flip((a, b))
    if turns == 3:
        return input.flip((a,)).transpose(a, b).contiguous()
    return input.clone()


@composite(method=True)
def fliplr(input: Tensor) -> Tensor:
    """The order of columns (dimension 1) reversed (a copy); the tensor must have at least two dimensions.

    >>> import tensorplay as tp
    >>> tp.fliplr(tp.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    _has_dimensions("fliplr", input, 2)
    return input.flip((1,))


@composite(method=True)
def flipud(input: Tensor) -> Tensor:
    """The order of rows (dimension 0) reversed (a copy); the tensor must have at least one dimension.

    >>> import tensorplay as tp
    >>> tp.flipud(tp.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    _has_dimensions("flipud", input, 1)
    return input.flip((0,))


def _has_dimensions(name: str, input: Tensor, least: int) -> None:
    if input.ndim < least:
        raise DimensionError(f"{name}: expected at least {least} dimensions, found {input.ndim}")


# ---- cutting ------------------------------------------------------------------------------------------


@composite(method=True)
def tensor_split(input: Tensor, indices_or_sections: object, dim: int = 0) -> Any:  # noqa: ANN401  # a tuple of tensors
    """Views of parts along `dim`.

    A number: as many parts, the first ones larger by 1 where the size is no multiple. A sequence: cuts
    in front of these indices, as Python's slices take them.

    >>> import tensorplay as tp
    >>> tp.tensor_split(tp.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    >>> tp.tensor_split(tp.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    return _split("tensor_split", input, indices_or_sections, dim)


def _split(name: str, input: Tensor, how: Any, dim: int) -> tuple[Tensor, ...]:  # noqa: ANN401  # a number or cuts
    place = layout.normalize_dim(name, dim, input.ndim)
    _has_dimensions(name, input, 1)
    size = input.shape[place]
    if is_tensor(how):
        if how.dtype is not int64 or how.ndim > 1:
            raise ArgumentError(
                f"{name}: expected indices as a 0-d or 1-d int64 tensor, found {how.dtype} of shape {tuple(how.shape)}"
            )
        how = how.tolist()
    if isinstance(how, int):
        if how <= 0:
            raise ArgumentValueError(f"{name}: the number of parts must be positive, found {how}")
        small, larger = size // how, size % how
        bounds = [i * small + min(i, larger) for i in range(how + 1)]
        return tuple(input.narrow(place, a, b - a) for a, b in pairwise(bounds))
    if not isinstance(how, Sequence):
        raise ArgumentError(
            f"{name}: expected a number of parts or a sequence of indices, found {how!r}"
        )
    cuts = [max(each + size, 0) if each < 0 else min(each, size) for each in how]
    starts, ends = [0, *cuts], [*cuts, size]
    return tuple(input.narrow(place, a, max(b - a, 0)) for a, b in zip(starts, ends, strict=True))


def _split_evenly(name: str, input: Tensor, how: object, dim: int) -> tuple[Tensor, ...]:
    if isinstance(how, int) and how > 0 and input.shape[dim] % how:
        raise ArgumentValueError(
            f"{name}: dimension {dim} has {input.shape[dim]} elements, no multiple of {how}"
        )
    return _split(name, input, how, dim)


@composite(method=True)
def hsplit(input: Tensor, indices_or_sections: object) -> Any:  # noqa: ANN401  # a tuple of tensors
    """As `tensor_split` along columns (dimension 1; of a 1-d tensor 0); a number must divide the size.

    >>> import tensorplay as tp
    >>> tp.hsplit(tp.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1],
            [3]]), tensor([[2],
            [4]]))
    """
    _has_dimensions("hsplit", input, 1)
    return _split_evenly("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1)


@composite(method=True)
def vsplit(input: Tensor, indices_or_sections: object) -> Any:  # noqa: ANN401  # a tuple of tensors
    """As `tensor_split` along rows of at least two dimensions; a number must divide the size.

    >>> import tensorplay as tp
    >>> tp.vsplit(tp.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    _has_dimensions("vsplit", input, 2)
    return _split_evenly("vsplit", input, indices_or_sections, 0)


@composite(method=True)
def dsplit(input: Tensor, indices_or_sections: object) -> Any:  # noqa: ANN401  # a tuple of tensors
    """As `tensor_split` along dimension 2 of at least three; a number must divide the size.

    >>> import tensorplay as tp
    >>> [part.shape for part in tp.dsplit(tp.ones(2, 3, 4), (1, 3))]
    [(2, 3, 1), (2, 3, 2), (2, 3, 1)]
    """
    _has_dimensions("dsplit", input, 3)
    return _split_evenly("dsplit", input, indices_or_sections, 2)


# ---- combining ----------------------------------------------------------------------------------------


@composite()
def meshgrid(tensors: Parts, *, indexing: str = "ij") -> Any:  # noqa: ANN401  # a tuple of tensors
    """Views of the 1-d (or 0-d) tensors, each expanded to the grid of all: one for each coordinate.

    `indexing="ij"` counts coordinates in the order of dimensions, `"xy"` exchanges the first two.

    >>> import tensorplay as tp
    >>> x, y = tp.meshgrid(tp.tensor([1, 2]), tp.tensor([3, 4, 5]), indexing="ij")
    >>> x
    tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
    """
    if not tensors:
        raise ArgumentError("meshgrid: expected at least one tensor, got none")
    if indexing not in {"ij", "xy"}:
        raise ArgumentValueError(f"meshgrid: indexing must be 'ij' or 'xy', found {indexing!r}")
    for each in tensors:
        if each.ndim > 1:
            raise ShapeError(f"meshgrid: expected 1-d tensors, found shape {each.shape}")
    places = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        places[:2] = [1, 0]
    shape = [1] * len(tensors)
    for place, each in zip(places, tensors, strict=True):
        shape[place] = each.shape[0] if each.ndim else 1
    return tuple(
        each.reshape([-1 if d == place else 1 for d in range(len(tensors))]).expand(shape)
        for place, each in zip(places, tensors, strict=True)
    )


@composite()
def cartesian_prod(tensors: Parts) -> Tensor:
    """All combinations of elements of 1-d tensors, a row each, the last tensor's changing fastest.

    Of one tensor: the tensor itself, copied.

    >>> import tensorplay as tp
    >>> tp.cartesian_prod(tp.tensor([1, 2]), tp.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    if not tensors:
        raise ArgumentError("cartesian_prod: expected at least one tensor, got none")
    for each in tensors:
        if each.ndim != 1:
            raise ShapeError(f"cartesian_prod: expected 1-d tensors, found shape {each.shape}")
    if len(tensors) == 1:
        return tensors[0].clone()
    found: Tensor = tp.stack([each.reshape(-1) for each in tp.meshgrid(tensors)], -1)
    return found


@composite(method=True)
def repeat_interleave(
    input: Tensor,
    repeats: Tensor | Number,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element repeated `repeats` times in place, along `dim` or of the flattened tensor.

    A 1-d integer tensor `repeats` (one entry, or one for each element) makes the size of the result depend on data, unless
    `output_size`, the sum of `repeats`, is given. Negative repeats are refused (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.repeat_interleave(tp.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> tp.repeat_interleave(tp.tensor([1, 2]), tp.tensor([3, 1]))
    tensor([1, 1, 1, 2])
    """
    flat = input.reshape(-1) if dim is None or not input.ndim else input
    place = 0 if dim is None else layout.normalize_dim("repeat_interleave", dim, input.ndim)
    size = flat.shape[place]
    if is_tensor(repeats):
        return _repeated(flat, repeats, place, output_size)  # type: ignore[arg-type]  # a tensor
    count: Any = repeats
    if count < 0:
        raise ArgumentValueError(f"repeat_interleave: repeats must not be negative, found {count}")
    wide = [*flat.shape[: place + 1], count, *flat.shape[place + 1 :]]
    merged = [size * count if d == place else each for d, each in enumerate(flat.shape)]
    return flat.unsqueeze(place + 1).expand(wide).clone().reshape(merged)


def _repeated(flat: Tensor, repeats: Tensor, place: int, output_size: int | None) -> Tensor:
    size = flat.shape[place]
    if repeats.dtype not in {int32, int64}:
        raise DTypeError(
            f"repeat_interleave: expected int32 or int64 repeats, found {repeats.dtype}"
        )
    if repeats.ndim > 1 or (repeats.ndim == 1 and repeats.shape[0] not in {1, size}):
        raise ShapeError(
            f"repeat_interleave: {tuple(repeats.shape)} repeats do not fit dimension {place} of {size} elements"
        )
    each = repeats.expand((size,))
    total = output_size
    if total is None and repeats.array is None:
        raise DataNeededError(
            "repeat_interleave: the size of the result depends on data, which a recorded tensor does not have; "
            "pass output_size=, the sum of the repeats"
        )
    if total is None:
        if (each < 0).any().item():
            raise ArgumentValueError("repeat_interleave: repeats must not be negative")
        total = int(each.sum().item())
    ends = each.cumsum(0)
    places = tp.searchsorted(ends, tp.arange(total), right=True)
    return flat.index_select(place, places)


# ---- samples --------------------------------------------------------------------------------------------


@rot90.sample
def _() -> Iterator[Sample]:
    for turns in (1, 2, -1, 4):
        yield sample(Arg((2, 3)), turns)
    yield sample(Arg((2, 3, 4), layout="transposed"), 1, (2, 0))
    yield bad(ArgumentValueError, "two dimensions", Arg((2, 3)), 1, (0,))
    yield bad(DimensionError, "rot90", Arg((2, 3)), 1, (0, 2))


@fliplr.sample
@flipud.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)))
    yield sample(Arg((2, 3, 4), layout="transposed"))
    yield bad(DimensionError, "at least", Arg(()))


@tensor_split.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((7, 2)), 3)
    yield sample(Arg((3, 7), layout="transposed"), (2, 5, 9), 1)
    yield sample(Arg((5,)), (3, 1, -1))
    yield sample(Arg((2,)), 3)
    yield bad(ArgumentValueError, "positive", Arg((4,)), 0)
    yield bad(DimensionError, "at least", Arg(()), 1)


@hsplit.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 4)), 2)
    yield sample(Arg((6,)), (1, 3))
    yield bad(ArgumentValueError, "multiple", Arg((2, 5)), 2)
    yield bad(DimensionError, "at least", Arg(()), 1)


@vsplit.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4, 2)), 2)
    yield bad(ArgumentValueError, "multiple", Arg((5, 2)), 2)
    yield bad(DimensionError, "at least", Arg((3,)), 1)


@dsplit.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), 2)
    yield bad(DimensionError, "at least", Arg((3, 2)), 1)


@meshgrid.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2,)), Arg((3,)), Arg(())))
    yield sample((Arg((2,)), Arg((3,), int64)), indexing="xy")
    yield bad(ShapeError, "1-d", (Arg((2, 3)),))
    yield bad(ArgumentValueError, "indexing", (Arg((2,)),), indexing="yx")


@cartesian_prod.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2,)), Arg((3,)), Arg((2,))))
    yield sample((Arg((4,), layout="reversed"),))
    yield bad(ShapeError, "1-d", (Arg((2,)), Arg(())))


@repeat_interleave.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), 2)
    yield sample(Arg((2, 3), layout="transposed"), 3, 1)
    yield sample(Arg((2, 3)), 0, 0)
    yield sample(Arg(()), 2, 0)
    yield sample(Arg((3, 2)), Arg((3,), int64, values=[2, 0, 1]), 0, output_size=3)
    yield sample(Arg((3,)), Arg((1,), int32, values=[2]), output_size=6)
    yield bad(ArgumentValueError, "negative", Arg((3,)), -1)
    yield bad(ShapeError, "do not fit", Arg((3,)), Arg((2,), int64), 0)
    yield bad(DTypeError, "int64", Arg((3,)), Arg((3,)), 0)
