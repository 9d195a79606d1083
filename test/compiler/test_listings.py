"""The chapter's listings: 5.1, 5.2, Table 5.1 and the partition of Example 5.1, from `tp.compile`."""

import pytest

import tensorplay as tp
from tensorplay.nn import functional as F  # noqa: N812 (the chapter's name)


def example_1_1(x, w):
    return (tp.relu(x + w) * 2).sum(-1)


def example_5_1(x, W):
    return F.gelu(x @ W).sum()


@pytest.fixture(params=["aot_eager", "stax"])
def explained(request):
    def explain(f, *args):
        return tp.compile(f, backend=request.param, strict_native=True).explain(*args)

    return explain


LISTING_5_1 = """\
graph(
    %primals_1 : [num_users=1] = placeholder[target=primals_1]
    %primals_2 : [num_users=1] = placeholder[target=primals_2]
    %add shape=(64, 128) : [num_users=1] = call_function[target=tensorplay.ops.tp.add.Tensor](args = (%primals_1, %primals_2), kwargs = {alpha: 1})
    %relu shape=(64, 128) : [num_users=1] = call_function[target=tensorplay.ops.tp.relu.default](args = (%add,), kwargs = {})
    %mul shape=(64, 128) : [num_users=1] = call_function[target=tensorplay.ops.tp.mul.Scalar](args = (%relu, 2), kwargs = {})
    %sum_0 shape=(64,) : [num_users=1] = call_function[target=tensorplay.ops.tp.sum.dim_IntList](args = (%mul, [-1], False), kwargs = {dtype: tensorplay.undefined})
    return (sum_0,)
)"""


def test_listing_5_1(explained):
    e = explained(example_1_1, tp.ones(64, 128), tp.ones(64, 128))
    assert e.operator_graph.text() == LISTING_5_1
    assert e.joint_graph is None
    assert e.partition is None


def test_the_captured_graph_of_example_1_1(explained):
    e = explained(example_1_1, tp.ones(64, 128), tp.ones(64, 128))
    assert e.captured.text().splitlines() == [
        "graph(",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %w : [num_users=1] = placeholder[target=w]",
        (
            "    %add shape=(64, 128) : [num_users=1] = call_function[target=operator.add]"
            "(args = (%x, %w), kwargs = {})"
        ),
        (
            "    %relu shape=(64, 128) : [num_users=1] = call_function[target=tensorplay.relu]"
            "(args = (%add,), kwargs = {})"
        ),
        (
            "    %mul shape=(64, 128) : [num_users=1] = call_function[target=operator.mul]"
            "(args = (%relu, 2), kwargs = {})"
        ),
        (
            "    %sum_0 shape=(64,) : [num_users=1] = call_method[target=sum]"
            "(args = (%mul, -1), kwargs = {})"
        ),
        "    return (sum_0,)",
        ")",
    ]


# The listing in the chapter prints the shape of %t as (64, 64); the transpose of 32×64 is 64×32.
LISTING_5_2 = """\
[FW] %primals_1 : [num_users=2] = placeholder[target=primals_1]
[FW] %primals_2 : [num_users=1] = placeholder[target=primals_2]
[BW] %tangents_1 : [num_users=1] = placeholder[target=tangents_1]
[FW] %matmul shape=(32, 64) = call_function[target=tp.matmul.default](args = (%primals_1, %primals_2))
[FW] %gelu shape=(32, 64) = call_function[target=tp.gelu.default](args = (%matmul, 'none'))
[FW] %sum_0 shape=() = call_function[target=tp.sum.default](args = (%gelu,))
[BW] %expand shape=(32, 64) = call_function[target=tp.expand.default](args = (%tangents_1, [32, 64]))
[BW] %gelu_backward shape=(32, 64) = call_function[target=tp.gelu_backward.default](args = (%expand, %matmul, 'none'))
[BW] %t shape=(64, 32) = call_function[target=tp.t.default](args = (%primals_1,))
[BW] %matmul_0 shape=(64, 64) = call_function[target=tp.matmul.default](args = (%t, %gelu_backward))
[FW] return (sum_0, matmul_0)"""


def test_listing_5_2(explained):
    e = explained(example_5_1, tp.ones(32, 64), tp.ones(64, 64).requires_grad_())
    assert e.joint_graph.text() == LISTING_5_2


def test_table_5_1(explained):
    e = explained(example_5_1, tp.ones(32, 64), tp.ones(64, 64).requires_grad_())
    assert e.partition.capacities == {"matmul": 9011, "gelu": 225_781_552, "sum_0": 55_122}
    assert f"{e.partition.capacities['gelu']:.2e}" == "2.26e+08"
    assert e.partition.cut == 9011
    assert e.partition.saved == ("matmul",)


def test_the_backward_of_example_5_1_recomputes_erf_from_h(explained):
    e = explained(example_5_1, tp.ones(32, 64), tp.ones(64, 64).requires_grad_())
    called = [n.name for n in e.partition.backward.graph.nodes if n.op == "call_function"]
    assert called == ["expand", "gelu_backward", "t", "matmul_0"]
    assert [n.name for n in e.partition.backward.inputs] == ["matmul", "primals_1", "tangents_1"]


def test_every_stage_prints():
    e = tp.compile(example_5_1, strict_native=True).explain(
        tp.ones(32, 64), tp.ones(64, 64).requires_grad_()
    )
    names = [name for name, _ in e.stages()]
    assert names == [
        "captured", "joint_graph", "partition", "operator_graph",
        "buffers", "schedule", "plan", "kernels", "wrapper", "artifact",
        "backward_buffers", "backward_schedule", "backward_plan", "backward_kernels",
        "backward_wrapper", "backward_artifact",
    ]  # fmt: skip
    for _, stage in e.stages():
        assert stage.text()
    text = e.text()
    assert all(f"---- {name}\n" in text for name in names)
    assert e.kernels[0].name in e.wrapper.text()
    assert e.kernels[0].source in e.kernels.text()
    assert len(e.backward.kernels) == 1


def test_only_stax_has_kernels():
    e = tp.compile(example_1_1, backend="aot_eager").explain(tp.ones(2, 3), tp.ones(3))
    with pytest.raises(AttributeError, match="only the backend 'stax' has buffers"):
        _ = e.kernels
    assert (
        tp.compile(example_1_1, backend="eager").explain(tp.ones(2), tp.ones(2)).operator_graph
        is None
    )


def test_dump_writes_numbered_files(tmp_path):
    with tp.config.override(dump_dir=tmp_path):
        tp.compile(example_1_1)(tp.ones(4, 5), tp.ones(5))
    (folder,) = tmp_path.iterdir()
    assert folder.name.endswith("_example_1_1")
    files = sorted(each.name for each in folder.iterdir())
    assert files[:3] == ["00_captured.py", "01_captured.txt", "02_operator_graph.txt"]
    assert (folder / "02_operator_graph.txt").read_text().startswith("graph(\n")
    scope = {}
    exec((folder / "00_captured.py").read_text(), scope)  # noqa: S102 (a dump is a program)
    assert scope["forward"](None, tp.ones(2, 3), tp.ones(3))[0].tolist() == [12.0, 12.0]
