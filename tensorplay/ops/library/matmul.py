"""Matrix products in all ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorplay import _C
from tensorplay.core import dtypes, layout
from tensorplay.core.errors import DTypeError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.batching import has_batch
from tensorplay.ops.declare import composite, structured
from tensorplay.ops.examples import with_example
from tensorplay.ops.gradient import Result
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

# `input` is the name of the tensor parameter everywhere


def _matmul_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    if not a or not b:
        msg = f"matmul: both operands need a dimension, found shapes {tuple(a)} and {tuple(b)}"
        raise ShapeError(msg)
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        msg = (
            f"matmul: shapes {tuple(a)} and {tuple(b)} do not fit: the last size of the first is {a[-1]}, "
            f"the {'second to last' if len(b) > 1 else 'only'} size of the second {inner}"
        )
        raise ShapeError(msg)
    batch = layout.broadcast_shapes("matmul", [a[:-2], b[:-2]])
    return (*batch, *(a[-2:-1]), *(b[-1:] if len(b) > 1 else ()))


def _matmul_meta(input: TensorMeta, other: TensorMeta) -> TensorMeta:
    if input.dtype is not other.dtype:
        msg = f"matmul: expected operands of one dtype, found {input.dtype} and {other.dtype}; convert one with .to()"
        raise DTypeError(msg)
    return TensorMeta(_matmul_shape(input.shape, other.shape), input.dtype, input.device)


@structured(meta=_matmul_meta, method=True)
def matmul(input: Array, other: Array) -> Array:
    """The matrix product; vectors count as a row (left) or a column (right), leading dimensions broadcast.

    Half types multiply in float32 and round once.

    >>> import tensorplay as tp
    >>> tp.matmul(tp.tensor([[1, 2], [3, 4]]), tp.tensor([1, 1]))
    tensor([3, 7])
    >>> (tp.ones(5, 2, 3) @ tp.ones(3, 4)).shape
    (5, 2, 4)
    """
    if input.dtype != other.dtype:
        names = [dtypes.from_numpy_dtype(each.dtype) for each in (input, other)]
        msg = f"matmul: expected operands of one dtype, found {names[0]} and {names[1]}; convert one with .to()"
        raise DTypeError(msg)
    if input.ndim != 2 or other.ndim != 2 or input.shape[1] != other.shape[0]:
        shape = _matmul_shape(input.shape, other.shape)
        rows = input.reshape(1, -1) if input.ndim == 1 else input
        columns = other.reshape(-1, 1) if other.ndim == 1 else other
        return _multiply(rows, columns).reshape(shape)
    return _multiply(input, other)


def _multiply(a: Array, b: Array) -> Array:
    """The product of matrices, in float32 for half types."""
    dtype = dtypes.from_numpy_dtype(a.dtype)
    compute = dtype.compute
    if compute is dtype:
        return _C.matmul(a, b)
    wide = _C.matmul(a.astype(compute.numpy), b.astype(compute.numpy))
    return wide.astype(a.dtype)


@matmul.gradient("input")
def _matmul_input(grad: Tensor, other: Tensor, input: TensorMeta) -> Tensor:
    if input.ndim == 1:
        if other.ndim == 1:
            return grad * other
        return (
            matmul(other, grad.unsqueeze(-1)).squeeze(-1) if other.ndim > 2 else matmul(other, grad)
        )
    if other.ndim == 1:
        return grad.unsqueeze(-1) * other
    return matmul(grad, _turned(other))


@matmul.gradient("other")
def _matmul_other(grad: Tensor, input: Tensor, other: TensorMeta) -> Tensor:
    if other.ndim == 1:
        if input.ndim == 1:
            return grad * input
        return (grad.unsqueeze(-1) * input).sum(tuple(range(input.ndim - 1)))
    if input.ndim == 1:
        return input.unsqueeze(-1) * grad.unsqueeze(-2)
    if other.ndim == 2 and input.ndim > 2:
        # One product over all rows, instead of one a batch and their sum.
        rows, columns = other.shape
        count = math.prod(input.shape[:-1])
        return matmul(input.reshape((count, rows)).t(), grad.reshape((count, columns)))
    return matmul(_turned(input), grad)


def _turned(x: Tensor) -> Tensor:
    return x.t() if x.ndim == 2 else x.transpose(-2, -1)


@matmul.batching
def _matmul_batching(operator: Operator, values: Values, metas: Values, size: int) -> Any:  # noqa: ANN401  # tensors, or what an operator takes for one
    """Vectors become matrices, samples' leading dimensions are aligned; shared operands stay as they are.

    Where one side is shared and the other a vector, the batch is the rows of one product.
    """
    del operator, size
    input: Any
    other: Any
    left: Any
    right: Any
    (input, other), (left, right) = values, metas
    if left.ndim == 1 and right.ndim == 2 and not has_batch(other, right):
        return matmul(input, other)
    if left.ndim == 2 and right.ndim == 1 and not has_batch(input, left):
        return matmul(other, input.t())
    rows = input.unsqueeze(-2) if left.ndim == 1 else input
    columns = other.unsqueeze(-1) if right.ndim == 1 else other
    lead = max(left.ndim, right.ndim, 2)
    if has_batch(input, left):
        rows = _with_rank(rows, lead + 1)
    if has_batch(other, right):
        columns = _with_rank(columns, lead + 1)
    found = matmul(rows, columns)
    if left.ndim == 1:
        found = found.squeeze(-2)
    return found.squeeze(-1) if right.ndim == 1 else found


def _with_rank(x: Tensor, ndim: int) -> Tensor:
    """Dimensions of size 1 behind the first one, up to `ndim`."""
    shaped: Tensor = x.view((x.shape[0], *(1,) * (ndim - x.ndim), *x.shape[1:]))
    return shaped


@matmul.tangent
def _matmul_tangent(
    operator: Operator, values: Values, result: Result, tangents: Sequence[Tensor | None]
) -> Any:  # noqa: ANN401  # what the operator gives: a tensor, or several
    del operator, result
    input, other = values
    left, right = tangents
    first = None if left is None else matmul(left, other)
    second = None if right is None else matmul(input, right)
    if first is None or second is None:
        return second if first is None else first
    return first + second


@matmul.sample
def _matmul_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((4, 5)))
    yield sample(Arg((4,)), Arg((4,)))
    yield sample(Arg((3, 4)), Arg((4,)))
    yield sample(Arg((4,)), Arg((4, 5)))
    yield sample(Arg((2, 3, 4)), Arg((2, 4, 5)))
    yield sample(Arg((2, 1, 3, 4)), Arg((5, 4, 2)))
    yield sample(Arg((4,)), Arg((2, 4, 5)))
    yield sample(Arg((2, 3, 4)), Arg((4,)))
    yield sample(Arg((3, 4), layout="transposed"), Arg((4, 5), layout="strided"))
    yield sample(Arg((3, 0)), Arg((0, 5)))
    yield sample(Arg((2, 3, 0)), Arg((0, 5)))
    yield sample(Arg((2, 0, 3)), Arg((3, 0)))
    yield sample(Arg((3, 4), dtypes.bfloat16), Arg((4, 5), dtypes.bfloat16))
    yield sample(
        Arg((3, 4), dtypes.int64, low=-9, high=9), Arg((4, 5), dtypes.int64, low=-9, high=9)
    )
    yield bad(ShapeError, "do not fit", Arg((3, 4)), Arg((3, 4)))
    yield bad(DTypeError, "one dtype", Arg((3, 4)), Arg((4, 5), dtypes.float64))


def _product(name: str, ranks: tuple[int, int], doc: str, operands: str, found: str) -> Operator:
    """Matmul of fixed ranks; its example gives `found` for `operands`."""

    def declared(input: Tensor, other: Tensor) -> Tensor:
        if (input.ndim, other.ndim) != ranks:
            msg = f"{name}: expected a {ranks[0]}-d and a {ranks[1]}-d tensor, found {input.ndim}-d and {other.ndim}-d"
            raise ShapeError(msg)
        return matmul(input, other)

    declared.__name__ = name
    declared.__doc__ = with_example(doc, f"{name}({operands})", found)
    operator = composite(method=True)(declared)
    shapes = {1: (4,), 2: (4, 4), 3: (2, 4, 4)}

    @operator.sample
    def _samples() -> Iterator[Sample]:
        yield sample(Arg(shapes[ranks[0]]), Arg(shapes[ranks[1]]))
        yield bad(ShapeError, "expected a", Arg((2, 2, 2, 2)), Arg((2, 2)))

    return operator


mm = _product(
    "mm",
    (2, 2),
    "The product of two matrices.",
    "tp.tensor([[1, 2], [3, 4]]), tp.tensor([[5], [6]])",
    "tensor([[17],\n        [39]])",
)
bmm = _product(
    "bmm",
    (3, 3),
    "The products of two batches of matrices.",
    "tp.ones(1, 2, 3), tp.ones(1, 3, 1)",
    "tensor([[[3.],\n         [3.]]])",
)
mv = _product(
    "mv",
    (2, 1),
    "The product of a matrix and a vector.",
    "tp.tensor([[1, 2], [3, 4]]), tp.tensor([5, 6])",
    "tensor([17, 39])",
)
dot = _product(
    "dot",
    (1, 1),
    "The inner product of two vectors.",
    "tp.tensor([1, 2]), tp.tensor([3, 4])",
    "tensor(11)",
)


@composite(method=True)
def outer(input: Tensor, other: Tensor) -> Tensor:
    """The outer product of two vectors.

    >>> import tensorplay as tp
    >>> tp.outer(tp.tensor([1, 2]), tp.tensor([3, 4, 5]))
    tensor([[ 3,  4,  5],
            [ 6,  8, 10]])
    """
    return input.unsqueeze(-1) * other


@outer.sample
def _outer_samples() -> Iterator[Sample]:
    yield sample(Arg((3,)), Arg((4,)))


@composite()
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.linear(tp.tensor([1.0, 2.0]), tp.tensor([[1.0, 1.0], [0.0, 3.0]]), tp.tensor([0.5, 0.0]))
    tensor([3.5000, 6.0000])
    """
    if not input.ndim or weight.ndim > 2 or input.shape[-1] != weight.shape[-1]:
        msg = (
            f"linear: an input of shape {tuple(input.shape)} and a weight of shape {tuple(weight.shape)} do not fit: "
            "their last sizes must be equal"
        )
        raise ShapeError(msg)
    product = matmul(input, weight.t())
    return product if bias is None else product + bias


@linear.sample
def _linear_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((5, 4)), Arg((5,)))
    yield sample(Arg((2, 3, 4)), Arg((5, 4)))
    yield sample(Arg((4,)), Arg((5, 4)), Arg((5,)))
    yield bad(ShapeError, "do not fit", Arg((3, 4)), Arg((5, 3)))


@composite()
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 · weight[k] · input2 + bias[k]` for each k: (*, I) and (*, J) give (*, K).

    `weight` is (K, I, J), `bias` (K).

    >>> import tensorplay as tp
    >>> tp.nn.functional.bilinear(tp.tensor([[1.0, 2.0]]), tp.tensor([[3.0, 4.0]]), tp.ones(1, 2, 2))
    tensor([[21.]])
    """
    fits = weight.ndim == 3 and min(input1.ndim, input2.ndim) >= 1
    if (
        not fits
        or input1.shape[:-1] != input2.shape[:-1]
        or (input1.shape[-1], input2.shape[-1]) != weight.shape[1:]
        or (bias is not None and bias.shape != weight.shape[:1])
    ):
        shapes = [tuple(each.shape) for each in (input1, input2, weight, bias) if each is not None]
        msg = f"bilinear: expected (*, I), (*, J), a weight (K, I, J) and a bias (K), found shapes {shapes}"
        raise ShapeError(msg)
    outputs, rows, columns = weight.shape
    wide = input1.dtype.compute  # no rounding between the two products
    flat = weight.to(wide).permute((1, 0, 2)).reshape((rows, outputs * columns))
    partial = (input1.to(wide) @ flat).reshape((*input1.shape[:-1], outputs, columns))
    result = (partial @ input2.to(wide).unsqueeze(-1)).squeeze(-1).to(input1.dtype)
    return result if bias is None else result + bias


@bilinear.sample
def _bilinear_samples() -> Iterator[Sample]:
    yield sample(Arg((5, 3)), Arg((5, 4)), Arg((2, 3, 4)), Arg((2,)))
    yield sample(Arg((2, 3)), Arg((2, 1)), Arg((4, 3, 1)))
    yield sample(Arg((3,)), Arg((4,)), Arg((2, 3, 4)))
    yield sample(Arg((2, 5, 3)), Arg((2, 5, 4)), Arg((2, 3, 4)), Arg((2,)))
    yield bad(ShapeError, "bilinear: expected", Arg((5, 3)), Arg((4, 4)), Arg((2, 3, 4)))
    yield bad(ShapeError, "bilinear: expected", Arg((5, 3)), Arg((5, 4)), Arg((2, 4, 3)))
