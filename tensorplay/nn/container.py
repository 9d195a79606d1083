"""Modules that hold modules: `Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, overload

from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tensorplay.tensor import Tensor


class _ModuleSequence(Module):
    """Modules with consecutive numbers as names."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module:
        items = self._items()
        if not isinstance(index, slice):
            return items[index]
        part = type(self)()
        part.extend(items[index])
        return part

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(str(range(len(self))[index]), module)

    def __delitem__(self, index: int | slice) -> None:
        items = self._items()
        del items[index]
        self._modules.clear()
        self.extend(items)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at ``index``; later names move up."""
        items = self._items()
        items.insert(index, module)
        self._modules.clear()
        self.extend(items)

    def _items(self) -> list[Module]:
        return [module for module in self._modules.values() if module is not None]


class Sequential(_ModuleSequence):
    """Call modules one after another, each on the result of the one before.

    Takes modules, or one dictionary from names to modules.
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        for module in modules:
            if isinstance(module, Module):
                self.append(module)
            else:
                for name, named in module.items():
                    self.register_module(name, named)

    def forward(self, x: Tensor) -> Tensor:
        """Pass ``x`` through all modules."""
        for module in self._modules.values():
            if module is not None:
                x = module(x)
        return x


class ModuleList(_ModuleSequence):
    """A list whose modules are registered; it has no ``forward`` of its own."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)


class ModuleDict(Module):
    """A dictionary whose modules are registered; it has no ``forward`` of its own."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __getitem__(self, name: str) -> Module:
        module = self._modules[name]
        if module is None:
            raise KeyError(name)
        return module

    def __setitem__(self, name: str, module: Module) -> None:
        self.register_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def keys(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._modules)

    def values(self) -> Iterator[Module]:
        """Yield the modules."""
        return (module for _, module in self.items())

    def items(self) -> Iterator[tuple[str, Module]]:
        """Yield names and modules."""
        return ((name, module) for name, module in self._modules.items() if module is not None)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add or replace modules."""
        for name, module in modules.items():
            self[name] = module

    def pop(self, name: str) -> Module:
        """Take a module out."""
        module = self[name]
        del self[name]
        return module


class ParameterList(Module):
    """A list whose parameters are registered."""

    def __init__(self, parameters: Iterable[Parameter] = ()) -> None:
        super().__init__()
        for parameter in parameters:
            self.append(parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return self.parameters(recurse=False)

    def __getitem__(self, index: int) -> Parameter:
        return self.get_parameter(str(range(len(self))[index]))

    def append(self, parameter: Parameter) -> Self:
        """Add a parameter at the end."""
        self.register_parameter(str(len(self)), parameter)
        return self
