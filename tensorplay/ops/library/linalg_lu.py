"""LU factorizations with row exchanges, systems solved with them.

>>> import tensorplay as tp
>>> P, L, U = tp.linalg.lu(tp.tensor([[0.0, 1.0], [2.0, 0.0]]))
>>> P @ L @ U
tensor([[0., 1.],
        [2., 0.]])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import int32, int64
from tensorplay.core.errors import DTypeError, LinAlgError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import (
    adjoint,
    check_dtype,
    check_matrix,
    check_square,
    like,
    turned,
)
from tensorplay.ops.library.linalg_inverse import solve_matrices, solve_triangle
from tensorplay.ops.library.linalg_spectral import SQUARE, TALL, WIDE
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.results import PLU, InverseInfo, LUPivots, LUPivotsInfo, ResultInfo
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_REGULAR = Arg((3, 3), values=[0.5, 1.0, 3.0, 3.0, 2.0, 0.3, 0.7, -2.4, 2.5])


def _factor_meta(A: TensorMeta, pivot: bool) -> tuple[TensorMeta, TensorMeta]:
    del pivot
    batch, rows, columns = check_matrix("lu_factor", A)
    rank = min(rows, columns)
    return like(A, *batch, rows, columns), TensorMeta((*batch, rank), int32, A.device)


@structured(meta=_factor_meta, public=False, batching=leading)
def lu_parts(A: Array, pivot: bool) -> tuple[Array, Array]:
    """L below and U on and above the diagonal in one matrix (..., M, N), and pivots (int32), counted from 1.

    Row i was exchanged with row pivots[i] in step i. With B = Pᵀ A = L U and M = L⁻¹ dB U⁻¹,
    dL = L M below the diagonal, dU = M U on and above it; what lies behind or below the square
    part follows from B₂ = L U₂ and B₂ = L₂ U.
    """
    batch, rows, columns = check_matrix("lu_factor", A)
    rank = min(rows, columns)
    LU, pivots = np.array(A, order="C"), np.zeros((*batch, rank), np.int32)
    for start in range(0, rank, _PANEL):
        stop = min(start + _PANEL, rank)
        for k in range(start, stop):
            if pivot:
                pivots[..., k] = _exchange(LU, k) + 1
            else:
                pivots[..., k] = k + 1
            top, below = LU[..., k, k, None], LU[..., k + 1 :, k]
            below[...] = below / np.where(top == 0, LU.dtype.type(1), top)
            LU[..., k + 1 :, k + 1 : stop] -= below[..., None] * LU[..., k, None, k + 1 : stop]
        for k in range(start, stop):  # the rows of U behind the panel
            rest = LU[..., k, None, stop:]
            LU[..., k + 1 : stop, stop:] -= LU[..., k + 1 : stop, k, None] * rest
        LU[..., stop:, stop:] -= LU[..., stop:, start:stop] @ LU[..., start:stop, stop:]
    return LU, pivots


_PANEL = 32
"""Columns that are eliminated one by one before a matrix product updates the rest."""


def _exchange(LU: Array, k: int) -> Array:
    """Exchange row k with that of the largest element below, by LAPACK's measure; the places of these."""
    column = LU[..., k:, k]
    size = np.abs(column.real) + np.abs(column.imag) if LU.dtype.kind == "c" else np.abs(column)
    place = np.asarray(size.argmax(-1) + k)
    index = np.broadcast_to(place[..., None, None], (*LU.shape[:-2], 1, LU.shape[-1]))
    chosen = np.take_along_axis(LU, index, -2)
    np.put_along_axis(LU, index, LU[..., k : k + 1, :].copy(), -2)
    LU[..., k : k + 1, :] = chosen
    return place


def _order_meta(pivots: TensorMeta, rows: int) -> TensorMeta:
    return TensorMeta((*pivots.shape[:-1], rows), int64, pivots.device)


@structured(
    meta=_order_meta, public=False, not_differentiable="its results are indices", batching=leading
)
def pivots_to_order(pivots: Array, rows: int) -> Array:
    """The order (..., rows) of the rows after the exchanges: row `order[i]` of A is row i of L U."""
    batch = pivots.shape[:-1]
    order = np.broadcast_to(np.arange(rows), (*batch, rows)).copy()
    for k in range(pivots.shape[-1]):
        place = pivots[..., k].astype(np.int64)[..., None] - 1
        other = np.take_along_axis(order, place, -1)
        np.put_along_axis(order, place, order[..., k : k + 1].copy(), -1)
        order[..., k : k + 1] = other
    return order


@pivots_to_order.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2,), int32, values=[2, 3]), 3)
    yield sample(Arg((2, 2), int32, values=[1, 2, 2, 2]), 2)


def _rows_in_order(A: Tensor, order: Tensor) -> Tensor:
    """The rows of matrices, taken in an order (..., rows)."""
    index = order.unsqueeze(-1).expand(A.shape)
    return A.gather(-2, index)


def _square_parts(LU: Tensor) -> tuple[Tensor, int]:
    rank = min(LU.shape[-2], LU.shape[-1])
    return LU.narrow(-2, 0, rank).narrow(-1, 0, rank), rank


def _over_L(LU: Tensor, B: Tensor) -> Tensor:
    """L⁻¹ B, for the unit lower triangle."""
    return solve_triangle(LU, B, False, True)


def _over_U(LU: Tensor, B: Tensor) -> Tensor:
    """B U⁻¹."""
    return turned(solve_triangle(turned(LU), turned(B), False))


@lu_parts.gradient("A")
def _(grads: tuple[Tensor | None, ...], results: tuple[Tensor, Tensor]) -> Tensor | None:
    grad, (LU, pivots) = grads[0], results
    if grad is None:
        return None
    rows, columns = LU.shape[-2], LU.shape[-1]
    square, rank = _square_parts(LU)
    G = grad.narrow(-2, 0, rank).narrow(-1, 0, rank)
    gL, gU = G.tril(-1), G.triu()
    rest: Tensor | None = None
    if columns > rank:
        U2 = LU.narrow(-1, rank, columns - rank)
        rest = solve_triangle(turned(square), grad.narrow(-1, rank, columns - rank), True, True)
        gL = gL - matmul(rest, turned(U2)).tril(-1)
    elif rows > rank:
        L2 = LU.narrow(-2, rank, rows - rank)
        rest = turned(solve_triangle(square, turned(grad.narrow(-2, rank, rows - rank)), True))
        gU = gU - matmul(turned(L2), rest).triu()
    L = square.tril(-1) + tp.eye(rank, dtype=LU.dtype)
    inner = matmul(turned(L), gL).tril(-1) + matmul(gU, turned(square.triu())).triu()
    found = solve_triangle(turned(square), inner, True, True)
    found = turned(solve_triangle(square, turned(found), True))
    if rest is not None:
        found = tp.cat((found, rest), -1 if columns > rank else -2)
    return _rows_in_order(found, pivots_to_order(pivots, rows).argsort(-1))


@lu_parts.tangent
def _(
    operator: Operator,
    values: tuple[Any, ...],
    results: tuple[Tensor, Tensor],
    tangents: Sequence[Tensor | None],
) -> tuple[Tensor | None, None]:
    del operator, values
    if tangents[0] is None:
        return None, None
    LU, pivots = results
    rows, columns = LU.shape[-2], LU.shape[-1]
    dB = _rows_in_order(tangents[0], pivots_to_order(pivots, rows))
    square, rank = _square_parts(LU)
    M = _over_U(square, _over_L(square, dB.narrow(-2, 0, rank).narrow(-1, 0, rank)))
    L = square.tril(-1) + tp.eye(rank, dtype=LU.dtype)
    dL, dU = matmul(L, M.tril(-1)), matmul(M.triu(), square.triu())
    found = dL + dU
    if columns > rank:
        U2 = LU.narrow(-1, rank, columns - rank)
        moved = dB.narrow(-1, rank, columns - rank) - matmul(dL, U2)
        found = tp.cat((found, _over_L(square, moved)), -1)
    elif rows > rank:
        L2 = LU.narrow(-2, rank, rows - rank)
        moved = dB.narrow(-2, rank, rows - rank) - matmul(L2, dU)
        found = tp.cat((found, _over_U(square, moved)), -2)
    return found, None


@lu_parts.sample
def _() -> Iterator[Sample]:
    for matrix in (_REGULAR, TALL, WIDE, SQUARE):
        yield sample(matrix, True)
    yield sample(SQUARE, False)
    yield sample(Arg((0, 3, 2)), True)
    yield bad(ShapeError, "expected a matrix", Arg((3,)), True)
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64), True)


def _zero_pivot(LU: Tensor) -> Tensor:
    """The first zero on the diagonal of U, counted from 1 (int32); 0 where there is none."""
    diagonal = LU.detach().diagonal(0, -2, -1)
    if not diagonal.shape[-1]:
        return tp.zeros(diagonal.shape[:-1], dtype=int32)
    zero = diagonal == 0
    first = zero.to(int64).argmax(-1) + 1
    return tp.where(zero.any(-1), first, 0).to(int32)


@composite(public=False)
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> Any:  # noqa: ANN401  # a named tuple
    """`(LU, pivots)` with Pᵀ A = L U: both triangles in one matrix (..., M, N), as `lu_solve` takes them.

    `pivots` (int32, counted from 1) are the exchanges of rows; without `pivot` there are none, and a
    zero on the diagonal leaves infinities.

    >>> import tensorplay as tp
    >>> tp.linalg.lu_factor(tp.tensor([[1.0, 2.0], [2.0, 1.0]]))
    LUPivots(LU=tensor([[2.0000, 1.0000],
            [0.5000, 1.5000]]), pivots=tensor([2, 2], dtype=tensorplay.int32))
    """
    return LUPivots(*lu_parts(A, pivot))


@composite(public=False)
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(LU, pivots, info)`: `lu_factor`, and the first zero on the diagonal of U, counted from 1, or 0.

    With `check_errors` such a matrix is refused (`LinAlgError`).

    >>> import tensorplay as tp
    >>> tp.linalg.lu_factor_ex(tp.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=tensorplay.int32)
    """
    LU, pivots = lu_parts(A, pivot)
    info = _zero_pivot(LU)
    if check_errors:
        _refuse_zero_pivots("lu_factor_ex", info)
    return LUPivotsInfo(LU, pivots, info)


def _refuse_zero_pivots(name: str, info: Tensor) -> None:
    if bool((info != 0).any()):
        raise LinAlgError(f"{name}: U has a zero on its diagonal: the matrix is singular")


@composite(public=False)
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:  # noqa: ANN401  # a named tuple
    """`(P, L, U)` with A = P L U of matrices (..., M, N): P (..., M, M), L (..., M, K), U (..., K, N).

    K = min(M, N). P is a permutation, empty without `pivot`; L has ones on the diagonal.

    >>> import tensorplay as tp
    >>> tp.linalg.lu(tp.tensor([[2.0, 1.0], [1.0, 1.0]])).U
    tensor([[2.0000, 1.0000],
            [0.0000, 0.5000]])
    """
    LU, pivots = lu_parts(A, pivot)
    P, L, U = lu_unpack(LU, pivots)
    return PLU(P if pivot else tp.zeros((0,), dtype=A.dtype), L, U)


@composite(method=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:  # noqa: ANN401  # a tuple
    """`(LU, pivots)` of `linalg.lu_factor`, and with `get_infos` also the info of `linalg.lu_factor_ex`.

    >>> import tensorplay as tp
    >>> LU, pivots = tp.lu(tp.tensor([[1.0, 2.0], [2.0, 1.0]]))
    >>> pivots
    tensor([2, 2], dtype=tensorplay.int32)
    """
    LU, pivots, info = linalg_lu_factor_ex(A, pivot=pivot)
    return (LU, pivots, info) if get_infos else (LU, pivots)


@lu.sample
def _() -> Iterator[Sample]:
    yield sample(_REGULAR)
    yield sample(TALL, True, True)
    yield bad(ShapeError, "expected a matrix", Arg((3,)))


@composite(public=True)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:  # noqa: ANN401  # a named tuple
    """`(P, L, U)` from `lu_factor`'s results; what is not asked for is an empty tensor.

    >>> import tensorplay as tp
    >>> LU, pivots = tp.linalg.lu_factor(tp.tensor([[1.0, 2.0], [2.0, 1.0]]))
    >>> P, L, U = tp.lu_unpack(LU, pivots)
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 1.]])
    """
    _, rows, columns = check_matrix("lu_unpack", LU_data)
    rank = min(rows, columns)
    nothing = tp.zeros((0,), dtype=LU_data.dtype)
    P, L, U = nothing, nothing, nothing
    if unpack_pivots:
        order = pivots_to_order(LU_pivots, rows)
        P = (order.unsqueeze(-2) == tp.arange(rows).unsqueeze(-1)).to(LU_data.dtype)
    if unpack_data:
        L = LU_data.narrow(-1, 0, rank).tril(-1) + tp.eye(rows, rank, dtype=LU_data.dtype)
        U = LU_data.narrow(-2, 0, rank).triu()
    return PLU(P, L, U)


@linalg_lu_factor.sample
@linalg_lu_factor_ex.sample
@linalg_lu.sample
def _() -> Iterator[Sample]:
    for matrix in (_REGULAR, TALL, WIDE, SQUARE):
        yield sample(matrix)
    yield sample(SQUARE, pivot=False)
    yield bad(ShapeError, "expected a matrix", Arg((3,)))


@lu_unpack.sample
def _() -> Iterator[Sample]:
    yield sample(TALL, Arg((2,), int32, values=[2, 3]))
    yield sample(WIDE, Arg((2,), int32, values=[1, 2]), unpack_pivots=False)
    yield bad(ShapeError, "expected a matrix", Arg((3,)), Arg((2,), int32))


@composite(public=False)
def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X with A X = B, or with X A = B without `left`, for the A of `lu_factor`; with `adjoint`, for its adjoint.

    LU (..., N, N), pivots (..., N), B (..., N, K), or (..., K, N) on the right.

    >>> import tensorplay as tp
    >>> LU, pivots = tp.linalg.lu_factor(tp.tensor([[0.0, 1.0], [2.0, 0.0]]))
    >>> tp.linalg.lu_solve(LU, pivots, tp.tensor([[3.0], [4.0]]))
    tensor([[2.],
            [3.]])
    """
    _, order = check_square("lu_solve", LU)
    check_matrix("lu_solve", B)
    check_dtype("lu_solve", LU.dtype, B.dtype)
    if not left:  # X A = B is Aᴴ Xᴴ = Bᴴ
        found = linalg_lu_solve(LU, pivots, _adjoint(B), adjoint=not adjoint)
        return _adjoint(found)
    rows = pivots_to_order(pivots, order)
    shape = layout.broadcast_shapes("lu_solve", [LU.shape[:-2], B.shape[:-2]])
    rows = rows.expand((*shape, order))
    if not adjoint:
        taken = _rows_in_order(B.expand((*shape, *B.shape[-2:])), rows)
        return solve_triangle(LU, solve_triangle(LU, taken, False, True), True)
    inner = solve_triangle(_adjoint(LU), B, False)
    found = solve_triangle(_adjoint(LU), inner, True, True)
    return _rows_in_order(found.expand((*shape, *B.shape[-2:])), rows.argsort(-1))


_adjoint = adjoint  # linalg_lu_solve has a parameter of that name


@composite(method=True)
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """`linalg.lu_solve` with the right side first.

    >>> import tensorplay as tp
    >>> LU, pivots = tp.linalg.lu_factor(tp.tensor([[2.0, 1.0], [1.0, 3.0]]))
    >>> tp.lu_solve(tp.tensor([[3.0], [4.0]]), LU, pivots)
    tensor([[1.],
            [1.]])
    """
    return linalg_lu_solve(LU_data, LU_pivots, input)


_TWO = Arg((2,), int32, values=[2, 2])


@linalg_lu_solve.sample
def _() -> Iterator[Sample]:
    matrix = Arg((2, 2), values=[2.0, 1.0, 0.5, 3.0])
    yield sample(matrix, _TWO, Arg((2, 3)))
    yield sample(matrix, _TWO, Arg((3, 2)), left=False)
    yield sample(matrix, _TWO, Arg((4, 2, 1)), adjoint=True)
    yield sample(matrix, _TWO, Arg((3, 2)), left=False, adjoint=True)
    yield bad(ShapeError, "square", Arg((2, 3)), _TWO, Arg((2, 1)))


@lu_solve.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), Arg((2, 2), values=[2.0, 1.0, 0.5, 3.0]), _TWO)
    yield bad(ShapeError, "square", Arg((2, 1)), Arg((2, 3)), _TWO)


# ---- without errors ------------------------------------------------------------------------------------


@composite(public=False)
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:  # noqa: ANN401  # a named tuple
    """`(inverse, info)`: where `info` (int32) is not 0, the matrix is singular and its inverse infinite or NaN.

    With `check_errors` such a matrix is refused (`LinAlgError`).

    >>> import tensorplay as tp
    >>> tp.linalg.inv_ex(tp.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=tensorplay.int32)
    """
    _, order = check_square("inv_ex", A)
    eye = tp.eye(order, dtype=A.dtype).expand(A.shape)
    return InverseInfo(*_solved("inv_ex", A, eye, check_errors=check_errors))


@composite(public=False)
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:  # noqa: ANN401  # a named tuple
    """`(result, info)` of `linalg.solve`: where `info` (int32) is not 0, the matrix is singular, the result NaN.

    With `check_errors` such a matrix is refused (`LinAlgError`).

    >>> import tensorplay as tp
    >>> tp.linalg.solve_ex(tp.tensor([[1.0, 2.0], [2.0, 4.0]]), tp.tensor([3.0, 4.0])).info
    tensor(2, dtype=tensorplay.int32)
    """
    check_square("solve_ex", A)
    is_vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if is_vector else B
    if not left and not is_vector:
        right = turned(right)
    found, info = _solved("solve_ex", A if left else turned(A), right, check_errors=check_errors)
    if is_vector:
        return ResultInfo(found.squeeze(-1), info)
    return ResultInfo(found if left else turned(found), info)


def _solved(name: str, A: Tensor, B: Tensor, *, check_errors: bool) -> tuple[Tensor, Tensor]:
    LU, _ = lu_parts(A.detach(), True)
    info = _zero_pivot(LU)
    if check_errors:
        _refuse_zero_pivots(name, info)
    marks = (info != 0).unsqueeze(-1).unsqueeze(-1)
    safe = tp.where(marks, tp.eye(A.shape[-1], dtype=A.dtype), A)
    return tp.where(marks, float("nan"), solve_matrices(safe, B)), info


@linalg_inv_ex.sample
def _() -> Iterator[Sample]:
    yield sample(SQUARE)
    yield sample(Arg((2, 2), values=[1.0, 2.0, 2.0, 4.0]))
    yield bad(ShapeError, "square", TALL)


@linalg_solve_ex.sample
def _() -> Iterator[Sample]:
    yield sample(SQUARE, Arg((2, 2)))
    yield sample(SQUARE, Arg((2, 3, 2)), left=False)
    yield bad(ShapeError, "square", TALL, Arg((3,)))
