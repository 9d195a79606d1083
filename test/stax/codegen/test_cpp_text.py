"""Kernels as people read them: the chapter's examples, printed for AVX2 (Listings 5.3, 6.5 and 6.6)."""

import pytest
from stax.building import f32, graph_of, i64, stages_of

from tensorplay.compiler.backends.stax import pipeline
from tensorplay.compiler.backends.stax.codegen.cpp_text import integer_literal, literal
from tensorplay.compiler.target import AVX2
from tensorplay.core import dtypes
from tensorplay.core.errors import CompileError


def sum_of_rows(b, x, w):
    """Example 1.1."""
    return b.sum(b.mul(b.relu(b.add(x, w)), 2), [-1])


def gelu_backward(b, upstream, h):
    """Listing 5.3: erf is computed again from h."""
    return b.gelu_backward(upstream, h)


def transposed_add(b, x, y):
    """Example 6.1."""
    return b.add(b.t(x), y)


def indices_that_are_read(b, x, index):
    """Example 6.3, g1."""
    return b.mul(b.index(x, [index]), 2)


def indices_that_are_computed(b, x):
    """Example 6.3, g2."""
    index = b.remainder(b.mul(b.iota(128, 0, 1, dtypes.int64, None), 3), 128)
    return b.mul(b.index(x, [index]), 2)


def softmax(b, x):
    e = b.exp(b.sub(x, b.amax(x, [-1], True)))
    return b.div(e, b.sum(e, [-1], True))


def column_sum(b, x):
    return b.sum(x, [0])


def argmax(b, x):
    return b.argmax(x, -1)


EXAMPLES = {
    "example_1_1": (sum_of_rows, [f32(64, 128), f32(64, 128)]),
    "listing_5_3": (gelu_backward, [f32(32, 64), f32(32, 64)]),
    "example_6_1": (transposed_add, [f32(512, 256), f32(256, 512)]),
    "listing_6_5": (indices_that_are_read, [f32(128), i64(40)]),
    "listing_6_6": (indices_that_are_computed, [f32(128)]),
    "softmax": (softmax, [f32(64, 1000)]),
    "column_sum": (column_sum, [f32(512, 70)]),
    "argmax": (argmax, [f32(64, 100)]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_kernel_text(name, golden):
    function, metas = EXAMPLES[name]
    stages = stages_of(function, *metas)
    sources = pipeline.print_sources(stages.plan, AVX2)
    golden(f"{name}.cpp", "\n".join(kernel.source for kernel in sources.kernels))


def test_the_same_graph_gives_the_same_text():
    function, metas = EXAMPLES["softmax"]
    texts = set()
    for _ in range(2):
        plan = pipeline.plan_graph(graph_of(function, *metas), AVX2).plan
        texts.add(pipeline.print_sources(plan, AVX2).kernels[0].source)
    assert len(texts) == 1


def test_literals():
    f16, f32_, f64 = dtypes.float16, dtypes.float32, dtypes.float64
    assert literal(0.1, f32_) == "0.1f"
    assert literal(-2, f32_) == "(-2.0f)"
    assert literal(-0.0, f64) == "(-0.0)"
    assert literal(1e300, f32_) == "__builtin_inff()"
    assert literal(float("-inf"), f64) == "(-__builtin_inf())"
    assert literal(float("nan"), f32_) == '__builtin_nanf("")'
    assert literal(1 / 3, f16) == "0.33325195f"
    assert literal(True, dtypes.bool_) == "true"
    assert literal(7, dtypes.uint8) == "uint8_t(7)"
    assert integer_literal(-(1 << 63), dtypes.int64) == "int64_t(-9223372036854775807 - 1)"
    assert integer_literal((1 << 64) - 1, dtypes.uint64) == "uint64_t(18446744073709551615u)"
    with pytest.raises(CompileError, match="complex"):
        literal(1j, dtypes.complex64)
