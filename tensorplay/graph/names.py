"""Names of nodes: unique, valid Python identifiers, made in constant time each.

A taken or reserved name gets a number, counted from zero: the second `matmul` is `matmul_0`, and
`sum`, which is a Python builtin, is `sum_0` from the start.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from typing import Final

RESERVED: Final = frozenset(
    {*dir(builtins), *keyword.kwlist, "self", "math", "operator", "tensorplay"}
)
"""Names that generated Python reads with another meaning."""

_NOT_IN_IDENTIFIER: Final = re.compile(r"\W")
_NUMBER_AT_END: Final = re.compile(r"(.*)_\d+$")


@functools.lru_cache(maxsize=4096)
def to_identifier(text: str) -> str:
    """Return `text` with everything that an identifier can't hold turned into underscores."""
    name = _NOT_IN_IDENTIFIER.sub("_", text)
    return name if name and not name[0].isdigit() else f"_{name}"


class Namespace:
    """The names taken in one graph."""

    __slots__ = ("_counts", "_taken")

    def __init__(self) -> None:
        """Make a namespace in which nothing but the reserved names is taken."""
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def create(self, wish: str) -> str:
        """Take and return `wish` if it is free, else the next free numbered name made from it."""
        name = to_identifier(wish)
        taken = self._taken
        if name not in taken and name not in RESERVED:
            taken.add(name)
            return name
        match = _NUMBER_AT_END.match(name)
        base = match.group(1) if match else name
        count = self._counts.get(base, 0)
        while (name := f"{base}_{count}") in taken:
            count += 1
        self._counts[base] = count + 1
        taken.add(name)
        return name

    def release(self, name: str) -> None:
        """Give a name back, when its node is erased."""
        self._taken.discard(name)
