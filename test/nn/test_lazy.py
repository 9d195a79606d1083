"""Layers that take the size of their input from the first one."""

import copy
import pickle

import numpy as np
import pytest
from checks import to_array

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn.parameter import UninitializedError, is_lazy


@pytest.mark.parametrize(
    ("lazy", "made", "shape"),
    [
        (nn.LazyLinear(6), nn.Linear(4, 6), (2, 4)),
        (nn.LazyConv1d(6, 3, groups=2), nn.Conv1d(4, 6, 3, groups=2), (2, 4, 7)),
        (nn.LazyConv2d(6, 3, bias=False), nn.Conv2d(4, 6, 3, bias=False), (4, 7, 7)),
        (nn.LazyConv3d(6, 2), nn.Conv3d(4, 6, 2), (2, 4, 3, 3, 3)),
        (nn.LazyConvTranspose1d(6, 3, groups=2), nn.ConvTranspose1d(4, 6, 3, groups=2), (2, 4, 7)),
        (nn.LazyConvTranspose2d(6, 3), nn.ConvTranspose2d(4, 6, 3), (2, 4, 5, 5)),
        (nn.LazyConvTranspose3d(6, 2), nn.ConvTranspose3d(4, 6, 2), (2, 4, 3, 3, 3)),
        (nn.LazyBatchNorm1d(), nn.BatchNorm1d(4), (3, 4)),
        (nn.LazyBatchNorm2d(bias=False), nn.BatchNorm2d(4, bias=False), (3, 4, 2, 2)),
        (nn.LazyBatchNorm3d(), nn.BatchNorm3d(4), (3, 4, 2, 2, 2)),
        (nn.LazyInstanceNorm1d(), nn.InstanceNorm1d(4, 1e-5, 0.1, True, True), (4, 5)),
        (nn.LazyInstanceNorm2d(affine=False), nn.InstanceNorm2d(4, track_running_stats=True), (2, 4, 3, 3)),
        (nn.LazyInstanceNorm3d(), nn.InstanceNorm3d(4, 1e-5, 0.1, True, True), (2, 4, 2, 2, 2)),
    ],
)  # fmt: skip
def test_the_first_call_makes_an_ordinary_layer(lazy, made, shape):
    assert lazy.has_uninitialized_params()
    parameters = list(lazy.parameters())
    assert lazy(tp.randn(*shape)).shape == made(tp.randn(*shape)).shape
    assert type(lazy) is type(made)
    assert repr(lazy) == repr(made)
    shapes = {name: tuple(each.shape) for name, each in lazy.state_dict().items()}
    assert shapes == {name: tuple(each.shape) for name, each in made.state_dict().items()}
    assert all(a is b for a, b in zip(parameters, lazy.parameters(), strict=True))
    assert not any(map(is_lazy, lazy.parameters()))


def test_a_state_gives_the_shapes_too():
    lazy, made = nn.LazyLinear(3), nn.Linear(4, 3)
    lazy.load_state_dict(made.state_dict())
    x = tp.randn(2, 4)
    np.testing.assert_array_equal(to_array(lazy(x)), to_array(made(x)))
    assert type(lazy) is nn.Linear


def test_what_has_no_shape_cannot_be_used_or_loaded():
    lazy = nn.LazyLinear(3)
    assert repr(lazy.weight) == "<UninitializedParameter>"
    with pytest.raises(UninitializedError, match="no shape and no values yet"):
        lazy.weight + 1
    with pytest.raises(nn.StateError, match="never called"):
        nn.Linear(4, 3).load_state_dict(lazy.state_dict())
    nn.LazyLinear(3).load_state_dict(lazy.state_dict())


def test_copies_and_conversions_stay_lazy():
    lazy = nn.LazyLinear(3).double()
    for copied in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):  # noqa: S301  # just pickled
        assert copied.has_uninitialized_params()
        assert copied(tp.ones(2, 5, dtype=tp.float64)).dtype is tp.float64
    assert lazy.has_uninitialized_params()


def test_an_optimizer_waits_for_the_shapes():
    lazy = nn.LazyLinear(3)
    optimizer = tp.optim.Adam(lazy.parameters(), lr=0.1)
    optimizer.step()
    lazy(tp.ones(2, 4)).sum().backward()
    before = to_array(lazy.weight).copy()
    optimizer.step()
    np.testing.assert_allclose(to_array(lazy.weight), before - 0.1, rtol=1e-5)


def test_inputs_of_other_ranks_are_refused():
    with pytest.raises(ValueError, match=r"expects 3 \(unbatched\) or 4 dimensions"):
        nn.LazyConv2d(4, 3)(tp.ones(3))
