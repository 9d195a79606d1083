"""B37, B39: an index out of range is an IndexError everywhere; offsets beyond 2**31 are reached."""

import mmap

import numpy as np
import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay.nn import functional

WEIGHTS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("bad", [-1, -3, 3, 2**31 - 1])
def test_an_embedding_index_out_of_range_is_refused(run, bad, dtype):
    weights = tensor_of(WEIGHTS)
    f = run(lambda i, w: functional.embedding(i, w) * 1.0)
    with pytest.raises(IndexError):
        f(tensor_of([0, bad], dtype), weights)
    expect(f(tensor_of([2, 0], dtype), weights), [[5.0, 6.0], [1.0, 2.0]], "float32")


def test_embedding_of_a_0d_and_an_empty_index(run):
    f = run(functional.embedding)
    expect(f(tensor_of(1, "int64"), tensor_of(WEIGHTS)), [3.0, 4.0], "float32")
    expect(f(tensor_of([], "int64"), tensor_of(WEIGHTS)), np.zeros((0, 2)), "float32")


@pytest.mark.parametrize("bad", [3, -4])
@pytest.mark.parametrize("length", [1, 17])
def test_an_advanced_index_out_of_range_is_refused(run, bad, length):
    x = tensor_of([1.0, 2.0, 3.0])
    f = run(lambda x, i: x[i] + 1)
    with pytest.raises(IndexError):
        f(x, tensor_of([0] * (length - 1) + [bad], "int64"))
    expect(f(x, tensor_of([-1, -3, 2, 0], "int64")), [4.0, 2.0, 4.0, 2.0], "float32")


@pytest.mark.parametrize("bad", [3, -1])
def test_gather_scatter_and_select_refuse_what_is_out_of_range(run, bad):
    x = tensor_of([1.0, 2.0, 3.0])
    index = tensor_of([0, bad], "int64")
    two = tensor_of([1.0, 1.0])
    for f in (
        lambda x, i, _: x.gather(0, i),
        lambda x, i, _: x.index_select(0, i),
        lambda x, i, s: x.scatter(0, i, s),
        lambda x, i, s: x.scatter_add(0, i, s),
        lambda x, i, s: x.index_add(0, i, s),
    ):
        with pytest.raises(IndexError):
            run(f)(x, index, two)
    expect(x, [1.0, 2.0, 3.0], "float32")


def test_writing_out_of_range_changes_nothing(run):
    x = tensor_of([1.0, 2.0, 3.0])

    def f(x, i):
        x[i] = 9.0
        return x

    with pytest.raises(IndexError):
        run(f)(x, tensor_of([0, 7], "int64"))
    expect(x, [1.0, 2.0, 3.0], "float32")


def test_a_basic_index_out_of_range_is_refused(run):
    for bad in (2, -3):
        with pytest.raises(IndexError):
            run(lambda x, bad=bad: x[bad])(tensor_of([1.0, 2.0]))


def test_offsets_beyond_32_bits(run):
    """The storage is sparse: only the pages that are touched exist."""
    memory = mmap.mmap(-1, 2**31 + 8)
    base = np.frombuffer(memory, dtype=np.uint8)
    for row in range(3):
        base[row * 2**30 : row * 2**30 + 2] = [10 * row + 1, 10 * row + 2]
    far = tp.from_numpy(base).as_strided((3, 2), (2**30, 1))
    expect(run(lambda v: v + 1)(far), [[2, 3], [12, 13], [22, 23]], "uint8")
    expect(run(lambda v: v.sum())(far), 69, "int64")
    expect(run(lambda v: v.t() + 1)(far), [[2, 12, 22], [3, 13, 23]], "uint8")
    expect(run(lambda v: v.flip(0) * 1)(far), [[21, 22], [11, 12], [1, 2]], "uint8")
