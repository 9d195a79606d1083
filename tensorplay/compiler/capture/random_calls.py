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
    """Whether an operator has that effect, or calls one that has, directly or through functions."""
    seen: set[object] = set()
    pending: list[object] = [tp[name]]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Operator):
            if value.effect:
                return True
            if isinstance(value.kind, Composite):
                pending.append(value.function)
        elif isinstance(value, FunctionType):
            for called in value.__code__.co_names:
                found = value.__globals__.get(called)
                if isinstance(found, (Operator, FunctionType)):
                    pending.append(found)
    return False
