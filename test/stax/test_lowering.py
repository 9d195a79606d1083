"""Rules of one's own, what has no rule, layouts, verifiers."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pytest
from stax.building import Build, check, f32, graph_of, i64, run_lowered, stages_of

from tensorplay.compiler.backends.stax import pipeline, verify
from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
from tensorplay.compiler.backends.stax.ir import ExternBuffer
from tensorplay.compiler.backends.stax.loop_body import Compute, Constant, IndexExpr, Load, Store
from tensorplay.compiler.backends.stax.op_lowerings import pointwise, register_lowering
from tensorplay.compiler.backends.stax.schedule import Extern, Group
from tensorplay.compiler.target import AVX2
from tensorplay.core import dtypes
from tensorplay.core.config import config
from tensorplay.core.errors import CompileError, VerifyError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops import values as ops
from tensorplay.ops.registry import tp


@pytest.fixture
def own_rule():
    """Put a rule on an operator for the length of a test."""
    changed = []

    def put(name, rule):
        changed.append((tp[name], tp[name].lowering))
        return register_lowering(tp[name])(rule)

    yield put
    for operator, before in changed:
        operator.lowering = before


def test_a_rule_replaces_the_kinds_lowering(own_rule):
    """Lab experiment 3."""

    @lambda rule: own_rule("sigmoid", rule)
    def lower(x):
        return pointwise(lambda v: ops.reciprocal(ops.exp(-v) + 1.0), x)

    stages = check(lambda b, x: b.mul(b.sigmoid(x), 2), f32(6, 7), exact=False)
    (group,) = stages.schedule.groups
    names = [i.op for i in group.segments[0].body if isinstance(i, Compute)]
    assert names == ["neg", "exp", "add", "reciprocal", "mul"]


def test_pointwise_broadcasts_and_takes_numbers(own_rule):
    @lambda rule: own_rule("add", rule)
    def lower(input, other, *, alpha=1):
        return pointwise(lambda a, b, c: a + b * c, input, other, alpha)

    check(lambda b, x, y: b.add(x, y, alpha=3.0), f32(4, 1, 6), f32(5, 1))


def test_half_precision_in_rules_is_seen_as_float32(own_rule):
    seen = []

    @lambda rule: own_rule("relu", rule)
    def lower(x):
        def function(v):
            seen.append(v.dtype)
            return ops.relu(v)

        return pointwise(function, x)

    half = TensorMeta((8,), dtypes.bfloat16)
    check(lambda b, x: b.relu(x), half)
    assert set(seen) == {dtypes.float32}


def test_a_rule_must_return_a_tensor(own_rule):
    own_rule("relu", lambda x: 3)
    with pytest.raises(TypeError, match=r"relu\.default returned int, not a lowered tensor"):
        lower_graph(graph_of(lambda b, x: b.relu(x), f32(3)), AVX2)


COMPLEX = TensorMeta((3, 4), dtypes.complex64)


def test_what_has_no_rule_calls_its_kernel(caplog):
    graph = graph_of(lambda b, x: b.mul(b.exp(x), 2), COMPLEX)
    with caplog.at_level(logging.WARNING), config.override(lower_debug=True):
        stages = pipeline.plan_graph(graph, AVX2)
    assert [type(s) for s in stages.schedule.steps] == [Extern, Extern]
    assert stages.program.fallbacks == ("exp", "mul")
    assert (
        "no lowering: tensorplay.ops.tp.exp.default (%exp); its eager kernel is called"
        in caplog.text
    )
    x = (np.arange(12).reshape(3, 4) * 0.1j).astype(np.complex64)
    found, _ = run_lowered(graph, [x])
    np.testing.assert_array_equal(found[0], np.exp(x) * 2)


def test_without_the_knob_nothing_is_said(caplog):
    lower_graph(graph_of(lambda b, x: b.exp(x), COMPLEX), AVX2)
    assert caplog.text == ""


def test_strict_refuses_what_has_no_rule():
    graph = graph_of(lambda b, x: b.exp(x), COMPLEX)
    with pytest.raises(CompileError, match=r"exp\.default \(%exp\) has no lowering for complex64"):
        pipeline.plan_graph(graph, AVX2, strict=True)


# ---- external calls ------------------------------------------------------------------------------


def test_a_matrix_product_reads_views_without_copying():
    stages = check(
        lambda b, x, y: b.matmul(b.t(x), b.select(y, 0, 1)), f32(6, 5), f32(3, 6, 4), exact=False
    )
    (step,) = stages.schedule.steps
    assert step.text() == (
        "extern buf2 = tensorplay.ops.tp.matmul.default("
        "primals_1[5, 6]:[1, 5]+0, primals_2[6, 4]:[4, 1]+24)"
    )
    assert step.into


def test_what_an_external_call_reads_is_computed_once():
    """relu(x) has two readers; one is external, so it is in memory, and the other reads it there."""

    def function(b, x, w):
        y = b.relu(x)
        return b.matmul(y, w), b.neg(y)

    stages = check(function, f32(5, 6), f32(6, 7), exact=False)
    neg = next(g for g in stages.schedule.groups if "neg" in g.name)
    bodies = [i for s in neg.segments for i in s.body]
    assert sum(isinstance(i, Compute) and i.op == "relu" for i in bodies) <= 1


def test_views_of_views_of_computed_values_are_not_copied():
    def function(b, x, w):
        heads = b.permute(b.view(b.relu(x), [2, 3, 4]), [1, 0, 2])
        return b.matmul(b.select(heads, 0, 2), w)

    stages = check(function, f32(6, 4), f32(4, 5), exact=False)
    assert [type(s) for s in stages.schedule.steps] == [Group, Extern]


def test_results_of_several_tensors():
    def function(b, x):
        found = b.slogdet(x)
        return b.neg(b.item(found, 0)), b.add(b.item(found, 1), 1)

    stages = check(function, f32(2, 4, 4))
    externs = [b for b in stages.program.buffers if isinstance(b, ExternBuffer)]
    assert [b.position for b in externs] == [0, 1]
    assert "ExternBuffer(name='buf1'" in stages.program.text()


# ---- layouts -------------------------------------------------------------------------------------


def test_a_flexible_layout_follows_the_reads():
    """exp(x.t()) is only read by a product: written in x's order, both sides are contiguous."""
    stages = check(
        lambda b, x, y: b.add(b.cumsum(b.exp(b.t(x)), 1), y), f32(30, 20), f32(20, 30), exact=False
    )
    layouts = {b.name: b.layout.stride for b in stages.program.computed}
    assert layouts["buf2"] == (1, 20)


def test_one_row_major_read_keeps_the_layout_row_major():
    stages = check(
        lambda b, x, y: b.cumsum(b.exp(b.add(b.t(x), y)), 1), f32(30, 20), f32(20, 30), exact=False
    )
    assert stages.program.computed[0].layout.stride == (30, 1)


def test_outputs_have_the_strides_of_eager_execution():
    turned = f32(20, 30, strides=(1, 20))
    stages = check(lambda b, x: (b.exp(x), b.sum(x, [0])), turned, exact=False)
    strides = [stages.schedule.buffers[name].strides for name in stages.schedule.outputs]
    assert strides == [(1, 20), (1,)]


def test_a_result_that_is_an_input_is_a_copy():
    stages = check(lambda b, x: b.permute(x, [1, 0]), f32(4, 5))
    assert len(stages.schedule.steps) == 1


# ---- in-kernel simplification --------------------------------------------------------------------


def body_of(function, *metas):
    (group,) = stages_of(function, *metas).schedule.groups
    (segment,) = group.segments
    return segment.body


def test_equal_reads_and_operations_happen_once():
    body = body_of(lambda b, x: b.add(b.mul(x, x), b.mul(x, x)), f32(9))
    assert [type(i) for i in body] == [Load, Compute, Compute, Store]


def test_zero_and_minus_zero_are_two_constants():
    body = body_of(lambda b, x: b.add(b.add(x, 0.0), -0.0), f32(9))
    assert [repr(i.value) for i in body if isinstance(i, Constant)] == ["0.0", "-0.0"]


def test_a_user_written_round_trip_through_half_precision_stays():
    """B24: conversions are never dropped."""

    def function(b, x):
        return b.to_copy(b.to_copy(x, dtypes.bfloat16), dtypes.float32)

    body = body_of(function, f32(9))
    assert [i.dtype.name for i in body if isinstance(i, Compute)] == ["bfloat16", "float32"]
    check(function, f32(9))


def test_a_concatenation_is_split_at_its_seam():
    """Each part of the loop reads its side, without conditions."""
    stages = check(lambda b, x, y: b.mul(b.cat([x, y], 1), 2), f32(6, 35), f32(6, 50))
    (group,) = stages.schedule.groups
    ranges = [[(loop.start, loop.stop) for loop in s.loops][-1] for s in group.segments]
    assert ranges == [(0, 35), (35, 85)]
    for segment in group.segments:
        assert [type(i) for i in segment.body] == [Load, Constant, Compute, Store]
        assert segment.body[0].mask is None


def test_a_seam_in_a_tiled_loop_reads_each_side_under_its_condition():
    stages = check(lambda b, x, y: b.mul(b.cat([x, y], 0), 2), f32(6000), f32(7000))
    (group,) = stages.schedule.groups
    loads = [i for i in group.segments[0].body if isinstance(i, Load)]
    assert all(load.mask is not None for load in loads)


def test_rotary_embedding_has_a_part_a_half():
    def rope(b, x, c, s):
        turned = b.cat([b.neg(b.slice(x, 2, 32, 64)), b.slice(x, 2, 0, 32)], 2)
        return b.add(b.mul(x, c), b.mul(turned, s))

    (group,) = check(rope, f32(4, 10, 64), f32(10, 64), f32(10, 64)).schedule.groups
    assert [s.loops[-1].start for s in group.segments] == [0, 32]
    assert all(i.mask is None for s in group.segments for i in s.body if isinstance(i, Load))


def test_short_parts_keep_their_conditions():
    stages = check(lambda b, x, y: b.cat([x, y], 1), f32(600, 3), f32(600, 5))
    assert len(stages.schedule.groups[0].segments) == 1


def test_many_tensors_are_joined_in_rounds_so_that_the_text_stays_linear():
    def lengths(count):
        stages = check(lambda b, *xs: b.cat(xs, 0), *[f32(2, 3)] * count)
        return [len(body.instructions) for body in stages.program.bodies.values()]

    most, twice = max(lengths(64)), max(lengths(128))
    assert twice == most
    assert sum(lengths(128)) < 2.3 * sum(lengths(64))


def test_a_slice_scatter_reads_its_base_without_a_mask():
    stages = check(lambda b, x, y: b.slice_scatter(x, y, 0, 1, 3), f32(6, 5), f32(2, 5))
    loads = {
        i.buffer: i.mask for i in stages.schedule.groups[0].segments[0].body if isinstance(i, Load)
    }
    assert loads["primals_1"] is None
    assert loads["primals_2"] is not None


def test_conditions_that_the_range_decides_are_folded():
    """The first half of a concatenation that is sliced off again leaves nothing of the second."""
    stages = check(lambda b, x, y: b.neg(b.slice(b.cat([x, y], 0), 0, 0, 6)), f32(6, 5), f32(7, 5))
    (group,) = stages.schedule.groups
    assert group.reads == ("primals_1",)
    assert not any(isinstance(i, IndexExpr) for i in group.segments[0].body)


# ---- verifiers -----------------------------------------------------------------------------------


def test_the_verifier_names_group_segment_and_instruction():
    schedule = stages_of(lambda b, x: b.relu(x), f32(9)).schedule
    (group,) = schedule.groups
    (segment,) = group.segments
    broken = dataclasses.replace(segment, body=(segment.body[1], segment.body[0], segment.body[2]))
    changed = dataclasses.replace(schedule, steps=(dataclasses.replace(group, segments=(broken,)),))
    with pytest.raises(
        VerifyError, match=r"fused_relu_0, segment 0: tmp0 = relu\(tmp0\) .* reads tmp0"
    ):
        verify.verify_schedule(changed)


def test_the_verifier_finds_reads_before_writes():
    schedule = stages_of(lambda b, x, w: b.relu(b.matmul(x, w)), f32(4, 4), f32(4, 4)).schedule
    changed = dataclasses.replace(schedule, steps=schedule.steps[::-1])
    with pytest.raises(VerifyError, match=r"reads \['buf2'\] before they are written"):
        verify.verify_schedule(changed)


def test_the_verifier_finds_addresses_beyond_a_buffer():
    schedule = stages_of(lambda b, x: b.relu(x), f32(9)).schedule
    (info,) = [i for n, i in schedule.buffers.items() if n == "buf1"]
    small = dict(schedule.buffers) | {"buf1": dataclasses.replace(info, elements=8)}
    with pytest.raises(VerifyError, match=r"buf1\[x0\] reaches \[0, 8\] of 8 elements"):
        verify.verify_schedule(dataclasses.replace(schedule, buffers=small))


def test_random_numbers_stay_in_order():
    """Two draws of the generator's state are two effects, one after the other."""
    build = Build()
    first = build.rng_state(1)
    second = build.rng_state(1)
    graph = build.output(build.sub(second, first))
    stages = pipeline.plan_graph(graph, AVX2)
    names = [s.name for s in stages.schedule.steps if isinstance(s, Extern)]
    assert names == [first.name, second.name]
    assert all(s.effect for s in stages.schedule.steps if isinstance(s, Extern))


def test_embedding_gradients_add_up():
    check(lambda b, z, i, g: b.index_put(z, [i], g, True), f32(5, 4), i64(9), f32(9, 4))


def test_strict_native_refuses_eager_kernels():
    """Without it, the kernel of an operator that has no lowering is called from the compiled program."""
    import tensorplay

    z = tensorplay.tensor([1 + 2j, 3j])
    assert (tensorplay.compile(lambda z: z * 2)(z) == z * 2).all()
    with pytest.raises(CompileError, match="strict_native is on"):
        tensorplay.compile(lambda z: z * 2, strict_native=True)(z)
