"""Lifetimes, slots, writing in place, write-backs."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stax.building import f32, graph_of, i64, stages_of
from stax.test_random_programs import draw_program

from tensorplay.compiler.backends.stax import pipeline, verify
from tensorplay.compiler.backends.stax.memory import (
    ALIGNMENT,
    Arena,
    round_up,
)
from tensorplay.compiler.backends.stax.schedule import Allocation, Place
from tensorplay.compiler.target import AVX2
from tensorplay.core.config import config
from tensorplay.core.errors import VerifyError


def products(count):
    """A chain of matrix products with a pointwise step between them: every value has one reader."""

    def function(b, x, w):
        for _ in range(count):
            x = b.relu(b.matmul(x, w))
        return x

    return function


def test_a_chain_needs_two_slots_at_most():
    plan = stages_of(products(6), f32(100, 100), f32(100, 100)).plan
    size = round_up(4 * 100 * 100)
    assert plan.arena_bytes <= 2 * size
    assert {a.place for a in plan.allocations.values()} == {Place.INPUT, Place.ARENA, Place.OUTPUT}


def test_the_last_reader_writes_in_place():
    """The relu of a product is written over the product."""
    stages = stages_of(products(2), f32(100, 100), f32(100, 100))
    first, second = [s for s in stages.schedule.steps if s.text().startswith("group")]
    (read,), (written,) = first.reads, first.writes
    places = stages.plan.allocations
    assert places[read].offset == places[written].offset
    assert places[second.writes[0]].place is Place.OUTPUT
    assert stages.plan.arena_bytes == 2 * round_up(40000)


def test_a_transposed_reader_does_not():
    def function(b, x, w):
        y = b.matmul(x, w)
        z = b.contiguous_copy(b.t(y)) if "contiguous_copy" in dir(b) else b.neg(b.flip(y, [0]))
        return b.matmul(z, w)

    stages = stages_of(function, f32(64, 64), f32(64, 64))
    verify.verify_plan(stages.plan)
    offsets = [a.offset for a in stages.plan.allocations.values() if a.place is Place.ARENA]
    assert len(offsets) == len(set(offsets)) == 2


def test_text():
    text = stages_of(products(1), f32(8, 8), f32(8, 8)).plan.text()
    assert text.splitlines() == [
        "arena: 256 bytes",
        "primals_1: float32[8, 8] stride=[8, 1] input",
        "primals_2: float32[8, 8] stride=[8, 1] input",
        "buf2: float32[8, 8] stride=[8, 1] arena at 0",
        "buf3: float32[8, 8] stride=[8, 1] output",
    ]


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_the_arena_never_gives_memory_twice(seed):
    rng = random.Random(seed)
    arena, held = Arena(), {}
    for k in range(60):
        if held and rng.random() < 0.45:
            offset, size = held.pop(rng.choice(list(held)))
            arena.free(offset, size)
        else:
            size = rng.choice([1, 64, 100, 4096, 5000])
            held[k] = (arena.allocate(size), size)
        blocks = sorted((o, round_up(s)) for o, s in held.values())
        for (a, n), (b, _) in itertools.pairwise(blocks):
            assert a + n <= b
        free = sum(n for _, n in arena.holes)
        assert free + sum(n for _, n in blocks) == arena.size
        assert all(o % ALIGNMENT == 0 for o, _ in blocks)


@settings(max_examples=100)
@given(st.integers(0, 10**6))
def test_plans_of_random_programs_hold(seed):
    graph, _, _ = draw_program(seed)
    plan = pipeline.plan_graph(graph, AVX2).plan
    verify.verify_plan(plan)
    assert set(plan.allocations) == set(plan.schedule.buffers)


def test_the_verifier_finds_shared_memory():
    plan = stages_of(products(3), f32(100, 100), f32(100, 100)).plan
    held = [a.buffer for a in plan.allocations.values() if a.place is Place.ARENA]
    changed = dict(plan.allocations)
    for name in held:
        changed[name] = Allocation(name, Place.ARENA, 0)
    with pytest.raises(VerifyError, match="while both are alive"):
        verify.verify_plan(dataclasses.replace(plan, allocations=changed))


# ---- write-backs ---------------------------------------------------------------------------------


def written_back(function, *metas):
    """The stages of a function whose first output the caller will copy into its first input."""
    graph = graph_of(function, *metas)
    graph.outputs[0].meta["write_back"] = graph.inputs[0].name
    with config.override(verify=True):
        return pipeline.plan_graph(graph, AVX2)


def test_an_update_is_written_into_its_parameter():
    stages = written_back(lambda b, p, g: b.sub(p, b.mul(g, 0.1)), f32(50, 30), f32(50, 30))
    assert stages.schedule.aliases == {"buf2": "primals_1"}
    place = stages.plan.allocations["buf2"]
    assert (place.place, place.alias) == (Place.WRITE_BACK, "primals_1")


def test_not_where_another_element_is_read():
    stages = written_back(lambda b, p: b.add(b.flip(p, [0]), 1.0), f32(50))
    assert stages.schedule.aliases == {}
    assert stages.plan.allocations["buf1"].place is Place.OUTPUT


def test_not_where_a_later_step_reads_the_old_value():
    def later(b, p, g, w):
        new = b.sub(p, b.mul(g, 0.1))
        return new, b.matmul(b.matmul(new, w), p)

    assert written_back(later, *[f32(50, 50)] * 3).schedule.aliases == {}


def test_not_where_the_row_is_read_again_after_it_was_written():
    """Two segments: the second still reads x where the first wrote its result."""

    def rows(b, x):
        y = b.exp(x)
        return y, b.amax(b.sub(x, b.amax(y, [-1], True)), [-1])

    stages = written_back(rows, f32(64, 300))
    (group,) = stages.schedule.groups
    assert len(group.segments) == 2
    assert stages.schedule.aliases == {}


def test_not_where_layouts_differ():
    turned = f32(50, 30, strides=(1, 50))
    stages = written_back(lambda b, p, g: b.sub(g, p), turned, f32(50, 30))
    same = stages.schedule.buffers["buf2"].strides == (1, 50)
    assert bool(stages.schedule.aliases) == same


def test_not_where_an_index_may_still_be_out_of_range():
    """The input must be as it was when the error is raised."""

    def function(b, p, index, table):
        return b.add(p, b.index(table, [index]))

    assert written_back(function, f32(50), i64(50), f32(9)).schedule.aliases == {}
