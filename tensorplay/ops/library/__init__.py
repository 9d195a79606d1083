"""The library of operators, by family.

Every module here is loaded, in the order of the alphabet.
"""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Import every module of the library: their declarations join the registry."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        importlib.import_module(f"{__name__}.{module.name}")
