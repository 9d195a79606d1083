"""The graph: nodes, order, users, edits, text, verification."""

import operator
import time

import pytest

from tensorplay.core.errors import VerifyError
from tensorplay.graph import Graph


def chain(length):
    graph = Graph()
    node = graph.placeholder("x")
    for _ in range(length):
        node = graph.call_function(operator.add, (node, 1))
    graph.output(node)
    return graph


def names(graph):
    return [node.name for node in graph.nodes]


def test_names_are_counted_from_zero_and_avoid_builtins():
    graph = Graph()
    x = graph.placeholder("x")
    made = [graph.call_method(name, (x,)).name for name in ("t", "t", "t", "sum", "sum", "t_0")]
    assert made == ["t", "t_0", "t_1", "sum_0", "sum_1", "t_2"]


def test_names_are_identifiers():
    graph = Graph()
    wishes = ("layers.0.weight", "2", "<lambda>", "lambda", "self")
    made = [graph.create_node("get_attr", "w", name=wish).name for wish in wishes]
    assert made == ["layers_0_weight", "_2", "_lambda_", "lambda_0", "self_0"]


def test_a_name_is_free_again_after_erasing():
    graph = Graph()
    x = graph.placeholder("x")
    graph.erase_node(graph.call_method("t", (x,)))
    assert graph.call_method("t", (x,)).name == "t"


def test_users_follow_arguments_nested_in_containers():
    graph = Graph()
    x, y, z = (graph.placeholder(name) for name in "xyz")
    node = graph.call_method("f", (x, [y, (x,)], {"k": z}), {"index": slice(None, z)})
    assert node.inputs == (x, y, z)
    assert x.users == y.users == z.users == (node,)
    node.args = (y,)
    assert x.users == ()
    assert node.inputs == (y, z)
    node.kwargs = {}
    assert z.users == ()


def test_replace_all_uses_keeps_containers_and_spares_the_replacement():
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_method("t", (x,))
    reader = graph.call_method("cat", ([x, y], 0), {"out": (x, None)})
    assert x.replace_all_uses_with(y) == (reader,)
    assert reader.args == ([y, y], 0)
    assert reader.kwargs == {"out": (y, None)}
    assert y.args == (x,)
    graph.verify()


def test_insertion_points():
    graph = Graph()
    x = graph.placeholder("x")
    last = graph.call_method("last", (x,))
    with graph.inserting_before(last):
        graph.call_method("a", (x,))
        with graph.inserting_after(x):
            graph.call_method("b", (x,))
            graph.call_method("c", (x,))
        graph.call_method("d", (x,))
    graph.call_method("e", (x,))
    assert names(graph) == ["x", "b", "c", "a", "d", "last", "e"]


def test_move_before():
    graph = Graph()
    a, b, c = (graph.placeholder(name) for name in "abc")
    graph.move_before(c, a)
    graph.move_before(b, b)
    assert names(graph) == ["c", "a", "b"]
    assert [node.name for node in reversed(graph.nodes)] == ["b", "a", "c"]
    graph.verify()


def test_erase_while_iterating_both_ways():
    for order in (iter, reversed):
        graph = chain(10)
        graph.output_node.args = (graph.placeholders[0],)
        for node in order(graph.nodes):
            if node.op == "call_function" and not node.has_users:
                graph.erase_node(node)
        assert len(graph.nodes) == len(names(graph))
        graph.verify()
    assert names(graph) == ["x", "output"]


def test_erasing_a_read_node_names_its_readers():
    graph = chain(1)
    with pytest.raises(ValueError, match=r"can't erase %x: it is still read by add"):
        graph.erase_node(graph.placeholders[0])


def test_erased_node_can_not_be_erased_again():
    graph = Graph()
    node = graph.placeholder("x")
    graph.erase_node(node)
    with pytest.raises(ValueError, match="it isn't in this graph"):
        graph.erase_node(node)


def test_copy_is_independent():
    graph = chain(3)
    graph.placeholders[0].meta["val"] = "v"
    copy, mapping = graph.copy()
    assert copy.text() == graph.text()
    assert mapping[graph.placeholders[0]].meta == {"val": "v"}
    copy.output_node.args = (copy.placeholders[0],)
    assert copy.text() != graph.text()
    copy.verify()
    graph.verify()


def test_text_of_every_kind_and_argument():
    graph = Graph()
    x = graph.placeholder("x")
    w = graph.get_attr("layer.weight")
    y = graph.call_module("layer", (x,))
    z = graph.call_function(
        operator.getitem, (y, (slice(None, -1, None), ..., None, True, 1.5, "s", float("nan")))
    )
    u = graph.call_function(len, (), {"items": [z, w], "map": {"a": x}})
    graph.output((u, [z], {"x": x}))
    assert graph.text().splitlines() == [
        "graph(",
        "    %x : [num_users=3] = placeholder[target=x]",
        "    %weight : [num_users=1] = get_attr[target=layer.weight]",
        "    %layer : [num_users=1] = call_module[target=layer](args = (%x,), kwargs = {})",
        (
            "    %getitem : [num_users=2] = call_function[target=operator.getitem](args = (%layer, "
            "(slice(None, -1, None), Ellipsis, None, True, 1.5, 's', nan)), kwargs = {})"
        ),
        (
            "    %len_0 : [num_users=1] = call_function[target=builtins.len](args = (), "
            "kwargs = {items: [%getitem, %weight], map: {a: %x}})"
        ),
        "    return (len_0, [getitem], {x: x})",
        ")",
    ]


def test_output_is_required():
    with pytest.raises(ValueError, match="no output yet"):
        _ = Graph().output_node


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda g, a, b: g.move_before(b, a), "%b reads %a, which doesn't come before it"),
        (lambda g, a, b: a.user_set.clear(), "%b reads %a but isn't among its users"),
        (lambda g, a, b: b.input_set.clear(), "%a lists the user %b, which doesn't read it"),
        (lambda g, a, b: setattr(b, "name", "a"), "two nodes have the name a"),
        (lambda g, a, b: g.placeholder("late"), "the placeholder %late comes after other nodes"),
        (lambda g, a, b: (g.output(a), g.call_method("c", (a,))), "the output isn't the last"),
        (lambda g, a, b: setattr(b, "target", len), "the target of call_method can't be"),
        (lambda g, a, b: setattr(a, "graph", Graph()), "%a is linked into this graph but"),
        (lambda g, a, b: setattr(a, "next", a), "the links around %a are broken"),
    ],
)
def test_verify_finds_damage(damage, message):
    graph = Graph()
    a = graph.placeholder("a")
    b = graph.call_method("b", (a,))
    graph.verify()
    damage(graph, a, b)
    with pytest.raises(VerifyError, match=message):
        graph.verify()


def test_everything_is_linear_and_iterative():
    start = time.perf_counter()
    graph = chain(20_000)
    graph.verify()
    copy, _ = graph.copy()
    assert len(copy.text().splitlines()) == 20_004
    for node in reversed(copy.nodes):
        if node.op == "call_function":
            node.replace_all_uses_with(node.inputs[0])
            copy.erase_node(node)
    assert len(copy.nodes) == 2
    assert time.perf_counter() - start < 5
