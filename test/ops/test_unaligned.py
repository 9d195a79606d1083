"""Tensors over memory of others whose elements lie at odd addresses, as fields of a file do: every native function reads them."""

import numpy as np
import pytest

import tensorplay as tp

F = tp.nn.functional


def unaligned(values):
    """A tensor of the values, one byte behind an aligned address."""
    memory = np.zeros(values.nbytes + 1, np.uint8)
    array = memory[1:].view(values.dtype).reshape(values.shape)
    array[...] = values
    assert not array.flags.aligned
    return tp.from_numpy(array)


VALUES = np.random.default_rng(0).random((1, 2, 4, 6), np.float32)
FUNCTIONS = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "softmax_backward": lambda x: gradient(lambda y: y.softmax(-1), x),
    "conv1d": lambda x: F.conv1d(x[0, 0], tp.ones(3, 4, 2)),
    "conv2d": lambda x: F.conv2d(x, tp.ones(2, 2, 2, 2), padding=1),
    "conv2d_depthwise": lambda x: F.conv2d(x, tp.ones(2, 1, 2, 2), groups=2),
    "conv2d_by_it": lambda x: F.conv2d(tp.ones(1, 2, 5, 7), x),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, tp.ones(2, 2, 2, 2)),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "unfold": lambda x: F.unfold(x, 2),
    "fold": lambda x: F.fold(x.reshape(1, 4, 12), (4, 5), 2),
    "pad": lambda x: F.pad(x, (1, 2)),
    "matmul": lambda x: x @ x.mT,
    "index_add": lambda x: tp.zeros(6, 6).index_add(0, tp.tensor([0, 5, 0, 2]), x[0, 0]),
    "in_place": lambda x: x.exp_().cumsum_(1),
    "compiled": tp.compile(lambda x: x.softmax(1) * x),
}


def gradient(function, grad):
    x = tp.ones(grad.shape, requires_grad=True)
    function(x).backward(grad)
    return x.grad


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_at_odd_addresses(name):
    found, want = FUNCTIONS[name](unaligned(VALUES)), FUNCTIONS[name](tp.tensor(VALUES))
    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-6, atol=1e-7)
