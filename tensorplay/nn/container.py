"""Modules that hold modules or parameters: `Sequential`, lists and dictionaries."""

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

    def pop(self, index: int = -1) -> Module:
        """Take the module at ``index`` out; later names move down."""
        module = self[index]
        del self[index]
        return module

    def __add__(self, other: Iterable[Module]) -> Self:
        part = self[:]
        part.extend(other)
        return part

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)

    def __dir__(self) -> list[str]:
        """Leave the numbers out."""
        return [name for name in super().__dir__() if not name.isdigit()]

    def _items(self) -> list[Module]:
        return [module for module in self._modules.values() if module is not None]


class Sequential(_ModuleSequence):
    """Call modules one after another, each on the result of the one before.

    Takes modules, or one dictionary from names to modules. ``a + b`` is one after the other, ``a * 3``
    the same modules three times.

    >>> import tensorplay as tp
    >>> len(tp.nn.Sequential(tp.nn.ReLU()) * 3)
    3
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        for module in modules:
            if isinstance(module, Module):
                self.append(module)
            else:
                for name, named in module.items():
                    self.register_module(name, named)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*(module for _ in range(times) for module in self))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        items = self._items()
        return self.extend(module for _ in range(times - 1) for module in items)

    def forward(self, input: Tensor) -> Tensor:
        """Pass ``input`` through all modules."""
        for module in self._modules.values():
            if module is not None:
                input = module(input)
        return input


class ModuleList(_ModuleSequence):
    """A list whose modules are registered; it has no ``forward`` of its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __repr__(self) -> str:
        """Equal neighbours are shown once, with their number."""
        runs: list[tuple[int, int, str]] = []
        for place, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], place, text)
            else:
                runs.append((place, place, text))
        if not runs:
            return f"{type(self).__name__}()"
        lines = [f"{type(self).__name__}("]
        for first, last, text in runs:
            names = f"({first})" if first == last else f"({first}-{last})"
            count = "" if first == last else f"{last - first + 1} x "
            lines.append(f"  {names}: {count}" + text.replace("\n", "\n  "))
        return "\n".join([*lines, ")"])


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

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace modules."""
        for name, module in dict(modules).items():
            self[name] = module

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, name: str) -> Module:
        """Take a module out."""
        module = self[name]
        del self[name]
        return module


class ParameterList(Module):
    """A list whose parameters are registered; tensors become parameters.

    >>> import tensorplay as tp
    >>> tp.nn.ParameterList([tp.zeros(2, 3)])
    ParameterList(  (0): Parameter containing: [float32 of size 2x3])
    """

    def __init__(self, values: Iterable[Tensor] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._items())

    @overload
    def __getitem__(self, index: int) -> Parameter: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Parameter | ParameterList:
        found = self._items()[index]
        return found if isinstance(found, Parameter) else type(self)(found)

    def __setitem__(self, index: int, value: Tensor) -> None:
        self.register_parameter(str(range(len(self))[index]), _as_parameter(value))

    def __iadd__(self, values: Iterable[Tensor]) -> Self:
        return self.extend(values)

    def append(self, value: Tensor) -> Self:
        """Add a parameter at the end."""
        self.register_parameter(str(len(self)), _as_parameter(value))
        return self

    def extend(self, values: Iterable[Tensor]) -> Self:
        """Add parameters at the end."""
        for value in values:
            self.append(value)
        return self

    def pop(self, index: int = -1) -> Parameter:
        """Take the parameter at ``index`` out; later names move down."""
        items = self._items()
        taken = items.pop(index)
        self._parameters.clear()
        self.extend(items)
        return taken

    def extra_repr(self) -> str:
        """Show dtype and size of each parameter."""
        return _described(self._parameters)

    def _items(self) -> list[Parameter]:
        return [each for each in self._parameters.values() if each is not None]


class ParameterDict(Module):
    """A dictionary whose parameters are registered; tensors become parameters.

    >>> import tensorplay as tp
    >>> weights = tp.nn.ParameterDict({"left": tp.zeros(2)})
    >>> weights["right"] = tp.ones(3)
    >>> [name for name, _ in weights.named_parameters()]
    ['left', 'right']
    """

    def __init__(
        self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None
    ) -> None:
        super().__init__()
        self.update(parameters or {})

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def __getitem__(self, name: str) -> Parameter:
        parameter = self._parameters[name]
        if parameter is None:
            raise KeyError(name)
        return parameter

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.register_parameter(name, _as_parameter(value))

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __or__(self, other: Mapping[str, Tensor] | ParameterDict) -> Self:
        both = type(self)(self.items())
        both.update(other)
        return both

    def __ior__(self, other: Mapping[str, Tensor] | ParameterDict) -> Self:
        self.update(other)
        return self

    def keys(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._parameters)

    def values(self) -> Iterator[Parameter]:
        """Yield the parameters."""
        return (parameter for _, parameter in self.items())

    def items(self) -> Iterator[tuple[str, Parameter]]:
        """Yield names and parameters."""
        return ((name, each) for name, each in self._parameters.items() if each is not None)

    def get(self, name: str, default: Parameter | None = None) -> Parameter | None:
        """Return a parameter, or ``default``."""
        found = self._parameters.get(name)
        return default if found is None else found

    def setdefault(self, name: str, default: Tensor) -> Parameter:
        """Return a parameter, which is ``default`` if there was none."""
        if name not in self:
            self[name] = default
        return self[name]

    def update(
        self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | ParameterDict
    ) -> None:
        """Add or replace parameters."""
        pairs = parameters.items() if isinstance(parameters, ParameterDict) else parameters
        for name, value in dict(pairs).items():
            self[name] = value

    def clear(self) -> None:
        """Take all parameters out."""
        self._parameters.clear()

    def pop(self, name: str) -> Parameter:
        """Take a parameter out."""
        parameter = self[name]
        del self[name]
        return parameter

    def popitem(self) -> tuple[str, Parameter]:
        """Take the last parameter out."""
        name = next(reversed(self))
        return name, self.pop(name)

    def copy(self) -> Self:
        """Return a dictionary of the same parameters."""
        return type(self)(self.items())

    def extra_repr(self) -> str:
        """Show dtype and size of each parameter."""
        return _described(self._parameters)


def _as_parameter(value: Tensor) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)


def _described(parameters: Mapping[str, Parameter | None]) -> str:
    lines = []
    for name, each in parameters.items():
        if each is not None:
            size = "x".join(map(str, each.shape))
            lines.append(f"  ({name}): Parameter containing: [{each.dtype.name} of size {size}]")
    return "\n".join(lines)
