"""What stands beside models: memory for time (`checkpoint`)."""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Load a submodule at its first use."""
    if name == "checkpoint":
        return importlib.import_module("tensorplay.utils.checkpoint")
    msg = f"module 'tensorplay.utils' has no attribute {name!r}"
    raise AttributeError(msg)
