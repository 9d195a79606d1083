"""Discrete Fourier transforms over several dimensions: the three that everything in `fft` is made of.

Complex to complex, real to the half of a Hermitian spectrum, and back. Sizes stay as they are; `fft`'s
functions cut and pad before. The kernels are NumPy's pocketfft, which keeps single precision.

Each is linear (real to complex and back over the reals only), so that its adjoint is one of the others:
of c2c the transform in the other direction; of r2c, with weights 1, ½, …, ½, (1) along the half
spectrum, c2r; of c2r, with weights 1, 2, …, 2, (1), r2c. A factor of the forward direction is one of the
other direction under the opposite name of `norm`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import complex64, float16, float64, to_complex, to_real
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import door
from tensorplay.ops.arrays import Array
from tensorplay.ops.declare import structured
from tensorplay.ops.library.linalg_checks import dense
from tensorplay.ops.library.windows import meta_of
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size, Values

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor

OTHER_NORM: dict[str, Any] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The name of the same factor for a transform in the other direction."""


def _check(name: str, input: TensorMeta, *, wants_complex: bool) -> None:
    dtype = input.dtype
    if dtype.kind != ("c" if wants_complex else "f") or dtype is float16 or dtype.itemsize < 4:
        wanted = "complex64 or complex128" if wants_complex else "float32 or float64"
        raise DTypeError(f"{name}: expected {wanted}, found {dtype}")


def _behind_batch(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """The batching rule: dimensions are counted behind the batch."""
    del size
    ndim = len(metas[0].shape)  # type: ignore[attr-defined]  # a meta
    dims: Any = values[1]
    moved = tuple(each + 1 for each in layout.normalize_dims(operator.name, dims, ndim))
    return door.call(operator, (values[0], moved, *values[2:]))


def _c2c_meta(input: TensorMeta, dim: Size, norm: str, forward: bool) -> TensorMeta:
    del dim, norm, forward
    _check("fft_c2c", input, wants_complex=True)
    return TensorMeta(input.shape, input.dtype, input.device)


@structured(meta=_c2c_meta, public=False, linear=True, batching=_behind_batch)
def fft_c2c(input: Array, dim: Size, norm: str, forward: bool) -> Array:
    """`Σ_j x_j exp(∓2πi jk/n)` over the dimensions `dim`, `forward` with the minus sign; same shape.

    `norm` says where the factor 1/n is: "forward", "backward" or, by its root, "ortho" in both.
    """
    _c2c_meta(meta_of(input), dim, norm, forward)
    if not input.size:
        return np.empty(input.shape, input.dtype)
    transform = np.fft.fftn if forward else np.fft.ifftn
    options: dict[str, Any] = {"axes": dim, "norm": norm}
    found = transform(input, **options) if dim else input
    return np.array(found, input.dtype, order="C", copy=None if dim else True)


@fft_c2c.gradient("input")
def _(grad: Tensor, dim: Size, norm: str, forward: bool) -> Tensor:
    return fft_c2c(grad, dim, OTHER_NORM[norm], not forward)


def _r2c_meta(input: TensorMeta, dim: Size, norm: str) -> TensorMeta:
    del norm
    _check("fft_r2c", input, wants_complex=False)
    shape = list(input.shape)
    shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return TensorMeta(shape, to_complex(input.dtype), input.device)


@structured(meta=_r2c_meta, public=False, linear=True, batching=_behind_batch)
def fft_r2c(input: Array, dim: Size, norm: str) -> Array:
    """The forward transform of real numbers over `dim`; of the last of these only the first n // 2 + 1 results.

    The others are their conjugates: `y[n - k] = conj(y[k])`.
    """
    meta = _r2c_meta(meta_of(input), dim, norm)
    if not input.size:
        return np.zeros(meta.shape, meta.dtype.numpy)
    options: dict[str, Any] = {"axes": dim, "norm": norm}
    return dense(np.fft.rfftn(input, **options), meta.dtype.numpy)


@fft_r2c.gradient("input")
def _(grad: Tensor, dim: Size, norm: str, input: TensorMeta) -> Tensor:
    size = input.shape[dim[-1]]
    weights = _weights(0.5, size, dim[-1], len(input.shape), input.dtype)
    return fft_c2r(grad * weights, dim, OTHER_NORM[norm], size)


def _c2r_meta(input: TensorMeta, dim: Size, norm: str, size: int) -> TensorMeta:
    del norm
    _check("fft_c2r", input, wants_complex=True)
    shape = list(input.shape)
    if shape[dim[-1]] != size // 2 + 1:
        raise ShapeError(
            f"fft_c2r: {size} real numbers come from {size // 2 + 1} complex ones, found {shape[dim[-1]]}"
        )
    shape[dim[-1]] = size
    return TensorMeta(shape, to_real(input.dtype), input.device)


@structured(meta=_c2r_meta, public=False, linear=True, batching=_behind_batch)
def fft_c2r(input: Array, dim: Size, norm: str, size: int) -> Array:
    """The real numbers, `size` of them along the last of `dim`, that have this half spectrum: undoes r2c.

    Along the last of `dim` the imaginary parts of the first and, where `size` is even, of the last
    number are not read.
    """
    meta = _c2r_meta(meta_of(input), dim, norm, size)
    if not input.size:
        return np.zeros(meta.shape, meta.dtype.numpy)
    sizes = [size if each == dim[-1] else input.shape[each] for each in dim]
    options: dict[str, Any] = {"s": sizes, "axes": dim, "norm": norm}
    return dense(np.fft.irfftn(input, **options), meta.dtype.numpy)


@fft_c2r.gradient("input")
def _(grad: Tensor, dim: Size, norm: str, size: int) -> Tensor:
    weights = _weights(2.0, size, dim[-1], grad.ndim, grad.dtype)
    return fft_r2c(grad, dim, OTHER_NORM[norm]) * weights


def _weights(inner: float, size: int, dim: int, ndim: int, dtype: DType) -> Tensor:
    """`inner` along the half spectrum of `size` numbers, 1 where a number is its own mirror image."""
    weights = tp.full((size // 2 + 1,), inner, dtype=dtype)
    alone = tp.arange(size // 2 + 1) * 2 % size == 0
    found = weights.masked_fill(alone, 1.0)
    return found.reshape([-1 if d == dim % ndim else 1 for d in range(ndim)])


@fft_c2c.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5), complex64), (1,), "backward", True)
    yield sample(Arg((3, 4), complex64, layout="transposed"), (0, 1), "ortho", False)
    yield sample(Arg((2, 0), complex64), (0,), "forward", True)
    yield bad(DTypeError, "complex64", Arg((3,)), (0,), "backward", True)


@fft_r2c.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 5)), (1,), "backward")
    yield sample(Arg((3, 4), layout="transposed"), (0, 1), "ortho")
    yield sample(Arg((4, 3), float64), (1, 0), "forward")
    yield bad(DTypeError, "float32", Arg((3,), complex64), (0,), "backward")


@fft_c2r.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 3), complex64), (1,), "backward", 5)
    yield sample(Arg((3, 3), complex64, layout="transposed"), (0, 1), "ortho", 4)
    yield sample(Arg((3, 2), complex64), (1, 0), "forward", 4)
    yield bad(ShapeError, "come from", Arg((3,), complex64), (0,), "backward", 7)
