"""The scalar instructions of special functions: gamma, zeta, Bessel, the normal distribution, orthogonal polynomials.

Each is one scalar function of doubles in ``tp_special.h``, which eager calls through `_C` and generated
kernels include. Their derivatives are instructions of the same table, so that they have all orders.

>>> from tensorplay.ops.values import TABLE
>>> TABLE["lgamma"].header
'tp_special.h'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from tensorplay.ops import arrays
from tensorplay.ops import values as ops
from tensorplay.ops.instructions import FLOAT_RESULT
from tensorplay.ops.values import TABLE, Instruction, Undefined, Value

COST: Final = 60
Partial = Callable[[Value, Value, Value], Value]


def _one(name: str, partial: Partial | None, doc: str) -> None:
    """A function of one operand; `partial(g, y, x)`. None of them has a text for Triton yet."""
    TABLE[name] = Instruction(
        name, 1, FLOAT_RESULT, arrays.unary(name),
        _undefined if partial is None else lambda g, y, x: (partial(g, y, x),),
        None, COST, f"tp::{name}({{0}})", None, doc,
        header="tp_special.h",
    )  # fmt: skip


def _two(
    name: str, partials: Callable[..., tuple[Value | Undefined | None, ...]], doc: str
) -> None:
    """A function of two operands; `partials(g, y, a, b)`."""
    TABLE[name] = Instruction(
        name, 2, FLOAT_RESULT, arrays.binary(name), partials,
        None, COST, f"tp::{name}({{0}}, {{1}})", None, doc,
        header="tp_special.h",
    )  # fmt: skip


def _undefined(g: Value, y: Value, *operands: Value) -> tuple[Undefined, ...]:
    del g, y
    return (Undefined("no derivative is defined for it"),) * len(operands)


def _at_zero(x: Value, limit: float, ratio: Callable[[Value], Value]) -> Value:
    """`ratio(x)`, which is 0/0 at 0, and its limit there."""
    zero = ops.eq(x, 0)
    return ops.where(zero, limit, ratio(ops.where(zero, 1, x)))


ROOT_TWO_PI: Final = math.sqrt(2 * math.pi)
ROOT_TWO_OVER_PI: Final = math.sqrt(2 / math.pi)
ROOT_HALF: Final = math.sqrt(0.5)


def _gamma() -> None:
    _one("lgamma", lambda g, y, x: g * ops.digamma(x), "log |gamma(x)|")
    _one("digamma", lambda g, y, x: g * _trigamma(x), "the derivative of lgamma")
    _two(
        "polygamma",
        lambda g, y, n, x: (Undefined("its order is a whole number"), g * ops.polygamma(n + 1, x)),
        "the n-th derivative of digamma at x",
    )
    by_order = Undefined("the derivative by the order is not implemented")
    _two(
        "zeta",
        lambda g, y, s, q: (by_order, -g * (s * ops.zeta(s + 1, q))),
        "the sum of (q + k)**-s over k >= 0",
    )
    _two(
        "igamma",
        lambda g, y, a, x: (by_order, g * _gamma_density(a, x)),
        "the regularized lower incomplete gamma function P(a, x)",
    )
    _two(
        "igammac",
        lambda g, y, a, x: (by_order, -g * _gamma_density(a, x)),
        "the regularized upper incomplete gamma function Q(a, x)",
    )


def _trigamma(x: Value) -> Value:
    return ops.polygamma(x.handler.constant(1, x.dtype), x)


def _gamma_density(a: Value, x: Value) -> Value:
    """`x**(a - 1) e**-x / gamma(a)`."""
    return ops.pow(x, a - 1) * ops.exp(-x - ops.lgamma(a))


def _normal() -> None:
    _one(
        "erfcx", lambda g, y, x: g * (x * y * 2 - 2 / math.sqrt(math.pi)), "e**(x*x) erfc(x)",
    )  # fmt: skip
    _one(
        "ndtr", lambda g, y, x: g * (ops.exp(x * x * -0.5) * (1 / ROOT_TWO_PI)),
        "the distribution function of the normal distribution",
    )  # fmt: skip
    _one(
        "log_ndtr", lambda g, y, x: g * (ROOT_TWO_OVER_PI / ops.erfcx(x * -ROOT_HALF)),
        "the logarithm of ndtr",
    )  # fmt: skip
    _one(
        "ndtri", lambda g, y, x: g * (ops.exp(y * y * 0.5) * ROOT_TWO_PI),
        "the inverse of ndtr",
    )  # fmt: skip


def _bessel() -> None:
    _one("j0", lambda g, y, x: -g * ops.j1(x), "Bessel's J0")
    _one(
        "j1", lambda g, y, x: g * _at_zero(x, 0.5, lambda z: ops.j0(z) - y / z), "Bessel's J1",
    )  # fmt: skip
    _one("y0", lambda g, y, x: -g * ops.y1(x), "Bessel's Y0")
    _one("y1", lambda g, y, x: g * (ops.y0(x) - y / x), "Bessel's Y1")
    _one("i0", lambda g, y, x: g * ops.i1(x), "the modified I0")
    _one(
        "i1", lambda g, y, x: g * _at_zero(x, 0.5, lambda z: ops.i0(z) - y / z), "the modified I1",
    )  # fmt: skip
    _one("i0e", lambda g, y, x: g * (ops.i1e(x) - ops.sign(x) * y), "e**-|x| I0(x)")
    _one(
        "i1e",
        lambda g, y, x: g * _at_zero(x, 0.5, lambda z: ops.i0e(z) - y * (ops.sign(z) + 1 / z)),
        "e**-|x| I1(x)",
    )
    _one("k0", lambda g, y, x: -g * ops.k1(x), "the modified K0")
    _one("k1", lambda g, y, x: -g * (ops.k0(x) + y / x), "the modified K1")
    _one("k0e", lambda g, y, x: g * (y - ops.k1e(x)), "e**x K0(x)")
    _one("k1e", lambda g, y, x: g * (y - (ops.k0e(x) + y / x)), "e**x K1(x)")
    _one(
        "spherical_j0",
        lambda g, y, x: g * _at_zero(x, 0.0, lambda z: (ops.cos(z) - y) / z),
        "sin(x) / x",
    )
    _one("airy_ai", None, "Airy's Ai")


def _polynomials() -> None:
    by_degree = Undefined("its degree is a whole number")
    for name, doc in (
        ("chebyshev_t", "Chebyshev's T of degree n at x"),
        ("chebyshev_u", "Chebyshev's U of degree n at x"),
        ("chebyshev_v", "Chebyshev's V of degree n at x"),
        ("chebyshev_w", "Chebyshev's W of degree n at x"),
        ("laguerre_l", "Laguerre's polynomial of degree n at x"),
        ("legendre_p", "Legendre's polynomial of degree n at x"),
    ):
        _two(name, _undefined, doc)
    _two(
        "hermite_h",
        lambda g, y, x, n: (g * (n * ops.hermite_h(x, n - 1) * 2), by_degree),
        "the physicists' Hermite polynomial of degree n at x",
    )
    _two(
        "hermite_he",
        lambda g, y, x, n: (g * (n * ops.hermite_he(x, n - 1)), by_degree),
        "the probabilists' Hermite polynomial of degree n at x",
    )


_gamma()
_normal()
_bessel()
_polynomials()
