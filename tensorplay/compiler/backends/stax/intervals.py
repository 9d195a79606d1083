"""Closed integer intervals: what is known of a value before the program runs (Definition 6.4).

In: intervals of operands. Out: an interval that contains every result (Proposition 6.4). An unbounded end is a
float infinity. Rules only ever widen, so a bound that is proved is true at run time.

    >>> Interval(0, 63) * Interval.exactly(128) + Interval(0, 127)
    Interval(lower=0, upper=8191)
    >>> Interval(0, 381) % Interval.exactly(128)
    Interval(lower=0, upper=127)
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

Bound = int | float
"""An integer, or `inf` or `-inf`."""


class Interval(NamedTuple):
    """All integers from `lower` to `upper`, both included."""

    lower: Bound
    upper: Bound

    @staticmethod
    def exactly(value: int) -> Interval:
        """Return the interval that holds one value."""
        return Interval(value, value)

    def contains(self, other: Interval) -> bool:
        """Say whether every value of `other` is one of ours."""
        return self.lower <= other.lower and other.upper <= self.upper

    def union(self, other: Interval) -> Interval:
        """Return the smallest interval that contains both."""
        return Interval(min(self.lower, other.lower), max(self.upper, other.upper))

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]  # a tuple adds otherwise
        """Add every pair."""
        return Interval(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other: Interval) -> Interval:
        """Subtract every pair."""
        return Interval(self.lower - other.upper, self.upper - other.lower)

    def __neg__(self) -> Interval:
        """Negate every value."""
        return Interval(-self.upper, -self.lower)

    def __mul__(self, other: Interval) -> Interval:  # type: ignore[override]  # a tuple repeats otherwise
        """Multiply every pair."""
        corners = [multiply(a, b) for a in self for b in other]
        return Interval(min(corners), max(corners))

    def scale(self, factor: int) -> Interval:
        """Multiply every value by one integer."""
        if factor == 0:
            return ZERO
        low, high = self.lower * factor, self.upper * factor
        return Interval(low, high) if factor > 0 else Interval(high, low)

    def __floordiv__(self, other: Interval) -> Interval:
        """Divide every pair, rounding down; division by a range with zero tells nothing."""
        if other.lower <= 0 <= other.upper:
            return EVERYTHING
        corners = [floor_divide(a, b) for a in self for b in other]
        return Interval(min(corners), max(corners))

    def __mod__(self, other: Interval) -> Interval:
        """Take every remainder, with the sign of the divisor (Python's rule)."""
        if other.lower > 0:
            if self.lower >= 0 and self.upper < other.lower:
                return self
            top = other.upper - 1
            return Interval(0, min(self.upper, top) if self.lower >= 0 else top)
        if other.upper < 0:
            return Interval(other.lower + 1, 0)
        return EVERYTHING


EVERYTHING = Interval(-inf, inf)
ZERO = Interval(0, 0)


def multiply(a: Bound, b: Bound) -> Bound:
    """Multiply two ends; zero times an infinity is zero, since the infinity stands for finite values."""
    return 0 if a == 0 or b == 0 else a * b


def floor_divide(a: Bound, b: Bound) -> Bound:
    """Divide two ends, rounding down; `b` isn't zero."""
    if b in (inf, -inf):
        if a in (inf, -inf):
            return inf if (a > 0) == (b > 0) else -inf
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    if a in (inf, -inf):
        return a if b > 0 else -a
    return a // b
