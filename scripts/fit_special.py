#!/usr/bin/env python3
"""Write `tensorplay/include/tp_special_tables.h`: the polynomials of the special functions.

Each table interpolates a function at Chebyshev points of an interval in 60-digit arithmetic. The series is
cut where its coefficients are below the rounding of a double, turned into powers of `t` in [-1, 1], and
rounded. Where the singularities are farther from the middle than the ends are, those powers shrink, and
Horner's rule is as good as Clenshaw's.

    python scripts/fit_special.py            # writes the header
    python scripts/fit_special.py --check    # measures every table against its function

Needs mpmath.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]
HEADER = Path(__file__).resolve().parent.parent / "tensorplay" / "include" / "tp_special_tables.h"


@dataclass(frozen=True)
class Table:
    """A polynomial in t, where `of_t` gives the argument, that stands for `target`."""

    name: str
    says: str
    of_t: Function
    target: Function
    tolerance: float = 1e-18


def linear(low: float, high: float) -> Function:
    """The argument for t in [-1, 1]."""
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    return lambda t: middle + half * t


def reciprocal(least: float) -> Function:
    """The argument from `least` (t = 1) to infinity (t = -1): 1/x is linear in t."""
    return lambda t: 2 * mp.mpf(least) / (1 + t)


def chebyshev(table: Table, count: int) -> list[mp.mpf]:
    """The coefficients of the interpolant at `count` points."""
    angles = [mp.pi * (2 * i + 1) / (2 * count) for i in range(count)]
    values = [table.target(table.of_t(mp.cos(angle))) for angle in angles]
    found = [
        2 * mp.fsum(v * mp.cos(k * angle) for v, angle in zip(values, angles, strict=True)) / count
        for k in range(count)
    ]
    found[0] /= 2
    return found


def powers(coefficients: list[mp.mpf]) -> list[mp.mpf]:
    """A Chebyshev series as powers of t."""
    n = len(coefficients)
    total = [mp.mpf(0)] * n
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for k, c in enumerate(coefficients):
        each = before if k == 0 else now
        if k > 1:
            after = [mp.mpf(0), *(2 * x for x in now)]
            for i, x in enumerate(before):
                after[i] -= x
            before, now = now, after
            each = now
        for i, x in enumerate(each):
            total[i] += c * x
    return total


def fit(table: Table) -> list[float]:
    """The rounded powers, lowest first."""
    series = chebyshev(table, 72)
    limit = table.tolerance * max(abs(c) for c in series)
    last = max(k for k, c in enumerate(series) if abs(c) > limit)
    if last >= 66:
        msg = f"{table.name} does not converge: {mp.nstr(series[-1], 3)}"
        raise ValueError(msg)
    return [float(c) for c in powers(series[: last + 1])]


def zero(function: Function, near: float) -> mp.mpf:
    """A zero of a function."""
    return mp.findroot(function, mp.mpf(near))


J0_ZEROS = [mp.besseljzero(0, k) for k in (1, 2)]
J1_ZEROS = [mp.besseljzero(1, k) for k in (1, 2)]
Y0_ZEROS = [zero(lambda x: mp.bessely(0, x), near) for near in (3.957, 7.086)]
Y1_ZEROS = [zero(lambda x: mp.bessely(1, x), near) for near in (2.197, 5.430)]
PSI_ZERO = zero(mp.digamma, 1.4616)


def over_zeros(function: Function, zeros: list[mp.mpf], odd: bool) -> Function:
    """An even or odd function of x divided by its zeros, as a function of x²."""

    def divided(square: mp.mpf) -> mp.mpf:
        x = mp.sqrt(square)
        if abs(x) < mp.mpf(10) ** -25:
            x = mp.mpf(10) ** -25
        found = function(x) / (x if odd else 1)
        for each in zeros:
            found /= x * x - each * each
        return found

    return divided


def regular_y(order: int) -> Function:
    """What is left of Y0 or Y1 / x without their singularity at 0, as a function of x²."""

    def rest(square: mp.mpf) -> mp.mpf:
        x = mp.sqrt(square)
        if abs(x) < mp.mpf(10) ** -15:
            x = mp.mpf(10) ** -15
        found = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return found if order == 0 else (found + 2 / (mp.pi * x)) / x

    return rest


def over_zero(order: int, at: mp.mpf) -> Function:
    """Y divided by one of its zeros."""
    return lambda x: mp.bessely(order, x) / (x - at)


def modulus(order: int, quadrature: bool) -> Function:
    """P or Q of Hankel's expansion: sqrt(πx/2) (J cos χ + Y sin χ), sqrt(πx/2) (Y cos χ - J sin χ) * x."""

    def of_square(square: mp.mpf) -> mp.mpf:  # (8/x)²
        x = 8 / mp.sqrt(square)
        if x > 10**6:
            mu = 4 * order * order
            return mp.mpf(mu - 1) / 8 if quadrature else mp.mpf(1)
        with mp.workdps(90):
            chi = x - order * mp.pi / 2 - mp.pi / 4
            j, y = mp.besselj(order, x), mp.bessely(order, x)
            scale = mp.sqrt(mp.pi * x / 2)
            if quadrature:
                return scale * (y * mp.cos(chi) - j * mp.sin(chi)) * x
            return scale * (j * mp.cos(chi) + y * mp.sin(chi))

    return of_square


def scaled_i(order: int) -> Function:
    """sqrt(x) e^-x I(x)."""
    return lambda x: (
        1 / mp.sqrt(2 * mp.pi) if x > 10**6 else mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)
    )


def scaled_k(order: int) -> Function:
    """sqrt(x) e^x K(x)."""
    return lambda x: (
        mp.sqrt(mp.pi / 2) if x > 10**6 else mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)
    )


def airy_zeta(x: mp.mpf) -> mp.mpf:
    """The phase of Airy's functions, 2/3 x^(3/2)."""
    return 2 * mp.sqrt(x) ** 3 / 3


def airy_decaying(z: mp.mpf) -> mp.mpf:
    """Ai(x) e^ζ x^(1/4) as a function of 1/ζ."""
    x = (3 / (2 * z)) ** (mp.mpf(2) / 3)
    if x > 10**4:
        return 1 / (2 * mp.sqrt(mp.pi))
    return mp.airyai(x) * mp.exp(airy_zeta(x)) * x ** mp.mpf(0.25)


def airy_wave(quadrature: bool) -> Function:
    """P and Q of Ai(-x) = x^(-1/4) / sqrt(π) (P cos(ζ - π/4) + Q sin(ζ - π/4)), as functions of 1/ζ²."""

    def of(square: mp.mpf) -> mp.mpf:
        zeta = 1 / mp.sqrt(square)
        if zeta > 10**5:
            return mp.mpf(5) / 72 if quadrature else mp.mpf(1)
        with mp.workdps(90):
            x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
            scale = mp.sqrt(mp.pi) * x ** mp.mpf(0.25)
            chi = zeta - mp.pi / 4
            a, b = mp.airyai(-x) * scale, mp.airybi(-x) * scale  # P cos + Q sin, Q cos - P sin
            if quadrature:
                return (a * mp.sin(chi) + b * mp.cos(chi)) * zeta
            return a * mp.cos(chi) - b * mp.sin(chi)

    return of


def stirling(x: mp.mpf) -> mp.mpf:
    """The log of Γ without its zeros."""
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def away(function: Function, *poles: float) -> Function:
    """The function, moved a little where it is a removable 0/0."""

    def moved(x: mp.mpf) -> mp.mpf:
        for pole in poles:
            if abs(x - pole) < mp.mpf(10) ** -20:
                return (function(x + mp.mpf(10) ** -15) + function(x - mp.mpf(10) ** -15)) / 2
        return function(x)

    return moved


SQUARE: Function = linear(0, 1)
TABLES = [
    Table("lgamma_1_3", "lgamma(x) / ((x - 1) (x - 2)), t = x - 2", linear(1, 3), away(stirling, 1, 2)),
    Table("lgamma_3_12", "the same, t = (x - 7.5) / 4.5", linear(3, 12), stirling),
    Table(
        "digamma_1_2", "digamma(x) / (x - its zero), t = 2x - 3", linear(1, 2),
        lambda x: mp.digamma(x) / (x - PSI_ZERO),
    ),
    Table("i0_far", "sqrt(x) e^-x I0(x), t = 16/x - 1", reciprocal(8), scaled_i(0)),
    Table("i1_far", "sqrt(x) e^-x I1(x), t = 16/x - 1", reciprocal(8), scaled_i(1)),
    Table("k0_middle", "sqrt(x) e^x K0(x), t = 2x - 3", linear(1, 2), scaled_k(0)),
    Table("k1_middle", "sqrt(x) e^x K1(x), t = 2x - 3", linear(1, 2), scaled_k(1)),
    Table("k0_far", "sqrt(x) e^x K0(x), t = 4/x - 1", reciprocal(2), scaled_k(0)),
    Table("k1_far", "sqrt(x) e^x K1(x), t = 4/x - 1", reciprocal(2), scaled_k(1)),
    Table(
        "j0_near", "J0(x) / ((x² - r²) (x² - s²)), t = x²/32 - 1", linear(0, 64),
        over_zeros(lambda x: mp.besselj(0, x), J0_ZEROS, odd=False),
    ),
    Table(
        "j1_near", "J1(x) / (x (x² - r²) (x² - s²)), t = x²/32 - 1", linear(0, 64),
        over_zeros(lambda x: mp.besselj(1, x), J1_ZEROS, odd=True),
    ),
    Table("y0_near", "Y0(x) - 2/π log(x) J0(x), t = 0.32 x² - 1", linear(0, 6.25), regular_y(0)),
    Table("y0_low", "Y0(x) / (x - r), t = (x - 4) / 1.5", linear(2.5, 5.5), over_zero(0, Y0_ZEROS[0])),
    Table("y0_high", "Y0(x) / (x - s), t = (x - 6.75) / 1.25", linear(5.5, 8), over_zero(0, Y0_ZEROS[1])),
    Table(
        "y1_near", "(Y1(x) - 2/π (log(x) J1(x) - 1/x)) / x, t = 0.5 x² - 1", linear(0, 4),
        regular_y(1),
    ),
    Table("y1_low", "Y1(x) / (x - r), t = x - 3", linear(2, 4), over_zero(1, Y1_ZEROS[0])),
    Table("y1_high", "Y1(x) / (x - s), t = (x - 6) / 2", linear(4, 8), over_zero(1, Y1_ZEROS[1])),
    Table("p0_far", "P of J0 and Y0, t = 2 (8/x)² - 1", SQUARE, modulus(0, quadrature=False)),
    Table("q0_far", "x Q of J0 and Y0, t = 2 (8/x)² - 1", SQUARE, modulus(0, quadrature=True)),
    Table("p1_far", "P of J1 and Y1, t = 2 (8/x)² - 1", SQUARE, modulus(1, quadrature=False)),
    Table("q1_far", "x Q of J1 and Y1, t = 2 (8/x)² - 1", SQUARE, modulus(1, quadrature=True)),
    Table("airy_5_3", "Ai(x), t = x + 4", linear(-5, -3), mp.airyai),
    Table("airy_3_1", "Ai(x), t = x + 2", linear(-3, -1), mp.airyai),
    Table("airy_near", "Ai(x), t = x", linear(-1, 1), mp.airyai),
    Table(
        "airy_middle", "Ai(x) e^ζ, t = (x - 1.75) / 0.75", linear(1, 2.5),
        lambda x: mp.airyai(x) * mp.exp(airy_zeta(x)),
    ),
    Table(
        "airy_far", "Ai(x) e^ζ x^(1/4), t = 5/ζ - 1", linear(0, 0.4), airy_decaying,
    ),
    Table("airy_p", "P of Ai(-x), t = 98/ζ² - 1", linear(0, 1 / 49), airy_wave(quadrature=False)),
    Table("airy_q", "ζ Q of Ai(-x), t = 98/ζ² - 1", linear(0, 1 / 49), airy_wave(quadrature=True)),
]  # fmt: skip


ZEROS = (
    ("j0_zeros", J0_ZEROS), ("j1_zeros", J1_ZEROS), ("y0_zeros", Y0_ZEROS), ("y1_zeros", Y1_ZEROS),
    ("digamma_zero", [PSI_ZERO]),
)  # fmt: skip


def taylor() -> dict[str, list[mp.mpf]]:
    """Series in y = x²/4 of I0, I1 / (x/2), and of what K0 and K1 add to them (DLMF 10.25.2, 10.31)."""
    f, psi = mp.factorial, mp.digamma
    return {
        "i0_series": [1 / f(k) ** 2 for k in range(26)],
        "i1_series": [1 / (f(k) * f(k + 1)) for k in range(26)],
        "k0_series": [psi(k + 1) / f(k) ** 2 for k in range(10)],
        "k1_series": [(psi(k + 1) + psi(k + 2)) / (f(k) * f(k + 1)) for k in range(10)],
    }


def temme(orders: int, terms: int) -> list[list[mp.mpf]]:
    """The Taylor coefficients of c_k(η), k < orders, of DLMF 8.12.9 to 8.12.12.

    With μ = λ - 1 and η²/2 = μ - log(1 + μ): c_0 = 1/μ - 1/η, and
    c_k = c_{k-1}' / η + (-1)^k g_k / μ, where Γ*(a) ~ Σ g_k a^-k (Stirling's series, DLMF 5.11.3).
    """
    size = terms + 2 * orders + 4
    # μ(η) = Σ a_n η^n: from η dη = μ/(1 + μ) dμ, that is μ μ' = η (1 + μ).
    a = [mp.mpf(0)] * (size + 2)
    a[1] = mp.mpf(1)
    for n in range(2, size + 2):
        # The coefficient of η^n of μ μ': a_1 a_n (n + 1) + Σ j a_j a_{n+1-j}, 2 <= j <= n - 1.
        known = mp.fsum(j * a[j] * a[n + 1 - j] for j in range(2, n))
        a[n] = (a[n - 1] - known) / (n + 1)
    # 1/μ = b_0/η + b_1 + b_2 η + ...
    b = [mp.mpf(0)] * (size + 1)
    b[0] = mp.mpf(1)
    for n in range(1, size + 1):
        b[n] = -mp.fsum(a[j + 1] * b[n - j] for j in range(1, n + 1))
    # g_k from log Γ*(a) = Σ B_{2j} / (2j (2j - 1) a^(2j - 1))
    log_g = [mp.mpf(0)] * (orders + 1)
    for j in range(1, orders + 1):
        if 2 * j - 1 <= orders:
            log_g[2 * j - 1] = mp.bernoulli(2 * j) / (2 * j * (2 * j - 1))
    g = [mp.mpf(1)]
    for n in range(1, orders + 1):
        g.append(mp.fsum(j * log_g[j] * g[n - j] for j in range(1, n + 1)) / n)
    rows: list[list[mp.mpf]] = []
    row = [b[n + 1] for n in range(size)]
    for k in range(orders):
        if k:
            # c' / η has a pole that the pole of 1/μ takes away.
            row = [
                (n + 2) * rows[-1][n + 2] + (-1) ** k * g[k] * b[n + 1]
                for n in range(len(rows[-1]) - 2)
            ]
        rows.append(row)
    return [row[:terms] for row in rows]


def main() -> None:
    """Write the header, or measure."""
    lines = [
        "// tp_special_tables.h: polynomials of special functions (written by scripts/fit_special.py).",
        "//",
        "// Powers of t, lowest first; what t is stands with each table.",
        "#pragma once",
        "",
        "namespace tp {",
        "namespace table {",
    ]
    for table in TABLES:
        found = fit(table)
        report = f"{table.name}: {len(found)} terms, sum |c| / max |f| = "
        points = [mp.mpf(i) / 20 - 1 for i in range(1, 41)]
        truth = [table.target(table.of_t(t)) for t in points]
        size = max(abs(x) for x in truth)
        error = max(abs(mp.polyval(found[::-1], t) - y) for t, y in zip(points, truth, strict=True))
        report += f"{float(sum(abs(c) for c in found) / size):.2g}, error {float(error / size):.2g}"
        sys.stderr.write(report + "\n")
        body = ", ".join(repr(c) for c in found)
        lines += [f"// {table.says}", f"constexpr double {table.name}[] = {{{body}}};"]
    for name, zeros in ZEROS:
        pairs = ", ".join(f"{{{float(z)!r}, {float(z - mp.mpf(float(z)))!r}}}" for z in zeros)
        lines += [
            "// each rounded, and what is left",
            f"constexpr double {name}[][2] = {{{pairs}}};",
        ]
    for name, series in taylor().items():
        body = ", ".join(repr(float(c)) for c in series)
        lines += ["// powers of x²/4", f"constexpr double {name}[] = {{{body}}};"]
    rows = temme(10, 22)
    body = ", ".join("{" + ", ".join(repr(float(c)) for c in row) + "}" for row in rows)
    lines += [
        "// Temme's expansion of the incomplete gamma functions: row k has the Taylor series of c_k(η) (DLMF 8.12)",
        f"constexpr double temme[10][22] = {{{body}}};",
        "}  // namespace table",
        "}  // namespace tp",
        "",
    ]
    if "--check" not in sys.argv:
        HEADER.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
