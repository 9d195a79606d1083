"""Activation functions of one element each.

At NaN every one of them is NaN. Functions with a kink name their derivative there.

>>> import tensorplay as tp
>>> tp.threshold(tp.tensor([-1.0, 0.5, 2.0]), 0.5, 9.0)
tensor([9., 9., 2.])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from tensorplay.core import dtypes
from tensorplay.core.dtypes import Number
from tensorplay.core.errors import ArgumentValueError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import FLOAT, pointwise
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.values import Value


@pointwise(method=True, inplace=True)
def relu(input: Value) -> Value:
    """`max(input, 0)`; NaN stays. Its derivative at 0 is 0.

    >>> import tensorplay as tp
    >>> tp.relu(tp.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return ops.relu(input)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def sigmoid(input: Value) -> Value:
    """`1 / (1 + exp(-input))`.

    >>> import tensorplay as tp
    >>> tp.sigmoid(tp.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """
    return ops.sigmoid(input)


@pointwise(promotion=FLOAT, inplace=True)
def gelu(input: Value, approximate: str = "none") -> Value:
    """`input * Phi(input)`, Phi the normal distribution's function; `approximate="tanh"` uses the tanh formula.

    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    >>> import tensorplay as tp
    >>> tp.gelu(tp.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate == "none":
        return input * 0.5 * (1 + ops.erf(input * math.sqrt(0.5)))
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return input * 0.5 * (1 + ops.tanh(inner))
    msg = f"gelu: approximate must be 'none' or 'tanh', found {approximate!r}"
    raise ArgumentValueError(msg)


@pointwise(promotion=FLOAT, inplace=True)
def silu(input: Value) -> Value:
    """`input * sigmoid(input)`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.silu(tp.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return input * ops.sigmoid(input)


@pointwise(promotion=FLOAT, inplace=True)
def mish(input: Value) -> Value:
    """`input * tanh(softplus(input))` (Misra, Mish, 2019).

    >>> import tensorplay as tp
    >>> tp.nn.functional.mish(tp.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return input * ops.tanh(-_logsigmoid(-input))


def _logsigmoid(x: Value) -> Value:
    """`-log(1 + exp(-x))` without overflow.

    With one branch for `x >= 0` rather than `|x|`, so that the derivative at 0 is that of the
    function, 1/2, and not that of a kink.
    """
    negative = x < 0
    step = ops.log1p(ops.exp(ops.where(negative, x, -x)))
    return ops.where(negative, x, 0) - step


@pointwise(promotion=FLOAT)
def softplus(input: Value, beta: Number = 1.0, threshold: Number = 20.0) -> Value:
    """`log(1 + exp(beta * input)) / beta`; `input` itself where `beta * input > threshold`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.softplus(tp.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    scaled = input * beta
    above = ops.gt(scaled, threshold)
    return ops.where(above, input, ops.log1p(ops.exp(ops.where(above, 0, scaled))) / beta)


@pointwise(promotion=FLOAT)
def logsigmoid(input: Value) -> Value:
    """`log(sigmoid(input))` without overflow; its derivative is `sigmoid(-input)`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.logsigmoid(tp.tensor([-100.0, 0.0, 2.0]))
    tensor([-100.0000,   -0.6931,   -0.1269])
    """
    return _logsigmoid(input)


@pointwise(inplace=True)
def leaky_relu(input: Value, negative_slope: Number = 0.01) -> Value:
    """`input` where positive, else `negative_slope * input`; at 0 the derivative is the slope.

    >>> import tensorplay as tp
    >>> tp.nn.functional.leaky_relu(tp.tensor([-1.0, 0.5, 2.0]), 0.1)
    tensor([-0.1000,  0.5000,  2.0000])
    """
    return ops.where(input > 0, input, input * negative_slope)


@pointwise(promotion=FLOAT, inplace=True)
def elu(input: Value, alpha: Number = 1.0) -> Value:
    """`input` where positive, else `alpha * (exp(input) - 1)`, whose derivative is taken at 0.

    >>> import tensorplay as tp
    >>> tp.nn.functional.elu(tp.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return _elu(input, alpha, 1)


@pointwise(promotion=FLOAT, inplace=True)
def selu(input: Value) -> Value:
    """Scaled elu with the constants of Klambauer et al., Self-Normalizing Neural Networks, 2017.

    >>> import tensorplay as tp
    >>> tp.selu(tp.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.1113,  0.0000,  2.1014])
    """
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return _elu(input, alpha, 1) * scale


@pointwise(promotion=FLOAT, inplace=True)
def celu(input: Value, alpha: Number = 1.0) -> Value:
    """`input` where positive, else `alpha * (exp(input / alpha) - 1)` (Barron 2017).

    >>> import tensorplay as tp
    >>> tp.celu(tp.tensor([-2.0, 1.0]), 2.0)
    tensor([-1.2642,  1.0000])
    """
    if alpha == 0:
        msg = "celu: alpha must not be 0, the function divides by it"
        raise ArgumentValueError(msg)
    return _elu(input, alpha, alpha)


def _elu(x: Value, alpha: Number, width: Number) -> Value:
    """`x` where positive, else `alpha * (exp(x / width) - 1)`."""
    below = ops.le(x, 0)
    inner = ops.where(below, x, 0)
    return ops.where(below, ops.expm1(inner if width == 1 else inner / width) * alpha, x)


@pointwise(inplace=True)
def threshold(input: Value, threshold: Number, value: Number) -> Value:
    """`input` where it exceeds `threshold`, else `value`, with derivative 0.

    >>> import tensorplay as tp
    >>> tp.threshold(tp.tensor([-1.0, 0.5, 2.0]), 1.0, 20.0)
    tensor([20., 20.,  2.])
    """
    return ops.where(ops.le(input, threshold), value, input)


@pointwise(inplace=True)
def hardtanh(input: Value, min_val: float = -1.0, max_val: float = 1.0) -> Value:
    """`input` inside `[min_val, max_val]`; outside and at the bounds the derivative is 0.

    >>> import tensorplay as tp
    >>> tp.nn.functional.hardtanh(tp.tensor([-3.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        msg = f"hardtanh: min_val {min_val} is larger than max_val {max_val}"
        raise ArgumentValueError(msg)
    low, high = ops.le(input, min_val), ops.ge(input, max_val)
    return ops.where(low, min_val, ops.where(high, max_val, input))


@pointwise(promotion=FLOAT, inplace=True)
def hardsigmoid(input: Value) -> Value:
    """`clamp(input / 6 + 1/2, 0, 1)`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.hardsigmoid(tp.tensor([-4.0, 0.0, 1.5, 4.0]))
    tensor([0.0000, 0.5000, 0.7500, 1.0000])
    """
    return ops.where(input <= -3, 0.0, ops.where(input >= 3, 1.0, input / 6 + 0.5))


@pointwise(promotion=FLOAT, inplace=True)
def hardswish(input: Value) -> Value:
    """`input * clamp(input / 6 + 1/2, 0, 1)` (Howard et al., MobileNetV3, 2019).

    >>> import tensorplay as tp
    >>> tp.nn.functional.hardswish(tp.tensor([-4.0, -1.0, 2.0, 4.0]))
    tensor([ 0.0000, -0.3333,  1.6667,  4.0000])
    """
    low, high = input <= -3, input >= 3
    inner = ops.where(ops.logical_or(low, high), 0, input)
    return ops.where(low, 0.0, ops.where(high, input, inner * (inner / 6 + 0.5)))


@pointwise(inplace=True)
def relu6(input: Value) -> Value:
    """`input` inside `[0, 6]`; outside and at the bounds the derivative is 0.

    >>> import tensorplay as tp
    >>> tp.nn.functional.relu6(tp.tensor([-1.0, 0.5, 8.0]))
    tensor([0.0000, 0.5000, 6.0000])
    """
    return ops.where(input <= 0, 0, ops.where(input >= 6, 6, input))


@pointwise(promotion=FLOAT)
def softsign(input: Value) -> Value:
    """`input / (1 + |input|)`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.softsign(tp.tensor([-1.0, 0.5, 2.0]))
    tensor([-0.5000,  0.3333,  0.6667])
    """
    return input / (1 + ops.abs(input))


@pointwise(promotion=FLOAT)
def tanhshrink(input: Value) -> Value:
    """`input - tanh(input)`.

    >>> import tensorplay as tp
    >>> tp.nn.functional.tanhshrink(tp.tensor([-1.0, 0.5, 2.0]))
    tensor([-0.2384,  0.0379,  1.0360])
    """
    return input - ops.tanh(input)


@pointwise(promotion=FLOAT)
def hardshrink(input: Value, lambd: Number = 0.5) -> Value:
    """`input` outside `[-lambd, lambd]`, else 0.

    >>> import tensorplay as tp
    >>> tp.hardshrink(tp.tensor([-1.0, 0.5, 0.7]))
    tensor([-1.0000,  0.0000,  0.7000])
    """
    inside = ops.logical_and(ops.ge(input, -lambd), ops.le(input, lambd))
    return ops.where(inside, 0, input)


@pointwise(promotion=FLOAT)
def softshrink(input: Value, lambd: float = 0.5) -> Value:
    """`input - lambd` above `lambd`, `input + lambd` below `-lambd`, else 0.

    >>> import tensorplay as tp
    >>> tp.softshrink(tp.tensor([-1.0, 0.2, 0.7]))
    tensor([-0.5000,  0.0000,  0.2000])
    """
    if not lambd >= 0:
        msg = f"softshrink: lambd must be at least 0, found {lambd}"
        raise ArgumentValueError(msg)
    lower = ops.where(ops.lt(input, -lambd), input + lambd, input * 0)
    return ops.where(ops.gt(input, lambd), input - lambd, lower)


@pointwise(promotion=FLOAT, public=False)
def prelu_elements(input: Value, weight: Value) -> Value:
    """`input` where positive, else `weight * input`; the operands broadcast."""
    above = input > 0
    return ops.where(above, input, ops.where(above, 0, input) * weight)


def _activation_samples(**variants: object) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        yield sample(Arg((3, 4)))
        yield sample(Arg((4, 3), layout="transposed"))
        yield sample(Arg((5, 6), low=-30.0, high=30.0))
        yield sample(Arg(()))
        yield sample(Arg((0, 2)))
        yield sample(Arg((3, 4), dtypes.float64))
        yield sample(Arg((3, 4), dtypes.bfloat16))
        if variants:
            yield sample(Arg((3, 4)), **variants)

    return samples


for _operator in (
    relu, sigmoid, silu, mish, logsigmoid, selu, hardsigmoid, hardswish, relu6, softsign, tanhshrink,
):  # fmt: skip
    _operator.sample(_activation_samples())
softplus.sample(_activation_samples(beta=2.0, threshold=3.0))
leaky_relu.sample(_activation_samples(negative_slope=0.2))
elu.sample(_activation_samples(alpha=0.5))
hardshrink.sample(_activation_samples(lambd=1.1))


@hardtanh.sample
def _() -> Iterator[Sample]:
    yield from _activation_samples(min_val=-0.5, max_val=0.7)()
    yield bad(ArgumentValueError, "larger than max_val", Arg((3,)), 1.0, -1.0)


@celu.sample
def _() -> Iterator[Sample]:
    yield from _activation_samples(alpha=0.5)()
    yield sample(Arg((3, 4)), -1.5)
    yield bad(ArgumentValueError, "must not be 0", Arg((3,)), 0.0)


@softshrink.sample
def _() -> Iterator[Sample]:
    yield from _activation_samples(lambd=0.9)()
    yield bad(ArgumentValueError, "at least 0", Arg((3,)), -1.0)


@threshold.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 0.3, -1.0)
    yield sample(Arg((4, 3), layout="transposed"), 0.0, 2.0)
    yield sample(Arg((3, 4), dtypes.int32), 1, 7)
    yield sample(Arg((3, 4), dtypes.bfloat16), 0.25, 0.5)


@prelu_elements.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((2, 3, 4)), Arg((3, 1)))
    yield sample(Arg((3, 4)), Arg(()))


@gelu.sample
def _gelu_samples() -> Iterator[Sample]:
    yield from _activation_samples(approximate="tanh")()
    yield bad(ArgumentValueError, "'none' or 'tanh'", Arg((3,)), "exact")
