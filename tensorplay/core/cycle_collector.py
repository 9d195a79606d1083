"""The cycle collector, where it only costs: a million objects that all stay alive are looked at again and again.

>>> import gc
>>> with without_collections():
...     gc.isenabled()
False
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Let the cycle collector rest in a block, or in a function."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
