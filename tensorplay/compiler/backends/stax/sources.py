"""`Sources`: the text of every kernel of a plan and of the wrapper module around them, the last phase before it runs.

The code generators make one `KernelSource` a group, the wrapper's printer adds the module that holds and calls them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["cpp", "triton"]


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One kernel as text; ``name`` is the group's and the symbol's name."""

    name: str
    source: str
    language: Language

    def text(self) -> str:
        """Return the source."""
        return self.source


@dataclass(frozen=True, slots=True)
class Sources:
    """All kernels of a plan and the wrapper module."""

    kernels: tuple[KernelSource, ...]
    wrapper: str

    def text(self) -> str:
        """Return the wrapper module, which has the kernels in it."""
        return self.wrapper
