"""Recurrent networks against their formulas in NumPy; names, shapes and texts are PyTorch's; packed sequences."""

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.nn.utils import rnn

NAMES = {
    "RNN(3, 4)": {
        "weight_ih_l0": (4, 3),
        "weight_hh_l0": (4, 4),
        "bias_ih_l0": (4,),
        "bias_hh_l0": (4,),
    },
    "GRU(3, 4, bias=False)": {"weight_ih_l0": (12, 3), "weight_hh_l0": (12, 4)},
    "LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)": {
        "weight_ih_l0": (16, 3),
        "weight_hh_l0": (16, 2),
        "bias_ih_l0": (16,),
        "bias_hh_l0": (16,),
        "weight_hr_l0": (2, 4),
        "weight_ih_l0_reverse": (16, 3),
        "weight_hh_l0_reverse": (16, 2),
        "bias_ih_l0_reverse": (16,),
        "bias_hh_l0_reverse": (16,),
        "weight_hr_l0_reverse": (2, 4),
        "weight_ih_l1": (16, 4),
        "weight_hh_l1": (16, 2),
        "bias_ih_l1": (16,),
        "bias_hh_l1": (16,),
        "weight_hr_l1": (2, 4),
        "weight_ih_l1_reverse": (16, 4),
        "weight_hh_l1_reverse": (16, 2),
        "bias_ih_l1_reverse": (16,),
        "bias_hh_l1_reverse": (16,),
        "weight_hr_l1_reverse": (2, 4),
    },
    "LSTM(3, 4, batch_first=True, dropout=0.5)": None,
    "RNNCell(3, 4, bias=False)": {"weight_ih": (4, 3), "weight_hh": (4, 4)},
    "LSTMCell(3, 4)": {
        "weight_ih": (16, 3),
        "weight_hh": (16, 4),
        "bias_ih": (16,),
        "bias_hh": (16,),
    },
    "RNNCell(3, 4, nonlinearity=relu)": None,
}


@pytest.mark.parametrize("text", NAMES)
def test_names_and_shapes_are_those_of_pytorch(text):
    """Recorded from PyTorch 2.13."""
    code = text.replace("=relu", "='relu'")
    layer = eval(f"nn.{code}")  # noqa: S307 - a text of the table above
    assert repr(layer) == text
    if NAMES[text] is not None:
        found = {name: tuple(t.shape) for name, t in layer.state_dict().items()}
        assert list(found.items()) == list(NAMES[text].items())


def test_weights_start_uniform_in_the_root_of_hidden_size():
    layer = nn.LSTM(50, 100, num_layers=2)
    for parameter in layer.parameters():
        values = to_array(parameter)
        assert np.abs(values).max() <= 0.1
        assert values.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.15)
    assert [len(weights) for weights in layer.all_weights] == [4, 4]


# ---- formulas


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step_of(kind, w, x, h, c):
    gates_x = x @ w["weight_ih"].T + w["bias_ih"]
    gates_h = h @ w["weight_hh"].T + w["bias_hh"]
    if kind == "RNN":
        return np.tanh(gates_x + gates_h), c
    if kind == "LSTM":
        i, f, g, o = np.split(gates_x + gates_h, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    (rx, zx, nx), (rh, zh, nh) = np.split(gates_x, 3, -1), np.split(gates_h, 3, -1)
    z, n = sigmoid(zx + zh), np.tanh(nx + sigmoid(rx + rh) * nh)
    return (1 - z) * n + z * h, c


def layer_of(kind, w, x, h, c, backward):
    outputs = []
    for part in x[::-1] if backward else x:
        h, c = step_of(kind, w, part, h, c)
        outputs.append(h)
    return np.stack(outputs[::-1] if backward else outputs), h, c


def network_of(layer, kind, x, h0, c0):
    """Two layers, two directions, written out."""
    state = {name: to_array(t) for name, t in layer.state_dict().items()}
    hs, cs = [], []
    for k in range(layer.num_layers):
        found = []
        for ending in ("", "_reverse"):
            tail = f"_l{k}{ending}"
            w = {n.removesuffix(tail): v for n, v in state.items() if n.endswith(tail)}
            y, h, c = layer_of(kind, w, x, h0[len(hs)], c0[len(hs)], bool(ending))
            found.append(y)
            hs.append(h)
            cs.append(c)
        x = np.concatenate(found, -1)
    return x, np.stack(hs), np.stack(cs)


@pytest.fixture(params=["RNN", "LSTM", "GRU"])
def kind(request):
    return request.param


def two_by_two(kind, **settings):
    return getattr(nn, kind)(3, 4, 2, bidirectional=True, dtype=tp.float64, **settings)


def hidden_of(kind, state):
    return state[0] if kind == "LSTM" else state


def test_two_layers_in_two_directions(kind):
    layer = two_by_two(kind)
    rng = np.random.default_rng(0)
    x, h0, c0 = (rng.standard_normal(shape) for shape in ((5, 2, 3), (4, 2, 4), (4, 2, 4)))
    given = (tp.from_numpy(h0), tp.from_numpy(c0)) if kind == "LSTM" else tp.from_numpy(h0)
    y, state = layer(tp.from_numpy(x), given)
    right, h, c = network_of(layer, kind, x, h0, c0)
    np.testing.assert_allclose(to_array(y), right, rtol=1e-12)
    np.testing.assert_allclose(to_array(hidden_of(kind, state)), h, rtol=1e-12)
    if kind == "LSTM":
        np.testing.assert_allclose(to_array(state[1]), c, rtol=1e-12)


def test_a_projection_makes_the_hidden_state_smaller():
    layer = nn.LSTM(3, 4, proj_size=2, bias=False, dtype=tp.float64)
    x = np.random.default_rng(0).standard_normal((1, 1, 3))
    y, (h, c) = layer(tp.from_numpy(x))
    w_ih, w_hr = to_array(layer.weight_ih_l0), to_array(layer.weight_hr_l0)
    i, _, g, o = np.split(x[0] @ w_ih.T, 4, -1)
    cell = sigmoid(i) * np.tanh(g)
    np.testing.assert_allclose(to_array(c)[0], cell, rtol=1e-12)
    np.testing.assert_allclose(to_array(h)[0], sigmoid(o) * np.tanh(cell) @ w_hr.T, rtol=1e-12)
    np.testing.assert_array_equal(to_array(y), to_array(h))


def test_layouts_of_the_input_mean_the_same(kind):
    layer = two_by_two(kind)
    first = two_by_two(kind, batch_first=True)
    first.load_state_dict(layer.state_dict())
    x = tp.randn(5, 2, 3, dtype=tp.float64)
    y, state = layer(x)
    other, same = first(x.transpose(0, 1))
    np.testing.assert_array_equal(to_array(other), to_array(y).swapaxes(0, 1))
    np.testing.assert_array_equal(to_array(hidden_of(kind, same)), to_array(hidden_of(kind, state)))
    alone, last = layer(x[:, 1])
    np.testing.assert_allclose(to_array(alone), to_array(y)[:, 1], rtol=1e-12)
    np.testing.assert_allclose(
        to_array(hidden_of(kind, last)), to_array(hidden_of(kind, state))[:, 1], rtol=1e-12
    )


def test_packed_sequences_are_run_one_by_one(kind):
    layer = two_by_two(kind)
    parts = [tp.randn(n, 3, dtype=tp.float64) for n in (2, 5, 1, 5)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    h0 = tp.randn(4, 4, 4, dtype=tp.float64)
    given = (h0, h0 * 2) if kind == "LSTM" else h0
    output, state = layer(packed, given)
    for n, (found, part) in enumerate(zip(rnn.unpack_sequence(output), parts, strict=True)):
        own = h0[:, n]
        y, last = layer(part, (own, own * 2) if kind == "LSTM" else own)
        np.testing.assert_allclose(to_array(found), to_array(y), rtol=1e-12)
        np.testing.assert_allclose(
            to_array(hidden_of(kind, state))[:, n], to_array(hidden_of(kind, last)), rtol=1e-12
        )


def test_gradients(kind):
    layer = getattr(nn, kind)(2, 2, bidirectional=True, dtype=tp.float64)
    x = tp.randn(3, 2, 2, dtype=tp.float64, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def run(x, *weights):
        for name, weight in zip(names, weights, strict=True):
            object.__setattr__(layer, name, weight)
            layer._parameters.pop(name, None)
        y, state = layer(x)
        return y, hidden_of(kind, state)

    assert tp.autograd.gradcheck(run, (x, *layer.parameters()))


def test_compiled_is_eager(kind):
    layer = getattr(nn, kind)(3, 4, 2)
    x = tp.randn(12, 2, 3, requires_grad=True)

    def loss(x):
        y, state = layer(x)
        return (y * y).sum() + hidden_of(kind, state).sum()

    def gradients(function):
        layer.zero_grad()
        x.grad = None
        value = function(x)
        value.backward()
        return [to_array(t) for t in (value, x.grad, *(p.grad for p in layer.parameters()))]

    for found, right in zip(
        gradients(tp.compile(loss, strict_native=True)), gradients(loss), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=2e-5, atol=2e-6)


def test_dropout_acts_between_layers_in_training_only():
    layer = nn.GRU(3, 4, 2, dropout=1.0)
    x = tp.randn(5, 2, 3)
    y, _ = layer(x)
    assert to_array(y[:, 0] - y[:, 1]).any() == False  # noqa: E712 - the second layer sees zeros
    y, _ = layer.eval()(x)
    assert to_array(y[:, 0] - y[:, 1]).all()


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells_are_the_steps_of_the_layers(name):
    kind = name.removesuffix("Cell")
    cell, layer = getattr(nn, name)(3, 4), getattr(nn, kind)(3, 4)
    state = {f"{key}_l0": value for key, value in cell.state_dict().items()}
    layer.load_state_dict(state)
    x = tp.randn(2, 5, 3)
    hidden = None
    for part in x:
        hidden = cell(part, hidden)
    _, last = layer(x)
    for found, right in zip(
        hidden if kind == "LSTM" else (hidden,), last if kind == "LSTM" else (last,), strict=True
    ):
        np.testing.assert_allclose(to_array(found), to_array(right)[0], rtol=1e-5, atol=1e-6)
    single = cell(x[0, 0])
    first = single[0] if kind == "LSTM" else single
    assert tuple(first.shape) == (4,)


# ---- packed sequences


def test_compiled_networks_follow_the_lengths_of_packed_sequences():
    """The batch sizes are data that the loop depends on: other sizes of equal shape are another program."""
    layer = nn.GRU(3, 4)
    compiled = tp.compile(layer, strict_native=True)
    x = tp.randn(4, 3, 3)
    before = tp.compiler.stats().captures
    for lengths in ([4, 2, 2], [4, 3, 1], [4, 2, 2]):
        packed = rnn.pack_padded_sequence(x, lengths)
        for found, right in zip(compiled(packed), layer(packed), strict=True):
            pair = (found, right) if isinstance(found, tp.Tensor) else (found.data, right.data)
            np.testing.assert_allclose(to_array(pair[0]), to_array(pair[1]), rtol=2e-5, atol=1e-6)
    assert tp.compiler.stats().captures == before + 2


def test_packing_orders_by_time():
    padded = tp.arange(12).reshape(4, 3)
    packed = rnn.pack_padded_sequence(padded, [4, 2, 1])
    assert packed.data.tolist() == [0, 1, 2, 3, 4, 6, 9]
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices is None
    packed = rnn.pack_padded_sequence(padded, tp.tensor([1, 4, 2]), enforce_sorted=False)
    assert packed.data.tolist() == [1, 2, 0, 4, 5, 7, 10]
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    assert packed.unsorted_indices.tolist() == [2, 0, 1]
    found, lengths = rnn.pad_packed_sequence(packed, padding_value=-1, total_length=5)
    assert lengths.tolist() == [1, 4, 2]
    assert found.tolist() == [[0, 1, 2], [-1, 4, 5], [-1, 7, -1], [-1, 10, -1], [-1, -1, -1]]


def test_padding():
    parts = [tensor_of([1.0, 2.0]), tensor_of([3.0])]
    assert rnn.pad_sequence(parts).tolist() == [[1, 3], [2, 0]]
    left = rnn.pad_sequence(parts, batch_first=True, padding_value=-1, padding_side="left")
    assert left.tolist() == [[1, 2], [-1, 3]]
    back = rnn.unpad_sequence(rnn.pad_sequence(parts), tp.tensor([2, 1]))
    assert [each.tolist() for each in back] == [[1, 2], [3]]
    assert rnn.pack_sequence(parts).to(tp.float64).data.dtype is tp.float64


def test_mistakes():
    padded = tp.zeros(4, 3)
    for lengths, text in (([1, 2, 4], "fall"), ([4, 2, 0], "between 1 and 4"), ([5, 2, 1], "5")):
        with pytest.raises(ArgumentValueError, match=text):
            rnn.pack_padded_sequence(padded, lengths)
    with pytest.raises(ShapeError, match="2 lengths for a batch of 3"):
        rnn.pack_padded_sequence(padded, [4, 2])
    with pytest.raises(ArgumentValueError, match="total_length=1"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(padded, [4, 2, 1]), total_length=1)
    with pytest.raises(ArgumentValueError, match="at least one sequence"):
        rnn.pad_sequence([])
    for make, text in (
        (lambda: nn.RNN(3, 4, nonlinearity="gelu"), "'tanh' or 'relu'"),
        (lambda: nn.LSTM(3, 4, proj_size=4), "below hidden_size=4"),
        (lambda: nn.RNN(3, 4, 0), "num_layers"),
        (lambda: nn.GRU(3, 4, dropout=2.0), "dropout lies in"),
        (lambda: nn.RNNBase("SRU", 3, 4), "mode is one of"),
        (lambda: nn.GRU(3, 4)(tp.zeros(3)), "2 dimensions"),
    ):
        with pytest.raises(ArgumentValueError, match=text):
            make()
    lstm = nn.LSTM(3, 4)
    for call, text in (
        (lambda: lstm(tp.zeros(5, 2, 2)), "input_size=3"),
        (lambda: lstm(tp.zeros(0, 2, 3)), "at least one time"),
        (lambda: lstm(tp.zeros(5, 2, 3), (tp.zeros(1, 3, 4), tp.zeros(1, 2, 4))), r"\(1, 2, 4\)"),
        (lambda: lstm(tp.zeros(5, 3), (tp.zeros(1, 1, 4), tp.zeros(1, 1, 4))), "one sequence"),
        (lambda: nn.GRUCell(3, 4)(tp.zeros(2, 2)), "expects an input"),
        (lambda: nn.GRUCell(3, 4)(tp.zeros(2, 3), tp.zeros(3, 4)), "a state of shape"),
    ):
        with pytest.raises(ShapeError, match=text):
            call()
