"""`func.vmap`: what it does with trees, dimensions, writes, random numbers, derivatives, compilation."""

import warnings

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import func
from tensorplay.autograd.batching import BatchWarning
from tensorplay.core.errors import (
    ArgumentError,
    ArgumentValueError,
    BatchError,
    DimensionError,
    ShapeError,
)
from tensorplay.func import vmap

RNG = np.random.default_rng(0)


def draw(*shape):
    return tp.from_numpy(RNG.uniform(-1, 1, shape))


X = draw(5, 3)
W = draw(3, 4)


def close(a, b, tolerance=1e-12):
    assert tuple(a.shape) == tuple(b.shape)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), tolerance, tolerance)


def loop(function, *batches):
    return tp.stack([function(*row) for row in zip(*batches, strict=True)])


# ---- dimensions and trees ---------------------------------------------------------------------------


def test_dimensions_of_arguments_and_results():
    columns = X.t().contiguous()
    close(vmap(tp.dot, in_dims=(0, -1))(X, columns), (X * X).sum(1))
    close(vmap(lambda a, b: a @ b, in_dims=(None, 0))(W.t(), X), X @ W)
    close(vmap(lambda x: x * 2, out_dims=-1)(X), X.t() * 2)
    a, b = vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(X)
    close(a, X.t())
    close(b, X.sum(1))
    shared = vmap(lambda x: (x, tp.ones(2)), out_dims=(0, None))(X)[1]
    assert shared.shape == (2,)
    assert vmap(lambda x: tp.ones(2))(X).shape == (5, 2)


def test_trees():
    tree = {"a": X, "b": [X.t(), 2.0]}
    found = vmap(
        lambda t, *, scale: {"sum": t["a"] * t["b"][0] * t["b"][1] * scale},
        in_dims=({"a": 0, "b": [1, None]},),
    )(tree, scale=3.0)
    close(found["sum"], X * X * 6)
    close(vmap(lambda pair: pair[0] * pair[1], in_dims=((0, 0),))((X, X)), X * X)


def test_nesting_and_chunks():
    y = draw(4, 3)
    table = vmap(vmap(tp.dot, in_dims=(None, 0)), in_dims=(0, None))(X, y)
    close(table, X @ y.t())
    for size in (1, 2, 5, 7):
        chunked = vmap(lambda x: (x.sin(), x.sum()), out_dims=(1, 0), chunk_size=size)(X)
        close(chunked[0], X.sin().t())
        close(chunked[1], X.sum(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vmap(lambda x: x.sum())(tp.ones(0, 3)).shape == (0,)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ArgumentError, "2 entries for 1", lambda: vmap(tp.sin, in_dims=(0, 0))(X)),
        (ArgumentError, "only tensors", lambda: vmap(tp.add)(X, 2)),
        (ArgumentError, "structure", lambda: vmap(tp.add, in_dims=([0], 0))(X, X)),
        (ArgumentError, "positional", lambda: vmap(tp.sin)(input=X)),
        (ArgumentValueError, "no argument holds", lambda: vmap(tp.sin, in_dims=(None,))(X)),
        (ArgumentValueError, "randomness", lambda: vmap(tp.sin, randomness="some")),
        (ArgumentValueError, "chunk_size", lambda: vmap(tp.sin, chunk_size=0)),
        (ArgumentValueError, "differs between", lambda: vmap(lambda x: (x,), out_dims=(None,))(X)),
        (DimensionError, "in_dims=2", lambda: vmap(tp.sin, in_dims=2)(X)),
        (DimensionError, "out_dims=2", lambda: vmap(tp.sum, out_dims=2)(X)),
        (ShapeError, "different sizes", lambda: vmap(tp.add)(X, X[:4])),
        (
            ShapeError,
            r"\(3,\) and \(4,\)|\(4,\) and \(3,\)",
            lambda: vmap(lambda x: x + tp.ones(4))(X),
        ),
        (ArgumentError, "has to return tensors", lambda: vmap(lambda x: 3)(X)),
    ],
)
def test_bad_calls(error, match, call):
    with pytest.raises(error, match=match):
        call()


# ---- promotion ----------------------------------------------------------------------------------------


def test_samples_without_dimensions_promote_as_such():
    whole = tp.ones(5, dtype=tp.float64)
    assert vmap(lambda s: tp.ones(3) * s)(whole).dtype is tp.float32
    assert vmap(lambda s: tp.ones(3, dtype=tp.int32) * s)(whole).dtype is tp.float64
    assert vmap(lambda s: s * tp.ones((), dtype=tp.float32))(whole).dtype is tp.float64
    assert vmap(lambda s: s * 2)(tp.ones(5, dtype=tp.int8)).dtype is tp.int8


# ---- writes -------------------------------------------------------------------------------------------


def test_writes_through_views():
    def function(x):
        y = x.clone()
        part = y[1:]
        part += 10
        y[0].mul_(2)
        y.view(3, 1)[2] = x[0]
        return y

    close(vmap(function)(X), loop(function, X))
    given = X.clone()
    vmap(lambda x: x.zero_())(given)
    assert (given == 0).all()
    close(vmap(function, in_dims=1)(X.t()), loop(function, X))


def test_a_tensor_made_inside_takes_the_batch_when_it_is_written_to():
    def function(x):
        made = tp.zeros(2, 3, dtype=tp.float64)
        early = made[1]
        made[0] = x
        early.add_(x.sum())
        turned = made.t()
        turned[0] += 1
        return made, early

    for a, b in zip(vmap(function)(X), zip(*map(function, X), strict=True), strict=True):
        close(a, tp.stack(list(b)))
    outside = tp.zeros(3, dtype=tp.float64)
    with pytest.raises(BatchError, match=r"came from outside(.|\n)*test_vmap.py"):
        vmap(lambda x: outside.add_(x * 2))(X)
    assert (outside == 0).all()
    vmap(lambda x: outside.add_(1))(X)  # the same for all samples
    assert (outside == 1).all()


def test_derivatives_through_writes():
    def function(x):
        y = tp.zeros(4, dtype=tp.float64)
        y[1:] = x * x
        y[0] = x[0] * x[1]
        y.mul_(y.detach().clone())
        return (y * y).sum()

    expected = loop(func.grad(function), X)
    close(vmap(func.grad(function))(X), expected)
    close(func.grad(lambda x: vmap(function)(x).sum())(X), expected)
    close(vmap(lambda x: func.jvp(function, (x,), (x,))[1])(X), (expected * X).sum(1))
    close(func.jvp(vmap(function), (X,), (X,))[1], (expected * X).sum(1))


# ---- data and random numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "function"),
    [
        (r"bool\(\)", lambda x: x if x.sum() > 0 else -x),
        (r"item\(\)", lambda x: x * x.sum().item()),
        ("nonzero", lambda x: x[x > 0]),
        ("unique", lambda x: x.unique()),
        (r"numpy\(\)", lambda x: tp.from_numpy(x.numpy())),
        ("random numbers", lambda x: x + tp.rand(3)),
    ],
)
def test_what_samples_cannot_do_names_the_line(match, function):
    with pytest.raises(BatchError, match=match + r"(.|\n)*test_vmap.py"):
        vmap(function)(X)


def test_random_numbers():
    tp.manual_seed(7)
    same = vmap(lambda x: tp.rand(4) + x.sum() * 0, randomness="same")(X.float())
    assert (same == same[0]).all()
    different = vmap(lambda x: tp.randn(100), randomness="different")(X)
    assert different.shape == (5, 100)
    assert len({tuple(row) for row in different.tolist()}) == 5
    tp.manual_seed(7)
    one = vmap(lambda x: tp.rand(3), randomness="different")(X)
    tp.manual_seed(7)
    assert (one == tp.stack([tp.rand(3) for _ in range(5)])).all()
    dropped = vmap(lambda x: tp.dropout(x, 0.5, True), randomness="different")(tp.ones(8, 64))
    assert len({tuple(row) for row in dropped.tolist()}) == 8
    nested = vmap(vmap(lambda x: tp.rand(2), randomness="different"), randomness="different")(X)
    assert nested.shape == (5, 3, 2)
    assert nested.unique().numel() == 30


def test_a_loop_is_announced_once():
    from tensorplay.autograd import batching

    batching._warned.discard("histc")
    x = tp.ones(3, 4)
    with pytest.warns(BatchWarning, match=r"histc(.|\n)*test_vmap.py"):
        vmap(lambda x: x.histc(4, 0, 1))(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(lambda x: x.histc(4, 0, 1))(x)


# ---- derivatives ------------------------------------------------------------------------------------------


def loss(weights, x, y):
    hidden = (x @ weights["w"] + weights["b"]).tanh()
    return tp.log_softmax(hidden, -1)[y] + hidden.std() + hidden[1:].prod()


WEIGHTS = {"w": W, "b": draw(4)}
Y = tp.tensor([0, 3, 1, 2, 2])


def test_gradients_of_each_sample():
    found = vmap(func.grad(loss), in_dims=(None, 0, 0))(WEIGHTS, X, Y)
    for name in ("w", "b"):
        close(found[name], tp.stack([func.grad(loss)(WEIGHTS, X[i], Y[i])[name] for i in range(5)]))
    values, _ = func.vjp(lambda w: vmap(loss, in_dims=(None, 0, 0))(w, X, Y), WEIGHTS)
    close(values, tp.stack([loss(WEIGHTS, X[i], Y[i]) for i in range(5)]))


def test_transforms_in_any_order():
    def function(x):
        return (x.sin() * x.prod()).sum() + x.softmax(0)[0] * x[1]

    for derivative in (func.grad, func.jacrev, func.jacfwd, func.hessian):
        close(vmap(derivative(function))(X), loop(derivative(function), X))
    close(func.grad(lambda x: vmap(func.grad(function))(x).pow(2).sum())(X),
          func.grad(lambda x: sum(func.grad(function)(row).pow(2).sum() for row in x))(X))  # fmt: skip
    close(func.jacrev(vmap(function))(X), func.jacfwd(vmap(function))(X))
    directions = draw(4, 3)
    pushed = vmap(lambda v: func.jvp(tp.sin, (X[0],), (v,))[1])(directions)
    close(pushed, directions * X[0].cos())
    _, pull = func.vjp(tp.sin, X[0])
    close(vmap(pull)(directions), directions * X[0].cos())
    close(vmap(vmap(func.grad(lambda a: (a**3).sum())))(X), X * X * 3)


def test_gradients_flow_out_of_the_batch():
    for make in (
        lambda x, w: vmap(lambda s: (s * w).tanh().sum())(x),
        lambda x, w: vmap(func.grad(lambda s: (s * w).tanh().sum()))(x),
        lambda x, w: vmap(lambda s: tp.softmax(s * w, 0))(x),
    ):
        x, w = X.clone().requires_grad_(), draw(3).requires_grad_()
        found = tp.autograd.grad(make(x, w).pow(2).sum(), [x, w])
        assert tp.autograd.gradcheck(make, (x, w))
        assert all((each != 0).any() for each in found)


def test_autograd_inside():
    def function(x):
        x = x.detach().requires_grad_()
        (found,) = tp.autograd.grad((x**3).sum(), x, create_graph=True)
        return tp.autograd.grad(found.sum(), x)[0]

    close(vmap(function)(X), X * 6)
    assert not vmap(lambda x: x * 2)(X).requires_grad


# ---- compiled -----------------------------------------------------------------------------------------------


def test_compiled_outside_and_inside():
    for function, args in (
        (vmap(lambda x: (x.sin() * 2).sum()), (X,)),
        (vmap(func.grad(lambda x: (x**3).sum())), (X,)),
        (vmap(lambda x: x.reshape(1, 3).expand(2, 3).tril()[1:]), (X,)),
        (vmap(lambda x, i: x[i] + x.index_select(0, tp.tensor([1]))), (X, Y % 3)),
    ):
        close(tp.compile(function, strict_native=True)(*args), function(*args))
    inner = tp.compile(lambda x: (x * 2).tanh())
    close(vmap(inner)(X), (X * 2).tanh())
    written = vmap(lambda x: tp.zeros(3, dtype=tp.float64).copy_(x).add_(1))
    close(tp.compile(written)(X), X + 1)


def test_compiled_random_numbers_are_those_of_eager():
    function = vmap(lambda x: tp.rand(4, dtype=tp.float64) + x.sum(), randomness="different")
    tp.manual_seed(3)
    expected = function(X)
    tp.manual_seed(3)
    close(tp.compile(function)(X), expected)


def test_compiled_training_through_a_batch():
    w = draw(3).requires_grad_()

    def objective(w):
        return vmap(lambda x: (x * w).tanh().sum())(X).sum()

    expected = tp.autograd.grad(objective(w), w)[0]
    close(tp.autograd.grad(tp.compile(objective)(w), w)[0], expected)
