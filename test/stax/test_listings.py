"""The chapter's listings and examples of section 6 and 7, by their texts."""

from __future__ import annotations

import numpy as np
import pytest
from stax.building import check, f32, graph_of, i64, run_lowered, stages_of

from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
from tensorplay.compiler.backends.stax.ir import ComputedBuffer
from tensorplay.compiler.target import AVX2, H100
from tensorplay.core import dtypes
from tensorplay.core.device import Device
from tensorplay.core.meta import TensorMeta

CUDA = Device("cuda", 0)


def cuda(*shape, strides=None):
    return TensorMeta(shape, dtypes.float32, CUDA, strides)


def example_1_1(b, x, w):
    return b.sum(b.mul(b.relu(b.add(x, w)), 2), [-1])


def matches(text, listing):
    """Whether a text has the listing's lines in order, where `...` stands for any lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    place = 0
    skipping = False
    for wanted in map(str.rstrip, listing.strip("\n").splitlines()):
        if wanted.strip() == "...":
            skipping = True
            continue
        while skipping and lines[place] != wanted:
            place += 1
        assert lines[place] == wanted, f"line {place}: {lines[place]!r} is not {wanted!r}\n{text}"
        place += 1
        skipping = False
    assert skipping or place == len(lines)


LISTING_6_2 = """\
InputBuffer(name='primals_1', layout=FixedLayout('cpu', float32, size=[64, 128], stride=[128, 1]))
InputBuffer(name='primals_2', layout=FixedLayout('cpu', float32, size=[64, 128], stride=[128, 1]))
ComputedBuffer(name='buf2', layout=FixedLayout('cpu', float32, size=[64], stride=[1]), data=Reduction(
  'cpu',
  tensorplay.float32,
  def inner_fn(index, rindex):
      i0 = index
      r0_0 = rindex
      tmp0 = ops.load('primals_1', 128*i0 + r0_0)
      tmp1 = ops.load('primals_2', 128*i0 + r0_0)
      tmp2 = ops.add('tmp0', 'tmp1')
      tmp3 = ops.relu('tmp2')
      tmp4 = ops.constant(2, tensorplay.float32)
      tmp5 = ops.mul('tmp3', 'tmp4')
      return tmp5
  ,
  ranges=[64],
  reduction_ranges=[128],
  reduction_type=sum,
  ...
))
"""


def test_listing_6_2():
    stages = stages_of(example_1_1, f32(64, 128), f32(64, 128))
    matches(stages.program.text(), LISTING_6_2)
    assert len(stages.program.computed) == 1


LISTING_6_3 = """\
...
ComputedBuffer(name='buf2', layout=FixedLayout('cuda:0', float32, size=(256, 512), stride=[512, 1]), data=Pointwise(
  'cuda',
  tensorplay.float32,
  def inner_fn(index):
      i0, i1 = index
      tmp0 = ops.load('primals_1', i0 + 256*i1)
      tmp1 = ops.load('primals_2', 512*i0 + i1)
      tmp2 = ops.add('tmp0', 'tmp1')
      return tmp2
  ,
  ranges=(256, 512),
  origins=OrderedSet([primals_1, primals_2, t, add])
))
"""


def test_listing_6_3():
    graph = graph_of(lambda b, x, y: b.add(b.t(x), y), cuda(512, 256), cuda(256, 512))
    # The listing's result is row-major; ours follows the strides that eager execution gives.
    (output,) = graph.outputs
    output.meta["val"] = output.meta["val"].contiguous()
    matches(lower_graph(graph, H100).text(), LISTING_6_3)


LISTING_6_4 = """\
...
ComputedBuffer(name='buf1', layout=FixedLayout('cuda:0', float32, size=[64, 2], stride=[2, 1]), data=Reduction(
...
  def inner_fn(index, rindex):
      i0, i1 = index
      r0_0 = rindex
      tmp0 = ops.load('primals_1', 16384*i0 + 8192*i1 + r0_0)
      tmp1 = ops.load('primals_1', 16384*i0 + 8192*i1 + r0_0)
      tmp2 = ops.mul('tmp0', 'tmp1')
      return tmp2
  ,
  ranges=[64, 2],
  reduction_ranges=[8192],
  reduction_type=sum,
...
))
ComputedBuffer(name='buf2', layout=FixedLayout('cuda:0', float32, size=[64], stride=[1]), data=Reduction(
...
  def inner_fn(index, rindex):
      i0 = index
      r0_0 = rindex
      tmp0 = ops.load('buf1', 2*i0 + r0_0)
      return tmp0
  ,
  ranges=[64],
  reduction_ranges=[2],
  reduction_type=sum,
...
))
"""


def test_listing_6_4():
    stages = stages_of(lambda b, x: b.sum(b.mul(x, x), [-1]), cuda(64, 16384), target=H100)
    matches(stages.program.text(), LISTING_6_4)
    first, second = stages.schedule.groups
    # Proposition 6.3: [64, 2] is one loop of 128, and the read is r0_1 + 8192*x0.
    assert "load primals_1[r0_1 + 8192*x0]" in first.text()
    assert first.iterations == 128
    assert second.iterations == 64


def test_the_cpu_does_not_split_what_has_rows_enough():
    stages = check(lambda b, x: b.sum(b.mul(x, x), [-1]), f32(64, 300), exact=False)
    assert len(stages.program.computed) == 1


# ---- Example 6.3 ---------------------------------------------------------------------------------


def g1(b, x, index):
    return b.mul(b.index(x, [index]), 2)


def test_example_6_3_an_index_that_is_read_is_fixed_and_checked():
    stages = check(g1, f32(128), i64(40))
    (group,) = stages.schedule.groups
    text = group.text()
    assert "add(tmp0, tmp3)" in text
    assert "check 0: 0 <= tmp5 < 128" in text
    assert group.checks == ("index: an index is out of range for a dimension of 128 elements",)


def test_example_6_3_an_index_that_is_computed_is_an_address():
    def g2(b, x):
        index = b.remainder(b.mul(b.iota(128, 0, 1, dtypes.int64, None), 3), 128)
        return b.mul(b.index(x, [index]), 2)

    stages = check(g2, f32(128))
    (group,) = stages.schedule.groups
    assert "load primals_1[(3*x0) % 128]" in group.text()
    assert "check" not in group.text()
    assert group.checks == ()
    assert [b.name for b in stages.program.computed] == ["buf1"]


@pytest.mark.parametrize("place", [128, -129, 10**9])
def test_an_index_out_of_range_fails_its_check(place):
    x = np.zeros(128, np.float32)
    index = np.array([0, place])
    with pytest.raises(IndexError, match="out of range for a dimension of 128"):
        run_lowered(graph_of(g1, f32(128), i64(2)), [x, index])


# ---- Examples 7.1 and 7.2 ------------------------------------------------------------------------


def softmax(b, x):
    e = b.exp(b.sub(x, b.amax(x, [-1], True)))
    return b.div(e, b.sum(e, [-1], True))


def layer_norm(b, x, w, c):
    distance = b.sub(x, b.mean(x, [-1], True))
    variance = b.mean(b.mul(distance, distance), [-1], True)
    normal = b.mul(distance, b.rsqrt(b.add(variance, 1e-5)))
    return b.mul(b.gelu(b.add(b.mul(normal, w), c)), 0.5)


def rms_norm(b, x, w):
    return b.mul(b.mul(x, b.rsqrt(b.add(b.mean(b.mul(x, x), [-1], True), 1e-6))), w)


def batch_norm(b, x, w):
    distance = b.sub(x, b.mean(x, [0, 2, 3], True))
    variance = b.mean(b.mul(distance, distance), [0, 2, 3], True)
    return b.relu(b.mul(b.mul(distance, b.rsqrt(b.add(variance, 1e-5))), w))


def two_reductions(b, x):
    e = b.exp(x)
    return b.sum(e, [-1]), b.amax(e, [-1])


ROWS = {
    "example_7_1": (lambda b, x: b.div(x, b.sum(x, [-1], True)), [f32(64, 300)]),
    "example_7_2": (two_reductions, [f32(64, 300)]),
    "softmax": (softmax, [f32(64, 300)]),
    "layer_norm_gelu": (layer_norm, [f32(64, 300), f32(300), f32(300)]),
    "rms_norm": (rms_norm, [f32(64, 300), f32(300)]),
    "batch_norm": (batch_norm, [f32(8, 16, 7, 9), f32(16, 1, 1)]),
    "column_sum": (lambda b, x: b.sum(x, [0]), [f32(300, 200)]),
    "column_variance": (lambda b, x: b.var(x, [0]), [f32(300, 200)]),
    "full_mean": (lambda b, x, y: b.mean(b.mul(b.sub(x, y), x)), [f32(300, 200), f32(300, 200)]),
    "argmax": (lambda b, x: b.argmax(x, -1), [f32(64, 300)]),
    "transposed_add": (lambda b, x, y: b.add(b.t(x), y), [f32(512, 256), f32(256, 512)]),
}


@pytest.mark.parametrize("name", ROWS)
def test_schedules(name, golden):
    """The golden files show the loops of the usual patterns."""
    function, metas = ROWS[name]
    stages = check(function, *metas, exact=False)
    golden(f"{name}.txt", stages.schedule.text())
    if name != "full_mean":
        assert len(stages.schedule.steps) == 1


@pytest.mark.parametrize("name", ["example_7_1", "softmax", "layer_norm_gelu", "rms_norm"])
def test_rows_touch_memory_once(name):
    """One kernel; of memory it reads the inputs and writes the output, and nothing between them."""
    function, metas = ROWS[name]
    (group,) = stages_of(function, *metas).schedule.groups
    assert len(group.writes) == 1
    assert set(group.reads) == {f"primals_{k + 1}" for k in range(len(metas))}
    assert group.bytes_moved == 4 * (2 * 64 * 300 + sum(m.numel for m in metas[1:]))


def test_example_7_2_materializes_on_the_cpu_and_inlines_on_the_gpu():
    function, _ = ROWS["example_7_2"]
    cpu = stages_of(function, f32(64, 300))
    gpu = stages_of(function, cuda(64, 300), target=H100)
    assert [b.name for b in cpu.program.computed] == ["buf1", "buf2", "buf3"]
    assert [b.name for b in gpu.program.computed] == ["buf1", "buf2"]
    # Either way one kernel reads x once; exp(x) stays in registers.
    for stages in (cpu, gpu):
        (group,) = stages.schedule.groups
        assert len(group.segments) == 1
        assert group.reads == ("primals_1",)


def test_types_of_buffers():
    stages = stages_of(example_1_1, f32(64, 128), f32(64, 128), target=AVX2)
    assert [type(b).__name__ for b in stages.program.buffers] == [
        "InputBuffer",
        "InputBuffer",
        "ComputedBuffer",
    ]
    (buffer,) = stages.program.computed
    assert isinstance(buffer, ComputedBuffer)
    assert buffer.origins == ("primals_1", "primals_2", "add", "relu", "mul", "sum_0")
