"""In-place operators: memory, versions, dtypes, shapes, what is refused."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay.core.errors import DTypeError, GradientError, LayoutError, ShapeError

NAMES = ["add", "sub", "mul", "div", "pow", "remainder", "floor_divide"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "other",
    [2.0, tp.tensor([1.0, 2.0, 4.0]), tp.tensor([[3.0], [2.0]])],
    ids=["number", "row", "column"],
)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
def test_in_place_equals_out_of_place(name, other, layout):
    base = {
        "contiguous": tp.ones(2, 3),
        "transposed": tp.ones(3, 2).t(),
        "strided": tp.ones(2, 6)[:, ::2],
    }[layout]
    x = base.mul_(5).add_(tp.arange(3))
    wanted = getattr(tp, name)(x, other)
    address, version = x.data_ptr(), x._version
    assert getattr(x, name + "_")(other) is x
    assert tp.equal(x, wanted)
    assert x.data_ptr() == address
    assert x._version == version + 1


def test_operators_of_python():
    x = tp.tensor([4.0, 9.0])
    y = x
    x += 1
    x -= 1
    x *= 2
    x /= 4
    x **= 2
    x //= 2
    assert y is x
    assert x.tolist() == [2.0, 10.0]
    n = tp.tensor([6, 5])
    n &= 3
    n |= 8
    n ^= 1
    n <<= 1
    n >>= 1
    n %= 7
    assert n.tolist() == [4, 1]


def test_writes_into_overlapping_operands_read_first():
    x = tp.arange(6.0)
    wanted = x[1:].numpy() + x[:-1].numpy()
    x[1:].add_(x[:-1])
    assert np.array_equal(x[1:].numpy(), wanted)
    y = tp.arange(9.0).reshape(3, 3)
    wanted = y.numpy() * y.numpy().T
    y.mul_(y.t())
    assert np.array_equal(y.numpy(), wanted)


def test_views_see_writes_and_count_them():
    x = tp.zeros(2, 3)
    row, column = x[0], x[:, 1]
    row.fill_(1)
    column.copy_(tp.tensor([5, 6]))
    assert x.tolist() == [[1, 5, 1], [0, 6, 0]]
    assert x._version == row._version == column._version == 2
    x.zero_()
    assert row.tolist() == [0, 0, 0]


def test_the_dtype_stays():
    x = tp.tensor([1, 2], dtype=tp.int8)
    x.add_(tp.tensor([100, 200]))
    assert x.tolist() == [101, -54]
    h = tp.tensor([1.0, 2.0], dtype=tp.bfloat16)
    h.mul_(tp.tensor([1.5, 1.001], dtype=tp.float64))
    assert h.dtype is tp.bfloat16
    for operation in (lambda: x.add_(0.5), lambda: x.div_(2), lambda: tp.tensor([True]).add_(1)):
        with pytest.raises(DTypeError, match="does not fit"):
            operation()


def test_results_that_do_not_fit():
    with pytest.raises(ShapeError, match="does not fit the tensor's shape"):
        tp.ones(3).add_(tp.ones(2, 3))
    with pytest.raises(ShapeError, match="do not broadcast"):
        tp.ones(3).add_(tp.ones(2))
    with pytest.raises(LayoutError, match="expanded"):
        tp.ones(1, 3).expand(2, 3).add_(1)
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(LayoutError, match="read-only"):
        tp.from_numpy(frozen).add_(1)
    assert frozen.tolist() == [1, 1, 1]


def test_comparisons_in_place_write_truth_as_numbers():
    x = tp.tensor([1.0, 3.0])
    assert x.gt_(2) is x
    assert x.tolist() == [0.0, 1.0]
    assert x.dtype is tp.float32


def test_uint8_wraps():
    x = tp.tensor([250, 3], dtype=tp.uint8)
    x += 10
    x *= 2
    x -= 30
    assert x.tolist() == [((250 + 10) * 2 - 30) % 256, ((3 + 10) * 2 - 30) % 256]


def test_python_functions_of_the_elements():
    assert tp.tensor([[1.0], [4.0]]).apply_(lambda x: -x).tolist() == [[-1.0], [-4.0]]
    assert tp.ones(2, 2).map_(tp.tensor([1.0, 5.0]), lambda a, b: a - b).tolist() == [
        [0, -4],
        [0, -4],
    ]
    with pytest.raises(GradientError, match="no gradient"):
        (tp.ones(2, requires_grad=True) * 2).apply_(abs)


def test_polygamma_in_place():
    x = tp.tensor([1.0, 2.5])
    right = tp.polygamma(1, x)
    assert x.polygamma_(1) is x
    assert x.tolist() == right.tolist()


def test_detach_in_place():
    x = tp.ones(2, requires_grad=True) * 2
    assert x.detach_() is x
    assert x.is_leaf
    assert not x.requires_grad
    with pytest.raises(GradientError, match="view"):
        (tp.ones(2, requires_grad=True) * 2)[0].detach_()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize(("step", "other"), [(2, 1), (1, 2), (3, 2), (2, 2), (1, 1)])
def test_what_is_copied_is_read_before_it_is_written_over(start, step, other, compiled):
    def copy(x, y):
        x.copy_(y)

    memory = np.arange(24.0)
    x, y = memory[: 6 * step : step], memory[start : start + 6 * other : other]
    want = y.copy()
    run = tp.compile(copy) if compiled else copy
    run(tp.from_numpy(x), tp.from_numpy(y))
    assert x.tolist() == want.tolist()


@pytest.mark.parametrize(
    "write",
    [
        lambda t, i: t.scatter_(0, i, t[1:3] * 2),
        lambda t, i: t.scatter_(0, i, value=9.0),
        lambda t, i: t.scatter_(0, i, t[1:3], reduce="add"),
        lambda t, i: t.index_put_((i,), t[1:3] * 2, accumulate=True),
        lambda t, i: t.polygamma_(1),
    ],
)
@pytest.mark.parametrize("part", [slice(None), slice(0, 10, 2)])
def test_methods_of_several_forms_write_when_they_are_compiled(write, part):
    found, want = tp.arange(1.0, 11.0), tp.arange(1.0, 11.0)
    places = tp.tensor([4, 0])
    tp.compile(lambda t: write(t[part], places))(found)
    write(want[part], places)
    assert want.tolist() != tp.arange(1.0, 11.0).tolist()
    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-6)
