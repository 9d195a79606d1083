"""Norms of vectors and matrices.

>>> import tensorplay as tp
>>> x = tp.tensor([[3.0, 0.0], [0.0, -4.0]])
>>> tp.linalg.vector_norm(x), tp.linalg.matrix_norm(x, 2), tp.norm(x, 1)
(tensor(5.), tensor(4.), tensor(7.))

Composites. Vector norms of all orders have gradient 0 where they are 0, one of their
subgradients, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import layout
from tensorplay.core.dtypes import DType, bfloat16, float64, int64
from tensorplay.core.errors import ArgumentValueError, DimensionError, DTypeError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.linalg_checks import check_matrix
from tensorplay.ops.library.linalg_spectral import linalg_svdvals
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Dims

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

# ---- vectors ----------------------------------------------------------------------------------------


def _floating(name: str, x: Tensor, dtype: DType | None) -> Tensor:
    """The tensor in the dtype asked for; it must be floating or complex."""
    if dtype is not None and x.dtype.is_complex and not dtype.is_complex:
        raise DTypeError(f"{name}: dtype of a complex tensor must be complex, found {dtype}")
    x = x if dtype is None else x.to(dtype)
    if not x.dtype.is_differentiable:
        msg = (
            f"{name}: expected a floating dtype, found {x.dtype}; convert with .to() or give dtype"
        )
        raise DTypeError(msg)
    return x


def _root(total: Tensor, order: float) -> Tensor:
    """The root of a sum of powers; it and its derivative are 0 where the sum is 0, or, of a negative order, infinite."""
    zero = total == (0 if order > 0 else math.inf)
    safe = total.masked_fill(zero, 1)
    root = safe.sqrt() if order == 2 else safe.pow(1 / order)
    return root.masked_fill(zero, 0)


@composite(public=False)
def linalg_vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over dimensions, by default over all elements; real, also of complex numbers.

    `ord` inf is the largest |x|, -inf the least, 0 counts what is not zero. Floating dtypes;
    `dtype` converts first; half types are computed in float32 and round once. Without elements 0;
    negative orders and infinite ones are refused. The derivative at 0 is 0.

    >>> import tensorplay as tp
    >>> tp.linalg.vector_norm(tp.tensor([[3.0, 4.0], [5.0, 12.0]]), dim=1)
    tensor([ 5., 13.])
    """
    x = _floating("vector_norm", x, dtype)
    if x.dtype.is_complex:
        x = x.abs()
    result = x.dtype
    wide = x.to(result.compute)
    if ord == 2:
        return _root((wide * wide).sum(dim, keepdim), 2).to(result)
    size = wide.abs()
    if ord < 0 and _reduces_nothing(x, dim):
        raise ArgumentValueError(
            f"vector_norm: order {ord} of no elements: shape {tuple(x.shape)} is empty"
        )
    if math.isinf(ord):
        found: Tensor = tp.amax(size, dim, keepdim) if ord > 0 else tp.amin(size, dim, keepdim)
    elif ord == 0:
        found = (wide != 0).to(wide.dtype).sum(dim, keepdim)
    elif ord == 1:
        found = size.sum(dim, keepdim)
    else:
        found = _root(_powers(size, ord).sum(dim, keepdim), ord)
    return found.to(result)


def _reduces_nothing(x: Tensor, dim: Dims) -> bool:
    """Whether the dimensions to reduce hold no element."""
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return not x.numel()
    dims = layout.normalize_dims(
        "vector_norm", dim if isinstance(dim, Sequence) else (dim,), x.ndim
    )
    return any(not x.shape[each] for each in dims) if x.ndim else False


def _powers(size: Tensor, order: float) -> Tensor:
    """Magnitudes to a power; the derivative at 0 is 0, also where the power is infinite."""
    zero = size == 0
    at_zero = 0 if order > 0 else math.inf
    return size.masked_fill(zero, 1).pow(order).masked_fill(zero, at_zero)


@linalg_vector_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)))
    yield sample(Arg((2, 3)), 1, -1)
    yield sample(Arg((2, 3)), 3, (0, 1), True)
    yield sample(Arg((2, 3)), -1.5, 0)
    yield sample(Arg((2, 3)), 0)
    yield sample(Arg((2, 3)), math.inf, 1)
    yield sample(Arg((2, 3)), -math.inf)
    yield sample(Arg((0, 3)), 2, -1)
    yield sample(Arg((3,)), dtype=float64)
    yield sample(Arg((2,), values=[0.0, 0.0]))
    yield sample(Arg((3,), values=[0.0, 0.0, 0.0]), 3)
    yield sample(Arg((3,), values=[0.0, 0.0, 0.0]), -2)
    yield sample(Arg((3, 4), bfloat16), 2, 0)
    yield bad(DTypeError, "floating dtype", Arg((3,), int64))
    yield bad(DimensionError, "dimension", Arg((3,)), 2, 1)


# ---- matrices ----------------------------------------------------------------------------------------

_ORDERS = ("fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


@composite(public=False)
def linalg_matrix_norm(
    A: Tensor,
    ord: object = "fro",
    dim: Dims = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of matrices in two dimensions, by default the last two.

    `ord` is "fro" (the root of the sum of squares), "nuc" (the sum of the singular values), 2 and
    -2 (the largest and the least of them), 1 and -1 (the largest and the least sum of |A| over a
    column), inf and -inf (over a row).

    >>> import tensorplay as tp
    >>> tp.linalg.matrix_norm(tp.tensor([[3.0, 4.0], [0.0, 0.0]]), ord=1)
    tensor(4.)
    """
    A = _floating("matrix_norm", A, dtype)
    if A.ndim < 2:
        check_matrix("matrix_norm", A)
    if ord not in _ORDERS:
        msg = f"matrix_norm: ord is one of {', '.join(map(repr, _ORDERS))}, found {ord!r}"
        raise ArgumentValueError(msg)
    places = _matrix_dims(A, dim)
    if ord == "fro":
        return linalg_vector_norm(A, 2, places, keepdim)
    rest = [i for i in range(A.ndim) if i not in places]
    matrices = A.permute((*rest, *places))
    found = _of_matrices(matrices, ord)
    if not keepdim:
        return found
    return found.reshape([1 if i in places else size for i, size in enumerate(A.shape)])


def _matrix_dims(A: Tensor, dim: Dims) -> tuple[int, int]:
    given: Sequence[Any] = dim if isinstance(dim, Sequence) else (dim,)
    if len(given) != 2 or any(each is None for each in given):
        msg = f"matrix_norm: dim names the two dimensions of matrices, found {dim}"
        raise DimensionError(msg)
    first, second = (layout.normalize_dim("matrix_norm", each, A.ndim) for each in given)
    if first == second:
        msg = f"matrix_norm: dim names dimension {first} twice"
        raise DimensionError(msg)
    return first, second


def _of_matrices(A: Tensor, ord: Any) -> Tensor:  # noqa: ANN401  # a number or "nuc"
    if ord == "nuc":
        return linalg_svdvals(A).sum(-1)
    sums = -2 if abs(ord) == 1 else -1
    values = linalg_svdvals(A) if abs(ord) == 2 else A.abs().sum(sums)
    if ord > 0 and not values.shape[-1]:  # the largest of no sums of magnitudes
        return values.sum(-1)
    return values.amax(-1) if ord > 0 else values.amin(-1)


@linalg_matrix_norm.sample
def _() -> Iterator[Sample]:
    matrix = Arg((2, 3), values=[2.0, 1.0, -0.5, 1.5, 0.3, -0.7])
    yield sample(matrix)
    for ord in _ORDERS[1:]:
        yield sample(matrix, ord)
    yield sample(Arg((2, 3, 2)), "nuc", (0, 2), True)
    yield sample(Arg((2, 3, 2)), 1, (-1, 0))
    yield sample(Arg((0, 3, 2)), 2)
    yield bad(ShapeError, "expected a matrix", Arg((3,)))
    yield bad(ArgumentValueError, "ord is one of", Arg((2, 2)), 3)
    yield bad(DimensionError, "two dimensions", Arg((2, 2)), 1, 0)
    yield bad(DimensionError, "twice", Arg((2, 2)), 1, (1, -1))
    yield bad(DTypeError, "floating dtype", Arg((2, 2), int64))


# ---- either ----------------------------------------------------------------------------------------------


@composite(public=False)
def linalg_norm(
    A: Tensor,
    ord: object = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A vector norm over one dimension, a matrix norm over two.

    Without `dim` and `ord`, the 2-norm of all elements; with `ord` alone, that of the vector or
    matrix `A`. Without `ord`, the root of the sum of squares over `dim`.

    >>> import tensorplay as tp
    >>> tp.linalg.norm(tp.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor(5.)
    >>> tp.linalg.norm(tp.tensor([3.0, -4.0]), 1)
    tensor(7.)
    """
    if ord is None:
        return linalg_vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if A.ndim not in {1, 2}:
            msg = f"norm: with ord and no dim, expected a vector or a matrix, found shape {tuple(A.shape)}"
            raise ShapeError(msg)
        dim = tuple(range(A.ndim))
    count = len(dim) if isinstance(dim, Sequence) else 1
    if count == 2:
        return linalg_matrix_norm(A, ord, dim, keepdim, dtype=dtype)
    if isinstance(ord, str) or count != 1:
        msg = f"norm: order {ord!r} needs two dimensions for matrices, found dim={dim}"
        raise DimensionError(msg)
    return linalg_vector_norm(A, ord, dim, keepdim, dtype=dtype)


@linalg_norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 2)))
    yield sample(Arg((2, 3)), 1)
    yield sample(Arg((3,)), math.inf)
    yield sample(Arg((2, 3)), 2, 1, True)
    yield sample(Arg((2, 3, 2)), "fro", (0, 1))
    yield bad(ShapeError, "a vector or a matrix", Arg((2, 3, 2)), 1)
    yield bad(DimensionError, "needs two dimensions", Arg((3,)), "fro")


@composite(method=True)
def norm(
    input: Tensor,
    p: object = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm over dimensions, by default of all elements: "fro" is the 2-norm.

    With `p="nuc"`, the sum of the singular values of matrices in two dimensions. `linalg.norm`,
    `linalg.vector_norm` and `linalg.matrix_norm` say more exactly what is meant.

    >>> import tensorplay as tp
    >>> tp.norm(tp.tensor([3.0, 4.0]))
    tensor(5.)
    >>> tp.norm(tp.tensor([[3.0, 4.0], [5.0, 12.0]]), dim=1)
    tensor([ 5., 13.])
    """
    if p == "nuc":
        return linalg_matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        msg = f"norm: p is a number, 'fro' or 'nuc', found {p!r}"
        raise ArgumentValueError(msg)
    return linalg_vector_norm(input, 2 if p in {"fro", None} else p, dim, keepdim, dtype=dtype)


@norm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)))
    yield sample(Arg((2, 3)), 1, 0)
    yield sample(Arg((2, 3)), p="nuc")
    yield sample(Arg((2, 3)), "fro", (0, 1), True)
    yield bad(ArgumentValueError, "p is a number", Arg((2, 3)), "max")
