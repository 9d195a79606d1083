"""Groups made by hand, built as C++ kernels and run beside the interpreter of schedules."""

import itertools

import numpy as np
from stax import interpret

from tensorplay.compiler.backends.stax.async_compile import AsyncCompile
from tensorplay.compiler.backends.stax.codegen.cpp import print_kernel
from tensorplay.compiler.backends.stax.index import Symbol, from_symbol, to_expr
from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Inner, Outer, Role
from tensorplay.compiler.target import AVX2, AVX512, GENERIC, host_target
from tensorplay.core import dtypes

HOST = host_target(1)
TARGETS = {
    "avx512": [AVX512, AVX2, GENERIC],
    "avx2": [AVX2, GENERIC],
}.get(HOST.isa, [HOST])


def symbol(name, extent):
    return Symbol(name, 0, extent - 1)


def var(s):
    return from_symbol(s) if s.extent > 1 else to_expr(0)


def info(name, dtype, shape):
    strides, size = [], 1
    for n in reversed(shape):
        strides.insert(0, size)
        size *= n
    return BufferInfo(name, dtype, tuple(shape), tuple(strides), "cpu", size)


def buffers_of(arrays):
    by_type = {d.numpy: d for d in dtypes.ALL_DTYPES}
    return {name: info(name, by_type[a.dtype], a.shape) for name, a in arrays.items()}


def pointwise(name, body, reads, writes, extent, step=None, **rest):
    """One loop over `extent` elements, in tiles of `step`."""
    step = step or extent
    x0 = symbol("x0", extent)
    outer = (Outer(x0, extent, step),) if extent > 1 else ()
    loops = (Inner(x0, extent),) if extent > 1 and step > 1 else ()
    from tensorplay.compiler.backends.stax.schedule import Segment

    segment = Segment(loops, tuple(body(x0)), (), x0 if loops else None)
    return Group(name, "cpu", outer, (), (segment,), tuple(reads), tuple(writes), **rest)


def build(groups, buffers, target):
    """Compile groups that have different names; return the kernels by name."""
    compiler = AsyncCompile(target.isa)
    scope = {}
    for group in groups:
        source = print_kernel(group, buffers[group.name], target).source
        scope[group.name] = compiler.cpp(group.name, source)
    compiler.wait(scope)
    return scope


def run_kernel(kernel, group, arrays, pieces=1):
    """Run a kernel on copies of arrays, in several calls; return them and what the kernel answered."""
    out = {name: np.array(a) for name, a in arrays.items()}
    order = [out[n] for n in (*group.reads, *group.writes, *group.updates)]
    edges = [group.iterations * k // pieces for k in range(pieces + 1)]
    status = 0
    for begin, end in itertools.pairwise(edges):
        status = status or kernel(order, begin, end)
    return out, status


def interpret_group(group, arrays):
    """Run a group with the interpreter; return the arrays."""
    out = {name: np.array(a) for name, a in arrays.items()}
    memory = {name: interpret.Memory(a.reshape(-1)) for name, a in out.items()}
    interpret.run_group(group, memory, np.random.default_rng(0))
    return out


def differing(a, b):
    """The places where two arrays differ; any NaN equals any other, and the signs of zeros count."""
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if a.dtype.kind in "iub":
        return np.flatnonzero(a != b)
    wide = np.float32 if a.dtype.itemsize < 4 else a.dtype
    a, b = a.astype(wide).ravel(), b.astype(wide).ravel()
    equal = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return np.flatnonzero(~equal)


def check(groups_and_arrays, *, close=(), pieces=1, targets=None):
    """Compile all groups at once for every target; compare what they write with the interpreter."""
    expected = [interpret_group(g, arrays) for g, arrays in groups_and_arrays]
    for target in targets or TARGETS:
        buffers = {g.name: buffers_of(arrays) for g, arrays in groups_and_arrays}
        kernels = build([g for g, _ in groups_and_arrays], buffers, target)
        for (group, arrays), want in zip(groups_and_arrays, expected, strict=True):
            got, status = run_kernel(kernels[group.name], group, arrays, pieces)
            assert status == 0, (group.name, target.isa)
            for name in arrays:
                if name in close:
                    np.testing.assert_allclose(
                        got[name].astype(np.float64),
                        want[name].astype(np.float64),
                        rtol=close[name],
                        atol=1e-30,
                        err_msg=f"{group.name} {name} {target.isa}",
                    )
                else:
                    assert not differing(got[name], want[name]).size, (
                        group.name,
                        name,
                        target.isa,
                        got[name],
                        want[name],
                    )


__all__ = ["Inner", "Outer", "Role"]
