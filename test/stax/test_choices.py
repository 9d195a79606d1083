"""Algorithm 6.1, the thresholds of section 6.6, tiles."""

from __future__ import annotations

import dataclasses

import pytest
from stax.building import f32, stages_of

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.target import AVX2, H100
from tensorplay.core import dtypes
from tensorplay.core.device import Device
from tensorplay.core.meta import TensorMeta


@pytest.mark.parametrize(
    "length, outputs, segments",
    [
        (16384, 64, 2),  # Example 6.2
        (16384, 264, 1),  # n >= 2S
        (16384, 263, 2),
        (8192, 1, 1),  # too short
        (1 << 20, 1, 128),  # n*n_r <= D_min: 32 elements a thread
    ],
)
def test_algorithm_6_1(length, outputs, segments):
    assert choices.reduction_segments(length, outputs, "sum", H100) == segments


def test_algorithm_6_1_in_the_middle_divides_evenly():
    segments = choices.reduction_segments(1 << 24, 1, "sum", H100)
    blocks = 132 * 2048 // (2 * 256)
    assert blocks // 2 <= segments <= 2 * blocks
    assert (1 << 24) % segments == 0


def test_algorithm_6_1_for_very_much_data():
    assert choices.reduction_segments(1 << 28, 8, "sum", H100) == (1 << 28) // (512 * 256)


@pytest.mark.parametrize("kind", ["argmax", "argmin", "welford"])
@pytest.mark.parametrize("target", [AVX2, H100])
def test_reductions_with_indices_are_never_split(kind, target):
    assert choices.reduction_segments(1 << 24, 1, kind, target) == 1


def test_cpu_segments_do_not_depend_on_the_threads():
    for threads in (1, 2, 64):
        target = dataclasses.replace(AVX2, threads=threads)
        assert choices.reduction_segments(1 << 24, 1, "sum", target) == 64
        assert choices.reduction_segments(1 << 24, 2048, "sum", target, columns=True) == 16
        assert choices.reduction_segments(2048, 8192, "sum", target) == 1


# ---- materialization -----------------------------------------------------------------------------


def materialized(function, *metas, target=AVX2):
    """The number of buffers of a function whose value `y` has two users, without the outputs."""
    stages = stages_of(function, *metas, target=target)
    return len(stages.program.computed) - len(stages.program.outputs)


def twice(make):
    def function(b, *inputs):
        y = make(b, *inputs)
        return b.amax(y, [0]), b.amax(b.neg(y), [1])

    return function


X = f32(40, 50)


def cuda(*shape):
    return TensorMeta(shape, dtypes.float32, Device("cuda", 0))


@pytest.mark.parametrize("name", ["exp", "log", "log10", "log1p", "log2", "sigmoid", "tanh"])
def test_transcendental_functions_are_materialized_on_the_cpu(name):
    make = twice(lambda b, x: getattr(b, name)(x))
    assert materialized(make, X) == 1
    assert materialized(make, cuda(40, 50), target=H100) == 0


def test_cheap_values_are_inlined():
    assert materialized(twice(lambda b, x: b.relu(b.add(x, 1.0))), X) == 0


def chain(count):
    def make(b, x):
        for k in range(count):
            x = b.add(x, 0.5 + k)
        return x

    return twice(make)


@pytest.mark.parametrize("target, meta, limit", [(AVX2, X, 50), (H100, cuda(40, 50), 30)])
def test_long_computations_are_materialized(target, meta, limit, monkeypatch):
    monkeypatch.setattr(choices, "MAX_DEPTH", 1000)
    assert materialized(chain(limit - 5), meta, target=target) == 0
    assert materialized(chain(limit + 5), meta, target=target) == 1


def sum_of(count, reads=1):
    def make(b, *inputs):
        total = None
        for x in inputs[:count]:
            for k in range(reads):
                term = b.mul(x, k + 1.0)
                total = term if total is None else b.add(total, term)
        return total

    return twice(make)


def test_many_buffers_are_materialized():
    metas = [X] * 5
    assert materialized(sum_of(4), *metas) == 0
    assert materialized(sum_of(5), *metas) == 1


def test_accumulated_reads_are_materialized():
    assert materialized(sum_of(2, reads=6), X, X) == 0
    assert materialized(sum_of(2, reads=7), X, X) == 1
    gpu = [cuda(40, 50)] * 2
    assert materialized(sum_of(2, reads=4), *gpu, target=H100) == 0
    assert materialized(sum_of(2, reads=5), *gpu, target=H100) == 1


def test_many_users_near_the_limit(monkeypatch):
    monkeypatch.setattr(choices, "MAX_DEPTH", 1000)

    def function(users):
        def build(b, x):
            y = x
            for k in range(40):
                y = b.add(y, 0.5 + k)
            return tuple(b.amax(b.mul(y, k + 1.0), [k % 2]) for k in range(users))

        return build

    assert materialized(function(5), X) == 0
    assert materialized(function(6), X) == 1


def test_a_value_used_twice_by_one_node_does_not_double_forever():
    """x*x of x*x of …: the reads accumulate, so that the closures don't run an exponential number of times."""

    def squares(b, x):
        for _ in range(60):
            x = b.mul(x, x)
        return x

    stages = stages_of(squares, X)
    (group,) = stages.schedule.groups
    assert sum(len(s.body) for s in group.segments) <= 62


# ---- tiles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "extents, steps",
    [
        ([1 << 24], [4096]),
        ([8192, 2048], [2, 2048]),
        ([100, 64], [12, 64]),
        ([3, 1 << 20], [1, 4096]),
        ([1000], [256]),
        ([7], [7]),
    ],
)
def test_pointwise_tiles(extents, steps):
    assert choices.pointwise_tiles(extents) == steps


def test_column_tiles_leave_work_for_threads():
    assert choices.column_tile(2048, 16) == 2048
    assert choices.column_tile(2048, 1) == 256
    assert choices.column_tile(64, 1) == 64
    assert choices.column_tile(10, 1) == 10
