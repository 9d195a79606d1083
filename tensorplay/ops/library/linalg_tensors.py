"""Linear algebra of tensors seen as matrices, and a few products.

>>> import tensorplay as tp
>>> tp.linalg.vecdot(tp.tensor([1.0, 2.0]), tp.tensor([3.0, 4.0]))
tensor(11.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.errors import ArgumentValueError, DimensionError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.linalg_inverse import linalg_inv, linalg_solve, solve_triangle
from tensorplay.ops.registry import tp
from tensorplay.ops.results import Solution
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- tensors as matrices --------------------------------------------------------------------------------


@composite(public=False)
def linalg_tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of `A` seen as a matrix: its first `ind` dimensions are the rows, the others the columns.

    The result has the dimensions of the columns first.

    >>> import tensorplay as tp
    >>> tp.linalg.tensorinv(tp.eye(4).reshape(2, 2, 4)).shape
    (4, 2, 2)
    """
    if ind <= 0:
        raise ArgumentValueError(f"tensorinv: ind must be positive, found {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(
            f"tensorinv: rows {rows} and columns {columns} must have equally many elements"
        )
    return linalg_inv(A.reshape((math.prod(rows), math.prod(columns)))).reshape((*columns, *rows))


@composite(public=False)
def linalg_tensorsolve(A: Tensor, B: Tensor, dims: Dims = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first.

    >>> import tensorplay as tp
    >>> tp.linalg.tensorsolve(tp.eye(4).reshape(2, 2, 4), tp.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        ends = layout.normalize_dims(
            "tensorsolve", (dims,) if isinstance(dims, int) else dims, A.ndim
        )
        A = A.permute([*(d for d in range(A.ndim) if d not in ends), *ends])
    columns = tuple(A.shape[B.ndim :])
    if math.prod(columns) != B.numel():
        raise ShapeError(
            f"tensorsolve: A of shape {tuple(A.shape)} is no square matrix with the rows of B, {tuple(B.shape)}"
        )
    matrix = A.reshape((B.numel(), math.prod(columns)))
    return linalg_solve(matrix, B.reshape((B.numel(),))).reshape(columns)


@linalg_tensorinv.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 1, 2), values=[2.0, 1.0, 0.5, 3.0]), 1)
    yield sample(Arg((2, 1, 2), values=[2.0, 1.0, 0.5, 3.0]))
    yield bad(ShapeError, "equally many", Arg((2, 3)), 1)
    yield bad(ArgumentValueError, "positive", Arg((2, 2)), 0)


@linalg_tensorsolve.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 1, 2), values=[2.0, 1.0, 0.5, 3.0]), Arg((2, 1)))
    yield sample(Arg((2, 2, 1), values=[2.0, 1.0, 0.5, 3.0]), Arg((2,)), (0,))
    yield bad(ShapeError, "no square matrix", Arg((2, 3)), Arg((2,)))


# ---- products -----------------------------------------------------------------------------------------


@composite(public=False)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums `Σ conj(x) y` along `dim`; the others broadcast.

    >>> import tensorplay as tp
    >>> tp.linalg.vecdot(tp.tensor([1j, 2]), tp.tensor([1j, 1]))
    tensor(3.+0.j)
    """
    return (x.conj() * y).sum(dim)


@linalg_vecdot.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), Arg((3,)))
    yield sample(Arg((2, 3)), Arg((2, 1)), dim=0)
    yield bad(ShapeError, "broadcast", Arg((2, 3)), Arg((2,)))


@composite(public=False)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """`diagonal` of the last two dimensions, a view.

    >>> import tensorplay as tp
    >>> tp.linalg.diagonal(tp.eye(2))
    tensor([1., 1.])
    """
    return A.diagonal(offset, dim1, dim2)


@linalg_diagonal.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)))
    yield sample(Arg((2, 3)), offset=1)
    yield bad(DimensionError, "dimension", Arg((3,)))


@composite(method=True)
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors, `outer` under BLAS's name.

    >>> import tensorplay as tp
    >>> tp.ger(tp.tensor([1, 2]), tp.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return tp.outer(input, vec2)


@ger.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2,)), Arg((3,)))


@composite(method=True)
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # noqa: ANN401  # a named tuple
    """`(solution, cloned_coefficient)`: `linalg.solve_triangular` with the right side first; `transpose` solves with Aᵀ.

    Needs SciPy.

    >>> import tensorplay as tp
    >>> tp.triangular_solve(tp.tensor([[3.0], [4.0]]), tp.tensor([[1.0, 1.0], [0.0, 2.0]])).solution
    tensor([[1.],
            [2.]])
    """
    if transpose:
        found = solve_triangle(A.transpose(-2, -1), input, not upper, unitriangular)
    else:
        found = solve_triangle(A, input, upper, unitriangular)
    return Solution(found, A.clone())


@triangular_solve.sample
def _() -> Iterator[Sample]:
    matrix = Arg((2, 2), values=[2.0, 1.0, 0.5, 3.0])
    yield sample(Arg((2, 3)), matrix)
    yield sample(Arg((2, 1)), matrix, False, True, True)
    yield bad(ShapeError, "square", Arg((2, 1)), Arg((2, 3)))
