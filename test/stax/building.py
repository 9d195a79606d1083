"""Operator graphs built by hand, run eagerly, lowered, and run again by the interpreter of schedules."""

from __future__ import annotations

import operator

import ml_dtypes
import numpy as np
from stax.interpret import run_schedule

from tensorplay.compiler.backends.stax import pipeline
from tensorplay.compiler.phases import OperatorGraphBuilder
from tensorplay.compiler.target import AVX2
from tensorplay.core import dtypes
from tensorplay.core.config import config
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import map_nodes
from tensorplay.ops.registry import tp


class Build(OperatorGraphBuilder):
    """Calls operators by name; the overload follows from the arguments."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        op = tp[name]

        def call(*args, **kwargs):
            metas = tuple(map_nodes(a, lambda n: n.meta["val"]) for a in args)
            overload = op.overload_of(op.signature.bind(metas, kwargs))
            return self.call(overload, *args, **kwargs)

        return call


def f32(*shape, strides=None):
    return TensorMeta(shape, dtypes.float32, strides=strides)


def i64(*shape):
    return TensorMeta(shape, dtypes.int64)


def graph_of(function, *metas):
    """The operator graph of `function(build, *inputs)`."""
    build = Build()
    found = function(build, *(build.input(m) for m in metas))
    return build.output(*(found if isinstance(found, tuple) else (found,)))


def stages_of(function, *metas, target=AVX2, **options):
    """All stages of a function, verified."""
    with config.override(verify=True):
        return pipeline.plan_graph(graph_of(function, *metas), target, **options)


def arrays_like(metas, seed=0):
    """Arrays with the dtypes, shapes and strides of metas."""
    rng = np.random.default_rng(seed)
    return [array_like(m, rng) for m in metas]


def array_like(meta, rng):
    dtype = meta.dtype.numpy
    count = (
        1 + sum((n - 1) * abs(t) for n, t in zip(meta.shape, meta.strides, strict=True))
        if meta.numel
        else 0
    )
    if meta.dtype.kind == "f":
        flat = rng.standard_normal(count).astype(dtype)
    elif meta.dtype.kind == "b":
        flat = rng.integers(0, 2, count).astype(bool)
    else:
        flat = rng.integers(0, 3, count).astype(dtype)
    steps = [t * flat.itemsize for t in meta.strides]
    low = sum((1 - n) * t for n, t in zip(meta.shape, meta.strides, strict=True) if t < 0 and n)
    return np.lib.stride_tricks.as_strided(flat[low:], meta.shape, steps)


def run_eagerly(graph, arrays):
    """What the operators' own kernels give."""
    values = dict(zip(graph.inputs, arrays, strict=True))
    for node in graph.graph.nodes:
        if node.op != "call_function":
            continue
        args = [map_nodes(a, values.__getitem__) for a in node.args]
        kwargs = {k: map_nodes(a, values.__getitem__) for k, a in node.kwargs.items()}
        if node.target is operator.getitem:
            values[node] = args[0][args[1]]
        else:
            values[node] = node.target.operator.kernel(*args, **kwargs)
    return [values[node] for node in graph.outputs]


def run_lowered(graph, arrays, target=AVX2, seed=0):
    """The same through lowering and scheduling, on the interpreter of schedules."""
    with config.override(verify=True):
        stages = pipeline.plan_graph(graph, target)
    inputs = {node.name: a for node, a in zip(graph.inputs, arrays, strict=True)}
    return run_schedule(stages.schedule, inputs, seed), stages


def wide(array):
    """An array in a dtype that NumPy compares exactly."""
    kinds = (ml_dtypes.bfloat16, np.float16)
    return array.astype(np.float32) if array.dtype in kinds else array


def check(function, *metas, arrays=None, exact=True, target=AVX2):
    """Lowered equals eager, bit for bit or within rounding; return the stages."""
    graph = graph_of(function, *metas)
    arrays = arrays_like(metas) if arrays is None else arrays
    expected = run_eagerly(graph, arrays)
    found, stages = run_lowered(graph, arrays, target)
    for node, array, f in zip(graph.outputs, expected, found, strict=True):
        e = np.asarray(array)
        assert (f.shape, f.dtype) == (e.shape, e.dtype)
        assert (
            stages.schedule.buffers[name_of(stages, graph, node)].strides
            == node.meta["val"].strides
        )
        if exact:
            np.testing.assert_array_equal(wide(f), wide(e))
            assert (np.signbit(wide(f)) == np.signbit(wide(e))).all() or np.isnan(wide(e)).any()
        else:
            np.testing.assert_allclose(wide(f), wide(e), rtol=2e-5, atol=2e-5)
    return stages


def name_of(stages, graph, node):
    """The buffer of an output."""
    return stages.schedule.outputs[graph.outputs.index(node)]
