"""`Target`: what a compilation aims at. Passes read it and ask the machine nothing themselves.

So that a kernel for a 132-multiprocessor GPU, or for a CPU with wider vectors than this one, can be
generated and tested on any machine.

>>> AVX2.vector_bytes, H100.sm_count
(32, 132)
"""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

Isa: TypeAlias = Literal["generic", "avx2", "avx512", "neon"]

KIB: Final = 1024
MIB: Final = 1024 * KIB


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A CPU: its instruction set and the sizes that the compiler's models read."""

    isa: Isa
    vector_bytes: int
    threads: int
    l1_bytes: int = 32 * KIB
    l2_bytes: int = 1 * MIB
    l3_bytes: int = 16 * MIB

    @property
    def device(self) -> str:
        """The type of the devices that the code runs on."""
        return "cpu"


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A CUDA GPU: its architecture and the sizes that the compiler's models read."""

    capability: int
    sm_count: int
    warp_size: int = 32
    threads_per_sm: int = 2048
    shared_bytes: int = 227 * KIB
    l2_bytes: int = 50 * MIB

    @property
    def device(self) -> str:
        """The type of the devices that the code runs on."""
        return "cuda"


Target: TypeAlias = CpuTarget | GpuTarget

GENERIC: Final = CpuTarget("generic", vector_bytes=16, threads=1)
AVX2: Final = CpuTarget("avx2", vector_bytes=32, threads=2)
AVX512: Final = CpuTarget("avx512", vector_bytes=64, threads=4)
H100: Final = GpuTarget(capability=90, sm_count=132)


def host_target(threads: int) -> CpuTarget:
    """Return the target that this machine is, with the number of threads that kernels may use."""
    return replace(_host(), threads=threads)


@functools.cache
def _host() -> CpuTarget:
    flags = _cpu_flags()
    machine = platform.machine().lower()
    caches = {level: _cache_bytes(level) for level in (1, 2, 3)}
    defaults = CpuTarget("generic", vector_bytes=16, threads=1)
    base = replace(
        defaults,
        l1_bytes=caches[1] or defaults.l1_bytes,
        l2_bytes=caches[2] or defaults.l2_bytes,
        l3_bytes=caches[3] or defaults.l3_bytes,
    )
    if flags >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
        return replace(base, isa="avx512", vector_bytes=64)
    if flags >= {"avx2", "fma", "f16c"}:
        return replace(base, isa="avx2", vector_bytes=32)
    if machine in {"aarch64", "arm64"}:
        return replace(base, isa="neon")
    return base


def _cpu_flags() -> frozenset[str]:
    """Return the feature flags that Linux reports for the first processor, or none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in {"flags", "Features"}:
            return frozenset(value.split())
    return frozenset()


def _cache_bytes(level: int) -> int:
    """Return the size of the first processor's data cache of a level, or 0 where nobody says."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            facts = [
                (index / name).read_text("ascii").strip() for name in ("level", "type", "size")
            ]
        except OSError:
            continue
        if facts[0] == str(level) and facts[1] != "Instruction":
            units = {"K": KIB, "M": MIB}
            return int(facts[2].rstrip("KM")) * units.get(facts[2][-1], 1)
    return 0
