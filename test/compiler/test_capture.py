"""Capture: what is recorded, what is lifted, what becomes a gate, what is refused."""

import collections
import dataclasses
import operator
import random
from collections import deque
from typing import NamedTuple

import numpy as np
import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay import nn
from tensorplay.compiler.capture.random_calls import draws_random_numbers
from tensorplay.core.errors import CaptureError

BACKENDS = ("eager", "aot_eager", "stax")


@pytest.fixture(params=BACKENDS)
def compile(request):
    return lambda f: tp.compile(f, backend=request.param, strict_native=True)


def captured(f, *args, **kwargs):
    return tp.compile(f, backend="eager").explain(*args, **kwargs).captured


def targets(graph):
    nodes = graph.module.graph.nodes
    return [n.target for n in nodes if n.op in {"call_function", "call_method"}]


def test_calls_are_recorded_as_written():
    def f(x, y):
        return tp.relu(x).add(y, alpha=2).sum(-1, keepdim=True).t() @ y - 1

    graph = captured(f, tp.ones(3, 3), tp.ones(3, 3))
    assert targets(graph) == [tp.relu, "add", "sum", "t", operator.matmul, operator.sub]
    node = next(n for n in graph.module.graph.nodes if n.target == "sum")
    assert node.args[1:] == (-1, True)
    assert node.meta["stack"].file == __file__
    assert node.meta["stack"].function == "f"


def test_the_captured_graph_runs_as_python():
    def f(x):
        y = x[1:, None]
        return (y * 2 - tp.ones(2, 1, 3)).clamp(min=0.0)

    x = tensor_of([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    graph = captured(f, x)
    scope = {}
    exec(graph.code, scope)  # noqa: S102 (running it is the test)
    assert scope["forward"](None, x)[0].tolist() == f(x).tolist()


GLOBAL = tensor_of([10.0])


def test_free_tensors_become_inputs_that_are_looked_up_at_each_call(compile):
    cell = tensor_of([1.0])
    table = {"w": [tensor_of([2.0])]}

    def f(x):
        return x * cell + table["w"][0] + GLOBAL

    g = compile(f)
    x = tensor_of([3.0])
    expect(g(x), [15.0], "float32")
    cell.fill_(2.0)
    expect(g(x), [18.0], "float32")
    cell = tensor_of([0.0])
    table["w"][0] = tensor_of([5.0])
    expect(g(x), [15.0], "float32")
    assert g.misses == 1


def test_a_free_tensor_of_another_shape_is_seen(compile):
    state = {"w": tensor_of([1.0])}
    g = compile(lambda x: x + state["w"])
    expect(g(tensor_of([1.0])), [2.0], "float32")
    state["w"] = tensor_of([1.0, 2.0])
    expect(g(tensor_of([1.0])), [2.0, 3.0], "float32")
    state["w"] = tensor_of([1], "int64")
    expect(g(tensor_of([1.0])), [2.0], "float32")


def test_parameters_and_buffers_are_lifted(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)
            self.register_buffer("shift", tensor_of([1.0, 2.0]))

        def forward(self, x):
            return self.lin(x) + self.shift

    net = Net()
    g = compile(net)
    x = tensor_of([[1.0, 2.0]])
    with tp.no_grad():
        for _ in range(2):
            right = net(x)
            expect(g(x), right.tolist(), "float32")
            net.lin.weight.mul_(2.0)
            net.shift = net.shift + 1
    assert g.misses == 1


def test_the_inputs_of_a_captured_module_have_their_paths():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    names = [n.name for n in captured(net, tp.ones(1, 2)).module.graph.placeholders]
    assert names[0].startswith("input")
    assert any("weight" in name for name in names[1:])
    assert any("bias" in name for name in names[1:])


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


class Pair(NamedTuple):
    first: object
    second: object


def test_containers_go_in_and_out(compile):
    def f(d, items, point, *rest, scale, **more):
        return {
            "pair": Pair(d["a"] * scale, [items[0] + 1, (items[1][0],)]),
            "point": Point(point.x + point.y, "kept"),
            "rest": rest,
            "more": collections.OrderedDict(more, z=None),
            1: [True, 2.5, "s", slice(1, 2), tp.float32],
        }

    g = compile(f)
    one, two = tensor_of([1.0]), tensor_of([2.0])
    for _ in range(2):
        out = g({"a": one}, [one, (two,)], Point(one, two), two, 7, scale=3, extra=one)
        assert list(out) == ["pair", "point", "rest", "more", 1]
        assert isinstance(out["pair"], Pair)
        expect(out["pair"].first, [3.0], "float32")
        expect(out["pair"].second[0], [2.0], "float32")
        assert out["pair"].second[1][0] is two
        assert isinstance(out["point"], Point)
        expect(out["point"].x, [3.0], "float32")
        assert out["point"].y == "kept"
        assert out["rest"][0] is two
        assert out["rest"][1] == 7
        assert type(out["more"]) is collections.OrderedDict
        assert list(out["more"]) == ["extra", "z"]
        assert out[1] == [True, 2.5, "s", slice(1, 2), tp.float32]


def test_what_is_registered_with_optree_is_a_container(compile):
    import optree

    class Box:
        def __init__(self, value):
            self.value = value

    optree.register_pytree_node(
        Box, lambda b: ((b.value,), None), lambda _, c: Box(c[0]), namespace="tensorplay"
    )
    g = compile(lambda b: Box(b.value * 2))
    expect(g(Box(tensor_of([2.0]))).value, [4.0], "float32")


def test_results_are_fresh_containers(compile):
    g = compile(lambda x: [x + 1, {}])
    first, second = g(tensor_of([1.0])), g(tensor_of([1.0]))
    first[1]["k"] = 1
    assert second[1] == {}


def test_python_runs_once_for_each_kind_of_call(compile):
    seen = []

    def f(x, n):
        seen.append(n)
        return x * n

    g = compile(f)
    x = tensor_of([1.0])
    for n in (2, 2, 3, 2):
        expect(g(x, n), [float(n)], "float32")
    assert seen == [2, 3]


# ------------------------------------------------------------------ gates


def test_gates_of_every_kind(compile):
    def f(x):
        if x.sum() > 3:
            x = x * 10
        n = int(x[0].item())
        return x[: max(n % 3, 1)] + len(x.tolist())

    g = compile(f)
    for values in ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [5.0, 1.0, 1.0], [1.0, 1.0, 1.0]):
        x = tensor_of(values)
        expect(g(x), f(x).tolist(), "float32")


def test_a_gate_reads_earlier_writes_but_changes_nothing_itself(compile):
    def f(x, y):
        x.add_(1)
        if y[0] > 2:
            x.mul_(2)
        y.zero_()
        return x + y

    g = compile(f)
    for _ in range(2):
        x, y = tensor_of([1.0, 1.0]), tensor_of([5.0, 5.0])
        expect(g(x, y), [4.0, 4.0], "float32")
        expect(x, [4.0, 4.0], "float32")
        expect(y, [0.0, 0.0], "float32")
        base = tensor_of([1.5, 1.0, 7.0])
        again = tensor_of([1.5, 1.0, 7.0])
        expect(g(base[:2], base[:1]), f(again[:2], again[:1]).tolist(), "float32")
        expect(base, again.tolist(), "float32")


def test_a_gate_on_a_free_tensor(compile):
    flag = tensor_of([1.0])
    g = compile(lambda x: x + 1 if flag > 0 else x - 1)
    x = tensor_of([0.0])
    expect(g(x), [1.0], "float32")
    flag.neg_()
    expect(g(x), [-1.0], "float32")
    flag.neg_()
    expect(g(x), [1.0], "float32")
    assert g.misses == 2


def test_a_loop_until_data_says_stop(compile):
    def f(x):
        steps = 0
        while x.max() > 1:
            x = x / 2
            steps += 1
        return x, steps

    g = compile(f)
    for start in (9.0, 1.5, 9.5, 100.0):
        y, steps = g(tensor_of([start, 0.5]))
        right, right_steps = f(tensor_of([start, 0.5]))
        expect(y, right.tolist(), "float32")
        assert steps == right_steps


def test_a_gate_on_random_numbers_draws_them_once(compile):
    def f(x):
        y = tp.rand(1)
        return (x + y, True) if y > 0.5 else (x - y, False)

    g = compile(f)
    tp.manual_seed(5)
    right = [f(tensor_of([0.0])) for _ in range(12)]
    tp.manual_seed(5)
    for y, branch in right:
        found, found_branch = g(tensor_of([0.0]))
        assert branch is found_branch
        expect(found, y.tolist(), "float32")


def test_a_gate_is_cut_before_dead_code_and_leaves_the_graph():
    def f(x):
        return x + 1 if (x * 2).sum() > 0 else x

    e = tp.compile(f, backend="aot_eager").explain(tensor_of([1.0]))
    assert [gate.what for gate in e.captured.gates] == ["bool()"]
    assert targets(e.captured) == [operator.add]
    guard = [n.target for n in e.captured.guard.graph.nodes if n.op.startswith("call")]
    assert guard == [operator.mul, "sum", operator.gt, "clone"]
    assert [n.name for n in e.operator_graph.graph.nodes if n.op == "call_function"] == ["add"]


def test_capture_does_no_tensor_work():
    x = tp.zeros(1 << 24)  # 64 MiB: a single pass would take milliseconds
    import time

    start = time.process_time()
    captured(lambda x: ((x + 1) * 2 - tp.zeros(1 << 28)[: 1 << 24]).sum(), x)
    assert time.process_time() - start < 0.05


# ------------------------------------------------------------------ side effects


def test_a_rebound_buffer_is_assigned_at_each_call(compile):
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", tensor_of([0.0]))

        def forward(self, x):
            self.mean = self.mean * 0.5 + x.mean() * 0.5
            return x - self.mean

    right, net = Running(), Running()
    g = compile(net)
    for step in range(4):
        x = tensor_of([float(step), 2.0])
        expect(g(x), right(x).tolist(), "float32")
        expect(net.mean, right.mean.tolist(), "float32")
    assert g.misses == 1


def test_other_rebound_places(compile):
    table, items = {}, [None]
    count = tensor_of([0.0])

    def f(x):
        nonlocal count
        count = count + 1
        table["last"] = x * count
        items[0] = x - 1
        return x + count

    g = compile(f)
    for step in (1.0, 2.0, 3.0):
        expect(g(tensor_of([1.0])), [1.0 + step], "float32")
        expect(count, [step], "float32")
        expect(table["last"], [step], "float32")
        expect(items[0], [0.0], "float32")


def test_functions_with_their_own_backward(compile):
    class Doubled(tp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * 100

    x = tensor_of([3.0]).requires_grad_()
    y = compile(lambda x: Doubled.apply(x) + 1)(x)
    expect(y.detach(), [10.0], "float32")
    y.backward()
    expect(x.grad, [300.0], "float32")


def test_gradients_inside_a_compiled_function(compile):
    def f(x):
        y = (x**3).sum()
        (g,) = tp.autograd.grad(y, x, create_graph=True)
        return g * 2

    x = tensor_of([2.0, 3.0]).requires_grad_()
    g = compile(f)(x)
    expect(g.detach(), [24.0, 54.0], "float32")
    (h,) = tp.autograd.grad(g.sum(), x)
    expect(h, [24.0, 36.0], "float32")


def test_leaves_made_inside(compile):
    def f(x):
        y = x.detach().requires_grad_()
        p = tp.ones(2).requires_grad_()
        (g,) = tp.autograd.grad((y**2 * p).sum(), y)
        return g, (p * x).sum().detach()

    for _ in range(2):
        g, total = compile(f)(tensor_of([1.0, 2.0]))
        expect(g, [2.0, 4.0], "float32")
        expect(total, 3.0, "float32")


def test_switches_of_the_grad_mode_are_kept(compile):
    def f(x, w):
        with tp.no_grad():
            scale = (x * w).sum()
        return x * w * scale, scale

    x, w = tensor_of([1.0, 2.0]), tensor_of([3.0, 4.0]).requires_grad_()
    y, scale = compile(f)(x, w)
    assert y.requires_grad
    assert not scale.requires_grad
    y.sum().backward()
    expect(w.grad, [11.0, 22.0], "float32")


def test_a_compiled_function_inside_another_is_part_of_it(compile):
    inner = tp.compile(lambda x: x * 2)
    g = compile(lambda x: inner(x) + 1)
    expect(g(tensor_of([1.0])), [3.0], "float32")
    assert inner.misses == 0


def test_printing_inside_works(compile):
    texts = []
    compile(lambda x: (texts.append(repr(x)), x + 1)[1])(tensor_of([1.0]))
    assert "tensor" in texts[0].lower()


# ------------------------------------------------------------------ refusals


def refusal(f, *args):
    with pytest.raises(CaptureError) as caught:
        tp.compile(f)(*args)
    return str(caught.value)


def test_backward_inside_is_refused():
    def f(x):
        y = (x * 2).sum()
        y.backward()
        return y

    message = refusal(f, tensor_of([1.0]).requires_grad_())
    assert message.startswith("the function can't be captured: backward() adds to .grad of tensors")
    assert f'File "{__file__}", line' in message
    assert message.endswith(", in f")


def test_changing_an_argument_container_is_refused():
    def f(d):
        d["y"] = d["x"] + 1
        return d["y"]

    assert "it changes a dict that it was given" in refusal(f, {"x": tensor_of([1.0])})


def test_appending_to_a_free_list_is_refused():
    log = []

    def f(x):
        log.append(x + 1)
        return x

    assert "it puts a tensor into the list log" in refusal(f, tensor_of([1.0]))
    assert log == []


def test_the_gradient_of_an_argument_is_refused():
    x = tensor_of([1.0]).requires_grad_()
    (x * 2).sum().backward()
    message = refusal(lambda x: x.detach() - x.grad, x)
    assert "x.grad is read, but the gradient of an argument isn't passed; pass it" in message


def test_a_gradient_that_is_not_there_yet_is_refused_too():
    """The answer may be another one at the next call."""
    x = tensor_of([1.0]).requires_grad_()
    message = refusal(lambda x: x * 2 if x.grad is None else x.grad, x)
    assert "x.grad is read" in message


def test_assigning_gradients_is_refused():
    weight = tensor_of([1.0]).requires_grad_()

    def f(x):
        weight.grad = None
        return x * weight

    assert ".grad of a tensor is assigned, which would happen once" in refusal(f, tensor_of([1.0]))


@pytest.mark.parametrize("name", ["register_hook", "retain_grad"])
def test_hooks_inside_are_refused(name):
    """They would be on tensors that are gone when a backward pass runs."""

    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 3) if name == "register_hook" else y.retain_grad()
        return y.sin()

    assert "on what it returns" in refusal(f, tensor_of([1.0]).requires_grad_())


@pytest.mark.parametrize("draw", [random.random, np.random.random])
def test_draws_of_other_modules_are_refused(draw):
    """They would be constants. Nothing is drawn by the attempt."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  # the global generator is meant
    first = draw()
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  # the global generator is meant
    message = refusal(lambda x: x * draw(), tensor_of([1.0]))
    assert "it draws numbers of the module" in message
    assert draw() == first


def test_addresses_are_refused():
    assert "data_ptr has no meaning" in refusal(lambda x: x + x.data_ptr(), tensor_of([1.0]))


def test_deques_are_containers():
    """With or without optree loaded, which knows them too."""

    def f(pair):
        return deque([pair[0] + 1, pair[1]], maxlen=3)

    found = tp.compile(f)(deque([tp.ones(2), 5]))
    assert isinstance(found, deque)
    assert found.maxlen == 3
    expect(found[0], [2.0, 2.0], "float32")
    assert found[1] == 5


@pytest.mark.parametrize(
    "name",
    [
        "rand_like",
        "dropout",
        "rrelu",
        "gumbel_softmax",
        "normal_",
        "exponential_",
        "cauchy_",
        "random_",
        "bernoulli_",
    ],
)
def test_random_calls_are_known_by_what_they_call(name):
    assert draws_random_numbers(name)
    assert not draws_random_numbers("add_")
