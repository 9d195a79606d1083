"""Compiled functions know NumPy arrays by their values: memory that changes later changes no program."""

import numpy as np

import tensorplay as tp


def test_an_array_that_changes_after_the_call_changes_no_program():
    compiled = tp.compile(lambda x, array: x + array)
    x, array = tp.ones(2), np.array([1.0, 2.0])
    assert compiled(x, array).tolist() == [2.0, 3.0]
    array[0] = 100.0
    assert compiled(x, array).tolist() == [101.0, 3.0]
    assert compiled(x, np.array([1.0, 2.0])).tolist() == [2.0, 3.0]


def test_writes_into_a_tensor_made_from_an_array_start_anew_at_each_call():
    compiled = tp.compile(lambda array: tp.from_numpy(array).add_(1))
    array = np.array([1.0, 2.0])
    for _ in range(3):
        assert compiled(array).tolist() == [2.0, 3.0]
    assert array.tolist() == [1.0, 2.0]


def test_a_global_array_is_read_anew():
    array = np.array([1.0, 2.0])
    compiled = tp.compile(lambda x: x * array)
    assert compiled(tp.ones(2)).tolist() == [1.0, 2.0]
    array[1] = 5.0
    assert compiled(tp.ones(2)).tolist() == [1.0, 5.0]
