"""Graphs that run: generated Python, the interpreter, the tracer."""

import math
import operator
import traceback
import weakref
from typing import NamedTuple

import pytest

from tensorplay.graph import Graph, GraphModule, Interpreter, Tracer


class Pair(NamedTuple):
    left: object
    right: object


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


def both_ways(root, graph, *args):
    module = GraphModule(root, graph)
    graph.verify()
    ran = module(*args)
    assert Interpreter(module).run(*args) == ran
    return ran


def test_every_kind_of_node_runs():
    graph = Graph()
    x = graph.placeholder("x")
    w = graph.get_attr("layers.0.weight")
    a = graph.call_function(operator.add, (x, w))
    b = graph.call_module("layers.0.scale", (a,))
    c = graph.call_method("bit_length", (b,))
    graph.output((c, {"b": [b]}))
    root = {"layers.0.weight": 3, "layers.0.scale": Scale(4)}
    assert both_ways(root, graph, 5) == (6, {"b": [32]})


def test_attributes_come_from_an_object_too():
    class Root:
        def __init__(self):
            self.scale = Scale(2)

    graph = Graph()
    graph.output(graph.call_module("scale", (graph.get_attr("scale.factor"),)))
    assert both_ways(Root(), graph) == 4


def test_a_call_of_something_that_is_no_module():
    graph = Graph()
    graph.output(graph.call_module("scale", ()))
    with pytest.raises(TypeError, match="scale is no module: it is int, which isn't callable"):
        Interpreter(GraphModule({"scale": 1}, graph)).run()


def test_code_is_python_that_stands_alone():
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.mul, (graph.call_function(operator.neg, (x,)), 2))
    z = graph.call_function(math.sqrt, (graph.call_function(operator.mul, (y, -0.5)),))
    graph.output((y, z))
    code = GraphModule({}, graph).code
    assert code.splitlines() == [
        "import math",
        "import operator",
        "",
        "",
        "def forward(self, x):",
        "    neg = -x",
        "    del x",
        "    mul = neg * 2",
        "    del neg",
        "    mul_0 = operator.mul(mul, -0.5)",
        "    sqrt = math.sqrt(mul_0)",
        "    del mul_0",
        "    return (mul, sqrt)",
    ]
    scope = {}
    exec(code, scope)  # noqa: S102 (running it is the test)
    assert scope["forward"](None, 4.0) == (-8.0, 2.0)


@pytest.mark.parametrize(
    "value",
    [
        None, True, -1, 10**30, 1.5, -0.0, 1e-320, math.inf, -math.inf, 2 - 3j, "a'\n", b"\0", ...,
        (), (1,), [1, [2]], {"a": (1,), 2: None}, slice(1, None, -1), Pair(1, [2]), len, Pair,
        {"not a name": 1, "class": 2},
    ],
)  # fmt: skip
def test_every_argument_survives_printing(value):
    def same(*args, **kwargs):
        return args, kwargs

    graph = Graph()
    kwargs = value if isinstance(value, dict) and all(map(str, value)) else {}
    kwargs = {str(key): item for key, item in kwargs.items()}
    graph.output(graph.call_function(same, (value,), kwargs))
    got = GraphModule({}, graph)()
    assert got == ((value,), kwargs)
    assert type(got[0][0]) is type(value)
    assert repr(got[0][0]) == repr(value)


def test_nan_survives_printing():
    graph = Graph()
    graph.output(graph.call_function(math.isnan, (math.nan,)))
    assert both_ways({}, graph) is True


def test_functions_without_a_name_become_globals():
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(lambda x: x + 1, (x,)))
    module = GraphModule({}, graph)
    assert "_lambda__0(x)" in module.code.replace("__lambda__0", "_lambda__0")
    assert module(1) == 2


def test_a_function_named_like_another_is_not_confused_with_it():
    def sqrt(x):
        return -x

    sqrt.__module__, sqrt.__qualname__ = "math", "sqrt"
    graph = Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(sqrt, (x,)), graph.call_function(math.sqrt, (x,))))
    assert both_ways({}, graph, 4.0) == (-4.0, 2.0)


class Box:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize("run", [GraphModule, lambda root, graph: Interpreter(graph).run])
def test_values_die_after_their_last_use(run):
    refs = []

    def make(box):
        alive = sum(ref() is not None for ref in refs)
        new = Box(box.value + 1)
        refs.append(weakref.ref(new))
        return alive, new

    graph = Graph()
    x = graph.placeholder("x")
    counts = []
    for _ in range(5):
        pair = graph.call_function(make, (x,))
        counts.append(graph.call_function(operator.getitem, (pair, 0)))
        x = graph.call_function(operator.getitem, (pair, 1))
    graph.output(counts)
    assert run({}, graph)(Box(0)) == [0, 1, 1, 1, 1]


def test_recompile_after_an_edit():
    graph = Graph()
    x = graph.placeholder("x")
    node = graph.call_function(operator.add, (x, 1))
    graph.output(node)
    module = GraphModule({}, graph)
    assert module(1) == 2
    node.args = (x, 10)
    module.recompile()
    assert module(1) == 11


def test_errors_show_the_generated_line():
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.truediv, (x, 0)))
    with pytest.raises(ZeroDivisionError) as caught:
        GraphModule({}, graph)(1)
    assert "truediv = x / 0" in "".join(traceback.format_exception(caught.value))


def test_interpreter_asks_for_every_input():
    graph = Graph()
    graph.placeholder("x")
    graph.output(graph.placeholder("y"))
    with pytest.raises(TypeError, match="a value for its input %y, but none is left"):
        Interpreter(graph).run(1)


def test_twenty_thousand_nodes_run():
    graph = Graph()
    x = graph.placeholder("x")
    for _ in range(20_000):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    assert both_ways({}, graph, 0) == 20_000


def test_tracer_records_values_by_their_nodes_and_the_users_line():
    nodes = {}
    tracer = Tracer(nodes.get)
    nodes["x"] = tracer.graph.placeholder("x")
    node = tracer.record("call_method", "cat", (["x", 1], "dim"), {"out": ("x",)})
    assert node.args == ([nodes["x"], 1], "dim")
    assert node.kwargs == {"out": (nodes["x"],)}
    line = node.meta["stack"]
    assert line.file == __file__
    assert line.function == "test_tracer_records_values_by_their_nodes_and_the_users_line"
    assert str(line) == f"test_graph_module.py:{line.line}"
    assert line.location == f'File "{__file__}", line {line.line}, in {line.function}'
