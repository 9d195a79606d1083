"""Fractional pools: the largest elements of windows whose starts are drawn (Graham 2014).

Along a dimension of ``n`` elements, ``o`` windows of ``k`` start at ``⌊(i + u)·a⌋ − ⌊u·a⌋`` with ``a = (n − k) / (o − 1)`` and a
random ``u`` in [0, 1) for each channel; the last one ends with the image. So images shrink by a factor that is no
integer, and differently each time.

>>> import tensorplay as tp
>>> images, draws = tp.arange(7.0 * 7).reshape(1, 1, 7, 7), tp.tensor([[[0.1, 0.9]]])
>>> tp.nn.functional.fractional_max_pool2d(images, 2, output_size=4, _random_samples=draws)
tensor([[[[ 8.,  9., 11., 13.],
          [22., 23., 25., 27.],
          [29., 30., 32., 34.],
          [43., 44., 46., 48.]]]])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from tensorplay.core.dtypes import float64, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.nn_pool import SIZES
from tensorplay.ops.library.places import read_at_places
from tensorplay.ops.library.windows import each
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Each

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

FRACTIONAL = """The largest element of each of ``output_size`` windows, whose starts are drawn, of images ``(N, C, {sizes})`` or ``(C, {sizes})``.

    ``output_size`` is one number or {ndim}; else ``output_ratio``, in (0, 1), says which part of the images' size it
    is. Along a dimension of ``n`` elements, windows of ``k`` start at ``⌊(i + u)·a⌋ − ⌊u·a⌋``, ``a = (n − k) / (o − 1)``, and the last
    one ends with the image (Graham 2014). ``_random_samples``, of the images' dtype and shape ``(N, C, {ndim})``, holds
    the ``u`` in [0, 1) of each channel for {order}; by default they are drawn. With ``return_indices`` also
    the flat places in the image, for `max_unpool{ndim}d`. Floating dtypes.

    >>> tp.nn.functional.fractional_max_pool{ndim}d(tp.ones(1, 2, {sevens}), 2, output_ratio=0.5).shape
    (1, 2, {threes})
    """


def checked_output(name: str, ndim: int, output_size: object, ratio: object) -> tuple[Any, ...]:
    """The size of the result, or without one the ratios to the images' size: a number a dimension."""
    if (output_size is None) == (ratio is None):
        raise ArgumentValueError(
            f"{name}: expected either output_size or output_ratio, got {output_size!r} and {ratio!r}"
        )
    given: Any = ratio if output_size is None else output_size
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,) * ndim
    if len(parts) != ndim:
        raise ArgumentValueError(
            f"{name}: output_size and output_ratio are one number or {ndim}, got {given!r}"
        )
    if output_size is None and not all(0.0 < part < 1.0 for part in parts):
        raise ArgumentValueError(f"{name}: output_ratio lies in (0, 1), got {given!r}")
    return parts


def _size(name: str, image: tuple[int, ...], output_size: object, ratio: object) -> tuple[int, ...]:
    """The size of the result: given, or as a part of the images' size."""
    parts = checked_output(name, len(image), output_size, ratio)
    if output_size is not None:
        return parts
    return tuple(int(n * part) for n, part in zip(image, parts, strict=True))


def _starts(draws: Tensor, image: int, kernel: int, count: int) -> Tensor:
    """The start of each window along a dimension, (N, C, count), from a number a channel."""
    last = tp.full((*draws.shape, 1), image - kernel, dtype=int64, device=draws.device)
    if count == 1:
        return last
    step = (image - kernel) / (count - 1)
    steps = tp.arange(count - 1, dtype=draws.dtype, device=draws.device)
    first = ((steps + draws.unsqueeze(-1)) * step).to(int64) - (draws * step).to(int64).unsqueeze(
        -1
    )
    return tp.cat([first, last], -1)


def _places(
    draws: Tensor, image: tuple[int, ...], kernel: tuple[int, ...], size: tuple[int, ...]
) -> Tensor:
    """The flat places of the elements of every window: (N, C, *size, *kernel)."""
    ndim = len(image)
    lead = draws.shape[:2]
    places: Tensor = tp.zeros((), dtype=int64, device=draws.device)
    for k in range(ndim):
        drawn = draws[..., ndim - 1 - k if ndim == 2 else k]
        inside = tp.arange(kernel[k], dtype=int64, device=draws.device)
        along = _starts(drawn, image[k], kernel[k], size[k]).unsqueeze(-1) + inside
        shape = [1] * (2 * ndim)
        shape[k], shape[ndim + k] = size[k], kernel[k]
        places = places * image[k] + along.reshape((*lead, *shape))
    return places


def _declare(ndim: int) -> tuple[Operator, Operator]:
    name = f"fractional_max_pool{ndim}d"

    def with_indices(
        input: Tensor,
        kernel_size: Each,
        output_size: object = None,
        output_ratio: object = None,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        if input.ndim not in {ndim + 1, ndim + 2} or 0 in input.shape[-ndim - 1 :]:
            raise ShapeError(
                f"{name}: expected images (N, C, {SIZES[ndim]}) or (C, {SIZES[ndim]}), of which only the batch may be empty, got "
                f"shape {tuple(input.shape)}"
            )
        if input.dtype.kind != "f":
            raise DTypeError(f"{name}: expected a floating dtype, got {input.dtype}")
        images = input if input.ndim == ndim + 2 else input.unsqueeze(0)
        image, kernel = tuple(images.shape[2:]), each(name, "kernel_size", kernel_size, ndim)
        size = _size(name, image, output_size, output_ratio)
        if any(o < 1 or o + k - 1 > n for o, k, n in zip(size, kernel, image, strict=True)):
            raise ShapeError(
                f"{name}: {size} windows of {kernel} do not fit images of shape {tuple(input.shape)}"
            )
        draws = _random_samples
        shape = (*images.shape[:2], ndim)
        if draws is None:
            draws = tp.rand(shape, dtype=input.dtype, device=input.device)
        elif tuple(draws.shape) != shape or draws.dtype is not input.dtype:
            raise ShapeError(
                f"{name}: expected _random_samples of shape {shape} and dtype {input.dtype}, got "
                f"{tuple(draws.shape)} and {draws.dtype}"
            )
        places = _places(draws.detach(), image, kernel, size).flatten(2 + ndim)
        listed = places.reshape((*shape[:2], prod(places.shape[2:]), *[1] * (ndim - 1)))
        found = read_at_places(images.detach(), listed, ndim).reshape(places.shape)
        chosen = found.argmax(-1, keepdim=True)
        places = places.gather(-1, chosen).squeeze(-1)
        largest = read_at_places(images, places, ndim)
        if input.ndim == ndim + 1:
            return largest.squeeze(0), places.squeeze(0)
        return largest, places

    def fractional_max_pool(
        input: Tensor,
        kernel_size: Each,
        output_size: object = None,
        output_ratio: object = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:  # noqa: ANN401  # a tensor or two
        found = with_indices(input, kernel_size, output_size, output_ratio, _random_samples)
        return found if return_indices else found[0]

    documented = FRACTIONAL.format(
        ndim=ndim, sizes=SIZES[ndim], order="width and height" if ndim == 2 else SIZES[3],
        sevens=", ".join("7" * ndim), threes=", ".join("3" * ndim),
    )  # fmt: skip
    fractional_max_pool.__doc__ = documented
    with_indices.__doc__ = f"""What `fractional_max_pool{ndim}d` gives, and the flat place in the image of each.

    >>> largest, places = tp.fractional_max_pool{ndim}d_with_indices(tp.ones(1, 2, {", ".join("7" * ndim)}), 2, 3)
    >>> places.shape
    (1, 2, {", ".join("3" * ndim)})
    """
    return (
        composite(name=f"{name}_with_indices")(with_indices),
        composite(name=name)(fractional_max_pool),
    )


fractional_max_pool2d_with_indices, fractional_max_pool2d = _declare(2)
fractional_max_pool3d_with_indices, fractional_max_pool3d = _declare(3)


# ---- samples --------------------------------------------------------------------------------------


def _samples(ndim: int, *, with_indices: bool) -> Callable[[], Iterator[Sample]]:
    images, kernel, size = (5, 7, 6)[-ndim:], (2, 3, 2)[-ndim:], (3, 4, 5)[-ndim:]

    def samples() -> Iterator[Sample]:
        def draws(n: int, c: int) -> Arg:
            return Arg((n, c, ndim), low=0.0, high=1.0)

        yield sample(Arg((2, 3, *images)), kernel, size, _random_samples=draws(2, 3))
        yield sample(Arg((2, *images)), 2, 1, _random_samples=draws(1, 2))
        yield sample(Arg((0, 2, *images)), 2, 1, _random_samples=draws(0, 2))
        more = {} if with_indices else {"return_indices": True}
        yield sample(Arg((1, 2, *images)), 2, output_ratio=0.5, _random_samples=draws(1, 2), **more)
        yield bad(ArgumentValueError, "either output_size", Arg((1, 1, *images)), 2)
        yield bad(ArgumentValueError, "lies in", Arg((1, 1, *images)), 2, output_ratio=1.5)
        yield bad(ShapeError, "do not fit", Arg((1, 1, *images)), 2, images)
        yield bad(ShapeError, "expected images", Arg(images[:ndim]), 2, 1)
        yield bad(DTypeError, "floating", Arg((1, 1, *images), int64), 2, 1)
        yield bad(
            ShapeError,
            "_random_samples of shape",
            Arg((1, 1, *images)),
            2,
            1,
            _random_samples=Arg((1, 1, ndim), float64),
        )

    return samples


for _ndim, _with, _plain in (
    (2, fractional_max_pool2d_with_indices, fractional_max_pool2d),
    (3, fractional_max_pool3d_with_indices, fractional_max_pool3d),
):
    _with.sample(_samples(_ndim, with_indices=True))
    _plain.sample(_samples(_ndim, with_indices=False))
