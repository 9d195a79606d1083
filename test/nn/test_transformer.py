"""Multi-head attention and transformers against their formulas in NumPy; names and shapes are PyTorch's."""

import numpy as np
import pytest
from checks import tensor_of, to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.core.errors import ArgumentValueError, DTypeError, ShapeError
from tensorplay.nn import functional

ATTENTION = {
    "in_proj_weight": (24, 8),
    "in_proj_bias": (24,),
    "out_proj.weight": (8, 8),
    "out_proj.bias": (8,),
}
SEPARATE = {
    "q_proj_weight": (8, 8),
    "k_proj_weight": (8, 3),
    "v_proj_weight": (8, 8),
    "in_proj_bias": (24,),
    "bias_k": (1, 1, 8),
    "bias_v": (1, 1, 8),
    "out_proj.weight": (8, 8),
    "out_proj.bias": (8,),
}


def under(prefix, shapes):
    return {f"{prefix}.{name}": shape for name, shape in shapes.items()}


def feed_forward(norms):
    found = {"linear1.weight": (16, 8), "linear1.bias": (16,)}
    found |= {"linear2.weight": (8, 16), "linear2.bias": (8,)}
    for k in range(1, norms + 1):
        found |= {f"norm{k}.weight": (8,), f"norm{k}.bias": (8,)}
    return found


ENCODER = {**under("self_attn", ATTENTION), **feed_forward(2)}
DECODER = {
    **under("self_attn", ATTENTION),
    **under("multihead_attn", ATTENTION),
    **feed_forward(3),
}
MODEL = {
    **under("encoder.layers.0", ENCODER),
    "encoder.norm.weight": (8,),
    "encoder.norm.bias": (8,),
    **under("decoder.layers.0", DECODER),
    "decoder.norm.weight": (8,),
    "decoder.norm.bias": (8,),
}


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (lambda: nn.MultiheadAttention(8, 2), ATTENTION),
        (lambda: nn.MultiheadAttention(8, 2, kdim=3, add_bias_kv=True), SEPARATE),
        (
            lambda: nn.MultiheadAttention(8, 2, bias=False),
            {"in_proj_weight": (24, 8), "out_proj.weight": (8, 8)},
        ),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16), ENCODER),
        (lambda: nn.TransformerDecoderLayer(8, 2, 16), DECODER),
        (lambda: nn.Transformer(8, 2, 1, 1, 16), MODEL),
    ],
)
def test_names_and_shapes_are_those_of_pytorch(make, shapes):
    """Recorded from PyTorch 2.13."""
    found = {name: tuple(t.shape) for name, t in make().state_dict().items()}
    assert list(found.items()) == list(shapes.items())


def test_initial_weights():
    layer = nn.MultiheadAttention(64, 4, add_bias_kv=True)
    weight = to_array(layer.in_proj_weight)
    bound = np.sqrt(6 / (64 + 192))
    assert np.abs(weight).max() <= bound
    assert weight.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)
    assert not to_array(layer.in_proj_bias).any()
    assert not to_array(layer.out_proj.bias).any()
    assert to_array(layer.bias_k).std() == pytest.approx(np.sqrt(2 / 128), rel=0.5)
    model = nn.Transformer(32, 2, 1, 1, 64)
    weight = to_array(model.encoder.layers[0].linear1.weight)
    assert weight.std() == pytest.approx(np.sqrt(2 / 96), rel=0.05)


# ---- formulas


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(layer, q, k, v, mask=0.0):
    """For q (L, E), k, v (S, E): heads one after another. Returns the output, and the weights of the heads."""
    w, b = to_array(layer.in_proj_weight), to_array(layer.in_proj_bias)
    q, k, v = (x @ w[i : i + 8].T + b[i : i + 8] for x, i in ((q, 0), (k, 8), (v, 16)))
    heads, weights = [], []
    for h in range(0, 8, 4):
        part = slice(h, h + 4)
        weights.append(softmax(q[:, part] @ k[:, part].T / 2 + mask))
        heads.append(weights[-1] @ v[:, part])
    y = np.concatenate(heads, -1) @ to_array(layer.out_proj.weight).T
    return y + to_array(layer.out_proj.bias), np.stack(weights)


def random(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape)


@pytest.mark.parametrize("batch_first", [False, True])
def test_attention(batch_first):
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first, dtype=tp.float64)
    q, k, v = random(3, 4, 8), random(3, 5, 8), random(3, 5, 8) + 1
    given = [tp.from_numpy(x if batch_first else x.swapaxes(0, 1).copy()) for x in (q, k, v)]
    y, weights = layer(*given)
    heads = layer(*given, average_attn_weights=False)[1]
    fast, nothing = layer(*given, need_weights=False)
    assert nothing is None
    for n in range(3):
        right, seen = attend(layer, q[n], k[n], v[n])
        for found in (y, fast):
            own = to_array(found)[n] if batch_first else to_array(found)[:, n]
            np.testing.assert_allclose(own, right, rtol=1e-10)
        np.testing.assert_allclose(to_array(heads)[n], seen, rtol=1e-10)
        np.testing.assert_allclose(to_array(weights)[n], seen.mean(0), rtol=1e-10)
    alone, own = layer(*[tp.from_numpy(x[1]) for x in (q, k, v)])
    np.testing.assert_allclose(to_array(alone), attend(layer, q[1], k[1], v[1])[0], rtol=1e-10)
    assert tuple(own.shape) == (4, 5)


@pytest.mark.parametrize("need_weights", [False, True])
def test_true_hides_and_floats_are_added(need_weights):
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=tp.float64)
    x = random(2, 4, 8)
    hidden = np.triu(np.ones((4, 4), bool), 2)
    padding = np.array([[False, False, False, True], [False, True, False, False]])
    added = random(4, 4, 4)
    given = [tp.from_numpy(x)] * 3
    settings = {"need_weights": need_weights}
    y = layer(*given, tp.from_numpy(padding), attn_mask=tp.from_numpy(hidden), **settings)[0]
    z = layer(*given, attn_mask=tp.from_numpy(added), **settings)[0]
    for n in range(2):
        mask = np.where(hidden | padding[n], -np.inf, 0.0)
        np.testing.assert_allclose(to_array(y)[n], attend(layer, *[x[n]] * 3, mask)[0], rtol=1e-10)
        first = attend(layer, *[x[n]] * 3, added[2 * n])[1][0]
        second = attend(layer, *[x[n]] * 3, added[2 * n + 1])[1][1]
        seen = layer(*given, attn_mask=tp.from_numpy(added), average_attn_weights=False)[1]
        np.testing.assert_allclose(to_array(seen)[n], np.stack([first, second]), rtol=1e-10)
    assert np.isfinite(to_array(z)).all()


def test_more_keys_are_seen_by_all():
    """A key of zeros scores 0 everywhere; the masks don't hide it."""
    layer = nn.MultiheadAttention(8, 2, add_zero_attn=True, batch_first=True, dtype=tp.float64)
    x = tp.from_numpy(random(2, 3, 8))
    everything = tp.ones(2, 3, dtype=tp.bool)
    y, weights = layer(x, x, x, everything)
    np.testing.assert_array_equal(to_array(weights), np.tile([0.0, 0, 0, 1], (2, 3, 1)))
    assert not to_array(y - layer.out_proj.bias).any()
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True, batch_first=True, dtype=tp.float64)
    y, weights = layer(x, x, x, everything)
    np.testing.assert_array_equal(to_array(weights)[..., -1], np.ones((2, 3)))
    right = to_array(layer.bias_v)[0, 0] @ to_array(layer.out_proj.weight).T
    np.testing.assert_allclose(to_array(y), np.tile(right, (2, 3, 1)), rtol=1e-10)


def test_own_sizes_and_given_keys():
    layer = nn.MultiheadAttention(8, 2, kdim=3, vdim=5)
    assert tuple(layer(tp.zeros(4, 1, 8), tp.zeros(6, 1, 3), tp.zeros(6, 1, 5))[0].shape) == (
        4,
        1,
        8,
    )
    q, eye = tp.from_numpy(random(3, 4)), tp.eye(4, dtype=tp.float64)
    weights = tp.cat([eye] * 3)
    static = tp.from_numpy(random(1, 6, 4))
    y, seen = functional.multi_head_attention_forward(
        q, q, q, 4, 1, weights, None, None, None, False, 0.0, eye, None, static_k=static, static_v=static
    )  # fmt: skip
    right = softmax(to_array(q) @ to_array(static)[0].T / 2)
    np.testing.assert_allclose(to_array(seen), right, rtol=1e-10)
    np.testing.assert_allclose(to_array(y), right @ to_array(static)[0], rtol=1e-10)


def test_dropout_of_weights_in_training_only():
    layer = nn.MultiheadAttention(8, 2, dropout=1.0)
    x = tp.randn(3, 2, 8)
    for need_weights in (True, False):
        y, _ = layer.train()(x, x, x, need_weights=need_weights)
        np.testing.assert_array_equal(to_array(y), to_array(layer.out_proj.bias.expand(3, 2, 8)))
        assert to_array(layer.eval()(x, x, x, need_weights=need_weights)[0]).any()


def norm(layer, x):
    centered = x - x.mean(-1, keepdims=True)
    scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + layer.eps)
    return scaled * to_array(layer.weight) + to_array(layer.bias)


def feed(layer, x):
    hidden = x @ to_array(layer.linear1.weight).T + to_array(layer.linear1.bias)
    return np.maximum(hidden, 0) @ to_array(layer.linear2.weight).T + to_array(layer.linear2.bias)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_add_blocks_to_normalized_sequences(norm_first):
    settings = {"norm_first": norm_first, "dropout": 0.0, "dtype": tp.float64}
    encoder = nn.TransformerEncoderLayer(8, 2, 16, **settings)
    decoder = nn.TransformerDecoderLayer(8, 2, 16, **settings)
    x, m = random(4, 8), random(5, 8)
    mask = np.triu(np.full((4, 4), -np.inf), 1)

    def add(x, n, block):
        return x + block(norm(n, x)) if norm_first else norm(n, x + block(x))

    right = add(x, encoder.norm1, lambda x: attend(encoder.self_attn, x, x, x, mask)[0])
    right = add(right, encoder.norm2, lambda x: feed(encoder, x))
    causal = nn.Transformer.generate_square_subsequent_mask(4, dtype=tp.float64)
    np.testing.assert_array_equal(to_array(causal), mask)
    found = encoder(tp.from_numpy(x), causal, is_causal=True)
    np.testing.assert_allclose(to_array(found), right, rtol=1e-9, atol=1e-12)

    right = add(x, decoder.norm1, lambda x: attend(decoder.self_attn, x, x, x, mask)[0])
    right = add(right, decoder.norm2, lambda x: attend(decoder.multihead_attn, x, m, m)[0])
    right = add(right, decoder.norm3, lambda x: feed(decoder, x))
    found = decoder(tp.from_numpy(x), tp.from_numpy(m), causal)
    np.testing.assert_allclose(to_array(found), right, rtol=1e-9, atol=1e-12)


def test_a_model_is_its_layers():
    model = nn.Transformer(8, 2, 2, 2, 16, activation="gelu", batch_first=True).eval()
    src, tgt = tp.randn(2, 5, 8), tp.randn(2, 3, 8)
    memory = src
    for layer in model.encoder.layers:
        memory = layer(memory)
    memory = model.encoder.norm(memory)
    y = tgt
    for layer in model.decoder.layers:
        y = layer(y, memory)
    np.testing.assert_array_equal(to_array(model(src, tgt)), to_array(model.decoder.norm(y)))
    first, second = model.encoder.layers
    assert first.linear1.weight is not second.linear1.weight


def test_compiled_is_eager():
    model = nn.Transformer(8, 2, 1, 1, 16, 0.0, norm_first=True, batch_first=True)
    src, tgt = tp.randn(2, 5, 8), tp.randn(2, 3, 8)
    padding = tensor_of([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]], "bool")

    def gradients(model_of):
        model.zero_grad()
        y = model_of(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        (y**3).sum().backward()
        return [to_array(y), *(to_array(p.grad) for p in model.parameters())]

    compiled = gradients(tp.compile(model, strict_native=True))
    for found, right in zip(compiled, gradients(model), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-3, atol=1e-5)


def test_mistakes():
    x = tp.zeros(3, 2, 8)
    layer = nn.MultiheadAttention(8, 2)
    for call, kind, text in (
        (lambda: nn.MultiheadAttention(8, 3), ArgumentValueError, "must divide"),
        (lambda: layer(x, x[0], x), ShapeError, "all with 3 dimensions"),
        (lambda: layer(x, x[:2], x), ShapeError, "different lengths"),
        (
            lambda: layer(x, x, x, tp.zeros(3, 2)),
            ShapeError,
            r"key_padding_mask has shape \(2, 3\)",
        ),
        (lambda: layer(x, x, x, attn_mask=tp.zeros(2, 3)), ShapeError, r"\(3, 3\) or \(4, 3, 3\)"),
        (
            lambda: layer(x, x, x, attn_mask=tp.zeros(3, 3, dtype=tp.int64)),
            DTypeError,
            "bool or floating",
        ),
        (lambda: layer(x, x, x, is_causal=True), ArgumentValueError, "give attn_mask"),
        (lambda: layer(tp.zeros(3, 2, 4), x, x), ShapeError, "4 features"),
        (
            lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"),
            ArgumentValueError,
            "'relu', 'gelu'",
        ),
        (
            lambda: nn.Transformer(8, 2, 1, 1, 16)(x, tp.zeros(3, 1, 8)),
            ShapeError,
            "batches of 2 and 1",
        ),
        (lambda: nn.Transformer(8, 2, 1, 1, 16)(x, tp.zeros(3, 2, 4)), ShapeError, "d_model=8"),
    ):
        with pytest.raises(kind, match=text):
            call()
