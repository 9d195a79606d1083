"""Random programs: lowered equals eager; and whatever the choices are, the result is the same."""

from __future__ import annotations

import contextlib
import random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stax.building import Build, arrays_like, run_eagerly, run_lowered, wide

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.target import AVX2, H100
from tensorplay.core import dtypes
from tensorplay.core.meta import TensorMeta

UNARY = ["neg", "abs", "relu", "exp", "sigmoid", "floor", "sqrt", "erf"]
BINARY = ["add", "sub", "mul", "maximum", "minimum", "div"]
REDUCTIONS = ["amax", "amin", "sum", "mean"]


class Drawing:
    """Draws a program step by step; every step keeps shapes small."""

    def __init__(self, rng, inputs):
        self.rng, self.build = rng, Build()
        self.values = [self.build.input(m) for m in inputs]
        self.exact = True

    def pick(self):
        # Late values first: programs become deep and values get several users.
        weights = [1 + 2 * k for k in range(len(self.values))]
        return self.rng.choices(self.values, weights)[0]

    def meta(self, node):
        return node.meta["val"]

    def step(self):
        kinds = ["unary"] * 4 + ["binary"] * 5 + ["view"] * 4 + ["reduce"] * 3
        kind = self.rng.choice([*kinds, "index", "lookup", "pieces", "window", "scan", "argmax"])
        found = getattr(self, kind)()
        if found is not None and self.meta(found).numel <= 4000:
            self.values.append(found)

    def floats(self):
        found = self.pick()
        return found if self.meta(found).dtype.kind == "f" else None

    def unary(self):
        x = self.floats()
        return None if x is None else getattr(self.build, self.rng.choice(UNARY))(x)

    def binary(self):
        x = self.floats()
        if x is None:
            return None
        if self.rng.random() < 0.2:
            name = self.rng.choice(["add", "sub", "mul", "div"])
            return getattr(self.build, name)(x, self.rng.choice([2, 0.5, -1.0]))
        shape = self.meta(x).shape
        partners = [y for y in self.values if broadcasts(self.meta(y), shape, self.meta(x).dtype)]
        return getattr(self.build, self.rng.choice(BINARY))(x, self.rng.choice(partners or [x]))

    def view(self):
        x = self.pick()
        b, shape = self.build, self.meta(x).shape
        if not shape:
            return b.unsqueeze(x, 0)
        dim = self.rng.randrange(len(shape))
        size = shape[dim]
        order = list(range(len(shape)))
        self.rng.shuffle(order)
        kind = self.rng.choice(["permute", "slice", "flip", "expand", "select", "view", "diagonal"])
        if kind == "permute":
            return b.permute(x, order)
        if kind == "slice" and size:
            start = self.rng.randrange(size)
            return b.slice(x, dim, start, self.rng.randint(start, size), self.rng.randint(1, 3))
        if kind == "flip":
            return b.flip(x, [dim])
        if kind == "expand":
            return b.expand(b.unsqueeze(x, 0), [self.rng.randint(1, 3), *shape])
        if kind == "select" and size:
            return b.select(x, dim, self.rng.randrange(size))
        if kind == "diagonal" and len(shape) > 1:
            return b.diagonal(x)
        if kind == "view" and self.meta(x).is_contiguous and self.meta(x).numel:
            return b.view(x, self.rng.choice([[-1], [1, -1], [*shape, 1], [shape[0], -1]]))
        return None

    def reduce(self):
        x = self.floats()
        if x is None or 0 in self.meta(x).shape:
            return None
        shape = self.meta(x).shape
        dims = self.rng.sample(range(len(shape)), self.rng.randint(0, len(shape)))
        name = self.rng.choice(REDUCTIONS)
        self.exact = self.exact and name.startswith("am")
        return getattr(self.build, name)(x, dims, self.rng.random() < 0.5)

    def argmax(self):
        x = self.floats()
        if x is None or not self.meta(x).shape or 0 in self.meta(x).shape:
            return None
        return self.build.argmax(x, self.rng.randrange(len(self.meta(x).shape)))

    def scan(self):
        x = self.floats()
        if x is None or not self.meta(x).shape:
            return None
        self.exact = False
        return self.build.cumsum(x, self.rng.randrange(len(self.meta(x).shape)))

    def index(self):
        x = self.pick()
        shape = self.meta(x).shape
        if not shape or 0 in shape:
            return None
        dim = self.rng.randrange(len(shape))
        count = self.rng.randint(1, 6)
        index = self.build.iota(count, -1, 1, dtypes.int64, None)
        index = self.build.remainder(index, shape[dim])
        source = self.build.index_select(x, dim, index)
        if self.meta(x).dtype is not dtypes.float32 or self.rng.random() < 0.5:
            return source
        wide_index = self.build.view(index, [1] * dim + [count] + [1] * (len(shape) - dim - 1))
        full = self.build.expand(wide_index, [*shape[:dim], count, *shape[dim + 1 :]])
        return self.build.scatter_add(x, dim, full, source)

    def lookup(self):
        """Places that are read from memory: values 0, 1 and 2."""
        x = self.pick()
        shape = self.meta(x).shape
        dims = [d for d, n in enumerate(shape) if n >= 3]
        if not dims:
            return None
        dim = self.rng.choice(dims)
        index = self.rng.choice([v for v in self.values if self.meta(v).dtype is dtypes.int64])
        if index.op != "placeholder":
            return None
        found = self.build.index(x, [*[None] * dim, index])
        if self.rng.random() < 0.5 or self.meta(x).dtype.kind != "f":
            return found
        return self.build.index_put(x, [*[None] * dim, index], found, True)

    def window(self):
        x = self.pick()
        shape = self.meta(x).shape
        if not shape or shape[-1] < 2:
            return None
        if self.rng.random() < 0.7:
            return self.build.unfold(x, len(shape) - 1, 2, self.rng.randint(1, 2))
        if x.op == "placeholder" or is_view(x) or self.meta(x).numel < 3:
            return None
        return self.build.as_strided(x, [2, 2], [1, 1], 0)

    def pieces(self):
        x = self.pick()
        shape = self.meta(x).shape
        if not shape:
            return None
        dim = self.rng.randrange(len(shape))
        same = [
            y
            for y in self.values
            if self.meta(y).dtype is self.meta(x).dtype
            and len(self.meta(y).shape) == len(shape)
            and all(
                a == b or k == dim
                for k, (a, b) in enumerate(zip(self.meta(y).shape, shape, strict=True))
            )
        ]
        return self.build.cat([x, *self.rng.sample(same, min(2, len(same)))], dim)

    def finish(self):
        count = self.rng.randint(1, 3)
        computed = [v for v in self.values if v.op == "call_function" and not is_view(v)]
        if not computed:
            computed = [self.build.neg(self.values[0])]
        last = computed[-1:]
        chosen = dict.fromkeys([*last, *self.rng.sample(computed, min(count, len(computed)))])
        return self.build.output(*chosen)


def is_view(node):
    return node.target.operator.kind.is_view


def broadcasts(meta, shape, dtype):
    if meta.dtype is not dtype:
        return False
    try:
        return np.prod(np.broadcast_shapes(meta.shape, shape)) <= 4000
    except ValueError:
        return False


LAYOUTS = {
    "row": lambda s: None,
    "column": lambda s: tuple(int(np.prod(s[:k], initial=1)) for k in range(len(s))),
    "reversed": lambda s: tuple(
        -int(np.prod(s[k + 1 :], initial=1)) if k == 0 else int(np.prod(s[k + 1 :], initial=1))
        for k in range(len(s))
    ),
    "broadcast": lambda s: (0, *(int(np.prod(s[k + 1 :], initial=1)) for k in range(1, len(s)))),
}


def draw_program(seed, dtype=dtypes.float32):
    rng = random.Random(seed)
    shape = tuple(rng.choice([1, 2, 3, 4, 7, 20]) for _ in range(rng.randint(1, 3)))
    metas = [TensorMeta(shape, dtype, strides=LAYOUTS[rng.choice(list(LAYOUTS))](shape))]
    if rng.random() < 0.6:
        metas.append(TensorMeta(shape[-1:], dtype))
    if rng.random() < 0.1:
        metas.append(TensorMeta((0, 3), dtype))
    metas.append(TensorMeta((rng.randint(1, 5),), dtypes.int64))
    drawing = Drawing(rng, metas)
    for _ in range(rng.randint(2, 14)):
        drawing.step()
    graph = drawing.finish()
    graph.verify()
    return graph, arrays_like(metas, seed), drawing.exact


def compare(expected, found, *, exact):
    for array, f in zip(expected, found, strict=True):
        e = np.asarray(array)
        assert (f.shape, f.dtype) == (e.shape, e.dtype)
        if exact:
            np.testing.assert_array_equal(wide(f), wide(e))
        else:
            np.testing.assert_allclose(wide(f), wide(e), rtol=1e-3, atol=1e-4, equal_nan=True)


@settings(max_examples=250)
@given(st.integers(0, 10**6))
def test_lowered_equals_eager(seed):
    graph, arrays, exact = draw_program(seed)
    with np.errstate(all="ignore"):
        found, _ = run_lowered(graph, arrays, seed=seed)
        compare(run_eagerly(graph, arrays), found, exact=exact)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_lowered_equals_eager_in_half_precision(seed):
    """Rounding after every operator, so that fusing changes no bit."""
    graph, arrays, exact = draw_program(seed, dtypes.bfloat16)
    with np.errstate(all="ignore"):
        expected = run_eagerly(graph, arrays)
        found, _ = run_lowered(graph, arrays, seed=seed)
        if exact:
            compare(expected, found, exact=True)


@contextlib.contextmanager
def random_choices(rng):
    """Every decision of `choices` by chance."""
    original = choices.pointwise_tiles

    def tiles(extents):
        return [rng.choice([1, 2, 3, 16, 64, n]) if n > 1 else 1 for n in extents]

    replacements = {
        "should_realize": lambda *_: rng.random() < 0.5,
        "reduction_segments": lambda length, outputs, kind, target, columns: rng.choice(
            [1, 1, 2, 3, 7] if kind not in choices.NO_SPLIT_KINDS and length > 7 else [1]
        ),
        "moments_in_one_pass": lambda *_: rng.random() < 0.5,
        "score_fusion": lambda *_: choices.Score(rng.randrange(100), 0),
        "can_fuse": lambda *_: None if rng.random() < 0.8 else "by chance",
        "fits_row_buffers": lambda *_: rng.random() < 0.7,
        "pointwise_tiles": tiles,
        "column_tile": lambda extent, _: rng.choice([1, 2, 5, 64, extent]),
    }
    del original
    with contextlib.ExitStack() as stack:
        for name, value in replacements.items():
            stack.enter_context(mock.patch.object(choices, name, value))
        stack.enter_context(mock.patch.object(choices, "MAX_DEPTH", rng.choice([1, 2, 40])))
        for name in ("TRANSPOSED_TILE", "TRANSPOSED_RUN"):
            stack.enter_context(mock.patch.object(choices, name, rng.choice([2, 3, 64])))
        yield


@settings(max_examples=300)
@given(st.integers(0, 10**6))
def test_random_choices_change_nothing(seed):
    graph, arrays, exact = draw_program(seed)
    rng = random.Random(seed)
    with np.errstate(all="ignore"):
        expected = run_eagerly(graph, arrays)
        with random_choices(rng):
            found, _ = run_lowered(graph, arrays, seed=seed)
        compare(expected, found, exact=exact)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_gpu_target_computes_the_same(seed):
    """Nothing above code generation knows the target but choices and tiles."""
    graph, arrays, exact = draw_program(seed)
    with np.errstate(all="ignore"):
        found, _ = run_lowered(graph, arrays, target=H100, seed=seed)
        compare(run_eagerly(graph, arrays), found, exact=exact)


@pytest.mark.parametrize("target", [AVX2, H100])
def test_schedules_are_deterministic(target):
    from tensorplay.compiler.backends.stax import pipeline

    graph, _, _ = draw_program(7)
    first = pipeline.plan_graph(graph, target)
    second = pipeline.plan_graph(graph, target)
    assert first.schedule.text() == second.schedule.text()
    assert first.plan.text() == second.plan.text()
