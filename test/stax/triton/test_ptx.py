"""Printed kernels through Triton's compiler to PTX, without a GPU."""

import re

import numpy as np
import pytest
from stax.triton.programs import meta, printed
from stax.triton.test_instructions import DTYPES, applicable, one_instruction
from stax.triton.test_interpreted import (
    POINTWISE,
    example_1_1,
    layer_norm,
    scaled,
    softmax,
    two_reductions,
)

import tensorplay as tp
from tensorplay.compiler.backends.stax.codegen import triton_toolchain
from tensorplay.compiler.backends.stax.codegen.triton import print_triton
from tensorplay.compiler.target import H100
from tensorplay.core.errors import CompilerNotFoundError

PROGRAMS = {
    "1.1": (example_1_1, meta(64, 128), meta(64, 128)),
    "6.1": (POINTWISE["6.1"][0], meta(512, 256), meta(256, 512)),
    "6.2": (lambda x: (x * x).sum(-1), meta(64, 16384)),
    "7.1": (scaled, meta(64, 128)),
    "7.2": (two_reductions, meta(64, 128)),
    "softmax": (softmax, meta(64, 1000)),
    "layer_norm": (layer_norm, meta(64, 1000), meta(1000), meta(1000)),
    "backward_5.1": (
        lambda tangent, h: tp.ops.tp.gelu_backward(tangent.expand(32, 64), h),
        meta(),
        meta(32, 64),
    ),
    "argmax": (lambda x: x.argmax(-1), meta(64, 5000)),
    "variance": (lambda x: x.var(-1), meta(64, 100)),
    "running sum": (lambda x: x.cumsum(-1), meta(8, 100)),
    "checked": (lambda x, i: x[i] * 2, meta(128), meta(64, dtype=tp.int64)),
    "half": (lambda x: (x * 2 + x).sum(-1), meta(64, 100, dtype=tp.bfloat16)),
    "scatter": (
        lambda t, i, s: t.scatter_add(0, i, s),
        meta(30, 3), meta(20, 3, dtype=tp.int64), meta(20, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compile(name):
    function, *metas = PROGRAMS[name]
    for kernel in printed(function, *metas).kernels:
        ptx = triton_toolchain.compile_ptx(kernel, H100)
        assert f".entry {kernel.name}(" in ptx
        assert ".target sm_90" in ptx
        # libdevice scales what it hands to ex2.approx.ftz; arithmetic keeps subnormal numbers.
        assert not re.search(r"\b(add|sub|mul|div|sqrt|max|min)\.\S*ftz", ptx)
        parameters = re.search(r"\.entry \w+\((.*?)\)", ptx, re.DOTALL)[1].count(".param")
        # The two last ones are Triton's own, for scratch memory.
        assert parameters == len(kernel.parameters) + 2


def test_the_programs_own_arithmetic_is_not_contracted():
    (kernel,) = printed(lambda x, y, z: x * y + z, *[meta(1000)] * 3).kernels
    ptx = triton_toolchain.compile_ptx(kernel, H100)
    assert "fma" not in ptx
    assert "mul.f32" in ptx or "mul.rn.f32" in ptx


def test_indices_have_32_bits_where_that_is_enough():
    def add(x):
        return x + 1

    (small,) = printed(add, meta(1 << 20)).kernels
    (large,) = printed(add, meta(1 << 33)).kernels
    assert "int64" not in small.source
    assert "tl.program_id(0).to(tl.int64)" in large.source
    assert "mul.wide.s32" in triton_toolchain.compile_ptx(small, H100)
    assert large.grid_for(large.blocks) == (1 << 23,)
    triton_toolchain.compile_ptx(large, H100)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_every_instruction_compiles(dtype):
    for arity in (1, 2):
        ops = applicable(dtype, arity)
        if ops:
            schedule = one_instruction(ops, arity, 1000, dtype)
            kernel = print_triton(schedule.groups[0], schedule.buffers, H100)
            triton_toolchain.compile_ptx(kernel, H100, {"XBLOCK": 32})


def test_other_block_sizes_can_be_chosen():
    (kernel,) = printed(lambda x: x + 1, meta(100_000)).kernels
    texts = {triton_toolchain.compile_ptx(kernel, H100, {"XBLOCK": n}) for n in (128, 512)}
    assert len(texts) == 2
    assert kernel.grid_for({"XBLOCK": 512}) == (int(np.ceil(100_000 / 512)),)


def test_without_triton_the_error_says_what_to_install(monkeypatch):
    (kernel,) = printed(lambda x: x + 1, meta(8)).kernels
    monkeypatch.setitem(__import__("sys").modules, "triton", None)
    with pytest.raises(CompilerNotFoundError, match=r"tensorplay\[triton\]"):
        triton_toolchain.compile_ptx(kernel, H100)
