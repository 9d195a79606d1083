"""Modes and options of `tp.compile` (Table 11.1).

A mode is a preset; `options` then override it one by one, so that
`mode="max-autotune", options={"stax.cudagraphs": False}` is `mode="max-autotune-no-cudagraphs"`.

>>> resolve_options("max-autotune", {"stax.cudagraphs": False}) == resolve_options(
...     "max-autotune-no-cudagraphs", None)
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from tensorplay.core.errors import ArgumentError, ArgumentValueError

OptionValue: TypeAlias = bool | int | float | str


class Options(NamedTuple):
    """What a compilation may choose. Backends read it."""

    memory_budget: float = 1.0
    """Memory that lives from forward to backward, as a fraction of what the minimum cut saves."""
    cudagraphs: bool = False
    """Record the launches of a call and replay them with one (GPU)."""
    max_autotune: bool = False
    """Measure more launch configurations (GPU)."""
    coordinate_descent: bool = False
    """Search on from the best configuration measured (GPU)."""


OPTION_NAMES: Final[Mapping[str, str]] = {
    "memory_budget": "memory_budget",
    "stax.cudagraphs": "cudagraphs",
    "stax.max_autotune": "max_autotune",
    "stax.coordinate_descent_tuning": "coordinate_descent",
}
"""The attribute of `Options` for each name that `options` may hold."""

_TUNING: Final = {"stax.max_autotune": True, "stax.coordinate_descent_tuning": True}
MODES: Final[Mapping[str, Mapping[str, OptionValue]]] = {
    "default": {},
    "reduce-overhead": {"stax.cudagraphs": True},
    "max-autotune-no-cudagraphs": _TUNING,
    "max-autotune": {**_TUNING, "stax.cudagraphs": True},
}


def resolve_options(mode: str | None, options: Mapping[str, object] | None) -> Options:
    """Return the options of a mode with single ones overridden. Unknown names are refused."""
    preset = MODES.get("default" if mode is None else mode)
    if preset is None:
        known = ", ".join(map(repr, MODES))
        raise ArgumentValueError(f"compile: there is no mode {mode!r}; the modes are {known}")
    values: dict[str, object] = {}
    for name, value in {**preset, **(options or {})}.items():
        attribute = OPTION_NAMES.get(name)
        if attribute is None:
            raise ArgumentValueError(_unknown_option(name))
        wanted = type(_DEFAULTS[attribute])
        if type(value) not in ({bool} if wanted is bool else {int, float}):
            raise ArgumentError(
                f"compile: option {name!r} takes a {wanted.__name__}, not {value!r}"
            )
        values[attribute] = value
    resolved = Options(**values)  # type: ignore[arg-type]  # checked above against the defaults
    if not 0 <= resolved.memory_budget <= 1:
        raise ArgumentValueError(
            f"compile: option 'memory_budget' is a fraction from 0 to 1, not {resolved.memory_budget}"
        )
    return resolved


def _unknown_option(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, OPTION_NAMES, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    known = ", ".join(map(repr, OPTION_NAMES))
    return f"compile: there is no option {name!r}{hint} The options are {known}"


_DEFAULTS: Final[Mapping[str, object]] = Options()._asdict()
