"""Special functions: gamma and zeta, the normal distribution, Bessel and Airy, orthogonal polynomials.

Public names of `tensorplay.special` that PyTorch does not have on its root are declared as `special_…`.

>>> import tensorplay as tp
>>> tp.special.gammaln(tp.tensor([0.5, 5.0]))
tensor([0.5724, 3.1781])
>>> tp.special.bessel_j0(tp.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import FLOAT, pointwise
from tensorplay.ops.examples import with_example
from tensorplay.ops.registry import Operator
from tensorplay.ops.samples import Arg, Sample, bad, sample
from tensorplay.ops.values import Scalar, Value

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_ROUND = "Integers become floats. float32 is rounded from the float64 result."


def _samples(low: float, high: float, *exact: float) -> Callable[[], Iterator[Sample]]:
    """Layouts, dtypes, and the values where something special happens."""

    def samples() -> Iterator[Sample]:
        yield sample(Arg((3, 4), low=low, high=high))
        yield sample(Arg((4, 3), low=low, high=high, layout="transposed"))
        yield sample(Arg((), low=low, high=high))
        yield sample(Arg((2, 0)))
        yield sample(Arg((3, 4), dtypes.float64, low=low, high=high))
        yield sample(Arg((3, 4), dtypes.bfloat16, low=low, high=high))
        yield sample(Arg((5,), dtypes.int64, low=1, high=4))
        special = [math.nan, math.inf, -math.inf, 0.0, -0.0, *exact]
        yield sample(Arg((len(special),), values=special))

    return samples


def _function(
    name: str, doc: str, found: str, low: float, high: float, *exact: float, instruction: str = "", reason: str = ""
) -> Operator:  # fmt: skip
    """A function of one operand, by its scalar instruction; its example gives `found` at 0.8."""
    function: Callable[..., Value] = getattr(ops, instruction or name)
    public = not name.startswith("special_")

    def declared(input: Value) -> Value:
        return function(input)

    declared.__name__ = name
    call = name if public else name.replace("_", ".", 1)
    declared.__doc__ = with_example(
        f"{doc} {_ROUND}", f"{call}(tp.tensor([0.8]))", f"tensor([{found}])"
    )
    operator = pointwise(
        promotion=FLOAT, method=public, public=public, inplace=public,
        not_differentiable=reason or None,
    )(declared)  # fmt: skip
    operator.sample(_samples(low, high, *exact))
    return operator


# ---- gamma and zeta -------------------------------------------------------------------------------------

lgamma = _function(
    "lgamma",
    "`log |Γ(input)|`; infinity at 0, -1, -2, … (Stirling's series beyond 12, reflection below 0).", "0.1521",
    0.3, 5.0, 1.0, 2.0, -1.0, -2.5, 1e30,
)  # fmt: skip
digamma = _function(
    "digamma",
    "The derivative of `lgamma`; -inf at 0, inf at -0, NaN at -1, -2, …", "-0.9650",
    0.3, 5.0, 1.0, -1.0, -2.5, 1e30,
)  # fmt: skip


@pointwise(promotion=FLOAT)
def polygamma(n: int, input: Value) -> Value:
    """The `n`-th derivative of `digamma` at `input`: `(-1)**(n + 1) n! ζ(n + 1, input)`.

    Integers become floats. Raises `ArgumentValueError` for a negative `n`.

    >>> import tensorplay as tp
    >>> tp.polygamma(1, tp.tensor([1.0]))
    tensor([1.6449])
    """
    if n < 0:
        msg = f"polygamma: n must not be negative, found {n}"
        raise ArgumentValueError(msg)
    return (
        ops.digamma(input)
        if n == 0
        else ops.polygamma(input.handler.constant(n, input.dtype), input)
    )


@pointwise(promotion=FLOAT, method=True, inplace=True)
def mvlgamma(input: Value, p: int) -> Value:
    """The logarithm of the multivariate gamma function of dimension `p`, for `input > (p - 1) / 2`.

    `p (p - 1) / 4 log π + Σ lgamma(input - j / 2)`, j < p. Raises `ArgumentValueError` for `p < 1`.

    >>> import tensorplay as tp
    >>> tp.mvlgamma(tp.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    if p < 1:
        msg = f"mvlgamma: p must be at least 1, found {p}"
        raise ArgumentValueError(msg)
    total = ops.lgamma(input)
    for j in range(1, p):
        total = total + ops.lgamma(input - 0.5 * j)
    return total if p == 1 else total + p * (p - 1) / 4 * math.log(math.pi)


@pointwise(promotion=FLOAT, public=False)
def special_zeta(input: Scalar, other: Scalar) -> Value:
    """Hurwitz' zeta function, the sum of `(other + k) ** -input` over k ≥ 0.

    NaN for `input < 1`, infinity at 1 and at the poles of `other`. It has a derivative by `other`.

    >>> import tensorplay as tp
    >>> tp.special.zeta(tp.tensor([2.0]), 1.0)
    tensor([1.6449])
    """
    return ops.zeta(input, other)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def igamma(input: Value, other: Value) -> Value:
    """The regularized lower incomplete gamma function `P(input, other)`.

    `1/Γ(input) ∫ t**(input - 1) e**-t dt` from 0 to `other`; NaN where an operand is negative. It has a
    derivative by `other`. Series and continued fraction of DLMF 8.9 and 8.11, Temme's expansion where
    both are large.

    >>> import tensorplay as tp
    >>> tp.igamma(tp.tensor([1.0]), tp.tensor([1.0]))
    tensor([0.6321])
    """
    return ops.igamma(input, other)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def igammac(input: Value, other: Value) -> Value:
    """The regularized upper incomplete gamma function `Q(input, other)`, `1 - igamma(input, other)`.

    Exact in its tail. NaN where an operand is negative; it has a derivative by `other`.

    >>> import tensorplay as tp
    >>> tp.igammac(tp.tensor([1.0]), tp.tensor([2.0]))
    tensor([0.1353])
    """
    return ops.igammac(input, other)


# ---- the normal distribution, entropy, logits --------------------------------------------------------------

special_erfcx = _function(
    "special_erfcx", "`exp(input²) erfc(input)`.", "0.4891", -2.0, 3.0, 0.5, 28.0, 1e30, -30.0, instruction="erfcx"
)  # fmt: skip
special_ndtr = _function(
    "special_ndtr", "The area under the standard normal density left of `input`.", "0.7881",
    -3.0, 3.0, -10.0, 10.0, instruction="ndtr",
)  # fmt: skip
special_log_ndtr = _function(
    "special_log_ndtr", "`log(ndtr(input))`, exact in the tail.", "-0.2381", -3.0, 3.0, -1e3, 10.0, instruction="log_ndtr"
)  # fmt: skip
special_ndtri = _function(
    "special_ndtri", "The argument at which `ndtr` has the value `input`; NaN outside of [0, 1].", "0.8416",
    0.1, 0.9, 1.0, 0.5, 1e-30, 2.0, instruction="ndtri",
)  # fmt: skip


@pointwise(promotion=FLOAT, public=False)
def special_entr(input: Value) -> Value:
    """`-input log(input)`, 0 at 0 and -inf below.

    >>> import tensorplay as tp
    >>> tp.special.entr(tp.tensor([0.0, 0.5, 1.0]))
    tensor([-0.0000, 0.3466, -0.0000])
    """
    zero = ops.eq(input, 0)
    inside = -input * ops.log(ops.where(zero, 1, input))
    return ops.where(ops.lt(input, 0), -math.inf, inside)


@special_entr.gradient("input")
def _(grad: Tensor, input: Tensor) -> Tensor:
    return grad * -(input.log() + 1)  # infinite at 0, where the derived one is 0


@special_entr.tangent
def _(operator, values, result, tangents):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  # the registry gives what the rule takes
    return tangents[0] * -(values[0].log() + 1)


@pointwise(promotion=FLOAT, method=True, inplace=True)
def logit(input: Value, eps: float | None = None) -> Value:
    """`log(input / (1 - input))`, the inverse of `sigmoid`; `eps` first clamps to `[eps, 1 - eps]`.

    NaN outside of [0, 1] without `eps`.

    >>> import tensorplay as tp
    >>> tp.logit(tp.tensor([0.5, 1.0]), eps=0.25)
    tensor([0.0000, 1.0986])
    """
    if eps is not None:
        input = ops.where(ops.lt(input, eps), eps, input)
        input = ops.where(ops.gt(input, 1 - eps), 1 - eps, input)
    return ops.log(input / (1 - input))


# ---- Bessel and Airy -------------------------------------------------------------------------------------

i0 = _function(
    "i0",
    "The modified Bessel function of the first kind and order 0.",
    "1.1665",
    -3.0,
    3.0,
    10.0,
    710.0,
)
for _name, _instruction, _doc, _found, _low in (
    ("special_i0e", "i0e", "`exp(-|input|) i0(input)`.", "0.5241", -3.0),
    ("special_i1", "i1", "The modified Bessel function of the first kind and order 1.", "0.4329", -3.0),
    ("special_i1e", "i1e", "`exp(-|input|) i1(input)`.", "0.1945", -3.0),
    ("special_bessel_j0", "j0", "The Bessel function of the first kind and order 0.", "0.8463", -9.0),
    ("special_bessel_j1", "j1", "The Bessel function of the first kind and order 1.", "0.3688", -9.0),
    ("special_bessel_y0", "y0", "The Bessel function of the second kind and order 0; NaN below 0.", "-0.0868", 0.3),
    ("special_bessel_y1", "y1", "The Bessel function of the second kind and order 1; NaN below 0.", "-0.9781", 0.3),
    ("special_modified_bessel_k0", "k0", "The modified Bessel function of the second kind and order 0.", "0.5653", 0.3),
    ("special_modified_bessel_k1", "k1", "The modified Bessel function of the second kind and order 1.", "0.8618", 0.3),
    ("special_scaled_modified_bessel_k0", "k0e", "`exp(input) modified_bessel_k0(input)`.", "1.2582", 0.3),
    ("special_scaled_modified_bessel_k1", "k1e", "`exp(input) modified_bessel_k1(input)`.", "1.9179", 0.3),
    ("special_spherical_bessel_j0", "spherical_j0", "`sin(input) / input`, 1 at 0.", "0.8967", -3.0),
):  # fmt: skip
    _function(_name, _doc, _found, _low, 9.0, 1.0, 3.0, 20.0, instruction=_instruction)
special_airy_ai = _function(
    "special_airy_ai", "Airy's function Ai.", "0.1698", -9.0, 9.0, -200.0, 200.0,
    instruction="airy_ai", reason="its derivative, Ai', is not among the functions here",
)  # fmt: skip


# ---- orthogonal polynomials ---------------------------------------------------------------------------------

_NO_SLOPE = "PyTorch defines no derivative of this polynomial"


def _polynomial_samples() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=-1, high=1), Arg((4,), dtypes.int64, low=0, high=6))
    yield sample(Arg((4, 3), low=-2, high=2, layout="transposed"), 3)
    yield sample(0.5, Arg((5,), dtypes.int64, low=-1, high=6))
    yield sample(Arg((3,), dtypes.float64, values=[1.0, -1.0, math.nan]), 5)
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,)))


def _polynomial(
    name: str, instruction: str, doc: str, found: str, *, shifted: bool = False, slope: bool = False
) -> Operator:
    """A family of polynomials; its example gives `found`, the one of degree 3 at 0.8."""
    function: Callable[..., Value] = getattr(ops, instruction)

    def declared(input: Scalar, n: Scalar) -> Value:
        return function(input * 2 - 1 if shifted else input, n)

    declared.__name__ = name
    declared.__doc__ = with_example(
        f"{doc} of degree `n`; 0 for a negative degree, NaN above 2**20. The operands broadcast, integers become floats.",
        f"{name.replace('_', '.', 1)}(tp.tensor([0.8]), 3)", f"tensor([{found}])",
    )  # fmt: skip
    operator = pointwise(
        promotion=FLOAT, public=False, not_differentiable=None if slope else _NO_SLOPE
    )(declared)
    operator.sample(_polynomial_samples)
    return operator


for _kind, _ordinal, _found, _shifted in (
    ("t", "first", "-0.3520", "-0.9360"),
    ("u", "second", "0.8960", "-0.6720"),
    ("v", "third", "-0.6640", "-1.1120"),
    ("w", "fourth", "2.4560", "-0.2320"),
):
    _doc = f"Chebyshev's polynomial of the {_ordinal} kind"
    _polynomial(f"special_chebyshev_polynomial_{_kind}", f"chebyshev_{_kind}", _doc, _found)
    _polynomial(
        f"special_shifted_chebyshev_polynomial_{_kind}", f"chebyshev_{_kind}",
        f"{_doc} at `2 input - 1`,", _shifted, shifted=True,
    )  # fmt: skip
_polynomial(
    "special_hermite_polynomial_h",
    "hermite_h",
    "The physicists' Hermite polynomial",
    "-5.5040",
    slope=True,
)
_polynomial(
    "special_hermite_polynomial_he",
    "hermite_he",
    "The probabilists' Hermite polynomial",
    "-1.8880",
    slope=True,
)
_polynomial("special_laguerre_polynomial_l", "laguerre_l", "Laguerre's polynomial", "-0.5253")
_polynomial("special_legendre_polynomial_p", "legendre_p", "Legendre's polynomial", "0.0800")


# ---- samples ------------------------------------------------------------------------------------------------


@polygamma.sample
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 4):
        yield sample(n, Arg((3, 4), low=0.3, high=5.0))
    yield sample(1, Arg((4, 3), dtypes.float64, low=0.3, high=5.0, layout="transposed"))
    yield sample(2, Arg((4,), values=[0.0, -1.0, -2.5, math.inf]))
    yield bad(ArgumentValueError, "negative", -1, Arg((3,)))


@mvlgamma.sample
def _() -> Iterator[Sample]:
    for p in (1, 2, 5):
        yield sample(Arg((3, 4), low=2.5, high=6.0), p)
    yield bad(ArgumentValueError, "at least 1", Arg((3,)), 0)


@special_zeta.sample
def _() -> Iterator[Sample]:
    yield sample(2.0, Arg((3, 4), low=0.3, high=5.0))
    yield sample(Arg((4,), dtypes.int64, low=2, high=6), Arg((3, 4), low=0.3, high=5.0))
    yield sample(Arg((3,), values=[1.0, 0.5, 2.5]), Arg((3,), values=[1.0, 1.0, -0.5]))
    yield bad(ShapeError, "broadcast", Arg((3,), dtypes.int64), Arg((4,)))


@igamma.sample
@igammac.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((4,), dtypes.int64, low=1, high=6), Arg((3, 4), low=0.3, high=5.0))
    yield sample(Arg((4, 1), dtypes.int32, low=20, high=60), Arg((4,), low=20.0, high=60.0))
    edges = [0.0, 1.0, math.inf, math.nan, -1.0, 0.5]
    yield sample(Arg((6,), values=edges), Arg((6,), values=[1.0, 0.0, 1.0, 1.0, 1.0, math.inf]))
    yield bad(ShapeError, "broadcast", Arg((3,)), Arg((4,)))


@special_entr.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.1, high=2.0))
    yield sample(Arg((4, 3), dtypes.float64, low=0.1, high=2.0, layout="transposed"))
    yield sample(Arg((4,), values=[0.0, -1.0, math.nan, math.inf]))
    yield sample(Arg((3,), dtypes.bool_))


@logit.sample
def _() -> Iterator[Sample]:
    yield sample(Arg((3, 4), low=0.1, high=0.9))
    yield sample(Arg((4, 3), low=0.3, high=0.6, layout="transposed"), 0.2)
    yield sample(Arg((4,), values=[0.0, 1.0, -0.5, 0.25]), 0.25)
    yield sample(Arg((4,), values=[0.0, 1.0, -0.5, math.nan]))
