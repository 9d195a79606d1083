"""Which calls draw random numbers: such calls are neither dropped nor reordered."""

from __future__ import annotations

import functools
from types import FunctionType

from tensorplay.dispatch import Target
from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.registry import Operator, tp


def draws_random_numbers(target: Target) -> bool:
    """Whether a public call may draw random numbers; what isn't an operator may."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    if name in tp:
        return _operator_draws(name)
    if name.endswith("_") and (writing := _written_by(name)) is not None:
        return _operator_draws(writing)
    if not isinstance(target, str):
        return getattr(target, "__module__", "") not in {"_operator", "tensorplay"}
    return False


@functools.cache
def _written_by(method: str) -> str | None:
    """The operator that computes what a method with an underscore writes."""
    return next(
        (each.name for each in tp if each.has_inplace and each.inplace_name == method), None
    )


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
            through_registry = value.__globals__.get("tp") is tp  # `tp.rand(…)` in a declaration
            for called in value.__code__.co_names:
                found = value.__globals__.get(called)
                if found is None and through_registry and called in tp:
                    found = tp[called]
                if isinstance(found, (Operator, FunctionType)):
                    pending.append(found)
    return False
