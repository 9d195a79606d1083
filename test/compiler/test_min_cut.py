"""Maximum flow, minimum cut, and Proposition 5.1 against enumeration."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplay.compiler.aot.min_cut import INFINITE, FlowNetwork, RematerializationNetwork


def network_of(capacities, edges, forbidden, required):
    network = RematerializationNetwork()
    for capacity in capacities:
        network.add_value(capacity)
    for producer, consumer in edges:
        network.add_dependence(producer, consumer)
    for value in forbidden:
        network.forbid_recomputing(value)
    for value in required:
        network.require(value)
    return network


def is_feasible(saved, edges, forbidden, required):
    """Definition 5.1: every path from U to B passes through a saved value."""
    reached = set(forbidden) - saved
    for producer, consumer in sorted(edges):
        if producer in reached and consumer not in saved:
            reached.add(consumer)
    return not reached & set(required)


@st.composite
def rematerializations(draw):
    count = draw(st.integers(1, 7))
    values = st.integers(0, count - 1)
    capacities = draw(st.lists(st.integers(1, 20), min_size=count, max_size=count))
    pairs = [(a, b) for a, b in itertools.combinations(range(count), 2)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    forbidden = draw(st.lists(values, unique=True))
    required = draw(st.lists(values, unique=True))
    return capacities, edges, forbidden, required


@given(rematerializations())
def test_minimum_cut_is_the_cheapest_feasible_save_set(problem):
    capacities, edges, forbidden, required = problem
    best = min(
        sum(capacities[value] for value in subset)
        for size in range(len(capacities) + 1)
        for subset in itertools.combinations(range(len(capacities)), size)
        if is_feasible(set(subset), edges, forbidden, required)
    )
    cut = network_of(*problem).minimum_cut()
    assert cut is not None
    assert cut.value == best == sum(capacities[value] for value in cut.saved)
    assert is_feasible(set(cut.saved), edges, forbidden, required)


def test_table_5_1():
    """Example 5.1: matmul is in U and read by the backward pass, gelu is neither."""
    gelu = int(2 * 8192 * 1.1**100)
    network = network_of([9011, gelu, 55_122], [(0, 1), (1, 2)], [0, 2], [0])
    assert network.minimum_cut() == (9011, (0,))


def test_without_a_finite_cut():
    network = network_of([INFINITE, 5], [(0, 1)], [0], [0])
    assert network.minimum_cut() is None


def test_nothing_to_save():
    assert network_of([3], [], [], [0]).minimum_cut() == (0, ())
    assert network_of([3], [], [0], []).minimum_cut() == (0, ())


def test_a_textbook_flow_that_must_be_undone():
    """The shortest path s-a-b-t is blocked by the best solution, which sends b's flow elsewhere."""
    network = FlowNetwork()
    s, a, b, c, d, t = (network.add_vertex() for _ in range(6))
    for tail, head in [(s, a), (a, b), (b, t), (a, c), (c, d), (d, t), (s, c), (c, b)]:
        network.add_edge(tail, head, 1)
    assert network.maximum_flow(s, t) == 2


@given(st.data())
def test_flow_equals_the_best_cut_of_any_network(data):
    count = data.draw(st.integers(2, 6))
    network = FlowNetwork()
    for _ in range(count):
        network.add_vertex()
    vertex = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 9)), max_size=15))
    for tail, head, capacity in edges:
        network.add_edge(tail, head, capacity)
    cuts = []
    for rest in itertools.product([False, True], repeat=count - 2):
        side = [True, False, *rest]
        cuts.append(sum(c for tail, head, c in edges if side[tail] and not side[head]))
    assert network.maximum_flow(0, 1) == min(cuts)


@pytest.mark.parametrize("length", [2_000, 20_000])
def test_long_chains_are_cut_in_linear_time(length):
    network = RematerializationNetwork()
    for value in range(length):
        network.add_value(10)
        if value:
            network.add_dependence(value - 1, value)
        if value % 3 == 0:
            network.forbid_recomputing(value)
        network.require(value)
    start = time.perf_counter()
    cut = network.minimum_cut()
    assert cut is not None
    assert cut.value == 10 * len(range(0, length, 3))
    assert time.perf_counter() - start < length / 2_000
