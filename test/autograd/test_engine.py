"""The reverse engine: values, graphs of every shape, options of `grad` and `backward`, depth."""

import gc
import weakref

import numpy as np
import pytest
from checks import expect, tensor_of, to_array

import tensorplay as tp
from tensorplay.autograd import Node, backward, grad
from tensorplay.core.errors import GradientError, VersionError


def leaf(values, dtype="float32"):
    return tensor_of(values, dtype).requires_grad_()


# ---- values


def test_product_rule():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x * y).sum().backward()
    expect(x.grad, [3, 4], "float32")
    expect(y.grad, [1, 2], "float32")


def test_a_value_used_many_times_gathers_all_contributions():
    x = leaf(3.0)
    y = x * x
    (y * y + y + x).backward()  # x^4 + x^2 + x
    expect(x.grad, 4 * 27 + 6 + 1, "float32")


def test_diamonds_run_each_node_once():
    x = leaf(1.0)
    calls = []
    y = x * 1.0
    y.register_hook(lambda g: calls.append(g.item()))
    z = y
    for _ in range(30):  # 2^30 paths
        z = z + z
    z.backward()
    assert calls == [2.0**30]
    expect(x.grad, 2.0**30, "float32")


def test_gradients_accumulate_over_passes():
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    expect(x.grad, [5, 5], "float32")


def test_broadcast_operands_get_summed_gradients():
    x, y = leaf(np.ones((2, 3))), leaf(np.ones((3,)))
    z = leaf(2.0)
    (x * y * z).sum().backward()
    expect(x.grad, np.full((2, 3), 2.0), "float32")
    expect(y.grad, [4, 4, 4], "float32")
    expect(z.grad, 6.0, "float32")


def test_a_leaf_is_its_own_gradient_root():
    x = leaf(2.0)
    x.backward()
    expect(x.grad, 1.0, "float32")
    assert grad(x, x)[0].item() == 1.0


def test_integer_tensors_take_part_without_gradients():
    x = leaf([1.0, 2.0])
    index = tensor_of([1, 0], "int64")
    y = x[index] * index
    y.sum().backward()
    expect(x.grad, [0, 1], "float32")


def test_gradients_have_the_dtype_of_their_value():
    x, y = leaf([1.0, 2.0], "float16"), leaf([1.0, 2.0], "float64")
    (x * y).sum().backward()
    assert x.grad.dtype is tp.float16
    assert y.grad.dtype is tp.float64


# ---- grad


def test_grad_leaves_the_tensors_alone():
    x = leaf(3.0)
    (g,) = grad(x * x, x)
    assert g.item() == 6.0
    assert x.grad is None


def test_grad_of_an_intermediate_value():
    x = leaf(3.0)
    y = x * x
    z = y * y
    gy, gx = grad(z, [y, x])
    assert (gy.item(), gx.item()) == (18.0, 108.0)


def test_only_nodes_on_the_way_run():
    x, y = leaf(1.0), leaf(1.0)
    ran = []
    a, b = x * 2, y * 2
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    grad(a + b, x)
    assert ran == ["a"]


def test_grad_outputs_weigh_the_outputs():
    x = leaf([1.0, 2.0])
    (g,) = grad([x * 2, x * 3], x, [tensor_of([1.0, 0.0]), tensor_of([0.0, 1.0])])
    expect(g, [2, 3], "float32")


def test_unused_inputs():
    x, y = leaf(1.0), leaf(1.0)
    with pytest.raises(GradientError, match="not used"):
        grad(x * 2, [x, y])
    assert grad(x * 2, [x, y], allow_unused=True)[1] is None
    expect(grad(x * 2, [x, y], materialize_grads=True)[1], 0.0, "float32")


def test_higher_derivatives_of_a_cube():
    x = leaf(2.0)
    y = x * x * x
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    (third,) = grad(second, x)
    assert [first.item(), second.item(), third.item()] == [12.0, 12.0, 6.0]
    assert not third.requires_grad


def test_create_graph_in_backward_records_the_gradient():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = grad(x.grad, x)
    assert second.item() == 12.0


def test_backward_into_named_inputs_only():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    w = z * z
    backward(w, inputs=[x, z])
    assert x.grad.item() == 36.0
    assert z.grad.item() == 12.0
    assert y.grad is None


# ---- errors


def test_a_second_pass_needs_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(GradientError, match="retain_graph=True"):
        y.backward()


def test_a_vector_needs_its_gradient():
    x = leaf([1.0, 2.0])
    with pytest.raises(GradientError, match="one element"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="shape"):
        (x * 2).backward(tensor_of([1.0]))


def test_a_constant_has_no_gradient():
    with pytest.raises(GradientError, match="has no gradient"):
        tp.ones(()).backward()
    with pytest.raises(GradientError, match="does not require"):
        grad(leaf(1.0) * 2, tp.ones(()))


def test_an_error_on_the_way_changes_nothing_and_names_the_operator():
    x, y = leaf(1.0), leaf(2.0)

    def fail(g):
        raise ZeroDivisionError

    y_times = y * 2
    y_times.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        (x * 3 + y_times).backward()
    assert x.grad is None
    assert y.grad is None


def test_a_changed_input_is_noticed_and_the_operator_named():
    x = leaf([1.0, 2.0])
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(VersionError, match=r"MulBackward.*in-place"):
        z.sum().backward()


def test_a_changed_output_is_noticed():
    x = leaf([1.0, 2.0])
    y = x.exp()
    with tp.no_grad():
        y.mul_(2)
    with pytest.raises(VersionError, match="ExpBackward"):
        y.sum().backward()


def test_changing_what_nobody_saved_is_fine():
    x = leaf([1.0, 2.0])
    y = x + 1
    z = y + 1
    with tp.no_grad():
        y.mul_(5)
    z.sum().backward()
    expect(x.grad, [1, 1], "float32")


# ---- modes and hooks


def test_no_grad_and_enable_grad_nest():
    x = leaf(1.0)
    with tp.no_grad():
        assert not (x * 2).requires_grad
        with tp.enable_grad():
            assert (x * 2).requires_grad
        assert not tp.is_grad_enabled()
    assert (x * 2).requires_grad


def test_grad_modes_decorate_and_switch():
    x = leaf(1.0)

    @tp.no_grad()
    def f(x):
        return x * 2

    assert not f(x).requires_grad
    tp.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        tp.set_grad_enabled(True)
    with tp.set_grad_enabled(False):
        assert not tp.is_grad_enabled()
    assert tp.is_grad_enabled()
    with tp.inference_mode():
        assert not (x * 2).requires_grad


def test_hooks_see_and_replace_whole_gradients():
    x = leaf(2.0)
    y = x * 3
    seen = []
    handle = y.register_hook(lambda g: seen.append(g.item()) or g * 10)
    x.register_hook(lambda g: g + 1)
    (y + y).backward()
    assert seen == [2.0]
    expect(x.grad, 2 * 10 * 3 + 1, "float32")
    handle.remove()
    x.grad = None
    (x * 3).backward()
    assert x.grad.item() == 4.0
    with pytest.raises(GradientError):
        tp.ones(()).register_hook(lambda g: g)


def test_retain_grad_keeps_intermediate_gradients():
    x = leaf(2.0)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad
    (y * y).backward()
    expect(y.grad, 12.0, "float32")
    expect(x.grad, 36.0, "float32")


# ---- ownership of .grad


def test_two_leaves_do_not_share_one_gradient():
    x, y = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (x + y).backward(tensor_of([1.0, 1.0]))
    x.grad.mul_(5)
    expect(y.grad, [1, 1], "float32")


def test_the_callers_gradient_is_not_taken_over():
    x, seed = leaf([1.0, 2.0]), tensor_of([1.0, 1.0])
    (x + 0).backward(seed)
    x.grad.zero_()
    expect(seed, [1, 1], "float32")


def test_the_gradient_of_a_sum_has_memory_of_its_own():
    x = leaf(np.ones((2, 3)))
    x.sum().backward()
    assert x.grad.is_contiguous()
    x.grad[0, 0] = 7.0
    assert x.grad.sum().item() == 12.0


# ---- depth


def chain(x, length):
    for _ in range(length):
        x = x * 1.0
    return x


def test_deep_graphs_run_without_recursion():
    x = leaf([1.0, 2.0])
    y = chain(x, 20_000)
    y.sum().backward()
    expect(x.grad, [1, 1], "float32")


class Link(Node):
    """Keeps the tensor before it, as a node that saves its input does."""

    __slots__ = ("saved",)

    def apply(self, grads, wanted):
        return grads


def test_long_chains_are_freed_without_recursion():
    x = leaf([1.0])
    y = x
    for _ in range(100_000):
        edge = (y.grad_fn or y, 0)
        node = Link((edge,))
        node.saved = y
        y = tp.Tensor._from_plain(x.detach())
        node.describe_outputs((y,))
        y.grad_fn, y.requires_grad = node, True
    y.backward(tp.ones(1))
    expect(x.grad, [1], "float32")
    last = weakref.ref(y.grad_fn)
    del y, node, edge
    gc.collect()
    assert last() is None


def test_deep_graphs_are_freed_without_recursion():
    x = leaf([1.0])
    y = x
    for _ in range(20_000):
        y = y * y
    last = weakref.ref(y.grad_fn)
    del y
    assert last() is None


def test_graphs_are_freed_by_counting_references_alone():
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        y = (x.exp() * x).tanh()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_deep_graphs_by_grad_with_inputs():
    x = leaf(1.0)
    y = chain(x, 20_000)
    assert grad(y, x)[0].item() == 1.0


def test_saved_results_are_differentiable_again():
    x = leaf([0.3, -0.7], "float64")
    y = x.tanh()
    (first,) = grad(y.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    t = np.tanh([0.3, -0.7])
    np.testing.assert_allclose(to_array(second), -2 * t * (1 - t * t))
