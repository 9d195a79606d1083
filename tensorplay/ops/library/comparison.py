"""Comparisons, classification, logic and bits: pointwise operators without a derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tensorplay.core import dtypes
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import composite, pointwise
from tensorplay.ops.examples import with_example
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.signature import is_tensor
from tensorplay.ops.values import Mask, Scalar, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_TRUTH = "its result is a truth value"
_BITS = "it works on bits"


def _comparison(name: str, text: str, found: str) -> Operator:
    """The instruction of that name; its example compares 1, 2 and 3 with 2."""
    function: Callable[..., Value] = getattr(ops, name)

    def declared(input: Scalar, other: Scalar) -> Value:
        return function(input, other)

    truth = "true" if name == "ne" else "false"
    declared.__name__ = name
    declared.__doc__ = with_example(
        f"Whether `input {text} other`, elementwise; {truth} for NaN.",
        f"{name}(tp.tensor([1, 2, 3]), 2)", f"tensor([{found}])",
    )  # fmt: skip
    operator = pointwise(method=True, inplace=True, not_differentiable=_TRUTH)(declared)
    operator.sample(_comparison_samples)
    return operator


def _comparison_samples() -> Iterator[Sample]:
    nan = float("nan")
    yield sample(Arg((3, 4), low=-1, high=2), Arg((4,), low=-1, high=2))
    yield sample(Arg((4,), values=[nan, 1.0, -0.0, 2.0]), Arg((4,), values=[nan, 1.0, 0.0, 3.0]))
    yield sample(Arg((5,), dtypes.int64, low=-2, high=3), 1)
    yield sample(Arg((5,), dtypes.int64, low=-2, high=3), 0.5)
    yield sample(Arg((5,), dtypes.bool_), Arg((5,), dtypes.bool_))
    yield sample(Arg((2, 3), dtypes.bfloat16), Arg((2, 3)))


lt = _comparison("lt", "<", " True, False, False")
le = _comparison("le", "<=", " True,  True, False")
gt = _comparison("gt", ">", "False, False,  True")
ge = _comparison("ge", ">=", "False,  True,  True")
eq = _comparison("eq", "==", "False,  True, False")
ne = _comparison("ne", "!=", " True, False,  True")


def _classification(name: str, doc: str, found: str, *, integers: bool) -> Operator:
    """The instruction of that name; its example asks for 1, an infinity and NaN."""
    function: Callable[..., Value] = getattr(ops, name)

    def declared(input: Value) -> Value:
        if input.dtype.is_differentiable:
            return function(input)
        truth = ops.eq(input, input)
        return truth if integers else ops.logical_not(truth)

    declared.__name__ = name
    declared.__doc__ = with_example(
        doc, f"{name}(tp.tensor([1.0, float('inf'), float('nan')]))", f"tensor([{found}])"
    )
    operator = pointwise(method=True, not_differentiable=_TRUTH)(declared)
    operator.sample(_classification_samples)
    return operator


def _classification_samples() -> Iterator[Sample]:
    inf, nan = float("inf"), float("nan")
    yield sample(Arg((6,), values=[inf, -inf, nan, -0.0, 0.0, -3.5]))
    yield sample(Arg((2, 3), dtypes.int32))
    yield sample(Arg((6,), dtypes.bfloat16, values=[inf, -inf, nan, -0.0, 0.0, -3.5]))


isnan = _classification(
    "isnan", "Whether an element is NaN.", "False, False,  True", integers=False
)
isinf = _classification(
    "isinf", "Whether an element is infinite.", "False,  True, False", integers=False
)
isfinite = _classification(
    "isfinite",
    "Whether an element is neither infinite nor NaN.",
    " True, False, False",
    integers=True,
)


@pointwise(method=True, not_differentiable=_TRUTH)
def signbit(input: Value) -> Value:
    """Whether the sign bit is set; true for -0.0.

    >>> import tensorplay as tp
    >>> tp.signbit(tp.tensor([-0.0, 0.0, -3.5]))
    tensor([ True, False,  True])
    """
    if input.dtype.is_floating_point:
        return ops.signbit(input)
    return ops.ne(input, input) if input.dtype.kind == "b" else ops.lt(input, 0)


signbit.sample(_classification_samples)


@pointwise(method=True, inplace=True, not_differentiable=_TRUTH)
def logical_and(input: Mask, other: Mask) -> Value:
    """Whether both are nonzero.

    >>> import tensorplay as tp
    >>> tp.logical_and(tp.tensor([0, 2, 3]), tp.tensor([1, 1, 0]))
    tensor([False,  True, False])
    """
    return ops.logical_and(input, other)


@pointwise(method=True, inplace=True, not_differentiable=_TRUTH)
def logical_or(input: Mask, other: Mask) -> Value:
    """Whether one is nonzero.

    >>> import tensorplay as tp
    >>> tp.logical_or(tp.tensor([0, 2, 0]), tp.tensor([1, 1, 0]))
    tensor([ True,  True, False])
    """
    return ops.logical_or(input, other)


@pointwise(method=True, inplace=True, not_differentiable=_TRUTH)
def logical_xor(input: Mask, other: Mask) -> Value:
    """Whether exactly one is nonzero.

    >>> import tensorplay as tp
    >>> tp.logical_xor(tp.tensor([0, 2, 3]), tp.tensor([1, 1, 0]))
    tensor([ True, False,  True])
    """
    return ops.logical_xor(input, other)


@pointwise(method=True, inplace=True, not_differentiable=_TRUTH)
def logical_not(input: Mask) -> Value:
    """Whether an element is zero.

    >>> import tensorplay as tp
    >>> tp.logical_not(tp.tensor([0.0, -0.0, 3.5]))
    tensor([ True,  True, False])
    """
    return ops.logical_not(input)


@logical_and.sample
@logical_or.sample
@logical_xor.sample
def _logical_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.bool_), Arg((4,), dtypes.bool_))
    yield sample(
        Arg((4,), values=[0.0, float("nan"), 2.0, -0.0]), Arg((4,), dtypes.int32, low=0, high=2)
    )


logical_not.sample(_classification_samples)


def _bits(name: str, instruction: str, doc: str, numbers: str, found: str) -> Operator:
    """The instruction, of integers and bools; its example gives `found` for two operands, `numbers`."""
    function: Callable[..., Value] = getattr(ops, instruction)

    def declared(input: Scalar, other: Scalar) -> Value:
        _refuse_floats(name, input)
        return function(input, other)

    declared.__name__ = name
    declared.__doc__ = with_example(doc, f"{name}({numbers})", f"tensor([{found}])")
    operator = pointwise(method=True, inplace=True, not_differentiable=_BITS)(declared)
    operator.sample(_bit_samples)
    return operator


def _refuse_floats(name: str, value: Value) -> None:
    if value.dtype.is_differentiable:
        msg = f"{name}: expected integers or bools, found {value.dtype}"
        raise DTypeError(msg)


def _bit_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.int32, low=-9, high=9), Arg((4,), dtypes.int32, low=0, high=7))
    yield sample(Arg((5,), dtypes.uint8, low=0, high=255), 3)
    yield bad(DTypeError, "expected integers", Arg((3,)), Arg((3,)))


bitwise_and = _bits(
    "bitwise_and",
    "bitwise_and",
    "Bits set in both; logical and of bools.",
    "tp.tensor([12, 10]), 9",
    "8, 8",
)
bitwise_or = _bits(
    "bitwise_or",
    "bitwise_or",
    "Bits set in one of both; logical or of bools.",
    "tp.tensor([12, 10]), 9",
    "13, 11",
)
bitwise_xor = _bits(
    "bitwise_xor",
    "bitwise_xor",
    "Bits set in exactly one; logical xor of bools.",
    "tp.tensor([12, 10]), 9",
    "5, 3",
)
bitwise_left_shift = _bits(
    "bitwise_left_shift",
    "lshift",
    "`input << other`; bits shifted out are lost.",
    "tp.tensor([1, -3]), 2",
    "  4, -12",
)
bitwise_right_shift = _bits(
    "bitwise_right_shift",
    "rshift",
    "`input >> other`, keeping the sign.",
    "tp.tensor([9, -9]), 2",
    " 2, -3",
)


@pointwise(method=True, inplace=True, not_differentiable=_BITS)
def bitwise_not(input: Value) -> Value:
    """All bits turned; logical not of bools.

    >>> import tensorplay as tp
    >>> tp.bitwise_not(tp.tensor([0, 5, -1]))
    tensor([-1, -6,  0])
    >>> ~tp.tensor([True, False])
    tensor([False,  True])
    """
    _refuse_floats("bitwise_not", input)
    return ops.logical_not(input) if input.dtype.kind == "b" else ops.bitwise_not(input)


@bitwise_not.sample
def _bitwise_not_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.int32, low=-9, high=9))
    yield sample(Arg((3, 4), dtypes.bool_))


@pointwise()
def where(condition: Mask, input: Scalar, other: Scalar) -> Value:
    """`input` where `condition` holds, else `other`.

    >>> import tensorplay as tp
    >>> x = tp.tensor([-1.0, 2.0])
    >>> tp.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    return ops.where(condition, input, other)


@where.sample
def _where_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), dtypes.bool_), Arg((3, 4)), Arg((4,)))
    yield sample(Arg((3, 4), dtypes.bool_), Arg((3, 4)), 0.0)
    yield sample(Arg((3, 1), dtypes.bool_), 1.0, Arg((4,), dtypes.float64))


@composite(method=True, inplace=True)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """`value`, a number or a 0-d tensor converted to the dtype of `input`, where `mask` holds, else `input`.

    >>> import tensorplay as tp
    >>> tp.masked_fill(tp.tensor([1.0, 2.0, 3.0]), tp.tensor([True, False, True]), 0)
    tensor([0., 2., 0.])
    """
    if mask.dtype is not dtypes.bool_:
        raise DTypeError(
            f"masked_fill: expected a bool mask, found {mask.dtype}; convert it with .bool()"
        )
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if shape:
        raise ShapeError(f"masked_fill: expected a number or a 0-d tensor, found shape {shape}")
    is_complex = value.dtype.kind == "c" if is_tensor(value) else isinstance(value, complex)  # type: ignore[union-attr]  # its role says so
    if is_complex and input.dtype.kind != "c":
        raise DTypeError(
            f"masked_fill: the complex number {value} does not fit a {input.dtype} tensor"
        )
    if is_tensor(value):
        return where(mask, value.to(input.dtype), input)  # type: ignore[union-attr]  # a tensor
    kind = input.dtype.kind
    if kind in "biu":
        dtypes.check_range("masked_fill", value, input.dtype)  # type: ignore[arg-type]  # a number
        value = bool(value) if kind == "b" else int(value)  # type: ignore[arg-type]  # a number
    return where(mask, value, input)


@masked_fill.sample
def _masked_fill_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4), dtypes.bool_), 0.5)
    yield sample(Arg((3, 4)), Arg((4,), dtypes.bool_), Arg(()))
    yield sample(Arg((3, 4), dtypes.int64), Arg((3, 4), dtypes.bool_), 2.5)


@pointwise(method=True, not_differentiable=_TRUTH)
def isclose(
    input: Value, other: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    """Whether `|input - other| <= atol + rtol * |other|`; equal infinities are close.

    >>> import tensorplay as tp
    >>> tp.isclose(tp.tensor([1.0, 1.0, float("inf")]), tp.tensor([1.000001, 1.1, float("inf")]))
    tensor([ True, False,  True])
    """
    for name, limit in (("rtol", rtol), ("atol", atol)):
        if limit < 0:
            raise ArgumentValueError(f"isclose: {name} must not be negative, found {limit}")
    if not input.dtype.is_floating_point:
        input, other = ops.to_dtype(input, dtypes.float64), ops.to_dtype(other, dtypes.float64)
    same = ops.eq(input, other)
    near = ops.le(ops.abs(input - other), ops.abs(other) * rtol + atol)
    close = ops.logical_or(same, ops.logical_and(near, ops.isfinite(other)))
    both = ops.logical_and(ops.isnan(input), ops.isnan(other))
    return ops.logical_or(close, both) if equal_nan else close


@isclose.sample
def _isclose_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((3, 4)), 1e-2, 1e-1)
    yield sample(
        Arg((3,), values=[1.0, float("nan"), float("inf")]),
        Arg((3,), values=[1.0, float("nan"), float("inf")]),
    )
