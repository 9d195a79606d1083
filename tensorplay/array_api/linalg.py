"""The extension `linalg` of the array API standard.

Matrices are the last two axes; the axes in front are a batch. Decompositions return named tuples.

>>> from tensorplay import array_api as xp
>>> xp.linalg.slogdet(xp.asarray([[2.0, 0.0], [0.0, -3.0]]))
SlogDet(sign=tensor(-1.), logabsdet=tensor(1.7918))
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from tensorplay import functions
from tensorplay import linalg as ours
from tensorplay.array_api.array import Array, as_array, convert, operands
from tensorplay.array_api.manipulation import axes_of
from tensorplay.array_api.products import matmul, matrix_transpose, tensordot, vecdot
from tensorplay.array_api.statistics import sum as sum_of
from tensorplay.core import dtypes
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ShapeError
from tensorplay.tensor import Tensor


class Eigh(NamedTuple):
    """What `eigh` finds."""

    eigenvalues: Array
    eigenvectors: Array


class QR(NamedTuple):
    """What `qr` finds."""

    Q: Array
    R: Array


class SlogDet(NamedTuple):
    """What `slogdet` finds."""

    sign: Array
    logabsdet: Array


class SVD(NamedTuple):
    """What `svd` finds."""

    U: Array
    S: Array
    Vh: Array


def cholesky(x: Tensor, /, *, upper: bool = False) -> Array:
    """The lower triangular `L` with `x = L L^H`, or the upper one with `x = U^H U`."""
    return as_array(functions.cholesky(x, upper))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements along an axis; the other axes broadcast."""
    x1, x2 = operands("cross", x1, x2)
    if axis < 0:  # counted from the back, it is the same one in both
        x1, x2 = (
            each.reshape((*(1,) * (other.ndim - each.ndim), *each.shape))
            for each, other in ((x1, x2), (x2, x1))
        )
    return as_array(ours.cross(x1, x2, dim=axis))


def det(x: Tensor, /) -> Array:
    """The determinant."""
    return as_array(functions.det(x))


def diagonal(x: Tensor, /, *, offset: int = 0) -> Array:
    """A diagonal of each matrix, as a view."""
    return as_array(functions.diagonal(x, offset, -2, -1))


def eigh(x: Tensor, /) -> Eigh:
    """Eigenvalues, ascending, and eigenvectors (columns) of Hermitian matrices."""
    return Eigh(*map(as_array, ours.eigh(x)))


def eigvalsh(x: Tensor, /) -> Array:
    """The eigenvalues of Hermitian matrices, ascending."""
    return as_array(ours.eigvalsh(x))


def inv(x: Tensor, /) -> Array:
    """The inverse."""
    return as_array(ours.inv(x))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:  # noqa: ANN401  # numbers and names
    """A norm of matrices: "fro", "nuc", 1, 2, inf, or -1, -2, -inf."""
    return as_array(ours.matrix_norm(x, ord, keepdim=keepdims), x)


def matrix_power(x: Tensor, n: int, /) -> Array:
    """The product of `n` copies of a square matrix; of its inverse if `n` is negative."""
    return as_array(ours.matrix_power(x, n), x)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Array:
    """How many singular values exceed `rtol` times the largest; by default `max(M, N) * eps`."""
    values = ours.svdvals(x)
    return as_array((values > _least(x, values, rtol)).sum(-1))


def _least(x: Tensor, values: Tensor, rtol: float | Tensor | None) -> Tensor:
    """The largest singular value times the tolerance."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * dtypes.finfo(values.dtype).eps
    if not values.shape[-1]:
        return functions.zeros((*values.shape[:-1], 1), dtype=values.dtype)
    largest = values.amax(-1, keepdim=True)
    tolerance = rtol.unsqueeze(-1) if isinstance(rtol, Tensor) else rtol
    return largest * tolerance


def outer(x1: Tensor, x2: Tensor, /) -> Array:
    """All products of an element of one vector with one of another."""
    x1, x2 = operands("outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        msg = f"outer: expected 1-d arrays, found shapes {tuple(x1.shape)} and {tuple(x2.shape)}"
        raise ShapeError(msg)
    return as_array(x1.unsqueeze(1) * x2)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Array:
    """The Moore-Penrose inverse; singular values up to `rtol` times the largest count as zero."""
    if isinstance(rtol, Tensor):
        u, values, vh = ours.svd(x, full_matrices=False)
        inverse = functions.where(values > _least(x, values, rtol), 1 / values, 0)
        return as_array((vh.mH * inverse.unsqueeze(-2)) @ u.mH)
    if rtol is None:
        rtol = max(x.shape[-2:]) * dtypes.finfo(dtypes.to_real(x.dtype)).eps
    return as_array(ours.pinv(x, rtol=rtol))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QR:
    """Orthonormal `Q` and upper triangular `R` with `x = Q R`."""
    return QR(*map(as_array, ours.qr(x, mode)))


def slogdet(x: Tensor, /) -> SlogDet:
    """The sign and the logarithm of the magnitude of the determinant."""
    return SlogDet(*map(as_array, functions.slogdet(x)))


def solve(x1: Tensor, x2: Tensor, /) -> Array:
    """The solution of `x1 @ x = x2`. `x2` is a vector only where it is 1-d."""
    x1, x2 = operands("solve", x1, x2)
    if x2.ndim == 1:
        return as_array(ours.solve(x1, x2.unsqueeze(-1)).squeeze(-1))
    lead = _broadcast(x1, x2)
    return as_array(
        ours.solve(x1.expand((*lead, *x1.shape[-2:])), x2.expand((*lead, *x2.shape[-2:])))
    )


def _broadcast(x1: Tensor, x2: Tensor) -> tuple[int, ...]:
    return functions.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """`U`, descending singular values `S`, and `Vh` with `x = U diag(S) Vh`."""
    return SVD(*map(as_array, ours.svd(x, full_matrices)))


def svdvals(x: Tensor, /) -> Array:
    """The singular values, descending."""
    return as_array(ours.svdvals(x))


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """The sum of a diagonal of each matrix, in the dtypes of `sum`."""
    return sum_of(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """A norm of vectors along axes, all by default; `ord` is any number or an infinity."""
    axes = axes_of("vector_norm", axis, x.ndim)
    if not axes:
        found = functions.abs(x)
        if ord == 0:
            found = convert(found != 0, found.dtype)
        return as_array(found, x)
    return as_array(ours.vector_norm(x, ord, axes, keepdim=keepdims), x)


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip
