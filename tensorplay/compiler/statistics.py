"""Counts of what the compiler did in this process: `tp.compiler.stats()`."""

from __future__ import annotations

import sys
import threading
from typing import Final, NamedTuple


class Stats(NamedTuple):
    """What the compiler did since the start, or since `reset`."""

    captures: int = 0
    """Functions run on recording tensors."""
    recompilations: int = 0
    """Captures of a function that had been captured before."""
    gate_checks: int = 0
    """Evaluations of a data gate's condition at a call."""
    backwards_compiled: int = 0
    """Backward graphs compiled, each at its first use."""
    fallbacks: int = 0
    """Graphs that are interpreted because their backend failed."""
    kernels_built: int = 0
    """Kernels that a compiler was started for."""
    cache_hits: int = 0
    """Kernels taken from the cache."""
    build_seconds: float = 0.0
    """Time in compilers, summed over those that ran at once."""

    def __str__(self) -> str:
        """Return the counts that aren't zero."""
        shown = self._asdict().items()
        texts = [
            f"{name.replace('_', ' ')} {value:.3g}"
            if isinstance(value, float)
            else f"{name.replace('_', ' ')} {value}"
            for name, value in shown
            if value
        ]
        return ", ".join(texts) or "nothing yet"


_lock: Final = threading.Lock()
_counts: Final[dict[str, int]] = {}
_CODECACHE: Final = "tensorplay.compiler.backends.stax.codecache"


def count(name: str, amount: int = 1) -> None:
    """Add to one of the counts of `Stats`, from any thread."""
    with _lock:
        _counts[name] = _counts.get(name, 0) + amount


def reset_counts() -> None:
    """Start counting anew."""
    with _lock:
        _counts.clear()
        _base.update(_cache_counts())


def stats() -> Stats:
    """Return the counts so far."""
    with _lock:
        counted = Stats(**_counts)
    now = _cache_counts()
    since = {name: value - _base.get(name, 0) for name, value in now.items()}
    return counted._replace(**since)  # type: ignore[arg-type]  # names of fields


_base: Final[dict[str, float]] = {}


def _cache_counts() -> dict[str, float]:
    """Return what the kernel cache counted; it isn't loaded before a kernel is wanted."""
    module = sys.modules.get(_CODECACHE)
    if module is None:
        return {}
    counters = module.counters
    return {
        name: getattr(counters, name) for name in ("kernels_built", "cache_hits", "build_seconds")
    }
