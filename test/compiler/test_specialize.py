"""When a compiled function is compiled again, why, and when not."""

import functools
import gc
import math
import operator
import threading
import types
import warnings
import weakref

import numpy as np
import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay import nn
from tensorplay.compiler.backends import CompileWarning
from tensorplay.compiler.capture.environment import survey
from tensorplay.compiler.specialize.description import describe_call, first_difference
from tensorplay.core.errors import CompileError


def compiled(f, **options):
    return tp.compile(f, backend="aot_eager", **options)


# ------------------------------------------------------------------ levels


def test_the_two_levels_count_their_hits():
    f = compiled(lambda x: x + 1)
    x = tensor_of([1.0])
    f(x)
    assert (f.misses, f.identity_hits, f.signature_hits) == (1, 0, 0)
    f(x), f(x)
    f(tensor_of([2.0]))
    assert f.misses == 1
    assert f.identity_hits + f.signature_hits == 3
    assert f.identity_hits >= 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda: tensor_of([1.0]), lambda: tensor_of([1.0, 2.0])),
        (lambda: tensor_of([1.0]), lambda: tensor_of([1], "int64")),
        (lambda: tensor_of([1.0]), lambda: tensor_of([1.0]).requires_grad_()),
        (lambda: tensor_of([[1.0, 2.0]] * 2), lambda: tensor_of([[1.0, 2.0]] * 2).t()),
        (lambda: tensor_of([1.0]), lambda: tensor_of(1.0)),
        (lambda: nn.Parameter(tensor_of([1.0])), lambda: tensor_of([1.0]).requires_grad_()),
    ],
)
def test_metadata_is_part_of_the_key(first, second):
    f = compiled(lambda x: x * 2)
    for make in (first, second, first, second):
        x = make()
        expect(f(x).detach(), (x.detach() * 2).tolist(), x.dtype.name)
    assert f.misses == 2


def test_keyword_arguments_and_containers_are_found_again():
    f = compiled(lambda x, *, k, items: x * k + items[0]["a"])
    for _ in range(3):
        expect(f(tensor_of([1.0]), items=[{"a": tensor_of([2.0])}], k=3), [5.0], "float32")
    assert f.misses == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "stax"])
@pytest.mark.parametrize("trained", [False, True])
def test_nothing_of_a_call_is_kept_alive(backend, trained):
    f = tp.compile(lambda x, *, items: (x * items[0]).sum() if x.sum() > 0 else x, backend=backend)
    g = tp.compile(lambda x: x * 2 + 1, backend=backend)
    arrays = []
    for _ in range(2):
        x, y = tensor_of([1.0, 2.0]).requires_grad_(trained), tensor_of([3.0, 4.0])
        arrays += [weakref.ref(x), weakref.ref(y)]
        out, other = f(x, items=[y]), g(x)
        arrays += [weakref.ref(out), weakref.ref(other)]
        if trained:
            out.backward()
        del x, y, out, other
        gc.collect()
    assert [each() is None for each in arrays] == [True] * len(arrays)


def test_threads_compile_once():
    f = tp.compile(lambda x: (x.sin() + 1).sum())
    barrier = threading.Barrier(8)
    results = []

    def work(k):
        x = tensor_of([float(k)])
        barrier.wait()
        results.append((k, f(x).item()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for k, value in results:
        assert math.isclose(value, math.sin(k) + 1, rel_tol=1e-6)
    assert len(f.entries()) == 1


# ------------------------------------------------------------------ guards

SCALE = 2.0
OTHER = types.ModuleType("other")
OTHER.scale = 3.0


def rebinding(change, f, restore):
    """A compiled `f` sees a change and its undoing; returns how often it was compiled."""
    g = compiled(f)
    x = tensor_of([1.0, 2.0])
    expect(g(x), f(x).tolist(), "float32")
    change()
    expect(g(x), f(x).tolist(), "float32")
    restore()
    expect(g(x), f(x).tolist(), "float32")
    return g.misses


class Config:
    scale = 2.0

    def __init__(self):
        self.shift = 1.0
        self.nested = {"list": [1.0, (2.0, [3.0])]}

    def apply(self, x):
        return x * self.scale + self.shift

    @property
    def twice(self):
        return 2 * self.shift


def test_an_attribute_of_a_free_object():
    config = Config()
    assert rebinding(
        lambda: setattr(config, "shift", 5.0),
        config.apply,
        lambda: setattr(config, "shift", 1.0),
    ) == 2  # fmt: skip


def test_a_class_attribute_behind_an_instance():
    config = Config()
    f = config.apply
    assert (
        rebinding(lambda: setattr(Config, "scale", 7.0), f, lambda: setattr(Config, "scale", 2.0))
        == 2
    )


def test_a_property_of_a_free_object():
    config = Config()
    assert rebinding(
        lambda: setattr(config, "shift", 5.0),
        lambda x: x * config.twice,
        lambda: setattr(config, "shift", 1.0),
    ) == 2  # fmt: skip


def test_an_item_deep_inside():
    config = Config()
    inner = config.nested["list"][1][1]
    assert rebinding(
        lambda: inner.__setitem__(0, 9.0),
        lambda x: x * config.nested["list"][1][1][0],
        lambda: inner.__setitem__(0, 3.0),
    ) == 2  # fmt: skip


def test_a_default_argument_that_changes():
    def helper(x, table={"k": 1.0}):  # noqa: B006 (a shared default is the case)
        return x * table["k"]

    table = helper.__defaults__[0]
    assert rebinding(lambda: table.update(k=4.0), helper, lambda: table.update(k=1.0)) == 2


def test_a_partial_and_a_bound_method():
    config = Config()
    items = [functools.partial(operator.mul, 3.0), config.apply]

    def f(x):
        return items[0](x) + items[1](x)

    assert (
        rebinding(lambda: setattr(config, "shift", 9.0), f, lambda: setattr(config, "shift", 1.0))
        == 2
    )
    first = items[0]
    assert rebinding(
        lambda: items.__setitem__(0, functools.partial(operator.mul, 5.0)),
        f,
        lambda: items.__setitem__(0, first),
    ) == 2  # fmt: skip


def test_a_wrapped_function(monkeypatch):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(x):
            return f(x) * SCALE

        return wrapper

    @decorate
    def f(x):
        return x + OTHER.scale

    assert rebinding(lambda: monkeypatch.setitem(globals(), "SCALE", 9.0), f, monkeypatch.undo) == 2
    assert rebinding(lambda: monkeypatch.setattr(OTHER, "scale", 1.0), f, monkeypatch.undo) == 2


def test_the_default_dtype():
    f = lambda x: x + tp.ones(2)  # noqa: E731  # a formula in a line
    x = tensor_of([1.0, 2.0], "float16")
    g = compiled(f)
    assert g(x).dtype is tp.float32
    tp.set_default_dtype(tp.float64)
    assert g(x).dtype is tp.float64


def test_a_new_submodule_and_a_new_hook():
    net = nn.Sequential(nn.Linear(2, 2))
    g = compiled(net)
    x = tensor_of([[1.0, 2.0]])
    with tp.no_grad():
        expect(g(x), net(x).tolist(), "float32")
        net.add_module("act", nn.Tanh())
        expect(g(x), net(x).tolist(), "float32")
        net[0].register_forward_hook(lambda _m, _a, out: out * 2)
        expect(g(x), net(x).tolist(), "float32")
        net[0].weight = nn.Parameter(tp.ones(2, 2))
        expect(g(x), net(x).tolist(), "float32")


def test_what_a_function_does_not_read_is_no_guard():
    table = {"used": 1.0, "unused": 2.0}

    class Thing:
        pass

    thing = Thing()
    thing.used, thing.unused = 1.0, 2.0
    g = compiled(lambda x: x * thing.used)
    x = tensor_of([1.0])
    g(x)
    thing.unused = 5.0
    thing.fresh = 5.0
    g(x)
    assert g.misses == 1
    assert table["used"] == 1.0


def test_equal_values_in_new_objects_are_no_reason():
    state = {"sizes": [1.5, (2, "a")]}
    g = compiled(lambda x: x * state["sizes"][0])
    x = tensor_of([1.0])
    for _ in range(3):
        expect(g(x), [1.5], "float32")
        state["sizes"][0] = float("1.5")
    assert g.misses == 1


def test_a_counter_that_the_function_itself_moves_is_no_guard():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    net = Counting()
    g = compiled(net)
    for _ in range(4):
        expect(g(tensor_of([1.0])), [2.0], "float32")
    assert net.calls == 1
    assert g.misses == 1


def test_side_effects_on_python_objects_happen_at_capture():
    log, cache, count = [], {"old": 1}, 0

    def f(x):
        nonlocal count
        count += 1
        log.append("ran")
        cache[x.shape] = True
        return x * 2

    g = compiled(f)
    for _ in range(3):
        expect(g(tensor_of([1.0])), [2.0], "float32")
    assert log == ["ran"]
    assert cache == {"old": 1, (1,): True}
    assert g.misses == 1
    assert count == 1


def test_a_fact_that_moves_and_is_read_for_nothing_is_found_out_by_a_second_capture():
    class Printing:
        def __init__(self):
            self.calls = 0
            self.text = ""

        def __call__(self, x):
            self.calls += 1
            self.text = f"call {self.calls}"
            return x * 2

    f = Printing()
    g = compiled(f)
    for _ in range(5):
        expect(g(tensor_of([1.0])), [2.0], "float32")
    assert f.calls == 2
    assert g.misses == 2


def test_a_counter_that_the_result_depends_on_is_one():
    class Counting:
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * self.calls

    f = Counting()
    g = compiled(f)
    found = [g(tensor_of([1.0])).item() for _ in range(5)]
    assert found == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_survey_of_a_function_takes_little_time():
    import time

    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(100)))
    start = time.process_time()
    survey([(net, "net")])
    assert time.process_time() - start < 0.25


# ------------------------------------------------------------------ reasons


def reasons(f, *calls):
    g = compiled(f)
    for args in calls:
        g(*args)
    return g.reasons


def test_the_reason_names_what_differs():
    one, two = tensor_of([1.0]), tensor_of([1.0, 2.0])
    (reason,) = reasons(lambda x, n: x * n, (one, 2), (one, 3))
    assert reason == (
        "n was 2 and is 3; Python numbers are specialized by value: pass a 0-d tensor where the "
        "number changes often"
    )
    (reason,) = reasons(lambda x: x * 2, (one,), (two,))
    assert reason.startswith(
        "x was a tensor of shape (1,), float32, strides (1,) and is a tensor of shape (2,), float32"
    )
    (reason,) = reasons(lambda d: d["a"][0] + 1, ({"a": [one]},), ({"a": [two]},))
    assert reason.startswith("d['a'][0] was a tensor of shape (1,)")
    (reason,) = reasons(lambda a, b: a + b, (one, one), (one, tensor_of([1.0])))
    assert reason.startswith("b was the same tensor as a and is a tensor of shape (1,)")


def test_the_reason_names_a_global(monkeypatch):
    g = compiled(lambda x: x * SCALE)
    g(tensor_of([1.0]))
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    g(tensor_of([1.0]))
    assert g.reasons == ["SCALE changed from 2.0 to 4.0"]


def test_the_reason_names_a_gate_and_its_line():
    g = compiled(lambda x: x + 1 if x.sum() > 0 else x)
    g(tensor_of([1.0]))
    g(tensor_of([-1.0]))
    (reason,) = g.reasons
    assert reason.startswith("the answer of bool() at test_specialize.py:")


def test_the_reason_names_a_free_tensor_and_sharing():
    table = {"w": tensor_of([1.0])}
    g = compiled(lambda x: x + table["w"])
    g(tensor_of([1.0]))
    table["w"] = tensor_of([1.0, 2.0])
    g(tensor_of([1.0]))
    assert g.reasons[0].startswith("table['w'] was a tensor of shape (1,)")
    base = tensor_of([1.0, 2.0, 3.0])
    g = compiled(lambda x, y: x + y)
    g(tensor_of([1.0]), tensor_of([1.0]))
    g(base[:1], base[1:2])
    assert g.reasons == ["which tensors share memory, or a flag of a free tensor, changed"]


def test_the_limit_is_an_error_in_strict_mode_and_a_warning_else():
    f = lambda x, n: x * n  # noqa: E731  # a formula in a line
    x = tensor_of([1.0])
    with tp.config.override(recompile_limit=3):
        g = compiled(f, strict_native=True)
        for n in range(3):
            g(x, n)
        with pytest.raises(
            CompileError,
            match=r"was compiled 3 times, which is the limit \(TP_RECOMPILE_LIMIT\)\. The latest reason: n was 2 and is 3",
        ):
            g(x, 3)
        expect(g(x, 1), [1.0], "float32")
        g = compiled(f)
        for n in range(3):
            g(x, n)
        with pytest.warns(CompileWarning, match="run uncompiled from now on"):
            expect(g(x, 7), [7.0], "float32")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expect(g(x, 8), [8.0], "float32")
        assert g.misses == 5
        assert len(g.reasons) == 2  # calls that run uncompiled leave nothing behind
        g.forget()
        expect(g(x, 9), [9.0], "float32")
        assert len(g._records) == 1


def test_descriptions():
    x = tensor_of([1.0]).requires_grad_()
    facts = describe_call({"x": x, "y": [x, "s", None]})
    assert facts == {
        "x": "a tensor of shape (1,), float32, strides (1,), requires grad",
        "y[0]": "the same tensor as x",
        "y[1]": "'s'",
        "y[2]": "None",
    }
    assert first_difference(facts, facts) is None
    assert first_difference({"a": "1"}, {"a": "1", "b": "2"}) == "b was absent and is 2"


def test_nan_and_signed_zero_arguments():
    f = compiled(lambda x, s: x * s)
    x = tensor_of([1.0])
    for value in (0.0, -0.0, math.nan, math.nan, 0.0):
        found = f(x, value).item()
        assert math.isnan(found) == math.isnan(value)
        assert math.isnan(value) or math.copysign(1, found) == math.copysign(1, value)
    assert f.misses == 3


def test_numpy_numbers_and_arrays_count_by_value():
    f = compiled(lambda x, s, a: x * float(s) + tp.from_numpy(a.copy()))
    x = tensor_of([1.0, 2.0])
    for _ in range(2):
        for factor, shift in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0)):
            array = np.full(2, shift, np.float32)
            found = f(x, np.float64(factor), array)
            expect(found, [factor + shift, 2 * factor + shift], "float32")
    assert f.misses == 3


def test_a_free_array_that_changes_in_place():
    array = np.ones(2, np.float32)
    f = compiled(lambda x: x + tp.tensor(array))
    x = tensor_of([1.0, 2.0])
    expect(f(x), [2.0, 3.0], "float32")
    array[0] = 5.0
    expect(f(x), [6.0, 3.0], "float32")
    assert f.misses == 2
