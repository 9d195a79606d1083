"""Products beyond matmul: contractions, sums of products, and matrices made from vectors.

>>> import tensorplay as tp
>>> tp.tensordot(tp.ones(2, 3), tp.ones(3, 4), 1).shape
(2, 4)
>>> tp.trace(tp.eye(3))
tensor(3.)

All are composites over operators that exist, so that their derivatives and their lowering follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tensorplay.core import dtypes, layout
from tensorplay.core.dtypes import bool_, int64
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DimensionError,
    DTypeError,
    ShapeError,
)
from tensorplay.ops.declare import composite
from tensorplay.ops.library.linalg_checks import check_square
from tensorplay.ops.library.linalg_inverse import linalg_inv
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Parts

if TYPE_CHECKING:
    from tensorplay.core.dtypes import Number
    from tensorplay.tensor import Tensor

# ---- contractions ---------------------------------------------------------------------------------


def _contraction(a: Tensor, b: Tensor, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:  # noqa: ANN401  # any value
    """The dimensions of both that are summed over, from a count or a pair of lists."""
    if hasattr(dims, "__index__"):
        count = dims.__index__()
        if not 0 <= count <= min(a.ndim, b.ndim):
            msg = f"tensordot: cannot sum over {count} dimensions of tensors with {a.ndim} and {b.ndim}"
            raise DimensionError(msg)
        return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    try:
        left, right = (tuple(each) for each in dims)
    except (TypeError, ValueError):
        msg = f"tensordot: dims is a count or two lists of dimensions, found {dims!r}"
        raise ArgumentError(msg) from None
    if len(left) != len(right):
        msg = f"tensordot: {len(left)} dimensions of one tensor but {len(right)} of the other"
        raise ArgumentValueError(msg)
    return (
        layout.normalize_dims("tensordot", left, a.ndim) if left else (),
        layout.normalize_dims("tensordot", right, b.ndim) if right else (),
    )


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for each in sizes:
        total = total * each
    return total


@composite()
def tensordot(a: Tensor, b: Tensor, dims: object = 2) -> Tensor:
    """Sum the products of `a` and `b` over dimensions of both: the rest of `a`, then the rest of `b`.

    `dims` is a count (the last of `a`, the first of `b`) or a pair of lists of dimensions, of equal
    sizes pairwise or 1. One matrix product computes it.

    >>> import tensorplay as tp
    >>> tp.tensordot(tp.tensor([[1, 2], [3, 4]]), tp.tensor([[1, 0], [0, 1]]), 2)
    tensor(5)
    >>> tp.tensordot(tp.ones(2, 3, 4), tp.ones(4, 3, 5), ([1, 2], [1, 0])).shape
    (2, 5)
    """
    left, right = _contraction(a, b, dims)
    stretched = [(i, k) for i, k in zip(left, right, strict=True) if 1 in {a.shape[i], b.shape[k]}]
    for i, k in stretched:  # a size of 1 is stretched to the other: that one can be added up first
        if a.shape[i] == 1:
            b = b.sum(k, keepdim=True, dtype=b.dtype)
        else:
            a = a.sum(i, keepdim=True, dtype=a.dtype)
    for i, k in zip(left, right, strict=True):
        if a.shape[i] != b.shape[k]:
            msg = (
                f"tensordot: shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit: dimension {i} of the first "
                f"has size {a.shape[i]}, dimension {k} of the second {b.shape[k]}"
            )
            raise ShapeError(msg)
    rows = [i for i in range(a.ndim) if i not in left]
    columns = [i for i in range(b.ndim) if i not in right]
    inner = _product([a.shape[i] for i in left])
    first, last = [a.shape[i] for i in rows], [b.shape[i] for i in columns]
    one = a.permute((*rows, *left)).reshape((_product(first), inner))
    other = b.permute((*right, *columns)).reshape((inner, _product(last)))
    return matmul(one, other).reshape((*first, *last))


@tensordot.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), Arg((3, 4, 2)))
    yield sample(Arg((2, 3)), Arg((4, 2)), 0)
    yield sample(Arg((2, 3, 4)), Arg((4, 5, 2)), ((2, 0), (0, 2)))
    yield sample(Arg((2, 0)), Arg((0, 3)), 1)
    yield bad(ShapeError, "do not fit", Arg((2, 3)), Arg((4, 2)), 1)
    yield bad(DimensionError, "cannot sum over", Arg((2,)), Arg((2,)), 2)
    yield bad(ArgumentValueError, "of the other", Arg((2, 2)), Arg((2, 2)), ((0, 1), (0,)))


@composite(method=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions, (..., N) with (***, N) to (..., ***).

    A 0-d tensor multiplies the other.

    >>> import tensorplay as tp
    >>> tp.inner(tp.tensor([1, 2, 3]), tp.tensor([[1, 1, 1], [0, 2, 0]]))
    tensor([6, 4])
    """
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        msg = f"inner: shapes {tuple(input.shape)} and {tuple(other.shape)} do not fit: the last sizes differ"
        raise ShapeError(msg)
    return tensordot(input, other, ((-1,), (-1,)))


@inner.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)), Arg((3,)))
    yield sample(Arg((2, 3)), Arg((4, 1, 3)))
    yield sample(Arg(()), Arg((2, 3)))
    yield bad(ShapeError, "do not fit", Arg((2, 3)), Arg((2,)))


@composite(method=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors of real numbers; the first conjugated, where complex.

    >>> import tensorplay as tp
    >>> tp.vdot(tp.tensor([1.0, 2.0]), tp.tensor([3.0, 4.0]))
    tensor(11.)
    >>> tp.vdot(tp.tensor([1j]), tp.tensor([1j]))
    tensor(1.+0.j)
    """
    if input.ndim != 1 or other.ndim != 1:
        msg = f"vdot: expected two vectors, found {input.ndim}-d and {other.ndim}-d"
        raise ShapeError(msg)
    return matmul(input.conj() if input.dtype.kind == "c" else input, other)


@vdot.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)), Arg((3,)))
    yield sample(Arg((0,)), Arg((0,)))
    yield bad(ShapeError, "two vectors", Arg((2, 2)), Arg((2,)))


@composite(method=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of `input` times all of `other`, laid out in blocks.

    Sizes multiply; the tensor of fewer dimensions gets leading ones.

    >>> import tensorplay as tp
    >>> tp.kron(tp.tensor([[1, 2]]), tp.tensor([[1, 0], [0, 1]]))
    tensor([[1, 0, 2, 0],
            [0, 1, 0, 2]])
    """
    ndim = max(input.ndim, other.ndim)
    left = (1,) * (ndim - input.ndim) + tuple(input.shape)
    right = (1,) * (ndim - other.ndim) + tuple(other.shape)
    rows = input.reshape([size for each in left for size in (each, 1)])
    columns = other.reshape([size for each in right for size in (1, each)])
    return (rows * columns).reshape([a * b for a, b in zip(left, right, strict=True)])


@kron.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), Arg((2, 2)))
    yield sample(Arg((2,)), Arg((2, 1, 3), layout="transposed"))
    yield sample(Arg(()), Arg((2,)))
    yield sample(Arg((0, 2)), Arg((2, 2)))


@composite(public=False)
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross products of vectors of three along `dim`; the other sizes broadcast.

    >>> import tensorplay as tp
    >>> tp.linalg.cross(tp.tensor([1.0, 0.0, 0.0]), tp.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    shape = layout.broadcast_shapes("cross", [input.shape, other.shape])
    place = layout.normalize_dim("cross", dim, len(shape))
    if not shape or input.ndim != other.ndim or input.shape[place] != 3 or other.shape[place] != 3:
        msg = (
            f"cross: expected as many dimensions and size 3 along dimension {dim} in both, found shapes "
            f"{tuple(input.shape)} and {tuple(other.shape)}"
        )
        raise ShapeError(msg)
    a, b = input.unbind(place), other.unbind(place)
    return tp.stack([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)], place)


@linalg_cross.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)), Arg((3,)))
    yield sample(Arg((2, 3)), Arg((1, 3)))
    yield sample(Arg((3, 2)), Arg((3, 2)), dim=0)
    yield bad(ShapeError, "size 3", Arg((2, 4)), Arg((2, 4)))


@composite(method=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross products of vectors of three along `dim`, by default the first dimension of size 3.

    >>> import tensorplay as tp
    >>> tp.cross(tp.tensor([1.0, 0.0, 0.0]), tp.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is not None:
        return linalg_cross(input, other, dim=dim)
    for place, size in enumerate(input.shape):
        if size == 3:
            return linalg_cross(input, other, dim=place)
    msg = f"cross: no dimension of shape {tuple(input.shape)} has size 3"
    raise ShapeError(msg)


@cross.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), Arg((2, 3)))
    yield sample(Arg((3, 3)), Arg((3, 3)), 1)
    yield bad(ShapeError, "has size 3", Arg((2, 4)), Arg((2, 4)))


@composite(public=False)
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices in the cheapest order; the first and last may be vectors.

    The order comes from the matrix chain recurrence (Cormen et al., Introduction to Algorithms,
    15.2), cubic in the number of matrices.

    >>> import tensorplay as tp
    >>> tp.linalg.multi_dot((tp.ones(2, 3), tp.ones(3, 4), tp.ones(4, 5))).shape
    (2, 5)
    """
    if len(tensors) < 2:
        msg = f"multi_dot: expected at least two tensors, found {len(tensors)}"
        raise ArgumentError(msg)
    chain = [*tensors]
    is_row, is_column = chain[0].ndim == 1, chain[-1].ndim == 1
    chain[0] = chain[0].unsqueeze(0) if is_row else chain[0]
    chain[-1] = chain[-1].unsqueeze(1) if is_column else chain[-1]
    for i, each in enumerate(chain):
        if each.ndim != 2:
            msg = f"multi_dot: expected matrices, vectors only at the ends, found tensor {i} of shape {tensors[i].shape}"
            raise ShapeError(msg)
    found = _in_cheapest_order(chain)
    found = found.squeeze(0) if is_row else found
    return found.squeeze(-1) if is_column else found


@composite()
def chain_matmul(matrices: Parts) -> Tensor:
    """The product of matrices in the cheapest order: `linalg.multi_dot`, of separate arguments, also of one.

    >>> import tensorplay as tp
    >>> tp.chain_matmul(tp.ones(2, 3), tp.ones(3, 4), tp.ones(4, 5)).shape
    (2, 5)
    """
    if len(matrices) == 1:
        return matrices[0]
    return linalg_multi_dot(matrices)


@chain_matmul.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), Arg((3, 4)), Arg((4, 1)))
    yield sample(Arg((2, 3)))
    yield bad(ShapeError, "matrices", Arg((2, 3)), Arg((3, 4, 2)))


def _in_cheapest_order(chain: list[Tensor]) -> Tensor:
    count = len(chain)
    sizes = [chain[0].shape[0], *(each.shape[1] for each in chain)]
    cost = {(i, i): 0 for i in range(count)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            k = i + length
            prices = [
                cost[i, m] + cost[m + 1, k] + sizes[i] * sizes[m + 1] * sizes[k + 1]
                for m in range(i, k)
            ]
            cost[i, k] = min(prices)
            # Of equally cheap orders the one of A @ B @ C: the last cut.
            cut[i, k] = k - 1 - prices[::-1].index(cost[i, k])
    products: dict[tuple[int, int], Tensor] = {(i, i): each for i, each in enumerate(chain)}
    needed = [(0, count - 1)]
    for i, k in needed:  # grows while it is walked: parts after their wholes
        if i < k:
            needed += [(i, cut[i, k]), (cut[i, k] + 1, k)]
    for i, k in reversed(needed):
        if i < k:
            products[i, k] = matmul(products[i, cut[i, k]], products[cut[i, k] + 1, k])
    return products[0, count - 1]


@linalg_multi_dot.sample
def _() -> Iterator[Sample]:
    yield sample((Arg((2, 4)), Arg((4, 1)), Arg((1, 3))))
    yield sample((Arg((3,)), Arg((3, 2)), Arg((2, 4)), Arg((4,))))
    yield bad(ArgumentError, "at least two", (Arg((2, 2)),))
    yield bad(ShapeError, "expected matrices", (Arg((2, 2)), Arg((2,)), Arg((2, 2))))
    yield bad(ShapeError, "do not fit", (Arg((2, 3)), Arg((2, 3))))


@composite(method=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Square matrices (..., N, N) times themselves: `n` factors, of the inverse where `n` is negative.

    By repeated squaring. Integers are accepted for `n >= 0`.

    >>> import tensorplay as tp
    >>> tp.matrix_power(tp.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if input.ndim < 2 or input.shape[-1] != input.shape[-2] or n < 0:
        check_square("matrix_power", input)
    square = linalg_inv(input) if n < 0 else input
    left = abs(n)
    if not left:
        one = tp.eye(input.shape[-1], dtype=input.dtype)
        return one.expand(input.shape).clone()
    while not left & 1:
        square, left = matmul(square, square), left >> 1
    found = square.clone() if n == 1 else square
    while left > 1:
        square, left = matmul(square, square), left >> 1
        found = matmul(found, square) if left & 1 else found
    return found


@matrix_power.sample
def _() -> Iterator[Sample]:
    regular = Arg((2, 2), values=[2.0, 1.0, 0.5, 3.0])
    for n in (0, 1, 2, 5, -2):
        yield sample(regular, n)
    yield sample(Arg((2, 3, 3)), 3)
    yield sample(Arg((0, 2, 2)), -1)
    yield sample(Arg((2, 2), int64, low=-3, high=3), 3)
    yield bad(ShapeError, "square", Arg((2, 3)), 2)


# ---- sums of products -------------------------------------------------------------------------------


def _scaled(
    name: str,
    ndim: tuple[int, int],
    input: Tensor,
    a: Tensor,
    b: Tensor,
    beta: Number,
    alpha: Number,
) -> Tensor:
    """`beta * input + alpha * (a @ b)`; with beta = 0, NaN and inf of `input` do not count."""
    if (a.ndim, b.ndim) != ndim:
        msg = f"{name}: expected a {ndim[0]}-d and a {ndim[1]}-d tensor to multiply, found {a.ndim}-d and {b.ndim}-d"
        raise ShapeError(msg)
    product = matmul(a, b)
    if layout.broadcast_shapes(name, [input.shape, product.shape]) != product.shape:
        msg = f"{name}: input of shape {tuple(input.shape)} does not expand to the product's {tuple(product.shape)}"
        raise ShapeError(msg)
    if product.dtype.is_integral:  # factors are converted like everything else
        alpha, beta = int(alpha.real), int(beta.real)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * beta)


@composite(method=True, inplace=True)
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for matrices; `input` broadcasts, and is ignored at beta = 0.

    >>> import tensorplay as tp
    >>> tp.addmm(tp.ones(2), tp.tensor([[1.0, 2.0]]), tp.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 8., 11.]])
    """
    return _scaled("addmm", (2, 2), input, mat1, mat2, beta, alpha)


@composite(method=True, inplace=True)
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`; `input` broadcasts, and is ignored at beta = 0.

    >>> import tensorplay as tp
    >>> tp.addmv(tp.tensor([1.0, 1.0]), tp.tensor([[1.0, 2.0], [3.0, 4.0]]), tp.tensor([1.0, 1.0]))
    tensor([4., 8.])
    """
    return _scaled("addmv", (2, 1), input, mat, vec, beta, alpha)


@composite(method=True, inplace=True)
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for batches (B, N, M) and (B, M, P).

    `input` broadcasts, and is ignored at beta = 0.

    >>> import tensorplay as tp
    >>> tp.baddbmm(tp.ones(1), tp.tensor([[[1.0, 2.0]]]), tp.tensor([[[3.0], [4.0]]]))
    tensor([[[12.]]])
    """
    return _scaled("baddbmm", (3, 3), input, batch1, batch2, beta, alpha)


@composite(method=True, inplace=True)
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * Σ_b batch1[b] @ batch2[b]` for batches (B, N, M) and (B, M, P).

    `input` broadcasts, and is ignored at beta = 0.

    >>> import tensorplay as tp
    >>> tp.addbmm(tp.zeros(1), tp.ones(3, 1, 2), tp.ones(3, 2, 1))
    tensor([[6.]])
    """
    if (batch1.ndim, batch2.ndim) != (3, 3) or batch1.shape[0] != batch2.shape[0]:
        msg = (
            f"addbmm: expected two batches of as many matrices, found shapes {tuple(batch1.shape)} and "
            f"{tuple(batch2.shape)}"
        )
        raise ShapeError(msg)
    rows = batch1.transpose(0, 1).reshape(batch1.shape[1], -1)
    return _scaled("addbmm", (2, 2), input, rows, batch2.reshape(rows.shape[1], -1), beta, alpha)


@composite(method=True, inplace=True)
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`; `input` broadcasts, and is ignored at beta = 0.

    >>> import tensorplay as tp
    >>> tp.addr(tp.zeros(2, 3), tp.tensor([1.0, 2.0]), tp.tensor([3.0, 4.0, 5.0]))
    tensor([[ 3.,  4.,  5.],
            [ 6.,  8., 10.]])
    """
    if (vec1.ndim, vec2.ndim) != (1, 1):
        msg = (
            f"addr: expected two vectors, found shapes {tuple(vec1.shape)} and {tuple(vec2.shape)}"
        )
        raise ShapeError(msg)
    product = vec1.unsqueeze(1) * vec2
    if layout.broadcast_shapes("addr", [input.shape, product.shape]) != product.shape:
        msg = f"addr: input of shape {tuple(input.shape)} does not expand to {tuple(product.shape)}"
        raise ShapeError(msg)
    dtype = dtypes.result_type([input.dtype, product.dtype])
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if not dtype.is_differentiable and not isinstance(factor, int):
            msg = f"addr: {dtype} tensors need an integer {name}, found {factor}; convert with .float()"
            raise DTypeError(msg)
    if dtype is bool_:  # sums are `or`, products `and`: what counts is whether a factor is zero
        alpha, beta = bool(alpha), bool(beta)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (input if beta == 1 else input * beta)


@addbmm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 4)), Arg((3, 2, 5)), Arg((3, 5, 4)))
    yield sample(Arg((4,)), Arg((3, 2, 5), layout="transposed"), Arg((3, 5, 4)), beta=0.5, alpha=2)
    yield bad(ShapeError, "as many matrices", Arg((2, 4)), Arg((3, 2, 5)), Arg((2, 5, 4)))


@addr.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)), Arg((2,)), Arg((3,)))
    yield sample(Arg((3,)), Arg((2,), layout="reversed"), Arg((3,)), beta=0.5, alpha=2)
    yield sample(Arg((2, 3)), Arg((2,)), Arg((3,)), beta=0)
    yield sample(Arg((2, 3), bool_), Arg((2,), bool_), Arg((3,), bool_), beta=3, alpha=2)
    yield bad(
        DTypeError, "integer beta", Arg((2, 3), int64), Arg((2,), int64), Arg((3,), int64), beta=0.5
    )
    yield bad(ShapeError, "two vectors", Arg((2, 3)), Arg((2, 1)), Arg((3,)))


@addmm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 4)), Arg((2, 3)), Arg((3, 4)))
    yield sample(Arg((4,)), Arg((2, 3)), Arg((3, 4)), beta=0.5, alpha=2)
    yield sample(Arg((4,)), Arg((2, 3)), Arg((3, 4)), beta=0)
    yield sample(Arg((2, 4)), Arg((2, 0)), Arg((0, 4)))
    yield bad(ShapeError, "expected a", Arg((2, 4)), Arg((2, 3)), Arg((3,)))
    yield bad(ShapeError, "does not expand", Arg((2, 2, 4)), Arg((2, 3)), Arg((3, 4)))


@addmv.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2,)), Arg((2, 3)), Arg((3,)))
    yield sample(Arg(()), Arg((2, 3)), Arg((3,)), beta=2, alpha=0.5)
    yield bad(ShapeError, "expected a", Arg((2,)), Arg((3,)), Arg((3,)))


@baddbmm.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 2, 4)), Arg((2, 2, 3)), Arg((2, 3, 4)))
    yield sample(Arg((4,)), Arg((0, 2, 3)), Arg((0, 3, 4)), beta=0.5)
    yield bad(ShapeError, "expected a", Arg((2,)), Arg((2, 3)), Arg((3, 2)))


# ---- diagonals ---------------------------------------------------------------------------------------


@composite(method=True)
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; of integers int64.

    >>> import tensorplay as tp
    >>> tp.trace(tp.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        msg = f"trace: expected a matrix, found shape {tuple(input.shape)}"
        raise ShapeError(msg)
    return input.diagonal().sum()


@trace.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((2, 2), int64, low=-5, high=5))
    yield sample(Arg((0, 0)))
    yield bad(ShapeError, "expected a matrix", Arg((3,)))


@composite(method=True)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in the dimensions `dim1` and `dim2` of the result, with the last dimension on a diagonal.

    Positive offsets lie above the main diagonal, negative ones below; the rest is zero.

    >>> import tensorplay as tp
    >>> tp.diag_embed(tp.tensor([[1, 2]]))
    tensor([[[1, 0],
             [0, 2]]])
    """
    if not input.ndim:
        raise ShapeError("diag_embed: expected at least one dimension, found a 0-d tensor")
    first, second = (
        layout.normalize_dim("diag_embed", each, input.ndim + 1) for each in (dim1, dim2)
    )
    if first == second:
        msg = f"diag_embed: dim1 and dim2 are the same dimension {first}"
        raise DimensionError(msg)
    size = input.shape[-1] + (-offset if offset < 0 else offset)
    rest = iter(input.shape[:-1])
    shape = [size if i in {first, second} else next(rest) for i in range(input.ndim + 1)]
    return tp.diagonal_scatter(tp.zeros(shape, dtype=input.dtype), input, offset, first, second)


@diag_embed.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3)))
    yield sample(Arg((2, 3)), 1, 0, 2)
    yield sample(Arg((3,)), -2)
    yield sample(Arg((0, 2)))
    yield bad(ShapeError, "at least one", Arg(()))
    yield bad(DimensionError, "the same dimension", Arg((2,)), 0, 1, 1)


@composite(method=True)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector on a diagonal of a new square matrix, or a copy of a diagonal of a matrix.

    >>> import tensorplay as tp
    >>> tp.diag(tp.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    >>> tp.diag(tp.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        msg = f"diag: expected a vector or a matrix, found shape {tuple(input.shape)}"
        raise ShapeError(msg)
    return input.diagonal(diagonal).clone()


@diag.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)), 1)
    yield sample(Arg((3, 4)), -1)
    yield bad(ShapeError, "a vector or a matrix", Arg((2, 2, 2)))


def _powers(name: str, x: Tensor, N: int | None) -> Tensor:
    count = x.shape[-1] if N is None else N
    if count < 0:
        msg = f"{name}: N must not be negative, found {N}"
        raise ArgumentValueError(msg)
    columns = [tp.ones_like(x)] if count else []
    while len(columns) < count:
        columns.append(columns[-1] * x)
    if not columns:
        return tp.zeros((*x.shape, 0), dtype=x.dtype)
    return tp.stack(columns, -1)


@composite(public=False)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, (..., M) to (..., M, N); N is M by default. A number is a vector of one.

    >>> import tensorplay as tp
    >>> tp.linalg.vander(tp.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    return _powers("vander", x if x.ndim else x.unsqueeze(0), N)


@linalg_vander.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)))
    yield sample(Arg((2, 3)), N=4)
    yield sample(Arg((2, 3)), N=0)
    yield sample(Arg(()), N=3)
    yield bad(ArgumentValueError, "negative", Arg((2,)), N=-1)


@composite()
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers N - 1 to 0 of each element of a vector (M,), (M, N); `increasing`, 0 to N - 1.

    >>> import tensorplay as tp
    >>> tp.vander(tp.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        msg = f"vander: expected a vector, found shape {tuple(x.shape)}"
        raise ShapeError(msg)
    powers = _powers("vander", x, N)
    return powers if increasing else powers.flip(-1)


@vander.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3,)))
    yield sample(Arg((3,)), 2, True)
    yield bad(ShapeError, "a vector", Arg((2, 2)))
