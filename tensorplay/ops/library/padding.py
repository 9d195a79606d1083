"""What `pad` adds to one dimension or to all, as index operators: constants, mirror images, borders, the other end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core.dtypes import Number, int64
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.declare import index
from tensorplay.ops.kinds.forms import Condition, Indices, Piece, Pieces
from tensorplay.ops.library.windows import Array, meta_of
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor


# ---- constants ------------------------------------------------------------------------------------


def _constant_meta(input: TensorMeta, before: Size, after: Size, value: Number) -> TensorMeta:
    del value
    shape = tuple(b + n + a for b, n, a in zip(before, input.shape, after, strict=True))
    return TensorMeta(shape, input.dtype, input.device)


def _constant_form(input: TensorMeta, before: Size, after: Size, value: Number) -> Pieces:
    def conditions(i: Indices) -> list[Condition]:
        return [
            Condition(each - b, 0, n)
            for each, b, n, a in zip(i, before, input.shape, after, strict=True)
            if a or b
        ]

    inside = Piece(
        "input", conditions, lambda i: [each - b for each, b in zip(i, before, strict=True)]
    )
    outside = Piece(value, lambda _: [], lambda i: i)
    return Pieces(_constant_meta(input, before, after, value).shape, (inside, outside))


def _constant_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    del metas, size
    input, before, after, value = values
    return operator(input, (0, *before), (0, *after), value)  # type: ignore[misc]  # sizes


@index(meta=_constant_meta, form=_constant_form, public=False, batching=_constant_batching)
def constant_pad(input: Array, before: Size, after: Size, value: Number) -> Array:
    """`input` with so many elements of a value before and after it along every dimension."""
    shape = _constant_meta(meta_of(input), before, after, value).shape
    out = _C.empty(shape, input.dtype)
    inside = tuple(slice(b, b + n) for b, n in zip(before, input.shape, strict=True))
    for k, place in enumerate(inside):
        rest = (slice(None),) * (input.ndim - 1 - k)
        out[(*inside[:k], slice(None, place.start), *rest)] = value
        out[(*inside[:k], slice(place.stop, None), *rest)] = value
    if input.size:
        _C.merge("copy", input, out[inside], max(input.ndim - 1, 0))
    return out


@constant_pad.gradient("input")
def _(grad: Tensor, input: TensorMeta, before: Size) -> Tensor:
    return _inside(grad, input.shape, before)


def _inside(grad: Tensor, shape: Sequence[int], before: Size) -> Tensor:
    for dim, (start, n) in enumerate(zip(before, shape, strict=True)):
        if grad.shape[dim] != n:
            grad = grad.narrow(dim, start, n)
    return grad


@constant_pad.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del result
    found: Tensor | None = None if tangents[0] is None else operator(tangents[0], *values[1:3], 0)
    return found


@constant_pad.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), (1, 0), (0, 2), 1.5)
    yield sample(Arg((2, 3, 4), layout="transposed"), (0, 1, 1), (0, 0, 1), 0)
    yield sample(Arg((0, 3)), (2, 1), (1, 0), 3.0)
    yield sample(Arg((3,), int64), (1,), (1,), 7)


# ---- mirror images, borders, the other end -----------------------------------------------------------


def _extended_meta(input: TensorMeta, dim: int, before: int, after: int, mode: str) -> TensorMeta:
    del mode
    shape = list(input.shape)
    shape[dim] += before + after
    return TensorMeta(shape, input.dtype, input.device)


def _extended_form(input: TensorMeta, dim: int, before: int, after: int, mode: str) -> Pieces:
    """Three pieces along the dimension: what lies before, the tensor, what lies after."""
    n = input.shape[dim]
    first, last = {
        "reflect": (lambda j: before - j, lambda j: 2 * (n - 1) - (j - before)),
        "replicate": (lambda _: 0, lambda _: n - 1),
        "circular": (lambda j: j - before + n, lambda j: j - before - n),
    }[mode]

    def piece(low: int, high: int, place: Any) -> Piece:  # noqa: ANN401  # a function of an index
        return Piece(
            "input",
            lambda i: [Condition(i[dim], low, high)],
            lambda i: [*i[:dim], place(i[dim]), *i[dim + 1 :]],
        )

    pieces = [piece(before, before + n, lambda j: j - before)]
    if before:
        pieces.append(piece(0, before, first))
    if after:
        pieces.append(piece(before + n, before + n + after, last))
    end = pieces[-1]
    pieces[-1] = Piece(end.source, lambda _: [], end.place)
    return Pieces(_extended_meta(input, dim, before, after, mode).shape, tuple(pieces))


def _extended_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    del metas, size
    input, dim, *rest = values
    return operator(input, dim + 1, *rest)  # type: ignore[operator]  # a number


@index(
    meta=_extended_meta, form=_extended_form, public=False, linear=True, batching=_extended_batching
)
def extended(input: Array, dim: int, before: int, after: int, mode: str) -> Array:
    """`input` continued at both ends of a dimension: by mirror images, by its borders, or as if it were a circle."""
    n = input.shape[dim]
    numbers = np.arange(-before, n + after)
    if mode == "reflect":
        numbers = (n - 1) - np.abs((n - 1) - np.abs(numbers))
    elif mode == "replicate":
        numbers = np.clip(numbers, 0, n - 1)
    else:
        numbers %= n
    return np.take(input, numbers, dim)


@extended.gradient("input")
def _(grad: Tensor, input: TensorMeta, dim: int, before: int, after: int, mode: str) -> Tensor:
    n = input.shape[dim]
    result = grad.narrow(dim, before, n)
    if before:
        result = result + _returned(grad.narrow(dim, 0, before), dim, n, mode, at_end=False)
    if after:
        result = result + _returned(grad.narrow(dim, before + n, after), dim, n, mode, at_end=True)
    return result


def _returned(part: Tensor, dim: int, n: int, mode: str, *, at_end: bool) -> Tensor:
    """The gradient of what was added at an end, at the places that it was read from."""
    count = part.shape[dim]
    if mode == "replicate":
        part, count = part.sum(dim, keepdim=True), 1
    if mode == "reflect":
        part = part.flip(dim)
        start = n - 1 - count if at_end else 1
    else:
        start = (
            (n - count if at_end else 0) if mode == "replicate" else (0 if at_end else n - count)
        )
    before, after = [0] * part.ndim, [0] * part.ndim
    before[dim], after[dim] = start, n - count - start
    found: Tensor = tp["constant_pad"](part, before, after, 0)
    return found


@extended.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 5, 3)), 1, 2, 3, "reflect")
    yield sample(Arg((2, 5), layout="transposed"), 1, 0, 4, "reflect")
    yield sample(Arg((3, 2)), 0, 4, 5, "replicate")
    yield sample(Arg((3, 2)), 0, 3, 2, "circular")
