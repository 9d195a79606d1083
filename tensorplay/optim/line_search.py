"""A line search whose step satisfies the strong Wolfe conditions.

In: a function of the step length, the loss and its slope at 0. Out: the loss and gradient at a length t where
``f(t) ≤ f(0) + c₁·t·f'(0)`` and ``|f'(t)| ≤ −c₂·f'(0)``, or the best length that was found. First lengths grow until they
enclose such a point, then the interval shrinks, each time to the minimum of the cubic through both ends (Nocedal and
Wright, "Numerical optimization", 2nd ed., Algorithms 3.5, 3.6 and equation 3.59, with the safeguards of Schmidt's minFunc).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorplay.tensor import Tensor

ENOUGH_DECREASE = 1e-4
ENOUGH_FLATNESS = 0.9
MOST_EVALUATIONS = 25


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The loss and the gradient of all parameters at one place."""

    loss: float
    gradient: Tensor


@dataclass(frozen=True, slots=True)
class Point:
    """One length on the line, with what was found there."""

    t: float
    found: Evaluation
    slope: float

    @property
    def loss(self) -> float:
        """The loss there."""
        return self.found.loss


def strong_wolfe(
    at: Callable[[float], Evaluation],
    t: float,
    direction: Tensor,
    start: Evaluation,
    slope: float,
    tolerance_change: float,
) -> tuple[Evaluation, float, int]:
    """Return what was found, the length, and the number of evaluations."""

    def evaluate(length: float) -> Point:
        found = at(length)
        return Point(length, found, (found.gradient @ direction).item())

    def too_high(point: Point, low: float) -> bool:
        limit = start.loss + ENOUGH_DECREASE * point.t * slope
        return point.loss > limit or point.loss >= low

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -ENOUGH_FLATNESS * slope

    origin = Point(0.0, start, slope)
    before, point = origin, evaluate(t)
    evaluations, rounds = 1, 0
    bracket = None
    while rounds < MOST_EVALUATIONS:
        if too_high(point, before.loss if rounds > 1 else math.inf):
            bracket = (before, point)
            break
        if is_flat(point):
            return point.found, point.t, evaluations
        if point.slope >= 0.0:
            bracket = (before, point)
            break
        bounds = (point.t + 0.01 * (point.t - before.t), point.t * 10.0)
        before, point = point, evaluate(minimum_of_cubic(before, point, bounds))
        evaluations += 1
        rounds += 1
    low, high = sorted(bracket or (origin, point), key=lambda each: each.loss)
    hesitated = False
    size = direction.abs().max().item()
    while rounds < MOST_EVALUATIONS and abs(high.t - low.t) * size >= tolerance_change:
        left, right = sorted((low.t, high.t))
        t = minimum_of_cubic(low, high, (left, right))
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if hesitated or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                hesitated = False
            else:
                hesitated = True
        else:
            hesitated = False
        point = evaluate(t)
        evaluations += 1
        rounds += 1
        if too_high(point, low.loss):
            low, high = sorted((low, point), key=lambda each: each.loss)
        else:
            if is_flat(point):
                low = point
                break
            if point.slope * (high.t - low.t) >= 0.0:
                high = low
            low = point
    return low.found, low.t, evaluations


def minimum_of_cubic(one: Point, other: Point, bounds: tuple[float, float]) -> float:
    """Return where the cubic with the values and slopes of two points is least, within bounds."""
    left, right = (one, other) if one.t <= other.t else (other, one)
    low, high = bounds
    if left.t == right.t:
        return (low + high) / 2.0
    d1 = left.slope + right.slope - 3.0 * (left.loss - right.loss) / (left.t - right.t)
    square = d1 * d1 - left.slope * right.slope
    if not square >= 0.0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    step = (right.slope + d2 - d1) / (right.slope - left.slope + 2.0 * d2)
    t = right.t - (right.t - left.t) * step
    return min(max(t, low), high)
