"""Learning rates against their formulas, on numbers and tensors, with state, and refused settings."""

import math

import pytest

import tensorplay as tp
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.optim import lr_scheduler as schedulers

BASE = (0.5, 0.02)


def optimizer(make=float, momentum=0.0):
    groups = [{"params": [tp.nn.Parameter(tp.ones(2))], "lr": make(rate)} for rate in BASE]
    return tp.optim.SGD(groups, momentum=momentum)


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
    "MultiplicativeLR": ({"lr_lambda": lambda step: 1 / step}, lambda k: 1 / math.factorial(k)),
    "ConstantLR": ({"factor": 0.25, "total_iters": 3}, lambda k: 0.25 if k < 3 else 1.0),
    "PolynomialLR": ({"total_iters": 6, "power": 2.0}, lambda k: (1 - min(k, 6) / 6) ** 2),
    "CosineAnnealingWarmRestarts": (
        {"T_0": 2, "T_mult": 2},
        lambda k: (
            (1 + math.cos(math.pi * ((0, 1, 0, 0.5, 1, 1.5)[k] if k < 6 else (k - 6) / 4) / 2)) / 2
        ),
    ),
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


CLOSED = ["StepLR", "MultiStepLR", "ExponentialLR", "ConstantLR", "LinearLR", "PolynomialLR"]


@pytest.mark.parametrize("name", [*CLOSED, "CosineAnnealingLR", "LambdaLR"])
def test_rates_of_a_step_of_which_only_the_number_is_known(name):
    settings, factor = CASES[name]
    scheduler = getattr(schedulers, name)(optimizer(), **settings)
    for step in (7, 2, 0, 5):
        scheduler.step(step)
        right = [base * factor(step) for base in BASE]
        assert scheduler.get_last_lr() == pytest.approx(right, abs=1e-15)


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


def rates(scheduler, steps):
    found = []
    for _ in range(steps):
        found.append(scheduler.get_last_lr()[0])
        scheduler.optimizer.step()
        scheduler.step()
    return found


def test_resuming_takes_the_initial_rate_of_the_state():
    opt = optimizer()
    right = rates(schedulers.StepLR(opt, 3, 0.5), 9)
    opt = optimizer()
    first = rates(schedulers.StepLR(opt, 3, 0.5), 4)
    other = optimizer()
    other.load_state_dict(opt.state_dict())
    again = schedulers.StepLR(other, 3, 0.5, last_epoch=3)
    assert first + rates(again, 5) == right
    with pytest.raises(ArgumentValueError, match="initial_lr"):
        schedulers.StepLR(optimizer(), 3, last_epoch=3)


def test_two_schedulers_multiply():
    opt = optimizer()
    constant, decay = schedulers.ConstantLR(opt, 0.1, 3), schedulers.ExponentialLR(opt, 0.5)
    chained = schedulers.ChainedScheduler([constant, decay])
    right = [0.5 * (0.1 if k < 3 else 1.0) * 0.5**k for k in range(6)]
    assert rates(chained, 6) == pytest.approx(right)


def test_schedulers_one_after_another():
    opt = optimizer()
    parts = [
        schedulers.LinearLR(opt, 0.5, 1.0, 2),
        schedulers.CosineAnnealingLR(opt, 4),
        schedulers.ConstantLR(opt, 0.1, 2),
    ]
    sequence = schedulers.SequentialLR(opt, parts, [3, 6])
    cosine = [(1 + math.cos(math.pi * k / 4)) / 2 for k in range(3)]
    right = [0.5 * f for f in (0.5, 0.75, 1.0, *cosine, 0.1, 0.1, 1.0)]
    state = None
    found = rates(sequence, 4)
    state, saved = sequence.state_dict(), opt.state_dict()
    opt = optimizer()
    parts = [
        schedulers.LinearLR(opt, 0.5, 1.0, 2),
        schedulers.CosineAnnealingLR(opt, 4),
        schedulers.ConstantLR(opt, 0.1, 2),
    ]
    again = schedulers.SequentialLR(opt, parts, [3, 6])
    again.load_state_dict(state)
    opt.load_state_dict(saved)
    assert found + rates(again, 5) == pytest.approx(right)


def test_cycles():
    """Recorded from PyTorch 2.13."""
    opt = optimizer(momentum=0.9)
    scheduler = schedulers.CyclicLR(opt, 0.1, 0.5, 2, 4, mode="triangular2")
    momenta = []
    found = []
    for _ in range(9):
        found.append(scheduler.get_last_lr()[0])
        momenta.append(opt.param_groups[0]["momentum"])
        opt.step()
        scheduler.step()
    assert found == pytest.approx([0.1, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3])
    assert momenta[:4] == pytest.approx([0.9, 0.85, 0.8, 0.825])
    scaled = schedulers.CyclicLR(
        optimizer(), 0.0, 1.0, 1, scale_fn=lambda k: 0.5**k, scale_mode="iterations", cycle_momentum=False
    )  # fmt: skip
    assert rates(scaled, 4) == pytest.approx([0, 0.5, 0, 0.125])
    ranged = schedulers.CyclicLR(
        optimizer(), 0.0, 1.0, 1, mode="exp_range", gamma=0.5, cycle_momentum=False
    )
    assert rates(ranged, 4) == pytest.approx([0, 0.5, 0, 0.125])


def test_one_cycle():
    adam = tp.optim.Adam([tp.nn.Parameter(tp.ones(1))], lr=0.1)
    one = schedulers.OneCycleLR(adam, 1.0, 11, pct_start=3 / 11, anneal_strategy="linear")
    low, end = 1 / 25, 1 / 25e4
    right = [low, (1 + low) / 2, *(1 + (end - 1) * k / 8 for k in range(9))]
    momenta = []
    for rate in right:
        assert one.get_last_lr() == pytest.approx([rate])
        momenta.append(adam.param_groups[0]["betas"][0])
        adam.step()
        one.step()
    assert momenta == pytest.approx([0.95, 0.9, *(0.85 + 0.1 * k / 8 for k in range(9))])
    assert adam.param_groups[0]["betas"][1] == 0.999
    three = schedulers.OneCycleLR(
        optimizer(momentum=0.9), 1.0, epochs=2, steps_per_epoch=5, pct_start=0.4, div_factor=10,
        final_div_factor=10, three_phase=True,
    )  # fmt: skip
    found = rates(three, 10)
    assert [found[0], found[6]] == pytest.approx([0.1, 0.1])
    assert found[3] == pytest.approx(1.0)
    assert found[9] == pytest.approx(0.01)
    with pytest.raises(ArgumentValueError, match="beyond the total"):
        three.step()


def test_a_plateau_lowers_the_rate():
    opt = optimizer()
    plateau = schedulers.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1, min_lr=[0.2, 0])
    found = []
    for loss in (1.0, 0.5, 0.5, 0.49999, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, tp.tensor(0.4)):
        plateau.step(loss)
        found.append(plateau.get_last_lr()[0])
    assert found == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2]
    assert opt.param_groups[1]["lr"] < 0.02 / 3
    climbing = schedulers.ReduceLROnPlateau(
        optimizer(), "max", patience=0, threshold=0.1, threshold_mode="abs"
    )
    found = []
    for score in (1.0, 1.05, 1.2):
        climbing.step(score)
        found.append(climbing.get_last_lr()[0])
    assert found == pytest.approx([0.5, 0.05, 0.05])
    other = schedulers.ReduceLROnPlateau(optimizer(), patience=1)
    other.load_state_dict(plateau.state_dict())
    assert other.best == plateau.best


def test_restarts_within_epochs():
    scheduler = schedulers.CosineAnnealingWarmRestarts(optimizer(), 2, 2)
    for epoch, share in ((0.5, 0.25), (2.0, 0.0), (3.0, 0.25), (6.0, 0.0), (10.0, 0.5)):
        scheduler.step(epoch)
        right = 0.5 * (1 + math.cos(math.pi * share)) / 2
        assert scheduler.get_last_lr()[0] == pytest.approx(right)


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
        lambda opt: schedulers.ConstantLR(opt, 0.0),
        lambda opt: schedulers.PolynomialLR(opt, 0),
        lambda opt: schedulers.CosineAnnealingWarmRestarts(opt, 0),
        lambda opt: schedulers.CosineAnnealingWarmRestarts(opt, 2).step(-1),
        lambda opt: schedulers.CyclicLR(opt, 0.1, 0.2, mode="square"),
        lambda opt: schedulers.CyclicLR(tp.optim.Adagrad([tp.nn.Parameter(tp.ones(1))]), 0.1, 0.2),
        lambda opt: schedulers.OneCycleLR(opt, 0.1),
        lambda opt: schedulers.OneCycleLR(opt, 0.1, 10, pct_start=2.0),
        lambda opt: schedulers.OneCycleLR(opt, 0.1, 10, anneal_strategy="step"),
        lambda opt: schedulers.OneCycleLR(opt, [0.1], 10),
        lambda opt: schedulers.ReduceLROnPlateau(opt, factor=1.0),
        lambda opt: schedulers.ReduceLROnPlateau(opt, "down"),
        lambda opt: schedulers.ChainedScheduler([]),
        lambda opt: schedulers.ChainedScheduler(
            [schedulers.StepLR(opt, 1), schedulers.StepLR(optimizer(), 1)]
        ),
        lambda opt: schedulers.SequentialLR(opt, [schedulers.StepLR(opt, 1)], [3]),
        lambda opt: schedulers.SequentialLR(opt, [schedulers.StepLR(opt, 1)], []).step(2),
        lambda opt: schedulers.ChainedScheduler([schedulers.StepLR(opt, 1)]).step(2),
    ):
        with pytest.raises(ArgumentValueError):
            make(optimizer())
