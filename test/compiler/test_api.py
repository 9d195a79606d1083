"""`tp.compile` itself: decorators, modules, methods, modes, options, backends, fallback, statistics."""

import copy
import pickle
import subprocess
import sys
import threading

import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay import nn
from tensorplay.compiler import options as compiler_options
from tensorplay.compiler import target as targets
from tensorplay.compiler.backends import CompileWarning, find_backend, register_backend
from tensorplay.compiler.backends.interpreted import interpret
from tensorplay.core.errors import ArgumentError, ArgumentValueError, CompileError, RegistryError


def test_as_decorator_with_and_without_options():
    @tp.compile
    def f(x):
        """Adds one."""
        return x + 1

    @tp.compile(backend="aot_eager")
    def g(x):
        return x + 2

    expect(f(tensor_of([1.0])), [2.0], "float32")
    expect(g(tensor_of([1.0])), [3.0], "float32")
    assert f.__name__ == "f"
    assert f.__doc__ == "Adds one."
    assert repr(f).startswith("<compiled test_as_decorator")
    assert tp.compile(f).function is f.function


def test_methods_compiled_in_the_class_body():
    class Scaler:
        def __init__(self, factor):
            self.factor = factor

        @tp.compile(backend="aot_eager")
        def scale(self, x):
            return x * self.factor

    two, three = Scaler(2.0), Scaler(3.0)
    for _ in range(2):
        expect(two.scale(tensor_of([1.0])), [2.0], "float32")
        expect(three.scale(tensor_of([1.0])), [3.0], "float32")
    two.factor = 5.0
    expect(two.scale(tensor_of([1.0])), [5.0], "float32")


def test_a_compiled_module_is_still_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return self.drop(self.lin(x))

    net = Net()
    g = tp.compile(net, backend="aot_eager")
    assert isinstance(g, nn.Module)
    assert isinstance(g, Net)
    assert list(g.state_dict()) == list(net.state_dict())
    assert next(iter(g.parameters())) is net.lin.weight
    g.eval()
    assert not net.training
    assert not net.drop.training
    x = tensor_of([[1.0, 2.0]])
    expect(g(x).detach(), net(x).tolist(), "float32")
    g.lin.bias = nn.Parameter(tensor_of([5.0, 5.0]))
    g.extra = 3
    assert net.lin.bias.tolist() == [5.0, 5.0]
    assert net.extra == 3
    expect(g(x).detach(), net(x).tolist(), "float32")
    parent = nn.Sequential(g, nn.ReLU())
    assert [name for name, _ in parent.named_parameters()] == ["0.lin.weight", "0.lin.bias"]
    expect(parent(x).detach(), net(x).relu().tolist(), "float32")
    assert "compiled Net(" in repr(g)
    del g.extra
    assert not hasattr(net, "extra")


def test_importing_tensorplay_loads_no_compiler():
    program = (
        "import sys, tensorplay as tp; tp.compile; tp.compiler.stats();"
        "tp.ones(2) + 1;"
        "loaded = [m for m in sys.modules if m.startswith('tensorplay.compiler.')];"
        "assert not any('stax' in m or 'explain' in m for m in loaded), loaded"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    program = "import sys, tensorplay; assert not any(m.startswith('tensorplay.compiler') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


# ------------------------------------------------------------------ modes and options


def test_modes_are_presets_that_options_override():
    resolve = compiler_options.resolve_options
    assert resolve(None, None) == resolve("default", {}) == compiler_options.Options()
    assert resolve("reduce-overhead", None).cudagraphs
    assert resolve("max-autotune", None) == compiler_options.Options(
        cudagraphs=True, max_autotune=True, coordinate_descent=True
    )
    assert resolve("max-autotune", {"stax.cudagraphs": False}) == resolve(
        "max-autotune-no-cudagraphs", None
    )
    assert resolve("default", {"memory_budget": 0}).memory_budget == 0


@pytest.mark.parametrize("mode", list(compiler_options.MODES))
def test_every_mode_compiles(mode):
    f = tp.compile(lambda x: x * 2, mode=mode, strict_native=True)
    expect(f(tensor_of([1.0])), [2.0], "float32")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (ArgumentValueError, {"mode": "fast"}, "compile: there is no mode 'fast'; the modes are 'default', 'reduce-overhead', 'max-autotune-no-cudagraphs', 'max-autotune'"),
        (ArgumentValueError, {"options": {"stax.cudagraph": True}}, "compile: there is no option 'stax.cudagraph'; did you mean 'stax.cudagraphs'? The options are 'memory_budget', 'stax.cudagraphs', 'stax.max_autotune', 'stax.coordinate_descent_tuning'"),
        (ArgumentError, {"options": {"stax.cudagraphs": 1}}, "compile: option 'stax.cudagraphs' takes a bool, not 1"),
        (ArgumentError, {"options": {"memory_budget": "0"}}, "compile: option 'memory_budget' takes a float, not '0'"),
        (ArgumentValueError, {"options": {"memory_budget": 2}}, "compile: option 'memory_budget' is a fraction from 0 to 1, not 2"),
        (ArgumentValueError, {"backend": "inductor"}, "compile: there is no backend 'inductor'. There are 'stax', 'aot_eager', 'eager'"),
        (ArgumentValueError, {"backend": "aoteager"}, "compile: there is no backend 'aoteager'; did you mean 'aot_eager'? There are 'stax', 'aot_eager', 'eager'"),
        (ArgumentValueError, {"dynamic": True}, "compile: dynamic=True isn't available: each combination of sizes is compiled for itself"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(kind, options, message):
    with pytest.raises(kind) as caught:
        tp.compile(lambda x: x, **options)
    assert str(caught.value).startswith(message)


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentError, match="compile: expected a function or a module, not 3"):
        tp.compile(3)


# ------------------------------------------------------------------ backends


@pytest.fixture
def backend():
    """Register a backend for one test."""
    from tensorplay.compiler import backends

    known = dict(backends._backends)
    yield register_backend
    backends._backends.clear()
    backends._backends.update(known)


def test_a_backend_of_ones_own(backend):
    seen = []

    def count_calls(graph, target, options):
        graph.verify()
        seen.append([n.name for n in graph.graph.nodes if n.op == "call_function"])
        assert target.threads >= 1
        assert options.memory_budget == 1
        return interpret(graph)

    backend("counting", count_calls)
    x = tensor_of([1.0]).requires_grad_()
    tp.compile(lambda x: (x.exp() * 2).sum(), backend="counting")(x).backward()
    assert seen[0] == ["exp", "mul", "sum_0"]
    assert len(seen) == 2
    with pytest.raises(RegistryError, match="backend 'counting' is registered already"):
        backend("counting", count_calls)


def broken(_graph, _target, _options):
    raise CompileError("no such instruction")


def test_a_failing_backend_falls_back_with_one_warning(backend):
    backend("broken", broken)
    before = tp.compiler.stats().fallbacks
    f = tp.compile(lambda x: x * 2 + 1, backend="broken")
    with pytest.warns(CompileWarning) as caught:
        expect(f(tensor_of([1.0])), [3.0], "float32")
    (warning,) = caught
    assert str(warning.message) == (
        "backend 'broken' failed, so a graph of 4 nodes is interpreted: results are the same, speed "
        "is not. strict_native=True makes this an error. The failure: CompileError: no such instruction"
    )
    expect(f(tensor_of([2.0])), [5.0], "float32")
    assert tp.compiler.stats().fallbacks == before + 1


def test_a_failing_backend_raises_in_strict_mode(backend):
    backend("broken", broken)
    f = tp.compile(lambda x: x * 2 + 1, backend="broken", strict_native=True)
    for _ in range(2):
        with pytest.raises(CompileError, match="no such instruction"):
            f(tensor_of([1.0]))


def test_find_backend():
    assert find_backend("eager").compile is None
    assert find_backend("stax").name == "stax"


# ------------------------------------------------------------------ statistics, reset, targets


def test_statistics_and_reset():
    tp.compiler.reset()
    assert str(tp.compiler.stats()) == "nothing yet"
    f = tp.compile(lambda x: x * 3 if x.sum() > 0 else x, strict_native=True)
    f(tensor_of([1.0])), f(tensor_of([2.0])), f(tensor_of([1.0, 2.0]))
    stats = tp.compiler.stats()
    assert (stats.captures, stats.recompilations, stats.fallbacks) == (2, 1, 0)
    assert stats.gate_checks >= 1
    assert "captures 2, recompilations 1" in str(stats)
    tp.compiler.reset()
    assert tp.compiler.stats().captures == 0
    assert f.reasons == []
    f(tensor_of([1.0]))
    assert tp.compiler.stats().captures == 1


def test_the_host_is_a_target():
    host = targets.host_target(3)
    assert host.threads == 3
    assert host.device == "cpu"
    assert host.vector_bytes in {16, 32, 64}
    assert host.l1_bytes >= 16 * 1024
    assert host.l3_bytes >= host.l2_bytes or host.l2_bytes > 1 << 20
    assert targets.H100.device == "cuda"
    assert (targets.H100.sm_count, targets.H100.warp_size) == (132, 32)


def test_compiled_functions_run_in_threads():
    f = tp.compile(lambda x: (x @ x).sum(0) + 1, strict_native=True)
    x = tp.ones(16, 16)
    right = f(x).tolist()
    wrong = []

    def work():
        wrong.extend(1 for _ in range(50) if f(x).tolist() != right)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class Scaled(nn.Module):
    """A module with a compiled part."""

    def __init__(self):
        super().__init__()
        self.part = tp.compile(nn.Linear(3, 2), strict_native=True)
        self.factor = 2.0

    def forward(self, x):
        return self.part(x) * self.factor


def doubled(x):
    return x * 2


def pickled(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # our own bytes


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_copies_are_compiled_and_independent(duplicate):
    for module in (tp.compile(Scaled(), backend="aot_eager"), Scaled()):
        x = tp.ones(2, 3)
        right = module(x).tolist()
        twin = duplicate(module)
        assert type(twin) is type(module)
        assert isinstance(twin, nn.Module)
        assert twin(x).tolist() == right
        with tp.no_grad():
            twin.part.weight.zero_()
        assert module(x).tolist() == right
        assert twin.part.request == module.part.request
        assert list(twin.state_dict()) == list(module.state_dict())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_functions(duplicate):
    f = tp.compile(doubled, strict_native=True)
    twin = duplicate(f)
    assert twin is not f
    assert twin.function is doubled
    expect(twin(tensor_of([1.0])), [2.0], "float32")
    expect(pickled(f)(tensor_of([3.0])), [6.0], "float32")


def test_every_stage_is_printed_as_its_text():
    explanation = tp.compile(lambda x: (x * 2).sum(-1)).explain(tp.ones(2, 3, requires_grad=True))
    stages = dict(explanation.stages())
    assert {"captured", "joint_graph", "partition", "buffers", "schedule", "kernels"} <= set(stages)
    assert [str(stage) for stage in stages.values()] == [s.text() for s in stages.values()]
    assert str(explanation) == explanation.text()
