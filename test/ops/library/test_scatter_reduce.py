"""scatter_reduce against a loop, in every mode, and its gradients where products hold zeros."""

import math

import numpy as np
import pytest
from checks import LAYOUTS, expect, tensor_of

import tensorplay as tp

COMBINE = {"sum": sum, "prod": math.prod, "amax": max, "amin": min}
PLACES = np.array([[0, 2, 0], [1, 1, 1]])
BASE = np.array([[3, -1, 4, 2], [5, 9, 0, 6]])
SOURCE = np.array([[2, 7, -8], [1, -8, 2]])


def by_loop(reduce, include_self, divide):
    result = BASE.astype(np.float64)
    for i in range(2):
        for j in range(4):
            met = [SOURCE[i, k] for k in range(3) if PLACES[i, k] == j]
            if not met:
                continue
            group = [*([BASE[i, j]] if include_self else []), *met]
            if reduce == "mean":
                result[i, j] = divide(sum(group), len(group))
            else:
                result[i, j] = COMBINE[reduce](group)
    return result


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce_equals_a_loop(reduce, include_self, layout):
    index = tensor_of(PLACES, "int64", layout)
    for dtype in ("float32", "bfloat16", "int32"):
        divide = (lambda a, b: a // b) if dtype == "int32" else (lambda a, b: a / b)
        x, src = tensor_of(BASE, dtype, layout), tensor_of(SOURCE, dtype, layout)
        found = tp.scatter_reduce(x, 1, index, src, reduce, include_self=include_self)
        expect(found, by_loop(reduce, include_self, divide), dtype)
        expect(x, BASE, dtype)


def test_the_gradient_of_a_product_is_exact_at_zeros():
    x = tp.tensor([2.0, 0.0, 0.0], requires_grad=True)
    src = tp.tensor([0.0, 3.0, 5.0, 0.0], requires_grad=True)
    found = tp.scatter_reduce(x, 0, tp.tensor([0, 0, 1, 2]), src, "prod")
    ours, theirs = tp.autograd.grad(found.sum(), [x, src])
    assert ours.tolist() == [0.0, 5.0, 0.0]
    assert theirs.tolist() == [6.0, 0.0, 0.0, 0.0]


def test_equal_extremes_share_the_gradient():
    x = tp.tensor([1.0], requires_grad=True)
    src = tp.tensor([1.0, 0.0, 1.0, 1.0], requires_grad=True)
    found = tp.scatter_reduce(x, 0, tp.tensor([0, 0, 0, 0]), src, "amax")
    ours, theirs = tp.autograd.grad(found.sum(), [x, src])
    assert ours.tolist() == [0.25]
    assert theirs.tolist() == [0.25, 0.0, 0.25, 0.25]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3, 1)])
@pytest.mark.parametrize("dtype", [tp.uint8, tp.float32, tp.int64])
def test_an_empty_index_names_nothing_whatever_its_dtype(shape, dtype):
    x = tp.tensor([1.0, 2.0], requires_grad=True)
    index, nothing = tp.zeros(shape, dtype=dtype), tp.zeros(shape, requires_grad=True)

    def f(x, index, nothing):
        return (
            x.gather(0, index), x.scatter(0, index, nothing), x.scatter_add(0, index, nothing),
            x.scatter_reduce(0, index, nothing, "amax"),
        )  # fmt: skip

    for function in (f, tp.compile(f)):
        found, *same = function(x, index, nothing)
        assert found.shape == shape
        assert all(each.tolist() == [1.0, 2.0] for each in same)
        grads = tp.autograd.grad([found, *same], [x, nothing], [found, *same], allow_unused=True)
        assert grads[0].tolist() == [3.0, 6.0]
