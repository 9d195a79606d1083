"""A kernel that calls elementary functions many times calls copies of them that are not inlined, with the same bits."""

import numpy as np
import pytest

import tensorplay as tp


def chain(count):
    def function(x):
        for k in range(count):
            x = tp.sin(x) if k % 2 else tp.exp(x * -0.5)
        return x

    return function


@pytest.mark.parametrize("dtype", [tp.float32, tp.float64])
@pytest.mark.parametrize("size", [1, 37, 4096])
def test_many_calls_are_out_of_line_and_give_the_same_bits(dtype, size):
    x = tp.linspace(-3.0, 3.0, size, dtype=dtype)
    function = chain(40)
    compiled = tp.compile(function, strict_native=True)
    assert compiled(x).numpy().tobytes() == function(x).numpy().tobytes()
    (kernel,) = compiled.explain(x).kernels
    assert "TP_OUT_OF_LINE(exp) TP_OUT_OF_LINE(sin)" in kernel.source
    assert "tp::sin(" not in kernel.source


def test_few_calls_stay_inline():
    x = tp.from_numpy(np.ones(8, np.float32))
    (kernel,) = tp.compile(chain(4), strict_native=True).explain(x).kernels
    assert "TP_OUT_OF_LINE" not in kernel.source
