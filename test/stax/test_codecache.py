"""The store of compiled code: keys, damage, folders that cannot be written, many processes, compilers that fail."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from tensorplay.compiler.backends.stax import codecache, cpp_builder
from tensorplay.compiler.backends.stax.async_compile import AsyncCompile, Future, deal
from tensorplay.core.config import config
from tensorplay.core.errors import CacheError, CompileError, CompilerNotFoundError


def source(name, factor=2):
    return f"""#include <stdint.h>
extern "C" int64_t {name}(void* const* buffers, int64_t begin, int64_t end) {{
    const float* in = (const float*)buffers[0];
    float* out = (float*)buffers[1];
    for (int64_t i = begin; i < end; i++) out[i] = in[i] * {factor};
    return 0;
}}
"""


def run(kernel, count=5):
    x, y = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    assert kernel([x, y], 0, count) == 0
    return (y / np.maximum(x, 1))[1:].tolist()


def load(*names, factor=2):
    compile_ = AsyncCompile("generic")
    scope = {name: compile_.cpp(name, source(name, factor)) for name in names}
    compile_.wait(scope)
    return scope


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(codecache, "private", codecache.PrivateFolder())
    with config.override(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


@pytest.fixture
def counts():
    before = codecache.Counters(codecache.counters.kernels_built, codecache.counters.cache_hits)

    def since():
        now = codecache.counters
        return now.kernels_built - before.kernels_built, now.cache_hits - before.cache_hits

    return since


def test_a_kernel_is_built_once_and_found_again(folder, counts):
    assert run(load("k")["k"]) == [2.0] * 4
    assert counts() == (1, 0)
    assert run(load("k")["k"]) == [2.0] * 4
    assert counts() == (1, 1)
    assert [p.suffix for p in folder.rglob("*") if p.is_file()] in (
        [".so", ".lock"],
        [".lock", ".so"],
        [".so"],
    )


def test_kernels_that_share_a_unit_are_found_one_by_one(folder, counts, monkeypatch):
    monkeypatch.setattr("tensorplay.compiler.backends.stax.async_compile.processors", lambda: 1)
    load("a", "b", "c")
    libraries = list(folder.rglob("*.so"))
    assert len(libraries) == 3
    assert len({p.stat().st_ino for p in libraries}) == 1
    assert run(load("b")["b"]) == [2.0] * 4
    load("a", "b", "d")
    assert counts() == (4, 3)


def test_a_file_system_without_links_gets_copies(folder, monkeypatch):
    def refuse(self, target):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    monkeypatch.setattr("tensorplay.compiler.backends.stax.async_compile.processors", lambda: 1)
    kernels = load("a", "b")
    assert run(kernels["a"]) == run(kernels["b"]) == [2.0] * 4
    assert len({p.stat().st_ino for p in folder.rglob("*.so")}) == 2


def test_everything_that_decides_the_result_is_in_the_key(tmp_path, monkeypatch):
    keys = [codecache.library_key("source", "generic")]
    keys.append(codecache.library_key("source ", "generic"))
    keys.append(codecache.library_key("source", "avx2"))
    keys.append(codecache.library_key("source", "avx512"))
    monkeypatch.setattr(cpp_builder, "COMMON_FLAGS", (*cpp_builder.COMMON_FLAGS, "-O1"))
    keys.append(codecache.library_key("source", "generic"))
    monkeypatch.undo()
    headers = tmp_path / "include"
    headers.mkdir()
    monkeypatch.setattr(cpp_builder, "INCLUDE", headers)
    for text in ("int a;", "int b;"):
        (headers / "tp.h").write_text(text)
        keys.append(codecache.library_key("source", "generic"))
    monkeypatch.undo()
    compiler = tmp_path / "cxx"
    for text in ("#!/bin/sh\nexec g++ $@\n", '#!/bin/sh\nexec g++ "$@"\n'):
        compiler.write_text(text)
        compiler.chmod(0o755)
        cpp_builder.resolve.cache_clear()
        monkeypatch.setenv("CXX", str(compiler))
        keys.append(codecache.library_key("source", "generic"))
    monkeypatch.setenv("CPATH", "/somewhere")
    keys.append(codecache.library_key("source", "generic"))
    assert len(set(keys)) == len(keys)


def test_parts_of_a_key_do_not_run_together():
    assert codecache.digest_of("ab", "c") != codecache.digest_of("a", "bc")
    assert codecache.digest_of("a", "") != codecache.digest_of("a")


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[: len(b) // 2],
        lambda b: b[:-1],
        lambda b: b"",
        lambda b: b"\0" * len(b),
        lambda b: b[:100] + bytes([b[100] ^ 1]) + b[101:],
        lambda b: b + b"more",
        lambda b: b"#!/bin/sh\necho not a library\n",
    ],
    ids=["half", "last byte", "empty", "zeros", "one bit", "longer", "foreign"],
)
def test_a_damaged_library_is_built_again(folder, counts, damage):
    load("k")
    (library,) = folder.rglob("*.so")
    content = library.read_bytes()
    library.unlink()  # the loader still maps it
    library.write_bytes(damage(content))
    assert run(load("k")["k"]) == [2.0] * 4
    assert counts() == (2, 0)
    assert codecache.read_sealed(library) is not None


def test_what_a_killed_process_left_is_removed_not_read(folder):
    load("k")
    (library,) = folder.rglob("*.so")
    library.unlink()
    stale = library.with_name(f"{library.stem}.999-1.tmp")
    stale.write_bytes(b"half of it")
    stranger = library.with_name("something-else.tmp")
    stranger.write_bytes(b"theirs")
    load("k")
    assert not stale.exists()
    assert stranger.read_bytes() == b"theirs"


@pytest.mark.parametrize(
    "error", [28, 30, 13, 122], ids=["full", "read-only", "forbidden", "quota"]
)
def test_a_folder_that_cannot_be_written_is_replaced_with_one_warning(
    folder, counts, error, monkeypatch
):
    original = Path.mkdir

    def mkdir(self, *args, **kwargs):
        if folder in self.parents:
            raise OSError(error, os.strerror(error))
        original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.warns(RuntimeWarning, match=str(folder)):
        assert run(load("k", factor=3)["k"]) == [3.0] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(load("k2", factor=3)["k2"]) == [3.0] * 4
        load("k", factor=3)
    assert counts() == (2, 1)
    assert not list(folder.rglob("*.so"))


def test_a_read_only_folder_is_still_read(folder, monkeypatch, counts):
    load("k")

    def mkdir(self, *args, **kwargs):
        raise OSError(30, "read-only")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    load("k")
    assert counts() == (1, 1)


def test_where_nothing_can_be_written_the_error_names_both_folders(folder, monkeypatch, tmp_path):
    def mkdir(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with (
        pytest.warns(RuntimeWarning, match="cannot be used"),
        pytest.raises(CacheError, match="free space") as caught,
    ):
        load("k")
    assert str(folder) in str(caught.value)


def test_a_compiler_that_fails_says_how_and_keeps_the_source(folder):
    compile_ = AsyncCompile("generic")
    scope = {"bad": compile_.cpp("bad", "this is no program;\n")}
    with pytest.raises(CompileError) as caught:
        compile_.wait(scope)
    message = str(caught.value)
    assert "-ffp-contract=off" in message
    assert "this is no program" in message
    kept = next(Path(word) for word in message.split() if word.endswith(".cpp"))
    assert kept.read_text() == "this is no program;\n"
    assert not list(folder.rglob("*.so"))
    assert not list(folder.rglob("*.tmp"))


def test_a_compiler_that_fails_for_lack_of_space_counts_as_a_full_folder(folder, monkeypatch):
    calls = []

    def build(self, isa, unit, output):
        calls.append(output)
        if folder in output.parents:
            raise CompileError("write error")
        output.write_bytes(b"library")

    monkeypatch.setattr(cpp_builder.Compiler, "build", build)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 0}))
    with pytest.warns(RuntimeWarning, match="No space left"):
        codecache.build_libraries({"0" * 64: "x"}, "generic")
    assert len(calls) == 2


def test_the_search_for_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(cpp_builder, "find_zig", lambda: None)
    cpp_builder.resolve.cache_clear()
    with pytest.raises(CompilerNotFoundError, match=r"g\+\+.*tensorplay\[zig\]"):
        cpp_builder.find_compiler()
    monkeypatch.setattr(cpp_builder, "find_zig", lambda: "/opt/zig")
    assert cpp_builder.find_compiler().command == ("/opt/zig", "c++")
    cpp_builder.resolve.cache_clear()
    for name in ("clang++", "g++"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        cpp_builder.resolve.cache_clear()
        found = cpp_builder.find_compiler()
        assert found.command == (str(tmp_path / name),)
        assert found.family == ("clang" if name == "clang++" else "gcc")
    monkeypatch.setenv("CXX", "clang++ --target=x86_64-linux-gnu")
    assert cpp_builder.find_compiler().command[1:] == ("--target=x86_64-linux-gnu",)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(CompilerNotFoundError, match="no-such-compiler"):
        cpp_builder.find_compiler()
    cpp_builder.resolve.cache_clear()


def test_zig_builds_kernels_too(folder, monkeypatch):
    pytest.importorskip("ziglang")
    zig = cpp_builder.find_zig()
    monkeypatch.setattr(
        cpp_builder, "resolve", lambda *_: cpp_builder.describe((zig, "c++"), "zig", ())
    )
    assert run(load("k")["k"]) == [2.0] * 4


def test_zig_gives_the_bits_that_gcc_gives(folder, monkeypatch):
    pytest.importorskip("ziglang")
    import tensorplay as tp

    def f(x):
        return tp.softmax(x, -1), tp.erf(x) * tp.tanh(x), x.sum(0)

    x = tp.randn(33, 70)
    first = tp.compile(f, strict_native=True)(x)
    zig = cpp_builder.describe((cpp_builder.find_zig(), "c++"), "zig", ())
    monkeypatch.setattr(cpp_builder, "resolve", lambda *_: zig)
    second = tp.compile(lambda x: f(x), strict_native=True)(x)  # noqa: PLW0108  # another function
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_the_interpreter_runs_while_a_compiler_does(folder, tmp_path, monkeypatch):
    slow_compiler(tmp_path, monkeypatch, 0.4)
    thread = threading.Thread(target=load, args=("k",))
    thread.start()
    ticks = 0
    while thread.is_alive():
        time.sleep(0.01)
        ticks += 1
    assert ticks > 15


def test_threads_that_ask_for_one_kernel_start_one_compiler(folder, tmp_path, monkeypatch, counts):
    log = slow_compiler(tmp_path, monkeypatch, 0.2)
    threads = [threading.Thread(target=load, args=("k",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.read_text().split()) == 1
    assert counts() == (1, 7)


# One process loads everything once and forks the children; each leaves its counts in a file.
NURSERY = """
import os, sys
sys.path[:0] = [{tests!r}]
from test_codecache import load, run
from tensorplay.compiler.backends.stax.codecache import counters
sys.stdout.write("ready\\n"); sys.stdout.flush()
children = []
for number in range(int(sys.stdin.readline())):
    pid = os.fork()
    if pid == 0:
        kernels = load("a", "b", "c", factor=7)
        assert all(run(kernel) == [7.0] * 4 for kernel in kernels.values())
        with open(f"{place}/result-{{os.getpid()}}", "w") as file:
            file.write(f"{{counters.kernels_built}} {{counters.cache_hits}}")
        os._exit(0)
    children.append(pid)
sys.stdout.write(" ".join(map(str, children)) + "\\n"); sys.stdout.flush()
statuses = [os.waitpid(pid, 0)[1] for pid in children]
sys.stdout.write(" ".join(map(str, statuses)) + "\\n")
"""


class Nursery:
    """Child processes that all want the same kernels at once."""

    def __init__(self, place, count):
        self.place = place
        self.parent = subprocess.Popen(
            [sys.executable, "-c", NURSERY.format(tests=str(Path(__file__).parent), place=place)],
            env={**os.environ, "TP_CACHE_DIR": str(place / "cache")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.parent.stdout.readline() == "ready\n", self.parent.communicate()
        self.parent.stdin.write(f"{count}\n")
        self.parent.stdin.flush()
        self.pids = [int(word) for word in self.parent.stdout.readline().split()]

    def finish(self):
        """How each child ended, and what it counted."""
        out, err = self.parent.communicate(timeout=100)
        assert not err
        ends = dict(zip(self.pids, map(int, out.split()), strict=True))
        counts = {}
        for pid, status in ends.items():
            if status == 0:
                text = (self.place / f"result-{pid}").read_text()
                counts[pid] = tuple(map(int, text.split()))
        return ends, counts


def slow_compiler(tmp_path, monkeypatch, seconds):
    log, compiler = tmp_path / "log", tmp_path / "slow-compiler"
    compiler.write_text(f'#!/bin/sh\necho $$ >> {log}\nsleep {seconds}\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    return log


def test_sixteen_processes_start_one_compiler_for_each_unit(tmp_path, monkeypatch):
    log = slow_compiler(tmp_path, monkeypatch, 0.2)
    ends, counts = Nursery(tmp_path, 16).finish()
    assert set(ends.values()) == {0}
    assert sum(built for built, _ in counts.values()) == 3
    assert all(built + hits == 3 for built, hits in counts.values())
    assert len(log.read_text().split()) <= 3


def test_sixteen_processes_of_which_four_are_killed(tmp_path, monkeypatch):
    """B55."""
    log = slow_compiler(tmp_path, monkeypatch, 0.3)
    nursery = Nursery(tmp_path, 16)
    left = list(nursery.pids)
    for wanted in (
        1,
        1,
        2,
        3,
    ):  # kill whoever has just started a compiler, which is sure to hold a lock
        while not log.exists() or len(log.read_text().split()) < wanted:
            time.sleep(0.01)
        compiler = int(log.read_text().split()[-1])
        victim = next((pid for pid in left if is_child_of(compiler, pid)), left[0])
        left.remove(victim)
        os.kill(victim, signal.SIGKILL)
    ends, _ = nursery.finish()
    assert sorted(ends.values()) == [0] * 12 + [signal.SIGKILL] * 4
    assert all(ends[pid] == 0 for pid in left)
    _, counts = Nursery(tmp_path, 1).finish()
    assert list(counts.values()) == [(0, 3)]


def is_child_of(pid, parent):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return f"PPid:\t{parent}\n" in status


def test_units_are_about_equal_and_use_every_processor():
    futures = [
        Future(str(k), "x" * size, str(k), None) for k, size in enumerate([9, 1, 1, 1, 1, 5, 4])
    ]
    units = deal(futures, 2)
    assert sorted(sum(len(f.source) for f in unit) for unit in units) == [11, 11]
    assert sorted(f.name for unit in units for f in unit) == [f.name for f in futures]
    assert len(deal(futures[:1], 4)) == 1
    large = [Future(str(k), "x" * 5000, str(k), None) for k in range(40)]
    assert all(sum(len(f.source) for f in unit) <= 20_000 for unit in deal(large, 2))


def test_the_private_folder_goes_with_its_process(tmp_path):
    (tmp_path / "file").write_text("")
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_codecache import load\n"
        "from tensorplay.compiler.backends.stax.codecache import private\n"
        "load('a'); sys.stdout.write(str(private.existing()))"
    )
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "TP_CACHE_DIR": str(tmp_path / "file" / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    place = Path(child.stdout)
    assert place.name.startswith("tensorplay-")
    assert not place.exists()
