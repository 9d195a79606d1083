"""Pseudoinverses, least squares, ranks and condition numbers, from singular values.

>>> import tensorplay as tp
>>> A = tp.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
>>> tp.linalg.lstsq(A, tp.tensor([[1.0], [4.0], [5.0]])).solution
tensor([[1.],
        [2.]])
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import finfo, float64, int64, to_real
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import (
    adjoint,
    check_dtype,
    check_matrix,
    check_square,
    dense,
    lapack,
    like,
)
from tensorplay.ops.library.linalg_lu import linalg_inv_ex
from tensorplay.ops.library.linalg_norms import linalg_matrix_norm, linalg_vector_norm
from tensorplay.ops.library.linalg_spectral import (
    SQUARE,
    TALL,
    WIDE,
    linalg_eigvalsh,
    linalg_svdvals,
    matrix_samples,
)
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import LeastSquares
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor

if TYPE_CHECKING:
    from tensorplay.core.dtypes import Number
    from tensorplay.tensor import Tensor

# ---- pseudoinverse ------------------------------------------------------------------------------------


def _tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:  # noqa: ANN401  # numbers or tensors
    """Absolute and relative tolerance, numbers or tensors (...): what is not given has PyTorch's defaults.

    They are 0, and max(M, N) eps, or 0 where the absolute one is positive.
    """
    atol = 0.0 if atol is None else atol
    if rtol is None:
        default = max(A.shape[-2:]) * finfo(A.dtype).eps
        if is_tensor(atol):
            return atol.detach(), tp.where(atol > 0, 0.0, default)
        return atol, 0.0 if atol > 0 else default
    atol, rtol = (each.detach() if is_tensor(each) else each for each in (atol, rtol))
    return atol, rtol


def _pinv_meta(A: TensorMeta, atol: Any, rtol: Any, hermitian: bool) -> TensorMeta:  # noqa: ANN401  # numbers or metas
    del atol, rtol
    batch, rows, columns = check_matrix("pinv", A)
    if hermitian:
        check_square("pinv", A)
    return like(A, *batch, columns, rows)


@structured(meta=_pinv_meta, public=False, conjugates=True, batching=leading)
def pinv_above(A: Array, atol: Array | Number, rtol: Array | Number, hermitian: bool) -> Array:
    """The pseudoinverses of matrices (..., M, N) without singular values up to max(atol, rtol · the largest).

    The tolerances are numbers, or of shape (..., 1, 1).

    dP = -P dA P + P Pᴴ dAᴴ (I - A P) + (I - P A) dAᴴ Pᴴ P, where the rank is constant (G. Golub
    and V. Pereyra, The differentiation of pseudo-inverses, 1973).
    """
    if hermitian:
        check_square("pinv", A)
        L, V = lapack("pinv", np.linalg.eigh, A)
        U, S, Vh = V * np.where(L < 0, -1, 1).astype(A.dtype)[..., None, :], np.abs(L), _ct(V)
    else:
        U, S, Vh = lapack("pinv", np.linalg.svd, A, full_matrices=False)
    absolute, relative = (x[..., 0] if isinstance(x, np.ndarray) else x for x in (atol, rtol))
    kept = np.maximum(relative * S.max(-1, keepdims=True, initial=0), absolute) < S
    inverse = np.where(kept, 1 / np.where(kept, S, 1), 0).astype(S.dtype)
    return dense((_ct(Vh) * inverse[..., None, :]) @ _ct(U), A.dtype)


def _ct(x: Array) -> Array:
    return x.swapaxes(-2, -1).conj()


@pinv_above.gradient("A")
def _(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    P, Ph, Gh = result, adjoint(result), adjoint(grad)
    first = matmul(Ph, matmul(grad, Ph))
    second = matmul(Gh, matmul(P, Ph))
    second = second - matmul(A, matmul(P, second))
    third = matmul(matmul(Ph, P), Gh)
    third = third - matmul(matmul(third, P), A)
    return second + third - first


@pinv_above.tangent
def _(
    operator: Operator, values: tuple[Any, ...], result: Tensor,
    tangents: Sequence[Tensor | None],
) -> Tensor | None:  # fmt: skip
    del operator
    dA = tangents[0]
    if dA is None:
        return None
    A, P, Ph = values[0], result, adjoint(result)
    first = matmul(P, matmul(dA, P))
    second = matmul(matmul(P, Ph), adjoint(dA))
    second = second - matmul(matmul(second, A), P)
    third = matmul(adjoint(dA), matmul(Ph, P))
    third = third - matmul(P, matmul(A, third))
    return second + third - first


@pinv_above.sample
def _() -> Iterator[Sample]:
    yield sample(TALL, 0.0, 1e-6, False)
    yield sample(WIDE, 0.1, 0.0, False)
    yield sample(SQUARE, Arg((2, 1, 1), values=[0.0, 0.1]), Arg((1, 1), values=[1e-3]), False)
    yield sample(Arg((2, 2), values=[2.0, 1.0, 1.0, 2.0]), 0.0, 1e-6, True)
    yield bad(ShapeError, "square", TALL, 0.0, 0.0, True)


@composite(public=False)
def linalg_pinv(
    A: Tensor,
    rcond: object = None,
    hermitian: bool = False,
    *,
    atol: object = None,
    rtol: object = None,
) -> Tensor:
    """The Moore-Penrose pseudoinverse P (..., N, M) of matrices A (..., M, N).

    Singular values up to max(atol, rtol · the largest) count as zero; by default rtol is
    max(M, N) eps, or 0 where `atol` is given. Tolerances are numbers, or tensors that broadcast with
    the batch (...); `rcond` is an older name of rtol. Of `hermitian` matrices the lower triangle is read.

    It has derivatives where the rank is constant.

    >>> import tensorplay as tp
    >>> tp.linalg.pinv(tp.tensor([[1.0], [0.0], [1.0]]))
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    check_matrix("pinv", A)
    absolute, relative = _tolerances(A, atol, rcond if rtol is None else rtol)
    given = [each for each in (absolute, relative) if is_tensor(each)]
    if given:
        shape = layout.broadcast_shapes("pinv", [A.shape[:-2], *(each.shape for each in given)])
        A = A.expand((*shape, *A.shape[-2:]))
        absolute, relative = (
            each.expand(shape).unsqueeze(-1).unsqueeze(-1) if is_tensor(each) else each
            for each in (absolute, relative)
        )
    return pinv_above(A, absolute, relative, hermitian)


@linalg_pinv.sample
def _() -> Iterator[Sample]:
    yield from matrix_samples()
    yield sample(TALL, rtol=1e-3)
    yield sample(TALL, atol=1e-3)
    yield sample(TALL, rtol=Arg((2,), values=[1e-3, 0.1]))
    yield sample(SQUARE, atol=Arg((2,), values=[0.0, 0.1]))
    yield sample(Arg((2, 2), values=[2.0, 1.0, 1.0, 2.0]), hermitian=True)
    yield bad(ShapeError, "square", TALL, hermitian=True)


@composite(method=True)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` under its older name; singular values up to `rcond` · the largest count as zero.

    >>> import tensorplay as tp
    >>> tp.pinverse(tp.tensor([[1.0], [0.0], [1.0]]))
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    return linalg_pinv(input, rtol=rcond)


pinverse.sample(matrix_samples)


# ---- least squares ------------------------------------------------------------------------------------

_DRIVERS = ("gelsy", "gelsd", "gelss", "gels")


@composite(public=False)
def linalg_lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Any:  # noqa: ANN401  # a named tuple
    """`(solution, residuals, rank, singular_values)`: the X (..., N, K) of least norm with the least |A X - B|.

    A (..., M, N), B (..., M, K) or vectors (..., M). The solution is pinv(A, rtol=rcond) B, so that it
    also has derivatives where A has no full rank.

    `driver` is PyTorch's: by all but "gelsy", the default, `residuals` are the sums of squares of
    A X - B where M > N (PyTorch's only where the rank is full, too), else empty; by "gels" `rank` is
    empty; "gelsd" and "gelss" give the singular values, without derivatives (those of `svdvals` have some).

    >>> import tensorplay as tp
    >>> tp.linalg.lstsq(tp.ones(2, 1), tp.tensor([[1.0], [3.0]]), driver="gelsd").residuals.round()
    tensor([2.])
    """
    _, rows, columns = check_matrix("lstsq", A)
    if driver is not None and driver not in _DRIVERS:
        names = ", ".join(map(repr, _DRIVERS))
        raise ArgumentValueError(f"lstsq: driver is one of {names}, found {driver!r}")
    check_dtype("lstsq", A.dtype, B.dtype)
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if is_vector else B
    if not B.ndim or right.shape[-2] != rows:
        msg = f"lstsq: shapes {A.shape} and {B.shape} do not fit: they differ in their number of equations"
        raise ShapeError(msg)
    found = matmul(linalg_pinv(A, rtol=rcond), right)
    rank = linalg_matrix_rank(A, rtol=rcond)
    residuals = tp.zeros((0,), dtype=to_real(A.dtype))
    if rows > columns and driver not in {None, "gelsy"}:
        left = linalg_vector_norm(matmul(A, found) - right, 2, -2)
        residuals = left * left
    if is_vector:
        found = found.squeeze(-1)
    values = tp.zeros((0,), dtype=residuals.dtype)
    if driver in {"gelsd", "gelss"}:
        values = linalg_svdvals(A.detach())
    return LeastSquares(
        found, residuals, tp.zeros((0,), dtype=int64) if driver == "gels" else rank, values
    )


@linalg_lstsq.sample
def _() -> Iterator[Sample]:
    yield sample(TALL, Arg((3, 2)))
    yield sample(WIDE, Arg((2,)))
    yield sample(SQUARE, Arg((2, 2, 3)), rcond=1e-4, driver="gelsd")
    yield sample(TALL, Arg((3, 1)), driver="gels")
    yield bad(ShapeError, "do not fit", Arg((3, 2)), Arg((2, 2)))
    yield bad(ArgumentValueError, "driver is one of", TALL, Arg((3, 2)), driver="best")


# ---- ranks and condition numbers ----------------------------------------------------------------------


@composite(public=False)
def linalg_matrix_rank(
    A: Tensor,
    tol: object = None,
    hermitian: bool = False,
    *,
    atol: object = None,
    rtol: object = None,
) -> Tensor:
    """How many singular values exceed max(atol, rtol · the largest), int64 (...).

    By default rtol is max(M, N) eps, or 0 where `atol` is given; `tol` stands for `atol` alone. They
    are numbers, or tensors that broadcast with the batch (...). Of `hermitian` matrices the absolute
    eigenvalues of the lower triangle count.

    >>> import tensorplay as tp
    >>> tp.linalg.matrix_rank(tp.ones(3, 3))
    tensor(1)
    """
    check_matrix("matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    detached = A.detach()
    S = linalg_eigvalsh(detached).abs() if hermitian else linalg_svdvals(detached)
    absolute, relative = (
        each.unsqueeze(-1) if is_tensor(each) else each for each in _tolerances(A, atol, rtol)
    )
    largest = S.amax(-1, keepdim=True) if S.shape[-1] else S.sum(-1, keepdim=True)
    least = largest * relative
    least = least.maximum(absolute) if is_tensor(absolute) else least.clamp(min=absolute)
    return tp.sum(least < S, -1)


@linalg_matrix_rank.sample
def _() -> Iterator[Sample]:
    yield from matrix_samples()
    yield sample(Arg((2, 2), values=[1.0, 2.0, 2.0, 4.0]), hermitian=True)
    yield sample(TALL, atol=1.9)
    yield sample(TALL, 1.9)
    yield sample(SQUARE, rtol=Arg((3, 1), values=[0.1, 0.3, 0.9]))
    yield sample(SQUARE, atol=Arg((2,), values=[0.0, 2.0]))


@composite(public=False)
def linalg_cond(A: Tensor, p: object = None) -> Tensor:
    """The condition numbers (...) of matrices: the largest over the least singular value, or |A|ₚ |A⁻¹|ₚ.

    `p` is None or 2, -2 (the least over the largest), "fro", "nuc", 1, -1, inf or -inf; with all but
    2 and -2 matrices are square, and infinity stands for singular ones.

    >>> import tensorplay as tp
    >>> tp.linalg.cond(tp.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    if p is None or p in {2, -2}:
        check_matrix("cond", A)
        S = linalg_svdvals(A)
        if not S.shape[-1]:
            return S.sum(-1)
        ends = S.select(-1, 0), S.select(-1, -1)
        return ends[1] / ends[0] if p == -2 else ends[0] / ends[1]
    check_square("cond", A)
    if not A.shape[-1]:
        return tp.real(A.sum((-2, -1)))
    inverse, info = linalg_inv_ex(A)
    product = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p)
    return product.masked_fill(info != 0, math.inf)


@linalg_cond.sample
def _() -> Iterator[Sample]:
    for p in (None, 2, -2, "fro", "nuc", 1, -1, math.inf, -math.inf):
        yield sample(SQUARE, p)
    yield sample(TALL)
    yield sample(Arg((2, 2), float64, values=[1.0, 2.0, 2.0, 4.0]), 1)
    yield bad(ShapeError, "square", TALL, 1)
    yield bad(ArgumentValueError, "ord is one of", SQUARE, 3)
