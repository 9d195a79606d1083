"""The text of printed kernels: the chapter's examples as golden files, and what is printed once or not at all."""

import dataclasses

import pytest
from stax.triton.programs import meta, printed, schedule_for_gpu
from stax.triton.programs import record as record_graph
from stax.triton.test_ptx import PROGRAMS

import tensorplay as tp
from tensorplay.compiler.backends.stax.codegen.triton import print_triton
from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
from tensorplay.compiler.backends.stax.schedule import Inner, Local
from tensorplay.compiler.backends.stax.scheduler import schedule_program
from tensorplay.compiler.target import AVX2, H100
from tensorplay.core.errors import CompileError


@pytest.mark.parametrize(
    "name", ["1.1", "6.1", "6.2", "7.1", "7.2", "softmax", "layer_norm", "backward_5.1"]
)
def test_the_chapters_examples(golden, name):
    function, *metas = PROGRAMS[name]
    kernels = printed(function, *metas).kernels
    golden(f"{name}.txt", "\n\n".join(kernel.text() for kernel in kernels))


def test_example_6_2_reads_as_the_chapter_prints_it():
    first, _ = printed(*PROGRAMS["6.2"]).kernels
    assert "tl.load(in_ptr0 + (r0_1 + 8192*x0), " in first.source
    assert first.numels == {"x": 128}


def test_exp_is_not_written_to_memory_on_a_gpu():
    """Example 7.2."""
    found = printed(*PROGRAMS["7.2"])
    (kernel,) = found.kernels
    assert len(found.schedule.buffers) == 3
    assert kernel.source.count("libdevice.exp(") == 1


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "7.1"])
def test_rows_are_read_once_and_written_once(name):
    (kernel,) = printed(*PROGRAMS[name]).kernels
    assert kernel.source.count("tl.load(in_ptr0 ") == 1
    assert kernel.source.count("tl.store(") == 1
    assert "for r0_offset" not in kernel.source


def test_masks_only_where_a_block_can_leave_its_axis():
    (whole,) = printed(lambda x: x.sum(-1), meta(64, 128)).kernels
    (part,) = printed(lambda x: x.sum(-1), meta(64, 100)).kernels
    (scalar,) = printed(lambda x: x.sum(), meta(128)).kernels
    assert "r0_mask" not in whole.source
    assert "tl.where(r0_mask, " in part.source
    assert "xmask" not in scalar.source
    assert scalar.grid_for({}) == (1,)


def test_only_the_functions_that_are_called_are_carried():
    (kernel,) = printed(lambda x: x + 1, meta(64)).kernels
    assert kernel.source.count("def ") == 1
    assert "libdevice" not in kernel.source


def test_blocks_leave_work_for_every_multiprocessor():
    (small,) = printed(lambda x: x + 1, meta(10_000)).kernels
    (large,) = printed(lambda x: x + 1, meta(10_000_000)).kernels
    assert small.blocks == {"XBLOCK": 128}
    assert large.blocks == {"XBLOCK": 1024}
    (rows,) = printed(lambda x: x.sum(-1), meta(64, 128)).kernels
    assert rows.grid_for(rows.blocks) == (64,)


def test_a_schedule_for_a_cpu_is_refused():
    graph = record_graph(lambda x: x + 1, meta(100_000))
    schedule = schedule_program(lower_graph(graph, AVX2), AVX2)
    with pytest.raises(CompileError, match="tiled for a CPU"):
        print_triton(schedule.groups[0], schedule.buffers, H100)


def changed(group, **changes):
    return dataclasses.replace(group, **changes)


def test_what_cannot_be_printed_is_refused_with_its_reason():
    schedule = schedule_for_gpu(record_graph(lambda x: x.sum(-1), meta(8, 100_000)))
    group = next(g for g in schedule.groups if any(s.is_reduction for s in g.segments))
    row = group.segments[0].loops[0].symbol
    with_local = changed(group, locals=(Local("e", tp.float32, (row,)),))
    with pytest.raises(CompileError, match="registers"):
        print_triton(with_local, schedule.buffers, H100)
    schedule = schedule_for_gpu(record_graph(lambda x: x.sum(-1), meta(8, 100)))
    (group,) = schedule.groups
    (segment,) = group.segments
    narrowed = dataclasses.replace(
        segment, loops=(Inner(segment.loops[0].symbol, 100, segment.loops[0].role, 3, 50),)
    )
    with pytest.raises(CompileError, match="part of its loops"):
        print_triton(changed(group, segments=(narrowed,)), schedule.buffers, H100)
    schedule = schedule_for_gpu(record_graph(lambda x: x.cumsum(-1), meta(2, 100_000)))
    with pytest.raises(CompileError, match="too long for a block"):
        print_triton(schedule.groups[0], schedule.buffers, H100)
