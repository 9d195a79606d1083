"""Nothing is lost: memory and references after many calls, the failing ones among them."""

import contextlib
import gc
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import _C

F8 = (tp.float32, (8,), (1,))


def resident_kib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


@pytest.mark.alone
def test_memory_and_references(kernel, affine):
    k = kernel("times2plus1")
    x, y, wrong = (_C.wrap(np.zeros(n, np.float32)) for n in (8, 8, 9))
    numbers = _C.wrap(np.arange(8) + 95)
    program = affine(8)
    checked = _C.Program(
        ((tp.int64, (8,), None),), (), (("launch", kernel("check"), (0,), 8, 8, ("a", "b")),), (0,)
    )
    mixed = _C.Program(
        (F8,),
        (
            ("slot", 0, *F8),
            ("view", 1, 1, tp.float32, (2,), (1,)),
            ("output", *F8),
            ("result", *F8),
            ("constant", np.ones(3)),
        ),
        (
            ("launch", k, (0, 1), 8, 8, ()),
            ("extern", lambda a: None, (2,), ()),
            ("extern", lambda a: a[:], (1,), (4,)),
            ("launch", k, (1, 3), 8, 8, ()),
        ),
        (3, 4, 5, 0),
        workspace=64,
    )

    class Compiled(_C.Dispatcher):
        def call_miss(self, structure, leaves):
            key = self.signature(structure, leaves)
            self.add(key, _C.Entry(program, (0,), key, (), (("is", "attribute", self, "k", k),), 0))
            return self.dispatch(structure, leaves)

        def call_slow(self, args, kwargs):
            return None

    compiled = Compiled()
    compiled.k = k
    square = np.ones((20, 20))

    def work():
        for _ in range(3000):
            program(x)
            mixed(x)
            compiled(x)
            compiled(y)
            compiled(_C.wrap(np.zeros(8, np.float32)))
            compiled([x], a=1)
            fresh = Compiled()
            fresh.k = k
            fresh(x)
            fresh.me = fresh
            _C.wrap(_C.view(_C.empty((2000,), tp.float32), (3,), (1,), 1))
            _C.unary("exp", square.T, square.copy())
            _C.binary("pow", square, square[:1])
            _C.matmul(square, square[::-1].T)
            _C.philox(1, 2, np.arange(10))
            for call, args in (
                (program, (wrong,)), (checked, (numbers,)), (program, (3,)), (_C.wrap, (3,)), (_C.unary, ("what", square)),
                (_C.matmul, (square, square[:3])), (_C.binary, ("pow", square, square[:3])), (_C.view, (square, (500,), (1,), 0)),
                (_C.Entry, (print, (0, 1), b"", (("dict", {}, 1),), (3,))), (_C.Program, ((F8,), (("output", *F8), ("what",)), (), ())),
            ):  # fmt: skip
                with contextlib.suppress(TypeError, ValueError, IndexError):
                    call(*args)

    work()
    gc.collect()
    before = resident_kib()
    counts = [
        sys.getrefcount(each)
        for each in (
            None,
            True,
            tp.float32,
            k,
            program,
            x,
            x.array,
            x.storage,
            np.dtype(np.float32),
        )
    ]
    work()
    gc.collect()
    after = [
        sys.getrefcount(each)
        for each in (
            None,
            True,
            tp.float32,
            k,
            program,
            x,
            x.array,
            x.storage,
            np.dtype(np.float32),
        )
    ]
    assert resident_kib() - before < 1024
    assert all(abs(a - b) < 100 for a, b in zip(after, counts, strict=True)), (counts, after)
