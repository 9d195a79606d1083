"""The array object: operators with arrays and numbers, in place and reflected, conversions, indexing, exchange."""

import math
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from hypothesis.extra.array_api import make_strategies_namespace
from standard_calls import ALL, CALLS, COMPLEX, FILLED, REALS, agree, arrays, plain

import tensorplay as tp
from tensorplay import array_api as xp

OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq,
    "not_equal": operator.ne,
}  # fmt: skip
IN_PLACE = {
    "add": operator.iadd, "subtract": operator.isub, "multiply": operator.imul, "floor_divide": operator.ifloordiv,
    "remainder": operator.imod, "bitwise_and": operator.iand, "bitwise_or": operator.ior, "bitwise_xor": operator.ixor,
    "bitwise_left_shift": operator.ilshift, "bitwise_right_shift": operator.irshift, "divide": operator.itruediv,
    "pow": operator.ipow,
}  # fmt: skip


def given_as(value):
    return xp.asarray(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=20)
@given(data=st.data())
def test_an_operator_is_the_function(name, data):
    x1, x2 = map(given_as, data.draw(CALLS[name]).args)
    with np.errstate(all="ignore"):
        found, expected = OPERATORS[name](x1, x2), getattr(xp, name)(x1, x2)
    assert type(found) is xp.Array
    agree(plain(found), plain(expected))


@pytest.mark.parametrize("name", IN_PLACE)
@settings(max_examples=20)
@given(data=st.data())
def test_an_operator_in_place_writes_what_the_function_gives(name, data):
    x1, x2 = map(given_as, data.draw(CALLS[name]).args)
    if not isinstance(x1, xp.Array):
        return
    x1 = xp.asarray(x1, copy=True)
    expected = getattr(xp, name)(x1, x2)
    if expected.dtype is not x1.dtype or expected.shape != x1.shape:
        return
    found = IN_PLACE[name](x1, x2)
    assert found is x1
    agree(plain(found), plain(expected))


def test_isin_finds_numbers_and_inverts():
    x = xp.asarray([1.0, 2.0, xp.nan])
    assert xp.isin(x, xp.asarray([2.0, xp.nan])).tolist() == [False, True, False]
    assert xp.isin(x, 2, invert=True).tolist() == [True, False, True]


def test_dimensions_do_not_weigh_in_promotion():
    small, large = xp.ones(3, dtype=xp.int8), xp.asarray(300, dtype=xp.int32)
    assert (small + large).dtype is (large + small).dtype is xp.int32
    assert (small * large).tolist() == [300, 300, 300]
    assert not (small == large).any()
    assert xp.add(small, large).dtype is xp.where(small > 0, large, small).dtype is xp.int32
    assert (
        tp.ones(3, dtype=tp.int8) + tp.tensor(3, dtype=tp.int32)
    ).dtype is tp.int8  # PyTorch's rule
    assert (tp.ones(3, dtype=tp.int8) + large).dtype is xp.int32  # an array on either side decides


def test_operators_of_a_compiled_function_are_those_of_arrays():
    small, large = xp.ones(3, dtype=xp.int8), xp.asarray(300, dtype=xp.int32)
    compiled = tp.compile(lambda a, b: (a + b, a[0], a.T, -a, tp.exp(b)), strict_native=True)
    found = compiled(small, large)
    assert found[0].dtype is xp.int32
    assert [type(each) for each in found] == [xp.Array] * 4 + [tp.Tensor]
    assert [type(each) for each in compiled(tp.ones(3), tp.ones(()))] == [tp.Tensor] * 5


def test_a_compiled_function_keeps_the_class_of_what_it_is_given():
    x = tp.ones(3)
    found = tp.compile(xp.asarray)(x)
    assert type(found) is xp.Array
    assert type(x) is tp.Tensor
    found += 1.0  # the same memory
    assert x.tolist() == [2.0, 2.0, 2.0]
    same = xp.ones(3)
    assert tp.compile(lambda a: a)(same) is same


def test_gradients_flow_through_arrays():
    x = tp.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = xp.sum(xp.asarray(x) ** 2 % 100.0)
    assert type(y) is xp.Array
    (grad,) = tp.autograd.grad(y, x)
    assert grad.tolist() == [2.0, 4.0, 6.0]


def test_arrays_copy_and_pickle_as_arrays():
    x = xp.asarray([1, 2])
    twin = pickle.loads(pickle.dumps(x))  # noqa: S301  # what this test wrote
    assert type(twin) is xp.Array
    assert twin.tolist() == [1, 2]
    assert xp.Array([1.5]).dtype is xp.float32


# ---- numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("number", [True, 1, 1.5, 1j])
def test_a_number_takes_the_dtype_of_the_array(dtype, number):
    order = [bool, int, float, complex]
    kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[np.dtype(dtype).kind]
    if order.index(type(number)) > order.index(kind) and not (
        kind is float and type(number) is complex
    ):
        return  # the standard leaves it open
    x = xp.ones(2, dtype=getattr(xp, dtype))
    expected = xp.result_type(x, number)
    if type(number) is complex and kind is float:
        assert expected is (xp.complex64 if dtype == "float32" else xp.complex128)
    if kind is not bool:
        assert (x + number).dtype is (number + x).dtype is (x * number).dtype is expected
    assert xp.multiply(x, number).dtype is xp.multiply(number, x).dtype is expected
    assert (x == number).dtype is xp.bool


@pytest.mark.parametrize("dtype", ALL)
def test_0d_arrays_convert_to_numbers(dtype):
    one = xp.asarray(1, dtype=getattr(xp, dtype))
    kind = np.dtype(dtype).kind
    assert bool(one) is True
    assert complex(one) == 1 + 0j
    if kind == "c":
        for convert in (int, float):
            with pytest.raises(TypeError):
                convert(one)
    else:
        assert int(one) == 1
        assert type(int(one)) is int
        assert float(one) == 1.0
    if kind in "iu":
        assert operator.index(one) == 1
        assert [10, 20][one] == 20
    elif kind != "b":
        with pytest.raises(TypeError):
            operator.index(one)


@pytest.mark.parametrize(
    ("value", "convert", "error"), [(math.nan, int, ValueError), (math.inf, int, OverflowError)]
)
def test_numbers_that_are_no_integers_refuse(value, convert, error):
    with pytest.raises(error):
        convert(xp.asarray(value))


@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index])
def test_arrays_of_several_elements_are_no_number(convert):
    with pytest.raises((TypeError, ValueError)):
        convert(xp.ones((2,), dtype=xp.int64))


# ---- indexing ---------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(data=st.data())
def test_an_index_reads_what_numpy_reads(data):
    x = data.draw(arrays(ALL, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
    index = data.draw(npst.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    found = xp.asarray(x)[index]
    assert type(found) is xp.Array
    agree(plain(found), np.asarray(x[index]))


@settings(max_examples=100)
@given(data=st.data())
def test_an_index_writes_what_numpy_writes(data):
    x = data.draw(arrays(("int32", "float64", "complex64", "bool"), FILLED))
    index = data.draw(npst.basic_indices(x.shape, allow_newaxis=False, allow_ellipsis=True))
    part = np.asarray(x[index])
    value = data.draw(arrays(x.dtype.name, st.just(part.shape)))
    found, expected = xp.asarray(x, copy=True), x.copy()
    found[index] = xp.asarray(value)
    expected[index] = value
    agree(plain(found), expected)


@settings(max_examples=50)
@given(data=st.data())
def test_masks_read_and_write_what_numpy_does(data):
    x = data.draw(arrays(ALL))
    depth = data.draw(st.integers(0, x.ndim))
    sizes = [data.draw(st.sampled_from((size, size, size, 0))) for size in x.shape[:depth]]
    mask = data.draw(arrays("bool", st.just(tuple(sizes))))
    agree(plain(xp.asarray(x)[xp.asarray(mask)]), x[mask])
    found, expected = xp.asarray(x, copy=True), x.copy()
    found[xp.asarray(mask)] = xp.asarray(1, dtype=found.dtype)
    expected[mask] = 1
    agree(plain(found), expected)


@pytest.mark.parametrize("shape", [(1,), (2,), (3, 1), (3, 4, 1), (4, 3)])
def test_a_mask_of_other_sizes_is_refused(shape):
    mask = xp.ones(shape, dtype=xp.bool)
    compiled = tp.compile(lambda x, mask: x[mask], backend="aot_eager")
    for index in (lambda x, mask: x[mask], compiled):
        with pytest.raises(IndexError):
            index(xp.ones((3, 4)), mask)


@pytest.mark.parametrize("shape", [(), (3,), (3, 2), (0,), (3, 0)])
def test_masks_of_a_compiled_function_read_and_write(shape):
    x = np.arange(6.0).reshape(3, 2)
    mask = np.resize([True, False, True], shape)
    values = -x[mask]

    def negated(x, mask, values):
        x = xp.asarray(x, copy=True)
        x[mask] = values
        return x, x[mask]

    compiled = tp.compile(negated, backend="aot_eager")
    expected = negated(*map(xp.asarray, (x, mask, values)))
    agree(plain(compiled(*map(xp.asarray, (x, mask, values)))), plain(expected))
    agree(plain(expected[1]), values)


@settings(max_examples=50)
@given(data=st.data())
def test_integer_arrays_index_as_in_numpy(data):
    x = data.draw(arrays(ALL, FILLED))
    shapes = data.draw(
        npst.mutually_broadcastable_shapes(num_shapes=x.ndim, max_dims=2, max_side=3)
    ).input_shapes
    index = tuple(
        data.draw(st.integers(-size, size - 1) | arrays(("int64", "int32"), shape, -size, size - 1))
        for size, shape in zip(x.shape, shapes, strict=True)
    )
    found = xp.asarray(x)[tuple(map(given_as, index))]
    agree(plain(found), np.asarray(x[index]))


def test_slices_backwards_are_views():
    x = tp.arange(12).reshape(3, 4)
    view = x[::-1, 3:0:-2]
    view[0, 0] = 100
    assert x[2, 3].item() == 100
    assert x[::-2].tolist() == x.numpy()[::-2].tolist()
    assert x[0:2:-1].shape == (0, 4)
    y = tp.ones(3, requires_grad=True)
    (grad,) = tp.autograd.grad((y[::-1] * tp.tensor([1.0, 2.0, 3.0])).sum(), y)
    assert grad.tolist() == [3.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="must not be 0"):
        x[::0]


@pytest.mark.parametrize("index", [3, (0, 0, 0), (..., ...), -4])
def test_an_index_outside_is_refused(index):
    with pytest.raises(IndexError):
        xp.ones((3, 4))[index]


# ---- shapes that depend on data, compiled --------------------------------------------------------------------


@pytest.mark.parametrize("function", [
    xp.nonzero, xp.unique_all, xp.unique_counts, xp.unique_inverse, xp.unique_values,
    lambda x: x[x > 1], lambda x: xp.repeat(x, x), lambda x: x[xp.any(x > 1)],
])  # fmt: skip
def test_sizes_that_depend_on_data_are_asked_at_each_call(function):
    compiled = tp.compile(function)
    for data in ([3, 1, 3, 2, 0], [0, 1, 3, 3, 2], [0, 0, 0, 0, 0], [3, 1, 3, 2, 0]):
        x = xp.asarray(data)
        agree(plain(compiled(x)), plain(function(x)))


def test_a_wrong_number_of_different_elements_is_refused():
    with pytest.raises(ValueError, match="expected 2 different elements, found 1"):
        tp.ops.tp.unique_parts_static(tp.ones(2), 2)


# ---- devices and exchange --------------------------------------------------------------------------------------


def test_the_namespace_of_a_tensor():
    assert (
        tp.ones(2).__array_namespace__()
        is tp.ones(2).__array_namespace__(api_version="2024.12")
        is xp
    )
    assert xp.ones(2).__array_namespace__(api_version="2021.12") is xp
    with pytest.raises(ValueError, match=r"follows 2024\.12"):
        xp.ones(2).__array_namespace__(api_version="2099.12")
    compat = pytest.importorskip("array_api_compat")
    assert compat.array_namespace(tp.ones(2), xp.ones(2)) is xp
    assert compat.device(xp.ones(2)) == xp.__array_namespace_info__().default_device()


def test_devices():
    x = xp.ones(2)
    assert x.to_device(x.device) is x or x.to_device(x.device).tolist() == x.tolist()
    assert type(x.to_device("cpu")) is xp.Array
    assert xp.zeros(2, device=x.device).device == x.device
    with pytest.raises(RuntimeError, match="not available"):
        xp.zeros(2, device="cuda")
    with pytest.raises(ValueError, match="no streams"):
        x.to_device("cpu", stream=1)


@pytest.mark.parametrize("dtype", [*ALL[1:], "bool"])
def test_dlpack_shares_or_copies_memory(dtype):
    x = xp.ones((2, 3), dtype=getattr(xp, dtype))
    assert x.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(x)
    x[0, 0] = 0
    assert shared[0, 0] == 0
    again = xp.from_dlpack(shared)
    assert again.dtype is x.dtype
    assert np.shares_memory(again.numpy(), shared)
    copied = xp.from_dlpack(shared, copy=True, device="cpu")
    assert not np.shares_memory(copied.numpy(), shared)
    assert xp.from_dlpack(x, copy=False).numpy().ctypes.data == x.numpy().ctypes.data
    assert not np.shares_memory(np.from_dlpack(x, copy=True), x.numpy())
    assert np.from_dlpack(x, device="cpu").tolist() == x.tolist()


def test_dlpack_refuses_streams_and_gradients():
    with pytest.raises(ValueError, match="no streams"):
        tp.ones(2).__dlpack__(stream=2)
    with pytest.raises(RuntimeError, match="detach"):
        tp.ones(2, requires_grad=True).__dlpack__()


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_asarray_shares_memory_where_it_can(dtype):
    array = np.ones(3, dtype)
    assert np.shares_memory(xp.asarray(array).numpy(), array)
    assert not np.shares_memory(xp.asarray(array, copy=True).numpy(), array)
    x = xp.asarray(array)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    other = (
        xp.float64
        if dtype == "float32"
        else xp.complex64
        if dtype == "complex128"
        else xp.complex128
    )
    with pytest.raises(ValueError, match="needs a copy"):
        xp.asarray(x, dtype=other, copy=False)
    with pytest.raises(ValueError, match="no memory to share"):
        xp.asarray([1.0], copy=False)
    large = 2**63 + 1
    assert xp.asarray([large, 0], dtype=xp.uint64).tolist() == [large, 0]
    assert xp.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    with pytest.raises(OverflowError, match="at most 64 bits"):
        xp.asarray(2**70)


def test_defaults():
    info = xp.__array_namespace_info__()
    assert xp.asarray(1.0).dtype is xp.ones(1).dtype is info.default_dtypes()["real floating"]
    assert xp.asarray(1j).dtype is info.default_dtypes()["complex floating"]
    assert xp.asarray(1).dtype is xp.arange(3).dtype is info.default_dtypes()["integral"]
    assert (
        xp.argmax(xp.ones(2)).dtype
        is xp.nonzero(xp.ones(2))[0].dtype
        is info.default_dtypes()["indexing"]
    )
    assert (
        xp.arange(3.0).dtype
        is xp.linspace(0, 1, 2).dtype
        is xp.eye(2).dtype
        is xp.full(1, 1.0).dtype
    )
    assert xp.full(1, True).dtype is xp.bool
    assert xp.full(1, 2).dtype is xp.int64
    assert set(info.dtypes()) == set(ALL)
    assert info.dtypes(kind=("bool", "real floating")) == {
        "bool": xp.bool,
        "float32": xp.float32,
        "float64": xp.float64,
    }
    assert info.devices() == [info.default_device()]
    assert set(info.capabilities()) == {
        "boolean indexing",
        "data-dependent shapes",
        "max dimensions",
    }
    assert xp.__array_api_version__ == "2024.12"
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert xp.isnan(xp.asarray(xp.nan))


@pytest.mark.parametrize("call", [
    lambda x: xp.expand_dims(x, axis=5), lambda x: xp.squeeze(x, 0), xp.cumulative_sum,
    lambda x: xp.take(x, xp.asarray([0])), lambda x: xp.astype(x * 1j, xp.float32), lambda x: xp.add(1, 2),
    lambda x: xp.nonzero(x[0, 0]), lambda x: xp.reshape(x.T, (6,), copy=False), lambda x: xp.arange(0, 1, 0),
    lambda x: xp.isdtype(x.dtype, "float"), lambda x: xp.concat([x, x[0]]), lambda x: xp.flip(x, axis=(0, 0)),
    lambda x: xp.linalg.outer(x, x), lambda x: xp.vecdot(x, x[:, :2]), lambda x: xp.result_type(1, 2.0),
])  # fmt: skip
def test_bad_calls_are_refused(call):
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        call(xp.ones((2, 3)))
    assert isinstance(caught.value, RuntimeError)  # of TensorPlay's own errors, with words


# ---- strategies of hypothesis, with which the public test suite draws ------------------------------------------


@settings(max_examples=20)
@given(data=st.data())
def test_hypothesis_draws_arrays_of_the_namespace(data):
    xps = make_strategies_namespace(xp)
    assert xps.api_version == "2024.12"
    dtype = data.draw(xps.scalar_dtypes())
    shape = data.draw(xps.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3))
    x = data.draw(xps.arrays(dtype=dtype, shape=shape))
    assert (type(x), x.dtype, x.shape, x.size) == (xp.Array, dtype, shape, math.prod(shape))
    index = data.draw(xps.indices(shape, allow_newaxis=True))
    agree(plain(x[index]), np.asarray(x.numpy()[index]))
