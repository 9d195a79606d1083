"""Parallel compilation: a wrapper module submits its kernels while it loads and waits for all of them at its end.

In: kernel sources, one call each. Out: the names of the module, bound to callable kernels.

    async_compile = AsyncCompile(isa="avx2")
    cpp_fused_add_0 = async_compile.cpp("cpp_fused_add_0", '''…''')
    async_compile.wait(globals())          # now cpp_fused_add_0 is a tensorplay._C.Kernel

A kernel that the store has costs its process no compiler. The others are dealt out to translation units of about
equal size, at least one a processor; a unit takes several kernels because half of a small kernel's compile time goes
into the start of the compiler and our headers. Threads wait for the compilers, without the interpreter lock, so any
free processor takes the next unit: at most twice the best possible time (Proposition 11.2).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tensorplay._C import Kernel
from tensorplay.compiler.backends.stax import codecache

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from pathlib import Path

    from tensorplay.compiler.target import Isa

UNIT_BYTES: Final = 16_000
"""About how much source a translation unit takes: measured, four units of this size a second and processor."""


@dataclass(slots=True, eq=False)
class Future:
    """A kernel that may still have to be compiled."""

    name: str
    source: str
    key: str
    library: Path | None

    def result(self) -> Kernel:
        """Return the kernel, loaded; the library must be there."""
        if self.library is None:
            raise RuntimeError(
                f"kernel {self.name} is not built yet: call async_compile.wait(globals())"
            )
        return Kernel(str(self.library), self.name)


class AsyncCompile:
    """The kernels of one wrapper module."""

    def __init__(self, isa: Isa) -> None:
        """Compile for an instruction set."""
        self.isa = isa
        self._futures: list[Future] = []

    def cpp(self, name: str, source: str) -> Future:
        """Submit the C++ source of a kernel whose symbol is ``name``."""
        key = codecache.library_key(source, self.isa)
        future = Future(name, source, key, codecache.find_library(key))
        self._futures.append(future)
        return future

    def wait(self, scope: MutableMapping[str, object]) -> None:
        """Build what is missing, then bind every future in ``scope`` to its kernel.

        Raises `CompileError` of the first unit that a compiler refuses, after all have ended.
        """
        missing = {f.key: f for f in self._futures if f.library is None}
        codecache.counters.count(cache_hits=sum(f.library is not None for f in self._futures))
        if missing:
            libraries = build_units(deal(list(missing.values()), processors()), self.isa)
            for future in self._futures:
                future.library = future.library or libraries[future.key]
        for name, value in list(scope.items()):
            if isinstance(value, Future):
                scope[name] = value.result()
        self._futures.clear()


def deal(futures: list[Future], workers: int) -> list[list[Future]]:
    """Deal kernels out to translation units, the longest first, each to the unit that is shortest by then."""
    total = sum(len(f.source) for f in futures)
    count = min(len(futures), max(workers, -(-total // UNIT_BYTES)))
    units: list[tuple[int, list[Future]]] = [(0, []) for _ in range(count)]
    for future in sorted(futures, key=lambda f: -len(f.source)):
        shortest = min(range(count), key=lambda k: units[k][0])
        size, unit = units[shortest]
        unit.append(future)
        units[shortest] = (size + len(future.source), unit)
    return [unit for _, unit in units]


def build_units(units: list[list[Future]], isa: Isa) -> dict[str, Path]:
    """Build every unit; return the library of every key."""

    def build(unit: list[Future]) -> list[tuple[str, Path]]:
        sources = {f.key: f.source for f in unit}
        return list(zip(sources, codecache.build_libraries(sources, isa), strict=True))

    if len(units) == 1:
        return dict(build(units[0]))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(units), processors())) as pool:
        return dict(pair for pairs in pool.map(build, units) for pair in pairs)


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
