"""The special cases that the array API standard lists for elementary functions of a complex number.

    CASES["exp"] holds Case(z=(-inf, 1.0), real=0.5403…·0, imag=…)

A row of the tables below is (real parts, imaginary parts, result): a pair of numbers, of which `either(x)` may have any
sign, or a function of the two parts. `f(conj(z)) = conj(f(z))` doubles the rows, and the symmetry of odd and even
functions doubles them again. sin, cos, tan, asin and atan are those of the hyperbolic functions of `iz`.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

inf, nan, pi = math.inf, math.nan, math.pi
ZEROS = (0.0, -0.0)
POSITIVE = (1e-9, 1.0, 2.5, 80.0)
NONZERO = (*POSITIVE, -0.5, -1.0, -3e5)
FINITE = (*ZEROS, *NONZERO)
ANY = (*FINITE, inf, -inf, nan)
NAN = (nan, nan)


class Either(NamedTuple):
    """A number of any sign."""

    size: float

    def __neg__(self) -> "Either":
        return self

    def __truediv__(self, number: float) -> "Either":
        return Either(self.size / number)


either = Either
Part = float | Either


class Case(NamedTuple):
    """A number, and the parts of what a function makes of it."""

    z: tuple[float, float]
    real: Part
    imag: Part


def times_cis(size: float) -> Callable[[float, float], tuple[Part, Part]]:
    """`size · (cos b + i sin b)`."""
    return lambda a, b: (size * math.cos(b), size * math.sin(b))


def _log(at_zero: tuple[Any, ...]) -> tuple[Any, ...]:
    return (
        *at_zero, (FINITE, inf, (inf, pi / 2)), (FINITE, nan, NAN), (-inf, POSITIVE, (inf, pi)), (inf, POSITIVE, (inf, 0.0)),
        (-inf, inf, (inf, 3 * pi / 4)), (inf, inf, (inf, pi / 4)), ((inf, -inf), nan, (inf, nan)), (nan, FINITE, NAN),
        (nan, inf, (inf, nan)), (nan, nan, NAN),
    )  # fmt: skip


_TABLES: dict[str, tuple[Any, ...]] = {
    "acos": (
        (ZEROS, 0.0, (pi / 2, -0.0)), (ZEROS, nan, (pi / 2, nan)), (FINITE, inf, (pi / 2, -inf)), (NONZERO, nan, NAN),
        (-inf, POSITIVE, (pi, -inf)), (inf, POSITIVE, (0.0, -inf)), (-inf, inf, (3 * pi / 4, -inf)),
        (inf, inf, (pi / 4, -inf)), ((inf, -inf), nan, (nan, either(inf))), (nan, FINITE, NAN), (nan, inf, (nan, -inf)),
        (nan, nan, NAN),
    ),
    "acosh": (
        (ZEROS, 0.0, (0.0, pi / 2)), (FINITE, inf, (inf, pi / 2)), (NONZERO, nan, NAN), (ZEROS, nan, (nan, either(pi / 2))),
        (-inf, POSITIVE, (inf, pi)), (inf, POSITIVE, (inf, 0.0)), (-inf, inf, (inf, 3 * pi / 4)), (inf, inf, (inf, pi / 4)),
        ((inf, -inf), nan, (inf, nan)), (nan, FINITE, NAN), (nan, inf, (inf, nan)), (nan, nan, NAN),
    ),
    "asinh": (
        (0.0, 0.0, (0.0, 0.0)), (POSITIVE, inf, (inf, pi / 2)), (FINITE, nan, NAN), (inf, POSITIVE, (inf, 0.0)),
        (inf, inf, (inf, pi / 4)), (inf, nan, (inf, nan)), (nan, 0.0, (nan, 0.0)), (nan, NONZERO, NAN),
        (nan, inf, (either(inf), nan)), (nan, nan, NAN),
    ),
    "atanh": (
        (0.0, 0.0, (0.0, 0.0)), (0.0, nan, (0.0, nan)), (1.0, 0.0, (inf, 0.0)), (POSITIVE, inf, (0.0, pi / 2)),
        (NONZERO, nan, NAN), (inf, POSITIVE, (0.0, pi / 2)), (inf, inf, (0.0, pi / 2)), (inf, nan, (0.0, nan)),
        (nan, FINITE, NAN), (nan, inf, (either(0.0), pi / 2)), (nan, nan, NAN),
    ),
    "cosh": (
        (0.0, 0.0, (1.0, 0.0)), (0.0, inf, (nan, either(0.0))), (0.0, nan, (nan, either(0.0))), (NONZERO, (inf, nan), NAN),
        (inf, 0.0, (inf, 0.0)), (inf, NONZERO, times_cis(inf)), (inf, inf, (either(inf), nan)), (inf, nan, (inf, nan)),
        (nan, ZEROS, (nan, either(0.0))), (nan, (*NONZERO, inf, nan), NAN),
    ),
    "exp": (
        (ZEROS, 0.0, (1.0, 0.0)), (FINITE, (inf, nan), NAN), (inf, 0.0, (inf, 0.0)), (-inf, FINITE, times_cis(0.0)),
        (inf, NONZERO, times_cis(inf)), (-inf, (inf, nan), (either(0.0), either(0.0))), (inf, (inf, nan), (either(inf), nan)),
        (nan, 0.0, (nan, 0.0)), (nan, (*NONZERO, inf, nan), NAN),
    ),
    "expm1": (
        (ZEROS, 0.0, (either(0.0), 0.0)), (FINITE, (inf, nan), NAN), (inf, 0.0, (inf, 0.0)), (-inf, FINITE, (-1.0, either(0.0))),
        (inf, NONZERO, times_cis(inf)), (-inf, (inf, nan), (-1.0, either(0.0))), (inf, (inf, nan), (either(inf), nan)),
        (nan, 0.0, (nan, 0.0)), (nan, (*NONZERO, inf, nan), NAN),
    ),
    "log": _log(((-0.0, 0.0, (-inf, pi)), (0.0, 0.0, (-inf, 0.0)))),
    "log1p": _log(((-1.0, 0.0, (-inf, 0.0)),)),
    "sign": ((ZEROS, ZEROS, (either(0.0), either(0.0))), (nan, ANY, NAN), (ANY, nan, NAN)),
    "sinh": (
        (0.0, 0.0, (0.0, 0.0)), (0.0, (inf, nan), (either(0.0), nan)), (POSITIVE, (inf, nan), NAN), (inf, 0.0, (inf, 0.0)),
        (inf, POSITIVE, times_cis(inf)), (inf, (inf, nan), (either(inf), nan)), (nan, 0.0, (nan, 0.0)),
        (nan, (*NONZERO, inf, nan), NAN),
    ),
    "sqrt": (
        (ZEROS, 0.0, (0.0, 0.0)), (ANY, inf, (inf, inf)), (NONZERO, nan, NAN), (-inf, POSITIVE, (0.0, inf)),
        (inf, POSITIVE, (inf, 0.0)), (-inf, nan, (nan, either(inf))), (inf, nan, (inf, nan)), (nan, (*FINITE, nan), NAN),
    ),
    "tanh": (
        (0.0, 0.0, (0.0, 0.0)), (NONZERO, (inf, nan), NAN), (0.0, (inf, nan), (0.0, nan)),
        (inf, (*POSITIVE, inf, nan), (1.0, either(0.0))), (nan, 0.0, (nan, 0.0)), (nan, (*NONZERO, inf, nan), NAN),
    ),
}  # fmt: skip


def _expanded(rows: tuple[Any, ...]) -> Iterable[Case]:
    """One case for each number of each row, and for its conjugate."""
    for reals, imags, result in rows:
        parts = [each if isinstance(each, tuple) else (each,) for each in (reals, imags)]
        for a, b in itertools.product(*parts):
            real, imag = result(a, b) if callable(result) else result
            yield Case((a, b), real, imag)
            yield Case((a, -b), real, -imag)


def _all() -> dict[str, list[Case]]:
    found = {name: list(_expanded(rows)) for name, rows in _TABLES.items()}
    for name in ("asinh", "atanh", "sinh", "tanh"):
        found[name] += [Case((-z[0], -z[1]), -real, -imag) for z, real, imag in found[name]]
    found["cosh"] += [Case((-z[0], -z[1]), real, imag) for z, real, imag in found["cosh"]]
    for name, of in (("asin", "asinh"), ("atan", "atanh"), ("sin", "sinh"), ("tan", "tanh")):
        found[name] = [Case((z[1], -z[0]), imag, -real) for z, real, imag in found[of]]
    found["cos"] = [Case((z[1], -z[0]), real, imag) for z, real, imag in found["cosh"]]
    for name, base in (("log2", 2), ("log10", 10)):
        found[name] = [
            Case(z, real / math.log(base), imag / math.log(base)) for z, real, imag in found["log"]
        ]
    return found


CASES: dict[str, list[Case]] = _all()


def is_met(found: float, expected: Part) -> bool:
    """Whether a part of a result is what a case asks for."""
    if isinstance(expected, Either):
        found, expected = abs(found), abs(expected.size)
    if math.isnan(expected):
        return math.isnan(found)
    if expected == 0:
        return found == 0 and math.copysign(1, found) == math.copysign(1, expected)
    return found == expected or abs(found - expected) <= 1e-6 * abs(expected) < inf
