"""What the factorizations share: checks of matrices, one way to call LAPACK, one way to find SciPy.

Matrices are the last two dimensions of a tensor; the leading ones are a batch, which may be empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import DType, complex64, complex128, float32, float64
from tensorplay.core.errors import DTypeError, LinAlgError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.registry import tp
from tensorplay.ops.signature import dtype_of

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

MATRIX = "expected a matrix or a batch of matrices"


def check_dtype(name: str, *dtypes: DType) -> None:
    """Refuse what LAPACK does not compute here, and operands of different dtypes."""
    for each in dtypes:
        if each not in {float32, float64, complex64, complex128}:
            msg = f"{name}: expected float32 or float64, or their complex numbers, found {each}; convert with .to()"
            raise DTypeError(msg)
    if len(set(dtypes)) > 1:
        found = " and ".join(str(each) for each in dtypes)
        msg = f"{name}: expected operands of one dtype, found {found}; convert one with .to()"
        raise DTypeError(msg)


def check_matrix(name: str, A: Any) -> tuple[tuple[int, ...], int, int]:  # noqa: ANN401  # tensor, meta, array
    """The batch sizes, rows and columns of `A` (a tensor, its metadata or an array)."""
    if A.ndim < 2:
        msg = f"{name}: {MATRIX} (..., M, N), found shape {tuple(A.shape)}"
        raise ShapeError(msg)
    check_dtype(name, dtype_of(A))
    return tuple(A.shape[:-2]), A.shape[-2], A.shape[-1]


def check_square(name: str, A: Any) -> tuple[tuple[int, ...], int]:  # noqa: ANN401  # tensor, meta, array
    """The batch sizes and the order of square matrices `A`."""
    batch, rows, columns = check_matrix(name, A)
    if rows != columns:
        msg = f"{name}: expected square matrices (..., N, N), found shape {tuple(A.shape)}"
        raise ShapeError(msg)
    return batch, rows


def like(A: TensorMeta, *shape: int) -> TensorMeta:
    """Metadata of a contiguous result with the dtype of `A`."""
    return TensorMeta(shape, A.dtype, A.device)


def lapack(name: str, function: Callable[..., Any], *args: object, **kwargs: object) -> Any:  # noqa: ANN401  # arrays
    """`function(*args, **kwargs)`; that a matrix is singular or the like becomes an error of ours."""
    try:
        return function(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        text = str(error)
        msg = f"{name}: {text[:1].lower()}{text[1:]}"
        raise LinAlgError(msg) from None


def dense(array: Array, dtype: Any) -> Array:  # noqa: ANN401  # a NumPy dtype
    """The array as kernels return it: contiguous, of one dtype."""
    return np.asarray(array, dtype, order="C")


def turned(A: Tensor) -> Tensor:
    """The transposed matrices."""
    return A.transpose(-2, -1)


def adjoint(A: Tensor) -> Tensor:
    """The transposed matrices, conjugated where they are complex: Aᴴ."""
    return turned(A).conj()


def real_part(A: Tensor) -> Tensor:
    """The real part of a tensor, itself where it is real."""
    return tp.real(A)


def scipy_linalg(name: str) -> Any:  # noqa: ANN401  # a module without types
    """`scipy.linalg`, imported when an operator first needs it."""
    try:
        import scipy.linalg
    except ImportError as error:
        msg = f"{name} needs SciPy, which is not installed: pip install 'tensorplay[scipy]'"
        raise ImportError(msg) from error
    return scipy.linalg
