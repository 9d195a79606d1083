"""Orthogonal factorizations, eigenvalues and singular values, and what follows from them.

>>> import tensorplay as tp
>>> tp.linalg.svdvals(tp.tensor([[3.0, 0.0], [0.0, -4.0]]))
tensor([4., 3.])

Vectors of a factorization are determined up to signs (and bases of equal values); derivatives of
what depends on that choice do not exist, and are infinite or NaN where values coincide.
Derivatives of the values alone always come out finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import DType, finfo, float32, float64, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import (
    check_matrix,
    check_square,
    dense,
    lapack,
    like,
    symmetrized,
    turned,
)
from tensorplay.ops.library.linalg_inverse import solve_triangle
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.library.windows import meta_of
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_TALL = Arg((3, 2), values=[2.0, 1.0, -0.5, 1.5, 0.3, -0.7])
_WIDE = Arg((2, 3), layout="transposed", values=[2.0, 1.0, -0.5, 1.5, 0.3, -0.7])
_SQUARE = Arg((2, 2, 2), values=[3.0, 1.0, 0.5, -2.0, 1.0, 0.4, -0.3, 2.0])


def _bad_matrices() -> Iterator[Sample]:
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64))


def _matrix_samples() -> Iterator[Sample]:
    yield sample(_TALL)
    yield sample(_WIDE)
    yield sample(_SQUARE)
    yield sample(Arg((0, 3, 2)))
    yield from _bad_matrices()


# ---- QR -----------------------------------------------------------------------------------------


def _qr_meta(A: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    batch, rows, columns = check_matrix("qr", A)
    rank = min(rows, columns)
    return like(A, *batch, rows, rank), like(A, *batch, rank, columns)


@structured(meta=_qr_meta, public=False, batching=leading)
def linalg_qr_reduced(A: Array) -> tuple[Array, Array]:
    """The reduced factorization A = Q R of matrices (..., M, N): Q (..., M, K), R (..., K, N).

    K = min(M, N). Q has orthonormal columns, R is upper triangular; signs are LAPACK's.

    With C = dA R⁻¹ and S = Qᵀ C, dR = (S - Ω) R and dQ = C - Q (S - Ω), where Ω is the
    antisymmetric matrix with the lower triangle of S (S. Walter and L. Lehmann, Algorithmic
    differentiation of linear algebra functions, 2010; wide matrices as in D. Roberts and L.
    Roberts, QR and LQ decomposition matrix backpropagation algorithms, 2020). The first K columns
    must be independent.
    """
    check_matrix("qr", A)
    Q, R = lapack("qr", np.linalg.qr, A)
    return dense(Q, A.dtype), dense(R, A.dtype)


def _parts(R: Tensor) -> tuple[Tensor, Tensor]:
    """R as its square part and the columns behind it."""
    rank = R.shape[-2]
    return R.narrow(-1, 0, rank), R.narrow(-1, rank, R.shape[-1] - rank)


def _over(A: Tensor, U: Tensor) -> Tensor:
    """A U⁻¹ for upper triangular U."""
    return turned(solve_triangle(turned(U), turned(A), False))


@linalg_qr_reduced.gradient("A")
def _(
    grads: tuple[Tensor | None, Tensor | None], A: Tensor, results: tuple[Tensor, Tensor]
) -> Tensor:
    Q, R = results
    gQ = tp.zeros_like(Q) if grads[0] is None else grads[0]
    gR = tp.zeros_like(R) if grads[1] is None else grads[1]
    rank = R.shape[-2]
    if rank == R.shape[-1]:
        return _tall_qr(gQ, gR, Q, R)
    U = _parts(R)[0]
    gU, gV = _parts(gR)
    behind = A.narrow(-1, rank, A.shape[-1] - rank)
    front = _tall_qr(gQ + matmul(behind, turned(gV)), gU, Q, U)
    return tp.cat((front, matmul(Q, gV)), -1)


def _tall_qr(gQ: Tensor, gR: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    M = matmul(R, turned(gR)) - matmul(turned(gQ), Q)
    whole = M.tril() + turned(M.tril(-1))
    return turned(solve_triangle(R, turned(gQ + matmul(Q, whole)), True))


@linalg_qr_reduced.tangent
def _(
    operator: Operator,
    values: tuple[Any, ...],
    results: tuple[Tensor, Tensor],
    tangents: Sequence[Tensor | None],
) -> tuple[Tensor | None, Tensor | None]:
    del operator
    dA = tangents[0]
    if dA is None:
        return None, None
    Q, R = results
    rank = R.shape[-2]
    U = _parts(R)[0]
    C = _over(dA.narrow(-1, 0, rank), U)
    S = matmul(turned(Q), C)
    lower = S.tril(-1)
    inner = S - lower + turned(lower)
    dQ, dU = C - matmul(Q, inner), matmul(inner, U)
    if rank == R.shape[-1]:
        return dQ, dU
    count = R.shape[-1] - rank
    behind, moved = values[0].narrow(-1, rank, count), dA.narrow(-1, rank, count)
    dV = matmul(turned(dQ), behind) + matmul(turned(Q), moved)
    return dQ, tp.cat((dU, dV), -1)


linalg_qr_reduced.sample(_matrix_samples)


def _complement_meta(Q: TensorMeta) -> TensorMeta:
    batch, rows, columns = check_matrix("orthogonal_complement", Q)
    if columns > rows:
        msg = f"orthogonal_complement: expected no more columns than rows, found shape {Q.shape}"
        raise ShapeError(msg)
    return like(Q, *batch, rows, rows - columns)


@structured(
    meta=_complement_meta,
    public=False,
    not_differentiable="any basis of the complement would do, so that it is no function of the columns",
    batching=leading,
)
def orthogonal_complement(Q: Array) -> Array:
    """Columns (..., M, M - K) that complete the orthonormal columns (..., M, K) to a basis."""
    _complement_meta(meta_of(Q))
    whole, _ = lapack("orthogonal_complement", np.linalg.qr, Q, mode="complete")
    return dense(whole[..., Q.shape[-1] :], Q.dtype)


@orthogonal_complement.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 1), values=[0.6, 0.0, 0.8]))
    yield sample(Arg((2, 2, 2)))
    yield sample(Arg((0, 3, 2)))
    yield bad(ShapeError, "no more columns", Arg((2, 3)))


@composite(public=False)
def linalg_qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """A = Q R of matrices (..., M, N), float32 or float64: Q orthonormal, R upper triangular.

    `mode` is "reduced", with Q (..., M, K) and R (..., K, N), K = min(M, N); "complete", with Q
    (..., M, M) and R (..., M, N), where the columns of Q behind the K-th carry no gradient; or "r",
    where Q is an empty tensor. Signs are LAPACK's.
    """
    if mode not in {"reduced", "complete", "r"}:
        msg = f"qr: mode is 'reduced', 'complete' or 'r', found {mode!r}"
        raise ArgumentValueError(msg)
    Q, R = linalg_qr_reduced(A)
    if mode == "r":
        return tp.zeros((0,), dtype=A.dtype), R
    missing = A.shape[-2] - R.shape[-2]
    if mode == "complete" and missing:
        below = tp.zeros((*A.shape[:-2], missing, A.shape[-1]), dtype=A.dtype)
        return tp.cat((Q, orthogonal_complement(Q.detach())), -1), tp.cat((R, below), -2)
    return Q, R


@linalg_qr.sample
def _() -> Iterator[Sample]:
    yield from _matrix_samples()
    yield sample(_WIDE, "complete")
    yield sample(_TALL, "r")
    yield bad(ArgumentValueError, "mode is", _TALL, "full")


# ---- symmetric eigenvalues -------------------------------------------------------------------------


def _eigh_meta(A: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    batch, order = check_square("eigh", A)
    return like(A, *batch, order), like(A, *batch, order, order)


@structured(meta=_eigh_meta, public=False, batching=leading)
def linalg_eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues (..., N), ascending, and eigenvectors (..., N, N) of symmetric matrices.

    The vectors are the columns of V: A = V diag(L) Vᵀ. Of matrices that are not quite symmetric,
    (A + Aᵀ) / 2 is factored.

    dL = diag(Vᵀ dA V), dV = V (F ∘ Vᵀ dA V) with F_ij = 1 / (L_j - L_i), 0 on the diagonal (Giles
    2008, 3.1).
    """
    check_square("eigh", A)
    L, V = lapack("eigh", np.linalg.eigh, symmetrized(A))
    return dense(L, A.dtype), dense(V, A.dtype)


def _differences(L: Tensor) -> tuple[Tensor, Tensor]:
    """`L_j - L_i` with ones on the diagonal, and the mask that leaves the diagonal out."""
    diagonal = tp.eye(L.shape[-1], dtype=L.dtype)
    return L.unsqueeze(-2) - L.unsqueeze(-1) + diagonal, 1 - diagonal


@linalg_eigh.gradient("A")
def _(grads: tuple[Tensor | None, Tensor | None], results: tuple[Tensor, Tensor]) -> Tensor | None:
    gL, gV = grads
    L, V = results
    inner = None if gL is None else tp.diag_embed(gL)
    if gV is not None:
        apart, mask = _differences(L)
        turn = matmul(turned(V), gV) * mask / apart
        inner = turn if inner is None else inner + turn
    if inner is None:
        return None
    whole = matmul(V, matmul(inner, turned(V)))
    return (whole + turned(whole)) / 2


@linalg_eigh.tangent
def _(
    operator: Operator,
    values: Values,
    results: tuple[Tensor, Tensor],
    tangents: Sequence[Tensor | None],
) -> tuple[Tensor | None, Tensor | None]:
    del operator, values
    dA = tangents[0]
    if dA is None:
        return None, None
    L, V = results
    apart, mask = _differences(L)
    inner = matmul(turned(V), matmul((dA + turned(dA)) / 2, V))
    return inner.diagonal(0, -2, -1), matmul(V, inner * mask / apart)


@linalg_eigh.sample
def _symmetric_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 3), values=[4.0, 1.0, 0.5, 1.0, 3.0, -0.6, 0.5, -0.6, 2.0]))
    yield sample(Arg((2, 2, 2), values=[2.0, 0.5, 0.5, 1.0, 3.0, -1.0, -1.0, 4.0]))
    yield sample(Arg((0, 3, 3)))
    yield bad(ShapeError, "square", Arg((2, 3)))
    yield from _bad_matrices()


@composite(public=False)
def linalg_eigvalsh(A: Tensor) -> Tensor:
    """The eigenvalues (..., N), ascending, of symmetric matrices (..., N, N); see `eigh`."""
    values, _ = linalg_eigh(A)
    return values


linalg_eigvalsh.sample(_symmetric_samples)


# ---- singular values --------------------------------------------------------------------------------


def _svd_meta(A: TensorMeta) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    batch, rows, columns = check_matrix("svd", A)
    rank = min(rows, columns)
    return like(A, *batch, rows, rank), like(A, *batch, rank), like(A, *batch, rank, columns)


@structured(meta=_svd_meta, public=False, batching=leading)
def linalg_svd_reduced(A: Array) -> tuple[Array, Array, Array]:
    """U (..., M, K), S (..., K), Vh (..., K, N) with A = U diag(S) Vh, K = min(M, N), S descending.

    With P = Uᵀ dA V and E_ij = S_j² - S_i²: dS = diag P, dU = U ((P S + S Pᵀ) / E) and
    dV = V ((S P + Pᵀ S) / E), and, where the matrix is not square, what dA moves out of the space
    of U or V, divided by S (J. Townsend, Differentiating the singular value decomposition, 2016).
    """
    check_matrix("svd", A)
    U, S, Vh = lapack("svd", np.linalg.svd, A, full_matrices=False)
    return dense(U, A.dtype), dense(S, A.dtype), dense(Vh, A.dtype)


def _square_differences(S: Tensor) -> tuple[Tensor, Tensor]:
    """`S_j² - S_i²` as a product, with ones on the diagonal; and the mask without the diagonal."""
    diagonal = tp.eye(S.shape[-1], dtype=S.dtype)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    return (row - column) * (row + column) * (1 - diagonal) + diagonal, 1 - diagonal


@linalg_svd_reduced.gradient("A")
def _(grads: tuple[Tensor | None, ...], results: tuple[Tensor, Tensor, Tensor]) -> Tensor | None:
    gU, gS, gVh = grads
    U, S, Vh = results
    inner = None if gS is None else tp.diag_embed(gS)
    outside: list[Tensor] = []
    if gU is not None:
        apart, mask = _square_differences(S)
        turn = matmul(turned(U), gU)
        part = (turn - turned(turn)) * mask / apart * S.unsqueeze(-2)
        inner = part if inner is None else inner + part
        if U.shape[-2] > U.shape[-1]:
            outside.append(matmul((gU - matmul(U, turn)) / S.unsqueeze(-2), Vh))
    if gVh is not None:
        apart, mask = _square_differences(S)
        turn = matmul(gVh, turned(Vh))  # (Vᵀ gV)ᵀ
        part = S.unsqueeze(-1) * ((turned(turn) - turn) * mask / apart)
        inner = part if inner is None else inner + part
        if Vh.shape[-1] > Vh.shape[-2]:
            outside.append(matmul(U, (gVh - matmul(turn, Vh)) / S.unsqueeze(-1)))
    if inner is None:
        return None
    total = matmul(U, matmul(inner, Vh))
    for each in outside:
        total = total + each
    return total


@linalg_svd_reduced.tangent
def _(
    operator: Operator,
    values: Values,
    results: tuple[Tensor, Tensor, Tensor],
    tangents: Sequence[Tensor | None],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    del operator, values
    dA = tangents[0]
    if dA is None:
        return None, None, None
    U, S, Vh = results
    apart, mask = _square_differences(S)
    left, right = matmul(dA, turned(Vh)), matmul(turned(U), dA)
    P = matmul(turned(U), left)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    dU = matmul(U, (P * row + turned(P) * column) * mask / apart)
    dVh = matmul(turned((P * column + turned(P) * row) * mask / apart), Vh)
    if U.shape[-2] > U.shape[-1]:
        dU = dU + (left - matmul(U, P)) / row
    if Vh.shape[-1] > Vh.shape[-2]:
        dVh = dVh + (right - matmul(P, Vh)) / column
    return dU, P.diagonal(0, -2, -1), dVh


linalg_svd_reduced.sample(_matrix_samples)


@composite(public=False)
def linalg_svd(A: Tensor, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, Vh with A = U[:, :K] diag(S) Vh[:K] of matrices (..., M, N), K = min(M, N).

    float32 or float64. S (..., K) descends; U is (..., M, M) and Vh (..., N, N), orthogonal, or,
    without `full_matrices`, (..., M, K) and (..., K, N). What the full ones have beyond that is
    some basis of the complement and carries no gradient. Signs are LAPACK's.
    """
    U, S, Vh = linalg_svd_reduced(A)
    if full_matrices:
        if U.shape[-2] != U.shape[-1]:
            U = tp.cat((U, orthogonal_complement(U.detach())), -1)
        if Vh.shape[-2] != Vh.shape[-1]:
            rest = orthogonal_complement(turned(Vh.detach()))
            Vh = tp.cat((Vh, turned(rest)), -2)
    return U, S, Vh


@linalg_svd.sample
def _() -> Iterator[Sample]:
    yield sample(_TALL, full_matrices=False)
    yield sample(_WIDE, False)
    yield sample(_SQUARE)
    yield from _bad_matrices()


@composite(public=False)
def linalg_svdvals(A: Tensor) -> Tensor:
    """The singular values (..., min(M, N)), descending, of matrices (..., M, N)."""
    _, S, _ = linalg_svd_reduced(A)
    return S


linalg_svdvals.sample(_matrix_samples)


# ---- pseudoinverse, least squares, rank --------------------------------------------------------------


def _relative(
    dtype: DType, rows: int, columns: int, atol: float | None, rtol: float | None
) -> float:
    """PyTorch's default: max(M, N) eps, or 0 where an absolute tolerance is given."""
    if rtol is not None:
        return rtol
    return 0.0 if atol else max(rows, columns) * finfo(dtype).eps


def _pinv_meta(A: TensorMeta, atol: float | None, rtol: float | None) -> TensorMeta:
    batch, rows, columns = check_matrix("pinv", A)
    return like(A, *batch, columns, rows)


@structured(meta=_pinv_meta, public=False, batching=leading)
def linalg_pinv(A: Array, *, atol: float | None = None, rtol: float | None = None) -> Array:
    """The Moore-Penrose pseudoinverse P (..., N, M) of matrices A (..., M, N).

    Singular values up to max(atol, rtol · the largest) count as zero; by default rtol is
    max(M, N) eps, or 0 where `atol` is given.

    dP = -P dA P + P Pᵀ dAᵀ (I - A P) + (I - P A) dAᵀ Pᵀ P, where the rank is constant (G. Golub
    and V. Pereyra, The differentiation of pseudo-inverses, 1973).
    """
    _, rows, columns = check_matrix("pinv", A)
    dtype = float32 if A.dtype == np.float32 else float64
    U, S, Vh = lapack("pinv", np.linalg.svd, A, full_matrices=False)
    least = _relative(dtype, rows, columns, atol, rtol) * S.max(-1, keepdims=True, initial=0)
    kept = np.maximum(least, atol or 0.0) < S
    inverse = np.where(kept, 1 / np.where(kept, S, 1), 0).astype(A.dtype)
    return dense((Vh.swapaxes(-2, -1) * inverse[..., None, :]) @ U.swapaxes(-2, -1), A.dtype)


@linalg_pinv.gradient("A")
def _(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    P, Pt, Gt = result, turned(result), turned(grad)
    first = matmul(Pt, matmul(grad, Pt))
    second = matmul(Gt, matmul(P, Pt))
    second = second - matmul(A, matmul(P, second))
    third = matmul(matmul(Pt, P), Gt)
    third = third - matmul(matmul(third, P), A)
    return second + third - first


@linalg_pinv.tangent
def _(
    operator: Operator, values: tuple[Any, ...], result: Tensor,
    tangents: Sequence[Tensor | None],
) -> Tensor | None:  # fmt: skip
    del operator
    dA = tangents[0]
    if dA is None:
        return None
    A, P, Pt = values[0], result, turned(result)
    first = matmul(P, matmul(dA, P))
    second = matmul(matmul(P, Pt), turned(dA))
    second = second - matmul(matmul(second, A), P)
    third = matmul(turned(dA), matmul(Pt, P))
    third = third - matmul(P, matmul(A, third))
    return second + third - first


@linalg_pinv.sample
def _() -> Iterator[Sample]:
    yield from _matrix_samples()
    yield sample(_TALL, rtol=1e-3)
    yield sample(_TALL, atol=1e-3)


@composite(public=False)
def linalg_lstsq(A: Tensor, B: Tensor, *, rcond: float | None = None) -> Tensor:
    """The X (..., N, K) of least norm among those with the least |A X - B|.

    A (..., M, N), B (..., M, K) or a vector (M,): computed as pinv(A, rtol=rcond) B, so that it
    also has derivatives where A has no full rank. Only the solution is returned.
    """
    check_matrix("lstsq", A)
    inverse = linalg_pinv(A, rtol=rcond)
    if not B.ndim or B.shape[0 if B.ndim == 1 else -2] != A.shape[-2]:
        msg = f"lstsq: shapes {A.shape} and {B.shape} do not fit: they differ in their number of equations"
        raise ShapeError(msg)
    return matmul(inverse, B)


@linalg_lstsq.sample
def _() -> Iterator[Sample]:
    yield sample(_TALL, Arg((3, 2)))
    yield sample(_WIDE, Arg((2,)))
    yield sample(_SQUARE, Arg((2, 2, 3)), rcond=1e-4)
    yield bad(ShapeError, "do not fit", Arg((3, 2)), Arg((2, 2)))


@composite(public=False)
def linalg_matrix_rank(
    A: Tensor, *, atol: float | None = None, rtol: float | None = None
) -> Tensor:
    """How many singular values exceed max(atol, rtol · the largest), int64 (...).

    By default rtol is max(M, N) eps, or 0 where `atol` is given.
    """
    _, rows, columns = check_matrix("matrix_rank", A)
    S = linalg_svdvals(A.detach())
    if not S.shape[-1]:
        return S.to(int64).sum(-1)
    relative = _relative(A.dtype, rows, columns, atol, rtol)
    least = (S.amax(-1, keepdim=True) * relative).clamp(atol or 0.0)
    return (least < S).sum(-1)


@linalg_matrix_rank.sample
def _() -> Iterator[Sample]:
    yield from _matrix_samples()
    yield sample(Arg((2, 2), values=[1.0, 2.0, 2.0, 4.0]))
    yield sample(_TALL, atol=1.9)
