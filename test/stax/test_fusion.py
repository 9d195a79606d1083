"""What is fused, what isn't and why; order; the number of candidates."""

from __future__ import annotations

import time

import pytest
from stax.building import Build, check, f32, i64, stages_of

from tensorplay.compiler.backends.stax import choices, clusters, pipeline
from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
from tensorplay.compiler.backends.stax.index import variable
from tensorplay.compiler.backends.stax.loop_body import Load, LoopBody, Reduce, Scan, Store
from tensorplay.compiler.backends.stax.loop_nodes import SymbolSource, make_node
from tensorplay.compiler.backends.stax.schedule import Extern, Group, Reason
from tensorplay.compiler.backends.stax.scheduler import legal, schedule_program
from tensorplay.compiler.target import AVX2
from tensorplay.core import dtypes
from tensorplay.core.device import Device
from tensorplay.core.meta import TensorMeta


def cluster(name, position, stored, *loaded, loops, reduced=(), device="cpu", scanned=None, source):
    """One node: `name` written at `stored`, reading (buffer, address) pairs."""
    instructions = [Load(buffer, e, dtypes.float32) for buffer, e in loaded]
    value = 0
    if reduced:
        value = len(instructions)
        instructions.append(Reduce("sum", (0,), dtypes.float32))
    if scanned is not None:
        value = len(instructions)
        instructions.append(Scan("sum", 0, dtypes.float32))
    instructions.append(Store(name, stored, value))
    symbols = tuple(v.as_symbol() for v in loops)
    over = tuple(v.as_symbol() for v in reduced)
    along = None if scanned is None else scanned.as_symbol()
    body = LoopBody(symbols, over, tuple(instructions), along)
    return clusters.Cluster((make_node(name, position, device, body, (), source),))


i, j, r = variable("i0", 64), variable("i1", 32), variable("r0_0", 32)
flat = 32 * i + j


@pytest.fixture
def source():
    return SymbolSource()


def test_producer_and_consumer_of_one_element(source):
    a = cluster("a", 0, flat, ("x", flat), loops=(i, j), source=source)
    b = cluster("b", 1, flat, ("a", flat), loops=(i, j), source=source)
    assert legal(a, b) is None


def test_a_row_and_its_sum(source):
    total = cluster("s", 0, i, ("x", 32 * i + r), loops=(i,), reduced=(r,), source=source)
    scaled = cluster("y", 1, flat, ("x", flat), ("s", i), loops=(i, j), source=source)
    assert legal(total, scaled) is None
    joined = clusters.fuse(total, scaled, source)
    assert [s.extent for s in joined.outer] == [64]


def test_a_flat_loop_is_split_to_match_rows(source):
    e = variable("i0", 2048)
    producer = cluster("a", 0, e, ("x", e), loops=(e,), source=source)
    total = cluster("s", 1, i, ("a", 32 * i + r), loops=(i,), reduced=(r,), source=source)
    joined = clusters.fuse(producer, total, source)
    assert [[s.extent for s in n.kept] for n in joined.nodes] == [[64, 32], [64]]
    assert joined.nodes[0].writes["a"].index == joined.nodes[1].reads["a"][0].index


def test_no_shared_data(source):
    a = cluster("a", 0, flat, ("x", flat), loops=(i, j), source=source)
    b = cluster("b", 1, flat, ("y", flat), loops=(i, j), source=source)
    assert legal(a, b).reason is Reason.NO_SHARED_DATA


def test_different_devices(source):
    a = cluster("a", 0, flat, ("x", flat), loops=(i, j), source=source)
    b = cluster("b", 1, flat, ("a", flat), loops=(i, j), device="cuda:0", source=source)
    assert legal(a, b).reason is Reason.DIFFERENT_DEVICES
    assert legal(a, b).text() == "they run on different devices: cpu, cuda:0"


def test_a_shifted_read_is_a_distance(source):
    """Windows of three: y[p, q] = a[p + q] needs what other iterations write."""
    k, p, q = variable("i0", 64), variable("i0", 32), variable("i1", 3)
    a = cluster("a", 0, k, ("x", k), loops=(k,), source=source)
    b = cluster("b", 1, 3 * p + q, ("a", p + q), loops=(p, q), source=source)
    refusal = legal(a, b)
    assert refusal.reason is Reason.DISTANCE
    assert "a writes a[" in refusal.detail
    assert "b reads a[" in refusal.detail


def test_a_reversed_row_stays_in_its_row(source):
    """Every row is complete before the next pass over it reads it backwards; so is no flat loop."""
    total = cluster("s", 0, i, ("x", 32 * i + r), loops=(i,), reduced=(r,), source=source)
    scaled = cluster("y", 1, flat, ("x", flat), ("s", i), loops=(i, j), source=source)
    turned = cluster("z", 2, flat, ("y", 32 * i + 31 - j), ("s", i), loops=(i, j), source=source)
    rows = clusters.fuse(total, scaled, source)
    assert legal(rows, turned) is None
    beyond = cluster("z", 2, flat, ("y", 32 * i + 32 - j), ("s", i), loops=(i, j), source=source)
    assert legal(rows, beyond).reason is Reason.DISTANCE


def test_rows_and_columns_share_no_parallel_loop(source):
    """Legal as one sequential row, and never worth it."""
    rows = cluster("s", 0, i, ("x", 32 * i + r), loops=(i,), reduced=(r,), source=source)
    q = variable("r0_0", 64)
    columns = cluster("t", 1, j, ("x", 32 * q + j), loops=(j,), reduced=(q,), source=source)
    joined = clusters.fuse(rows, columns, source)
    assert joined.outer == frozenset()


def test_a_scanned_loop_is_never_parallel(source):
    scan = cluster("c", 0, flat, ("x", flat), loops=(i, j), scanned=j, source=source)
    after = cluster("y", 1, flat, ("c", flat), loops=(i, j), source=source)
    assert [s.extent for s in scan.outer] == [64]
    joined = clusters.fuse(scan, after, source)
    assert [s.extent for s in joined.outer] == [64]


def test_a_scatter_is_not_fused_with_what_touches_its_target():
    stages = check(
        lambda b, x, k, y: b.relu(b.scatter_add(x, 0, k, y)), f32(6, 5), i64(4, 5), f32(4, 5)
    )
    assert len(stages.schedule.groups) == 3
    reasons = {r.reason for r in stages.schedule.refusals.values()}
    assert Reason.INDIRECT_ACCESS in reasons


def test_a_cycle_through_an_external_call():
    """exp(x) feeds a matrix product, whose result is added to exp(x): one kernel before, one after."""

    def function(b, x, w):
        e = b.exp(x)
        return b.add(b.matmul(e, w), e)

    stages = check(function, f32(65, 65), f32(65, 65), exact=False)
    assert [type(s) for s in stages.schedule.steps] == [Group, Extern, Group]
    assert {r.reason for r in stages.schedule.refusals.values()} == {Reason.CYCLE}
    assert "matmul lies between" in next(iter(stages.schedule.refusals.values())).text()


def test_every_refusal_has_a_reason_that_reads():
    assert all(reason.value[0].islower() for reason in Reason)
    assert len({reason.value for reason in Reason}) == len(Reason)


def test_siblings_read_their_input_once():
    """Horizontal fusion: independent results over the same rows."""

    def function(b, x):
        return b.sum(x, [-1]), b.amax(x, [-1]), b.mul(x, 2.0)

    (group,) = check(function, f32(64, 300), exact=False).schedule.groups
    assert len(group.segments) == 1
    assert len([k for k in group.segments[0].body if isinstance(k, Load)]) == 1


def test_an_optimizer_step_is_one_kernel_a_parameter():
    def adam(b, *tensors):
        outputs = []
        for k in range(0, len(tensors), 4):
            p, g, m, v = tensors[k : k + 4]
            m = b.add(b.mul(m, 0.9), b.mul(g, 0.1))
            v = b.add(b.mul(v, 0.999), b.mul(b.mul(g, g), 0.001))
            outputs += [b.sub(p, b.div(b.mul(m, 0.01), b.add(b.sqrt(v), 1e-8))), m, v]
        return tuple(outputs)

    shapes = [(300, 70), (70,), (5, 5, 8), (1000,)]
    metas = [f32(*s) for s in shapes for _ in range(4)]
    stages = stages_of(adam, *metas)
    assert len(stages.schedule.steps) == len(shapes)
    for group, shape in zip(stages.schedule.groups, shapes, strict=True):
        size = f32(*shape).nbytes
        assert group.bytes_moved == 7 * size
        assert group.locals == ()


def test_a_veto_is_recorded(monkeypatch):
    monkeypatch.setattr(choices, "can_fuse", lambda *_: "not today")
    stages = stages_of(lambda b, x: b.div(x, b.sum(x, [-1], True)), f32(64, 300))
    assert len(stages.schedule.groups) == 2
    (refusal,) = stages.schedule.refusals.values()
    assert refusal.text() == "choices.can_fuse refused: not today"


def test_the_score_decides_who_is_fused_first(monkeypatch):
    """Lab experiment 4: another score, another schedule."""

    def function(b, x, y):
        e = b.exp(x)
        return b.sum(e, [-1]), b.cumsum(b.mul(e, y), 0)

    default = stages_of(function, f32(512, 512), f32(512, 512))
    monkeypatch.setattr(choices, "score_fusion", lambda a, b, _: choices.Score(0, b.last - a.last))
    other = stages_of(function, f32(512, 512), f32(512, 512))
    assert default.schedule.text() != other.schedule.text()


# ---- cost of compiling ---------------------------------------------------------------------------


def chain(count):
    build = Build()
    x = build.input(f32(64, 128))
    for k in range(count):
        x = build.mul(x, 1.5) if k % 2 else build.add(x, 0.25)
    return build.output(x)


def seconds(graph):
    start = time.perf_counter()
    stages = pipeline.plan_graph(graph, AVX2)
    pipeline.print_sources(stages.plan, AVX2)
    return time.perf_counter() - start


@pytest.mark.alone
def test_compile_time_is_linear_in_the_operators():
    short, long = chain(500), chain(4000)
    assert min(seconds(short) for _ in range(3)) * 8 * 2.5 > min(seconds(long) for _ in range(2))
    assert min(seconds(chain(1500)) for _ in range(2)) < 2


@pytest.mark.alone
def test_example_1_1_takes_milliseconds():
    def build():
        b = Build()
        x, w = b.input(f32(64, 128)), b.input(f32(64, 128))
        return b.output(b.sum(b.mul(b.relu(b.add(x, w)), 2), [-1]))

    best = 1.0
    for _ in range(5):
        graph = build()
        start = time.perf_counter()
        schedule_program(lower_graph(graph, AVX2), AVX2)
        best = min(best, time.perf_counter() - start)
    assert best < 0.01


def test_deep_graphs_need_no_recursion():
    (group, *more) = pipeline.plan_graph(chain(20000), AVX2).schedule.groups
    assert group.iterations == 8
    assert len(more) < 10


def test_many_readers_of_one_buffer_are_linear():
    def function(b, x):
        return tuple(b.add(x, float(k)) for k in range(300))

    stages = stages_of(function, f32(64, 65))
    assert 1 <= len(stages.schedule.groups) <= 4
    assert len(stages.schedule.refusals) <= 600


# ---- index width ---------------------------------------------------------------------------------


def test_b39_the_index_width_follows_the_largest_offset():
    """Three rows of two bytes, 2**30 apart: six elements, whose last lies beyond 2**31."""
    near = TensorMeta((3, 2), dtypes.uint8, strides=(2**30 - 8, 1))
    far = TensorMeta((3, 2), dtypes.uint8, strides=(2**30, 1))
    for meta, bits in ((near, 32), (far, 64)):
        (group,) = stages_of(lambda b, x: b.add(x, 1), meta).schedule.groups
        assert group.index_bits == bits


def test_index_values_count_too():
    def function(b, x):
        return b.add(x, b.mul(b.iota(64, 0, 1, dtypes.int64, None), 2**26))

    (group,) = check(function, i64(64)).schedule.groups
    assert group.index_bits == 64


def test_devices_do_not_mix():
    meta = TensorMeta((4,), dtypes.float32, Device("cuda", 0))
    (group,) = stages_of(lambda b, x: b.relu(x), meta).schedule.groups
    assert group.device == "cuda:0"
