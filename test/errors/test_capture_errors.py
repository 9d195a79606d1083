"""What can't be captured says so, names the user's line, and leaves everything as it was."""

import functools
import inspect
import re

import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay.core.errors import CaptureError, CompileError


def refusal(f, *args, word):
    """The message of the refusal of `f`; it names the line of `f` that contains `word`."""
    before = [a.tolist() for a in args if isinstance(a, tp.Tensor)]
    with pytest.raises(CaptureError) as caught:
        tp.compile(f)(*args)
    assert [a.tolist() for a in args if isinstance(a, tp.Tensor)] == before
    message, *location = str(caught.value).split("\n")
    if word is not None:
        lines, first = inspect.getsourcelines(f)
        offset = next(k for k, line in enumerate(lines) if word in line)
        name = f.__code__.co_name
        assert location == [f'  File "{__file__}", line {first + offset}, in {name}']
    assert message.startswith("the function can't be captured: ")
    return message.removeprefix("the function can't be captured: ")


def test_sizes_that_depend_on_data():
    def f(x):
        y = x + 1
        return x[x > 0] * y.sum()

    message = refusal(f, tensor_of([1.0, -1.0]), word="x[x > 0]")
    assert "data" in message


def test_backward_inside():
    def f(x):
        loss = (x * x).sum()
        loss.backward()
        return loss

    assert refusal(f, tensor_of([1.0]).requires_grad_(), word="loss.backward()") == (
        "backward() adds to .grad of tensors outside of it: call autograd.grad and return the "
        "gradients, or call backward() on what the compiled function returns"
    )


def test_the_gradient_of_an_argument():
    def f(p):
        return p.detach() - 0.1 * p.grad

    p = tensor_of([1.0]).requires_grad_()
    (p * 2).sum().backward()
    assert refusal(f, p, word="0.1 * p.grad") == (
        "p.grad is read, but the gradient of an argument isn't passed; pass it"
    )
    expect(p.grad, [2.0], "float32")


def test_addresses():
    def f(x):
        return x + x.data_ptr()

    assert refusal(f, tensor_of([1.0]), word="data_ptr()") == (
        "data_ptr has no meaning while a function is captured"
    )


def test_changed_arguments():
    def f(d, items):
        items.append(d["x"])
        return d["x"]

    d, items = {"x": tensor_of([1.0])}, []
    assert refusal(f, d, items, word=None) == (
        "it changes a list that it was given, which a compiled call can't do: return the new contents "
        "instead"
    )
    assert items == []


def test_tensors_put_into_free_lists():
    log = []

    def f(x):
        log.append(x * 2)
        return x

    assert refusal(f, tensor_of([1.0]), word=None) == (
        "it puts a tensor into the list log, which lies outside of it: return it instead"
    )
    assert log == []


def test_tensors_put_into_free_places_as_tuples():
    state = {}

    def f(x):
        state["pair"] = (x, x + 1)
        return x

    assert refusal(f, tensor_of([1.0]), word=None) == (
        "it puts a tuple of tensors into state, which lies outside of it: assign single tensors, or "
        "return them"
    )


class Holder:
    def __init__(self, value):
        self.value = value


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Holder, "Holder"),
        (Slots, "Slots"),
        (lambda x: Holder([{"deep": x}]), "Holder"),
        (lambda x: {x}, "set"),
        (lambda x: iter([x]), "list_iterator"),
        (lambda x: map(tp.exp, [x]), "map"),
        (lambda x: functools.partial(tp.add, x), "partial"),
        (lambda x: lambda: x, "function"),
        (lambda x: x.sum, "method"),
    ],
)
def test_results_that_hide_tensors(make, kind):
    assert refusal(lambda x: make(x + 1), tensor_of([1.0]), word=None) == (
        f"it returns a {kind} that holds tensors: return them as a list, tuple, dict or dataclass, or "
        "register the class with optree"
    )


def test_attributes_of_an_argument():
    x = tensor_of([1.0])
    x.scale = 3

    def read(x):
        return x * x.scale

    def ask(x):
        return x if hasattr(x, "scale") else x + 1

    def assign(x):
        x.mark = 1
        return x + 1

    for f in (read, ask):
        assert refusal(f, x, word="scale") == (
            "x.scale is read, but attributes that were set on a tensor aren't passed with it; pass the value"
        )
    assert refusal(assign, x, word=None) == (
        "x.mark is assigned, which would happen once, now; return the value"
    )
    assert vars(x) == {"scale": 3}
    assert not tp.compile(lambda x: hasattr(x, "other"))(x)
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'sumn'") as caught:
        x.sumn()
    assert (caught.value.name, caught.value.obj) == ("sumn", x)  # what Python suggests from


def test_generators():
    def f(x):
        yield x + 1

    assert refusal(f, tensor_of([1.0]), word=None) == (
        "it is a generator or a coroutine, which runs later"
    )


def test_a_tensor_kept_from_another_capture():
    kept = []

    def keep(x):
        kept.append(lambda: x)
        return x + 1

    tp.compile(keep)(tensor_of([1.0]))

    def f(x):
        return x + kept[0]()

    message = refusal(f, tensor_of([1.0]), word="kept[0]()")
    assert message == (
        "a tensor of shape (1,) without data is used that was kept from another capture, or lives on "
        "the meta device: return tensors from the function instead of keeping them"
    )


def test_errors_of_the_program_pass_through_unchanged():
    class MyError(Exception):
        pass

    def f(x):
        if x.shape[0] == 1:
            raise MyError("one")
        return x / 2

    g = tp.compile(f)
    with pytest.raises(MyError, match=r"^one$"):
        g(tensor_of([1.0]))
    expect(g(tensor_of([1.0, 2.0])), [0.5, 1.0], "float32")
    with pytest.raises(MyError):
        g(tensor_of([1.0]))


def test_a_failed_capture_leaves_modes_and_random_state_alone():
    def f(x):
        with tp.no_grad():
            tp.rand(3)
            if (x > 0).any():
                raise ValueError("stop")
        return x

    tp.manual_seed(3)
    right = tp.rand(2).tolist()
    tp.manual_seed(3)
    with pytest.raises(ValueError, match="stop"):
        tp.compile(f)(tensor_of([1.0]))
    assert tp.is_grad_enabled()
    assert tp.rand(2).tolist() == right


def test_a_failed_capture_restores_rebound_places():
    state = {"w": tensor_of([1.0])}
    before = state["w"]

    def f(x):
        state["w"] = x * 2
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        tp.compile(f)(tensor_of([1.0]))
    assert state["w"] is before


def test_the_limit_names_its_cause():
    f = tp.compile(lambda x, n: x + n, backend="aot_eager", strict_native=True)
    with tp.config.override(recompile_limit=2):
        f(tensor_of([1.0]), 1), f(tensor_of([1.0]), 2)
        with pytest.raises(CompileError) as caught:
            f(tensor_of([1.0]), 3)
    assert re.fullmatch(
        r".*<lambda> was compiled 2 times, which is the limit \(TP_RECOMPILE_LIMIT\)\. The latest "
        r"reason: n was 2 and is 3; Python numbers are specialized by value: pass a 0-d tensor where "
        r"the number changes often",
        str(caught.value),
    )


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x, n: x.narrow(0, n[0], 1), r"\.item\(\)"),
        (tp.tensor_split, r"\.tolist\(\)"),
        (lambda x, n: tp.repeat_interleave(x, n, 0), "output_size="),
        (lambda x, n: tp.one_hot(n), "pass num_classes"),
    ],
)
def test_arguments_that_are_data_are_refused_with_the_way_out(function, words):
    x, n = tp.arange(6.0).reshape(2, 3), tp.tensor([1, 2])
    with pytest.raises(CaptureError, match=words) as caught:
        tp.compile(function)(x, n)
    assert "test_capture_errors.py" in str(caught.value)


def test_the_ways_out_compile():
    x, n = tp.arange(6.0).reshape(2, 3), tp.tensor([1, 2])

    def f(x, n):
        repeated = tp.repeat_interleave(x, n, 0, output_size=3)
        return (
            x.narrow(0, n[0].item(), 1),
            tp.tensor_split(x, n.tolist()),
            repeated,
            tp.one_hot(n, 3),
        )

    found, right = tp.compile(f)(x, n), f(x, n)
    assert found[0].tolist() == right[0].tolist()
    assert [each.tolist() for each in found[1]] == [each.tolist() for each in right[1]]
    assert found[2].tolist() == right[2].tolist()
    assert found[3].tolist() == right[3].tolist()
