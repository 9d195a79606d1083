"""Hooks of modules: forward with keywords, backward, saving and loading."""

import pytest
from checks import to_array

import tensorplay as tp
from tensorplay import nn


class Scaled(nn.Module):
    def forward(self, x, *, factor=1.0):
        return x * factor


def test_forward_hooks_with_keywords_and_order():
    layer = Scaled()
    layer.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
    )
    seen = []
    layer.register_forward_hook(
        lambda module, args, kwargs, result: seen.append(kwargs["factor"]), with_kwargs=True
    )
    layer.register_forward_hook(lambda *args: seen.append("first"), prepend=True)
    assert layer(tp.ones(1), factor=2.0).tolist() == [3.0]
    assert seen == ["first", 3.0]


def test_hooks_that_are_always_called():
    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    layer, seen = Broken(), []
    layer.register_forward_hook(lambda module, args, result: seen.append(result), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        layer(tp.ones(1))
    assert seen == [None]


def test_backward_hooks_see_and_change_gradients():
    layer = nn.Linear(3, 2)
    seen = []
    layer.register_full_backward_hook(
        lambda module, inner, outer: seen.append((inner[0].shape, outer[0].shape))
    )
    layer.register_full_backward_pre_hook(lambda module, outer: (outer[0] * 2,))
    handle = layer.register_full_backward_hook(lambda module, inner, outer: (inner[0] * 10,))
    x = tp.ones(4, 3).requires_grad_()
    layer(x).sum().backward()
    assert seen == [((4, 3), (4, 2))]
    right = to_array(layer.weight).sum(0) * 20
    assert to_array(x.grad)[0] == pytest.approx(right, rel=1e-5)
    assert layer.bias.grad.tolist() == [8.0, 8.0]
    handle.remove()
    x.grad = None
    layer(x).sum().backward()
    assert to_array(x.grad)[0] == pytest.approx(right / 10, rel=1e-5)


def test_backward_hooks_without_gradients_of_inputs():
    layer, seen = nn.Linear(3, 2), []
    layer.register_full_backward_hook(lambda module, inner, outer: seen.append(inner))
    layer(tp.ones(4, 3)).sum().backward()
    assert seen == [(None,)]


def test_state_hooks_and_extra_state():
    class Counted(nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    net = nn.Sequential(Counted(), nn.Linear(2, 2))
    calls = []
    net[1].register_state_dict_pre_hook(lambda module, prefix, keep: calls.append((prefix, keep)))
    net[1].register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.pop(prefix + "bias")
    )
    state = net.state_dict()
    assert calls == [("1.", False)]
    assert list(state) == ["0._extra_state", "1.weight"]
    state["0._extra_state"]["count"] = 7
    state["1.shift"] = tp.ones(2)

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        state[prefix + "bias"] = state.pop(prefix + "shift")

    net[1].register_load_state_dict_pre_hook(rename)
    assert net.load_state_dict(state) == ([], [])
    assert "1.shift" in state
    assert net[0].count == 7
    assert net[1].bias.tolist() == [1.0, 1.0]


def test_hooks_after_loading_may_forgive():
    net = nn.Linear(2, 2)
    with pytest.raises(nn.StateError, match="Missing"):
        net.load_state_dict({"weight": tp.ones(2, 2)})
    net.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    assert net.load_state_dict({"weight": tp.ones(2, 2)}) == ([], [])
    assert net.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_prefixes_and_destinations():
    found = {"other": 1}
    state = nn.Linear(1, 1, bias=False).state_dict(destination=found, prefix="head.")
    assert state is found
    assert list(state) == ["other", "head.weight"]
