"""Averages of models, and the rates that go with them."""

import numpy as np
import pytest
from checks import to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.optim import SGD, swa_utils


def model_of():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def values(rng, model):
    """Give the model new parameters, and return them."""
    found = []
    for parameter in model.parameters():
        found.append(rng.standard_normal(tuple(parameter.shape)).astype(np.float32))
        with tp.no_grad():
            parameter.copy_(tp.from_numpy(found[-1]))
    return found


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", ["ema", "swa"])
def test_averages(kind, several):
    name = f"get_{kind}_{'multi_' if several else ''}avg_fn"
    function = getattr(swa_utils, name)(*((0.8,) if kind == "ema" else ()))
    model = model_of()
    settings = {"multi_avg_fn" if several else "avg_fn": function}
    averaged = swa_utils.AveragedModel(model, **settings)
    rng, right = np.random.default_rng(0), None
    for n in range(4):
        now = values(rng, model)
        averaged.update_parameters(model)
        weight = 0.2 if kind == "ema" else 1 / (n + 1)
        right = now if right is None else [
            a + (p - a) * weight for a, p in zip(right, now, strict=True)
        ]  # fmt: skip
    for found, each in zip(averaged.module.parameters(), right, strict=True):
        np.testing.assert_allclose(to_array(found), each, rtol=1e-5, atol=1e-6)
    assert averaged.n_averaged.item() == 4
    names = [f"module.{name}" for name in model.state_dict()]
    assert list(averaged.state_dict()) == ["n_averaged", *names]


def test_the_default_is_the_mean_and_buffers_are_copied_or_averaged():
    model = model_of()
    copied = swa_utils.AveragedModel(model)
    averaged = swa_utils.AveragedModel(model, use_buffers=True)
    for mean in (1.0, 3.0):
        nn.init.constant_(model[0].bias, mean)
        nn.init.constant_(model[1].running_mean, mean)
        nn.init.constant_(model[1].num_batches_tracked, int(mean))
        copied.update_parameters(model)
        averaged.update_parameters(model)
    assert to_array(copied.module[0].bias).tolist() == [2, 2, 2]
    assert to_array(copied.module[1].running_mean).tolist() == [3, 3, 3]
    assert to_array(averaged.module[1].running_mean).tolist() == [2, 2, 2]
    assert averaged.module[1].num_batches_tracked.item() == 2
    x = tp.randn(4, 2)
    np.testing.assert_array_equal(to_array(copied.eval()(x)), to_array(copied.module(x)))


def test_statistics_of_batches_are_computed_anew():
    model = model_of().eval()
    batches = [tp.randn(8, 2) for _ in range(3)]
    swa_utils.update_bn([(x, "label") for x in batches], model)
    means = np.mean([to_array(model[0](x)).mean(0) for x in batches], axis=0)
    np.testing.assert_allclose(to_array(model[1].running_mean), means, rtol=1e-4, atol=1e-6)
    assert model[1].momentum == 0.1
    assert not model.training
    linear = nn.Linear(2, 2)
    swa_utils.update_bn(batches, linear)  # nothing to do


@pytest.mark.parametrize("strategy", ["linear", "cos"])
def test_rates_go_to_the_last_and_stay(strategy):
    groups = [{"params": [nn.Parameter(tp.ones(1))], "lr": rate} for rate in (0.5, 0.1)]
    opt = SGD(groups, lr=0.1)
    scheduler = swa_utils.SWALR(opt, [0.05, 0.3], 4, strategy)
    for step in range(7):
        share = min(step, 4) / 4
        share = share if strategy == "linear" else (1 - np.cos(np.pi * share)) / 2
        right = [0.5 + (0.05 - 0.5) * share, 0.1 + (0.3 - 0.1) * share]
        assert scheduler.get_last_lr() == pytest.approx(right)
        opt.step()
        scheduler.step()
    assert opt.param_groups[1]["swa_lr"] == 0.3
    assert swa_utils.SWALR(opt, 0.2, 0).get_last_lr() == [0.2, 0.2]


def test_mistakes():
    ema = swa_utils.get_ema_avg_fn()
    with pytest.raises(ArgumentError, match="not both"):
        swa_utils.AveragedModel(nn.Linear(1, 1), avg_fn=ema, multi_avg_fn=ema)
    with pytest.raises(ArgumentValueError, match="decay"):
        swa_utils.get_ema_multi_avg_fn(1.5)
    opt = SGD([nn.Parameter(tp.ones(1))], lr=0.1)
    with pytest.raises(ArgumentValueError, match="'cos' or 'linear'"):
        swa_utils.SWALR(opt, 0.1, anneal_strategy="step")
    with pytest.raises(ArgumentValueError, match="1 groups need"):
        swa_utils.SWALR(opt, [0.1, 0.2])
    with pytest.raises(ArgumentValueError, match="anneal_epochs"):
        swa_utils.SWALR(opt, 0.1, -1)
