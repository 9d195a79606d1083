"""`functional_call`, `stack_module_state`, `linearize`."""

import pytest

import tensorplay as tp
from tensorplay import func, nn
from tensorplay.core.errors import ArgumentError, ArgumentValueError, ShapeError


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.register_buffer("scale", tp.ones(3))

    def forward(self, x, *, shift=0.0):
        return self.second(self.first(x)) * self.scale + shift


def test_functional_call_replaces_and_restores():
    model, x = Tied(), tp.ones(2, 3)
    own = dict(model.named_parameters())
    before = model(x)
    zero = tp.zeros(3, 3)
    found = func.functional_call(model, {"first.weight": zero}, x, {"shift": 1.0})
    assert tp.allclose(found, model.second.bias + 1.0)  # the tied weight is zero, too
    half = func.functional_call(model, {"first.weight": zero}, (x,), tie_weights=False)
    assert not tp.allclose(half, model.second.bias.expand(2, 3))
    assert tp.equal(model(x), before)
    assert all(each is own[name] for name, each in model.named_parameters())
    scaled = func.functional_call(model, (own, {"scale": tp.zeros(3)}), x)
    assert (scaled == 0).all()
    with pytest.raises(ArgumentValueError, match="no parameter or buffer 'third'"):
        func.functional_call(model, {"third": zero}, x)
    with pytest.raises(ArgumentValueError, match="strict=True"):
        func.functional_call(model, {"scale": tp.ones(3)}, x, strict=True)
    with pytest.raises(ArgumentValueError, match="several"):
        func.functional_call(model, ({"scale": tp.ones(3)}, {"scale": tp.ones(3)}), x)
    with pytest.raises(ShapeError):
        func.functional_call(model, {"first.weight": tp.zeros(2, 2)}, x)
    assert tp.equal(model(x), before)


def test_gradients_of_a_sample_each():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    weights = {name: each.detach() for name, each in model.named_parameters()}
    x = tp.arange(15.0).reshape(5, 3) / 10

    def loss(weights, x):
        return func.functional_call(model, weights, (x,)).pow(2).sum()

    found = func.vmap(func.grad(loss), in_dims=(None, 0))(weights, x)
    for i in range(5):
        expected = tp.autograd.grad(model(x[i]).pow(2).sum(), list(model.parameters()))
        for name, each in zip(weights, expected, strict=True):
            assert tp.allclose(found[name][i], each, atol=1e-6)


def test_an_ensemble():
    models = [nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval() for _ in range(4)]
    x = tp.ones(6, 3)
    parameters, buffers = func.stack_module_state(models)
    assert parameters["0.weight"].shape == (4, 2, 3)
    assert parameters["0.weight"].requires_grad
    assert parameters["0.weight"].is_leaf

    def call(parameters, buffers, x):
        return func.functional_call(models[0], (parameters, buffers), (x,))

    found = func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    assert tp.allclose(found, tp.stack([each(x) for each in models]), atol=1e-6)
    found.sum().backward()
    assert parameters["0.weight"].grad is not None
    with pytest.raises(ArgumentError, match="one class"):
        func.stack_module_state([nn.ReLU(), nn.Tanh()])
    with pytest.raises(ArgumentError, match="at least one"):
        func.stack_module_state([])


def test_linearize():
    x, y = tp.tensor([0.5, -1.0], dtype=tp.float64), tp.tensor(2.0, dtype=tp.float64)
    runs = []

    def function(x, y):
        runs.append(1)
        return {"a": (x * y).sin(), "b": x.prod() * y}

    value, slope = func.linearize(function, x, y)
    for direction in ((x, y), (x * 0, y), (x * 3, y * 0)):
        expected_value, expected = func.jvp(function, (x, y), direction)
        found = slope(*direction)
        for name in ("a", "b"):
            assert tp.allclose(found[name], expected[name])
            assert tp.allclose(value[name], expected_value[name])
    assert len(runs) == 4
    with pytest.raises(ShapeError, match="tangents"):
        slope(y, y)
