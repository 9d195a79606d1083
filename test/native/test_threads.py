"""The thread pool: how many threads, and where they may be."""

import os
import subprocess
import sys

import pytest

from tensorplay import _C


def test_the_number_of_threads(threads):
    threads(3)
    assert _C.get_num_threads() == 3
    for bad in (0, -1, 257):
        with pytest.raises(ValueError, match=r"must be in \[1, 256\]"):
            _C.set_num_threads(bad)
    with pytest.raises(TypeError):
        _C.set_num_threads("two")


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip().rpartition("\n")[2]


def test_the_environment_says_how_many():
    code = "from tensorplay import _C; print(_C.get_num_threads())"
    assert run(code, TP_NUM_THREADS="5")[1] == "5"
    assert run(code, TP_NUM_THREADS="")[1] == str(len(os.sched_getaffinity(0)))
    for bad in ("zero", "0", "1000", "2 "):
        status, _, error = run(code, TP_NUM_THREADS=bad)
        assert status == 1
        assert "TP_NUM_THREADS must be an integer in [1, 256]" in error


def test_threads_start_at_the_first_parallel_loop_only():
    code = """
import os
from tensorplay import _C
import numpy as np
alone = len(os.listdir("/proc/self/task"))
_C.set_num_threads(4)
_C.unary("exp", np.zeros(100))
assert len(os.listdir("/proc/self/task")) == alone
_C.unary("exp", np.zeros(1 << 20))
print(len(os.listdir("/proc/self/task")) - alone)
"""
    assert run(code) == (0, "3", "")
