"""B55, B57: many processes share one cache folder; a changed source, helper or flag never serves the old kernel."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys
import tensorplay as tp

def f(x, w):
    return (tp.relu(x + w) * 2).sum(-1), tp.exp(x) + w

x, w = tp.full((8, 16), 1.0), tp.full((8, 16), 2.0)
rows, values = tp.compile(f, strict_native=True)(x, w)
assert rows.tolist() == [96.0] * 8
assert abs(values[0, 0].item() - 4.7182817) < 1e-6
stats = tp.compiler.stats()
sys.stdout.write(f"kernels_built={stats.kernels_built} cache_hits={stats.cache_hits}")
"""


def start(folder, program=PROGRAM, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TP_CACHE_DIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child):
    out, err = child.communicate(timeout=100)
    assert child.returncode == 0, err
    return dict(field.split("=") for field in out.split())


@pytest.mark.timeout(300)
def test_processes_that_share_an_empty_folder_and_are_killed(tmp_path):
    children = [start(tmp_path) for _ in range(16)]
    for delay, child in zip((0.3, 0.5, 0.8, 1.2), children, strict=False):
        time.sleep(delay / 2)
        child.send_signal(signal.SIGKILL)
        child.communicate()
    for child in children[4:]:
        finish(child)
    assert finish(start(tmp_path))["kernels_built"] == "0"


def test_a_second_process_builds_nothing(tmp_path):
    assert int(finish(start(tmp_path))["kernels_built"]) > 0
    again = finish(start(tmp_path))
    assert again["kernels_built"] == "0"
    assert int(again["cache_hits"]) > 0


@pytest.mark.parametrize("damage", ["truncate", "garbage", "empty"])
def test_a_damaged_file_is_built_again(tmp_path, damage):
    finish(start(tmp_path))
    files = [p for p in Path(tmp_path).rglob("*") if p.is_file() and p.stat().st_size]
    assert files
    for path in files:
        path.chmod(0o644)
        content = path.read_bytes()
        new = {
            "truncate": content[: len(content) // 2],
            "garbage": b"\0" * len(content),
            "empty": b"",
        }
        path.write_bytes(new[damage])
    finish(start(tmp_path))


def test_foreign_files_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "something.tmp").write_bytes(b"half of it")
    finish(start(tmp_path))
    finish(start(tmp_path))
    assert (tmp_path / "notes.txt").read_text() == "mine"


USES_ANOTHER_FILE = """
import sys
import tensorplay as tp
sys.path.insert(0, "PACKAGE")
from theirs import g
y = tp.compile(lambda x: g(x) * 2, strict_native=True)(tp.tensor([1.0]))
sys.stdout.write(f"value={y.item()}")
"""
HELPER = """
def g(x):
    return BODY
"""
OPERATOR = """
from __future__ import annotations
from tensorplay.ops.declare import pointwise

@pointwise()
def g(input: Value) -> Value:
    "Theirs."
    x = input
    return BODY
"""


@pytest.mark.parametrize("module", [HELPER, OPERATOR], ids=["helper", "operator"])
def test_what_was_edited_in_another_file_is_seen(tmp_path, module):
    package = tmp_path / "package"
    package.mkdir()
    program = USES_ANOTHER_FILE.replace("PACKAGE", str(package))
    results = []
    for body in ("x + 1", "x - 1", "x + 1"):
        (package / "theirs.py").write_text(module.replace("BODY", body))
        child = start(tmp_path / "cache", program, PYTHONDONTWRITEBYTECODE="1")
        results.append(finish(child)["value"])
    assert results == ["4.0", "0.0", "4.0"]


def another_compiler(folder):
    """A compiler of another identity that builds the same."""
    path = folder / "other-compiler"
    real = shutil.which("g++") or shutil.which("clang++") or "c++"
    path.write_text(f'#!/bin/sh\n# another compiler\nexec {real} "$@"\n')
    path.chmod(0o755)
    return path


def test_another_compiler_builds_its_own_kernels(tmp_path):
    """The compiler's identity is part of the key: what one built is not served to the other."""
    other = another_compiler(tmp_path)
    first = finish(start(tmp_path / "cache"))
    second = finish(start(tmp_path / "cache", CXX=str(other)))
    assert int(first["kernels_built"]) > 0
    assert int(second["kernels_built"]) > 0
    assert finish(start(tmp_path / "cache"))["kernels_built"] == "0"
    assert finish(start(tmp_path / "cache", CXX=str(other)))["kernels_built"] == "0"


EXPLAINS = """
import sys
import tensorplay as tp
sys.path.insert(0, "PACKAGE")
from theirs import g
f = tp.compile(lambda x: g(x) * 2, strict_native=STRICT)
CALL
sys.stdout.write("is=" + f.explain(tp.tensor([1.0])).artifact.text().replace(" ", "_"))
"""


@pytest.mark.parametrize("call", ["", "f(tp.tensor([1.0]))"], ids=["explained", "called"])
def test_explain_names_the_key_field_that_changed(tmp_path, call):
    """Also where a call has built it before: the answer is about the first search in the process."""
    package = tmp_path / "package"
    package.mkdir()
    other = another_compiler(tmp_path)

    def explained(body, module=HELPER, strict="True", **environment):
        (package / "theirs.py").write_text(module.replace("BODY", body))
        program = EXPLAINS.replace("PACKAGE", str(package)).replace("STRICT", strict)
        program = program.replace("CALL", call)
        environment |= {"PYTHONDONTWRITEBYTECODE": "1"}
        return finish(start(tmp_path / "cache", program, **environment))["is"].replace("_", " ")

    assert explained("x + 1") == "built, because no artifact agrees in: graph"
    assert explained("x + 1") == "found in the cache"
    assert explained("x - 1") == "built, because no artifact agrees in: graph"
    assert explained("x + 1", CXX=str(other)) == "built, because no artifact agrees in: compiler"
    assert explained("x + 1", strict="False") == "built, because no artifact agrees in: options"
    assert explained("x + 1", TP_NUM_THREADS="1") == "built, because no artifact agrees in: target"
    assert "the operator g or its lowering is declared outside" in explained("x + 1", OPERATOR)
