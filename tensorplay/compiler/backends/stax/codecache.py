"""The content-addressed store of compiled code: built once, by one compiler, for all processes that share a folder.

In: a source and everything else that decides the result. Out: the path of a library that is whole and right.
The key is SHA-256 over (source, complete compile command with its ISA flags, contents of our headers, identity of the
compiler), 255 bits of it as the file's name, so that nothing ever needs to be invalidated (Proposition 11.1).

    $TP_CACHE_DIR/kernels/3f/3fa94c….so     the library, with a seal at its end
    $TP_CACHE_DIR/kernels/3f/3fa94c….lock   held while it is built
    $TP_CACHE_DIR/kernels/3f/3fa94c….cpp    the source, only where the compiler refused it

[Note: seal] Every file of the store ends with a line that gives the size and SHA-256 of what precedes it; loaders of
libraries and Python ignore it. A file whose seal doesn't fit (cut short, written over, of another kind) counts as
absent and is built again. So a file needs no fsync, and a process killed at any moment leaves nothing that is read.

[Note: where the folder cannot be written] Reading goes on; what must be built goes into a private temporary folder
that the process removes when it ends. It says so once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import warnings
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from tensorplay.compiler.backends.stax import cpp_builder
from tensorplay.core.config import config
from tensorplay.core.errors import CacheError, CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tensorplay.compiler.target import Isa

MARK: Final = b"\n# tensorplay seal "
SEAL_BYTES: Final = len(MARK) + 16 + 1 + 64 + 1
FULL_BYTES: Final = 1 << 20  # where less is free, a compiler that fails is taken to lack space
# The answers of a system that will not let a folder be written, whatever is written.
UNWRITABLE: Final = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ENOENT,
        errno.EFBIG,
        errno.ENOLCK,
        errno.ENOSYS,
        errno.EOPNOTSUPP,
        errno.ELOOP,
        errno.ENAMETOOLONG,
    }
)


@dataclass(slots=True)
class Counters:
    """What this process took from the cache and what it built; read by ``tp.compiler.stats()``."""

    kernels_built: int = 0
    cache_hits: int = 0
    build_seconds: float = 0.0
    artifact_hits: int = 0
    artifact_misses: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, **amounts: float) -> None:
        """Add to counters, from any thread."""
        with self._lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)


counters: Final = Counters()


# ---- keys ------------------------------------------------------------------------------------------------------


def digest_of(*parts: str) -> str:
    """Return SHA-256 of texts, each with its length, so that no two lists of parts collide."""
    digest = sha256()
    for part in parts:
        content = part.encode()
        digest.update(b"%d\n" % len(content))
        digest.update(content)
    return digest.hexdigest()


def library_key(source: str, isa: Isa) -> str:
    """Return the key of the library that the compiler found now builds from ``source``."""
    compiler = cpp_builder.find_compiler()
    command = compiler.compile_command(isa, "SOURCE", "OUTPUT")
    return digest_of(source, "\0".join(command), cpp_builder.headers_digest(), compiler.identity)


# ---- sealed files ----------------------------------------------------------------------------------------------


def seal_of(content: bytes) -> bytes:
    """Return the line that closes a file. See [Note: seal]."""
    return MARK + b"%016x %s\n" % (len(content), sha256(content).hexdigest().encode())


def read_sealed(path: Path) -> bytes | None:
    """Return what a file holds before its seal, or None if it isn't there, isn't whole, or isn't ours."""
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    content, seal = whole[:-SEAL_BYTES], whole[-SEAL_BYTES:]
    return content if seal == seal_of(content) else None


_whole: Final[set[tuple[int, int, int, int]]] = set()


def is_sealed(path: Path) -> bool:
    """Say whether a file is there and whole; one that this process has read before is known by its inode."""
    try:
        status = path.stat()
    except OSError:
        return False
    known = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if known in _whole:
        return True
    if read_sealed(path) is None:
        return False
    _whole.add(known)
    return True


# ---- the store -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Store:
    """The files of one kind under one folder."""

    folder: Path
    kind: str
    suffix: str

    def path(self, key: str) -> Path:
        """Return where the entry of a key lies, whether it does or not."""
        return self.folder / self.kind / key[:2] / f"{key[:-1]}{self.suffix}"

    def add(self, keys: Sequence[str], make: Callable[[list[str], Path], None]) -> list[str]:
        """Let ``make`` write one file that becomes the entry of every key that has none; return those keys.

        Many may ask at once: one makes an entry, the others wait for it without the interpreter lock. ``OSError``
        tells that the folder cannot be used; what else ``make`` raises comes through.
        """
        from filelock import FileLock

        with contextlib.ExitStack() as held:
            for key in sorted(set(keys)):  # in one order for all, so that nobody waits in a circle
                path = self.path(key)
                path.parent.mkdir(parents=True, exist_ok=True)
                held.enter_context(FileLock(path.with_suffix(".lock"), poll_interval=0.005))
            missing = [key for key in dict.fromkeys(keys) if not is_sealed(self.path(key))]
            if missing:
                self._make(missing, make)
            return missing

    def _make(self, keys: list[str], make: Callable[[list[str], Path], None]) -> None:
        """Make the file of keys whose locks are held."""
        first = self.path(keys[0])
        for key in keys:  # whatever lies here half made was left by someone killed
            for stale in first.parent.glob(f"{self.path(key).stem}.*.tmp"):
                stale.unlink(missing_ok=True)
        draft = first.with_name(f"{first.stem}.{os.getpid()}-{threading.get_ident()}.tmp")
        link = draft.with_suffix(".link.tmp")
        try:
            make(keys, draft)
            content = draft.read_bytes()
            with draft.open("ab") as file:
                file.write(seal_of(content))
            for key in keys[1:]:
                try:
                    link.hardlink_to(draft)
                except OSError:  # a file system without links
                    link.write_bytes(draft.read_bytes())
                link.replace(self.path(key))
            draft.replace(first)
        finally:
            for path in (draft, link):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


class PrivateFolder:
    """The temporary folder that takes what the cache folder refuses; made at first use, removed at exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._owner = 0

    def path(self) -> Path:
        """Return the folder; a forked child gets its own."""
        import atexit
        import shutil

        with self._lock:
            if self._path is None or self._owner != os.getpid():
                self._path, self._owner = make_temporary_folder(), os.getpid()
                atexit.register(remove_own, self._path, self._owner, shutil.rmtree)
            return self._path

    def existing(self) -> Path | None:
        """Return the folder if this process has one."""
        return self._path if self._owner == os.getpid() else None


def make_temporary_folder() -> Path:
    """Make a folder that only this user can read, in the first of the usual places that can be written.

    `tempfile` would cost an import where a process may no longer be able to read the standard library.
    """
    named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    places = [*named, "/tmp", "/var/tmp", os.curdir]  # noqa: S108  # mode 0700, and it must be new
    problem: OSError | None = None
    for place in places:
        path = Path(place, f"tensorplay-{os.getpid()}-{os.urandom(8).hex()}").absolute()
        try:
            path.mkdir(mode=0o700)
        except OSError as error:
            problem = problem or error
        else:
            return path
    raise CacheError(
        f"no folder for compiled code: {config.cache_dir} cannot be written, and neither can any of "
        f"{', '.join(places)} ({problem}). Set TP_CACHE_DIR to a folder with free space."
    ) from problem


def remove_own(path: Path, owner: int, remove: Callable[..., object]) -> None:
    """Remove a private folder in the process that made it."""
    if os.getpid() == owner:
        remove(path, ignore_errors=True)


private: Final = PrivateFolder()
_warned: Final[set[Path]] = set()


def warn_once(folder: Path, error: OSError) -> None:
    """Say that the cache folder cannot be written, once for each folder."""
    if folder not in _warned:
        _warned.add(folder)
        warnings.warn(
            f"the cache folder {folder} cannot be used ({error}); compiled code goes into a temporary folder and is "
            "built again by every process. Set TP_CACHE_DIR to a folder that can be written.",
            RuntimeWarning,
            stacklevel=2,
        )


def find(kind: str, suffix: str, key: str) -> Path | None:
    """Return the path of an entry that is whole, in the cache folder or else in the private one."""
    for folder in (config.cache_dir, private.existing()):
        if folder is not None:
            path = Store(folder, kind, suffix).path(key)
            if is_sealed(path):
                return path
    return None


def add(
    kind: str, suffix: str, keys: Sequence[str], make: Callable[[list[str], Path], None]
) -> tuple[list[Path], list[str]]:
    """Make the entries that are missing, in the cache folder or where that cannot be written in the private one.

    Return the path of each key, and the keys that this call made.
    """
    folder = config.cache_dir
    if folder not in _warned:
        try:
            store = Store(folder, kind, suffix)
            made = store.add(keys, make)
            return [store.path(key) for key in keys], made
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            warn_once(folder, error)
    store = Store(private.path(), kind, suffix)
    try:
        made = store.add(keys, make)
    except OSError as error:
        raise CacheError(
            f"no folder for compiled code: {folder} cannot be written, and in {store.folder} this happened: {error}. "
            "Set TP_CACHE_DIR to a folder with free space."
        ) from error
    return [store.path(key) for key in keys], made


# ---- libraries -------------------------------------------------------------------------------------------------


def find_library(key: str) -> Path | None:
    """Return the library of a key if the store has it."""
    return find("kernels", ".so", key)


def build_libraries(sources: Mapping[str, str], isa: Isa) -> list[Path]:
    """Build the sources, given by key, as one translation unit, except those that have been built meanwhile.

    Return the library of each. A source that the compiler refuses stays in the folder beside the libraries.
    """
    from shutil import disk_usage

    started = perf_counter()

    def compile_unit(keys: list[str], draft: Path) -> None:
        unit = draft.with_name(f"{keys[0][:-1]}.cpp")
        unit.write_text("\n".join(sources[key] for key in keys), encoding="utf-8")
        try:
            cpp_builder.find_compiler().build(isa, unit, draft)
        except CompileError as error:
            if disk_usage(unit.parent).free < FULL_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise
        unit.unlink(missing_ok=True)

    paths, made = add("kernels", ".so", list(sources), compile_unit)
    counters.count(
        kernels_built=len(made),
        cache_hits=len(sources) - len(made),
        build_seconds=perf_counter() - started,
    )
    return paths
