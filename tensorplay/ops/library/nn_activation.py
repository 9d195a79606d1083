"""Activations that are more than a function of one element: gates, learned and random slopes, samples.

>>> import tensorplay as tp
>>> tp.glu(tp.tensor([1.0, 2.0, 0.0, 0.0]))
tensor([0.5000, 1.0000])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplay.core.dtypes import DType, bfloat16, finfo, float64, int64
from tensorplay.core.errors import ArgumentValueError, DimensionError, DTypeError, ShapeError
from tensorplay.core.layout import normalize_dim
from tensorplay.ops.declare import composite
from tensorplay.ops.library.activations import leaky_relu, prelu_elements
from tensorplay.ops.library.nn_softmax import softmax
from tensorplay.ops.registry import tp
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor


@composite(method=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where positive, else `weight * input` (He et al., Delving Deep into Rectifiers, 2015).

    `weight` has one element, or one for each channel (dimension 1). At 0 the derivative is `weight`.

    >>> import tensorplay as tp
    >>> tp.prelu(tp.tensor([-2.0, 3.0]), tp.tensor(0.25))
    tensor([-0.5000,  3.0000])
    """
    if weight.ndim > 1:
        raise ShapeError(
            f"prelu: weight is one number or one for each channel, found shape {tuple(weight.shape)}"
        )
    if weight.numel() == 1:
        return prelu_elements(input, weight.reshape(()))
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() != channels:
        raise ShapeError(
            f"prelu: {weight.numel()} weights for an input of shape {tuple(input.shape)} with "
            f"{channels} channels (dimension 1)"
        )
    return prelu_elements(input, weight.reshape((-1, *(1,) * (input.ndim - 2))))


@prelu.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), Arg((1,)))
    yield sample(Arg((2, 3, 4), layout="transposed"), Arg((3,)))
    yield sample(Arg((5,)), Arg(()))
    yield sample(Arg((0, 3)), Arg((3,)))
    yield sample(Arg((3, 4), bfloat16), Arg((1,), bfloat16))
    yield bad(ShapeError, "3 weights", Arg((2, 4)), Arg((3,)))
    yield bad(ShapeError, "one for each channel", Arg((2, 4)), Arg((2, 2)))


@composite(inplace=True)
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`input` where positive, else `slope * input` with a random slope for each element.

    In training slopes are uniform in `[lower, upper)`; otherwise they are `(lower + upper) / 2`
    (Xu et al., Empirical Evaluation of Rectified Activations, 2015).

    >>> import tensorplay as tp
    >>> tp.nn.functional.rrelu(tp.tensor([-1.0, 2.0]))
    tensor([-0.2292,  2.0000])
    """
    if not lower <= upper:
        raise ArgumentValueError(f"rrelu: lower {lower} is above upper {upper}")
    if not input.dtype.is_floating_point:
        raise DTypeError(f"rrelu: expected a floating dtype, found {input.dtype}; use .float()")
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slopes = tp.rand_like(input.detach()) * (upper - lower) + lower
    return prelu_elements(input, slopes)


@rrelu.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((3, 4)), 0.1, 0.4)
    yield bad(ArgumentValueError, "above upper", Arg((3,)), 0.3, 0.1)
    yield bad(DTypeError, "floating dtype", Arg((3,), int64))


@composite()
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The gated linear unit `a * sigmoid(b)`, a and b the halves of `input` along `dim`.

    Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    >>> import tensorplay as tp
    >>> tp.nn.functional.glu(tp.tensor([1.0, 2.0, 0.0, 1.0]))
    tensor([0.5000, 1.4621])
    """
    if input.ndim == 0:
        raise DimensionError("glu: a 0-d tensor has no dimension to halve")
    place = normalize_dim("glu", dim, input.ndim)
    size = input.shape[place]
    if size % 2 != 0:
        raise ShapeError(f"glu: dimension {dim} must be even to be halved, found size {size}")
    half = size // 2
    return input.narrow(place, 0, half) * input.narrow(place, half, half).sigmoid()


@glu.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)))
    yield sample(Arg((2, 4, 3), layout="transposed"), 1)
    yield sample(Arg((2, 0)))
    yield bad(ShapeError, "must be even", Arg((2, 3)))
    yield bad(DimensionError, "0-d", Arg(()))
    yield bad(DimensionError, "glu: dimension 2 is outside", Arg((2, 4)), 2)


@composite()
def softmin(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """`softmax(-input)` along `dim`; `dtype` converts the input first.

    >>> import tensorplay as tp
    >>> tp.softmin(tp.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return softmax(-input if dtype is None else -input.to(dtype), dim)


@softmin.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4)), 1)
    yield sample(Arg((2, 3), int64), 0, dtype=float64)
    yield bad(DTypeError, "softmax: expected a floating-point tensor", Arg((2, 3), int64), 1)


@composite()
def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution: `softmax((logits + g) / tau)`, g Gumbel noise.

    With `hard` the result is one-hot at the largest element, and its gradient is that of the soft
    sample. `eps` is accepted for compatibility and has no effect. Jang, Gu and Poole 2017; Maddison,
    Mnih and Teh 2017.

    >>> import tensorplay as tp
    >>> tp.nn.functional.gumbel_softmax(tp.zeros(2, 3), hard=True).sum(1)
    tensor([1., 1.])
    """
    del eps
    if not tau > 0:
        raise ArgumentValueError(f"gumbel_softmax: tau must be above 0, found {tau}")
    uniform = tp.rand_like(logits.detach())
    # 0 would give a noise of -inf, which a row may have everywhere
    noise = -(-uniform.clamp(min=finfo(logits.dtype).tiny).log()).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    places = soft.detach().argmax(dim, keepdim=True)
    picked = tp.zeros_like(soft.detach()).scatter(dim, places, 1.0)
    return picked - soft.detach() + soft


@gumbel_softmax.sample
def _() -> Iterator[Sample]:
    yield bad(ArgumentValueError, "above 0", Arg((2, 3)), 0.0)
    yield bad(DimensionError, "softmax: dimension 2", Arg((2, 3)), dim=2)
