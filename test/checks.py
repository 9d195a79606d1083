"""How the tests compare tensors bit for bit, and lay the same values out in memory in several ways.

`expect(t, [1.0, nan, -0.0], "float32")` checks dtype, shape and every bit but the payload of a NaN.
`laid_out(array, "reversed")` is a tensor with the values of `array` whose strides are negative.
"""

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tensorplay as tp

Array = npt.NDArray[np.generic]

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
REAL = ("bool", *INTEGERS, *FLOATS)


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """The NumPy dtype of a dtype's name; bfloat16 comes from ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def array_of(values: object, dtype: str) -> Array:
    """An array of `dtype`, rounded once from float64 or taken as integers."""
    if dtype == "uint64" and not isinstance(values, np.ndarray):
        return np.array(values, dtype=np.uint64)  # NumPy reads a list of large integers as floats
    return np.array(values).astype(numpy_dtype(dtype))


def tensor_of(values: object, dtype: str = "float32", layout: str = "contiguous") -> tp.Tensor:
    return laid_out(array_of(values, dtype), layout)


def to_array(tensor: tp.Tensor) -> Array:
    """The values of a tensor as a contiguous array of our own."""
    return np.array(tensor.detach().numpy())


def same_bits(a: Array, b: Array) -> bool:
    """Equal dtype, shape and bits, where every NaN counts as the same."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    if a.dtype.kind == "c":
        return same_bits(a.real.copy(), b.real.copy()) and same_bits(a.imag.copy(), b.imag.copy())
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    equal = (a64 == b64) & (np.signbit(a64) == np.signbit(b64))
    return bool(np.all(equal | (np.isnan(a64) & np.isnan(b64))))


def expect(tensor: tp.Tensor, values: object, dtype: str) -> None:
    """`tensor` is exactly `values` in `dtype`: shape, NaN, infinities and the sign of zero included."""
    found = to_array(tensor)
    right = array_of(values, dtype)
    assert same_bits(found, right), (
        f"found {found!r} of shape {found.shape}, right is {right!r} of shape {right.shape}"
    )


def assert_same(found: object, right: object) -> None:
    """Two results (tensors or tuples of them) agree in dtype, shape, strides, requires_grad and bits."""
    if isinstance(right, (tuple, list)):
        assert isinstance(found, type(right))
        assert len(found) == len(right)
        for one, other in zip(found, right, strict=True):
            assert_same(one, other)
        return
    assert isinstance(found, tp.Tensor)
    assert isinstance(right, tp.Tensor)
    facts = [(t.dtype, tuple(t.shape), tuple(t.stride()), t.requires_grad) for t in (found, right)]
    assert facts[0] == facts[1]
    a, b = to_array(found), to_array(right)
    assert same_bits(a, b), f"found {a!r}, right is {b!r}"


def _strided(array: Array) -> Array:
    wide = np.zeros((*array.shape, 3), array.dtype)[..., 1]
    wide[...] = array
    return wide


def _reversed(array: Array) -> Array:
    flip = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[flip])[flip]


def _offset(array: Array) -> Array:
    block = np.zeros(array.size + 7, array.dtype)[5 : 5 + array.size].reshape(array.shape)
    block[...] = array
    return block


_LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "contiguous": lambda array: np.array(array, order="C"),
    "transposed": lambda array: np.array(array, order="F"),
    "strided": _strided,
    "reversed": _reversed,
    "offset": _offset,
}
LAYOUTS: Sequence[str] = tuple(_LAYOUTS)


def laid_out(array: Array, layout: str) -> tp.Tensor:
    """A tensor with the values of `array` in one of LAYOUTS."""
    return tp.from_numpy(_LAYOUTS[layout](np.asarray(array)))
