"""Every operator's samples, lowered alone: the loops compute what the operator's own kernel computes."""

from __future__ import annotations

import numpy as np
import pytest
from contract import build_call, good_samples, operators, tensors_in
from stax.building import Build, run_lowered, wide

from tensorplay.compiler.backends.stax import pipeline
from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
from tensorplay.compiler.backends.stax.ir import ComputedBuffer
from tensorplay.compiler.target import AVX2, H100
from tensorplay.core.config import config
from tensorplay.ops.kinds import Composite, Reduction, Structured
from tensorplay.ops.registry import tp as registry
from tensorplay.tensor import Tensor

UNKNOWABLE = {"empty", "nonzero", "bincount", "unique_parts", "masked_select", "runs"}
"""Operators whose result isn't decided by their arguments, or whose shape isn't by theirs."""
LOWERED = [
    o
    for o in operators()
    if not isinstance(o.kind, Composite) and not o.effect and o.name not in UNKNOWABLE
]


def graph_of_call(operator, args, kwargs):
    """A graph of one call, and the arrays of its inputs."""
    build, arrays = Build(), []

    def node(value):
        if isinstance(value, Tensor):
            arrays.append(value.array)
            return build.input(value.tensor_meta)
        if isinstance(value, (list, tuple)):
            return type(value)(map(node, value))
        return value

    call = [node(a) for a in args], {k: node(v) for k, v in kwargs.items()}
    metas = operator.signature.bind(args, kwargs)
    found = build.call(operator.overload_of(metas), *call[0], **call[1])
    values = found.meta["val"]
    if not isinstance(values, tuple):
        return build.output(found), arrays
    return build.output(*(build.item(found, k) for k in range(len(values)))), arrays


def has_complex(tensors):
    return any(t.dtype.kind == "c" for t in tensors)


def calls(operator):
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        results = operator(*args, **kwargs)
        tensors = [*tensors_in((args, kwargs)), *tensors_in(results)]
        if not has_complex(tensors):
            yield args, kwargs, [t.array for t in tensors_in(results)]


@pytest.mark.parametrize("target", [AVX2, H100], ids=["cpu", "gpu"])
@pytest.mark.parametrize("operator", LOWERED, ids=lambda each: each.name)
def test_loops_equal_the_kernel(operator, target):
    for args, kwargs, expected in calls(operator):
        graph, arrays = graph_of_call(operator, args, kwargs)
        found, stages = run_lowered(graph, arrays, target)
        assert stages.program.fallbacks == ()
        for e, f in zip(expected, found, strict=True):
            assert (e.shape, e.dtype) == (f.shape, f.dtype)
            if isinstance(operator.kind, Reduction) or operator.name in {"cumsum", "window_sum"}:
                np.testing.assert_allclose(wide(f), wide(e), rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(wide(f), wide(e))


@pytest.mark.parametrize("operator", LOWERED, ids=lambda each: each.name)
def test_kinds_make_loops(operator):
    """Only structured operators call their own kernel, and what they compute is read from memory."""
    for args, kwargs, _ in calls(operator):
        graph, _ = graph_of_call(operator, args, kwargs)
        program = lower_graph(graph, AVX2, strict=True)
        structured = isinstance(operator.kind, Structured) and operator.lowering is None
        for buffer in program.buffers[len(graph.inputs) :]:
            assert structured or isinstance(buffer, ComputedBuffer)


def test_texts_of_every_operator(golden):
    """What each kind lowers to, as text."""
    names = [
        "add",
        "relu",
        "gelu",
        "sum",
        "mean",
        "var",
        "amax",
        "argmax",
        "permute",
        "flip",
        "cat",
    ]
    names += ["gather", "scatter_add", "index", "slice_scatter", "cumsum", "iota", "where"]
    texts = []
    for name in names:
        operator = registry[name]
        args, kwargs, _ = next(calls(operator))
        graph, _ = graph_of_call(operator, args, kwargs)
        with config.override(verify=True):
            program = pipeline.plan_graph(graph, AVX2).program
        texts.append(f"# {name}\n{program.text()}")
    golden("operators.txt", "\n\n".join(texts))
