"""Other names of operators: the same functions and methods, found in the registry, refused where a name is taken."""

import pytest

import tensorplay as tp
from tensorplay.core.errors import RegistryError
from tensorplay.ops.aliases import ALIASES
from tensorplay.ops.registry import Namespace
from tensorplay.ops.registry import tp as registry


def test_an_alias_is_the_function_itself():
    for name, others in ALIASES.items():
        operator = registry[name]
        assert operator.aliases == others
        for other in others:
            assert registry[other] is operator
            if operator.is_function:
                assert getattr(tp, other) is getattr(tp, name)
            if operator.is_method:
                assert getattr(tp.Tensor, other) is getattr(tp.Tensor, name)
            if operator.has_inplace:
                assert getattr(tp.Tensor, f"{other}_") is getattr(tp.Tensor, f"{name}_")
                assert getattr(tp, f"{other}_") is getattr(tp, f"{name}_")


def test_an_alias_takes_no_name_that_is_taken():
    namespace = Namespace()
    namespace.declare(registry["add"])
    namespace.declare(registry["mul"])
    with pytest.raises(RegistryError, match="cannot be an alias"):
        namespace.also_called("add", "mul")


def test_a_declaration_takes_no_alias():
    namespace = Namespace()
    namespace.declare(registry["trunc"])
    before = registry["trunc"].aliases
    try:
        namespace.also_called("trunc", "floor")
        with pytest.raises(RegistryError, match="is an alias of"):
            namespace.declare(registry["floor"])
    finally:
        registry["trunc"].aliases = before


def test_functions_that_write_in_place():
    x = tp.tensor([1.0, 4.0])
    assert tp.sqrt_(x) is x
    assert x.tolist() == [1.0, 2.0]
    assert tp.clip_(x, 1.5) is x
    assert x.negative_().tolist() == [-1.5, -2.0]


def test_graphs_show_the_operators_own_name():
    graph = tp.compile(lambda x: tp.arcsin(x).absolute()).explain(tp.tensor([0.5]))
    assert [node.target.operator.name for node in graph.operator_graph.graph.nodes if node.op == "call_function"] == [
        "asin", "abs",
    ]  # fmt: skip


@pytest.mark.parametrize("call", [
    lambda x, d, k: tp.sum(x, **{d: 0}), lambda x, d, k: x.mean(**{d: -1, k: True}), lambda x, d, k: x.max(**{d: 1})[0],
    lambda x, d, k: tp.softmax(x, **{d: 1}), lambda x, d, k: tp.cat([x, x], **{d: 1}), lambda x, d, k: x.var(**{d: 0, k: True}),
    lambda x, d, k: tp.gather(x, index=tp.zeros(2, 1, dtype=tp.int64), **{d: 1}), lambda x, d, k: tp.std_mean(x, **{d: 0})[1],
    lambda x, d, k: x.clone().cumsum_(**{d: 0}), lambda x, d, k: tp.linalg.vector_norm(x, **{d: (0, 1), k: True}),
    lambda x, d, k: x.sum(**{d: None}),
])  # fmt: skip
def test_dim_and_keepdim_have_the_names_that_numpy_gives_them(call):
    x = tp.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    expected = call(x, "dim", "keepdim").tolist()
    assert call(x, "axis", "keepdims").tolist() == expected
    compiled = tp.compile(lambda x: call(x, "axis", "keepdims"), backend="aot_eager")
    assert compiled(x).tolist() == expected


def test_one_of_two_names_is_given():
    x = tp.ones(2, 3)
    for call in (lambda: tp.sum(x, 0, axis=1), lambda: x.var(0, axis=1)):
        with pytest.raises(TypeError, match="dim and axis, two names of one parameter"):
            call()
    for call in (
        lambda: x.mean(0, True, keepdims=False),
        lambda: x.std(0, keepdim=True, keepdims=True),
    ):
        with pytest.raises(TypeError, match="keepdim and keepdims, two names of one parameter"):
            call()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'dim'"):
        tp.softmax(x)
    with pytest.raises(
        TypeError, match="missing 2 required positional arguments: 'dim' and 'index'"
    ):
        tp.gather(x)
