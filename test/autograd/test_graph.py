"""`autograd.graph` and anomaly mode: hooks of saved tensors, nodes, and of gradients; lines in errors."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.autograd import (
    Function,
    detect_anomaly,
    grad,
    graph,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from tensorplay.core.errors import GradientError, VersionError


def leaf(*values):
    return tp.tensor(values, dtype=tp.float64, requires_grad=True)


# ---- saved tensors -------------------------------------------------------------------------------------


def test_saved_tensors_in_another_form():
    packed = []

    def pack(tensor):
        assert not tp.is_grad_enabled()
        packed.append(tuple(tensor.shape))
        return tensor.numpy().tolist()

    x, w = leaf(0.5, -1.0), leaf(2.0, 3.0)

    def function(x, w):
        return ((x * w).exp() * x).sum()

    with graph.saved_tensors_hooks(pack, lambda kept: tp.tensor(kept, dtype=tp.float64)):
        y = function(x, w)
    assert packed == [(2,)] * len(packed)
    first = grad(y, [x, w], create_graph=True)
    expected = grad(function(x, w), [x, w], create_graph=True)
    for a, b in zip(first, expected, strict=True):
        assert tp.allclose(a, b)
    for a, b in zip(grad(first[0].sum(), [x, w]), grad(expected[0].sum(), [x, w]), strict=True):
        assert tp.allclose(a, b)


def test_hooks_nest_and_end():
    names = []
    x = leaf(1.0)
    outer = graph.saved_tensors_hooks(lambda t: names.append("outer") or t, lambda t: t)
    inner = graph.saved_tensors_hooks(lambda t: names.append("inner") or t, lambda t: t)
    with outer:
        x.exp()
        with inner:
            x.exp()
        x.exp()
    x.exp()
    assert names == ["outer", "inner", "outer"]
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(GradientError, match="not here"),
    ):
        outer.__enter__()
    with graph.save_on_cpu(pin_memory=True):
        y = (x * x).sum()
    assert tp.equal(grad(y, x)[0], x.detach() * 2)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(GradientError, match="has to return a tensor"):
        y.backward()


def test_a_function_saves_through_hooks():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t / 10):
        y = Square.apply(x)
    (g,) = grad(y, x, create_graph=True)
    assert g.item() == 6.0
    assert grad(g, x)[0].item() == 2.0


def test_changes_that_autograd_cannot_see():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y.sum()
    y.detach().numpy()[0] = 7.0
    graph.increment_version(y)
    with pytest.raises(VersionError):
        z.backward() if z.grad_fn is None else y.sum().backward()


# ---- nodes ------------------------------------------------------------------------------------------------


def test_nodes_can_be_looked_at():
    x = leaf(1.0, 2.0)
    y = (x * 3).sum()
    assert y.grad_fn.name() == "SumBackward"
    (mul, number), *_ = y.grad_fn.next_functions
    assert (mul.name(), number) == ("MulBackward", 0)
    (accumulate, _), *rest = mul.next_functions
    assert accumulate.variable is x
    assert accumulate == graph.get_gradient_edge(x).node
    assert rest in ([], [(None, 0)])
    mul.metadata["note"] = 1
    assert y.grad_fn.next_functions[0][0].metadata == {"note": 1}
    assert graph.get_gradient_edge(y) == (y.grad_fn, 0)
    assert str(y.grad_fn) == "<SumBackward>"


def test_hooks_of_nodes():
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 3
    handle = y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0], outputs[0])))
    prehook = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    assert grad(y.sum(), x, retain_graph=True)[0].tolist() == [30.0, 30.0]
    assert [each.tolist() for each in seen[0]] == [[30.0, 30.0], [10.0, 10.0]]
    prehook.remove()
    handle.remove()
    with y.grad_fn.register_hook(lambda inputs, _: tuple(
        None if each is None else each + 1 for each in inputs
    )):  # fmt: skip
        assert grad(y.sum(), x, retain_graph=True)[0].tolist() == [4.0, 4.0]
    y.grad_fn.register_prehook(lambda outputs: ())
    with pytest.raises(GradientError, match="returned 0 gradients for 1"):
        grad(y.sum(), x)


def test_hooks_after_accumulation():
    seen = []
    x, other = leaf(1.0), leaf(2.0)
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    (x * 2).sum().backward()
    (x * 3 + other).sum().backward()
    grad((x * 5).sum(), x)
    assert seen == [2.0, 5.0]
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [2.0, 5.0]

    def forget(tensor):
        tensor.grad = None

    other.register_post_accumulate_grad_hook(forget)
    (other * 2).sum().backward()
    assert other.grad is None
    with pytest.raises(GradientError, match="leaves"):
        (x * 2).register_post_accumulate_grad_hook(forget)


def test_hooks_of_several_gradients():
    seen = []
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    middle = a * b
    handle = graph.register_multi_grad_hook(
        (a, middle, c), lambda grads: seen.append([g and g.item() for g in grads])
    )
    (middle * 2).sum().backward(retain_graph=True)
    (middle * c).sum().backward(retain_graph=True)
    assert seen == [[4.0, 2.0, None], [6.0, 3.0, 2.0]]
    handle.remove()
    firsts = []
    graph.register_multi_grad_hook((a, c), lambda g: firsts.append(g.item()), mode="any")
    (middle * c).sum().backward(retain_graph=True)
    (middle * c).sum().backward()
    assert len(firsts) == 2
    assert len(seen) == 2


# ---- anomaly mode -----------------------------------------------------------------------------------------


def test_anomaly_mode_names_the_forward_line():
    def forward(x):
        return tp.sqrt(x) * 0  # the derivative is 0 · ∞

    x = leaf(0.0)
    y = forward(x)
    y.backward()
    assert np.isnan(x.grad.item())
    with detect_anomaly():
        assert is_anomaly_enabled()
        y = forward(x)
        with pytest.raises(GradientError, match=r"SqrtBackward produced NaN(.|\n)*in forward"):
            y.backward()
    assert not is_anomaly_enabled()
    with detect_anomaly(check_nan=False):
        forward(x).backward()


def test_anomaly_mode_names_the_line_of_errors():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("broken")

    def forward(x):
        return Broken.apply(x)

    with set_detect_anomaly(mode=True):
        y = forward(leaf(1.0))
        with pytest.raises(RuntimeError, match="broken") as caught:
            y.backward()
    assert "in forward" in "".join(caught.value.__notes__)
    assert not is_anomaly_enabled()


def test_anomaly_mode_follows_double_backward():
    x = leaf(0.0)
    with detect_anomaly():
        y = x.pow(1.5).sum()
        (g,) = grad(y, x, create_graph=True)
        with pytest.raises(GradientError) as caught:
            grad((g.sqrt() * 0).sum(), x)
    assert "test_graph.py" in str(caught.value)
