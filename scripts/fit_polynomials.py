#!/usr/bin/env python3
"""Derive the polynomials of the headers in `tensorplay/include`; prints them as C++ lines.

Every table is the weighted minimax polynomial of a function on an interval, in 60-digit arithmetic. The
coefficients of lowest degree are rounded to the target precision one at a time, and the rest is
fitted again after each, so that the rounding of a large one is made good by the smaller ones.

    python scripts/fit_polynomials.py            # all tables
    python scripts/fit_polynomials.py exp_f32    # one

Needs mpmath. The error printed with a table is the largest weighted error, as a power of two.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp

mp.mp.dps = 60
ROUNDS = 24  # of Lawson's algorithm; the error is then within a few per cent of the least
REFITS = 4  # coefficients that are rounded one by one
Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Table:
    """A polynomial to find: `target(x) ~ sum(c[k] * x**k)` on `[low, high]`, errors times `weight`."""

    name: str
    bits: int
    degree: int
    low: mp.mpf
    high: mp.mpf
    target: Function
    weight: Function


def rounded(x: mp.mpf, bits: int) -> mp.mpf:
    """Round to `bits` bits, to nearest, ties to even."""
    if x == 0:
        return x
    mantissa, exponent = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def lawson(
    powers: Sequence[int],
    points: Sequence[mp.mpf],
    target: Sequence[mp.mpf],
    weights: Sequence[mp.mpf],
) -> list[mp.mpf]:
    """Return the coefficients of `x**k`, k in `powers`, nearest to the target in the weighted maximum.

    Least squares, where each round multiplies a point's share by its error (Lawson 1961; Rice and
    Usow 1968). Unlike the exchange, it allows a weight that vanishes inside the interval.
    """
    basis = [[w * x**k for k in powers] for x, w in zip(points, weights, strict=True)]
    right = [w * y for w, y in zip(weights, target, strict=True)]
    shares = [mp.mpf(1) / len(points)] * len(points)
    best: list[mp.mpf] = []
    best_worst = mp.inf
    n = len(powers)
    for _ in range(ROUNDS):
        matrix, vector = mp.matrix(n, n), mp.matrix(n, 1)
        for row, value, share in zip(basis, right, shares, strict=True):
            if share == 0:
                continue
            for i in range(n):
                scaled = share * row[i]
                vector[i] += scaled * value
                for j in range(i, n):
                    matrix[i, j] += scaled * row[j]
        for i in range(n):
            for j in range(i):
                matrix[i, j] = matrix[j, i]
        solution = list(mp.lu_solve(matrix, vector))
        errors = [
            abs(mp.fdot(row, solution) - value) for row, value in zip(basis, right, strict=True)
        ]
        if max(errors) < best_worst:
            best, best_worst = solution, max(errors)
        total = mp.fsum(share * error for share, error in zip(shares, errors, strict=True))
        shares = [share * error / total for share, error in zip(shares, errors, strict=True)]
    return best


def fit(table: Table) -> tuple[list[mp.mpf], mp.mpf]:
    """Return the rounded coefficients, lowest degree first, and their largest weighted error."""
    count = 8 * (table.degree + 2)
    middle, half = (table.low + table.high) / 2, (table.high - table.low) / 2
    points = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    truth = [table.target(x) for x in points]
    weights = [abs(table.weight(x)) for x in points]
    fixed: list[mp.mpf] = []
    while len(fixed) <= table.degree:
        rest = (
            [y - mp.polyval(fixed[::-1], x) for x, y in zip(points, truth, strict=True)]
            if fixed
            else truth
        )
        found = lawson(range(len(fixed), table.degree + 1), points, rest, weights)
        keep = 1 if len(fixed) < REFITS else len(found)
        fixed += [rounded(c, table.bits) for c in found[:keep]]
    xs = [table.low + (table.high - table.low) * i / 2000 for i in range(2001)]
    worst = max(abs((mp.polyval(fixed[::-1], x) - table.target(x)) * table.weight(x)) for x in xs)
    return fixed, worst


def series(function: Function, terms: int) -> Function:
    """Return a function evaluated by its Taylor series at 0, for where the closed form cancels."""
    coefficients = mp.taylor(function, 0, terms)
    return lambda x: mp.polyval(coefficients[::-1], x)


LN2 = mp.log(2)
ROOT = mp.sqrt(mp.mpf(2))
TINY = mp.mpf(2) ** -40
EDGE = mp.mpf(1) + mp.mpf(2) ** -10  # intervals are widened a little: reduction rounds


def _tables() -> list[Table]:
    half = LN2 / 2 * EDGE
    exp_tail = series(lambda x: mp.mpf(1) if x == 0 else mp.e**x, 45)
    exp_q: Function = lambda r: (
        (exp_tail(r) - 1 - r) / r**2 if abs(r) > mp.mpf("1e-12") else mp.mpf(1) / 2 + r / 6
    )
    log_q: Function = lambda f: (
        (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > mp.mpf("1e-10") else mp.mpf(1) / 3 - f / 4
    )
    quarter = (mp.pi / 4 * EDGE) ** 2
    sin_q: Function = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    cos_q: Function = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2
    atan_q: Function = lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    asin_q: Function = lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    erf_q: Function = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1
    sinh_q: Function = lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    tanh_q: Function = lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z
    # log((1+s)/(1-s)) = 2s + s*z*R(z), z = s*s (the area tangent's odd series).
    atanh_q: Function = lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z
    s_max = ((ROOT - 1) / (ROOT + 1) * EDGE) ** 2

    def erfcx(x: mp.mpf) -> mp.mpf:
        return mp.exp(x * x) * mp.erfc(x)

    # (1 + 2x) erfcx(x) with t = (x - 4) / (x + 4) (Shepherd and Laframboise, Math. Comp. 36, 1981).
    def erfc_q(t: mp.mpf) -> mp.mpf:
        x = 4 * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)

    # erfinv(x) = x P(w), w = -log(1 - x^2), in the middle; in the tails |x| P(sqrt(w)).
    def erfinv_q(w: mp.mpf) -> mp.mpf:
        x = mp.sqrt(-mp.expm1(-w))
        return inverse_erf(w) / x

    def inverse_erf(w: mp.mpf) -> mp.mpf:
        """erfinv(sqrt(1 - e^-w)), by Newton's method on log(erfc)."""
        small = -mp.expm1(-w)  # x^2
        y = mp.sqrt(w) * mp.mpf("0.9")
        tail = mp.e**-w / (1 + mp.sqrt(small))  # 1 - x
        for _ in range(60):
            c = mp.erfc(y)
            step = (mp.log(c) - mp.log(tail)) * c * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            y += step
            if abs(step) < mp.mpf(10) ** -45:
                break
        return y

    t_of: Function = lambda x: (x - 4) / (x + 4)
    one: Function = lambda _: mp.mpf(1)
    return [
        Table("exp_f32", 24, 4, -half, half, exp_q, lambda r: r * r),
        Table("exp_f64", 53, 9, -half, half, exp_q, lambda r: r * r),
        Table(
            "exp2_f32",
            24,
            5,
            -mp.mpf(1) / 2,
            mp.mpf(1) / 2,
            lambda r: (2**r - 1) / r if abs(r) > mp.mpf("1e-15") else LN2 + r * LN2**2 / 2,
            abs,
        ),
        Table(
            "exp2_f64",
            53,
            10,
            -mp.mpf(1) / 2,
            mp.mpf(1) / 2,
            lambda r: (2**r - 1) / r if abs(r) > mp.mpf("1e-15") else LN2 + r * LN2**2 / 2,
            abs,
        ),
        Table("log_f32", 24, 7, 1 / ROOT - 1, ROOT - 1, log_q, lambda f: f * f),
        Table("log_f64", 53, 6, TINY, s_max, atanh_q, lambda z: z),
        Table(
            "log_wide_f64",
            53,
            8,
            TINY,
            s_max,
            lambda z: (atanh_q(z) - mp.mpf(2) / 3) / z,
            lambda z: z * z,
        ),
        Table("sin_f32", 24, 2, TINY, quarter, sin_q, lambda z: z),
        Table("cos_f32", 24, 2, TINY, quarter, cos_q, lambda z: z * z),
        Table("sin_f64", 53, 5, TINY, quarter, sin_q, lambda z: z),
        Table("cos_f64", 53, 5, TINY, quarter, cos_q, lambda z: z * z),
        Table("atan_f32", 24, 8, TINY, mp.mpf(1), atan_q, lambda z: z),
        Table("atan_f64", 53, 11, TINY, (ROOT - 1) ** 2 * EDGE, atan_q, lambda z: z),
        Table("asin_f32", 24, 4, TINY, mp.mpf(1) / 4, asin_q, lambda z: z),
        Table("asin_f64", 53, 12, TINY, mp.mpf(1) / 4, asin_q, lambda z: z),
        Table("sinh_f32", 24, 3, TINY, mp.mpf(1), sinh_q, lambda z: z),
        Table("sinh_f64", 53, 6, TINY, mp.mpf(1), sinh_q, lambda z: z),
        Table("tanh_f32", 24, 4, TINY, mp.mpf(1) / 4, tanh_q, lambda z: z),
        Table("tanh_f64", 53, 9, TINY, mp.mpf(1) / 4, tanh_q, lambda z: z),
        Table("erf_f32", 24, 6, TINY, mp.mpf(1), erf_q, one),
        Table("erf_f64", 53, 12, TINY, mp.mpf(1), erf_q, one),
        Table("erfinv_middle", 53, 10, mp.mpf(2) ** -20, mp.mpf(5), erfinv_q, one),
        Table(
            "erfinv_tail",
            53,
            10,
            mp.sqrt(mp.mpf(5)),
            mp.mpf(6.2),
            lambda s: erfinv_q(s * s),
            lambda s: 1 / s,
        ),
        # erf(x) = 1 - exp(-p(x)) away from 0: only erfc(x) of the error arrives.
        Table("erf_tail_f32", 24, 7, mp.mpf(1), mp.mpf(4), lambda x: -mp.log(mp.erfc(x)), mp.erfc),
        Table("erfc_f64", 53, 24, t_of(mp.mpf(1) / 2), t_of(mp.mpf(28)), erfc_q, one),
    ]


def main() -> None:
    """Print the tables that are asked for."""
    wanted = set(sys.argv[1:])
    for table in _tables():
        if wanted and table.name not in wanted:
            continue
        coefficients, worst = fit(table)
        suffix = "f" if table.bits == 24 else ""
        digits = 9 if table.bits == 24 else 17
        body = ", ".join(
            mp.nstr(c, digits, min_fixed=0, max_fixed=0) + suffix for c in coefficients
        )
        print(f"{table.name}  // 2^{mp.nstr(mp.log(worst, 2), 4)}\n  {{{body}}}", flush=True)


if __name__ == "__main__":
    main()
