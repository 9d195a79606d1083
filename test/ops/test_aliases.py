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
