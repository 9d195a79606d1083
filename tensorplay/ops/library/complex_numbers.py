"""Complex numbers: their parts as views, conjugates, angles, and how they are made.

>>> import tensorplay as tp
>>> z = tp.tensor([3 + 4j, -2j])
>>> z.real, z.abs(), tp.view_as_real(z)
(tensor([3., -0.]), tensor([5., 2.]), tensor([[ 3.,  4.],
        [-0., -2.]]))

Gradients follow PyTorch's convention: that of a real loss L by z = x + iy is ∂L/∂x + i ∂L/∂y, so that
`z - rate * grad` descends. For a holomorphic function it is the gradient of the result times the
conjugate of the derivative. Compiled functions run complex operators as calls of their eager kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import (
    bool_,
    complex64,
    complex128,
    float16,
    float64,
    int64,
    to_complex,
    to_real,
)
from tensorplay.core.errors import DTypeError, LayoutError, ShapeError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import values as ops
from tensorplay.ops.declare import FLOAT, composite, pointwise, reinterpreted
from tensorplay.ops.registry import Operator, tp
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import Values
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.ops.kinds.reinterpreted import Layout
    from tensorplay.tensor import Tensor

# ---- views of the parts ---------------------------------------------------------------------------


@reinterpreted(to_real, inverse=lambda input: ("view_as_complex", ()))
def view_as_real(input: TensorMeta) -> Layout:
    """The real and imaginary parts of a complex tensor (...) as a real one (..., 2) in the same memory.

    Writing into it changes the complex tensor. Real tensors raise `DTypeError`.

    >>> import tensorplay as tp
    >>> tp.view_as_real(tp.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input.dtype.is_complex:
        raise DTypeError(f"view_as_real: expected a complex tensor, found {input.dtype}")
    strides = (*(2 * each for each in input.strides), 1)
    return (*input.shape, 2), strides, 2 * input.offset


@reinterpreted(to_complex, inverse=lambda input: ("view_as_real", ()))
def view_as_complex(input: TensorMeta) -> Layout:
    """A float32 or float64 tensor (..., 2) of real and imaginary parts as a complex one in the same memory.

    The two parts must be neighbours in memory, and every other stride even (`LayoutError`).

    >>> import tensorplay as tp
    >>> tp.view_as_complex(tp.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if not input.dtype.is_floating_point or input.dtype.compute is not input.dtype:
        raise DTypeError(f"view_as_complex: expected float32 or float64, found {input.dtype}")
    if not input.ndim or input.shape[-1] != 2:
        raise ShapeError(
            f"view_as_complex: expected the last size 2, found shape {tuple(input.shape)}"
        )
    outer = [s for s, n in zip(input.strides[:-1], input.shape[:-1], strict=True) if n > 1]
    if input.numel and (input.strides[-1] != 1 or any(s % 2 for s in outer) or input.offset % 2):
        raise LayoutError(
            f"view_as_complex: the parts must be neighbours in memory, found strides {input.strides} "
            f"and offset {input.offset}; call .contiguous() first"
        )
    strides = tuple(each // 2 for each in input.strides[:-1])
    return tuple(input.shape[:-1]), strides, input.offset // 2


@composite()
def real(input: Tensor) -> Tensor:
    """The real part, a view; a real tensor is its own.

    >>> import tensorplay as tp
    >>> tp.real(tp.tensor([1 + 2j]))
    tensor([1.])
    """
    return tp.view_as_real(input).select(-1, 0) if input.dtype.is_complex else input


@composite()
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, a view. Real tensors raise `DTypeError`.

    >>> import tensorplay as tp
    >>> tp.imag(tp.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.dtype.is_complex:
        raise DTypeError(f"imag: expected a complex tensor, found {input.dtype}")
    return tp.view_as_real(input).select(-1, 1)


# ---- made from parts --------------------------------------------------------------------------------


def _check_parts(name: str, first: TensorMeta, second: TensorMeta) -> None:
    for each in (first, second):
        if not each.dtype.is_floating_point or each.dtype.itemsize < 4:
            raise DTypeError(f"{name}: expected float32 or float64 tensors, found {each.dtype}")
    if first.dtype is not second.dtype:
        raise DTypeError(
            f"{name}: expected tensors of one dtype, found {first.dtype} and {second.dtype}"
        )


@composite()
def complex(real: Tensor, imag: Tensor) -> Tensor:  # PyTorch's name
    """`real + i imag` of two tensors, both float32 or both float64, broadcast; complex64 or complex128.

    >>> import tensorplay as tp
    >>> tp.complex(tp.tensor([1.0]), tp.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts("complex", real.tensor_meta, imag.tensor_meta)
    return complex_of_parts(real, imag)


@pointwise(public=False, conjugates=True)
def complex_of_parts(real: Value, imag: Value) -> Value:
    """`real + i imag` of floats; `complex` checks its arguments."""
    return ops.complex(real, imag)


@complex_of_parts.gradient("real", "imag")
def _(grad: Tensor) -> tuple[Tensor, Tensor]:
    return tp.real(grad), tp.imag(grad)


@complex_of_parts.tangent
def _(
    operator: Operator, values: Values, result: Tensor, tangents: Sequence[Tensor | None]
) -> Tensor:
    parts = [
        tp.zeros_like(value) if tangent is None else tangent
        for value, tangent in zip(values, tangents, strict=True)
    ]
    found = operator(*parts)
    return found if found.shape == result.shape else found.expand(result.shape)


@composite()
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """`abs · (cos(angle) + i sin(angle))` of two tensors, both float32 or both float64, broadcast.

    >>> import tensorplay as tp
    >>> tp.polar(tp.tensor([2.0]), tp.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts("polar", abs.tensor_meta, angle.tensor_meta)
    return complex_of_parts(abs * angle.cos(), abs * angle.sin())


# ---- conjugates, signs, angles ----------------------------------------------------------------------


@pointwise(method=True, inplace=True)
def conj_physical(input: Value) -> Value:
    """The complex conjugate; a copy of real tensors.

    >>> import tensorplay as tp
    >>> tp.conj_physical(tp.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return ops.conj(input) if input.dtype.is_complex else input


@composite(method=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, computed at once; a real tensor is its own.

    >>> import tensorplay as tp
    >>> tp.conj(tp.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return conj_physical(input) if input.dtype.is_complex else input


@composite(method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: no conjugation is ever pending here.

    >>> import tensorplay as tp
    >>> x = tp.ones(2)
    >>> tp.resolve_conj(x) is x
    True
    """
    return input


@composite(method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: no negation is ever pending here.

    >>> import tensorplay as tp
    >>> x = tp.ones(2)
    >>> tp.resolve_neg(x) is x
    True
    """
    return input


@composite(method=True)
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated where the tensor is complex.

    >>> import tensorplay as tp
    >>> tp.adjoint(tp.tensor([[1j, 2.0]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    return conj(input.mT)


@pointwise(promotion=FLOAT, method=True)
def angle(input: Value) -> Value:
    """The angle of complex numbers in (-π, π]; of real ones π where negative, else 0, NaN for NaN.

    Its derivative at 0 is 0.

    >>> import tensorplay as tp
    >>> tp.angle(tp.tensor([1j, -1.0]))
    tensor([1.5708, 3.1416])
    """
    if input.dtype.is_complex:
        return ops.angle(input)
    turned = ops.where(ops.lt(input, 0), ops.to_dtype(input * 0 + _PI, input.dtype), input * 0)
    return ops.where(ops.isnan(input), input, turned)


_PI = 3.141592653589793


@pointwise(method=True, inplace=True)
def sgn(input: Value) -> Value:
    """`input / |input|` of complex numbers, 0 at 0; the sign of real ones.

    >>> import tensorplay as tp
    >>> tp.sgn(tp.tensor([3 + 4j, 0]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    if input.dtype.is_complex:
        return ops.sgn(input)
    return input if input.dtype.kind == "b" else ops.sign(input)


@pointwise(result=bool_, method=True, not_differentiable="its result is a truth value")
def isreal(input: Value) -> Value:
    """Whether the imaginary part is 0; true of all real numbers.

    >>> import tensorplay as tp
    >>> tp.isreal(tp.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    if input.dtype.is_complex:
        return ops.eq(ops.imag(input), 0)
    return ops.logical_or(ops.eq(input, input), ops.ne(input, input))


# ---- samples ------------------------------------------------------------------------------------------

_PARTS = Arg((3, 4, 2))


def _numbers() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4), complex64))
    yield sample(Arg((4, 3), complex128, layout="transposed"))
    yield sample(Arg((), complex64))
    yield sample(Arg((2, 0), complex64))


for _operator in (conj_physical, conj, resolve_conj, resolve_neg, real, sgn, isreal, angle):
    _operator.sample(_numbers)


@adjoint.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((2, 3, 4), complex64))


@view_as_real.sample
@imag.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), complex64))
    yield sample(Arg((4, 3), complex128, layout="transposed"))
    yield sample(Arg((4, 6), complex64, layout="strided"))
    yield sample(Arg((), complex64))
    yield sample(Arg((2, 0), complex64))
    yield bad(DTypeError, "expected a complex tensor", Arg((3,)))


@view_as_complex.sample
def _() -> Iterator[Sample]:
    yield sample(_PARTS)
    yield sample(Arg((2,), float64))
    yield sample(Arg((0, 2)))
    yield bad(ShapeError, "last size 2", Arg((2, 3)))
    yield bad(ShapeError, "last size 2", Arg(()))
    yield bad(DTypeError, "float32 or float64", Arg((2, 2), float16))
    yield bad(LayoutError, "neighbours", Arg((3, 2), layout="transposed"))


@complex.sample
@polar.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)))
    yield sample(Arg((3, 1), float64), Arg((4,), float64))
    yield bad(DTypeError, "one dtype", Arg((3,)), Arg((3,), float64))
    yield bad(DTypeError, "float32 or float64", Arg((3,), int64), Arg((3,), int64))


@complex_of_parts.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)))
    yield sample(Arg((3, 1), float64), Arg((4,), float64))
