"""B49, B51, B53: what a compiled function closes over, identities and requires_grad belong to the key."""

import types

import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay import nn

ONE = 1.0
_scale = 2.0


def _helper(x):
    return x + 1


def test_a_rebound_global_function_is_seen(run, monkeypatch):
    f = run(lambda x: _helper(x) * 2)
    x = tensor_of([1.0])
    expect(f(x), [4.0], "float32")
    monkeypatch.setitem(globals(), "_helper", lambda x: x - 1)
    expect(f(x), [0.0], "float32")
    expect(f(tensor_of([1.0])), [0.0], "float32")
    monkeypatch.undo()
    expect(f(x), [4.0], "float32")


def test_a_rebound_global_number_is_seen(run, monkeypatch):
    f = run(lambda x: x * _scale)
    x = tensor_of([3.0])
    expect(f(x), [6.0], "float32")
    monkeypatch.setitem(globals(), "_scale", 5.0)
    expect(f(x), [15.0], "float32")


def test_a_rebound_closure_cell_is_seen(run):
    def make():
        def helper(x):
            return x + 1

        def rebind():
            nonlocal helper
            helper = lambda x: x - 1

        return (lambda x: helper(x) * 2), rebind

    function, rebind = make()
    f = run(function)
    x = tensor_of([1.0])
    expect(f(x), [4.0], "float32")
    rebind()
    expect(f(x), [0.0], "float32")


def test_a_changed_list_item_and_dict_value_are_seen(run):
    items, table = [1.0], {"k": 1.0}
    f, g = run(lambda x: x * items[0]), run(lambda x: x * table["k"])
    x = tensor_of([1.0])
    expect(f(x), [1.0], "float32")
    expect(g(x), [1.0], "float32")
    items[0] = table["k"] = 5.0
    expect(f(x), [5.0], "float32")
    expect(g(x), [5.0], "float32")


def test_a_set_that_grows_is_seen(run):
    chosen, inside = {1}, [{1}]
    f = run(lambda x: x * (3.0 if 2 in chosen else 1.0) + (5.0 if 2 in inside[0] else 0.0))
    x = tensor_of([1.0])
    expect(f(x), [1.0], "float32")
    chosen.add(2)
    expect(f(x), [3.0], "float32")
    inside[0].add(2)
    expect(f(x), [8.0], "float32")
    chosen.discard(2)
    expect(f(x), [6.0], "float32")


def test_replaced_defaults_are_seen(run):
    def f(x, k=1.0, *, m=0.0):
        return x * k + m

    g = run(f)
    x = tensor_of([2.0])
    expect(g(x), [2.0], "float32")
    f.__defaults__ = (3.0,)
    expect(g(x), [6.0], "float32")
    f.__kwdefaults__["m"] = 1.0
    expect(g(x), [7.0], "float32")


def test_a_changed_module_attribute_is_seen(run):
    place = types.ModuleType("place")
    place.helper = lambda x: x + 1
    f = run(lambda x: place.helper(x) * 2)
    x = tensor_of([1.0])
    expect(f(x), [4.0], "float32")
    place.helper = lambda x: x - 1
    expect(f(x), [0.0], "float32")


def test_a_changed_attribute_of_an_nn_module_is_seen(run):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 2.0
            self.calls = 0

        def forward(self, x):
            return x * self.scale

    module = Scaled()
    f = run(module)
    x = tensor_of([1.0])
    expect(f(x), [2.0], "float32")
    module.scale = 3.0
    expect(f(x), [3.0], "float32")


def test_a_rebound_free_tensor_is_seen(run):
    state = {"w": tensor_of([2.0])}
    f = run(lambda x: x * state["w"])
    x = tensor_of([3.0])
    expect(f(x), [6.0], "float32")
    state["w"] = tensor_of([4.0])
    expect(f(x), [12.0], "float32")
    state["w"].add_(1)
    expect(f(x), [15.0], "float32")


def test_the_identity_of_two_arguments_is_part_of_the_key(run):
    f = run(lambda a, b, x: (a is b, x + 1))
    d, x = {"u": 1}, tensor_of([1.0])
    for _ in range(2):
        assert f(d, {"u": 1}, x)[0] is False
        same, y = f(d, d, x)
        assert same is True
        expect(y, [2.0], "float32")


def test_the_identity_of_two_tensors_is_part_of_the_key(run):
    f = run(lambda a, b: a + 1 if a is b else a - b)
    a, b = tensor_of([1.0]), tensor_of([1.0])
    expect(f(a, b), [0.0], "float32")
    expect(f(a, a), [2.0], "float32")
    expect(f(a, b), [0.0], "float32")


@pytest.mark.parametrize(
    ("first", "second"),
    [(1, 2), (1, 1.0), (1, True), (0.0, -0.0), ("sum", "mean"), (None, 0), ((1, 2), [1, 2])],
)
def test_python_arguments_are_told_apart_by_type_and_value(run, first, second):
    def describe(x, v):
        text = repr(v)
        return x + len(text), text

    f = run(describe)
    x = tensor_of([0.0])
    for value in (first, second, first):
        y, text = f(x, value)
        assert text == repr(value)
        expect(y, [float(len(repr(value)))], "float32")


def test_scalars_are_special_by_value_and_dtype(run):
    f = run(lambda x, s: x * s)
    x = tensor_of([2], "int64")
    expect(f(x, 3), [6], "int64")
    expect(f(x, 3.0), [6.0], "float32")
    expect(f(x, tensor_of(3, "int64")), [6], "int64")


def test_a_frozen_and_unfrozen_parameter(run):
    p = nn.Parameter(tp.tensor([1.0, 1.0]), requires_grad=False)
    f = run(lambda x: (x * p).sum())
    x = tp.ones(2).requires_grad_()
    f(x).backward()
    assert p.grad is None
    expect(x.grad, [1.0, 1.0], "float32")
    p.requires_grad_(True)
    f(x).backward()
    expect(p.grad, [1.0, 1.0], "float32")
    p.requires_grad_(False)
    p.grad = None
    f(x).backward()
    assert p.grad is None


def test_unfreezing_inside_a_module_with_a_counter(run):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(tp.tensor([1.0, 1.0]), requires_grad=False)
            self.count = 0

        def forward(self, x):
            return (x * self.p).sum()

    module = Counting()
    f = run(module)
    x = tp.ones(2).requires_grad_()
    f(x).backward()
    module.count += 1
    module.p.requires_grad_(True)
    f(x).backward()
    expect(module.p.grad, [1.0, 1.0], "float32")


def test_requires_grad_of_the_result_follows_the_mode(run):
    f = run(lambda x: x * 2)
    x = tensor_of([1.0]).requires_grad_()
    assert f(x).requires_grad
    with tp.no_grad():
        assert not f(x).requires_grad
    assert f(x).requires_grad
    assert not f(x.detach()).requires_grad


def test_training_and_evaluation_are_different_programs(run):
    module = nn.Sequential(nn.Dropout(1.0))
    f = run(module)
    x = tp.ones(3)
    expect(f(x), [0.0] * 3, "float32")
    module.eval()
    expect(f(x), [1.0] * 3, "float32")
    module.train()
    expect(f(x), [0.0] * 3, "float32")


def test_dtypes_shapes_and_strides_are_different_programs(run):
    f = run(lambda x: x + ONE)
    expect(f(tensor_of([1.0])), [2.0], "float32")
    expect(f(tensor_of([1.0], "float64")), [2.0], "float64")
    expect(f(tensor_of([1, 2], "int32")), [2.0, 3.0], "float32")
    expect(f(tensor_of(1.0)), 2.0, "float32")
    expect(f(tensor_of([])), [], "float32")
    for layout in ("transposed", "reversed", "strided"):
        expect(
            f(tensor_of([[1.0, 2.0], [3.0, 4.0]], "float32", layout)),
            [[2.0, 3.0], [4.0, 5.0]],
            "float32",
        )


def test_a_branch_on_data_is_a_gate(run):
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    g = run(f)
    expect(g(tensor_of([1.0, 2.0])), [2.0, 4.0], "float32")
    expect(g(tensor_of([-1.0, -2.0])), [-2.0, -3.0], "float32")
    expect(g(tensor_of([1.0, 2.0])), [2.0, 4.0], "float32")
    x = tensor_of([1.0, 2.0])
    expect(g(x), [2.0, 4.0], "float32")
    x.neg_()
    expect(g(x), [-2.0, -3.0], "float32")
