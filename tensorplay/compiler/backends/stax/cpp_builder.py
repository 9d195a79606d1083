"""Which C++ compiler builds kernels, and with which command.

In: the environment and an instruction set. Out: a `Compiler`, the words of its command, and `build`, which runs it.
The order of the search is ``$CXX``, ``g++``, ``clang++``, then the ``ziglang`` wheel.

    >>> gcc = Compiler(("/usr/bin/g++",), "gcc", "")
    >>> " ".join(gcc.compile_command("avx2", "k.cpp", "k.so")[-10:])
    '-mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt -o k.so k.cpp'

Kernels include only our own headers and call nothing but what a running Python has loaded anyway, so that they are
linked against no library: that halves the time of a build (30 against 55 ms here) and spares `dlopen` its searches.
Measured choices: with g++, `-O2` with the vectorizer and the loop peeling of `-O3` gives kernels as fast as `-O3` (0.996 of its
time over 48 kernels) and builds large ones in a third of its time; `-pipe` gains nothing.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tensorplay.core.errors import CompileError, CompilerNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorplay.compiler.target import Isa

Family: TypeAlias = Literal["gcc", "clang", "zig"]

INCLUDE: Final = Path(__file__).parents[3] / "include"
"""The folder of our headers, all that a kernel may include besides the compiler's own <stdint.h> and <stddef.h>."""

COMMON_FLAGS: Final = (
    *("-std=c++17", "-fPIC", "-shared"),
    # No change of any value.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    *("-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-fno-strict-aliasing", "-w"),
)
FAMILY_FLAGS: Final[Mapping[Family, tuple[str, ...]]] = {
    "gcc": (
        *("-O2", "-fvect-cost-model=dynamic", "-fpeel-loops"),
        *("-nostdlib", "-fno-semantic-interposition"),
    ),
    "clang": ("-O3", "-nostdlib"),
    # Zig traps on undefined behaviour by default, takes this machine's instructions unless told otherwise, and
    # builds its own libc++ (minutes).
    "zig": ("-O3", "-nostdlib", "-nostdlib++", "-fno-sanitize=all", "-mcpu=baseline"),
}
ISA_FLAGS: Final[Mapping[Isa, tuple[str, ...]]] = {
    "generic": (),
    "neon": (),
    "avx2": ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"),
    "avx512": (
        *("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"),
        *("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512cd"),
        "-mprefer-vector-width=512",
    ),
}
# What else in the environment decides which files a compiler reads.
SEARCH_VARIABLES: Final = ("CPATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler: the words that start it, what family of flags it takes, and what tells it from others."""

    command: tuple[str, ...]
    family: Family
    identity: str

    def compile_command(
        self, isa: Isa, source: str, output: str, include: str = "INCLUDE"
    ) -> tuple[str, ...]:
        """Return the words that build the library ``output`` from ``source``."""
        flags = (*COMMON_FLAGS, *FAMILY_FLAGS[self.family], "-I", include, *ISA_FLAGS[isa])
        return (*self.command, *flags, "-o", output, source)

    def build(self, isa: Isa, source: Path, output: Path) -> None:
        """Run the compiler, without the interpreter lock.

        Raises `CompileError` with the command, what the compiler said, and where the source is.
        """
        import subprocess

        command = self.compile_command(isa, str(source), str(output), str(INCLUDE))
        environment = {**os.environ, "LC_ALL": "C"}
        if self.family == "zig":
            for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
                environment.setdefault(name, str(output.parents[2] / "zig"))
        try:
            done = subprocess.run(  # noqa: S603  # the command is ours, the compiler the user's choice
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            status, said = done.returncode, done.stdout.decode(errors="replace")
        except OSError as error:
            status, said = 127, str(error)
        if status != 0 or not output.exists():
            raise CompileError(failure_text(command, status, said, source))


def failure_text(command: tuple[str, ...], status: int, said: str, source: Path) -> str:
    """Return what a person needs to know of a compiler that failed."""
    how = f"exit status {status}" if status >= 0 else f"signal {-status}"
    return (
        f"the C++ compiler failed ({how}) on a kernel.\n"
        f"command: {' '.join(command)}\n"
        f"source: {source}\n"
        f"output:\n{said.strip() or '(nothing)'}\n"
        "Set CXX to another compiler, or run the command by hand to look at it."
    )


def find_compiler() -> Compiler:
    """Return the compiler to use; `CompilerNotFoundError` says what to install where there is none."""
    environment = os.environ
    search = tuple((name, environment[name]) for name in SEARCH_VARIABLES if name in environment)
    return resolve(environment.get("CXX", "").strip(), environment.get("PATH", os.defpath), search)


@lru_cache(maxsize=16)
def resolve(chosen: str, path: str, search: tuple[tuple[str, str], ...]) -> Compiler:
    """Return the compiler of one environment: ``$CXX``, ``$PATH``, and the variables that move its files."""
    words: list[str] | None
    if chosen:
        words = split_words(chosen)
        program = which(words[0], path)
        if program is None:
            raise CompilerNotFoundError(
                f"CXX is {chosen!r}, and {words[0]!r} is no program on PATH. Set CXX to a C++17 compiler, or unset it."
            )
        return describe((program, *words[1:]), family_of(words), search)
    for name in ("g++", "clang++"):
        program = which(name, path)
        if program is not None:
            return describe((program,), family_of([name]), search)
    zig = find_zig()
    if zig is not None:
        return describe((zig, "c++"), "zig", search)
    raise CompilerNotFoundError(
        "compiling needs a C++17 compiler, and none was found: CXX is not set, and neither g++ nor clang++ is on PATH. "
        "Install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install), "
        "or, without system packages: pip install 'tensorplay[zig]'."
    )


def split_words(text: str) -> list[str]:
    """Split ``$CXX`` as a shell does, unless the whole is a path that exists."""
    if Path(text).exists():  # a path with spaces
        return [text]
    import shlex

    return shlex.split(text)


def which(name: str, path: str) -> str | None:
    """Return the executable that a shell would start; `shutil.which` costs an import on every warm start."""
    folders = [""] if os.sep in name else path.split(os.pathsep)
    for folder in folders:
        candidate = Path(folder, name)
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate.absolute())
    return None


def family_of(words: list[str]) -> Family:
    """Tell from the words of a command which flags it takes."""
    names = [Path(word).name for word in words]
    if any(name.startswith(("zig", "ziglang")) for name in names):
        return "zig"
    return "clang" if any("clang" in name for name in names) or sys.platform == "darwin" else "gcc"


def find_zig() -> str | None:
    """Return the program inside the ``ziglang`` wheel."""
    from importlib.util import find_spec

    try:
        spec = find_spec("ziglang")
    except ValueError:  # the module is there and has no spec: it was put aside
        return None
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).with_name("zig")
    return str(program) if os.access(program, os.X_OK) else None


def describe(
    command: tuple[str, ...], family: Family, search: tuple[tuple[str, str], ...]
) -> Compiler:
    """Identify a compiler by the files that its command names (also behind ``ccache``) and its search paths.

    Path, size and time of change stand for the version: a new version is a new file, and asking the program costs
    3 to 50 ms in every process.
    """
    facts: list[str] = []
    for word in command:
        program = which(word, os.environ.get("PATH", os.defpath))
        if program is not None:
            real = Path(program).resolve()
            status = real.stat()
            facts.append(f"{real} {status.st_size} {status.st_mtime_ns}")
    facts += (f"{name}={value}" for name, value in search)
    return Compiler(command, family, "\n".join(facts))


def headers_digest() -> str:
    """Return a digest of the names and contents of all our headers; cached until one of them changes."""
    entries = sorted(
        (entry.name, entry.stat().st_size, entry.stat().st_mtime_ns, entry.stat().st_ctime_ns)
        for entry in os.scandir(INCLUDE)
        if entry.is_file()
    )
    return contents_digest(tuple(entries))


@lru_cache(maxsize=8)
def contents_digest(entries: tuple[tuple[str, int, int, int], ...]) -> str:
    """Return the digest of the headers, whose sizes and times only tell the cache when to look again."""
    digest = sha256()
    for name, *_ in entries:
        content = (INCLUDE / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
