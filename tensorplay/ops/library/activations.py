"""Activation functions."""

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
    """`max(input, 0)`; NaN stays. Its derivative at 0 is 0."""
    return ops.relu(input)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def sigmoid(input: Value) -> Value:
    """`1 / (1 + exp(-input))`."""
    return ops.sigmoid(input)


@pointwise(promotion=FLOAT)
def gelu(input: Value, approximate: str = "none") -> Value:
    """`input * Phi(input)`, Phi the normal distribution's function; `approximate="tanh"` uses the tanh formula.

    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    if approximate == "none":
        return input * 0.5 * (1 + ops.erf(input * math.sqrt(0.5)))
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return input * 0.5 * (1 + ops.tanh(inner))
    msg = f"gelu: approximate must be 'none' or 'tanh', found {approximate!r}"
    raise ArgumentValueError(msg)


@pointwise(promotion=FLOAT)
def silu(input: Value) -> Value:
    """`input * sigmoid(input)`."""
    return input * ops.sigmoid(input)


@pointwise(promotion=FLOAT)
def mish(input: Value) -> Value:
    """`input * tanh(softplus(input))`."""
    return input * ops.tanh(_softplus(input))


def _softplus(x: Value) -> Value:
    """`log(1 + exp(x))` without overflow."""
    return ops.relu(x) + ops.log1p(ops.exp(-ops.abs(x)))


@pointwise(promotion=FLOAT)
def softplus(input: Value, beta: Number = 1.0, threshold: Number = 20.0) -> Value:
    """`log(1 + exp(beta * input)) / beta`; `input` itself where `beta * input > threshold`."""
    scaled = input * beta
    above = ops.gt(scaled, threshold)
    return ops.where(above, input, ops.log1p(ops.exp(ops.where(above, 0, scaled))) / beta)


@pointwise(promotion=FLOAT)
def logsigmoid(input: Value) -> Value:
    """`log(sigmoid(input))` without overflow."""
    return ops.where(input < 0, input, 0) - ops.log1p(ops.exp(-ops.abs(input)))


@pointwise()
def leaky_relu(input: Value, negative_slope: Number = 0.01) -> Value:
    """`input` where positive, else `negative_slope * input`."""
    return ops.where(input > 0, input, input * negative_slope)


@pointwise(promotion=FLOAT)
def elu(input: Value, alpha: Number = 1.0) -> Value:
    """`input` where positive, else `alpha * (exp(input) - 1)`."""
    positive = input > 0
    return ops.where(positive, input, ops.expm1(ops.where(positive, 0, input)) * alpha)


@pointwise(promotion=FLOAT)
def selu(input: Value) -> Value:
    """Scaled elu with the constants of Klambauer et al., Self-Normalizing Neural Networks, 2017."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    positive = input > 0
    return ops.where(positive, input, ops.expm1(ops.where(positive, 0, input)) * alpha) * scale


@pointwise(inplace=False)
def hardtanh(input: Value, min_val: Number = -1.0, max_val: Number = 1.0) -> Value:
    """`input` inside `[min_val, max_val]`; outside and at the bounds the derivative is 0."""
    low, high = ops.le(input, min_val), ops.ge(input, max_val)
    return ops.where(low, min_val, ops.where(high, max_val, input))


@pointwise(promotion=FLOAT)
def hardsigmoid(input: Value) -> Value:
    """`clamp(input / 6 + 1/2, 0, 1)`."""
    return ops.where(input <= -3, 0.0, ops.where(input >= 3, 1.0, input / 6 + 0.5))


@pointwise(promotion=FLOAT)
def hardswish(input: Value) -> Value:
    """`input * clamp(input / 6 + 1/2, 0, 1)`."""
    return ops.where(input <= -3, 0.0, ops.where(input >= 3, input, input * (input / 6 + 0.5)))


@pointwise()
def relu6(input: Value) -> Value:
    """`input` inside `[0, 6]`."""
    return ops.where(input <= 0, 0, ops.where(input >= 6, 6, input))


@pointwise()
def softsign(input: Value) -> Value:
    """`input / (1 + |input|)`."""
    return input / (1 + ops.abs(input))


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
    relu, sigmoid, silu, mish, logsigmoid, selu, hardsigmoid, hardswish, relu6, softsign,
):  # fmt: skip
    _operator.sample(_activation_samples())
softplus.sample(_activation_samples(beta=2.0, threshold=3.0))
leaky_relu.sample(_activation_samples(negative_slope=0.2))
elu.sample(_activation_samples(alpha=0.5))
hardtanh.sample(_activation_samples(min_val=-0.5, max_val=0.7))


@gelu.sample
def _gelu_samples() -> Iterator[Sample]:
    yield from _activation_samples(approximate="tanh")()
    yield bad(ArgumentValueError, "'none' or 'tanh'", Arg((3,)), "exact")
