"""Eigenvalues and eigenvectors of general square matrices, complex also where the matrix is real.

>>> import tensorplay as tp
>>> tp.linalg.eigvals(tp.tensor([[0.0, -1.0], [1.0, 0.0]])).imag.abs()
tensor([1., 1.])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import int64, to_complex
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import adjoint, check_square, dense, lapack
from tensorplay.ops.library.linalg_inverse import solve_matrices
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import Eigen
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values, dtype_of

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _meta(A: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    batch, order = check_square("eig", A)
    dtype = to_complex(A.dtype)
    return (
        TensorMeta((*batch, order), dtype, A.device),
        TensorMeta((*batch, order, order), dtype, A.device),
    )


@structured(meta=_meta, public=False, conjugates=True, batching=leading)
def eigen_parts(A: Array) -> tuple[Array, Array]:
    """Eigenvalues (..., N) and eigenvectors, the columns (..., N, N) of length 1; `eig` names them.

    With M = V⁻¹ dA V, dL = diag M, and dV = V X - V diag Re(Vᴴ V X), where X_ij = M_ij / (L_j - L_i)
    with zeros on the diagonal: the second term keeps the lengths (C. Boeddeker et al., On the
    computation of complex-valued gradients with application to statistically optimum beamforming, 2017).
    """
    check_square("eig", A)
    dtype = to_complex(dtype_of(A)).numpy
    L, V = lapack("eig", np.linalg.eig, A)
    return dense(L, dtype), dense(V, dtype)


def _apart(L: Tensor) -> tuple[Tensor, Tensor]:
    """`L_j - L_i` with ones on the diagonal, and the mask without it."""
    diagonal = tp.eye(L.shape[-1], dtype=L.dtype)
    return L.unsqueeze(-2) - L.unsqueeze(-1) + diagonal, 1 - diagonal


@eigen_parts.gradient("A")
def _(grads: tuple[Tensor | None, Tensor | None], results: tuple[Tensor, Tensor]) -> Tensor | None:
    gL, gV = grads
    L, V = results
    inner = None if gL is None else tp.diag_embed(gL)
    if gV is not None:
        apart, mask = _apart(L)
        turn = matmul(adjoint(V), gV)
        lengths = tp.real(turn.diagonal(0, -2, -1)).unsqueeze(-2)
        turn = (turn - matmul(adjoint(V), V) * lengths) * mask / apart.conj()
        inner = turn if inner is None else inner + turn
    if inner is None:
        return None
    return solve_matrices(adjoint(V), matmul(inner, adjoint(V)))


@eigen_parts.tangent
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
    apart, mask = _apart(L)
    M = solve_matrices(V, matmul(dA.to(V.dtype), V))
    moved = matmul(V, M * mask / apart)
    lengths = tp.real((V.conj() * moved).sum(-2)).unsqueeze(-2)
    return M.diagonal(0, -2, -1), moved - V * lengths


@eigen_parts.sample
def _samples() -> Iterator[Sample]:
    yield sample(Arg((3, 3), values=[3.0, 1.0, 0.5, -1.0, 2.0, 0.3, 0.7, -0.4, 2.5]))
    yield sample(Arg((2, 2, 2), values=[3.0, 1.0, 0.5, -2.0, 1.0, 0.4, -0.3, 2.0]))
    yield sample(Arg((0, 3, 3)))
    yield bad(ShapeError, "square", Arg((2, 3)))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64))


@composite(public=False)
def linalg_eig(A: Tensor) -> Any:  # noqa: ANN401  # a named tuple
    """`(eigenvalues, eigenvectors)` of square matrices (..., N, N): A V = V diag(L), complex.

    The vectors are the columns of V (..., N, N), of length 1, up to a factor e^{iφ}; the values (..., N)
    stand in LAPACK's order. Derivatives are infinite or NaN where values coincide.

    >>> import tensorplay as tp
    >>> tp.linalg.eig(tp.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    tensor([2.+0.j, 3.+0.j])
    """
    return Eigen(*eigen_parts(A))


@composite(public=False)
def linalg_eigvals(A: Tensor) -> Tensor:
    """The eigenvalues (..., N) of square matrices (..., N, N), complex, in LAPACK's order; see `eig`.

    >>> import tensorplay as tp
    >>> tp.linalg.eigvals(tp.tensor([[0.0, -1.0], [1.0, 0.0]])).imag.sort().values
    tensor([-1.,  1.])
    """
    values, _ = eigen_parts(A)
    return values


linalg_eig.sample(_samples)
linalg_eigvals.sample(_samples)
