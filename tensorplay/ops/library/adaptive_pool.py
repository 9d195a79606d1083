"""Pools to a result of a given size: means and largest elements of cells that cover an image.

Along a dimension of ``n`` elements, cell ``i`` of ``m`` goes from ``⌊i·n/m⌋`` to ``⌈(i + 1)·n/m⌉``; neighbours overlap where ``m`` does not divide
``n``. Cells are products of intervals, so a dimension is pooled after the other. Where ``m`` divides ``n``, cells are windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import bool_, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_pool import (
    SIZES,
    max_with_places,
    mean_of_windows,
    windows_of,
)
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

ADAPTIVE = """{what} of cells that cover images ``(N, C, {sizes})`` or ``(C, {sizes})``, ``output_size`` of them.

    ``output_size`` is one number or {ndim}; None keeps the size of the images. Along a dimension of ``n`` elements,
    cell ``i`` of ``m`` goes from ``⌊i·n/m⌋`` to ``⌈(i + 1)·n/m⌉``. Floating dtypes.{more}

    >>> tp.nn.functional.adaptive_{short}_pool{ndim}d(tp.ones(1, 2, {fives}), 3).shape
    (1, 2, {threes})
    """


def _size(name: str, input: Tensor, output_size: object, ndim: int) -> tuple[int, ...]:
    """Check the images, and the size of the result."""
    sizes = SIZES[ndim]
    if input.ndim not in {ndim + 1, ndim + 2}:
        raise ShapeError(
            f"{name}: expected images (N, C, {sizes}) or (C, {sizes}), got shape {tuple(input.shape)}"
        )
    if input.dtype.kind != "f":
        raise DTypeError(f"{name}: expected a floating dtype, got {input.dtype}")
    wanted: Any = output_size if isinstance(output_size, (tuple, list)) else [output_size]
    wanted = [*wanted] * (ndim if len(wanted) == 1 else 1)
    if len(wanted) != ndim:
        raise ArgumentValueError(
            f"{name}: output_size is one number or {ndim}, not {output_size!r}"
        )
    image = input.shape[input.ndim - ndim :]
    size = tuple(n if m is None else m for m, n in zip(wanted, image, strict=True))
    if any(m < 0 for m in size) or any(n == 0 for n in image):
        raise ShapeError(
            f"{name}: images of shape {tuple(input.shape)} cannot be pooled to {tuple(size)}"
        )
    return size


def _cells(input: Tensor, dim: int, count: int) -> tuple[Tensor, Tensor]:
    """The elements of the cells along a dimension, as a last one, and how many each cell has.

    What lies behind the end of a cell is read from its last place.
    """
    n = input.shape[dim]
    longest = max(-(-(i + 1) * n // count) - i * n // count for i in range(count))
    cell = tp.arange(count, dtype=int64, device=input.device)
    first = (cell * n) // count
    last = ((cell + 1) * n + (count - 1)) // count
    steps = tp.arange(longest, dtype=int64, device=input.device)
    places = tp.minimum(first.unsqueeze(1) + steps, (last - 1).unsqueeze(1))
    found = input.index_select(dim, places.reshape(-1)).unflatten(dim, (count, longest))
    return found.movedim(dim + 1, -1), last - first


def _divides(input: Tensor, size: tuple[int, ...]) -> bool:
    image = input.shape[input.ndim - len(size) :]
    return all(m > 0 and n % m == 0 for m, n in zip(size, image, strict=True))


def _windows(name: str, input: Tensor, size: tuple[int, ...]) -> Any:  # noqa: ANN401  # windows and their arguments
    image = input.shape[input.ndim - len(size) :]
    kernel = tuple(n // m for m, n in zip(size, image, strict=True))
    return windows_of(name, input, len(size), kernel, None, 0, 1, ceil_mode=False)


def _declare_average(ndim: int) -> Operator:
    name = f"adaptive_avg_pool{ndim}d"

    def adaptive_avg_pool(input: Tensor, output_size: object) -> Tensor:
        size = _size(name, input, output_size, ndim)
        if 0 in input.shape or 0 in size:
            return _empty(input, size)
        if _divides(input, size):
            return mean_of_windows(input, *_windows(name, input, size))
        mean = input.to(input.dtype.compute)
        for dim, count in enumerate(size, input.ndim - ndim):
            elements, length = _cells(mean, dim, count)
            steps = tp.arange(elements.shape[-1], dtype=int64, device=input.device)
            inside = (steps < length.unsqueeze(1)).reshape(
                (count, *[1] * (mean.ndim - 1 - dim), -1)
            )
            total = tp.where(inside, elements, 0.0).sum(-1)
            mean = total / length.to(total.dtype).reshape((count, *[1] * (mean.ndim - 1 - dim)))
        return mean.to(input.dtype)

    adaptive_avg_pool.__doc__ = _documented(ndim, "Means", "avg", "")
    return composite(name=name)(adaptive_avg_pool)


def _largest(name: str, input: Tensor, size: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The first largest element of each cell and its flat place: the first of the first along each dimension."""
    if 0 in input.shape or 0 in size:
        return _empty(input, size), _empty(input, size).to(int64)
    if _divides(input, size):
        return max_with_places(input, _windows(name, input, size)[1])
    image = input.shape[input.ndim - len(size) :]
    places = tp.arange(prod(image), dtype=int64, device=input.device).reshape(image)
    places = places.expand(input.shape)
    for k in reversed(range(len(size))):
        dim = input.ndim - len(size) + k
        elements, _ = _cells(input, dim, size[k])
        chosen = elements.detach().argmax(-1, keepdim=True)
        input = elements.gather(-1, chosen).squeeze(-1)
        places = _cells(places, dim, size[k])[0].gather(-1, chosen).squeeze(-1)
    return input, places


def _empty(input: Tensor, size: tuple[int, ...]) -> Tensor:
    found: Tensor = tp.zeros(
        (*input.shape[: -len(size)], *size), dtype=input.dtype, device=input.device
    )
    return found


def _declare_largest(ndim: int) -> tuple[Operator, Operator]:
    name = f"adaptive_max_pool{ndim}d"

    def with_indices(input: Tensor, output_size: object) -> tuple[Tensor, Tensor]:
        return _largest(name, input, _size(name, input, output_size, ndim))

    def adaptive_max_pool(input: Tensor, output_size: object, return_indices: bool = False) -> Any:  # noqa: ANN401  # a tensor or two
        found = _largest(name, input, _size(name, input, output_size, ndim))
        return found if return_indices else found[0]

    more = " With ``return_indices`` also the flat\n    places in the image, those of the first of equal elements; NaN is larger than any number."
    adaptive_max_pool.__doc__ = _documented(ndim, "Largest elements", "max", more)
    with_indices.__doc__ = f"""What `{name}` gives, and the flat place in the image of each.

    >>> images = tp.arange({4**ndim}.0).reshape(1, 1, {", ".join("4" * ndim)})
    >>> largest, places = tp.{name}_with_indices(images, 1)
    >>> largest.item(), places.item()
    ({4**ndim - 1}.0, {4**ndim - 1})
    """
    return (
        composite(name=f"{name}_with_indices")(with_indices),
        composite(name=name)(adaptive_max_pool),
    )


def _documented(ndim: int, what: str, short: str, more: str) -> str:
    return ADAPTIVE.format(
        what=what, sizes=SIZES[ndim], ndim=ndim, short=short, more=more,
        fives=", ".join("5" * ndim), threes=", ".join("3" * ndim),
    )  # fmt: skip


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _declare_average(ndim) for ndim in (1, 2, 3)
)
(
    (adaptive_max_pool1d_with_indices, adaptive_max_pool1d),
    (adaptive_max_pool2d_with_indices, adaptive_max_pool2d),
    (adaptive_max_pool3d_with_indices, adaptive_max_pool3d),
) = (_declare_largest(ndim) for ndim in (1, 2, 3))


# ---- samples --------------------------------------------------------------------------------------


def _samples(ndim: int) -> Callable[[], Iterator[Sample]]:
    images = (4, 6, 5)[-ndim:]

    def samples() -> Iterator[Sample]:
        yield sample(Arg((2, 3, *images)), 3)
        yield sample(Arg((2, *[4] * ndim), layout="transposed"), 2)
        yield sample(Arg((1, 2, *images)), (7, None, 2)[:ndim])
        yield sample(Arg((1, 2, *images)), 0)
        yield bad(ShapeError, "cannot be pooled", Arg((1, 1, *images)), -1)
        yield bad(ShapeError, "expected images", Arg((4,)), 2)
        yield bad(ArgumentValueError, "output_size", Arg((1, 1, *images)), (2,) * (ndim + 1))
        yield bad(DTypeError, "floating", Arg((1, 1, *images), bool_), 3)

    return samples


for _ndim, _pools in enumerate(
    (
        (adaptive_avg_pool1d, adaptive_max_pool1d, adaptive_max_pool1d_with_indices),
        (adaptive_avg_pool2d, adaptive_max_pool2d, adaptive_max_pool2d_with_indices),
        (adaptive_avg_pool3d, adaptive_max_pool3d, adaptive_max_pool3d_with_indices),
    ),
    1,
):
    for _pool in _pools:
        _pool.sample(_samples(_ndim))
