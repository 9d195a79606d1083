"""The other names of operators: one declaration, the same function under each name.

`tensorplay.arcsin` is `tensorplay.asin`, `Tensor.clip_` is `Tensor.clamp_`; graphs show the operator's own name.

>>> import tensorplay as tp
>>> tp.arcsin is tp.asin, tp.ops.tp.arcsin
(True, tensorplay.ops.tp.asin)
"""

from __future__ import annotations

from typing import Final

from tensorplay.ops.registry import tp

ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "abs": ("absolute",),
    "acos": ("arccos",),
    "acosh": ("arccosh",),
    "asin": ("arcsin",),
    "asinh": ("arcsinh",),
    "atan": ("arctan",),
    "atan2": ("arctan2",),
    "atanh": ("arctanh",),
    "cat": ("concat", "concatenate"),
    "clamp": ("clip",),
    "div": ("divide", "true_divide"),
    "ge": ("greater_equal",),
    "gt": ("greater",),
    "le": ("less_equal",),
    "lt": ("less",),
    "movedim": ("moveaxis",),
    "mul": ("multiply",),
    "ne": ("not_equal",),
    "neg": ("negative",),
    "sub": ("subtract",),
    "transpose": ("swapdims",),
    "trapezoid": ("trapz",),
    "trunc": ("fix",),
    "vstack": ("row_stack",),
}
"""Operators, and their other names."""


def declare_aliases() -> None:
    """Give the operators of a loaded library their other names."""
    for name, others in ALIASES.items():
        tp.also_called(name, *others)
