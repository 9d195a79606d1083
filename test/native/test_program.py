"""Kernels and programs."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import _C

F8 = (tp.float32, (8,), (1,))


def floats(*values):
    return _C.wrap(np.array(values, np.float32))


@pytest.fixture
def eight():
    return _C.wrap(np.arange(8, dtype=np.float32))


# ---- kernels --------------------------------------------------------------------------------------


def test_kernel(kernel):
    k = kernel("times2plus1")
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    assert k([x, y], 1, 3) == 0
    assert y.tolist() == [0, 3, 5, 0]
    assert "times2plus1" in repr(k)
    with pytest.raises(TypeError, match="argument 0 is no array"):
        k([1], 0, 1)


def test_a_missing_library_or_symbol(library_folder):
    with pytest.raises(OSError, match="cannot load"):
        _C.Kernel(str(library_folder / "no.so"), "f")
    with pytest.raises(LookupError, match="has no symbol nothing"):
        _C.Kernel(str(library_folder / "kernels.so"), "nothing")


# ---- one launch -----------------------------------------------------------------------------------


def test_outputs_are_fresh(affine, eight):
    program = affine(8)
    (first,), (second,) = program(eight), program([eight])
    assert type(first) is tp.Tensor
    assert first.array.tolist() == second.array.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    assert not np.shares_memory(first.array, second.array)
    assert first.storage is not second.storage


@pytest.mark.parametrize("n", [1, 1000, 100_000])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_sizes_and_unaligned_inputs(affine, n, offset, threads):
    threads(3)
    x = np.arange(n + offset, dtype=np.float32)[offset:]
    raw = np.empty(4 * n + 1, np.uint8)[1:].view(np.float32)
    raw[:] = x
    for array in (x, raw):
        assert np.array_equal(affine(n, 16)(_C.wrap(array))[0].array, x * 2 + 1)


def test_zero_trips(kernel):
    spec = (tp.float32, (0,), (1,))
    launch = ("launch", kernel("times2plus1"), (0, 1), 0, 1, ())
    program = _C.Program((spec,), (("output", *spec),), (launch,), (1,))
    assert program(floats())[0].shape == (0,)


@pytest.mark.parametrize(
    ("tensor", "error", "message"),
    [
        (
            np.zeros(9, np.float32),
            ValueError,
            r"input 0 must be .*float32 of shape \(8,\).*got .*\(9,\)",
        ),
        (np.zeros(8), ValueError, "got tensorplay.float64"),
        (np.zeros((8, 1), np.float32), ValueError, r"got .*\(8, 1\)"),
        (np.zeros(16, np.float32)[::2], ValueError, r"strides \(2,\)"),
    ],
)
def test_inputs_of_another_layout_are_refused(affine, tensor, error, message):
    with pytest.raises(error, match=message):
        affine(8)(_C.wrap(tensor))


def test_inputs_that_are_no_tensors(affine, eight):
    program = affine(8)
    with pytest.raises(TypeError, match="input 0 must be a tensor with data, got int"):
        program(3)
    with pytest.raises(TypeError, match="takes 1 tensors, got 2"):
        program(eight, eight)
    with pytest.raises(TypeError, match="by position only"):
        program(x=eight)
    eight.array = None
    with pytest.raises(TypeError, match="with data"):
        program(eight)


def test_strides_of_single_elements_are_not_compared(kernel):
    spec = (tp.float32, (1, 8), (8, 1))
    launch = ("launch", kernel("times2plus1"), (0, 1), 8, 8, ())
    program = _C.Program((spec,), (("output", *spec),), (launch,), (1,))
    odd = np.lib.stride_tricks.as_strided(np.arange(8, dtype=np.float32), (1, 8), (400, 4))
    assert program(_C.wrap(odd))[0].array[0, 3] == 7


def test_bounds_checks(kernel):
    launch = ("launch", kernel("check"), (0,), 8, 2, ("too small", "too large"))
    program = _C.Program(((tp.int64, (8,), None),), (), (launch,), (0,))
    good = _C.wrap(np.arange(8))
    assert program(good) == (good,)
    with pytest.raises(IndexError, match=r"^too small$"):
        program(_C.wrap(np.arange(8) - 1))
    with pytest.raises(IndexError, match=r"^too large$"):
        program(_C.wrap(np.arange(8) + 95))
    with pytest.raises(
        IndexError, match=r"^too small$"
    ):  # the least number, whichever thread is first
        program(_C.wrap(np.array([100, 100, 100, 100, 1, 1, -1, 100])))
    unnamed = _C.Program(((tp.int64, (8,), None),), (), ((*launch[:5], ()),), (0,))
    with pytest.raises(SystemError, match="returned 1 and has 0 messages"):
        unnamed(_C.wrap(np.arange(8) - 1))


def test_chunks_are_multiples_of_the_grain(kernel, threads):
    threads(4)
    n, grain = 1003, 16
    spec = (tp.int64, (n,), (1,))
    launch = ("launch", kernel("where_it_ran"), (0,), n, grain, ())
    (begin,) = _C.Program((), (("output", *spec),), (launch,), (0,))()
    starts = np.unique(begin.array)
    assert len(starts) > 4
    assert (starts % grain == 0).all()


# ---- buffers --------------------------------------------------------------------------------------


def test_slots_views_constants_results_externs(kernel, eight):
    seen = []

    def grow(slot, part):
        seen.append((slot.shape, part.shape, part.strides))
        np.add(slot, 1, out=slot)

    k = kernel("times2plus1")
    program = _C.Program(
        inputs=(F8,),
        buffers=(
            ("slot", 64, *F8),
            ("view", 1, 1, tp.float32, (2, 2), (4, 2)),
            ("output", *F8),
            ("result", *F8),
            ("view", 4, 2, tp.float32, (3,), (1,)),
            ("constant", np.ones(3, np.float32)),
            ("view", 3, 7, tp.float32, (8,), (-1,)),
        ),
        steps=(
            ("launch", k, (0, 1), 8, 8, ()),
            ("extern", grow, (1, 2), ()),
            ("launch", k, (1, 3), 8, 8, ()),
            ("extern", lambda a: a[::-1], (3,), (4,)),
        ),
        outputs=(3, 4, 5, 6, 0, 7),
        workspace=96,
    )
    want = np.arange(8, dtype=np.float32) * 4 + 5
    for _ in range(2):
        out = program(eight)
        assert out[0].array.tolist() == want.tolist()
        assert out[1].array.tolist() == want[::-1].tolist()
        assert out[2].array.tolist() == want[::-1][2:5].tolist()
        assert out[3].array.tolist() == [1, 1, 1]
        assert out[4] is eight
        assert out[5].array.tolist() == want[::-1].tolist()
        assert out[1].storage is out[2].storage
        assert out[0].storage is out[5].storage
        assert not np.shares_memory(out[0].array, out[1].array)
        assert out[1].array.strides == (4,)
    assert not np.shares_memory(program(eight)[3].array, out[3].array)
    assert seen == [((8,), (2, 2), (16, 8))] * 3


def test_a_large_workspace_goes_back_to_the_pool(kernel):
    n = 1 << 20
    spec = (tp.float32, (n,), (1,))
    k = kernel("times2plus1")
    program = _C.Program(
        (spec,),
        (("slot", 0, *spec), ("output", *spec)),
        (
            ("launch", k, (0, 1), n, 4096, ()),
            ("extern", lambda a: None, (1,), ()),
            ("launch", k, (1, 2), n, 4096, ()),
        ),
        (2,),
        workspace=4 * n,
    )
    x = _C.wrap(np.ones(n, np.float32))
    used = _C.pool_stats()["used_bytes"]
    (y,) = program(x)
    assert (y.array == 7).all()
    assert _C.pool_stats()["used_bytes"] == used + 4 * n


def test_an_extern_that_keeps_a_slot_does_not_see_later_calls(kernel, eight):
    kept = []
    program = _C.Program(
        (F8,),
        (("slot", 0, *F8), ("output", *F8)),
        (
            ("launch", kernel("times2plus1"), (0, 1), 8, 8, ()),
            ("extern", kept.append, (1,), ()),
            ("launch", kernel("times2plus1"), (1, 2), 8, 8, ()),
        ),
        (2,),
        workspace=32,
    )
    program(eight)
    before = kept[0].copy()
    program(_C.wrap(np.full(8, 9, np.float32)))
    assert (kept[0] == before).all()


@pytest.mark.parametrize("where", ["argument", "slice", "global"])
def test_a_result_never_shares_memory_with_an_input(where, eight):
    def give(a):
        return a if where == "argument" else a[:] if where == "slice" else np.array(a)

    program = _C.Program((F8,), (("result", *F8),), (("extern", give, (0,), (1,)),), (1,))
    (out,) = program(eight)
    assert out.array.tolist() == eight.array.tolist()
    assert not np.shares_memory(out.array, eight.array)


def test_results_of_another_kind(eight):
    def program(function, count=1):
        results = tuple(range(1, count + 1))
        return _C.Program(
            (F8,), (("result", *F8),) * count, (("extern", function, (0,), results),), results
        )

    assert [r.array[3] for r in program(lambda a: (a + 1, a + 2), 2)(eight)] == [4, 5]
    with pytest.raises(TypeError, match="must return 2 arrays"):
        program(lambda a: (a,), 2)(eight)
    with pytest.raises(TypeError, match="must return arrays, got int"):
        program(lambda a: 3)(eight)
    with pytest.raises(ValueError, match=r"a result for buffer 1 must be .* got .*float64"):
        program(lambda a: a.astype(np.float64))(eight)
    with pytest.raises(ZeroDivisionError):
        program(lambda a: 1 // 0)(eight)


def test_read_only_inputs_stay_read_only_in_views(eight):
    seen = []
    eight.array.flags.writeable = False
    program = _C.Program(
        (F8,),
        (("view", 0, 2, tp.float32, (2,), (1,)),),
        (("extern", lambda a: seen.append(a.flags.writeable), (1,), ()),),
        (),
    )
    assert program(eight) == ()
    assert seen == [False]


def test_a_program_may_run_inside_itself(kernel, eight):
    depth = []

    def again(a, out):
        if len(depth) < 3:
            depth.append(1)
            (inner,) = program(_C.wrap(a.copy()))
            out[:] = inner.array
        else:
            out[:] = a

    program = _C.Program(
        (F8,),
        (("slot", 0, *F8), ("output", *F8)),
        (("launch", kernel("times2plus1"), (0, 1), 8, 8, ()), ("extern", again, (1, 2), ())),
        (2,),
        workspace=32,
    )
    assert program(eight)[0].array[0] == 15


def test_calls_from_many_threads(affine, threads):
    threads(2)
    program = affine(1 << 14, 512)
    wrong = []

    def work(start):
        for i in range(60):
            x = np.full(1 << 14, start + i, np.float32)
            (y,) = program(_C.wrap(x))
            if not (y.array == x * 2 + 1).all():
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(1000 * k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_an_input_survives_a_change_of_the_tensor_while_the_program_runs(affine, eight):
    def drop(a):
        eight.array = None
        gc.collect()
        return a + 1

    program = _C.Program((F8,), (("result", *F8),), (("extern", drop, (0,), (1,)),), (1,))
    assert program(eight)[0].array[7] == 8


# ---- building -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": ((tp.float32, (8,)),)}, "an input is"),
        ({"inputs": ((tp.float32, None, (1,)),)}, "strides need a shape"),
        ({"inputs": ((tp.float32, (8,), (1, 1)),)}, "one length"),
        ({"inputs": ((tp.float32, (-8,), (1,)),)}, "negative"),
        ({"buffers": (("what", *F8),)}, "a buffer is"),
        ({"buffers": (("output", tp.float32, (8,), None),)}, "needs its shape and strides"),
        ({"buffers": (("slot", 0, *F8),), "workspace": 31}, "within the workspace"),
        ({"buffers": (("view", 1, 0, *F8),)}, "source comes first"),
        ({"buffers": (("view", 0, 1, *F8),)}, "within its source"),
        ({"buffers": (("view", 0, 6, tp.float32, (8,), (-1,)),)}, "within its source"),
        ({"buffers": (("constant", 3),)}, "a constant is an array"),
        ({"steps": (("launch",),)}, "a step is"),
        ({"steps": (("extern", 3, (), ()),)}, "an extern is"),
        ({"steps": (("extern", print, (7,), ()),)}, "out of range"),
        ({"steps": (("extern", print, (), (0,)),)}, "must be 'result' buffers"),
        ({"outputs": (5,)}, "out of range"),
        ({"buffers": (("slot", 0, *F8),), "workspace": 32, "outputs": (1,)}, "slot is an output"),
        ({"buffers": (("result", *F8),), "outputs": (1,)}, "before its extern fills it"),
        ({"workspace": -1}, "negative"),
    ],
)
def test_descriptions_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        _C.Program(**{"inputs": (F8,), "buffers": (), "steps": (), "outputs": (), **arguments})


def test_a_program_in_a_cycle_is_collected(eight):
    class Holder:
        def run(self, array):
            return None

    holder = Holder()
    holder.program = _C.Program((F8,), (), (("extern", holder.run, (0,), ()),), ())
    holder.program(eight)
    dead = weakref.ref(holder)
    del holder
    gc.collect()
    assert dead() is None


def test_after_fork_the_child_has_its_own_workers(affine, threads):
    threads(2)
    program = affine(1 << 16, 512)
    x = _C.wrap(np.ones(1 << 16, np.float32))
    program(x)
    child = os.fork()
    if child == 0:
        ok = all((program(x)[0].array == 3).all() for _ in range(20))
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (program(x)[0].array == 3).all()
