"""The cache of whole artifacts: from an operator graph straight to the program that runs it.

In: what decides the wrapper's text. Out: the `Program` of a wrapper module that an earlier process wrote, so that a
warm process lowers, schedules, prints and compiles nothing.

    $TP_CACHE_DIR/artifacts/9c/9c41…-07be….py     the wrapper module, sealed; the second half is all but the graph

The key's fields have names, and the module repeats their digests in its first lines, so that a miss can be explained:
`differences` says which field no longer agrees with the artifacts of the same graph, and `look_up` keeps that as a
`Lookup` for `explain`, because afterwards the artifact is there.

>>> print(Lookup("built", ("compiler",)).text())
built, because no artifact agrees in: compiler
"""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from tensorplay.compiler.backends.stax import codecache, cpp_builder
from tensorplay.core.config import config
from tensorplay.core.readable import Readable
from tensorplay.ops.registry import Overload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tensorplay._C import Program
    from tensorplay.compiler.phases import OperatorGraph
    from tensorplay.compiler.target import CpuTarget

SourceFile: TypeAlias = tuple[str, int, int, int]
"""Path, size, time of the last change of the content, and of the inode."""
PACKAGE: Final = Path(__file__).parents[3]
KIND: Final = "artifacts"
STARTED: Final = time.time_ns()
"""When this process had its code, about: files that change later aren't what runs."""


@dataclass(frozen=True, slots=True)
class ArtifactKey(Readable):
    """What decides an artifact, a digest each."""

    graph: str
    """The operators with their arguments, and shapes, dtypes, devices and strides of every value."""
    target: str
    """Instruction set, threads, cache sizes."""
    options: str
    """The options given to the backend."""
    compiler: str
    """The C++ compiler, its complete command, and the variables that move its files."""
    package: str
    """The contents of our own sources and headers."""
    python: str
    """The interpreter's version."""

    @property
    def name(self) -> str:
        """The entry's name: the graph's digest, then that of all other fields."""
        return f"{self.graph}-{codecache.digest_of(*(value for _, value in self.items()[1:]))}"

    def items(self) -> list[tuple[str, str]]:
        """The fields by name, the graph first."""
        return [(f.name, getattr(self, f.name)) for f in fields(self)]

    def text(self) -> str:
        """Return the first lines of a module."""
        return "".join(f"# key {name}: {value}\n" for name, value in self.items())


@dataclass(frozen=True, slots=True)
class Lookup(Readable):
    """What became of the search for one artifact, in this process."""

    outcome: Literal["found", "built", "missing", "kept out"]
    """Whether it was there when it was first wanted, or was made then; nobody wanted it yet; it can have no key."""
    why: tuple[str, ...] = ()
    """The fields of the key that no artifact agrees in; where it has no key, the reason."""

    def text(self) -> str:
        """Return the outcome as a sentence."""
        match self.outcome:
            case "found":
                return "found in the cache"
            case "built":
                return f"built, because no artifact agrees in: {', '.join(self.why)}"
            case "missing":
                return f"not built yet; no artifact agrees in: {', '.join(self.why)}"
            case "kept out":
                return f"built in each process and not kept, because {self.why[0]}"


_LOOKUPS: Final[dict[str, Lookup]] = {}
"""By the key's name: what the first search found. Later ones always find what that one left."""


def look_up(key: ArtifactKey) -> Program | None:
    """Return the program of a key if the store has it; remember whether, and if not, why not."""
    program = load(key)
    if program is None:
        _LOOKUPS[key.name] = Lookup("built", tuple(differences(key)))
    else:
        _LOOKUPS.setdefault(key.name, Lookup("found"))
    return program


def explain_lookup(graph: OperatorGraph, target: CpuTarget, options: object) -> Lookup:
    """Say what became of the artifact of a graph."""
    files = tuple(source_files())
    why = obstacle(graph, files)
    if why is not None:
        return Lookup("kept out", (why,))
    key = _key(graph, target, options, files)
    known = _LOOKUPS.get(key.name)
    if known is not None:
        return known
    missed = differences(key)
    return Lookup("missing", tuple(missed)) if missed else Lookup("found")


def obstacle(graph: OperatorGraph, files: Sequence[SourceFile]) -> str | None:
    """Return why no key could tell two artifacts of a graph apart, or None where one can.

    An operator or its lowering that is declared outside of the package may change unseen; a running program may have
    replaced something in `choices`; and a source file may be newer than the code that runs.
    """
    newest = max(files, key=lambda each: each[3])
    if newest[3] > STARTED:
        return (
            f"{Path(newest[0]).relative_to(PACKAGE.parent)} changed after this process had started"
        )
    for name in foreign_operators(graph):
        return f"the operator {name} or its lowering is declared outside of tensorplay"
    for name in replaced_choices():
        return f"this process has replaced choices.{name}"
    return None


def artifact_key(graph: OperatorGraph, target: CpuTarget, options: object) -> ArtifactKey | None:
    """Return the key of a graph's artifact, or None where there is an `obstacle`. Options count by their ``repr``."""
    files = tuple(source_files())
    return None if obstacle(graph, files) else _key(graph, target, options, files)


def _key(
    graph: OperatorGraph, target: CpuTarget, options: object, files: tuple[SourceFile, ...]
) -> ArtifactKey:
    compiler = cpp_builder.find_compiler()
    command = compiler.compile_command(target.isa, "SOURCE", "OUTPUT")
    return ArtifactKey(
        graph=codecache.digest_of(*graph_texts(graph)),
        target=codecache.digest_of(repr(target)),
        options=codecache.digest_of(repr(options)),
        compiler=codecache.digest_of("\0".join(command), compiler.identity),
        package=digest_of_files(files),
        python=codecache.digest_of(sys.version),
    )


def load(key: ArtifactKey) -> Program | None:
    """Return the program of a key if the store has it."""
    path = codecache.find(KIND, ".py", key.name)
    content = None if path is None else codecache.read_sealed(path)
    if path is None or content is None:
        codecache.counters.count(artifact_misses=1)
        return None
    codecache.counters.count(artifact_hits=1)
    return load_wrapper(content.decode(), path)


def save(key: ArtifactKey, wrapper: str) -> Program:
    """Keep a wrapper module under its key and load it."""
    content = key.text() + wrapper

    def write(_: list[str], draft: Path) -> None:
        draft.write_text(content, encoding="utf-8")

    paths, _ = codecache.add(KIND, ".py", [key.name], write)
    return load_wrapper(content, paths[0])


def load_uncached(wrapper: str) -> Program:
    """Load a wrapper module that has no key; its file is named for its content and never read back."""

    def write(_: list[str], draft: Path) -> None:
        draft.write_text(wrapper, encoding="utf-8")

    paths, _ = codecache.add(KIND, ".py", [codecache.digest_of(wrapper)], write)
    return load_wrapper(wrapper, paths[0])


def load_wrapper(text: str, path: Path) -> Program:
    """Run a wrapper module that lies at ``path`` (tracebacks show its lines); return its program."""
    scope: dict[str, object] = {"__name__": f"tensorplay_{path.stem}", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)  # noqa: S102  # the text is ours, and sealed
    return cast("Program", scope["call"])


def differences(key: ArtifactKey) -> list[str]:
    """Return the names of the fields that keep a key from the nearest artifact of the same graph.

    Empty where the artifact is there; ``["graph"]`` where no artifact of the graph is.
    """
    store = codecache.Store(config.cache_dir, KIND, ".py")
    nearest = ["graph"]
    best = len(fields(key)) + 1
    try:
        found_files = list(store.path(key.name).parent.glob(f"{key.graph}-*.py"))
    except OSError:  # a folder that may not be read holds nothing for us
        found_files = []
    for path in found_files:
        content = codecache.read_sealed(path)
        if content is None:
            continue
        found = dict(re.findall(r"^# key (\w+): (\w+)$", content.decode(), re.MULTILINE))
        names = [name for name, value in key.items() if found.get(name) != value]
        if len(names) < best:
            nearest, best = names, len(names)
    return nearest


# ---- the fields ------------------------------------------------------------------------------------------------


def graph_texts(graph: OperatorGraph) -> Iterator[str]:
    """Yield what a graph's artifact depends on: its text, the metadata of its values, the lines that errors name."""
    yield graph.text()
    for node in graph.graph.nodes:
        yield f"{node.meta.get('val')!r} {node.meta.get('stack')} {node.meta.get('write_back')}"


def foreign_operators(graph: OperatorGraph) -> Iterator[str]:
    """Yield the operators of a graph whose declaration or lowering isn't in the package."""
    for node in graph.graph.nodes:
        if isinstance(node.target, Overload):
            operator = node.target.operator
            rule = operator.lowering
            places = (operator.family, None if rule is None else getattr(rule, "__module__", ""))
            if not all(place is None or is_own(place) for place in places):
                yield operator.name


CHOICES: Final = f"{__package__}.choices"


def replaced_choices() -> Iterator[str]:
    """Yield the names in `choices` that aren't what its file says: somebody tries another heuristic."""
    module = sys.modules.get(CHOICES)
    if module is None:
        return
    for name, written in choices_as_written().items():
        found = getattr(module, name, None)
        if getattr(found, "__code__", found) != getattr(written, "__code__", written):
            yield name


@lru_cache(maxsize=1)
def choices_as_written() -> dict[str, object]:
    """Return the functions and numbers of a second copy of `choices`, fresh from its file."""
    from importlib.util import find_spec, module_from_spec

    spec = find_spec(CHOICES)
    if spec is None or spec.loader is None:
        return {}
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    plain = (FunctionType, int, float, str, tuple, frozenset, dict)
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, plain) and not name.startswith("__")
    }


def is_own(module: str) -> bool:
    """Say whether a module's name is one of ours."""
    return module == "tensorplay" or module.startswith("tensorplay.")


def source_files() -> Iterator[SourceFile]:
    """Yield path, size and times of every file that decides what is generated."""
    pending = [str(PACKAGE)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        pending.append(entry.path)
                elif entry.name.endswith((".py", ".h", ".so")):
                    status = entry.stat()
                    yield entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=4)
def digest_of_files(files: tuple[SourceFile, ...]) -> str:
    """Return the digest of the files' contents, kept in the store under a digest of their sizes and times.

    The time of the inode's last change is among them, which no tool sets back.
    """
    key = codecache.digest_of(*map(repr, files))
    path = codecache.find("packages", ".txt", key)
    known = None if path is None else codecache.read_sealed(path)
    if known is not None:
        return known.decode()
    digest = sha256()
    for name, *_ in files:
        content = Path(name).read_bytes()
        relative = Path(name).relative_to(PACKAGE)
        digest.update(f"{relative} {len(content)}\n".encode())
        digest.update(content)
    found = digest.hexdigest()

    def write(_: list[str], draft: Path) -> None:
        draft.write_text(found, encoding="utf-8")

    codecache.add("packages", ".txt", [key], write)
    return found
