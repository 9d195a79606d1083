"""LDL factorizations of symmetric and Hermitian matrices, positive or not, and systems solved with them.

>>> import tensorplay as tp
>>> LD, pivots = tp.linalg.ldl_factor(tp.tensor([[0.0, 1.0], [1.0, 0.0]]))
>>> tp.linalg.ldl_solve(LD, pivots, tp.tensor([[3.0], [4.0]]))
tensor([[4.],
        [3.]])

The form is LAPACK's (J. Bunch and L. Kaufman, Some stable methods for calculating inertia and solving
symmetric linear systems, 1977): D has blocks of order 1 and 2 on its diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core import layout
from tensorplay.core.dtypes import float64, int32, int64
from tensorplay.core.errors import ArgumentValueError, DTypeError, LinAlgError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import (
    check_dtype,
    check_matrix,
    check_square,
    like,
    scipy_linalg,
)
from tensorplay.ops.library.windows import meta_of
from tensorplay.ops.results import LDPivots, LDPivotsInfo
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_LAPACKS = "its results are LAPACK's; linalg.solve has derivatives"


def _routine(name: str, array: Array, hermitian: bool) -> Any:  # noqa: ANN401  # a function of LAPACK
    """LAPACK's `sytrf` or `sytrs`, or those of Hermitian matrices, for a dtype."""
    kind = "he" if hermitian and array.dtype.kind == "c" else "sy"
    (found,) = scipy_linalg(name).get_lapack_funcs((kind + name,), (array,))
    return found


def _factor_meta(
    A: TensorMeta, hermitian: bool, check_errors: bool
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    del hermitian, check_errors
    batch, order = check_square("ldl_factor", A)
    pivots, info = ((*batch, order), batch)
    return (
        like(A, *batch, order, order),
        TensorMeta(pivots, int32, A.device),
        TensorMeta(info, int32, A.device),
    )


@structured(meta=_factor_meta, public=False, not_differentiable=_LAPACKS, batching=leading)
def ldl_parts(A: Array, hermitian: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """L and D in one lower triangle (..., N, N), pivots (..., N) and LAPACK's info (...), both int32.

    The lower triangle of A is read. Needs SciPy.
    """
    batch, order = check_square("ldl_factor", A)
    LD, pivots = np.zeros(A.shape, A.dtype), np.zeros((*batch, order), np.int32)
    info = np.zeros(batch, np.int32)
    if order:
        factor = _routine("trf", A, hermitian)
        for place in np.ndindex(*batch):
            whole, pivots[place], info[place] = factor(A[place], lower=1)
            LD[place] = np.tril(whole)
    if check_errors and info.any():
        raise LinAlgError("ldl_factor: D has a zero block on its diagonal: the matrix is singular")
    return LD, pivots, info


@ldl_parts.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 3), values=[4.0, 1.0, 0.5, 1.0, -3.0, -0.6, 0.5, -0.6, 2.0]), False, True)
    yield sample(Arg((2, 2, 2), float64), True, False)
    yield sample(Arg((0, 3, 3)), False, True)
    yield bad(ShapeError, "square", Arg((2, 3)), False, False)
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64), False, False)


@composite(public=False, not_differentiable=_LAPACKS)
def linalg_ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:  # noqa: ANN401  # a named tuple
    """`(LD, pivots)` of symmetric, or of `hermitian`, matrices (..., N, N), as `ldl_solve` takes them.

    Of A the lower triangle is read. Pivots (int32, counted from 1) are negative, twice, where D has a
    block of order 2. A singular matrix is refused (`LinAlgError`). Needs SciPy.

    >>> import tensorplay as tp
    >>> tp.linalg.ldl_factor(tp.tensor([[4.0, 2.0], [2.0, 3.0]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 2.0000]])
    """
    LD, pivots, _ = ldl_parts(A, hermitian, True)
    return LDPivots(LD, pivots)


@composite(public=False, not_differentiable=_LAPACKS)
def linalg_ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    """`(LD, pivots, info)`: `ldl_factor`, and the first zero block of D (int32), counted from 1, or 0.

    With `check_errors` such a matrix is refused (`LinAlgError`).

    >>> import tensorplay as tp
    >>> tp.linalg.ldl_factor_ex(tp.zeros(2, 2)).info
    tensor(1, dtype=tensorplay.int32)
    """
    return LDPivotsInfo(*ldl_parts(A, hermitian, check_errors))


@linalg_ldl_factor.sample
@linalg_ldl_factor_ex.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 3), values=[4.0, 1.0, 0.5, 1.0, -3.0, -0.6, 0.5, -0.6, 2.0]))
    yield sample(
        Arg((2, 2, 2), float64, values=[2.0, 1.0, 1.0, -3.0, 0.5, 4.0, 4.0, 1.0]), hermitian=True
    )
    yield bad(ShapeError, "square", Arg((2, 3)))


def _solve_meta(LD: TensorMeta, pivots: TensorMeta, B: TensorMeta, hermitian: bool) -> TensorMeta:
    del hermitian
    batch, order = check_square("ldl_solve", LD)
    if pivots.dtype is not int32 or pivots.shape != LD.shape[:-1]:
        raise ShapeError(
            f"ldl_solve: expected int32 pivots of shape {LD.shape[:-1]}, found {pivots.dtype} of shape {pivots.shape}"
        )
    other, rows, columns = check_matrix("ldl_solve", B)
    check_dtype("ldl_solve", LD.dtype, B.dtype)
    if rows != order:
        raise ShapeError(
            f"ldl_solve: shapes {LD.shape} and {B.shape} do not fit: {order} unknowns, {rows} equations"
        )
    return like(B, *layout.broadcast_shapes("ldl_solve", [batch, other]), rows, columns)


def _check_pivots(pivots: Array) -> None:
    """Refuse what `ldl_factor` can't have given: LAPACK would follow it out of the matrix."""
    order = pivots.shape[-1]
    for each in pivots.reshape(-1, order).tolist():
        k = 0
        while k < order:
            is_pair = each[k] < 0
            fits = 1 <= abs(each[k]) <= order
            if not fits or (is_pair and each[k : k + 2] != [each[k]] * 2):
                raise ArgumentValueError(
                    f"ldl_solve: expected pivots of ldl_factor, from 1 to {order} or pairs of negative ones, found {each}"
                )
            k += 1 + is_pair


@structured(meta=_solve_meta, public=False, not_differentiable=_LAPACKS)
def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, *, hermitian: bool = False) -> Array:
    """X (..., N, K) with A X = B (..., N, K), for the A of `ldl_factor`. Batch sizes broadcast. Needs SciPy.

    >>> import tensorplay as tp
    >>> LD, pivots = tp.linalg.ldl_factor(tp.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> tp.linalg.ldl_solve(LD, pivots, tp.tensor([[6.0], [5.0]]))
    tensor([[1.],
            [1.]])
    """
    meta = _solve_meta(meta_of(LD), meta_of(pivots), meta_of(B), hermitian)
    batch = meta.shape[:-2]
    result = np.empty(meta.shape, B.dtype)
    if not result.size:
        return result
    _check_pivots(pivots)
    solve = _routine("trs", B, hermitian)
    factors = np.broadcast_to(LD, (*batch, *LD.shape[-2:]))
    exchanges = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    right = np.broadcast_to(B, meta.shape)
    for place in np.ndindex(*batch):
        result[place], _ = solve(factors[place], exchanges[place], right[place], lower=1)
    return result


@linalg_ldl_solve.sample
def _() -> Iterator[Sample]:
    factor = Arg((2, 2), values=[4.0, 0.0, 0.5, 2.0])
    pivots = Arg((2,), int32, values=[1, 2])
    yield sample(factor, pivots, Arg((2, 3)))
    yield sample(factor, pivots, Arg((3, 2, 1), layout="transposed"), hermitian=True)
    yield sample(factor, Arg((2,), int32, values=[-2, -2]), Arg((2, 1)))
    yield bad(ShapeError, "do not fit", factor, pivots, Arg((3, 1)))
    yield bad(ShapeError, "square", Arg((2, 3)), pivots, Arg((2, 1)))
    yield bad(ShapeError, "expected int32 pivots", factor, Arg((2,), int64), Arg((2, 1)))
