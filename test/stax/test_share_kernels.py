"""Groups that differ only in names and in where their data begins are launches of one kernel."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import nn
from tensorplay.compiler.backends.stax import pipeline
from tensorplay.compiler.backends.stax.index import variable
from tensorplay.compiler.backends.stax.loop_body import Compute, Load, Store
from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Inner, Outer, Segment
from tensorplay.compiler.backends.stax.share_kernels import generalize
from tensorplay.compiler.target import H100
from tensorplay.core.dtypes import float32


def recurrent(steps):
    tp.manual_seed(0)
    network = nn.LSTM(5, 6)

    def loss(x):
        y, _ = network(x)
        return (y * y).sum()

    return loss, network, tp.randn(steps, 3, 5)


@pytest.fixture(scope="module")
def explanations():
    found = []
    for steps in (12, 24):
        loss, _, x = recurrent(steps)
        found.append(tp.compile(loss, strict_native=True).explain(x))
    return found


def test_a_recurrent_network_has_as_many_kernels_for_any_number_of_steps(explanations):
    short, long = explanations
    assert len(long.forward.schedule.groups) > len(short.forward.schedule.groups) + 10
    for half in ("forward", "backward"):
        counts = [len(getattr(each, half).kernels) for each in explanations]
        assert counts[0] == counts[1], half


def test_the_kernels_of_a_gpu_are_shared_too(explanations):
    sources, groups = [], []
    for each in explanations:
        plan = pipeline.plan_graph(each.operator_graph, H100).plan
        sources.append(pipeline.print_sources(plan, H100))
        groups.append(plan.schedule.groups)
    assert len(groups[1]) > len(groups[0])
    assert len(sources[0].kernels) == len(sources[1].kernels)
    assert set(sources[1].launches) == {group.name for group in groups[1]}


def test_programs_share_the_kernels_that_they_have_in_common(explanations):
    short, long = (each.forward.kernels for each in explanations)
    assert len({k.source for k in short} & {k.source for k in long}) >= 2


def test_a_shared_kernel_computes_what_each_step_asks_for():
    loss, network, x = recurrent(7)
    parameters = list(network.parameters())
    wanted = tp.autograd.grad(loss(x), parameters)
    found = tp.autograd.grad(tp.compile(loss, strict_native=True)(x), parameters)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


# ---- where a pointer points ------------------------------------------------------------------------------------


X0 = variable("x0", 8)


def one_group(read, write=X0):
    body = (Load("a", read, float32), Compute("neg", (0,), float32, ()), Store("b", write, 1))
    segment = Segment((Inner(X0.as_symbol(), 8),), body, (), X0.as_symbol())
    outer = (Outer(X0.as_symbol(), 8, 8),)
    return Group("fused_neg_0", "cpu", outer, (), (segment,), ("a",), ("b",))


def pointers(group, strides=(1,), granule=4):
    infos = {n: BufferInfo(n, float32, (64,), strides, "cpu", 64) for n in ("a", "b")}
    general, _, found = generalize(group, infos, lambda _: granule)
    return general.segments[0].body[0].index, dict(found)


def test_a_constant_offset_becomes_a_pointer():
    assert pointers(one_group(X0 + 24, X0 + 8)) == (X0, {"a": 24, "b": 8})
    assert pointers(one_group(31 - X0)) == (-X0, {"a": 31, "b": 0})


def test_a_pointer_stays_inside_its_buffer():
    assert pointers(one_group(X0 - 8)) == (X0 - 8, {"a": 0, "b": 0})
    assert pointers(one_group(X0 + 64)) == (X0 + 64, {"a": 0, "b": 0})
    assert pointers(one_group(X0 + 24), strides=(-1,)) == (X0 + 24, {"a": 0, "b": 0})


def test_a_pointer_moves_by_what_keeps_its_alignment():
    assert pointers(one_group(X0 + 37), granule=64) == (X0 + 5, {"a": 32, "b": 0})


def test_pointers_are_numbered_as_they_are_used():
    def swapped(x, y):
        return tp.relu(y) - x

    stages = [
        tp.compile(f, strict_native=True).explain(tp.ones(3), tp.ones(3)).forward
        for f in (swapped, lambda x, y: swapped(y, x))
    ]
    assert stages[0].kernels[0].source == stages[1].kernels[0].source
    (first, second) = (stage.wrapper.text() for stage in stages)
    assert first != second
