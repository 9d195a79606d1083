"""Softmax and its relatives: composites with written gradients.

The gradients read the result instead of the input, as softmax' is a function of softmax. Half types
are computed in float32 throughout and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from tensorplay import _C
from tensorplay.core import layout
from tensorplay.core.dtypes import DType, float64, get_default_dtype, int64
from tensorplay.core.errors import DimensionError, DTypeError
from tensorplay.ops.declare import composite
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Size

if TYPE_CHECKING:
    from tensorplay.ops.registry import Operator
    from tensorplay.ops.signature import Values
    from tensorplay.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

_ROW_DTYPES: Final = (np.dtype(np.float32), np.dtype(np.float64))


def widen(x: Tensor, dtype: DType | None = None) -> Tensor:
    """Return ``x`` in ``dtype``, or in the dtype in which its own dtype is computed."""
    return x.to(x.dtype.compute if dtype is None else dtype.compute)


def _floating(name: str, input: Tensor, dtype: DType | None) -> DType:
    """Return the result's dtype; an integer one, which would cut off every probability, is refused."""
    found = dtype or input.dtype
    if not found.is_floating_point:
        raise DTypeError(
            f"{name}: expected a floating-point tensor, found {found}; convert it with .float() or dtype="
        )
    return found


@composite(method=True)
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """``exp(input) / Σ exp(input)`` along ``dim``.

    The largest element is subtracted first, so nothing overflows. A row whose elements are all −∞, or
    that holds +∞ or NaN, gives NaN. ``dtype`` converts the input first.

    >>> import tensorplay as tp
    >>> tp.softmax(tp.tensor([1.0, 2.0, 3.0]), 0)
    tensor([0.0900, 0.2447, 0.6652])
    """
    wanted = _floating("softmax", input, dtype)
    layout.normalize_dim("softmax", dim, input.ndim)
    x = widen(input, dtype)
    if x.numel() != 0:
        x = x - x.amax(dim, keepdim=True)
    e = x.exp()
    return (e / e.sum(dim, keepdim=True)).to(wanted)


@softmax.shortcut
def _(input: Array, dim: int, dtype: DType | None) -> Array | None:
    return None if dtype is not None else map_rows("softmax", dim, input)


def map_rows(name: str, dim: int, *arrays: Array) -> Array | None:
    """What a function of rows gives, which reads each once; None where the arrays don't lie in rows along ``dim``.

    The parts of a softmax write four arrays of its size, and wait for memory most of the time.
    """
    first = arrays[0]
    if first.ndim == 0 or dim not in {-1, first.ndim - 1} or first.dtype not in _ROW_DTYPES:
        return None
    if any(
        each.dtype != first.dtype or each.shape != first.shape or not each.flags.c_contiguous
        for each in arrays
    ):
        return None
    return _C.map_rows(name, *arrays)


@softmax.gradient("input")
def _(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return softmax_grad(grad, result, dim)


@composite(public=False)
def softmax_grad(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of the input of a softmax, from that of its result and the result."""
    y, g = widen(result), widen(grad)
    product = g * y
    return product - y * product.sum(dim, keepdim=True)


@softmax_grad.shortcut
def _(grad: Array, result: Array, dim: int) -> Array | None:
    return map_rows("softmax_grad", dim, grad, result)


@softmax_grad.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)), 1)
    yield sample(Arg((3, 4)), Arg((3, 4)), 0)


def _softmax_tangent(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    """The Jacobian is symmetric, so the tangent is computed as the gradient is."""
    del operator
    tangent = tangents[0]
    return None if tangent is None else softmax_grad(tangent, result, cast("int", values[1]))


softmax.tangent(_softmax_tangent)


@softmax.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((2, 3, 4), layout="transposed"), -2)
    yield sample(Arg(()), 0)
    yield sample(Arg((2, 0)), 1)
    yield sample(Arg((2, 3)), 0, dtype=float64)
    yield sample(Arg((2, 3), int64), 0, dtype=float64)
    yield bad(DimensionError, "softmax: dimension 2 is outside", Arg((2, 3)), 2)
    yield bad(DTypeError, "softmax: expected a floating-point tensor", Arg((2, 3), int64), 1)


@composite(method=True)
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """``input − log Σ exp(input)`` along ``dim``, without overflow or cancellation.

    >>> import tensorplay as tp
    >>> tp.log_softmax(tp.tensor([1.0, 2.0, 3.0]), 0)
    tensor([-2.4076, -1.4076, -0.4076])
    """
    wanted = _floating("log_softmax", input, dtype)
    layout.normalize_dim("log_softmax", dim, input.ndim)
    x = widen(input, dtype)
    if x.numel() != 0:
        x = x - x.amax(dim, keepdim=True)
    return (x - x.exp().sum(dim, keepdim=True).log()).to(wanted)


@log_softmax.shortcut
def _(input: Array, dim: int, dtype: DType | None) -> Array | None:
    return None if dtype is not None else map_rows("log_softmax", dim, input)


@log_softmax.gradient("input")
def _(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return log_softmax_grad(grad, result, dim)


@composite(public=False)
def log_softmax_grad(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of the input of a log_softmax, from that of its result and the result."""
    g = widen(grad)
    return g - widen(result).exp() * g.sum(dim, keepdim=True)


@log_softmax_grad.shortcut
def _(grad: Array, result: Array, dim: int) -> Array | None:
    return map_rows("log_softmax_grad", dim, grad, result)


@log_softmax_grad.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)), 1)
    yield sample(Arg((3, 4)), Arg((3, 4)), 0)


@log_softmax.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator
    if tangents[0] is None:
        return None
    dim: Any = values[1]
    tangent = widen(tangents[0])
    return tangent - (widen(result).exp() * tangent).sum(dim, keepdim=True)


@log_softmax.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((2, 3, 4), layout="transposed"), -2)
    yield sample(Arg(()), 0)
    yield sample(Arg((2, 0)), 1)
    yield bad(DimensionError, "log_softmax: dimension -3 is outside", Arg((2, 3)), -3)
    yield bad(DTypeError, "log_softmax: expected a floating-point", Arg((2, 3), int64), 1)


@composite(method=True)
def logsumexp(input: Tensor, dim: Size, keepdim: bool = False) -> Tensor:
    """``log Σ exp(input)`` over ``dim``, without overflow; −∞ where there is nothing to add.

    Integers are taken as numbers of the default dtype.

    >>> import tensorplay as tp
    >>> tp.logsumexp(tp.tensor([[0.0, 0.0], [1000.0, 1000.0]]), 1)
    tensor([6.9315e-01, 1.0007e+03])
    """
    wanted = input.dtype if input.dtype.is_differentiable else get_default_dtype()
    layout.normalize_dims("logsumexp", dim, input.ndim)
    x = widen(input, wanted)
    if x.numel() == 0:
        return x.exp().sum(dim, keepdim).log().to(wanted)
    top = _top(x, dim)
    total = (x - top).exp().sum(dim, keepdim=True).log() + top
    if not keepdim:
        total = total.squeeze(dim)
    return total.to(wanted)


def _top(x: Tensor, dim: Size) -> Tensor:
    """The largest (real part) of each slice, 0 where that is infinite."""
    top = tp.real(x).amax(dim, keepdim=True)
    return tp.where(top.abs() == math.inf, 0.0, top)


@logsumexp.gradient("input")
def _(grad: Tensor, input: Tensor, result: Tensor, dim: Size, keepdim: bool) -> Tensor:
    y, g = widen(result), widen(grad)
    if not keepdim:
        y, g = _kept(y, input, dim), _kept(g, input, dim)
    y = tp.where(tp.real(y) == -math.inf, 0.0, y)
    return g * (widen(input) - y).exp()


def _kept(x: Tensor, input: Tensor, dim: Size) -> Tensor:
    """Put the reduced dimensions back with size 1."""
    dims = layout.normalize_dims("logsumexp", dim, input.ndim)
    return x.reshape(tuple(1 if d in dims else n for d, n in enumerate(input.shape)))


@logsumexp.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor | None:
    del operator
    if tangents[0] is None:
        return None
    input, dim, keepdim = cast("tuple[Tensor, Any, bool]", values)
    x = widen(input)
    if x.numel() == 0:
        return tp.zeros_like(result)
    shares = (x - _top(x, dim)).exp()  # of large numbers more exact than exp(x - result)
    total = shares.sum(dim, keepdim)
    moved = (shares * widen(tangents[0])).sum(dim, keepdim)
    return moved / total.masked_fill(total == 0, 1)


@logsumexp.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((2, 3, 4), layout="transposed"), (0, -1), True)
    yield sample(Arg(()), 0)
    yield sample(Arg((2, 0)), 1)
    yield sample(Arg((2, 3), int64), 1)
    yield bad(DimensionError, "logsumexp: dimension 2 is outside", Arg((2, 3)), 2)


@composite(public=False)
def softmax_or_zeros(input: Tensor, dim: int) -> Tensor:
    """`softmax`, but zeros where all elements are −∞: rows of attention in which every key is masked."""
    x = widen(input)
    if x.numel() != 0:
        top = x.amax(dim, keepdim=True)
        x = x - tp.where(top == -math.inf, 0.0, top)
    e = x.exp()
    total = e.sum(dim, keepdim=True)
    return (e / tp.where(total == 0.0, 1.0, total)).to(input.dtype)


@softmax_or_zeros.shortcut
def _(input: Array, dim: int) -> Array | None:
    return map_rows("softmax_or_zeros", dim, input)


@softmax_or_zeros.gradient("input")
def _(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return softmax_grad(grad, result, dim)


softmax_or_zeros.tangent(_softmax_tangent)


@softmax_or_zeros.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((2, 2), values=[[-math.inf, -math.inf], [0.5, -math.inf]]), 1)
