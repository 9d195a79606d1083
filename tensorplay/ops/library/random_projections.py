"""Singular values and principal components of matrices of low rank, by random projections.

>>> import tensorplay as tp
>>> U, S, V = tp.svd_lowrank(tp.ones(4, 3), q=1)
>>> tp.allclose(U @ tp.diag(S) @ V.T, tp.ones(4, 3))
True

From N. Halko, P. Martinsson and J. Tropp, Finding structure with randomness, 2011, algorithms 4.4 and
5.1. Random numbers come from the default generator. Composites.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.linalg_checks import adjoint, check_matrix
from tensorplay.ops.library.linalg_spectral import TALL, WIDE, linalg_qr_reduced, linalg_svd_reduced
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _orthonormal(A: Tensor) -> Tensor:
    Q, _ = linalg_qr_reduced(A)
    return Q


def _range(A: Tensor, q: int, niter: int) -> Tensor:
    """An orthonormal basis (..., M, q) of nearly the range of A (..., M, N), after `niter` subspace iterations."""
    basis = _orthonormal(matmul(A, tp.randn((A.shape[-1], q), dtype=A.dtype)))
    for _ in range(niter):
        basis = _orthonormal(matmul(adjoint(A), basis))
        basis = _orthonormal(matmul(A, basis))
    return basis


def _check_rank(name: str, A: Tensor, q: int, niter: int) -> None:
    least = min(A.shape[-2:])
    if not 0 <= q <= least:
        raise ArgumentValueError(
            f"{name}: q must be from 0 to {least}, the least size, found {q}, for shape {tuple(A.shape)}"
        )
    if niter < 0:
        raise ArgumentValueError(f"{name}: niter must not be negative, found {niter}")


@composite(method=True)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Any:  # noqa: ANN401  # a tuple
    """`(U, S, V)` with A - M ≈ U diag(S) Vᴴ: the `q` largest singular values, nearly, of matrices (..., N, K).

    U is (..., N, q), S (..., q), V (..., K, q). The result is exact, up to rounding, where the rank is
    at most q; else it is the better, the more iterations there are and the faster the values fall. M
    broadcasts.

    >>> import tensorplay as tp
    >>> U, S, V = tp.svd_lowrank(tp.ones(4, 3), q=1)
    >>> U.shape, V.shape
    ((4, 1), (3, 1))
    """
    check_matrix("svd_lowrank", A)
    count, rounds = 6 if q is None else q, 2 if niter is None else niter
    _check_rank("svd_lowrank", A, count, rounds)
    if M is not None:
        A = A - M
    if A.shape[-2] < A.shape[-1]:  # of the adjoint, so that the basis is of the shorter side
        V, S, U = _projected(adjoint(A), count, rounds)
        return U, S, V
    return _projected(A, count, rounds)


def _projected(A: Tensor, q: int, niter: int) -> tuple[Tensor, Tensor, Tensor]:
    Q = _range(A, q, niter)
    U, S, Vh = linalg_svd_reduced(matmul(adjoint(Q), A))
    return matmul(Q, U), S, adjoint(Vh)


@composite(method=True)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:  # noqa: ANN401  # a tuple
    """`(U, S, V)` of `svd_lowrank` of matrices (..., N, K), of which the mean of each column is subtracted first.

    The columns of V are the principal directions of N observations, S² / (N - 1) their variances, nearly;
    A @ V are the components. `q` is 6 by default, or the least size; without `center` the mean stays.

    >>> import tensorplay as tp
    >>> _, S, _ = tp.pca_lowrank(tp.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)
    >>> S.round(decimals=3)
    tensor([1.4140])
    """
    check_matrix("pca_lowrank", A)
    count = min(6, *A.shape[-2:]) if q is None else q
    _check_rank("pca_lowrank", A, count, niter)
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, count, niter)


def _bad_samples() -> Iterator[Sample]:
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(ArgumentValueError, "q must be", TALL, 3)
    yield bad(ArgumentValueError, "niter", TALL, 1, niter=-1)


@svd_lowrank.sample
def _() -> Iterator[Sample]:
    yield sample(TALL, 2)
    yield sample(WIDE, 2, 1)
    yield sample(Arg((2, 4, 3)), 3, M=Arg((1, 3)))
    yield from _bad_samples()


@pca_lowrank.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((5, 3)), 3)
    yield sample(Arg((2, 3, 4)), 3, False, 1)
    yield from _bad_samples()
