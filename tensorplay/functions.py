"""The public functions: one for each operator in the registry, and the few that are not operators.

`tensorplay.relu`, `tensorplay.nn.functional.relu` and `Tensor.relu` come from one declaration.
Types are in functions.pyi.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorplay import publishing
from tensorplay.publishing import PUBLIC

publishing.publish_all()
globals().update(publishing.PLAIN)


def __getattr__(name: str) -> Callable[..., Any]:
    """Generate a function at its first use."""
    if name in PUBLIC:
        function = globals()[name] = publishing.function_named(name)
        return function
    msg = f"there is no function {name!r}; dir(tensorplay.functions) lists all"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """The names of all public functions."""
    return sorted(PUBLIC)
