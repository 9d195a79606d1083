"""Max pools undone: elements put back to where they were taken from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, IndexRangeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_pool import SIZES
from tensorplay.ops.library.windows import each
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Each

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

UNPOOL = """Elements put back to the flat places that `max_pool{ndim}d` gave, zeros elsewhere.

    ``input`` and ``indices`` are ``(N, C, {sizes})`` or ``(C, {sizes})``; the result's images have ``output_size``, by default
    ``(n − 1)·stride − 2·padding + kernel_size`` a dimension. Of several elements at one place one is taken.

    >>> x = tp.arange({count}.0).reshape(1, 1, {fours})
    >>> found, places = tp.nn.functional.max_pool{ndim}d(x, 2, return_indices=True)
    >>> tp.nn.functional.max_unpool{ndim}d(found, places, 2).sum() == found.sum()
    tensor(True)
    """


def _declare_unpool(ndim: int) -> Operator:
    name = f"max_unpool{ndim}d"

    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Each,
        stride: Each | None = None,
        padding: Each = 0,
        output_size: object = None,
    ) -> Tensor:
        if input.ndim not in {ndim + 1, ndim + 2} or indices.shape != input.shape:
            raise ShapeError(
                f"{name}: expected images (N, C, {SIZES[ndim]}) or (C, {SIZES[ndim]}) and as many places, got "
                f"shapes {tuple(input.shape)} and {tuple(indices.shape)}"
            )
        if indices.dtype is not int64:
            raise DTypeError(f"{name}: places are int64, got {indices.dtype}; convert with .long()")
        size = _unpooled_size(name, input, ndim, kernel_size, stride, padding, output_size)
        lead = tuple(input.shape[: input.ndim - ndim])
        flat = (*lead, prod(input.shape[len(lead) :]))
        zeros = tp.zeros((*lead, prod(size)), dtype=input.dtype, device=input.device)
        put = zeros.scatter(-1, indices.reshape(flat), input.reshape(flat))
        result: Tensor = put.reshape((*lead, *size))
        return result

    max_unpool.__doc__ = UNPOOL.format(
        ndim=ndim, sizes=SIZES[ndim], count=4**ndim, fours=", ".join("4" * ndim)
    )
    return composite(name=name)(max_unpool)


def _unpooled_size(
    name: str,
    input: Tensor,
    ndim: int,
    kernel_size: Each,
    stride: Each | None,
    padding: Each,
    asked: Any,  # noqa: ANN401  # any value
) -> tuple[int, ...]:
    k, p = each(name, "kernel_size", kernel_size, ndim), each(name, "padding", padding, ndim)
    s = k if stride is None else each(name, "stride", stride, ndim)
    image = input.shape[input.ndim - ndim :]
    usual = tuple((n - 1) * a - 2 * b + c for n, a, b, c in zip(image, s, p, k, strict=True))
    if asked is None:
        return usual
    size = tuple(asked)[-ndim:]
    if len(tuple(asked)) not in {ndim, ndim + 1, ndim + 2} or any(
        not u - a < n < u + a for n, u, a in zip(size, usual, s, strict=True)
    ):
        raise ArgumentValueError(
            f"{name}: output_size is within a stride of {usual}, got {tuple(asked)}"
        )
    return size


max_unpool1d, max_unpool2d, max_unpool3d = (_declare_unpool(ndim) for ndim in (1, 2, 3))


def _unpool_samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    places = [0, 3] if ndim == 1 else [0, 3, 9, 6] if ndim == 2 else [0, 3, 9, 6, 17, 40, 41, 63]
    shape = (1, 1, *[2] * ndim)
    given = Arg(shape, int64, values=places)

    def samples() -> Iterator[Sample]:
        yield sample(Arg(shape), given, 2)
        yield sample(Arg(shape), given, 2, None, 0, (5,) * ndim)
        yield bad(ShapeError, "as many places", Arg((1, *shape)), given, 2)
        yield bad(DTypeError, "int64", Arg(shape), Arg(shape), 2)
        yield bad(ArgumentValueError, "within a stride", Arg(shape), given, 2, None, 0, (9,) * ndim)
        yield bad(
            IndexRangeError, "out of range", Arg(shape), Arg(shape, int64, values=[99] * 2**ndim), 2
        )

    return samples


for _ndim, _unpool in enumerate((max_unpool1d, max_unpool2d, max_unpool3d), 1):
    _unpool.sample(_unpool_samples(_ndim))
