"""The matrix exponential.

>>> import tensorplay as tp
>>> tp.matrix_exp(tp.tensor([[0.0, 1.0], [0.0, 0.0]]))
tensor([[1., 1.],
        [0., 1.]])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay.core.dtypes import bfloat16, float64, int64
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.arrays import Array
from tensorplay.ops.batching import leading
from tensorplay.ops.declare import structured
from tensorplay.ops.library.linalg_checks import (
    dense,
    lapack,
    like,
    scipy_linalg,
    turned,
)
from tensorplay.ops.library.windows import meta_of
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


def _meta(input: TensorMeta) -> TensorMeta:
    if not input.dtype.is_differentiable:
        raise DTypeError(
            f"matrix_exp: expected a floating or complex dtype, found {input.dtype}; convert with .to()"
        )
    if input.ndim < 2 or input.shape[-2] != input.shape[-1]:
        raise ShapeError(
            f"matrix_exp: expected square matrices (..., N, N), found shape {tuple(input.shape)}"
        )
    return like(input, *input.shape)


@structured(meta=_meta, method=True, batching=leading)
def matrix_exp(input: Array) -> Array:
    """The exponential Σ Aᵏ / k! of square matrices (..., N, N), floating or complex. Needs SciPy.

    By scaling and squaring with Padé approximants (A. Al-Mohy and N. Higham, 2009, as in SciPy), in
    double precision: each squaring doubles what was rounded, also of narrower types.
    Its derivative in the direction E is the upper right block of exp([[A, E], [0, A]]) (N. Higham,
    Functions of Matrices, 2008, theorem 3.6); the gradient is that derivative at Aᵀ.

    >>> import tensorplay as tp
    >>> tp.matrix_exp(tp.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    result = _meta(meta_of(input))
    if not input.size:
        return np.zeros(input.shape, input.dtype)
    wide = input.astype(np.complex128 if result.dtype.is_complex else np.float64)
    return dense(lapack("matrix_exp", scipy_linalg("matrix_exp").expm, wide), input.dtype)


def _derivative(A: Tensor, direction: Tensor) -> Tensor:
    order = A.shape[-1]
    above = tp.cat((A, direction), -1)
    below = tp.cat((tp.zeros_like(A), A), -1)
    whole = matrix_exp(tp.cat((above, below), -2))
    return whole.narrow(-2, 0, order).narrow(-1, order, order)


@matrix_exp.gradient("input")
def _(grad: Tensor, input: Tensor) -> Tensor:
    return _derivative(turned(input), grad)


@matrix_exp.tangent
def _(
    operator: Operator, values: tuple[Any, ...], result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator, result
    tangent = tangents[0]
    return None if tangent is None else _derivative(values[0], tangent)


@matrix_exp.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 3), low=-1, high=1))
    yield sample(Arg((2, 2, 2), layout="transposed"))
    yield sample(Arg((2, 2), float64, values=[0.0, 1.0, 0.0, 0.0]))
    yield sample(Arg((0, 2, 2)))
    yield sample(Arg((2, 0, 0)))
    yield bad(ShapeError, "square", Arg((2, 3)))
    yield sample(Arg((2, 2), bfloat16))
    yield bad(ShapeError, "square matrices", Arg((3,)))
    yield bad(DTypeError, "a floating or complex dtype", Arg((2, 2), int64))
