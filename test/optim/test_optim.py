"""Optimizers against their formulas written out in float64, states, groups."""

import math

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay import nn, optim

START = [1.0, -2.0, 0.5]


def parameter(values=START, dtype="float64"):
    return nn.Parameter(tensor_of(values, dtype))


def gradient(p):
    """The gradient of Σ p⁴/4 + p."""
    return p**3 + 1


def run(optimizer, p, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (p**4 / 4 + p).sum().backward()
        optimizer.step()
    return to_array(p)


def sgd(steps, lr, momentum=0.0, dampening=0.0, decay=0.0, nesterov=False, sign=1.0):
    p, b = np.array(START), None
    for _ in range(steps):
        g = sign * gradient(p) + decay * p
        if momentum:
            b = g if b is None else momentum * b + (1 - dampening) * g
            g = g + momentum * b if nesterov else b
        p = p - lr * g
    return p


def adam(steps, lr, b1, b2, eps, decay=0.0, decoupled=False, amsgrad=False):
    p = np.array(START)
    m, v, top = np.zeros(3), np.zeros(3), np.zeros(3)
    for t in range(1, steps + 1):
        g = gradient(p)
        if decoupled:
            p = p * (1 - lr * decay)
        else:
            g = g + decay * p
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        top = np.maximum(top, v)
        root = np.sqrt((top if amsgrad else v) / (1 - b2**t))
        p = p - lr * (m / (1 - b1**t)) / (root + eps)
    return p


@pytest.mark.parametrize(
    ("settings", "formula"),
    [
        ({}, {}),
        ({"momentum": 0.9}, {"momentum": 0.9}),
        ({"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9, "dampening": 0.3}),
        ({"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "nesterov": True}),
        ({"weight_decay": 0.1, "momentum": 0.5}, {"decay": 0.1, "momentum": 0.5}),
    ],
)
def test_sgd(settings, formula):
    p = parameter()
    found = run(optim.SGD([p], lr=0.05, **settings), p, 5)
    np.testing.assert_allclose(found, sgd(5, 0.05, **formula), rtol=1e-12)


def test_maximizing_climbs():
    p = parameter()
    found = run(optim.SGD([p], lr=0.01, maximize=True), p, 2)
    np.testing.assert_allclose(found, sgd(2, 0.01, sign=-1.0), rtol=1e-12)


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam(amsgrad, decay):
    p = parameter()
    opt = optim.Adam([p], 0.05, (0.8, 0.95), 1e-6, weight_decay=decay, amsgrad=amsgrad)
    right = adam(7, 0.05, 0.8, 0.95, 1e-6, decay, amsgrad=amsgrad)
    np.testing.assert_allclose(run(opt, p, 7), right, rtol=1e-10)


def test_adamw_decays_the_parameter_itself():
    p = parameter()
    opt = optim.AdamW([p], 0.05, weight_decay=0.1)
    right = adam(7, 0.05, 0.9, 0.999, 1e-8, 0.1, decoupled=True)
    np.testing.assert_allclose(run(opt, p, 7), right, rtol=1e-10)


def test_late_bias_corrections_are_exact_in_float32():
    p = nn.Parameter(tp.ones(1))
    opt = optim.Adam([p], lr=1.0)
    p.grad = tp.ones(1)
    opt.step()
    assert math.isclose(p.item(), 0.0, abs_tol=1e-6)


def test_parameters_without_gradients_rest():
    p, q = parameter(), parameter()
    opt = optim.Adam([p, q], lr=0.1)
    for i in range(4):
        opt.zero_grad()
        loss = (p * p).sum() + (q * q).sum() if i % 2 else (p * p).sum()
        loss.backward()
        opt.step()
    assert opt.state[p]["step"].item() == 4.0
    assert opt.state[q]["step"].item() == 2.0
    alone, again = optim.Adam([r := parameter()], lr=0.1), None
    for _ in range(2):
        alone.zero_grad()
        (r * r).sum().backward()
        alone.step()
        again = to_array(r)
    np.testing.assert_array_equal(to_array(q), again)


def test_groups_have_their_own_settings():
    p, q = parameter(), parameter()
    opt = optim.SGD([{"params": [p]}, {"params": q, "lr": 0.0}], lr=0.1)
    (p.sum() + q.sum()).backward()
    opt.step()
    np.testing.assert_allclose(to_array(p), np.array(START) - 0.1)
    np.testing.assert_array_equal(to_array(q), START)
    opt.param_groups[1]["lr"] = 1.0
    opt.step()
    np.testing.assert_allclose(to_array(q), np.array(START) - 1.0)


def test_the_rate_can_be_a_tensor():
    p = parameter()
    opt = optim.SGD([p], lr=tp.tensor(0.5, dtype=tp.float64))
    p.sum().backward()
    opt.step()
    np.testing.assert_allclose(to_array(p), np.array(START) - 0.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
        lambda p: optim.AdamW(p, lr=0.05, amsgrad=True),
    ],
)
def test_state_goes_out_and_in(make):
    p = parameter()
    first = make([p])
    run(first, p, 3)
    q = nn.Parameter(p.detach().clone())
    second = make([q])
    state = {"state": {}, "param_groups": first.state_dict()["param_groups"]}
    for number, entry in first.state_dict()["state"].items():
        state["state"][number] = {name: t.clone() for name, t in entry.items()}
    second.load_state_dict(state)
    np.testing.assert_array_equal(run(first, p, 2), run(second, q, 2))


def test_states_that_do_not_fit_are_refused():
    p, q = parameter(), parameter()
    one, two = optim.SGD([p], lr=0.1), optim.SGD([p, q], lr=0.1)
    with pytest.raises(
        optim.OptimizerStateError, match=r"\[1\] parameters, the optimizer of \[2\]"
    ):
        two.load_state_dict(one.state_dict())


def test_mistakes_have_clear_errors():
    p = parameter()
    with pytest.raises(ValueError, match="no parameters"):
        optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="learning rate"):
        optim.SGD([p], lr=-1.0)
    with pytest.raises(ValueError, match="nesterov"):
        optim.SGD([p], lr=0.1, nesterov=True)
    with pytest.raises(ValueError, match="betas"):
        optim.Adam([p], betas=(1.0, 0.9))
    with pytest.raises(ValueError, match="two places"):
        optim.SGD([p, p], lr=0.1)
    with pytest.raises(ValueError, match="leaf"):
        optim.SGD([p * 1], lr=0.1)
    with pytest.raises(ValueError, match="no settings"):
        optim.SGD([{"params": [p], "speed": 1}], lr=0.1)


def test_a_closure_computes_the_loss():
    p = parameter()
    opt = optim.SGD([p], lr=0.1)

    def closure():
        opt.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    before = opt.step(closure).item()
    assert (p * p).sum().item() < before


def test_a_step_outlives_gradients_and_graphs():
    p = parameter()
    opt = optim.SGD([p], lr=0.1, momentum=0.9)
    run(opt, p, 3)
    assert p.is_leaf
    assert p.requires_grad
    assert not opt.state[p]["momentum_buffer"].requires_grad


# ---- compiled

MAKERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, 0.1, 0.9, dampening=0.2, weight_decay=0.1),
    "nesterov": lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True, maximize=True),
    "adam": lambda p: optim.Adam(p, 0.1, weight_decay=0.1, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, 0.1),
}


def train(make, prepare, factor=0.5):
    """Parameters of several shapes after some steps, the rate multiplied by `factor` in between."""
    rng = np.random.default_rng(0)
    params = [
        nn.Parameter(tensor_of(rng.standard_normal(shape))) for shape in ((4, 3), (5,), (), (0, 2))
    ]
    opt = make(params)
    step = prepare(opt)
    for _ in range(4):
        opt.zero_grad()
        sum((p * p * p).sum() for p in params).backward()
        step()
        opt.param_groups[0]["lr"] *= factor
    return [to_array(p) for p in params]


@pytest.mark.parametrize("name", MAKERS)
def test_the_compiled_rule_gives_the_same_bits_and_is_compiled_once(name):
    def compiled(opt):
        opt.compile(strict_native=True)
        return opt.step

    right = train(MAKERS[name], lambda opt: opt.step)
    before = tp.compiler.stats().captures
    found = train(MAKERS[name], compiled)
    assert tp.compiler.stats().captures == before + 1
    for a, b in zip(found, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["momentum", "adamw"])
def test_a_step_can_be_compiled_as_a_whole(name):
    right = train(MAKERS[name], lambda opt: opt.step, 1.0)
    before = tp.compiler.stats().captures
    found = train(MAKERS[name], lambda opt: tp.compile(opt.step, strict_native=True), 1.0)
    assert tp.compiler.stats().captures == before + 1
    for a, b in zip(found, right, strict=True):
        np.testing.assert_array_equal(a, b)


class Trainer:
    def __init__(self):
        self.net = nn.Linear(2, 1)
        self.optimizer = optim.SGD(self.net.parameters(), lr=0.1)

    def loss(self, x):
        return self.net(x).sum()


def test_a_rate_beside_the_model_compiles_nothing_anew():
    trainer = Trainer()
    loss = tp.compile(trainer.loss, strict_native=True)
    x = tp.ones(3, 2)
    before = tp.compiler.stats().captures
    for rate in (0.1, 0.2, 0.3):
        trainer.optimizer.param_groups[0]["lr"] = rate
        loss(x).backward()
        trainer.optimizer.step()
    assert tp.compiler.stats().captures == before + 1


# ---- hooks


def test_hooks_run_around_a_step():
    weight, seen = nn.Parameter(tp.ones(2)), []
    opt = optim.SGD([weight], lr=0.5)
    before = opt.register_step_pre_hook(lambda opt, args, kwargs: seen.append("before"))
    opt.register_step_post_hook(lambda opt, args, kwargs: seen.append(weight[0].item()))
    weight.sum().backward()
    opt.step()
    before.remove()
    opt.step()
    assert seen == ["before", 0.5, 0.0]


def test_a_hook_may_change_what_a_step_gets():
    weight, losses = nn.Parameter(tp.ones(2)), []
    opt = optim.LBFGS([weight], lr=0.1, max_iter=1)

    def closure():
        losses.append(1)
        loss = (weight * weight).sum()
        loss.backward()
        return loss

    opt.register_step_pre_hook(lambda opt, args, kwargs: ((args[0], closure), kwargs))
    opt.step(None)
    assert losses


def test_hooks_run_around_states():
    weight = nn.Parameter(tp.ones(2))
    opt = optim.SGD([weight], lr=0.5, momentum=0.9)
    seen = []
    opt.register_state_dict_pre_hook(lambda opt: seen.append("saving"))
    opt.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
    opt.register_load_state_dict_pre_hook(lambda opt, state: seen.append(state.pop("more")))
    opt.register_load_state_dict_post_hook(lambda opt: seen.append("loaded"))
    state = opt.state_dict()
    opt.load_state_dict(state)
    assert seen == ["saving", 1, "loaded"]
    assert state["more"] == 1
