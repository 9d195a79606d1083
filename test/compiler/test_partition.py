"""Partition of joint graphs made by hand: Table 5.1, the rules for U, budgets, semantics."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplay.compiler.aot.joint_graph import JointGraph
from tensorplay.compiler.aot.partition import partition_min_cut
from tensorplay.compiler.aot.remat import CHAIN_LIMIT, Trait
from tensorplay.core.dtypes import float32
from tensorplay.core.errors import VerifyError
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Graph, Interpreter


class Builder:
    """Builds a joint graph: forward calls until the first tangent, backward calls after it."""

    def __init__(self, primals=1):
        self.graph = Graph()
        self.traits = {}
        self.tag = "FW"
        self.primals = [self.input(f"primals_{i + 1}", (32, 64)) for i in range(primals)]
        self.tangents = 0

    def input(self, name, shape):
        node = self.graph.placeholder(name)
        node.meta.update(val=TensorMeta(shape, float32), tag=self.tag)
        return node

    def tangent(self, shape=()):
        self.tag = "BW"
        self.tangents += 1
        with self.graph.inserting_after(self.graph.placeholders[-1]):
            return self.input(f"tangents_{self.tangents}", shape)

    def call(self, name, *args, shape=(32, 64), trait=Trait.POINTWISE, target=operator.add):
        node = self.graph.call_function(target, args, name=name)
        node.meta.update(val=TensorMeta(shape, float32), tag=self.tag)
        self.traits[node] = trait
        return node

    def finish(self, outputs, gradients):
        self.graph.output((*outputs, *gradients))
        joint = JointGraph(
            self.graph, len(self.primals), len(outputs), tuple(range(len(gradients)))
        )
        joint.verify()
        return joint

    def partition(self, outputs, gradients, **options):
        partition = partition_min_cut(
            self.finish(outputs, gradients), self.traits.__getitem__, **options
        )
        partition.forward.verify()
        partition.backward.verify()
        return partition


def example_5_1(**options):
    b = Builder(2)
    x, w = b.primals
    h = b.call("matmul", x, w, trait=Trait.EXTERN)
    g = b.call("gelu", h)
    s = b.call("sum", g, shape=(), trait=Trait.REDUCTION)
    up = b.call("expand", b.tangent(), trait=Trait.VIEW)
    dh = b.call("gelu_backward", up, h)
    t = b.call("t", x, shape=(64, 32), trait=Trait.VIEW)
    dw = b.call("matmul", t, dh, shape=(64, 64), trait=Trait.EXTERN)
    return b.partition([s], [dw], **options)


def test_table_5_1():
    partition = example_5_1()
    assert partition.capacities["matmul"] == 9011
    assert f"{partition.capacities['gelu']:.3g}" == "2.26e+08"
    assert partition.cut == 9011
    assert partition.saved == ("matmul",)
    assert [node.name for node in partition.backward_inputs] == [
        "matmul",
        "primals_1",
        "tangents_1",
    ]
    assert [node.name for node in partition.forward_outputs] == ["sum_0", "matmul"]
    assert [n.name for n in partition.backward.graph.nodes if n.op == "call_function"] == [
        "expand", "gelu_backward", "t", "matmul_0",
    ]  # fmt: skip


def test_the_text_shows_the_table():
    lines = example_5_1().text().splitlines()
    assert lines[:5] == [
        "value       capacity  in U  saved",
        "matmul          9011  yes   yes",
        "gelu       225781552  no    no",
        "sum_0          55122  yes   no",
        "minimum cut: 9011",
    ]


def test_budget_zero_saves_nothing_but_inputs():
    partition = example_5_1(memory_budget=0)
    assert partition.saved == ()
    assert [n.name for n in partition.backward.graph.nodes if n.op == "call_function"] == [
        "expand", "matmul", "gelu_backward", "t", "matmul_0",
    ]  # fmt: skip


def test_cheap_values_are_recomputed_from_inputs():
    b = Builder()
    (x,) = b.primals
    y = b.call("sin", b.call("exp", x))
    grad = b.call("mul", b.tangent((32, 64)), y)
    partition = b.partition([y], [grad])
    assert partition.saved == ()
    assert [node.name for node in partition.backward_inputs] == ["primals_1", "tangents_1"]


def test_a_value_that_the_backward_writes_anyway_is_saved():
    """Its reader there is a matrix product, through a view."""
    b = Builder()
    (x,) = b.primals
    y = b.call("exp", x)
    view = b.call("t", y, shape=(64, 32), trait=Trait.VIEW)
    out = b.call("sin", y)
    grad = b.call("matmul", view, b.tangent((32, 64)), shape=(64, 64), trait=Trait.EXTERN)
    assert b.partition([out], [grad]).saved == ("exp",)


def test_views_of_inputs_are_neither_saved_nor_charged():
    b = Builder()
    (x,) = b.primals
    view = b.call("t", x, shape=(64, 32), trait=Trait.VIEW)
    out = b.call("sin", x)
    grad = b.call("matmul", view, b.tangent((32, 64)), shape=(64, 64), trait=Trait.EXTERN)
    assert b.partition([out], [grad]).saved == ()


@pytest.mark.parametrize(("columns", "saved"), [(1, ("amax",)), (64, ())])
def test_reductions_are_saved_when_they_shrink_fourfold(columns, saved):
    b = Builder()
    (x,) = b.primals
    m = b.call("amax", b.call("exp", x), shape=(32, columns), trait=Trait.REDUCTION)
    out = b.call("sub", x, m)
    grad = b.call("mul", b.tangent((32, 64)), m)
    assert b.partition([out], [grad]).saved == saved


def test_random_state_is_always_saved():
    for budget in (0, 0.3, 1):
        b = Builder()
        (x,) = b.primals
        state = b.call("rng_state", shape=(2,), trait=Trait.EFFECT)
        mask = b.call("rand", state)
        out = b.call("mul", x, mask)
        grad = b.call("mul", b.tangent((32, 64)), mask)
        assert b.partition([out], [grad], memory_budget=budget).saved == ("rng_state",)


def test_random_state_that_only_advances_stays_in_the_forward():
    b = Builder()
    (x,) = b.primals
    b.call("rng_state", shape=(2,), trait=Trait.EFFECT)
    out = b.call("sin", x)
    partition = b.partition([out], [b.call("mul", b.tangent((32, 64)), x)])
    assert [n.name for n in partition.forward.graph.nodes][1] == "rng_state"
    assert "rng_state" not in [n.name for n in partition.backward.graph.nodes]


def test_a_long_chain_is_cut_into_pieces():
    b = Builder()
    value = b.primals[0]
    values = [value := b.call("sin", value) for _ in range(4 * CHAIN_LIMIT)]
    tangent = b.tangent((32, 64))
    for value in reversed(values):
        tangent = b.call("mul", tangent, value)
    partition = b.partition([values[-1]], [tangent])
    assert 2 <= len(partition.saved) <= 8


def test_a_value_read_near_and_far_is_not_recomputed():
    b = Builder()
    value = near = b.call("exp", b.primals[0])
    for _ in range(150):
        value = b.call("matmul", value, trait=Trait.EXTERN)
    out = b.call("add", value, near)
    partition = b.partition([out], [b.call("mul", b.tangent((32, 64)), near)])
    assert partition.saved == ("exp",)


def test_a_tuple_is_saved_by_its_items():
    b = Builder()
    pair = b.call("svd", b.primals[0], trait=Trait.EXTERN)
    pair.meta["val"] = (TensorMeta((2,), float32), TensorMeta((3,), float32))
    item = b.call("getitem", pair, 1, shape=(3,), trait=Trait.ITEM, target=operator.getitem)
    grad = b.call("mul", b.tangent((3,)), item)
    assert b.partition([item], [grad]).saved == (item.name,)


def test_without_a_finite_cut_everything_is_saved():
    b = Builder()
    pair = b.call("svd", b.primals[0], trait=Trait.EXTERN)
    pair.meta["val"] = (TensorMeta((2,), float32),)
    h = b.call("matmul", b.primals[0], trait=Trait.EXTERN)
    t = b.tangent((3,))
    partition_text = "none is finite: everything is saved"
    grad = b.call("mul", b.call("add", t, pair), h)
    joint = b.finish([h], [grad])
    partition = partition_min_cut(joint, b.traits.__getitem__)
    assert partition.cut is None
    assert partition.saved == ("matmul",)
    assert partition_text in partition.text()


def test_a_gradient_may_be_an_input_or_a_saved_value_or_stand_twice():
    b = Builder(4)
    h = b.call("matmul", b.primals[0], trait=Trait.EXTERN)
    t = b.tangent((32, 64))
    g = b.call("mul", t, h)
    partition = b.partition([h, b.primals[1]], [g, g, t, h])
    assert [n.name for n in partition.backward_outputs] == ["mul"]
    assert [n.name for n in partition.backward_inputs] == ["matmul", "tangents_1"]
    assert [n.name for n in partition.forward_outputs] == ["matmul"]


def test_joint_graph_verifies_tags():
    b = Builder()
    y = b.call("exp", b.tangent(()))
    b.tag = "FW"
    with pytest.raises(VerifyError, match=r"\[FW\] %sin reads \[BW\] %exp"):
        b.finish([b.call("sin", y)], [])


@st.composite
def joint_graphs(draw):
    """Random forward graphs, and backward graphs that read tangents and any earlier values."""
    b = Builder(draw(st.integers(1, 3)))
    values = list(b.primals)
    effectless = st.sampled_from([Trait.POINTWISE, Trait.EXTERN, Trait.VIEW, Trait.REDUCTION])
    for _ in range(draw(st.integers(1, 12))):
        left, right = (draw(st.sampled_from(values)) for _ in range(2))
        shape = draw(st.sampled_from([(), (8,), (32, 64)]))
        values.append(b.call("f", left, right, shape=shape, trait=draw(effectless)))
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    values += [b.tangent((32, 64)) for _ in outputs]
    for _ in range(draw(st.integers(1, 12))):
        left, right = (draw(st.sampled_from(values)) for _ in range(2))
        values.append(b.call("g", left, right, trait=draw(effectless)))
    gradients = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    return b, outputs, gradients


@given(joint_graphs(), st.sampled_from([0.0, 0.3, 1.0]))
def test_forward_and_backward_compute_what_the_joint_graph_does(problem, budget):
    b, outputs, gradients = problem
    partition = b.partition(outputs, gradients, memory_budget=budget)
    inputs = {node: 10.0**-place for place, node in enumerate(b.graph.placeholders)}
    right = Interpreter(b.graph).run(*inputs.values())
    primals = [inputs[node] for node in partition.joint.primals]
    known = dict(inputs)
    known.update(
        zip(
            partition.forward_outputs,
            Interpreter(partition.forward.graph).run(*primals),
            strict=True,
        )
    )
    assert tuple(known[node] for node in outputs) == right[: len(outputs)]
    given_values = [known[node] for node in partition.backward_inputs]
    computed = Interpreter(partition.backward.graph).run(*given_values)
    known.update(zip(partition.backward_outputs, computed, strict=True))
    assert tuple(known[node] for node in gradients) == right[len(outputs) :]


def test_twenty_thousand_nodes_are_partitioned_in_seconds():
    b = Builder()
    value = b.primals[0]
    values = []
    for place in range(10_000):
        trait = Trait.EXTERN if place % 5 == 0 else Trait.POINTWISE
        values.append(value := b.call("f", value, trait=trait))
    tangent = b.tangent((32, 64))
    for value in reversed(values):
        tangent = b.call("g", tangent, value)
    partition = b.partition([values[-1]], [tangent])
    assert 2_000 <= len(partition.saved) <= 2_100
