"""A pointwise operator is declared in a few lines of one file; everything else follows."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core.errors import ArgumentError, RegistryError
from tensorplay.ops import values as ops
from tensorplay.ops.declare import FLOAT, composite, pointwise, structured
from tensorplay.ops.registry import Namespace
from tensorplay.ops.registry import tp as registry
from tensorplay.ops.samples import Arg, sample


def declared_once():
    if "softclip" in registry:
        return registry["softclip"]

    # The declaration: three lines.
    def softclip(input, limit=1.0):
        """`limit * tanh(input / limit)`."""
        return ops.tanh(input / limit) * limit

    softclip.__annotations__ = {"input": "Value", "limit": "Number"}
    operator = pointwise(promotion=FLOAT, method=True, inplace=True)(softclip)
    operator.sample(lambda: iter([sample(Arg((3, 4))), sample(Arg((3, 4)), 2.0)]))
    return operator


X = np.linspace(-3, 3, 24).reshape(4, 6)


@pytest.fixture
def softclip():
    return declared_once()


def test_function_method_inplace_and_doc(softclip):
    x = tp.from_numpy(X.copy())
    wanted = 2 * np.tanh(X / 2)
    assert np.allclose(tp.softclip(x, 2.0).numpy(), wanted)
    assert np.allclose(x.softclip(2.0).numpy(), wanted)
    assert tp.softclip(tp.tensor([3])).dtype is tp.float32
    assert x.softclip_(limit=2.0) is x
    assert np.allclose(x.numpy(), wanted)
    assert "tanh" in tp.softclip.__doc__
    assert str(softclip.default) == "tensorplay.ops.tp.softclip.default"
    assert softclip.meta(x.t()).strides == x.t().stride()


def test_gradients_to_any_order(softclip):
    x = tp.from_numpy(X.copy()).requires_grad_()
    y = tp.softclip(x, 2.0)
    (first,) = tp.autograd.grad(y.sum(), x, create_graph=True)
    t = np.tanh(X / 2)
    assert np.allclose(first.detach().numpy(), 1 - t**2)
    (second,) = tp.autograd.grad(first.sum(), x, create_graph=True)
    assert np.allclose(second.detach().numpy(), -t * (1 - t**2))
    (third,) = tp.autograd.grad(second.sum(), x)
    assert np.allclose(third.numpy(), (3 * t**2 - 1) * (1 - t**2) / 2)


def test_tangent_and_companion(softclip):
    x = tp.from_numpy(X.copy())
    values = softclip.signature.bind((x, 2.0), {})
    result = softclip(x, 2.0)
    tangent = softclip.jvp(values, result, [tp.ones_like(x)])
    assert np.allclose(tangent.numpy(), 1 - np.tanh(X / 2) ** 2)
    companion = registry.softclip_backward
    assert np.allclose(companion(tp.ones_like(x), x, 2.0).numpy(), tangent.numpy())


def test_compiled(softclip):
    x = tp.from_numpy(X.copy()).requires_grad_()
    f = tp.compile(lambda x: (tp.softclip(x, 2.0) * 3).sum(), strict_native=True)
    f(x).backward()
    assert np.allclose(x.grad.numpy(), 3 * (1 - np.tanh(X / 2) ** 2))


# ---- what declarations refuse -----------------------------------------------------------------------


def test_a_name_is_declared_once(softclip):
    with pytest.raises(RegistryError, match="declared twice"):
        registry.declare(softclip)


def test_annotations_name_roles():
    def strange(input: "Quantity"):  # noqa: F821  # the registry reads this text
        return input

    with pytest.raises(RegistryError, match="annotation 'Quantity'"):
        pointwise()(strange)


def test_a_gradient_is_declared_once():
    with pytest.raises(RegistryError, match="declared twice"):
        registry.matmul.gradient("input")(lambda grad: grad)


def test_a_rule_reads_parameters_only():
    with pytest.raises(RegistryError, match="reads 'weight'"):
        registry.exp.gradient("input")(lambda grad, weight: grad)


def test_freeze_names_what_is_missing():
    space = Namespace()

    def bare(input: "Tensor"):  # noqa: F821  # the registry reads this text
        return input

    from tensorplay.ops import (
        declare,  # the decorators declare into the one registry; build by hand here
    )

    operator = registry.matmul.derived(
        "bare", declare.Structured(bare, bare), registry.exp.signature, "", bare
    )
    space.declare(operator)
    with pytest.raises(
        RegistryError, match=r"bare: no docstring\n  bare: no samples\n  bare: no gradient"
    ):
        space.freeze()


def test_calls_that_do_not_fit_the_signature():
    x = tp.ones(3)
    with pytest.raises(ArgumentError, match="has no parameter 'beta'"):
        registry.add(x, x, beta=2)
    with pytest.raises(ArgumentError, match="misses 'other'"):
        registry.add(x)
    with pytest.raises(ArgumentError, match="got 'input' twice"):
        registry.add(x, x, input=x)
    with pytest.raises(ArgumentError, match="takes 2 positional arguments but 3"):
        registry.add(x, x, x)
    with pytest.raises(ArgumentError, match="other must be a tensor or a number, found str"):
        tp.add(x, "two")
    with pytest.raises(ArgumentError, match="expected integers, found"):
        registry.permute(x, ("a",))


def test_pickled_by_name():
    import pickle

    for each in (registry.add, registry.add.Tensor, registry.gelu_backward, ops.TABLE["exp"]):
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301  # our own bytes


def test_decorators_exist_for_every_kind():
    assert callable(composite())
    assert callable(structured(meta=lambda x: x))


def test_a_function_with_a_signature_of_its_own_is_read_by_it():
    assert str(tp.ops.tp.permute_copy.signature).startswith("permute_copy(input: ")
    assert tp.ops.tp.view_copy.signature.positional_count == 2
