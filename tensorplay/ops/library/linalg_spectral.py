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

from tensorplay.core.dtypes import int64, to_real
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import (
    adjoint,
    check_matrix,
    check_square,
    dense,
    lapack,
    like,
    real_part,
)
from tensorplay.ops.library.linalg_inverse import solve_triangle
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.library.windows import meta_of
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import QR, SVD, Eigen, OldSVD
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

TALL = Arg((3, 2), values=[2.0, 1.0, -0.5, 1.5, 0.3, -0.7])
WIDE = Arg((2, 3), layout="transposed", values=[2.0, 1.0, -0.5, 1.5, 0.3, -0.7])
SQUARE = Arg((2, 2, 2), values=[3.0, 1.0, 0.5, -2.0, 1.0, 0.4, -0.3, 2.0])


def bad_matrices() -> Iterator[Sample]:
    """What every factorization refuses."""
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64))


def matrix_samples() -> Iterator[Sample]:
    """Tall, wide, square and no matrices."""
    yield sample(TALL)
    yield sample(WIDE)
    yield sample(SQUARE)
    yield sample(Arg((0, 3, 2)))
    yield from bad_matrices()


# ---- QR -----------------------------------------------------------------------------------------


def _qr_meta(A: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    batch, rows, columns = check_matrix("qr", A)
    rank = min(rows, columns)
    return like(A, *batch, rows, rank), like(A, *batch, rank, columns)


@structured(meta=_qr_meta, public=False, conjugates=True, batching=leading)
def linalg_qr_reduced(A: Array) -> tuple[Array, Array]:
    """The reduced factorization A = Q R of matrices (..., M, N): Q (..., M, K), R (..., K, N).

    K = min(M, N). Q has orthonormal columns, R is upper triangular; signs are LAPACK's.

    With C = dA R⁻¹ and S = Qᴴ C, dR = T R and dQ = C - Q T, where T is the upper triangle of S, with a
    real diagonal, plus the adjoint of what is below (S. Walter and L. Lehmann, Algorithmic
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
    return adjoint(solve_triangle(adjoint(U), adjoint(A), False))


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
    front = _tall_qr(gQ + matmul(behind, adjoint(gV)), gU, Q, U)
    return tp.cat((front, matmul(Q, gV)), -1)


def _tall_qr(gQ: Tensor, gR: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    M = (matmul(gR, adjoint(R)) - matmul(adjoint(Q), gQ)).triu()
    whole = M + adjoint(M.triu(1))
    return adjoint(solve_triangle(R, adjoint(gQ + matmul(Q, _real_diagonal(whole))), True))


def _real_diagonal(A: Tensor) -> Tensor:
    """The matrices with the real part of their diagonal."""
    if not A.dtype.is_complex:
        return A
    return A - tp.diag_embed(tp.imag(A.diagonal(0, -2, -1)) * 1j)


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
    S = matmul(adjoint(Q), C)
    lower = S.tril(-1)
    inner = _real_diagonal(S - lower + adjoint(lower))
    dQ, dU = C - matmul(Q, inner), matmul(inner, U)
    if rank == R.shape[-1]:
        return dQ, dU
    count = R.shape[-1] - rank
    behind, moved = values[0].narrow(-1, rank, count), dA.narrow(-1, rank, count)
    dV = matmul(adjoint(dQ), behind) + matmul(adjoint(Q), moved)
    return dQ, tp.cat((dU, dV), -1)


linalg_qr_reduced.sample(matrix_samples)


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
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:  # noqa: ANN401  # a named tuple
    """`(Q, R)` with A = Q R of matrices (..., M, N): Q orthonormal, R upper triangular.

    `mode` is "reduced", with Q (..., M, K) and R (..., K, N), K = min(M, N); "complete", with Q
    (..., M, M) and R (..., M, N), where the columns of Q behind the K-th carry no gradient; or "r",
    where Q is an empty tensor. Signs are LAPACK's.

    >>> import tensorplay as tp
    >>> x = tp.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = tp.linalg.qr(x)
    >>> tp.allclose(q @ r, x)
    True
    """
    if mode not in {"reduced", "complete", "r"}:
        msg = f"qr: mode is 'reduced', 'complete' or 'r', found {mode!r}"
        raise ArgumentValueError(msg)
    Q, R = linalg_qr_reduced(A)
    if mode == "r":
        return QR(tp.zeros((0,), dtype=A.dtype), R)
    missing = A.shape[-2] - R.shape[-2]
    if mode == "complete" and missing:
        below = tp.zeros((*A.shape[:-2], missing, A.shape[-1]), dtype=A.dtype)
        return QR(tp.cat((Q, orthogonal_complement(Q.detach())), -1), tp.cat((R, below), -2))
    return QR(Q, R)


@linalg_qr.sample
def _() -> Iterator[Sample]:
    yield from matrix_samples()
    yield sample(WIDE, "complete")
    yield sample(TALL, "r")
    yield bad(ArgumentValueError, "mode is", TALL, "full")


# ---- symmetric eigenvalues -------------------------------------------------------------------------


def _eigh_meta(A: TensorMeta, upper: bool) -> tuple[TensorMeta, TensorMeta]:
    del upper
    batch, order = check_square("eigh", A)
    values = TensorMeta((*batch, order), to_real(A.dtype), A.device)
    return values, like(A, *batch, order, order)


@structured(meta=_eigh_meta, public=False, conjugates=True, batching=leading)
def eigh_of_triangle(A: Array, upper: bool) -> tuple[Array, Array]:
    """Eigenvalues (..., N), ascending, and vectors (..., N, N) of the Hermitian matrices of one triangle.

    The vectors are the columns of V: A = V diag(L) Vᴴ.

    dL = diag(Vᴴ dA V), dV = V (F ∘ Vᴴ dA V) with F_ij = 1 / (L_j - L_i), 0 on the diagonal (Giles
    2008, 3.1), for Hermitian dA.
    """
    check_square("eigh", A)
    L, V = lapack("eigh", np.linalg.eigh, A, UPLO="U" if upper else "L")
    return dense(L, A.real.dtype), dense(V, A.dtype)


def _differences(L: Tensor) -> tuple[Tensor, Tensor]:
    """`L_j - L_i` with ones on the diagonal, and the mask that leaves the diagonal out."""
    diagonal = tp.eye(L.shape[-1], dtype=L.dtype)
    return L.unsqueeze(-2) - L.unsqueeze(-1) + diagonal, 1 - diagonal


@eigh_of_triangle.gradient("A")
def _(grads: tuple[Tensor | None, Tensor | None], results: tuple[Tensor, Tensor]) -> Tensor | None:
    gL, gV = grads
    L, V = results
    inner = None if gL is None else tp.diag_embed(gL).to(V.dtype)
    if gV is not None:
        apart, mask = _differences(L)
        turn = matmul(adjoint(V), gV) * mask / apart
        inner = turn if inner is None else inner + turn
    if inner is None:
        return None
    whole = matmul(V, matmul(inner, adjoint(V)))
    return (whole + adjoint(whole)) / 2


@eigh_of_triangle.tangent
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
    inner = matmul(adjoint(V), matmul((dA + adjoint(dA)) / 2, V))
    return real_part(inner.diagonal(0, -2, -1)), matmul(V, inner * mask / apart)


def _symmetric_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 3), values=[4.0, 1.0, 0.5, 1.0, 3.0, -0.6, 0.5, -0.6, 2.0]))
    yield sample(Arg((2, 2, 2), values=[2.0, 0.5, 0.5, 1.0, 3.0, -1.0, -1.0, 4.0]))
    yield sample(Arg((0, 3, 3)))
    yield bad(ShapeError, "square", Arg((2, 3)))
    yield from bad_matrices()


@eigh_of_triangle.sample
def _() -> Iterator[Sample]:
    for each in _symmetric_samples():
        yield Sample((*each.args, False), each.kwargs, each.error, each.match)


def _is_upper(name: str, UPLO: str) -> bool:
    if UPLO.upper() not in {"L", "U"}:
        raise ArgumentValueError(f"{name}: UPLO is 'L' or 'U', found {UPLO!r}")
    return UPLO.upper() == "U"


@composite(public=False)
def linalg_eigh(A: Tensor, UPLO: str = "L") -> Any:  # noqa: ANN401  # a named tuple
    """`(eigenvalues, eigenvectors)` of symmetric (Hermitian) matrices (..., N, N): A = V diag(L) Vᴴ.

    The values (..., N) are real and ascend, the vectors are the columns of V (..., N, N). Only one
    triangle is read, the lower one or, with `UPLO="U"`, the upper. Gradients are symmetric; those of
    vectors of equal values are infinite or NaN.

    >>> import tensorplay as tp
    >>> tp.linalg.eigh(tp.tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues
    tensor([2., 3.])
    """
    return Eigen(*eigh_of_triangle(A, _is_upper("eigh", UPLO)))


@composite(public=False)
def linalg_eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues (..., N), ascending, of symmetric (Hermitian) matrices (..., N, N); see `eigh`.

    >>> import tensorplay as tp
    >>> tp.linalg.eigvalsh(tp.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    values, _ = eigh_of_triangle(A, _is_upper("eigvalsh", UPLO))
    return values


@linalg_eigh.sample
@linalg_eigvalsh.sample
def _() -> Iterator[Sample]:
    yield from _symmetric_samples()
    yield sample(Arg((2, 2), values=[2.0, 1.0, 5.0, 3.0]), "U")
    yield bad(ArgumentValueError, "UPLO is", Arg((2, 2)), "X")


# ---- singular values --------------------------------------------------------------------------------


def _svd_meta(A: TensorMeta) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    batch, rows, columns = check_matrix("svd", A)
    rank = min(rows, columns)
    values = TensorMeta((*batch, rank), to_real(A.dtype), A.device)
    return like(A, *batch, rows, rank), values, like(A, *batch, rank, columns)


@structured(meta=_svd_meta, public=False, conjugates=True, batching=leading)
def linalg_svd_reduced(A: Array) -> tuple[Array, Array, Array]:
    """U (..., M, K), S (..., K), Vh (..., K, N) with A = U diag(S) Vh, K = min(M, N), S descending.

    With P = Uᴴ dA V and E_ij = S_j² - S_i²: dS = diag Re P, dU = U ((P S + S Pᴴ) / E) and
    dV = V ((S P + Pᴴ S) / E), and, where the matrix is not square, what dA moves out of the space
    of U or V, divided by S (J. Townsend, Differentiating the singular value decomposition, 2016).
    Vectors of complex matrices may turn together; i Im P / 2S of the turn is given to each side.
    """
    check_matrix("svd", A)
    U, S, Vh = lapack("svd", np.linalg.svd, A, full_matrices=False)
    return dense(U, A.dtype), dense(S, A.real.dtype), dense(Vh, A.dtype)


def _square_differences(S: Tensor) -> tuple[Tensor, Tensor]:
    """`S_j² - S_i²` as a product, with ones on the diagonal; and the mask without the diagonal."""
    diagonal = tp.eye(S.shape[-1], dtype=S.dtype)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    return (row - column) * (row + column) * (1 - diagonal) + diagonal, 1 - diagonal


def _turns(A: Tensor, S: Tensor) -> Tensor:
    """The diagonal matrix of `i Im(A_kk) / 2 S_k`."""
    return tp.diag_embed(tp.imag(A.diagonal(0, -2, -1)) / (2 * S) * 1j)


@linalg_svd_reduced.gradient("A")
def _(grads: tuple[Tensor | None, ...], results: tuple[Tensor, Tensor, Tensor]) -> Tensor | None:
    gU, gS, gVh = grads
    U, S, Vh = results
    parts: list[Tensor] = [] if gS is None else [tp.diag_embed(gS).to(U.dtype)]
    outside: list[Tensor] = []
    apart, mask = _square_differences(S)
    if gU is not None:
        turn = matmul(adjoint(U), gU)
        parts.append((turn - adjoint(turn)) * mask / apart * S.unsqueeze(-2))
        if turn.dtype.is_complex:
            parts.append(_turns(turn, S))
        if U.shape[-2] > U.shape[-1]:
            outside.append(matmul((gU - matmul(U, turn)) / S.unsqueeze(-2), Vh))
    if gVh is not None:
        turn = matmul(gVh, adjoint(Vh))  # (Vᴴ gV)ᴴ
        parts.append(S.unsqueeze(-1) * ((adjoint(turn) - turn) * mask / apart))
        if turn.dtype.is_complex:
            parts.append(_turns(turn, S))
        if Vh.shape[-1] > Vh.shape[-2]:
            outside.append(matmul(U, (gVh - matmul(turn, Vh)) / S.unsqueeze(-1)))
    if not parts:
        return None
    total = matmul(U, matmul(_sum(parts), Vh))
    return _sum([total, *outside])


def _sum(tensors: Sequence[Tensor]) -> Tensor:
    total = tensors[0]
    for each in tensors[1:]:
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
    left, right = matmul(dA, adjoint(Vh)), matmul(adjoint(U), dA)
    P = matmul(adjoint(U), left)
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    inner_U = (P * row + adjoint(P) * column) * mask / apart
    inner_V = adjoint((P * column + adjoint(P) * row) * mask / apart)
    if P.dtype.is_complex:
        turns = _turns(P, S)
        inner_U, inner_V = inner_U + turns, inner_V + turns
    dU, dVh = matmul(U, inner_U), matmul(inner_V, Vh)
    if U.shape[-2] > U.shape[-1]:
        dU = dU + (left - matmul(U, P)) / row
    if Vh.shape[-1] > Vh.shape[-2]:
        dVh = dVh + (right - matmul(P, Vh)) / column
    return dU, real_part(P.diagonal(0, -2, -1)), dVh


linalg_svd_reduced.sample(matrix_samples)


@composite(public=False)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: ANN401  # a named tuple
    """`(U, S, Vh)` with A = U[:, :K] diag(S) Vh[:K] of matrices (..., M, N), K = min(M, N).

    S (..., K) is real and descends; U is (..., M, M) and Vh (..., N, N), orthonormal, or, without
    `full_matrices`, (..., M, K) and (..., K, N). What the full ones have beyond that is some basis of
    the complement and carries no gradient. Signs are LAPACK's. `driver` chooses among cuSOLVER's
    methods, so that any is refused here (`ArgumentValueError`).

    >>> import tensorplay as tp
    >>> tp.linalg.svd(tp.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    _no_driver("svd", driver)
    U, S, Vh = linalg_svd_reduced(A)
    if full_matrices:
        if U.shape[-2] != U.shape[-1]:
            U = tp.cat((U, orthogonal_complement(U.detach())), -1)
        if Vh.shape[-2] != Vh.shape[-1]:
            rest = orthogonal_complement(adjoint(Vh.detach()))
            Vh = tp.cat((Vh, adjoint(rest)), -2)
    return SVD(U, S, Vh)


def _no_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise ArgumentValueError(f"{name}: driver= is for CUDA tensors, found {driver!r}")


@linalg_svd.sample
def _() -> Iterator[Sample]:
    yield sample(TALL, full_matrices=False)
    yield sample(WIDE, False)
    yield sample(SQUARE)
    yield bad(ArgumentValueError, "for CUDA", SQUARE, driver="gesvd")
    yield from bad_matrices()


@composite(public=False)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values (..., min(M, N)), descending, of matrices (..., M, N).

    >>> import tensorplay as tp
    >>> tp.linalg.svdvals(tp.tensor([[0.0, 2.0], [3.0, 0.0]]))
    tensor([3., 2.])
    """
    _no_driver("svdvals", driver)
    _, S, _ = linalg_svd_reduced(A)
    return S


linalg_svdvals.sample(matrix_samples)


# ---- under their older names -------------------------------------------------------------------------


@composite(method=True)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:  # noqa: ANN401  # a named tuple
    """`(U, S, V)` with input = U diag(S) Vᴴ: `linalg.svd`, with V; `some` asks for the reduced matrices.

    Without `compute_uv`, U and V are zeros.

    >>> import tensorplay as tp
    >>> tp.svd(tp.tensor([[0.0, 2.0], [3.0, 0.0]])).S
    tensor([3., 2.])
    """
    if not compute_uv:
        S = linalg_svdvals(input)
        rows, columns = ((*input.shape[:-2], n, n) for n in input.shape[-2:])
        return OldSVD(tp.zeros(rows, dtype=input.dtype), S, tp.zeros(columns, dtype=input.dtype))
    U, S, Vh = linalg_svd(input, not some)
    return OldSVD(U, S, adjoint(Vh))


@composite(method=True)
def qr(input: Tensor, some: bool = True) -> Any:  # noqa: ANN401  # a named tuple
    """`(Q, R)` of `linalg.qr`, reduced where `some`, else complete.

    >>> import tensorplay as tp
    >>> x = tp.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = tp.qr(x)
    >>> tp.allclose(q @ r, x)
    True
    """
    return linalg_qr(input, "reduced" if some else "complete")


@qr.sample
def _() -> Iterator[Sample]:
    yield sample(TALL)
    yield sample(WIDE, False)
    yield bad(ShapeError, "expected a matrix", Arg((3,)))


@svd.sample
def _() -> Iterator[Sample]:
    yield sample(TALL)
    yield sample(WIDE, False)
    yield sample(TALL, compute_uv=False)
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
