"""Learning rates against their formulas, on numbers and tensors, with state, and refused settings."""

import math

import pytest

import tensorplay as tp
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.optim import lr_scheduler as schedulers

BASE = (0.5, 0.02)


def optimizer(make=float):
    groups = [{"params": [tp.nn.Parameter(tp.ones(2))], "lr": make(rate)} for rate in BASE]
    return tp.optim.SGD(groups)


def linear(step):
    return 0.25 + (0.75 - 0.25) * min(step, 4) / 4


CASES = {
    "LambdaLR": ({"lr_lambda": lambda step: 0.95**step}, lambda k: 0.95**k),
    "StepLR": ({"step_size": 3, "gamma": 0.5}, lambda k: 0.5 ** (k // 3)),
    "MultiStepLR": (
        {"milestones": [2, 5, 5], "gamma": 0.5},
        lambda k: 0.5 ** ((k >= 2) + 2 * (k >= 5)),
    ),
    "ExponentialLR": ({"gamma": 0.9}, lambda k: 0.9**k),
    "LinearLR": ({"start_factor": 0.25, "end_factor": 0.75, "total_iters": 4}, linear),
    "CosineAnnealingLR": ({"T_max": 4}, lambda k: (1 + math.cos(math.pi * k / 4)) / 2),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("make", [float, lambda rate: tp.tensor(rate, dtype=tp.float64)])
def test_rates(name, make):
    settings, factor = CASES[name]
    opt = optimizer(make)
    scheduler = getattr(schedulers, name)(opt, **settings)
    for step in range(10):
        expected = [base * factor(step) for base in BASE]
        assert scheduler.get_last_lr() == pytest.approx(expected, abs=1e-15)
        assert [float(g["lr"]) for g in opt.param_groups] == pytest.approx(expected, abs=1e-15)
        opt.step()
        scheduler.step()


@pytest.mark.parametrize("name", CASES)
def test_state_goes_on_where_it_was(name):
    opt, other = optimizer(), optimizer()
    first = getattr(schedulers, name)(opt, **CASES[name][0])
    second = getattr(schedulers, name)(other, **CASES[name][0])
    for _ in range(3):
        first.step()
    second.load_state_dict(first.state_dict())
    other.load_state_dict(opt.state_dict())
    assert second.get_last_lr() == first.get_last_lr()
    for _ in range(3):
        first.step()
        second.step()
        assert second.get_last_lr() == first.get_last_lr()


def test_the_lowest_cosine_rate_and_a_function_a_group():
    scheduler = schedulers.CosineAnnealingLR(optimizer(), 2, eta_min=0.01)
    scheduler.step()
    scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx([0.01, 0.01])
    scheduler = schedulers.LambdaLR(optimizer(), [lambda step: 2.0, lambda step: 3.0])
    assert scheduler.get_last_lr() == pytest.approx([1.0, 0.06])


def test_the_optimizer_uses_the_rate():
    weight = tp.nn.Parameter(tp.zeros(1))
    opt = tp.optim.SGD([weight], lr=1.0)
    scheduler = schedulers.ExponentialLR(opt, 0.5)
    for _ in range(3):
        weight.grad = tp.ones(1)
        opt.step()
        scheduler.step()
    assert weight.item() == -1.75


def test_errors():
    with pytest.raises(ArgumentError, match="expected an optimizer"):
        schedulers.StepLR(None, 1)
    for make in (
        lambda opt: schedulers.StepLR(opt, 0),
        lambda opt: schedulers.CosineAnnealingLR(opt, 0),
        lambda opt: schedulers.LinearLR(opt, 0.0),
        lambda opt: schedulers.LinearLR(opt, end_factor=2.0),
        lambda opt: schedulers.LinearLR(opt, total_iters=0),
        lambda opt: schedulers.LambdaLR(opt, [abs]),
    ):
        with pytest.raises(ArgumentValueError):
            make(optimizer())
