"""`utils.checkpoint`: gradients, memory, random numbers, nesting, schedules."""

import functools
import weakref

import pytest

import tensorplay as tp
from tensorplay import nn
from tensorplay.autograd import grad
from tensorplay.core.errors import ArgumentValueError
from tensorplay.func import grad as func_grad
from tensorplay.func import vmap
from tensorplay.utils.checkpoint import (
    CheckpointError,
    chain_length,
    checkpoint,
    checkpoint_sequential,
    repetitions,
    set_checkpoint_early_stop,
)


def leaf(*values):
    return tp.tensor(values, dtype=tp.float64, requires_grad=True)


def function(x, w, *, power=2):
    return (x * w).tanh().exp() ** power + x.sin()


def test_gradients_of_all_orders():
    x, w = leaf(0.5, -1.0), leaf(2.0, 0.3)
    plain = function(x, w, power=3).sum()
    kept = checkpoint(function, x, w, use_reentrant=False, power=3).sum()
    assert kept.item() == plain.item()
    for a, b in zip(grad(kept, [x, w], create_graph=True),
                    grad(plain, [x, w], create_graph=True), strict=True):  # fmt: skip
        assert tp.equal(a, b)
        for c, d in zip(grad(a.sum(), [x, w], retain_graph=True),
                        grad(b.sum(), [x, w], retain_graph=True), strict=True):  # fmt: skip
            assert tp.allclose(c, d)
    again = checkpoint(function, x, w)
    first = grad(again.sum(), x, retain_graph=True)[0]
    assert tp.equal(grad(again.sum(), x)[0], first)
    assert tp.autograd.gradcheck(functools.partial(checkpoint, function), (x, w))


def test_closures_trees_and_parameters():
    layer = nn.Linear(3, 3)
    x = tp.ones(2, 3)
    found = checkpoint(lambda pair: {"y": layer(pair[0]).relu() * pair[1]}, (x, 2.0))["y"]
    found.sum().backward()
    expected = grad((layer(x).relu() * 2).sum(), list(layer.parameters()))
    for parameter, each in zip(layer.parameters(), expected, strict=True):
        assert tp.allclose(parameter.grad, each)


def test_nothing_inside_is_kept():
    alive = []

    def watched(x):
        for _ in range(4):
            x = (x * 2).sin()
            alive.append(weakref.ref(x.array))
        return x.sum()

    x = leaf(0.1, 0.2)
    y = checkpoint(watched, x)
    assert sum(each() is not None for each in alive) == 0
    y.backward()
    assert tp.allclose(x.grad, grad(watched(x), x)[0])


def test_it_runs_again_once_and_stops_early():
    calls = []

    def counted(x):
        calls.append("start")
        y = x.exp().sin()
        calls.append("end")
        return y * 2

    x = leaf(1.0)
    checkpoint(counted, x).sum().backward()
    assert calls == ["start", "end", "start"]
    calls.clear()
    with set_checkpoint_early_stop(enable=False):
        y = checkpoint(counted, x)
    y.sum().backward()
    assert calls == ["start", "end"] * 2
    calls.clear()
    with tp.no_grad():
        checkpoint(counted, x)
    assert calls == ["start", "end"]


def test_random_numbers_are_the_same():
    x = tp.ones(100, requires_grad=True)
    tp.manual_seed(1)
    y = checkpoint(lambda x: tp.dropout(x.exp(), 0.5, True) * x, x)
    state = tp.get_rng_state()
    kept = y.detach() != 0
    y.sum().backward()
    assert tp.equal(x.grad != 0, kept)
    assert tp.get_rng_state() == state


def test_nesting():
    counts = {"outer": 0, "inner": 0}

    def inner(x):
        counts["inner"] += 1
        return (x.sin() * x).exp()

    def outer(x):
        counts["outer"] += 1
        return checkpoint(inner, x * 2).cos() * x

    x = leaf(0.3, -0.4)
    found = grad(checkpoint(outer, x).sum(), x)[0]
    assert tp.allclose(found, grad(((x * 2).sin() * (x * 2)).exp().cos().sum() * 0 + (
        ((x * 2).sin() * (x * 2)).exp().cos() * x
    ).sum(), x)[0])  # fmt: skip
    assert counts == {"outer": 2, "inner": 3}


def test_other_results_are_noticed():
    sizes = iter([2, 3])
    x = leaf(1.0, 2.0)

    def other(x):
        return (x * tp.ones(next(sizes), 1, dtype=tp.float64)).exp()

    y = checkpoint(other, x)
    with pytest.raises(CheckpointError, match="must compute the same"):
        y.sum().backward()
    with pytest.raises(ArgumentValueError, match="determinism_check"):
        checkpoint(other, x, determinism_check="some")


def test_contexts_of_both_runs():
    class Note:
        def __init__(self, name, seen):
            self.name, self.seen = name, seen

        def __enter__(self):
            self.seen.append(self.name)

        def __exit__(self, *error):
            pass

    seen = []
    x = leaf(1.0)
    y = checkpoint(tp.exp, x, context_fn=lambda: (Note("first", seen), Note("again", seen)))
    assert seen == ["first"]
    y.backward()
    assert seen == ["first", "again"]


def test_compiled_and_batched():
    x = leaf(0.5, -1.0)
    w = leaf(2.0, 0.3)

    def loss(x, w):
        return checkpoint(function, x, w).sum()

    expected = grad(function(x, w).sum(), [x, w])
    for a, b in zip(grad(tp.compile(loss)(x, w), [x, w]), expected, strict=True):
        assert tp.allclose(a, b)
    inner = tp.compile(function)
    for a, b in zip(grad(checkpoint(inner, x, w).sum(), [x, w]), expected, strict=True):
        assert tp.allclose(a, b)
    batch = tp.stack([x.detach(), x.detach() * 2])
    assert tp.allclose(vmap(func_grad(loss), (0, None))(batch, w.detach())[0], expected[0])
    found = func_grad(lambda w: vmap(loss, (0, None))(batch, w).sum())(w.detach())
    plain = func_grad(lambda w: vmap(lambda x, w: function(x, w).sum(), (0, None))(batch, w).sum())
    assert tp.allclose(found, plain(w.detach()))


# ---- chains ---------------------------------------------------------------------------------------------


class Counted:
    """A step of a chain, which counts how often it is computed."""

    def __init__(self):
        self.count = 0

    def __call__(self, x):
        self.count += 1
        return (x * 1.1).sin()


@pytest.mark.parametrize("segments", [1, 2, 3, 7])
def test_uniform_segments(segments):
    chain = [Counted() for _ in range(7)]
    x = leaf(0.5)
    found = grad(checkpoint_sequential(chain, segments, x), x)[0]
    counts = [each.count for each in chain]
    assert max(counts) <= 2
    if segments < 7:
        assert counts[-1] == 1
    value = x
    for each in chain:
        value = each(value)
    assert tp.allclose(found, grad(value, x)[0])


def test_a_sequential_model():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.Tanh())
    x = tp.ones(2, 3)
    expected = grad(model(x).sum(), list(model.parameters()))
    for schedule in ("uniform", "binomial"):
        found = checkpoint_sequential(model, 2, x, use_reentrant=False, schedule=schedule)
        for a, b in zip(grad(found.sum(), list(model.parameters())), expected, strict=True):
            assert tp.allclose(a, b)
    with pytest.raises(ArgumentValueError, match="at least one segment"):
        checkpoint_sequential(model, 0, x)
    with pytest.raises(ArgumentValueError, match="schedule"):
        checkpoint_sequential(model, 2, x, schedule="some")


@pytest.mark.parametrize(("slots", "count"), [(1, 3), (2, 2), (2, 3), (3, 2), (3, 3), (4, 1)])
def test_the_binomial_schedule_reaches_the_bound(slots, count):
    """Theorem 5.4: C(s + t, s) steps are reversed with s slots and t repetitions, one more are not."""
    longest = chain_length(slots, count)
    assert repetitions(longest, slots) == count
    assert repetitions(longest + 1, slots) == count + 1
    for length in (longest, max(longest - 1, 1)):
        chain = [Counted() for _ in range(length)]
        x = leaf(0.5)
        found = grad(checkpoint_sequential(chain, slots, x, schedule="binomial"), x)[0]
        # Each step is computed once more where it is differentiated; the others are repetitions.
        repeated = [each.count - 1 for each in chain]
        assert max(repeated) == repetitions(length, slots)
        value = x
        for each in chain:
            value = each(value)
        assert tp.allclose(found, grad(value, x)[0])


def least_work(length, slots, known):
    """The fewest repeated steps of any schedule with these slots, by the recurrence over first cuts."""
    if length == 1:
        return 0
    if slots == 1:
        return length * (length - 1) // 2
    key = length, slots
    if key not in known:
        known[key] = min(
            cut + least_work(cut, slots, known) + least_work(length - cut, slots - 1, known)
            for cut in range(1, length)
        )
    return known[key]


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_the_binomial_schedule_does_the_least_work(slots):
    for length in (1, 2, 3, 5, 6, 9, 10, 13):
        chain = [Counted() for _ in range(length)]
        x = leaf(0.5)
        grad(checkpoint_sequential(chain, slots, x, schedule="binomial"), x)
        assert sum(each.count - 1 for each in chain) == least_work(length, slots, {})


def test_slots_bound_what_is_kept():
    """While a chain runs, no more states are alive than slots, the last one and the running one apart."""
    states = []
    most = 0

    def step(x):
        nonlocal most
        y = (x * 1.1).sin()
        states.append(weakref.ref(y.array))
        most = max(most, sum(each() is not None for each in states))
        return y

    x = leaf(0.5)
    y = checkpoint_sequential([step] * chain_length(3, 3), 3, x, schedule="binomial")
    y.backward()
    assert most <= 3 + 3  # slots, and what one step holds while it is computed and differentiated
