"""What operators with several results return: named tuples with PyTorch's names of the fields.

>>> import tensorplay as tp
>>> tp.sort(tp.tensor([2.0, 1.0])).indices
tensor([1, 0])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


class ValuesIndices(NamedTuple):
    """Elements, and where they stand (max, sort, topk, median, mode, cummax, …)."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The least and the largest element (aminmax)."""

    min: Tensor
    max: Tensor


class QR(NamedTuple):
    """An orthonormal and an upper triangular factor."""

    Q: Tensor
    R: Tensor


class SVD(NamedTuple):
    """Left singular vectors, singular values, right singular vectors, conjugated and transposed."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class OldSVD(NamedTuple):
    """As `torch.svd` returns it: `V`, not its adjoint."""

    U: Tensor
    S: Tensor
    V: Tensor


class Eigen(NamedTuple):
    """Eigenvalues and eigenvectors (the columns)."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SignLogabsdet(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class LeastSquares(NamedTuple):
    """A solution of least squares, and what is known of it."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class PLU(NamedTuple):
    """A permutation, a unit lower and an upper triangular factor."""

    P: Tensor
    L: Tensor
    U: Tensor


class LUPivots(NamedTuple):
    """Both triangular factors in one matrix, and the exchanges of rows, counted from 1."""

    LU: Tensor
    pivots: Tensor


class LUPivotsInfo(NamedTuple):
    """`LUPivots`, and the first zero on the diagonal of U, counted from 1 (0 where there is none)."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class LDPivots(NamedTuple):
    """LAPACK's factors L and D in one matrix, and its pivots."""

    LD: Tensor
    pivots: Tensor


class LDPivotsInfo(NamedTuple):
    """`LDPivots`, and LAPACK's info."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


class LInfo(NamedTuple):
    """A Cholesky factor, and the order of the first minor that is not positive (0 where all are)."""

    L: Tensor
    info: Tensor


class InverseInfo(NamedTuple):
    """An inverse, and the first zero pivot, counted from 1 (0 where there is none)."""

    inverse: Tensor
    info: Tensor


class ResultInfo(NamedTuple):
    """A solution, and the first zero pivot, counted from 1 (0 where there is none)."""

    result: Tensor
    info: Tensor


class Solution(NamedTuple):
    """As `torch.triangular_solve` returns it: the solution and the matrix."""

    solution: Tensor
    cloned_coefficient: Tensor


class Reflectors(NamedTuple):
    """LAPACK's Householder vectors and R in one matrix, and their scales."""

    a: Tensor
    tau: Tensor
