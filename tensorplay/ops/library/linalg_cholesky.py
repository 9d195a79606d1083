"""Cholesky factors, and systems solved with them.

>>> import tensorplay as tp
>>> tp.linalg.cholesky(tp.tensor([[4.0, 2.0], [2.0, 2.0]]))
tensor([[2., 0.],
        [1., 1.]])

Of the matrices only one triangle is read. Gradients are those of symmetric (Hermitian) changes, and
symmetric themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import float64, int32, int64
from tensorplay.core.errors import DTypeError, ShapeError
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
)
from tensorplay.ops.library.linalg_inverse import solve_triangle
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import LInfo
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _cholesky_meta(A: TensorMeta) -> TensorMeta:
    batch, order = check_square("cholesky", A)
    return like(A, *batch, order, order)


@structured(meta=_cholesky_meta, public=False, conjugates=True, batching=leading)
def cholesky_factor(A: Array) -> Array:
    """The lower triangular L with L Lᴴ = A for matrices (..., N, N), of which the lower triangle is read.

    dL = L Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal (I. Murray,
    Differentiation of the Cholesky decomposition, 2016).
    """
    check_square("cholesky", A)
    return dense(lapack("cholesky", np.linalg.cholesky, A), A.dtype)


def _half_triangle(A: Tensor) -> Tensor:
    """The lower triangle, with half of the diagonal: Φ."""
    return (A.tril() + A.tril(-1)) / 2


@cholesky_factor.gradient("A")
def _(grad: Tensor, result: Tensor) -> Tensor:
    middle = matmul(adjoint(result), grad.tril()).tril()
    both = _hermitian_half(middle)
    right = adjoint(solve_triangle(adjoint(result), adjoint(both), True))  # both L⁻¹
    return solve_triangle(adjoint(result), right, True)


def _hermitian_half(A: Tensor) -> Tensor:
    """`(Φ(A) + Φ(A)ᴴ) / 2` of a lower triangle: half of it on both sides, half of the real diagonal."""
    half = _half_triangle(A)
    return (half + adjoint(half)) / 2


@cholesky_factor.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, values
    tangent = tangents[0]
    if tangent is None:
        return None
    both = (tangent + adjoint(tangent)) / 2
    left = solve_triangle(result, both, False)
    return matmul(result, _half_triangle(solve_triangle(result, adjoint(left), False)))


_POSITIVE = Arg((3, 3), values=[4.0, 1.0, 0.5, 1.0, 3.0, -0.6, 0.5, -0.6, 2.0])
_POSITIVES = Arg((2, 2, 2), values=[2.0, 0.5, 0.5, 1.0, 3.0, -1.0, -1.0, 4.0])
_FACTOR = Arg((2, 2), values=[2.0, 0.0, 0.5, 1.0])


@cholesky_factor.sample
def _positive_samples() -> Iterator[Sample]:
    yield sample(_POSITIVE)
    yield sample(_POSITIVES)
    yield sample(Arg((0, 3, 3)))
    yield bad(ShapeError, "square", Arg((2, 3)))
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64))


@composite(method=True)
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular factor of symmetric (Hermitian) positive definite matrices A (..., N, N).

    The lower one L with L Lᴴ = A, or the `upper` one U with Uᴴ U = A; only that triangle of A is read.
    A matrix that is not positive definite is refused with a `LinAlgError`.

    >>> import tensorplay as tp
    >>> tp.cholesky(tp.tensor([[9.0]]))
    tensor([[3.]])
    """
    if not upper:
        return cholesky_factor(input)
    check_square("cholesky", input)
    return adjoint(cholesky_factor(adjoint(input)))


@composite(public=False)
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular factor of symmetric (Hermitian) positive definite matrices: see `cholesky`.

    >>> import tensorplay as tp
    >>> tp.linalg.cholesky(tp.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return cholesky(A, upper)


@cholesky.sample
@linalg_cholesky.sample
def _() -> Iterator[Sample]:
    yield sample(_POSITIVE)
    yield sample(_POSITIVES, upper=True)
    yield bad(ShapeError, "square", Arg((2, 3)))


# ---- without errors ---------------------------------------------------------------------------------


def _order_meta(A: TensorMeta) -> TensorMeta:
    batch, _ = check_square("cholesky_ex", A)
    return TensorMeta(batch, int32, A.device)


@structured(
    meta=_order_meta, public=False, not_differentiable="its result is an index", batching=leading
)
def cholesky_failure(A: Array) -> Array:
    """The order of the first leading minor that is not positive (int32), 0 for positive definite matrices."""
    batch, order = check_square("cholesky_ex", A)
    found = np.zeros(batch, np.int32)
    for place in np.ndindex(*batch):
        found[place] = _failure(A[place], order)
    return found


def _failure(A: Array, order: int) -> int:
    """By bisection: leading parts of positive definite matrices are positive definite."""
    low, high = 0, order + 1
    if _is_positive(A):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_positive(A[:middle, :middle]) else (low, middle)
    return high


def _is_positive(A: Array) -> bool:
    try:
        np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return False
    return True


cholesky_failure.sample(_positive_samples)


@composite(public=False)
def linalg_cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(L, info)`: the Cholesky factor, and where `info` (int32) is not 0, the order of a minor that is not positive.

    There the factor is NaN. With `check_errors` such a matrix is refused, as `cholesky` does.

    >>> import tensorplay as tp
    >>> tp.linalg.cholesky_ex(tp.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=tensorplay.int32)
    """
    info = cholesky_failure(adjoint(A) if upper else A)
    if check_errors:
        return LInfo(cholesky(A, upper), info)
    bad_ones = (info != 0).unsqueeze(-1).unsqueeze(-1)
    safe = tp.where(bad_ones, tp.eye(A.shape[-1], dtype=A.dtype), A)
    return LInfo(cholesky(safe, upper).masked_fill(bad_ones, float("nan")), info)


@linalg_cholesky_ex.sample
def _() -> Iterator[Sample]:
    yield sample(_POSITIVE)
    yield sample(_POSITIVES, upper=True)
    yield sample(Arg((2, 2), values=[1.0, 2.0, 2.0, 1.0]))
    yield bad(ShapeError, "square", Arg((2, 3)))


# ---- systems ----------------------------------------------------------------------------------------


@composite(method=True)
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = `input` (..., N, K), where `input2` is the Cholesky factor of A, lower or `upper`.

    >>> import tensorplay as tp
    >>> tp.cholesky_solve(tp.tensor([[8.0]]), tp.tensor([[2.0]]))
    tensor([[2.]])
    """
    check_square("cholesky_solve", input2)
    check_matrix("cholesky_solve", input)
    lower = adjoint(input2) if upper else input2
    return solve_triangle(adjoint(lower), solve_triangle(lower, input, False), True)


@composite(method=True)
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, where `input` is its Cholesky factor, lower or `upper`.

    >>> import tensorplay as tp
    >>> tp.cholesky_inverse(tp.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    check_square("cholesky_inverse", input)
    return cholesky_solve(tp.eye(input.shape[-1], dtype=input.dtype), input, upper)


@cholesky_solve.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), _FACTOR)
    yield sample(Arg((2, 2, 1), float64), Arg((2, 2), float64, layout="transposed", values=[2.0, 0.0, 0.5, 1.0]), True)  # fmt: skip
    yield bad(ShapeError, "do not fit", Arg((3, 1)), _FACTOR)


@cholesky_inverse.sample
def _() -> Iterator[Sample]:
    yield sample(_FACTOR)
    yield sample(Arg((2, 2), layout="transposed", values=[2.0, 0.0, 0.5, 1.0]), upper=True)
    yield bad(ShapeError, "square", Arg((2, 3)))
