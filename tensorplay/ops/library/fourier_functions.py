"""The functions of `tensorplay.fft`: sizes, dimensions and norms as in `torch.fft`, over three transforms.

>>> import tensorplay as tp
>>> tp.fft.rfft(tp.tensor([1.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j])

All have gradients of all orders and tangents. float32 gives complex64; integers count as the default dtype.
Of a dimension that a size is given for, the first elements are taken, or zeros are added behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.dtypes import (
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int64,
)
from tensorplay.core.errors import ArgumentValueError, DimensionError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.examples import with_example
from tensorplay.ops.library.fourier import OTHER_NORM, fft_c2c, fft_c2r, fft_r2c
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims, Size

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

# ---- what all share -----------------------------------------------------------------------------------


def _norm(name: str, norm: str | None) -> str:
    found = "backward" if norm is None else norm
    if found not in OTHER_NORM:
        raise ArgumentValueError(
            f"{name}: norm is None, 'backward', 'ortho' or 'forward', found {norm!r}"
        )
    return found


def _numbers(name: str, input: Tensor, *, real: bool = False) -> Tensor:
    """The input as float32, float64 or, where `real` allows it, complex numbers."""
    dtype = input.dtype
    if dtype.kind in "biu":
        return input.to(get_default_dtype())
    if dtype.kind == "c" and real:
        raise DTypeError(f"{name}: expected real numbers, found {dtype}")
    if dtype.compute is not dtype:
        raise DTypeError(f"{name}: half types are not supported, found {dtype}; convert to float32")
    return input


def _complex(input: Tensor) -> Tensor:
    if input.dtype.is_complex:
        return input
    return input.to(complex128 if input.dtype is float64 else complex64)


def _sizes_and_dims(
    name: str, input: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[list[int | None], tuple[int, ...]]:
    """The sizes asked for (None: as it is) and the dimensions."""
    if dim is None:
        count = input.ndim if s is None else len(s)
        if count > input.ndim:
            raise ShapeError(f"{name}: {count} sizes for a tensor of {input.ndim} dimensions")
        dims = tuple(range(input.ndim - count, input.ndim))
    else:
        if not input.ndim and dim:
            raise DimensionError(f"{name}: a 0-d tensor has no dimension")
        dims = tuple(layout.normalize_dims(name, dim, input.ndim))
    if s is None:
        return [None] * len(dims), dims
    if len(s) != len(dims):
        raise ArgumentValueError(f"{name}: {len(s)} sizes for {len(dims)} dimensions")
    return [None if each == -1 else each for each in s], dims


def _resized(name: str, input: Tensor, sizes: Sequence[int | None], dims: Sequence[int]) -> Tensor:
    """Cut, or padded with zeros behind, to the sizes."""
    for size, dim in zip(sizes, dims, strict=True):
        wanted = input.shape[dim] if size is None else size
        if wanted < 1:
            raise ArgumentValueError(
                f"{name}: a transform needs at least one element, found size {wanted} in dimension {dim}"
            )
        if wanted < input.shape[dim]:
            input = input.narrow(dim, 0, wanted)
        elif wanted > input.shape[dim]:
            more = [wanted - n if d == dim else n for d, n in enumerate(input.shape)]
            zeros = tp.zeros(more, dtype=input.dtype, device=input.device)
            input = tp.cat((input, zeros), dim)
    return input


def _c2c(
    name: str, input: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None,
    *, forward: bool,
) -> Tensor:  # fmt: skip
    scale = _norm(name, norm)
    numbers = _complex(_numbers(name, input))
    sizes, dims = _sizes_and_dims(name, numbers, s, dim)
    return fft_c2c(_resized(name, numbers, sizes, dims), dims, scale, forward)


def _r2c(
    name: str, input: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
) -> Tensor:
    scale = _norm(name, norm)
    numbers = _numbers(name, input, real=True)
    sizes, dims = _sizes_and_dims(name, numbers, s, dim)
    _need_dimension(name, dims)
    return fft_r2c(_resized(name, numbers, sizes, dims), dims, scale)


def _c2r(
    name: str, input: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None,
    *, conjugate: bool = False,
) -> Tensor:  # fmt: skip
    scale = _norm(name, norm)
    numbers = _complex(_numbers(name, input))
    if conjugate:
        numbers = numbers.conj()
    sizes, dims = _sizes_and_dims(name, numbers, s, dim)
    _need_dimension(name, dims)
    size = 2 * (input.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if size < 1:
        raise ArgumentValueError(
            f"{name}: a transform needs at least one element, found size {size} in dimension {dims[-1]}"
        )
    return fft_c2r(_resized(name, numbers, [*sizes[:-1], size // 2 + 1], dims), dims, scale, size)


def _need_dimension(name: str, dims: Sequence[int]) -> None:
    if not dims:
        raise ArgumentValueError(f"{name}: at least one dimension must be transformed")


def _one(n: int | None) -> tuple[int, ...] | None:
    return None if n is None else (n,)


_Transform = Callable[..., "Tensor"]
_LAST_TWO = (-2, -1)
_NORMS = '`norm`: "backward" (None) puts the factor 1/n on inverse transforms, "forward" on forward ones, "ortho" its root on both.'


def _forward(name: str, *args: Any) -> Tensor:  # noqa: ANN401  # as _c2c
    return _c2c(name, *args, forward=True)


def _backward(name: str, *args: Any) -> Tensor:  # noqa: ANN401  # any value
    return _c2c(name, *args, forward=False)


def _hermitian(name: str, *args: Any) -> Tensor:  # noqa: ANN401  # any value
    input, s, dim, norm = args
    return _c2r(name, input, s, dim, OTHER_NORM[_norm(name, norm)], conjugate=True)


def _of_hermitian(name: str, *args: Any) -> Tensor:  # noqa: ANN401  # any value
    input, s, dim, norm = args
    return _r2c(name, input, s, dim, OTHER_NORM[_norm(name, norm)]).conj()


_FAMILIES: tuple[tuple[str, _Transform, str, str], ...] = (
    ("fft", _forward, "The discrete Fourier transform `Σ_j x_j exp(-2πi jk/n)`",
     "tensor([ 4.+0.j,  0.-4.j, -4.+0.j,  0.+4.j])"),
    ("ifft", _backward, "The inverse of `fft`, `Σ_k y_k exp(2πi jk/n) / n`",
     "tensor([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])"),
    ("rfft", _r2c, "The first n // 2 + 1 results of `fft` of real numbers; the others are their conjugates",
     "tensor([ 4.+0.j,  0.-4.j, -4.+0.j])"),
    ("irfft", _c2r, "The inverse of `rfft`: n real numbers, 2 (m - 1) by default for m complex ones",
     "tensor([ 1.3333,  0.6667, -0.6667, -1.3333, -0.6667,  0.6667])"),
    ("hfft", _hermitian, "The n real results, 2 (m - 1) by default, of `fft` of a Hermitian signal given by its first half",
     "tensor([ 8.,  4., -4., -8., -4.,  4.])"),
    ("ihfft", _of_hermitian, "The inverse of `hfft`: the first half of a Hermitian signal from its real spectrum",
     "tensor([ 1.-0.j,  0.+1.j, -1.-0.j])"),
)  # fmt: skip
"""Names, functions, sentences, and the transforms of 0, 4, 0, 0."""


def _declare(family: str, transform: _Transform, text: str, found: str) -> Iterator[Operator]:
    """The forms over one dimension, the last two, and any."""

    def one(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        return transform(family, input, _one(n), (dim,), norm)

    def two(
        input: Tensor, s: Size | None = None, dim: Size = _LAST_TWO, norm: str | None = None
    ) -> Tensor:
        return transform(f"{family}2", input, s, dim, norm)

    def several(
        input: Tensor, s: Size | None = None, dim: Dims = None, norm: str | None = None
    ) -> Tensor:
        return transform(f"{family}n", input, s, dim, norm)

    where = {
        "": "over the dimension `dim`, of `n` elements",
        "2": "over the dimensions `dim`, of sizes `s`",
        "n": "over the dimensions `dim`, of sizes `s` (all, or as many of the last as `s` has)",
    }
    for function, suffix in ((one, ""), (two, "2"), (several, "n")):
        function.__name__ = f"fft_{family}{suffix}"
        along = where[suffix]
        if suffix and family in {"rfft", "irfft", "hfft", "ihfft"}:
            along += "; the halves are along the last of `dim`"
        call, shown = f"fft.{family}(tp.tensor([0.0, 4.0, 0.0, 0.0]))", found
        if suffix:
            halved = {"rfft": 3, "ihfft": 3, "irfft": 6, "hfft": 6}.get(family, 4)
            call, shown = f"fft.{family}{suffix}(tp.ones(2, 4)).shape", f"(2, {halved})"
        function.__doc__ = with_example(f"{text}, {along}.\n\n{_NORMS}", call, shown)
        yield composite(public=False)(function)


def _make_samples(family: str, suffix: str) -> Callable[[], Iterator[Sample]]:
    takes_complex = family not in {"rfft", "ihfft"}
    wants_complex = family in {"irfft", "hfft"}
    dtype = complex64 if wants_complex else float32
    name = family + suffix

    def samples() -> Iterator[Sample]:
        yield sample(Arg((3, 4), dtype))
        if not suffix:
            yield sample(Arg((3, 4), dtype, layout="transposed"), 5, 0, "ortho")
            yield sample(Arg((6,), dtype), 3, norm="forward")
        else:
            yield sample(Arg((2, 3, 4), dtype, layout="transposed"), (2, 5), (0, 1), "ortho")
            yield sample(Arg((2, 3, 4), dtype), (4, -1), _LAST_TWO, norm="forward")
        if takes_complex and not wants_complex:
            yield sample(Arg((3, 4), complex64))
        yield sample(Arg((2, 5), int64, low=-9, high=9))
        yield bad(ArgumentValueError, "norm is", Arg((3, 4)), norm="best")
        yield bad(
            ArgumentValueError,
            "at least one element",
            Arg((3, 4)),
            *((0,) if not suffix else ((0, 2),)),
        )
        yield bad(DTypeError, "half types", Arg((3, 4), float16))
        yield bad(
            DimensionError, name, Arg((3,)), **({"dim": 1} if not suffix else {"dim": (0, 3)})
        )
        if not takes_complex:
            yield bad(DTypeError, "real numbers", Arg((3, 4), complex64))

    return samples  # fmt: skip


for _family, _transform, _text, _found in _FAMILIES:
    for _operator in _declare(_family, _transform, _text, _found):
        _operator.sample(_make_samples(_family, _operator.name.removeprefix(f"fft_{_family}")))


# ---- frequencies and shifts ---------------------------------------------------------------------------


@composite(public=False, factory=True)
def fft_fftfreq(
    n: int, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """The frequencies of the results of `fft` of `n` samples, `d` apart: 0, 1, …, -2, -1 over `n d`.

    >>> import tensorplay as tp
    >>> tp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    places = tp.arange(n, dtype=int64, device=device)
    signed = tp.where(places < (n + 1) // 2, places, places - n)
    return signed.to(dtype or get_default_dtype()) * (1.0 / (n * d))


@composite(public=False, factory=True)
def fft_rfftfreq(
    n: int, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """The frequencies of the results of `rfft` of `n` samples, `d` apart: 0, 1, …, n // 2 over `n d`.

    >>> import tensorplay as tp
    >>> tp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    places = tp.arange(n // 2 + 1, dtype=int64, device=device)
    return places.to(dtype or get_default_dtype()) * (1.0 / (n * d))


@fft_fftfreq.sample
@fft_rfftfreq.sample
def _() -> Iterator[Sample]:
    yield sample(5)
    yield sample(8, 0.5, dtype=float64)


@composite(public=False)
def fft_fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Rolled by half of each size along `dim` (all by default), so that frequency 0 is in the middle.

    >>> import tensorplay as tp
    >>> tp.fft.fftshift(tp.arange(5))
    tensor([3, 4, 0, 1, 2])
    """
    dims = tuple(range(input.ndim)) if dim is None else dim
    return input.roll([input.shape[each] // 2 for each in dims], dims)  # type: ignore[union-attr]  # bound


@composite(public=False)
def fft_ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of `fftshift`, which is another function for odd sizes.

    >>> import tensorplay as tp
    >>> tp.fft.ifftshift(tp.tensor([3, 4, 0, 1, 2]))
    tensor([0, 1, 2, 3, 4])
    """
    dims = tuple(range(input.ndim)) if dim is None else dim
    return input.roll([-(input.shape[each] // 2) for each in dims], dims)  # type: ignore[union-attr]  # bound


@fft_fftshift.sample
@fft_ifftshift.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((5,)))
    yield sample(Arg((4, 5)), 1)
    yield sample(Arg((2, 3, 4), layout="transposed"), (0, -1))
