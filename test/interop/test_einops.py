"""einops on tensors: every operation, in whichever order the libraries are imported, eager and compiled, with gradients."""

import subprocess
import sys

import numpy as np
import pytest

import tensorplay as tp

einops = pytest.importorskip("einops", minversion="0.8")

X = (tp.arange(2 * 3 * 4 * 6, dtype=tp.float32) / 72).reshape(2, 3, 4, 6)
CALLS = [
    ("rearrange", ("b c h w -> (b h) (w c)",), {}),
    ("rearrange", ("b c (h h2) (w w2) -> b (c h2 w2) h w",), {"h2": 2, "w2": 3}),
    ("rearrange", ("b ... w -> w ... b",), {}),
    ("rearrange", ("b c h w -> b c h w 1",), {}),
    ("reduce", ("b c (h h2) w -> b h", "max"), {"h2": 2}),
    ("reduce", ("b c h w -> b 1 1 w", "mean"), {}),
    ("reduce", ("b ... -> b", "sum"), {}),
    ("reduce", ("b c h w -> c w", "min"), {}),
    ("reduce", ("b c h w -> h", "prod"), {}),
    ("repeat", ("b c h w -> b (h k) c w r",), {"k": 2, "r": 3}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_operations_give_what_they_give_for_numpy(name, args, kwargs):
    def function(x):
        return getattr(einops, name)(x, *args, **kwargs)

    expected = function(X.numpy())
    for found in (function(X), tp.compile(function, strict_native=True)(X)):
        assert isinstance(found, tp.Tensor)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["any", "all"])
def test_bools_reduce(reduction):
    x = (X * 72).round() % 5 == 0
    expected = einops.reduce(x.numpy(), "b c h w -> b w", reduction)
    assert (einops.reduce(x, "b c h w -> b w", reduction).numpy() == expected).all()


def test_einsum_pack_unpack_parse_shape_asnumpy():
    a, b = X[:, 0], X[:, 1]
    expected = einops.einsum(a.numpy(), b.numpy(), "b h w, b k w -> b h k")
    np.testing.assert_allclose(
        einops.einsum(a, b, "b h w, b k w -> b h k").numpy(), expected, rtol=1e-5
    )
    packed, shapes = einops.pack([X, X[:, :, 0]], "b * w")
    assert packed.shape == (2, 15, 6)
    first, second = einops.unpack(packed, shapes, "b * w")
    assert (first == X).all()
    assert (second == X[:, :, 0]).all()
    assert einops.parse_shape(X, "b _ h w") == {"b": 2, "h": 4, "w": 6}
    assert (einops.asnumpy(X) == X.numpy()).all()
    assert einops.rearrange([X, X], "n b c h w -> b n c h w").shape == (2, 2, 3, 4, 6)


def test_gradients_flow():
    x = tp.randn(2, 3, requires_grad=True)
    einops.reduce(einops.repeat(x, "a b -> b a k", k=4), "b a k -> a", "sum").sum().backward()
    assert (x.grad == 4).all()


def test_views_stay_views():
    x = tp.zeros(2, 3)
    einops.rearrange(x, "a b -> b a")[0, 1] = 5.0
    assert x[1, 0].item() == 5.0


def test_layers_are_modules():
    from tensorplay.interop.einops import EinMix, Rearrange, Reduce

    model = tp.nn.Sequential(
        Rearrange("b c h w -> b (c h) w"),
        EinMix("b s w -> b s d", weight_shape="w d", bias_shape="d", w=6, d=5),
        EinMix("b (g c) d -> b g (d c)", weight_shape="g c d", g=3, c=4, d=5),
        Reduce("b g d -> b d", "mean"),
    )
    assert sorted(name for name, _ in model.named_parameters()) == [
        "1.bias",
        "1.weight",
        "2.weight",
    ]
    expected = model(X)
    assert expected.shape == (2, 20)
    np.testing.assert_allclose(
        tp.compile(model)(X).detach().numpy(), expected.detach().numpy(), rtol=1e-4
    )
    assert "Rearrange('b c h w -> b (c h) w')" in repr(model)


@pytest.mark.parametrize("first", ["einops", "tensorplay"])
def test_neither_import_order_matters_and_einops_is_not_imported_by_us(first):
    text = f"""
import sys
import {first}
assert {first == "einops"} or "einops" not in sys.modules
import tensorplay as tp
assert {first == "einops"} or "einops" not in sys.modules
import einops
print(einops.rearrange(tp.zeros(2, 3), "a b -> b a").shape)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(3, 2)"


def test_a_function_runs_once_when_a_module_is_imported(tmp_path, monkeypatch):
    from tensorplay.interop.when_imported import call_when_imported

    (tmp_path / "waited_for.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    calls = []
    call_when_imported("waited_for", lambda: calls.append(sys.modules["waited_for"].value))
    call_when_imported("never_there_at_all", lambda: calls.append("no"))
    assert calls == []
    with pytest.raises(ModuleNotFoundError):
        import never_there_at_all  # noqa: F401  # only the import matters
    import waited_for

    assert calls == [3]
    assert waited_for.__spec__.loader is waited_for.__loader__
    call_when_imported("waited_for", lambda: calls.append("at once"))
    assert calls == [3, "at once"]
    del sys.modules["waited_for"]
