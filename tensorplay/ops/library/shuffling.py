"""Channels rearranged: into pixels and back, and among groups. Views and one copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _check(name: str, input: Tensor, factor: int) -> None:
    if input.ndim < 3:
        raise ShapeError(
            f"{name}: expected images (…, C, H, W) of at least 3 dimensions, got {tuple(input.shape)}"
        )
    if factor < 1:
        raise ArgumentValueError(f"{name}: the factor is at least 1, got {factor}")


@composite()
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(…, C·r², H, W)`` to ``(…, C, H·r, W·r)``: each group of r² channels becomes a square of pixels.

    >>> tp.nn.functional.pixel_shuffle(tp.arange(4).reshape(4, 1, 1), 2)
    tensor([[[0, 1],
             [2, 3]]])
    """
    _check("pixel_shuffle", input, upscale_factor)
    r = upscale_factor
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle: {channels} channels are no multiple of the factor's square, {r * r}"
        )
    n = len(lead)
    split = input.reshape((*lead, channels // (r * r), r, r, height, width))
    moved = split.permute((*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return moved.reshape((*lead, channels // (r * r), height * r, width * r))


@composite()
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(…, C, H·r, W·r)`` to ``(…, C·r², H, W)``: the inverse of `pixel_shuffle`.

    >>> tp.nn.functional.pixel_unshuffle(tp.arange(4).reshape(1, 2, 2), 2).flatten()
    tensor([0, 1, 2, 3])
    """
    _check("pixel_unshuffle", input, downscale_factor)
    r = downscale_factor
    *lead, channels, height, width = input.shape
    if height % r or width % r:
        raise ShapeError(
            f"pixel_unshuffle: images of ({height}, {width}) do not divide by the factor {r}"
        )
    n = len(lead)
    split = input.reshape((*lead, channels, height // r, r, width // r, r))
    moved = split.permute((*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return moved.reshape((*lead, channels * r * r, height // r, width // r))


@composite()
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels ``(N, g·c, …)`` dealt out: the first of each group, then the second of each, and so on.

    >>> tp.nn.functional.channel_shuffle(tp.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    if input.ndim < 3:
        raise ShapeError(
            f"channel_shuffle: expected (N, C, …) of at least 3 dimensions, got {tuple(input.shape)}"
        )
    if groups < 1 or input.shape[1] % groups:
        raise ArgumentValueError(
            f"channel_shuffle: groups={groups} must divide the {input.shape[1]} channels"
        )
    split = input.reshape((input.shape[0], groups, input.shape[1] // groups, *input.shape[2:]))
    return split.transpose(1, 2).reshape(input.shape)


@pixel_shuffle.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 8, 3, 2)), 2)
    yield sample(Arg((9, 1, 2), layout="transposed"), 3)
    yield bad(ShapeError, "no multiple", Arg((6, 2, 2)), 2)
    yield bad(ShapeError, "at least 3", Arg((2, 2)), 2)
    yield bad(ArgumentValueError, "factor", Arg((4, 2, 2)), 0)


@pixel_unshuffle.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 2, 6, 4)), 2)
    yield sample(Arg((1, 3, 6)), 3)
    yield bad(ShapeError, "do not divide", Arg((1, 3, 4)), 2)


@channel_shuffle.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 6, 3, 2)), 3)
    yield sample(Arg((1, 4, 5)), 2)
    yield bad(ArgumentValueError, "must divide", Arg((1, 4, 5)), 3)
    yield bad(ShapeError, "at least 3", Arg((4, 6)), 3)
