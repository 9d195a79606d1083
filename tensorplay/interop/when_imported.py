"""Run something once another library is imported, and not before: `call_when_imported`.

A library that is already there is met at once. For the others a finder stands in front of
`sys.meta_path`; it answers only for the names it waits for, lets the ordinary finders find the module,
and runs the waiting function after the module's own code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_waiting: dict[str, Callable[[], object]] = {}


def call_when_imported(name: str, function: Callable[[], object]) -> None:
    """Call `function()` now if the module `name` is imported, else right after it will be."""
    if name in sys.modules:
        function()
        return
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _waiting[name] = function


class _Finder(MetaPathFinder):
    """Finds the modules that somebody waits for, by asking the other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, with a loader that tells who waits."""
        del path, target
        function = _waiting.pop(fullname, None)  # so that the search below does not come here again
        if function is None:
            return None
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            _waiting[fullname] = function
            return None
        spec.loader = _Loader(spec.loader, function)
        return spec


class _Loader(Loader):
    """Loads as another loader does, then calls a function."""

    def __init__(self, loader: Loader, function: Callable[[], object]) -> None:
        self.loader = loader
        self.function = function

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the other loader."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the other loader, which is the module's from then on; then the call."""
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.function()


__all__ = ["call_when_imported"]
