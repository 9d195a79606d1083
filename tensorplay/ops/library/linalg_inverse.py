"""Determinants, inverses and linear systems, over LAPACK's LU factorization.

>>> import tensorplay as tp
>>> A = tp.tensor([[2.0, 1.0], [1.0, 1.0]])
>>> tp.det(A), tp.linalg.solve(A, tp.tensor([3.0, 2.0]))
(tensor(1.), tensor([1., 1.]))

Derivatives follow M. Giles, Collected matrix derivative results for forward and reverse mode
algorithmic differentiation (2008), sections 2.2.3 to 2.3.1; they are written with operators, so
that they have derivatives in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import float64, int64, to_real
from tensorplay.core.errors import DTypeError, ShapeError
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
    scipy_linalg,
    turned,
)
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.library.windows import meta_of
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import SignLogabsdet
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_REGULAR = Arg((3, 3), values=[3.0, 1.0, 0.5, -1.0, 2.0, 0.3, 0.7, -0.4, 2.5])
_BATCH = Arg((2, 2, 2), values=[3.0, 1.0, 0.5, -2.0, 1.0, 0.4, -0.3, 2.0])
_EMPTY = Arg((0, 3, 3))


def _square_samples() -> Iterator[Sample]:
    yield sample(_REGULAR)
    yield sample(_BATCH)
    yield sample(Arg((2, 2), float64, layout="transposed", values=[2.0, 1.0, 0.5, 3.0]))
    yield sample(_EMPTY)
    yield sample(Arg((2, 0, 0)))
    yield bad(ShapeError, "square", Arg((2, 3)))
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64))


# ---- inverse --------------------------------------------------------------------------------------


def _inv_meta(A: TensorMeta) -> TensorMeta:
    batch, order = check_square("inv", A)
    return like(A, *batch, order, order)


@structured(meta=_inv_meta, public=False, batching=leading)
def linalg_inv(A: Array) -> Array:
    """The inverse of square matrices (..., N, N), float32 or float64.

    Singular matrices are refused with a `LinAlgError`. To apply an inverse to something,
    `solve` is quicker and more accurate.

    d(A⁻¹) = -A⁻¹ dA A⁻¹ (Giles 2008, 2.2.3).

    >>> import tensorplay as tp
    >>> tp.linalg.inv(tp.tensor([[2.0, 0.0], [1.0, 4.0]]))
    tensor([[ 0.5000,  0.0000],
            [-0.1250,  0.2500]])
    """
    check_square("inv", A)
    return dense(lapack("inv", np.linalg.inv, A), A.dtype)


@linalg_inv.gradient("A")
def _(grad: Tensor, result: Tensor) -> Tensor:
    return -matmul(turned(result), matmul(grad, turned(result)))


@linalg_inv.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, values
    tangent = tangents[0]
    return None if tangent is None else -matmul(result, matmul(tangent, result))


linalg_inv.sample(_square_samples)


@composite(method=True)
def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices (..., N, N): `linalg.inv` under its older name.

    >>> import tensorplay as tp
    >>> tp.inverse(tp.tensor([[2.0, 0.0], [1.0, 4.0]]))
    tensor([[ 0.5000,  0.0000],
            [-0.1250,  0.2500]])
    """
    return linalg_inv(input)


inverse.sample(_square_samples)


# ---- determinants -----------------------------------------------------------------------------------


def _det_meta(input: TensorMeta) -> TensorMeta:
    batch, _ = check_square("det", input)
    return like(input, *batch)


@structured(meta=_det_meta, method=True, batching=leading)
def det(input: Array) -> Array:
    """The determinants (...) of square matrices (..., N, N), float32 or float64; of N = 0, 1.

    d det A = ⟨cof A, dA⟩, the matrix of cofactors (Jacobi's formula; Giles 2008, 2.2.4), which
    exists for singular matrices too. Second derivatives need A⁻¹ and refuse singular matrices.

    >>> import tensorplay as tp
    >>> tp.det(tp.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_square("det", input)
    return dense(lapack("det", np.linalg.det, input), input.dtype)


@det.gradient("input")
def _(grad: Tensor, input: Tensor) -> Tensor:
    return grad.unsqueeze(-1).unsqueeze(-1) * linalg_cofactor(input)


@det.tangent
def _(
    operator: Operator, values: tuple[Any, ...], result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, result
    tangent = tangents[0]
    return None if tangent is None else (linalg_cofactor(values[0]) * tangent).sum((-2, -1))


det.sample(_square_samples)


def _cofactor_meta(A: TensorMeta) -> TensorMeta:
    batch, order = check_square("cofactor", A)
    return like(A, *batch, order, order)


@structured(meta=_cofactor_meta, public=False, batching=leading)
def linalg_cofactor(A: Array) -> Array:
    """The matrices of cofactors of (..., N, N): det(A) A⁻ᵀ where A is regular.

    From the singular values: cof(U S Vᴴ) = det(U) det(Vᴴ) conj(U cof(S) Vᴴ), where cof(S) has the
    products of all singular values but one, so that nothing is divided by zero.

    d cof A = ⟨A⁻ᵀ, dA⟩ cof A - A⁻ᵀ dAᵀ cof A (the product rule on det(A) A⁻ᵀ).
    """
    check_square("cofactor", A)
    order = A.shape[-1]
    U, S, Vh = lapack("cofactor", np.linalg.svd, A)
    others = np.where(np.eye(order, dtype=bool), S.dtype.type(1), S[..., None, :]).prod(-1)
    sign = np.linalg.det(U) * np.linalg.det(Vh)
    scaled = U.conj() * (sign[..., None] * others)[..., None, :]
    return dense(scaled @ Vh.conj(), A.dtype)


@linalg_cofactor.gradient("A")
def _(grad: Tensor, A: Tensor, result: Tensor) -> Tensor:
    M = turned(linalg_inv(A))
    scale = (grad * result).sum((-2, -1), keepdim=True)
    return M * scale - matmul(result, matmul(turned(grad), M))


@linalg_cofactor.tangent
def _(
    operator: Operator, values: tuple[Any, ...], result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator
    tangent = tangents[0]
    if tangent is None:
        return None
    M = turned(linalg_inv(values[0]))
    scale = (M * tangent).sum((-2, -1), keepdim=True)
    return result * scale - matmul(M, matmul(turned(tangent), result))


linalg_cofactor.sample(_square_samples)


def _slogdet_meta(input: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    batch, _ = check_square("slogdet", input)
    return like(input, *batch), TensorMeta(batch, to_real(input.dtype), input.device)


@structured(meta=_slogdet_meta, public=False, conjugates=True, batching=leading)
def slogdet_parts(A: Array) -> tuple[Array, Array]:
    """The sign and the logarithm of the absolute determinant; `slogdet` names them.

    With t = tr(A⁻¹ dA), d log|det A| = Re t and d sign = i sign Im t (Giles 2008, 2.2.4).
    """
    check_square("slogdet", A)
    sign, logabsdet = lapack("slogdet", np.linalg.slogdet, A)
    return dense(sign, A.dtype), dense(logabsdet, A.real.dtype)


@slogdet_parts.gradient("A")
def _(
    grads: tuple[Tensor | None, Tensor | None], A: Tensor, results: tuple[Tensor, Tensor]
) -> Tensor | None:
    turn, grad = grads
    weight = grad
    if turn is not None and turn.dtype.is_complex:
        around = tp.imag(turn.conj() * results[0])
        real = tp.zeros_like(around) if grad is None else grad
        weight = tp.complex(real, -around)
    if weight is None:
        return None
    return weight.unsqueeze(-1).unsqueeze(-1) * adjoint(linalg_inv(A))


@slogdet_parts.tangent
def _(
    operator: Operator,
    values: tuple[Any, ...],
    results: tuple[Tensor, Tensor],
    tangents: Sequence[Tensor | None],
) -> tuple[Tensor | None, Tensor | None]:
    del operator
    tangent = tangents[0]
    if tangent is None:
        return None, None
    slope = (turned(linalg_inv(values[0])) * tangent).sum((-2, -1))
    if not slope.dtype.is_complex:
        return tp.zeros_like(results[0]), slope
    return results[0] * 1j * tp.imag(slope), tp.real(slope)


slogdet_parts.sample(_square_samples)


@composite(method=True)
def slogdet(input: Tensor) -> Any:  # noqa: ANN401  # a named tuple
    """`(sign, logabsdet)` of square matrices (..., N, N): det = sign · exp(logabsdet) without its overflow.

    Of complex matrices the sign is a complex number of size 1; of singular ones the result is (0, -inf).

    >>> import tensorplay as tp
    >>> tp.slogdet(tp.tensor([[2.0, 0.0], [0.0, -3.0]])).sign
    tensor(-1.)
    """
    return SignLogabsdet(*slogdet_parts(input))


slogdet.sample(_square_samples)


@composite(method=True)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinants of square matrices (..., N, N): NaN where a real one is negative.

    >>> import tensorplay as tp
    >>> tp.logdet(tp.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor(1.7918)
    """
    sign, logabsdet = slogdet(input)
    if sign.dtype.is_complex:
        return sign.log() + logabsdet
    return tp.where(sign < 0, float("nan"), logabsdet)


@logdet.sample
def _() -> Iterator[Sample]:
    yield sample(_REGULAR)
    yield sample(_EMPTY)
    yield bad(ShapeError, "square", Arg((2, 3)))


# ---- systems -----------------------------------------------------------------------------------------


def _solve_shape(name: str, A: TensorMeta, B: TensorMeta) -> tuple[int, ...]:
    """The shape of X in A X = B, both matrices."""
    batch, order = check_square(name, A)
    other, rows, columns = check_matrix(name, B)
    check_dtype(name, A.dtype, B.dtype)
    if rows != order:
        msg = (
            f"{name}: shapes {A.shape} and {B.shape} do not fit: {order} unknowns, {rows} equations"
        )
        raise ShapeError(msg)
    return (*layout.broadcast_shapes(name, [batch, other]), order, columns)


def _solve_meta(A: TensorMeta, B: TensorMeta) -> TensorMeta:
    return like(A, *_solve_shape("solve", A, B))


@structured(meta=_solve_meta, public=False, batching=leading)
def solve_matrices(A: Array, B: Array) -> Array:
    """X with A X = B for matrices A (..., N, N) and B (..., N, K); `linalg.solve` takes the rest.

    dX = A⁻¹ (dB - dA X) (Giles 2008, 2.3.1).
    """
    _solve_shape("solve", meta_of(A), meta_of(B))
    return dense(lapack("solve", np.linalg.solve, A, B), A.dtype)


@solve_matrices.gradient("A", "B")
def _(grad: Tensor, A: Tensor, result: Tensor) -> tuple[Tensor, Tensor]:
    back = solve_matrices(turned(A), grad)
    return -matmul(back, turned(result)), back


@solve_matrices.tangent
def _(
    operator: Operator,
    values: tuple[Any, ...],
    result: Tensor,
    tangents: Sequence[Tensor | None],
) -> Tensor | None:
    del operator
    right = _right_side(tangents, result)
    if right is None:
        return None
    return solve_matrices(values[0], right.broadcast_to(result.shape))


def _right_side(tangents: Sequence[Tensor | None], result: Tensor) -> Tensor | None:
    """`dB - dA X`."""
    dA, dB = tangents
    if dA is None:
        return dB
    moved = matmul(dA, result)
    return -moved if dB is None else dB - moved


@solve_matrices.sample
def _() -> Iterator[Sample]:
    yield sample(_REGULAR, Arg((3, 2)))
    yield sample(_BATCH, Arg((2, 3), layout="transposed"))
    yield sample(Arg((2, 2), values=[2.0, 1.0, 0.5, 3.0]), Arg((3, 2, 1)))
    yield sample(_EMPTY, Arg((0, 3, 2)))
    yield sample(_REGULAR, Arg((3, 0)))
    yield bad(ShapeError, "square", Arg((2, 3)), Arg((2, 1)))
    yield bad(ShapeError, "do not fit", Arg((2, 2)), Arg((3, 1)))
    yield bad(DTypeError, "one dtype", Arg((2, 2)), Arg((2, 1), float64))


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """PyTorch's rule for right sides that are vectors."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])


@composite(public=False)
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B (`left`), or with X A = B; A (..., N, N), B (..., N, K) or vectors (..., N).

    B is seen as vectors where it is 1-d or has exactly the shape of A without the last size. Batch
    sizes broadcast. Singular matrices are refused with a `LinAlgError`.

    >>> import tensorplay as tp
    >>> tp.linalg.solve(tp.tensor([[2.0, 1.0], [1.0, 3.0]]), tp.tensor([3.0, 4.0]))
    tensor([1., 1.])
    """
    if B.ndim and _is_vector(A, B):
        return solve_matrices(A if left else turned(A), B.unsqueeze(-1)).squeeze(-1)
    if left:
        return solve_matrices(A, B)
    check_matrix("solve", A)
    check_matrix("solve", B)
    return turned(solve_matrices(turned(A), turned(B)))


@linalg_solve.sample
def _() -> Iterator[Sample]:
    yield sample(_REGULAR, Arg((3,)))
    yield sample(_REGULAR, Arg((3, 2)))
    yield sample(_BATCH, Arg((2, 2)))
    yield sample(_BATCH, Arg((2, 3, 2)), left=False)
    yield bad(ShapeError, "square", Arg((2, 3)), Arg((2,)))
    yield bad(ShapeError, "do not fit", Arg((2, 2)), Arg((3,)))


def _triangular_meta(A: TensorMeta, B: TensorMeta, upper: bool, unitriangular: bool) -> TensorMeta:
    del upper, unitriangular
    return like(A, *_solve_shape("solve_triangular", A, B))


@structured(meta=_triangular_meta, public=False, batching=leading)
def solve_triangle(A: Array, B: Array, upper: bool, unitriangular: bool = False) -> Array:
    """X with A X = B where one triangle of A is read; `linalg.solve_triangular` takes the rest.

    dX = A⁻¹ (dB - dA X), with the triangle of dA (Giles 2008, 2.3.1).
    """
    shape = _solve_shape("solve_triangular", meta_of(A), meta_of(B))
    solve = scipy_linalg("solve_triangular").solve_triangular
    left = np.broadcast_to(A, (*shape[:-2], *A.shape[-2:]))
    right = np.broadcast_to(B, shape)
    result = np.empty(shape, A.dtype)
    if result.size:
        for place in np.ndindex(*shape[:-2]):
            result[place] = lapack(
                "solve_triangular", solve, left[place], right[place],
                lower=not upper, unit_diagonal=unitriangular, check_finite=False,
            )  # fmt: skip
    return result


def _triangle(A: Tensor, *, upper: bool, unitriangular: bool) -> Tensor:
    """The part of A that is read."""
    edge = 1 if unitriangular else 0
    return A.triu(edge) if upper else A.tril(-edge)


@solve_triangle.gradient("A", "B")
def _(
    grad: Tensor, A: Tensor, result: Tensor, upper: bool, unitriangular: bool
) -> tuple[Tensor, Tensor]:
    back = solve_triangle(turned(A), grad, not upper, unitriangular)
    full = -matmul(back, turned(result))
    return _triangle(full, upper=upper, unitriangular=unitriangular), back


@solve_triangle.tangent
def _(
    operator: Operator,
    values: tuple[Any, ...],
    result: Tensor,
    tangents: Sequence[Tensor | None],
) -> Tensor | None:
    del operator
    A, _, upper, unitriangular = values
    dA, dB = tangents
    if dA is not None:
        dA = _triangle(dA, upper=upper, unitriangular=unitriangular)
    right = _right_side((dA, dB), result)
    if right is None:
        return None
    return solve_triangle(A, right.broadcast_to(result.shape), upper, unitriangular)


@solve_triangle.sample
def _() -> Iterator[Sample]:
    yield sample(_REGULAR, Arg((3, 2)), upper=True)
    yield sample(_BATCH, Arg((2, 3), layout="transposed"), upper=False)
    yield sample(_REGULAR, Arg((2, 3, 1)), upper=False, unitriangular=True)
    yield sample(_EMPTY, Arg((0, 3, 2)), upper=True)
    yield bad(ShapeError, "square", Arg((2, 3)), Arg((2, 1)), upper=True)
    yield bad(ShapeError, "do not fit", Arg((2, 2)), Arg((3, 1)), upper=True)


@composite(public=False)
def linalg_solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B (`left`), or with X A = B; only the `upper` or lower triangle of A is read.

    A (..., N, N), B (..., N, K), or (..., K, N) on the right; batch sizes broadcast.
    `unitriangular` takes the diagonal as ones. A zero on it is refused (`LinAlgError`).
    Needs SciPy.

    >>> import tensorplay as tp
    >>> tp.linalg.solve_triangular(tp.tensor([[1.0, 1.0], [0.0, 2.0]]), tp.tensor([[3.0], [4.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    if left:
        return solve_triangle(A, B, upper, unitriangular)
    check_matrix("solve_triangular", A)
    check_matrix("solve_triangular", B)
    return turned(solve_triangle(turned(A), turned(B), not upper, unitriangular))


@linalg_solve_triangular.sample
def _() -> Iterator[Sample]:
    yield sample(_REGULAR, Arg((3, 2)), upper=True)
    yield sample(_REGULAR, Arg((2, 3)), upper=False, left=False)
    yield bad(ShapeError, "expected a matrix", Arg((2, 2)), Arg((2,)), upper=True)
