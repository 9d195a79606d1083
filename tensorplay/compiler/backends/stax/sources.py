"""`Sources`: the text of every kernel of a plan and of the wrapper module around them, the last phase before it runs.

The code generators print groups, `share_kernels` keeps each text once, the wrapper's printer adds the module that holds
and calls them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tensorplay.core.readable import Readable

if TYPE_CHECKING:
    from collections.abc import Mapping

Language: TypeAlias = Literal["cpp", "triton"]


@dataclass(frozen=True, slots=True)
class KernelSource(Readable):
    """One kernel as text; ``name`` is the symbol's name, and that of the first group that it computes."""

    name: str
    source: str
    language: Language

    def text(self) -> str:
        """Return the source."""
        return self.source


@dataclass(frozen=True, slots=True)
class Launch:
    """A group as a call of a kernel: for each pointer that it takes, a buffer and the element there that it points to."""

    kernel: str
    pointers: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Sources(Readable):
    """All kernels of a plan, the launch of each of its groups by name, and the wrapper module."""

    kernels: tuple[KernelSource, ...]
    launches: Mapping[str, Launch]
    wrapper: str

    def text(self) -> str:
        """Return the wrapper module, which has the kernels in it."""
        return self.wrapper
