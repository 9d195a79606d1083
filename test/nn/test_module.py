"""`Module`: registration, the tree, state, hooks, text."""

import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.scale = nn.Parameter(tp.ones(2))
        self.register_buffer("count", tp.zeros(()))
        self.register_buffer("scratch", tp.zeros(1), persistent=False)

    def forward(self, x):
        return self.body(self.first(x)) * self.scale


PATHS = ["scale", "first.weight", "first.bias", "body.1.weight"]


def test_assignment_registers_and_paths_name_everything():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == PATHS
    assert [name for name, _ in net.named_buffers()] == ["count", "scratch"]
    names = [name for name, _ in net.named_modules()]
    assert names == ["", "first", "body", "body.0", "body.1"]
    assert [name for name, _ in net.named_children()] == ["first", "body"]
    assert net.get_parameter("body.1.weight") is net.body[1].weight
    assert net.get_submodule("body.0") is net.body[0]
    assert net.get_submodule("") is net
    assert net.get_buffer("count") is net.count
    with pytest.raises(AttributeError, match="no submodule 'nothing'"):
        net.get_submodule("body.nothing")


def test_shared_parameters_and_modules_are_listed_once():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    assert len(list(net.parameters())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert len(list(net.modules())) == 2


def test_attributes_can_be_replaced_and_deleted():
    net = Net()
    net.scale = None
    assert net.scale is None
    assert [name for name, _ in net.named_parameters()] == PATHS[1:]
    net.scale = nn.Parameter(tp.zeros(2))
    with pytest.raises(TypeError, match="is a parameter"):
        net.scale = tp.ones(2)
    with pytest.raises(TypeError, match="is a submodule"):
        net.first = 3
    net.count = tp.ones(())
    assert net.get_buffer("count").item() == 1.0
    with pytest.raises(TypeError, match="is a buffer"):
        net.count = 3
    del net.first
    with pytest.raises(AttributeError, match="no attribute 'first'"):
        _ = net.first
    net.plain = 3
    assert net.plain == 3
    net.plain = nn.Parameter(tp.ones(1))
    assert "plain" in dict(net.named_parameters())
    assert "scale" in dir(net)


def test_names_that_cannot_be_used_are_refused():
    net = Net()
    with pytest.raises(KeyError, match=r"without '\.'"):
        net.register_parameter("a.b", nn.Parameter(tp.ones(1)))
    with pytest.raises(KeyError, match="already has"):
        net.register_buffer("forward", tp.ones(1))
    computed = nn.Parameter(tp.ones(1))
    computed.grad_fn = (computed * 1).grad_fn
    with pytest.raises(ValueError, match="leaf"):
        net.register_parameter("computed", computed)

    class Late(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
        Late()


def test_parameters_of_integers_want_no_gradient():
    with pytest.raises(TypeError, match="floating"):
        nn.Parameter(tp.ones(2, dtype=tp.int64))
    assert not nn.Parameter(tp.ones(2, dtype=tp.int64), requires_grad=False).requires_grad


def test_state_goes_out_and_in():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "count", "first.weight", "first.bias", "body.1.weight"]
    assert not state["scale"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert next(iter(net.state_dict(prefix="model."))) == "model.scale"
    kept = other.first.weight
    result = other.load_state_dict(state)
    assert result == ([], [])
    assert other.first.weight is kept
    x = tensor_of([[1.0, -2.0, 0.5]])
    assert net(x).tolist() == other(x).tolist()
    net.first.weight.data.zero_()
    assert net(x).tolist() != other(x).tolist()


def test_loading_by_assignment_shares_memory():
    net, other = Net(), Net()
    other.load_state_dict(net.state_dict(), assign=True)
    with tp.no_grad():
        net.scale.fill_(5.0)
    assert other.scale.tolist() == [5.0, 5.0]
    assert isinstance(other.scale, nn.Parameter)


def test_wrong_states_are_refused_whole():
    net = Net()
    before = net.scale.tolist()
    state = {name: tensor.clone() + 1 for name, tensor in net.state_dict().items()}
    del state["first.bias"]
    state["extra"] = tp.ones(1)
    state["body.1.weight"] = tp.ones(3, 3)
    with pytest.raises(nn.StateError) as error:
        net.load_state_dict(state)
    text = str(error.value)
    assert "Error(s) in loading state_dict for Net" in text
    assert 'Missing key(s) in state_dict: "first.bias".' in text
    assert 'Unexpected key(s) in state_dict: "extra".' in text
    assert "size mismatch for body.1.weight: the shape in the state is (3, 3)" in text
    assert net.scale.tolist() == before
    del state["body.1.weight"]
    result = net.load_state_dict(state, strict=False)
    assert result.missing_keys == ["first.bias", "body.1.weight"]
    assert result.unexpected_keys == ["extra"]
    assert net.scale.tolist() == [2.0, 2.0]


def test_modes_reach_all_modules():
    net = Net()
    assert net.training
    assert not net.eval().body[1].training
    assert net.train().body[1].training


def test_gradients_of_a_module():
    net = Net()
    x = tensor_of([[1.0, -2.0, 0.5]])
    net(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(x).requires_grad


def test_conversion_keeps_the_parameters():
    net = Net()
    kept = list(net.parameters())
    assert net.double() is net
    assert all(a is b for a, b in zip(kept, net.parameters(), strict=True))
    assert {p.dtype for p in net.parameters()} == {tp.float64}
    assert net.count.dtype is tp.float64
    assert all(p.is_leaf and p.requires_grad for p in net.parameters())
    net.register_buffer("places", tp.zeros(1, dtype=tp.int64))
    assert net.half().places.dtype is tp.int64
    assert net.to("cpu").scale.dtype is tp.float16
    assert net.float().scale.dtype is tp.float32
    assert net.bfloat16().scale.dtype is tp.bfloat16


def test_apply_visits_children_first():
    seen = []
    net = Net()
    assert net.apply(seen.append) is net
    assert seen[-1] is net
    assert len(seen) == 5


def test_hooks_replace_arguments_and_results():
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda module, args: args[0] * 2)
    after = layer.register_forward_hook(lambda module, args, result: result + 1)
    expect(layer(tensor_of([1.0])), [3], "float32")
    before.remove()
    expect(layer(tensor_of([1.0])), [2], "float32")
    after.remove()
    expect(layer(tensor_of([1.0])), [1], "float32")


def test_text():
    assert repr(nn.Linear(3, 4)) == "Linear(in_features=3, out_features=4, bias=True)"
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (body): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=4, out_features=2, bias=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Conv2d(1, 2, 3, padding=1, bias=False)) == (
        "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)"
    )
    assert repr(nn.BatchNorm2d(2)) == (
        "BatchNorm2d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"
    )
    assert repr(nn.Parameter(tp.ones(1))).startswith("Parameter containing:\n")


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Empty defines no forward"):
        type("Empty", (nn.Module,), {})()(1)


# ---- containers


def test_sequential_is_a_sequence():
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert len(net) == 3
    assert isinstance(net[-1], nn.Sigmoid)
    assert [type(m) for m in net[:2]] == [nn.ReLU, nn.Tanh]
    net[1] = nn.Identity()
    assert isinstance(net[1], nn.Identity)
    del net[0]
    assert [type(m) for m in net] == [nn.Identity, nn.Sigmoid]
    net.append(nn.ReLU()).insert(0, nn.Tanh())
    assert [type(m) for m in net] == [nn.Tanh, nn.Identity, nn.Sigmoid, nn.ReLU]
    assert list(dict(net.named_children())) == ["0", "1", "2", "3"]
    named = nn.Sequential({"a": nn.ReLU(), "b": nn.Tanh()})
    assert isinstance(named.b, nn.Tanh)


def test_lists_and_dictionaries_register():
    items = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    assert len(list(items.parameters())) == 4
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.ReLU()
    assert list(table) == ["a", "b"]
    assert "a" in table
    assert isinstance(table.pop("b"), nn.ReLU)
    assert list(table.keys()) == ["a"]
    assert len(list(table.values())) == len(table) == 1
    with pytest.raises(KeyError):
        _ = table["b"]
    values = nn.ParameterList([nn.Parameter(tp.ones(1))])
    values.append(nn.Parameter(tp.zeros(1)))
    assert [p.item() for p in values] == [1.0, 0.0]
    assert values[-1].item() == 0.0


def test_a_buffer_is_registered_when_it_is_assigned():
    module = nn.Module()
    module.a, module.b = nn.Buffer(tp.ones(2)), nn.Buffer(tp.ones(3), persistent=False)
    assert [name for name, _ in module.named_buffers()] == ["a", "b"]
    assert list(module.state_dict()) == ["a"]


def test_a_compiled_module_gives_what_it_gave():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = tp.randn(4, 2)
    right = net(x)
    net.compile(strict_native=True)
    assert tp.equal(net(x), right)
    net(x).sum().backward()
    assert net[0].weight.grad.shape == (3, 2)
    net[2].bias.detach().add_(1.0)
    assert tp.allclose(net(x), right + 1.0)


def test_a_parameter_says_once_that_it_is_one():
    assert repr(nn.Parameter(tp.ones(1))).count("Parameter containing") == 1
