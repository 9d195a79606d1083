"""Symbolic index expressions: integer polynomials over symbols, with floor-division and remainder atoms.

In: integers and symbols with known ranges, combined with `+ - * // %`. Out: an immutable, hashed `Expr`,
simplified when it is built, so that equal addresses are equal objects to every later stage. Every symbol carries
its range, so simplification needs no context. A construction costs microseconds.

    >>> i0, i1 = variable("i0", 256), variable("i1", 512)
    >>> i0 + 256 * i1
    i0 + 256*i1
    >>> (512 * i0 + i1) // 512, (512 * i0 + i1) % 512
    (i0, i1)
    >>> (3 * variable("i0", 128)) % 128
    (3*i0) % 128
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import gcd, inf
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax.intervals import Bound, Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Symbol:
    """A named integer known to lie in `[lower, upper]`: a loop variable, an indirect index, later a size.

    Two symbols are equal when name and range are.
    """

    __slots__ = ("_hash", "lower", "name", "upper")

    def __init__(self, name: str, lower: Bound, upper: Bound) -> None:
        """Name an integer and its range, both ends included."""
        self.name = name
        self.lower = lower
        self.upper = upper
        self._hash = hash((name, lower, upper))

    @property
    def bounds(self) -> Interval:
        """The range as an interval."""
        return Interval(self.lower, self.upper)

    @property
    def extent(self) -> int:
        """The number of values of a loop variable, which starts at zero."""
        if self.lower != 0 or not isinstance(self.upper, int):
            msg = f"{self.name} isn't a loop variable: it runs from {self.lower} to {self.upper}"
            raise ValueError(msg)
        return self.upper + 1

    def __hash__(self) -> int:
        """Return the hash, computed once."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare name and range."""
        return self is other or (
            isinstance(other, Symbol)
            and self.name == other.name
            and self.lower == other.lower
            and self.upper == other.upper
        )

    def __repr__(self) -> str:
        """Return the name."""
        return self.name


class FloorDiv:
    """The atom `numerator // divisor`, rounded down, when it can't be simplified further."""

    __slots__ = ("_hash", "divisor", "numerator")
    operator = "//"

    def __init__(self, numerator: Expr, divisor: Expr) -> None:
        """Keep the operands; build with `Expr.__floordiv__`, which simplifies."""
        self.numerator = numerator
        self.divisor = divisor
        self._hash = hash((self.operator, numerator, divisor))

    @property
    def bounds(self) -> Interval:
        """The interval of the quotient."""
        return self.numerator.bounds // self.divisor.bounds

    def __hash__(self) -> int:
        """Return the hash, computed once."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare the operands."""
        return self is other or (
            isinstance(other, FloorDiv)
            and self.operator == other.operator
            and self.numerator == other.numerator
            and self.divisor == other.divisor
        )

    def __repr__(self) -> str:
        """Return the text, with parentheses where an operand needs them."""
        return f"{parenthesize(self.numerator)} {self.operator} {parenthesize(self.divisor)}"


class Mod(FloorDiv):
    """The atom `numerator % divisor`, with the sign of the divisor, when it can't be simplified further."""

    __slots__ = ()
    operator = "%"

    @property
    def bounds(self) -> Interval:
        """The interval of the remainder."""
        return self.numerator.bounds % self.divisor.bounds


Atom = Symbol | FloorDiv
Monomial = tuple[Atom, ...]


class Expr:
    """An integer polynomial: `constant` plus the sum of coefficient times product of atoms.

    `terms` maps a product of atoms (sorted, repeated for powers) to its non-zero coefficient. Never mutate it.
    """

    __slots__ = ("_bounds", "_hash", "_text", "constant", "terms")

    def __init__(self, terms: dict[Monomial, int], constant: int) -> None:
        """Keep terms that are already in normal form; build with `variable` and the operators."""
        self.terms = terms
        self.constant = constant
        self._hash: int | None = None
        self._bounds: Interval | None = None
        self._text: str | None = None

    # ---- questions -------------------------------------------------------------------------------------------

    @property
    def is_constant(self) -> bool:
        """Say whether no symbol occurs."""
        return not self.terms

    @property
    def is_affine(self) -> bool:
        """Say whether this is a constant plus multiples of single symbols."""
        return all(len(m) == 1 and isinstance(m[0], Symbol) for m in self.terms)

    def as_symbol(self) -> Symbol | None:
        """Return the symbol that this is, or None if it is anything else."""
        if self.constant or len(self.terms) != 1:
            return None
        ((monomial, coefficient),) = self.terms.items()
        if coefficient != 1 or len(monomial) != 1 or not isinstance(monomial[0], Symbol):
            return None
        return monomial[0]

    @property
    def bounds(self) -> Interval:
        """An interval that holds every value, from the ranges of the symbols."""
        if self._bounds is None:
            low: Bound = self.constant
            high: Bound = self.constant
            for monomial, coefficient in self.terms.items():
                interval = monomial[0].bounds
                for atom in monomial[1:]:
                    interval = interval * atom.bounds
                lower, upper = interval.scale(coefficient)
                low += lower
                high += upper
            self._bounds = Interval(low, high)
        return self._bounds

    def symbols(self) -> set[Symbol]:
        """Return every symbol that occurs, also inside divisions and remainders."""
        found: set[Symbol] = set()
        pending: list[Expr] = [self]
        while pending:
            for monomial in pending.pop().terms:
                for atom in monomial:
                    if isinstance(atom, Symbol):
                        found.add(atom)
                    else:
                        pending += (atom.numerator, atom.divisor)
        return found

    def stride(self, symbol: Symbol) -> int | None:
        """Return how far the value moves when `symbol` grows by one; None if that isn't one fixed number."""
        step = 0
        for monomial, coefficient in self.terms.items():
            if len(monomial) == 1 and monomial[0] == symbol:
                step = coefficient
            elif any(
                symbol == a or (isinstance(a, FloorDiv) and occurs(symbol, a)) for a in monomial
            ):
                return None
        return step

    # ---- arithmetic ------------------------------------------------------------------------------------------

    def __add__(self, other: int | Expr) -> Expr:
        """Add; `c*d*(a // d) + c*(a % d)` becomes `c*a`."""
        if isinstance(other, int):
            return Expr(self.terms, self.constant + other) if other else self
        if not other.terms:
            return Expr(self.terms, self.constant + other.constant) if other.constant else self
        if not self.terms:
            return Expr(other.terms, self.constant + other.constant)
        terms = dict(self.terms)
        recombine = False
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + coefficient
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
            recombine = recombine or isinstance(monomial[0], FloorDiv)
        result = Expr(terms, self.constant + other.constant)
        return join_divisions(result) if recombine else result

    __radd__ = __add__

    def __neg__(self) -> Expr:
        """Negate."""
        return self * -1

    def __sub__(self, other: int | Expr) -> Expr:
        """Subtract."""
        return self + -other

    def __rsub__(self, other: int) -> Expr:
        """Subtract from an integer."""
        return self * -1 + other

    def __mul__(self, other: int | Expr) -> Expr:
        """Multiply out."""
        if isinstance(other, Expr):
            if other.terms:
                if self.terms:
                    return multiply_out(self, other)
                return other * self.constant
            other = other.constant
        if other == 1:
            return self
        if other == 0:
            return Expr({}, 0)
        return Expr({m: c * other for m, c in self.terms.items()}, self.constant * other)

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Expr) -> Expr:
        """Divide, rounding down."""
        return floor_divide(self, to_expr(other))

    def __rfloordiv__(self, other: int) -> Expr:
        """Divide an integer, rounding down."""
        return floor_divide(to_expr(other), self)

    def __mod__(self, other: int | Expr) -> Expr:
        """Take the remainder, with the sign of the divisor."""
        return remainder(self, to_expr(other))

    def __rmod__(self, other: int) -> Expr:
        """Take the remainder of an integer."""
        return remainder(to_expr(other), self)

    def __pow__(self, power: int) -> Expr:
        """Multiply by itself; `power` isn't negative."""
        result = to_expr(1)
        for _ in range(power):
            result = result * self
        return result

    # ---- substitution and evaluation -------------------------------------------------------------------------

    def substitute(self, values: Mapping[Symbol, int | Expr]) -> Expr:
        """Replace symbols, all at once, and simplify again."""
        result = Expr({}, self.constant)
        for monomial, coefficient in self.terms.items():
            if len(monomial) == 1:
                result = result + substitute_atom(monomial[0], values) * coefficient
                continue
            product: Expr = Expr({}, coefficient)
            for atom in monomial:
                product = product * substitute_atom(atom, values)
            result = result + product
        return result

    def evaluate(self, values: Mapping[Symbol, int]) -> int:
        """Return the number that this is where the symbols have these values."""
        total = self.constant
        for monomial, coefficient in self.terms.items():
            product = coefficient
            for atom in monomial:
                if isinstance(atom, Symbol):
                    product *= values[atom]
                elif isinstance(atom, Mod):
                    product *= atom.numerator.evaluate(values) % atom.divisor.evaluate(values)
                else:
                    product *= atom.numerator.evaluate(values) // atom.divisor.evaluate(values)
            total = total + product  # not +=: arrays broadcast
        return total

    # ---- identity and text -----------------------------------------------------------------------------------

    def __hash__(self) -> int:
        """Return the hash, computed once."""
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), self.constant))
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare in normal form; an integer equals a constant."""
        if isinstance(other, Expr):
            return self is other or (self.constant == other.constant and self.terms == other.terms)
        return isinstance(other, int) and not self.terms and self.constant == other

    def __repr__(self) -> str:
        """Return the text: terms in the order of their symbols, the constant last."""
        if self._text is None:
            self._text = "".join(self._pieces()) or "0"
        return self._text

    def _pieces(self) -> Iterator[str]:
        first = True
        for monomial, coefficient in sorted(self.terms.items(), key=lambda item: sort_key(item[0])):
            alone = first and len(self.terms) == 1 and not self.constant and coefficient == 1
            product = "*".join(factor_text(a, alone=alone and len(monomial) == 1) for a in monomial)
            size = abs(coefficient)
            sign = (
                ("-" if coefficient < 0 else "") if first else (" - " if coefficient < 0 else " + ")
            )
            yield f"{sign}{product}" if size == 1 else f"{sign}{size}*{product}"
            first = False
        if self.constant:
            if first:
                yield str(self.constant)
            else:
                yield f" - {-self.constant}" if self.constant < 0 else f" + {self.constant}"


# ---- making expressions --------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def variable(name: str, size: int) -> Expr:
    """Return a loop variable: all integers from 0 to `size - 1`. A variable with one value is that value, 0."""
    return Expr({}, 0) if size == 1 else from_symbol(Symbol(name, 0, size - 1))


def from_symbol(symbol: Symbol) -> Expr:
    """Return the expression that is just this symbol."""
    return Expr({(symbol,): 1}, 0)


def to_expr(value: int | Expr) -> Expr:
    """Return an expression as it is, an integer as a constant."""
    return value if isinstance(value, Expr) else Expr({}, value)


def linear_index(
    indices: Iterable[int | Expr], strides: Iterable[int | Expr], offset: int | Expr = 0
) -> Expr:
    """Return the address `offset + sum of index times stride` (Definition 6.2)."""
    address = to_expr(offset)
    for index, stride in zip(indices, strides, strict=True):
        address = address + to_expr(index) * stride
    return address


# ---- simplification ------------------------------------------------------------------------------------------


def occurs(symbol: Symbol, atom: FloorDiv) -> bool:
    """Say whether a symbol occurs in a division or remainder."""
    return symbol in atom.numerator.symbols() or symbol in atom.divisor.symbols()


def substitute_atom(atom: Atom, values: Mapping[Symbol, int | Expr]) -> Expr:
    """Replace symbols in one atom."""
    if isinstance(atom, Symbol):
        value = values.get(atom)
        return from_symbol(atom) if value is None else to_expr(value)
    numerator = atom.numerator.substitute(values)
    divisor = atom.divisor.substitute(values)
    return numerator % divisor if isinstance(atom, Mod) else numerator // divisor


def multiply_out(a: Expr, b: Expr) -> Expr:
    """Multiply two polynomials that both have symbols."""
    terms: dict[Monomial, int] = {}
    left = [*a.terms.items(), ((), a.constant)] if a.constant else list(a.terms.items())
    right = [*b.terms.items(), ((), b.constant)] if b.constant else list(b.terms.items())
    for m, c in left:
        for n, d in right:
            key = tuple(sorted(m + n, key=atom_key)) if m and n else m + n
            total = terms.get(key, 0) + c * d
            if total:
                terms[key] = total
            else:
                terms.pop(key, None)
    constant = terms.pop((), 0)
    return join_divisions(Expr(terms, constant))


def join_divisions(e: Expr) -> Expr:
    """Rewrite `c*d*(a // d) + c*(a % d)` to `c*a`, until no such pair is left."""
    again = True
    while again:
        again = False
        for monomial, coefficient in e.terms.items():
            atom = monomial[0]
            if len(monomial) != 1 or not isinstance(atom, Mod):
                continue
            d = atom.divisor
            if not d.is_constant:
                continue
            quotient = atom.numerator // d
            if quotient.is_constant or len(quotient.terms) != 1 or quotient.constant:
                continue
            ((key, factor),) = quotient.terms.items()
            if factor == 1 and e.terms.get(key) == coefficient * d.constant:
                rest = {m: c for m, c in e.terms.items() if m not in (key, monomial)}
                e = Expr(rest, e.constant) + atom.numerator * coefficient
                again = True
                break
    return e


def floor_divide(a: Expr, b: Expr) -> Expr:
    """Divide, rounding down: exact multiples leave the division, a part below one vanishes.

    With a constant divisor d: `(d*q + r) // d = q + r // d`; `(g*t + l) // (g*d) = t // d` for `0 <= l < g`;
    `(x // b) // c = x // (b*c)`.
    """
    if b.terms:
        return divide_by_symbols(a, b)
    d = b.constant
    if d == 0:
        msg = f"({a}) // 0: an index was divided by zero"
        raise ZeroDivisionError(msg)
    if d < 0:
        return floor_divide(-a, to_expr(-d))
    if d == 1:
        return a
    if not a.terms:
        return to_expr(a.constant // d)
    whole = Expr({m: c // d for m, c in a.terms.items() if c % d == 0}, a.constant // d)
    rest = Expr({m: c for m, c in a.terms.items() if c % d}, a.constant % d)
    if not rest.terms:
        return whole
    low, high = rest.bounds
    if low >= 0 and high < d:
        return whole
    g, upper = split_low_part(rest, d)
    if g > 1:
        return whole + floor_divide(upper, to_expr(d // g))
    if len(rest.terms) == 1:
        ((monomial, coefficient),) = rest.terms.items()
        inner = monomial[0]
        if (
            coefficient == 1
            and len(monomial) == 1
            and type(inner) is FloorDiv
            and inner.divisor.is_constant
        ):
            e = inner.divisor.constant
            return whole + floor_divide(inner.numerator + rest.constant * e, to_expr(e * d))
    if low > -inf and high < inf and low // d == high // d:
        return whole + int(low // d)
    return whole + Expr({(FloorDiv(rest, b),): 1}, 0)


def remainder(a: Expr, b: Expr) -> Expr:
    """Take the remainder: multiples vanish, a dividend in range is its own remainder.

    With a constant divisor d: `(g*t + l) % (g*d) = g*(t % d) + l` for `0 <= l < g`; `(x % (k*d)) % d = x % d`.
    """
    if b.terms:
        return remainder_by_symbols(a, b)
    d = b.constant
    if d == 0:
        msg = f"({a}) % 0: an index was divided by zero"
        raise ZeroDivisionError(msg)
    if d < 0:
        return -remainder(-a, to_expr(-d))
    if d == 1:
        return to_expr(0)
    if not a.terms:
        return to_expr(a.constant % d)
    low, high = a.bounds
    if low >= 0 and high < d:
        return a
    if low > -inf and high < inf and low // d == high // d:
        return a - int(low // d) * d
    rest = Expr({m: c for m, c in a.terms.items() if c % d}, a.constant % d)
    if not rest.terms:
        return to_expr(rest.constant)
    low, high = rest.bounds
    if low >= 0 and high < d:
        return rest
    g, upper = split_low_part(rest, d)
    if g > 1:
        return remainder(upper, to_expr(d // g)) * g + (rest - upper * g)
    if len(rest.terms) == 1:
        ((monomial, coefficient),) = rest.terms.items()
        inner = monomial[0]
        if len(monomial) == 1 and isinstance(inner, Mod) and inner.divisor.is_constant:
            e = inner.divisor.constant
            if e % d == 0:
                return remainder(inner.numerator * coefficient + rest.constant, b)
    return Expr({(Mod(rest, b),): 1}, 0)


def split_low_part(rest: Expr, d: int) -> tuple[int, Expr]:
    """Find `g` and `upper` with `rest = g*upper + low`, `g` dividing `d` and `0 <= low < g`.

    Return `(1, rest)` where there is none. The largest coefficients are tried as the upper part.
    """
    items = sorted(rest.terms.items(), key=lambda item: -abs(item[1]))
    common = d
    best = (1, rest)
    low_low: Bound = rest.constant
    low_high: Bound = rest.constant
    tails: list[tuple[Bound, Bound]] = []
    for monomial, coefficient in reversed(items):
        tails.append((low_low, low_high))
        interval = Expr({monomial: coefficient}, 0).bounds
        low_low += interval.lower
        low_high += interval.upper
    tails.reverse()
    upper: dict[Monomial, int] = {}
    for (monomial, coefficient), (tail_low, tail_high) in zip(items, tails, strict=True):
        common = gcd(common, coefficient)
        if common == 1:
            break
        upper[monomial] = coefficient
        # The constant may be shared between the parts: move whole multiples of g up.
        shift = (rest.constant // common) * common
        if tail_low - shift >= 0 and tail_high - shift < common:
            best = (common, Expr({m: c // common for m, c in upper.items()}, shift // common))
    return best


def divide_by_symbols(a: Expr, b: Expr) -> Expr:
    """Divide by an expression with symbols: terms that are multiples of a single-term divisor leave."""
    if a == b:
        return to_expr(1)
    whole, rest = split_multiples(a, b)
    low, high = rest.bounds
    if low >= 0 and high < b.bounds.lower:
        return whole
    return whole + Expr({(FloorDiv(rest, b),): 1}, 0)


def remainder_by_symbols(a: Expr, b: Expr) -> Expr:
    """Take the remainder by an expression with symbols."""
    if a == b:
        return to_expr(0)
    _, rest = split_multiples(a, b)
    low, high = rest.bounds
    if low >= 0 and high < b.bounds.lower:
        return rest
    return Expr({(Mod(rest, b),): 1}, 0)


def split_multiples(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Write `a = b*whole + rest` where `b` is one term; else `whole` is zero."""
    if b.constant or len(b.terms) != 1:
        return to_expr(0), a
    ((divisor, factor),) = b.terms.items()
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    constant = 0
    for monomial, coefficient in a.terms.items():
        left = list(monomial)
        divides = coefficient % factor == 0
        for atom in divisor:
            if not divides or atom not in left:
                divides = False
                break
            left.remove(atom)
        if not divides:
            rest[monomial] = coefficient
        elif left:
            whole[tuple(left)] = coefficient // factor
        else:
            constant = coefficient // factor
    return Expr(whole, constant), Expr(rest, a.constant)


# ---- text ----------------------------------------------------------------------------------------------------


def parenthesize(e: Expr) -> str:
    """Return the text of an operand of `//` or `%`."""
    simple = e.is_constant and e.constant >= 0
    return str(e) if simple or e.as_symbol() is not None else f"({e})"


def factor_text(atom: Atom, *, alone: bool) -> str:
    """Return the text of an atom, in parentheses unless it stands alone."""
    return str(atom) if isinstance(atom, Symbol) or alone else f"({atom})"


@lru_cache(maxsize=4096)
def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Order names with their numbers as numbers: `i2` before `i10`."""
    return tuple(
        (int(digits), "") if digits else (-1, text)
        for digits, text in re.findall(r"(\d+)|(\D+)", name)
    )


def atom_key(atom: Atom) -> tuple[object, ...]:
    """Order atoms: by the first symbol in them, symbols before divisions."""
    if isinstance(atom, Symbol):
        return (natural_key(atom.name), 0, "")
    names = [natural_key(s.name) for s in atom.numerator.symbols()] or [()]
    return (min(names), 1, str(atom))


def sort_key(monomial: Monomial) -> tuple[tuple[object, ...], ...]:
    """Order terms."""
    return tuple(atom_key(a) for a in monomial)
