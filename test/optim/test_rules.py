"""Every optimizer's rule against its formula in NumPy, eager and compiled; states in PyTorch's layout."""

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay import nn, optim
from tensorplay.core.errors import ArgumentError, ArgumentValueError

START = np.array([1.0, -2.0, 0.5])
STEPS = 8


def gradient(p):
    """The gradient of Σ p⁴/4 + p."""
    return p**3 + 1


def rmsprop(p, lr, alpha, eps, momentum=0.0, centered=False):
    v, m, b = np.zeros(3), np.zeros(3), np.zeros(3)
    for _ in range(STEPS):
        g = gradient(p)
        v = alpha * v + (1 - alpha) * g * g
        m = alpha * m + (1 - alpha) * g
        b = momentum * b + g / (np.sqrt(v - m * m if centered else v) + eps)
        p = p - lr * b
    return p


def adagrad(p, lr, decay, start, eps):
    s = np.full(3, start)
    for t in range(STEPS):
        g = gradient(p)
        s = s + g * g
        p = p - lr / (1 + t * decay) * g / (np.sqrt(s) + eps)
    return p


def adadelta(p, lr, rho, eps):
    v, u = np.zeros(3), np.zeros(3)
    for _ in range(STEPS):
        g = gradient(p)
        v = rho * v + (1 - rho) * g * g
        d = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d * d
        p = p - lr * d
    return p


def adamax(p, lr, b1, b2, eps):
    m, u = np.zeros(3), np.zeros(3)
    for t in range(1, STEPS + 1):
        g = gradient(p)
        m = b1 * m + (1 - b1) * g
        u = np.maximum(b2 * u, np.abs(g) + eps)
        p = p - lr / (1 - b1**t) * m / u
    return p


def nadam(p, lr, b1, b2, eps, psi, decay=0.0):
    m, v, product = np.zeros(3), np.zeros(3), 1.0
    for t in range(1, STEPS + 1):
        g = gradient(p)
        p = p * (1 - lr * decay)
        mu, after = (b1 * (1 - 0.5 * 0.96 ** (k * psi)) for k in (t, t + 1))
        product *= mu
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        ahead = (1 - mu) * g / (1 - product) + after * m / (1 - product * after)
        p = p - lr * ahead / (np.sqrt(v / (1 - b2**t)) + eps)
    return p


def radam(p, lr, b1, b2, eps, decay=0.0):
    m, v, longest = np.zeros(3), np.zeros(3), 2 / (1 - b2) - 1
    for t in range(1, STEPS + 1):
        g = gradient(p)
        p = p * (1 - lr * decay)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        step = m / (1 - b1**t)
        r = longest - 2 * t * b2**t / (1 - b2**t)
        if r > 5:
            r = (r - 4) * (r - 2) * longest / ((longest - 4) * (longest - 2) * r)
            step = step * np.sqrt(r) * np.sqrt(1 - b2**t) / (np.sqrt(v) + eps)
        p = p - lr * step
    return p


def rprop(p, lr, shrink, grow, least, most):
    before, size = np.zeros(3), np.full(3, lr)
    for _ in range(STEPS):
        g = gradient(p)
        sign = np.sign(g * before)
        size = np.clip(size * np.choose(sign.astype(int) + 1, [shrink, 1.0, grow]), least, most)
        g = np.where(sign < 0, 0, g)
        p = p - np.sign(g) * size
        before = g
    return p


def asgd(p, lr, lambd, alpha, t0):
    eta, mu, average = lr, 1.0, p
    for t in range(1, STEPS + 1):
        p = p * (1 - lambd * eta) - eta * gradient(p)
        average = average + (p - average) * mu
        eta = lr / (1 + lambd * lr * t) ** alpha
        mu = 1 / max(1, t - t0)
    return p, average


def adafactor(p, lr, gamma, d):
    v = np.zeros(3)
    for t in range(1, STEPS + 1):
        g = gradient(p)
        v = (1 - t**gamma) * v + t**gamma * g * g
        u = g / np.sqrt(v)
        rate = np.sqrt((p * p).mean()) * min(lr, t**-0.5)
        p = p - rate * u / max(1, np.sqrt((u * u).mean()) / d)
    return p


RULES = {
    "adafactor": (
        lambda p: optim.Adafactor(p, 0.1, -0.7, d=1.2),
        lambda p: adafactor(p, 0.1, -0.7, 1.2),
    ),
    "rmsprop": (
        lambda p: optim.RMSprop(p, 0.05, 0.8, 1e-6),
        lambda p: rmsprop(p, 0.05, 0.8, 1e-6),
    ),
    "rmsprop centered": (
        lambda p: optim.RMSprop(p, 0.02, 0.9, momentum=0.7, centered=True),
        lambda p: rmsprop(p, 0.02, 0.9, 1e-8, 0.7, centered=True),
    ),
    "adagrad": (
        lambda p: optim.Adagrad(p, 0.3, 0.1, initial_accumulator_value=0.5),
        lambda p: adagrad(p, 0.3, 0.1, 0.5, 1e-10),
    ),
    "adadelta": (lambda p: optim.Adadelta(p, 0.7, 0.8), lambda p: adadelta(p, 0.7, 0.8, 1e-6)),
    "adamax": (lambda p: optim.Adamax(p, 0.1), lambda p: adamax(p, 0.1, 0.9, 0.999, 1e-8)),
    "nadam": (lambda p: optim.NAdam(p, 0.1), lambda p: nadam(p, 0.1, 0.9, 0.999, 1e-8, 4e-3)),
    "nadam decoupled": (
        lambda p: optim.NAdam(p, 0.1, weight_decay=0.3, decoupled_weight_decay=True),
        lambda p: nadam(p, 0.1, 0.9, 0.999, 1e-8, 4e-3, 0.3),
    ),
    "radam": (
        lambda p: optim.RAdam(p, 0.1, (0.8, 0.95)),  # it adapts from the sixth step on
        lambda p: radam(p, 0.1, 0.8, 0.95, 1e-8),
    ),
    "radam decoupled": (
        lambda p: optim.RAdam(p, 0.1, weight_decay=0.3, decoupled_weight_decay=True),
        lambda p: radam(p, 0.1, 0.9, 0.999, 1e-8, 0.3),
    ),
    "rprop": (
        lambda p: optim.Rprop(p, 0.3, (0.4, 1.5), (1e-3, 0.8)),
        lambda p: rprop(p, 0.3, 0.4, 1.5, 1e-3, 0.8),
    ),
    "asgd": (
        lambda p: optim.ASGD(p, 0.05, 0.1, t0=3),
        lambda p: asgd(p, 0.05, 0.1, 0.75, 3)[0],
    ),
}


def train(make, prepare=lambda opt: None, sign=1.0, decay=0.0, dtype="float64"):
    p = nn.Parameter(tensor_of(START, dtype))
    opt = make([p])
    prepare(opt)
    for _ in range(STEPS):
        opt.zero_grad()
        (sign * ((p**4 / 4 + p).sum() + decay / 2 * (p * p).sum())).backward()
        opt.step()
    return to_array(p), opt, p


@pytest.mark.parametrize("name", RULES)
def test_the_formula(name):
    make, formula = RULES[name]
    np.testing.assert_allclose(train(make)[0], formula(START), rtol=1e-11)


@pytest.mark.parametrize("name", RULES)
def test_compiled_gives_the_same_bits(name):
    make, _ = RULES[name]
    found = train(make, lambda opt: opt.compile(strict_native=True))[0]
    np.testing.assert_array_equal(found, train(make)[0])


@pytest.mark.parametrize(
    "kind", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"]
)  # fmt: skip
def test_maximizing_and_weight_decay_change_the_gradient(kind):
    make = getattr(optim, kind)
    down = train(lambda p: make(p, lr=0.05))[0]
    up = train(lambda p: make(p, lr=0.05, maximize=True), sign=-1.0)[0]
    np.testing.assert_allclose(up, down, rtol=1e-12)
    if kind != "Rprop":
        decayed = train(lambda p: make(p, lr=0.05, weight_decay=0.2))[0]
        np.testing.assert_allclose(
            decayed, train(lambda p: make(p, lr=0.05), decay=0.2)[0], rtol=1e-12
        )


def test_adafactor_keeps_a_row_and_a_column_of_a_matrix():
    start = np.random.default_rng(0).standard_normal((3, 4))
    p = nn.Parameter(tp.from_numpy(start.copy()))
    opt = optim.Adafactor([p], 0.1, weight_decay=0.3)
    right, rows, columns = start, 0.0, 0.0
    for t in range(1, 4):
        opt.zero_grad()
        (p**4 / 4 + p).sum().backward()
        opt.step()
        g, share = gradient(right), t**-0.8
        rows = (1 - share) * rows + share * (g * g).mean(1, keepdims=True)
        columns = (1 - share) * columns + share * (g * g).mean(0, keepdims=True)
        u = g / np.sqrt(rows * columns / rows.mean())
        rate = max(1e-3, np.sqrt((right**2).mean())) * min(0.1, t**-0.5)
        right = right * (1 - 0.1 * 0.3) - rate * u / max(1, np.sqrt((u * u).mean()))
    np.testing.assert_allclose(to_array(p), right, rtol=1e-11)
    state = opt.state_dict()["state"][0]
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    assert shapes == {"step": (), "row_var": (3, 1), "col_var": (1, 4)}


def test_the_average_of_asgd():
    _, opt, p = train(RULES["asgd"][0])
    right = asgd(START, 0.05, 0.1, 0.75, 3)[1]
    np.testing.assert_allclose(to_array(opt.state[p]["ax"]), right, rtol=1e-11)


STATES = {
    "Adafactor": (
        ("step", "variance"),
        ("lr", "beta2_decay", "eps", "d", "weight_decay", "maximize"),
    ),
    "SGD": ((), ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")),
    "Adam": (
        ("step", "exp_avg", "exp_avg_sq"),
        ("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "decoupled_weight_decay"),
    ),
    "RMSprop": (
        ("step", "square_avg"),
        ("lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize"),
    ),
    "Adagrad": (
        ("step", "sum"),
        ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "maximize"),
    ),
    "Adadelta": (
        ("step", "square_avg", "acc_delta"),
        ("lr", "rho", "eps", "weight_decay", "maximize"),
    ),
    "Adamax": (("step", "exp_avg", "exp_inf"), ("lr", "betas", "eps", "weight_decay", "maximize")),
    "NAdam": (
        ("step", "mu_product", "exp_avg", "exp_avg_sq"),
        ("lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize"),
    ),
    "RAdam": (
        ("step", "exp_avg", "exp_avg_sq"),
        ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize"),
    ),
    "Rprop": (("step", "prev", "step_size"), ("lr", "etas", "step_sizes", "maximize")),
    "ASGD": (
        ("step", "eta", "mu", "ax"),
        ("lr", "lambd", "alpha", "t0", "weight_decay", "maximize"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", STATES)
def test_names_of_the_state_are_those_of_pytorch(kind):
    """Recorded from PyTorch 2.13, without foreach, fused, capturable, differentiable."""
    _, opt, _ = train(lambda p: getattr(optim, kind)(p, lr=0.01))
    state = opt.state_dict()
    entries, settings = STATES[kind]
    assert set(state["state"].get(0, {})) == set(entries)
    assert set(state["param_groups"][0]) == {*settings, "params"}
    assert state["param_groups"][0]["params"] == [0]


@pytest.mark.parametrize("kind", STATES)
def test_a_state_goes_on_where_it_was(kind):
    _, first, p = train(lambda p: getattr(optim, kind)(p, lr=0.01))
    q = nn.Parameter(p.detach().clone())
    second = getattr(optim, kind)([q], lr=0.5)
    saved = first.state_dict()
    saved["param_groups"][0] |= {"foreach": None, "fused": None, "capturable": False}
    second.load_state_dict(saved)
    for opt, each in ((first, p), (second, q)):
        each.grad = tp.ones(3, dtype=tp.float64)
        opt.step()
    np.testing.assert_array_equal(to_array(q), to_array(p))


def test_sgd_reads_a_state_without_steps():
    """PyTorch keeps the velocity alone; dampening then acts from the next step on."""
    p = nn.Parameter(tensor_of([0.0], "float64"))
    opt = optim.SGD([p], lr=1.0, momentum=0.5, dampening=0.5)
    settings = {**opt.state_dict()["param_groups"][0]}
    velocity = tensor_of([4.0], "float64")
    opt.load_state_dict({"state": {0: {"momentum_buffer": velocity}}, "param_groups": [settings]})
    p.grad = tensor_of([2.0], "float64")
    opt.step()
    assert p.item() == -(0.5 * 4 + 0.5 * 2)


def test_a_fresh_state_is_empty_and_resets():
    p = nn.Parameter(tensor_of([1.0]))
    opt = optim.Adam([p], lr=0.1)
    fresh = opt.state_dict()
    assert fresh["state"] == {}
    p.grad = tp.ones(1)
    opt.step()
    assert opt.state_dict()["state"][0]["step"].item() == 1.0
    opt.load_state_dict(fresh)
    assert opt.state_dict()["state"] == {}
    assert to_array(opt.state[p]["exp_avg"]) == 0.0


def test_the_state_follows_a_model_to_another_dtype():
    p = nn.Parameter(tensor_of(START, "float32"))
    opt = optim.NAdam([p], lr=0.1)
    p.assign(tensor_of(START, "float64"))
    for _ in range(STEPS):
        opt.zero_grad()
        (p**4 / 4 + p).sum().backward()
        opt.step()
    assert opt.state[p]["exp_avg"].dtype is tp.float64
    np.testing.assert_allclose(to_array(p), nadam(START, 0.1, 0.9, 0.999, 1e-8, 4e-3), rtol=1e-11)


# ---- L-BFGS


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def minimize(steps, **settings):
    x = nn.Parameter(tensor_of([-1.2, 1.0], "float64"))
    opt = optim.LBFGS([x], **settings)

    def closure():
        opt.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    return [opt.step(closure).item() for _ in range(steps)], x, opt, closure


def test_lbfgs_finds_the_minimum_of_rosenbrocks_valley():
    losses, x, opt, _ = minimize(4, line_search_fn="strong_wolfe", tolerance_change=1e-15)
    np.testing.assert_allclose(to_array(x), [1, 1], rtol=1e-6)
    assert losses[0] == pytest.approx(24.2)
    assert losses[1] < losses[0]
    memory = opt.state_dict()["state"][0]
    assert memory["n_iter"] <= 45
    assert memory["func_evals"] <= 60
    assert len(memory["old_dirs"]) == len(memory["old_stps"]) == len(memory["ro"])


def test_lbfgs_solves_a_quadratic_exactly():
    """With exact enough line searches, n + 1 directions suffice in n dimensions (Nocedal and Wright, Theorem 6.4)."""
    A = np.diag([1.0, 10.0, 100.0]) + 1
    x = nn.Parameter(tensor_of([3.0, -2.0, 1.0], "float64"))
    opt = optim.LBFGS([x], max_iter=40, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss = x @ tensor_of(A, "float64") @ x / 2 - x.sum()
        loss.backward()
        return loss

    opt.step(closure)
    np.testing.assert_allclose(to_array(x), np.linalg.solve(A, np.ones(3)), rtol=1e-5)


def test_lbfgs_without_a_line_search_takes_steps_of_the_rate():
    losses, x, _, _ = minimize(1, lr=0.5, max_iter=1)
    gradient = np.array([-215.6, -88.0])
    step = 0.5 * min(1, 1 / np.abs(gradient).sum())
    np.testing.assert_allclose(to_array(x), [-1.2, 1.0] - step * gradient, rtol=1e-9)
    assert losses == [pytest.approx(24.2)]


def test_lbfgs_keeps_a_short_history_and_goes_on_from_its_state():
    _, x, opt, closure = minimize(4, max_iter=4, history_size=3, line_search_fn="strong_wolfe")
    assert len(opt.state_dict()["state"][0]["old_dirs"]) == 3
    y = nn.Parameter(x.detach().clone())
    other = optim.LBFGS([y], max_iter=4, history_size=3, line_search_fn="strong_wolfe")
    other.load_state_dict(opt.state_dict())

    def same():
        other.zero_grad()
        loss = rosenbrock(y)
        loss.backward()
        return loss

    opt.step(closure)
    other.step(same)
    np.testing.assert_array_equal(to_array(y), to_array(x))


def test_mistakes():
    p = nn.Parameter(tensor_of([1.0]))
    for make, text in (
        (lambda: optim.RMSprop([p], alpha=-1.0), "alpha is at least 0"),
        (lambda: optim.Adagrad([p], lr_decay=-1.0), "lr_decay"),
        (lambda: optim.Adafactor([p], d=0.5), "d at least 1"),
        (lambda: optim.Adafactor([p], eps=(-1.0, 1e-3)), "eps"),
        (lambda: optim.Adadelta([p], rho=1.5), "rho lies in"),
        (lambda: optim.NAdam([p], momentum_decay=-1.0), "momentum_decay"),
        (lambda: optim.Rprop([p], etas=(1.0, 1.2)), "etas"),
        (lambda: optim.Adamax([p], betas=(0.9, 1.0)), "betas"),
        (lambda: optim.RAdam([p], eps=-1.0), "eps"),
        (lambda: optim.Adam([p], differentiable=True), "differentiable"),
        (lambda: optim.LBFGS([p], line_search_fn="armijo"), "strong_wolfe"),
        (
            lambda: optim.LBFGS([{"params": [p]}, {"params": [nn.Parameter(tp.ones(1))]}]),
            "one group",
        ),
    ):
        with pytest.raises(ArgumentValueError, match=text):
            make()
    with pytest.raises(ArgumentError, match="needs a closure"):
        optim.LBFGS([p]).step()
    with pytest.raises(ArgumentError, match="depend on data"):
        optim.LBFGS([p]).compile()
    assert optim.Adam([p], foreach=True, fused=None, capturable=False).defaults["lr"] == 1e-3


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("adjust", [None, "match_rms_adamw"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_muon_steps_along_a_nearly_orthogonal_matrix(shape, adjust, compiled):
    weight = nn.Parameter(tp.zeros(*shape))
    opt = optim.Muon([weight], lr=1.0, weight_decay=0.0, adjust_lr_fn=adjust)
    if compiled:
        opt.compile()
    grad = np.random.default_rng(0).normal(size=shape)
    weight.grad = tensor_of(grad)
    opt.step()
    left, _, right = np.linalg.svd(grad, full_matrices=False)
    scale = max(1.0, shape[0] / shape[1]) ** 0.5 if adjust is None else 0.2 * 6**0.5
    factor = np.diag(left.T @ to_array(weight) @ right.T) / -scale
    assert (factor > 0.6).all()
    assert (factor < 1.3).all()
    expected = 0.05 * grad
    np.testing.assert_allclose(to_array(opt.state[weight]["momentum_buffer"]), expected, rtol=1e-5)


def test_muon_refuses_what_is_no_matrix():
    with pytest.raises(ArgumentValueError, match="Muon optimizes matrices"):
        optim.Muon([nn.Parameter(tp.zeros(3))])
