"""The wrapper module: its text, what it checks, where buffers live, external calls, the cache of whole artifacts."""

import os
import subprocess
import sys
import traceback
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tensorplay import _C
from tensorplay._C import TensorBase
from tensorplay.compiler.backends.stax import (
    artifact_cache,
    choices,
    codecache,
    thread_grain,
    wrapper,
)
from tensorplay.compiler.backends.stax.artifact_cache import ArtifactKey
from tensorplay.compiler.backends.stax.index import Symbol
from tensorplay.compiler.backends.stax.schedule import (
    Allocation,
    BufferInfo,
    BufferView,
    Extern,
    Group,
    Outer,
    Place,
    Plan,
    Schedule,
)
from tensorplay.compiler.backends.stax.sources import KernelSource, Launch
from tensorplay.compiler.phases import OperatorGraphBuilder
from tensorplay.compiler.target import AVX2, GENERIC
from tensorplay.core import dtypes
from tensorplay.core.config import config
from tensorplay.core.device import Device
from tensorplay.core.dtypes import float32, int64
from tensorplay.core.errors import CompileError
from tensorplay.core.meta import TensorMeta
from tensorplay.ops.registry import tp


def info(name, shape, dtype=float32, strides=None):
    if strides is None:
        strides = tuple(int(np.prod(shape[k + 1 :], dtype=int)) for k in range(len(shape)))
    return BufferInfo(name, dtype, shape, strides, "cpu", int(np.prod(shape, dtype=int)))


def group(name, reads, writes, trip=8, **more):
    outer = (Outer(Symbol("x0", 0, trip - 1), trip),)
    return Group(name, "cpu", outer, (), (), reads, writes, **more)


def source(name, expression):
    return f"""
#include <stdint.h>
extern "C" int64_t {name}(void* const* buffers, int64_t begin, int64_t end) {{
    const float* a = (const float*)buffers[0];
    float* out = (float*)buffers[1];
    for (int64_t i = begin; i < end; i++) {{ {expression} }}
    return 0;
}}
"""


def plan(steps, buffers, inputs, outputs, places=None, arena=0, releases=()):
    infos = {b.name: b for b in buffers}
    allocations = {}
    for name in infos:
        place = Place.INPUT if name in inputs else Place.OUTPUT
        allocations[name] = (places or {}).get(name) or Allocation(name, place)
    made = Schedule(tuple(steps), infos, tuple(inputs), tuple(outputs))
    return Plan(made, allocations, arena, tuple(releases))


@pytest.fixture(autouse=True)
def folder(tmp_path):
    with config.override(cache_dir=tmp_path / "cache"):
        yield tmp_path / "cache"


def text_of(p, kernels=None, target=GENERIC):
    """The module of a plan whose groups have kernels of their own, given by name."""
    sources = [KernelSource(name, text, "cpp") for name, text in (kernels or {}).items()]
    launches = {
        g.name: Launch(g.name, tuple((b, 0) for b in (*g.reads, *g.writes, *g.updates)))
        for g in p.schedule.groups
    }
    return wrapper.print_wrapper(p, sources, launches, target, "graph_0")


def load(p, kernels=None, target=GENERIC):
    return artifact_cache.load_uncached(text_of(p, kernels, target))


def tensor(*values, dtype=np.float32):
    t = TensorBase()
    t.array = np.array(values, dtype)
    return t


def arrays(outputs):
    return [t.array.tolist() for t in outputs]


def one_kernel(**more):
    return plan(
        [group("double_0", ("x",), ("y",), **more)],
        [info("x", (8,)), info("y", (8,))],
        ["x"],
        ["y"],
    )


DOUBLE = {"double_0": source("double_0", "out[i] = a[i] * 2;")}


def test_a_kernel_runs_and_the_text_is_readable(golden):
    text = text_of(one_kernel(), DOUBLE, AVX2)
    golden("wrapper.txt", text)
    call = load(one_kernel(), DOUBLE)
    assert arrays(call(tensor(*range(8)))) == [[2.0 * k for k in range(8)]]


def test_inputs_are_checked():
    call = load(one_kernel(), DOUBLE)
    with pytest.raises(ValueError, match="float32 of shape"):
        call(tensor(1, 2, 3))
    with pytest.raises(ValueError, match="float32"):
        call(tensor(*range(8), dtype=np.float64))


def test_backslashes_and_quotes_in_a_source_survive():
    text = "// a\\b \\n '''quoted''' \\\\ end" + DOUBLE["double_0"]
    seen = []
    namespace = text_of(one_kernel(), {"double_0": text}, GENERIC)

    class Compile:
        def __init__(self, isa):
            pass

        def cpp(self, name, given):
            seen.append(given)

        def wait(self, scope):
            raise StopIteration

    code = namespace.replace(
        "from tensorplay.compiler.backends.stax.async_compile import AsyncCompile", ""
    )
    with pytest.raises(StopIteration):
        exec(code, {"AsyncCompile": Compile})  # noqa: S102  # our own text
    assert seen == [f"\n{text.strip(chr(10))}\n"]


def test_slots_write_back_and_releases():
    p = plan(
        [
            group("double_0", ("x",), ("buf0",)),
            group("add_1", ("buf0",), ("buf1",)),
            group("neg_2", ("buf1",), ("new_x",)),
        ],
        [info("x", (8,)), info("buf0", (8,)), info("buf1", (8,)), info("new_x", (8,))],
        ["x"],
        ["new_x"],
        {
            "buf0": Allocation("buf0", Place.ARENA, 0),
            "buf1": Allocation("buf1", Place.ARENA, 64),
            "new_x": Allocation("new_x", Place.WRITE_BACK, alias="x"),
        },
        arena=128,
        releases=((), ("buf0",), ("buf1",)),
    )
    kernels = {
        **DOUBLE,
        "add_1": source("add_1", "out[i] = a[i] + 1;"),
        "neg_2": source("neg_2", "out[i] = -a[i];"),
    }
    text = text_of(p, kernels, GENERIC)
    assert "workspace=128" in text
    assert "# buf0 -> buf1; frees buf0\n" in text
    x = tensor(*range(8))
    (returned,) = load(p, kernels)(x)
    assert returned is x
    assert x.array.tolist() == [-2.0 * k - 1 for k in range(8)]


def test_writing_back_into_another_layout_is_refused():
    p = plan(
        [], [info("x", (2, 3)), info("y", (2, 3), strides=(1, 2))], ["x"], ["y"],
        {"y": Allocation("y", Place.WRITE_BACK, alias="x")},
    )  # fmt: skip
    with pytest.raises(CompileError, match="differ in layout"):
        text_of(p, {}, GENERIC)


def test_a_failed_bounds_check_raises_its_message():
    failing = {"double_0": source("double_0", "return 2;")}
    message = "index 'it''s' out of range\n\\"
    call = load(one_kernel(checks=("first", message)), failing)
    with pytest.raises(IndexError) as caught:
        call(tensor(*range(8)))
    assert caught.value.args == (message,)


def fake(name):
    return SimpleNamespace(operator=SimpleNamespace(name=name))


def view(b, shape=None, strides=None, offset=0):
    return BufferView(b.name, shape or b.shape, strides or b.strides, offset, b.dtype)


def test_a_matrix_multiply_writes_into_planned_memory_with_the_bits_of_eager():
    a, b, c = info("a", (3, 4)), info("b", (5, 4)), info("c", (3, 5))
    transposed = view(b, (4, 5), (1, 4))
    p = plan(
        [Extern("mm", fake("mm"), (view(a), transposed), {}, ("c",), ("a", "b"), into=True)],
        [a, b, c], ["a", "b"], ["c"],
    )  # fmt: skip
    text = text_of(p, {}, GENERIC)
    assert '("view", 1, 0, float32, (4, 5), (1, 4))' in text
    assert "AsyncCompile" not in text
    rng = np.random.default_rng(0)
    x, y = TensorBase(), TensorBase()
    x.array, y.array = rng.random((3, 4), np.float32), rng.random((5, 4), np.float32)
    (out,) = load(p)(x, y)
    assert np.array_equal(out.array, _C.matmul(x.array, y.array.T))


def test_external_calls_take_views_lists_and_constants(monkeypatch):
    x, y = info("x", (6,)), info("lambda", (2, 3))
    arguments = (
        [view(x), view(x, (3,), (2,), 1)], None, True, -0.0, float("-inf"), 1 + 2j,
        (1, (2,)), int64, dtypes.bool_, dtypes.undefined, Device("cuda", 1), "it's", slice(None, 3),
    )  # fmt: skip
    step = Extern("thing", fake("thing"), arguments, {"dim": (0,)}, ("lambda",), ("x",))
    p = plan([step], [x, y], ["x"], ["lambda"], {"lambda": Allocation("lambda", Place.EXTERN)})
    seen = []

    def kernel(*args, **kwargs):
        seen.extend((args, kwargs))
        return np.arange(6, dtype=np.float32).reshape(2, 3)

    monkeypatch.setattr(
        "tensorplay.ops.registry.tp", SimpleNamespace(thing=SimpleNamespace(kernel=kernel))
    )
    (out,) = load(p)(tensor(*range(6)))
    assert out.array.tolist() == [[0, 1, 2], [3, 4, 5]]
    (args, kwargs) = seen
    assert [a.tolist() for a in args[0]] == [[0, 1, 2, 3, 4, 5], [1, 3, 5]]
    assert repr(args[1:]) == repr(arguments[1:])
    assert kwargs == {"dim": (0,)}


def test_a_result_with_other_strides_is_copied(monkeypatch):
    x, y = info("x", (6,)), info("y", (2, 3))
    step = Extern("thing", fake("thing"), (view(x),), {}, ("y",), ("x",))
    p = plan([step], [x, y], ["x"], ["y"], {"y": Allocation("y", Place.EXTERN)})
    kernel = SimpleNamespace(kernel=lambda a: np.asfortranarray(a.reshape(2, 3)))
    monkeypatch.setattr("tensorplay.ops.registry.tp", SimpleNamespace(thing=kernel))
    (out,) = load(p)(tensor(*range(6)))
    assert out.array.flags.c_contiguous
    assert out.array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_argument_that_has_no_text_is_refused():
    x = info("x", (6,))
    step = Extern("thing", fake("thing"), (object(),), {}, ("x",), ())
    with pytest.raises(CompileError, match="type object"):
        text_of(plan([step], [x], [], ["x"]), {}, GENERIC)


def test_an_operator_that_cannot_write_into_given_memory_is_refused():
    x = info("x", (6,))
    step = Extern("sort", fake("sort"), (view(x),), {}, ("x",), (), into=True)
    with pytest.raises(CompileError, match="sort cannot write"):
        text_of(plan([step], [x], [], ["x"]), {}, GENERIC)


def test_tracebacks_show_the_wrappers_lines(monkeypatch, folder):
    x, y = info("x", (6,)), info("y", (6,))
    step = Extern("thing", fake("thing"), (view(x),), {}, ("y",), ("x",))
    p = plan([step], [x, y], ["x"], ["y"], {"y": Allocation("y", Place.EXTERN)})

    def kernel(a):
        raise ArithmeticError("as I said")

    monkeypatch.setattr(
        "tensorplay.ops.registry.tp", SimpleNamespace(thing=SimpleNamespace(kernel=kernel))
    )
    with pytest.raises(ArithmeticError) as caught:
        load(p)(tensor(*range(6)))
    lines = traceback.format_exception(caught.value)
    assert any(str(folder) in line and "return tp.thing.kernel(x)" in line for line in lines)


@pytest.mark.parametrize(
    ("nanoseconds", "threads", "parallel", "grain"),
    [
        (1e3, 2, True, 1000),
        (1e6, 2, True, 4),
        (1e6, 1, True, 1000),
        (1e6, 2, False, 1000),
        (1e9, 4, True, 1),
    ],
)
def test_threads_are_used_where_they_pay(nanoseconds, threads, parallel, grain):
    target = replace(GENERIC, threads=threads)
    moved = int(nanoseconds * thread_grain.MEMORY_BYTES_PER_NANOSECOND)
    by_bytes = group("k", (), ("y",), trip=1000, parallel=parallel, bytes_moved=moved)
    counted = int(nanoseconds * thread_grain.VECTORS_PER_NANOSECOND)
    by_operations = group("k", (), ("y",), trip=1000, parallel=parallel, operations=counted)
    assert thread_grain.parallel_grain(by_operations, target) == grain
    if moved > target.l3_bytes or grain == 1000:
        assert thread_grain.parallel_grain(by_bytes, target) == grain


# ---- artifacts ---------------------------------------------------------------------------------------------------


def key(**changes):
    fields = {
        "graph": "g",
        "target": "t",
        "options": "o",
        "compiler": "c",
        "package": "p",
        "python": "y",
    }
    return ArtifactKey(
        **{name: codecache.digest_of(value) for name, value in (fields | changes).items()}
    )


def test_an_artifact_is_written_once_and_found_again():
    text = text_of(one_kernel(), DOUBLE, GENERIC)
    assert artifact_cache.load(key()) is None
    assert artifact_cache.differences(key()) == ["graph"]
    artifact_cache.save(key(), text)
    program = artifact_cache.load(key())
    assert arrays(program(tensor(*range(8)))) == [[2.0 * k for k in range(8)]]
    assert artifact_cache.differences(key()) == []


@pytest.mark.parametrize("name", ["target", "options", "compiler", "package", "python"])
def test_a_miss_names_the_field_that_changed(name):
    text = text_of(one_kernel(), DOUBLE, GENERIC)
    artifact_cache.save(key(), text)
    artifact_cache.save(key(target="2", options="2", compiler="2"), text)
    changed = key(**{name: "other"})
    assert artifact_cache.load(changed) is None
    assert artifact_cache.differences(changed) == [name]


@pytest.mark.parametrize("damage", [b"", b"call = print\n"])
def test_a_damaged_artifact_is_not_run(damage, folder):
    text = text_of(one_kernel(), DOUBLE, GENERIC)
    artifact_cache.save(key(), text)
    (path,) = (folder / "artifacts").rglob("*.py")
    path.unlink()
    path.write_bytes(damage)
    assert artifact_cache.load(key()) is None
    assert artifact_cache.differences(key()) == ["graph"]
    artifact_cache.save(key(), text)
    assert artifact_cache.load(key()) is not None


def test_the_digest_of_the_package_follows_contents_not_times(tmp_path, monkeypatch):
    package = tmp_path / "tensorplay"
    (package / "ops").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    helper = package / "ops" / "helper.py"
    helper.write_text("a = 1\n")
    monkeypatch.setattr(artifact_cache, "PACKAGE", package)

    def digest():
        return artifact_cache.digest_of_files(tuple(artifact_cache.source_files()))

    first = digest()
    helper.write_text("a = 2\n")
    second = digest()
    (package / "__pycache__" / "helper.py").write_text("anything")
    (package / "notes.txt").write_text("anything")
    helper.write_text("a = 1\n")
    assert digest() == first != second
    helper.rename(package / "ops" / "other.py")
    assert digest() not in {first, second}


def graph_of(function, *shapes):
    build = OperatorGraphBuilder()
    return build.output(
        function(build.call, *(build.input(TensorMeta(s, float32)) for s in shapes))
    )


@pytest.fixture
def unchanged(monkeypatch):
    """The files of the package may be edited while the tests run."""
    monkeypatch.setattr(artifact_cache, "STARTED", 2**63)
    written = dict(vars(choices))
    monkeypatch.setattr(artifact_cache, "choices_as_written", lambda: written)


def exp_of_sum(call, x):
    return call(tp.exp.default, call(tp.add.Tensor, x, x))


@pytest.mark.usefixtures("unchanged")
def test_every_fact_about_a_graph_is_in_the_key():
    first = artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "options")
    same = artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "options")
    assert first == same
    others = [
        artifact_cache.artifact_key(graph_of(exp_of_sum, (9,)), GENERIC, "options"),
        artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), AVX2, "options"),
        artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "others"),
        artifact_cache.artifact_key(
            graph_of(lambda call, x: call(tp.exp.default, call(tp.add.Scalar, x, -0.0)), (8,)),
            GENERIC,
            "options",
        ),
        artifact_cache.artifact_key(
            graph_of(lambda call, x: call(tp.exp.default, call(tp.add.Scalar, x, 0.0)), (8,)),
            GENERIC,
            "options",
        ),
    ]
    assert len({k.name for k in (first, *others)}) == 6


@pytest.mark.usefixtures("unchanged")
def test_a_graph_with_an_operator_from_elsewhere_has_no_key(monkeypatch):
    assert artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "") is not None
    monkeypatch.setattr(tp.exp, "lowering", lambda x: x)
    assert artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "") is None
    monkeypatch.undo()
    monkeypatch.setattr(tp.exp, "family", "their_module")
    assert artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "") is None


@pytest.mark.usefixtures("unchanged")
def test_why_an_artifact_was_built_or_kept_out(monkeypatch):
    monkeypatch.setattr(artifact_cache, "_LOOKUPS", {})
    graph = graph_of(exp_of_sum, (8,))

    def text(options=""):
        return artifact_cache.explain_lookup(graph, GENERIC, options).text()

    assert text() == "not built yet; no artifact agrees in: graph"
    made = artifact_cache.artifact_key(graph, GENERIC, "")
    assert artifact_cache.look_up(made) is None
    assert text() == "built, because no artifact agrees in: graph"
    artifact_cache.save(made, text_of(one_kernel(), DOUBLE, GENERIC))
    assert artifact_cache.look_up(made) is not None
    assert text() == "built, because no artifact agrees in: graph"
    assert text("others") == "not built yet; no artifact agrees in: options"
    artifact_cache._LOOKUPS.clear()  # as another process
    assert text() == "found in the cache"
    monkeypatch.setattr(choices, "MAX_NODES", 1)
    assert text() == (
        "built in each process and not kept, because this process has replaced choices.MAX_NODES"
    )
    monkeypatch.setattr(artifact_cache, "STARTED", 0)
    assert "changed after this process had started" in text()


@pytest.mark.usefixtures("unchanged")
def test_sources_that_changed_since_the_start_have_no_key(monkeypatch):
    assert artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "") is not None
    monkeypatch.setattr(artifact_cache, "STARTED", 0)
    assert artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "") is None


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("name", "value"), [("MAX_NODES", 1), ("score_fusion", lambda a, b, c: None)]
)
def test_other_choices_while_the_program_runs_have_no_key(monkeypatch, name, value):
    monkeypatch.setattr(choices, name, value)
    assert list(artifact_cache.replaced_choices()) == [name]
    assert artifact_cache.artifact_key(graph_of(exp_of_sum, (8,)), GENERIC, "") is None


def test_choices_are_compared_with_their_file():
    assert artifact_cache.choices_as_written()["MAX_NODES"] == choices.MAX_NODES
    assert "score_fusion" in artifact_cache.choices_as_written()


def test_a_warm_process_loads_no_stage_of_the_compiler(tmp_path):
    program = """
import sys
import tensorplay as tp
y = tp.compile(lambda x: (tp.exp(x) + 1).sum(-1), strict_native=True)(tp.zeros(3, 4))
assert y.tolist() == [8.0] * 3
stages = ("scheduler", "graph_lowering", "wrapper", "codegen.cpp", "schedule")
sys.stdout.write(str(sum(f"tensorplay.compiler.backends.stax.{s}" in sys.modules for s in stages)))
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "TP_CACHE_DIR": str(tmp_path), "TP_VERIFY": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert found == ["5", "0"]
