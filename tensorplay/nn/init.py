"""Fill tensors with initial values, in place and outside of any graph; each returns its tensor.

The random ones draw from the default generator, so ``tp.manual_seed`` fixes them.

>>> import tensorplay as tp
>>> tp.nn.init.constant_(tp.empty(2), 0.5)
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

import math
import warnings
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec

from tensorplay.autograd import no_grad
from tensorplay.core.dtypes import float64
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import eye, rand, randn, where, zeros
from tensorplay.linalg import qr

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.core.random import Generator
    from tensorplay.tensor import Tensor

Given = ParamSpec("Given")

_GAINS = {
    **dict.fromkeys(
        (
            "linear",
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
        ),
        1.0,
    ),
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4.0,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance through a nonlinearity.

    ``leaky_relu`` with negative slope ``param`` (0.01): ``sqrt(2 / (1 + slope²))`` (He et al. 2015,
    eq. 15).

    >>> calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        known = ", ".join([*_GAINS, "leaky_relu"])
        raise ArgumentValueError(f"no gain is known for {nonlinearity!r}; there is one for {known}")
    return _GAINS[nonlinearity]


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draw from the uniform distribution on ``[a, b)``."""
    drawn = rand(tensor.shape, dtype=tensor.dtype, generator=generator)
    return _fill(tensor, drawn * (b - a) + a)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draw from the normal distribution."""
    drawn = randn(tensor.shape, dtype=tensor.dtype, generator=generator)
    return _fill(tensor, drawn * std + mean)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Draw from the normal distribution restricted to ``[a, b]``, by inverting its distribution.

    ``x = mean + std·√2·erfinv(2u − 1)`` with ``u`` uniform between the normal distribution's values
    at ``a`` and ``b``.
    """
    low, high = ((1.0 + math.erf((end - mean) / (std * math.sqrt(2.0)))) / 2.0 for end in (a, b))
    u = rand(tensor.shape, dtype=tensor.dtype, generator=generator) * (high - low) + low
    return _fill(tensor, ((u * 2.0 - 1.0).erfinv() * (std * math.sqrt(2.0)) + mean).clamp(a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with ``val``."""
    with no_grad():
        tensor.fill_(val)
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_ needs a matrix, got shape {tuple(tensor.shape)}")
    return _fill(tensor, eye(tensor.shape[0], tensor.shape[1], dtype=tensor.dtype))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draw from ``U(−b, b)``, ``b = gain·√(6 / (fan_in + fan_out))`` (Glorot and Bengio 2010)."""
    fan_in, fan_out = fans(tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from ``N(0, s²)``, ``s = gain·√(2 / (fan_in + fan_out))`` (Glorot and Bengio 2010)."""
    fan_in, fan_out = fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw from ``U(−b, b)``, ``b = gain·√(3 / fan)`` (He et al. 2015)."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw from ``N(0, s²)``, ``s = gain / √fan`` (He et al. 2015)."""
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw an orthogonal matrix times ``gain``, by QR of a normal one (Saxe et al. 2013).

    Rows or columns are orthonormal, whichever are fewer; dimensions behind the first count as one.
    """
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ needs at least two dimensions, got {tuple(tensor.shape)}")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    wide = rows < columns
    drawn = randn((columns, rows) if wide else (rows, columns), dtype=float64, generator=generator)
    q, r = qr(drawn)
    q = q * r.diagonal().sign()  # uniform over the orthogonal matrices (Mezzadri 2007)
    found = (q.t() if wide else q).reshape(tensor.shape)
    return _fill(tensor, (found * gain).to(tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution's weight hand its input on: 1 at the middle for as many channels as fit."""
    if tensor.ndim not in {3, 4, 5}:
        raise ShapeError(f"dirac_ needs 3, 4 or 5 dimensions, got shape {tuple(tensor.shape)}")
    if groups < 1 or tensor.shape[0] % groups != 0:
        raise ArgumentValueError(
            f"dirac_: {tensor.shape[0]} output channels cannot be divided into {groups} groups"
        )
    share = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    values = zeros(tensor.shape, dtype=tensor.dtype)
    for group in range(groups):
        for channel in range(min(share, tensor.shape[1])):
            values[(group * share + channel, channel, *middle)] = 1.0
    return _fill(tensor, values)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Draw a matrix from ``N(0, std²)`` and zero the share ``sparsity`` of each column (Martens 2010)."""
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_ needs a matrix, got shape {tuple(tensor.shape)}")
    rows, columns = tensor.shape
    count = math.ceil(sparsity * rows)
    drawn = randn((rows, columns), dtype=tensor.dtype, generator=generator) * std
    order = rand((rows, columns), generator=generator).argsort(0).argsort(0)
    return _fill(tensor, where(order < count, 0.0, drawn))


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return fan-in and fan-out of a weight ``(out, in, *kernel)``."""
    if tensor.ndim < 2:
        raise ShapeError(f"fans need at least two dimensions, got shape {tuple(tensor.shape)}")
    receptive = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive, tensor.shape[0] * receptive


def _fan(tensor: Tensor, mode: Literal["fan_in", "fan_out"]) -> int:
    fan_in, fan_out = fans(tensor)
    if mode == "fan_in":
        return fan_in
    if mode == "fan_out":
        return fan_out
    raise ArgumentValueError(f"mode is 'fan_in' or 'fan_out', not {mode!r}")


def _fill(tensor: Tensor, values: Tensor) -> Tensor:
    with no_grad():
        tensor.copy_(values)
    return tensor


def uniform_by_fan_in_(weight: Tensor, bias: Tensor | None) -> None:
    """Draw weight and bias from ``U(−1/√fan_in, 1/√fan_in)``; zeros where nothing comes in."""
    fan_in = fans(weight)[0]
    bound = 1.0 / math.sqrt(fan_in) if fan_in != 0 else 0.0
    for parameter in (weight, bias):
        if parameter is not None:
            uniform_(parameter, -bound, bound)


# ---- older names ---------------------------------------------------------------------------------


def _older(function: Callable[Given, Tensor]) -> Callable[Given, Tensor]:
    """A function by its name without the underscore, which warns."""
    name = function.__name__

    @wraps(function)
    def older(*args: Given.args, **kwargs: Given.kwargs) -> Tensor:
        warnings.warn(f"nn.init.{name[:-1]} is deprecated, use nn.init.{name}", stacklevel=2)
        return function(*args, **kwargs)

    return older


uniform, normal, constant = _older(uniform_), _older(normal_), _older(constant_)
dirac, sparse = _older(dirac_), _older(sparse_)
xavier_uniform, xavier_normal = _older(xavier_uniform_), _older(xavier_normal_)
kaiming_uniform, kaiming_normal = _older(kaiming_uniform_), _older(kaiming_normal_)
orthogonal = _older(orthogonal_)
