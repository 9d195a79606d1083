"""Which calls draw random numbers: such calls are neither dropped nor reordered."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Final

from tensorplay.dispatch import Target
from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.registry import Operator, tp

_INPLACE_RANDOM: Final = frozenset({"normal_", "uniform_", "bernoulli_", "random_"})


def draws_random_numbers(target: Target) -> bool:
    """Whether a public call may draw random numbers; what isn't an operator may."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    if name in _INPLACE_RANDOM:
        return True
    if name in tp:
        return _operator_draws(name)
    if not isinstance(target, str):
        return getattr(target, "__module__", "") not in {"_operator", "tensorplay"}
    return False


@functools.cache
def _operator_draws(name: str) -> bool:
    """Whether an operator has that effect, or is made of operators of which one has."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        if current in seen or current not in tp:
            continue
        seen.add(current)
        operator: Operator = tp[current]
        if operator.effect:
            return True
        if isinstance(operator.kind, Composite) and isinstance(operator.function, FunctionType):
            pending.extend(operator.function.__code__.co_names)
    return False
