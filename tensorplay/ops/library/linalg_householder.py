"""Householder reflections: Q as LAPACK stores it, in vectors and scales.

>>> import tensorplay as tp
>>> a, tau = tp.geqrf(tp.tensor([[3.0], [4.0]]))
>>> tp.linalg.householder_product(a, tau)
tensor([[-0.6000],
        [-0.8000]])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import int64
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.library.linalg_checks import (
    adjoint,
    check_dtype,
    check_matrix,
    dense,
    lapack,
    like,
)
from tensorplay.ops.library.linalg_spectral import TALL, WIDE
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import tp
from tensorplay.ops.results import Reflectors
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_LAPACKS = "its results are LAPACK's; linalg.qr has derivatives"


def _meta(input: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    batch, rows, columns = check_matrix("geqrf", input)
    return like(input, *batch, rows, columns), like(input, *batch, min(rows, columns))


@structured(
    meta=_meta,
    public=False,
    not_differentiable=_LAPACKS,
    batching=leading,
)
def geqrf_parts(A: Array) -> tuple[Array, Array]:
    """R on and above the diagonal, Householder vectors below it (..., M, N), and their scales (..., K)."""
    check_matrix("geqrf", A)
    if not A.size:
        return np.array(A), np.zeros((*A.shape[:-2], min(A.shape[-2:])), A.dtype)
    turned, tau = lapack("geqrf", np.linalg.qr, A, mode="raw")
    return dense(turned.swapaxes(-2, -1), A.dtype), dense(tau, A.dtype)


@composite(method=True, not_differentiable=_LAPACKS)
def geqrf(input: Tensor) -> Any:  # noqa: ANN401  # a named tuple
    """`(a, tau)`: LAPACK's form of A = Q R of matrices (..., M, N), as `householder_product` and `ormqr` take it.

    R stands on and above the diagonal of a, the vectors below it.

    >>> import tensorplay as tp
    >>> tp.geqrf(tp.tensor([[3.0, 1.0], [4.0, 2.0]])).a
    tensor([[-5.0000, -2.2000],
            [ 0.5000,  0.4000]])
    """
    return Reflectors(*geqrf_parts(input))


@geqrf_parts.sample
@geqrf.sample
def _() -> Iterator[Sample]:
    yield sample(TALL)
    yield sample(WIDE)
    yield sample(Arg((2, 3, 2)))
    yield sample(Arg((0, 3, 2)))
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), int64))


def _check(name: str, A: Tensor, tau: Tensor) -> tuple[int, int]:
    _, rows, columns = check_matrix(name, A)
    check_dtype(name, A.dtype, tau.dtype)
    if tau.shape[:-1] != A.shape[:-2] or tau.shape[-1] > min(rows, columns):
        raise ShapeError(
            f"{name}: expected vectors (..., M, N) and scales (..., K), K at most M and N, found "
            f"shapes {tuple(A.shape)} and {tuple(tau.shape)}"
        )
    return rows, columns


def _reflected(
    vectors: Tensor, tau: Tensor, other: Tensor, *, first_last: bool, conjugate: bool
) -> Tensor:
    """The product of H_k = I - tau_k v_k v_kᴴ (or of their adjoints) with `other`, H_0 applied first or last."""
    rows, count = vectors.shape[-2], tau.shape[-1]
    unit = vectors.tril(-1) + tp.eye(rows, vectors.shape[-1], dtype=vectors.dtype)
    scales = tau.conj() if conjugate else tau
    for k in reversed(range(count)) if first_last else range(count):
        v = unit.narrow(-1, k, 1)
        scale = scales.narrow(-1, k, 1).unsqueeze(-1)
        other = other - matmul(v * scale, matmul(adjoint(v), other))
    return other


@composite(public=False)
def linalg_householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first N columns (..., M, N) of Q = H_0 H_1 …, H_k = I - tau_k v_k v_kᴴ, from `geqrf`'s results.

    v_k is column k of A below the diagonal, with 1 on it and zeros above.

    >>> import tensorplay as tp
    >>> a, tau = tp.geqrf(tp.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> tp.linalg.householder_product(a, tau)
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    rows, columns = _check("householder_product", A, tau)
    if columns > rows:
        raise ShapeError(
            f"householder_product: expected vectors (..., M, N) with N <= M, found shape {tuple(A.shape)}"
        )
    eye = tp.eye(rows, columns, dtype=A.dtype).expand(A.shape)
    return _reflected(A, tau, eye, first_last=True, conjugate=False)


@composite(method=True)
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """`linalg.householder_product` under LAPACK's name.

    >>> import tensorplay as tp
    >>> a, tau = tp.geqrf(tp.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> tp.orgqr(a, tau)
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    return linalg_householder_product(input, input2)


@composite(method=True)
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q C, or C Q without `left`, with `transpose` of the adjoint of Q: Q (..., M, M) of `geqrf`'s `input`, `input2`.

    `input3` is C. Q is not formed. Only as many columns of `input` are read as there are scales.

    >>> import tensorplay as tp
    >>> a, tau = tp.geqrf(tp.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> tp.ormqr(a, tau, tp.eye(2))
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    _check("ormqr", input, input2)
    _, rows, columns = check_matrix("ormqr", input3)
    if (rows if left else columns) != input.shape[-2]:
        raise ShapeError(
            f"ormqr: shapes {tuple(input.shape)} and {tuple(input3.shape)} do not fit: Q has order {input.shape[-2]}"
        )
    if left:  # Q = H_0 H_1 …, so the last one is applied first
        return _reflected(input, input2, input3, first_last=not transpose, conjugate=transpose)
    turned = adjoint(input3)  # C Q = (Qᴴ Cᴴ)ᴴ
    return adjoint(_reflected(input, input2, turned, first_last=transpose, conjugate=not transpose))


_SCALES = Arg((2,), values=[1.2, 0.7])


@linalg_householder_product.sample
@orgqr.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 2)), _SCALES)
    yield sample(Arg((2, 3, 2)), Arg((2, 1)))
    yield bad(ShapeError, "with N <= M", Arg((2, 3)), _SCALES)
    yield bad(ShapeError, "K at most M and N", Arg((3, 1)), _SCALES)


@ormqr.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 2)), _SCALES, Arg((3, 4)))
    yield sample(Arg((3, 2)), _SCALES, Arg((4, 3)), False)
    yield sample(Arg((3, 2)), _SCALES, Arg((3, 1)), transpose=True)
    yield sample(Arg((3, 2)), _SCALES, Arg((2, 3)), False, True)
    yield sample(Arg((2, 3)), _SCALES, Arg((2, 3)))
    yield bad(ShapeError, "do not fit", Arg((3, 2)), _SCALES, Arg((2, 2)))
