"""The compiler. Importing this package loads none of its stages.

Its packages are the layers of docs/architecture.md, from the top down: `api` and `explain`,
`specialize`, `capture`, `transforms`, `aot`, `backends`; `driver` is the straight line through them,
`phases` holds the types that they hand on, and `target` what they aim at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.compiler.statistics import Stats, stats

if TYPE_CHECKING:
    from tensorplay.compiler.covered import Coverage


def reset() -> None:
    """Forget every specialization of every compiled function, and start counting anew."""
    from tensorplay.compiler.api import reset as reset_all

    reset_all()


def coverage() -> Coverage:
    """Return what lowers to native code and what has derivatives, for every operator; it has `.text()`."""
    from tensorplay.compiler.covered import coverage as covered

    return covered()


__all__ = ["Stats", "coverage", "reset", "stats"]
