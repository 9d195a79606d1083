"""Calls of the array API standard's functions, drawn by hypothesis, and how to compare what they return.

    CALLS["add"] draws `Call(args, kwargs)`, in which NumPy arrays stand for arrays and `DType("int8")` for a dtype.

`run(namespace, call)` makes them in a namespace; `agree(ours, theirs)` compares with what another
implementation returned. So one table serves eager and compiled calls, and any oracle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
REALS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INEXACT = (*REALS, *COMPLEX)
NUMERIC = (*INTEGERS, *INEXACT)
REAL_NUMERIC = (*INTEGERS, *REALS)
ALL = ("bool", *NUMERIC)
SHAPES = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
FILLED = npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


class DType(NamedTuple):
    """A dtype by name."""

    name: str


class Call(NamedTuple):
    """Arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}  # noqa: RUF012  # never changed


Strategy = st.SearchStrategy[Call]
Draw = Callable[..., Any]

# ---- values -------------------------------------------------------------------------------------------


def elements(
    dtype: str, low: float = -20, high: float = 20, **options: Any
) -> st.SearchStrategy[Any]:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = np.iinfo(dtype)
        return st.integers(max(int(low), int(info.min)), min(int(high), int(info.max)))
    width = 32 if dtype in {"float32", "complex64"} else 64
    real = st.floats(low, high, width=width, allow_subnormal=False, **options)
    quarters = st.integers(int(4 * low), int(4 * high)).map(lambda n: n / 4)
    floats = real | quarters
    return st.builds(complex, floats, floats) if kind == "c" else floats


def arrays(
    dtypes: Any, shapes: Any = SHAPES, low: float = -20, high: float = 20, **options: Any
) -> st.SearchStrategy[Any]:
    """Arrays of one of the dtypes and one of the shapes, in several layouts."""
    pick = st.just(dtypes) if isinstance(dtypes, str) else st.sampled_from(dtypes)

    @st.composite
    def drawn(draw: Draw) -> Any:
        dtype = draw(pick)
        shape = draw(shapes) if isinstance(shapes, st.SearchStrategy) else shapes
        unique = options.get("unique", False)
        array = draw(npst.arrays(dtype, shape, elements=elements(dtype, low, high), unique=unique))
        layout = draw(st.sampled_from(("plain", "plain", "transposed", "reversed")))
        if layout == "transposed":
            return np.array(array.T, order="C").T
        return (
            np.ascontiguousarray(array[::-1])[::-1]
            if layout == "reversed" and array.ndim
            else array
        )

    return drawn()


def promotable(group: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str]]:
    """Two dtypes that the standard promotes."""

    def allowed(pair: tuple[str, str]) -> bool:
        kinds = {np.dtype(each).kind for each in pair}
        if kinds == {"i", "u"}:
            return "uint64" not in pair
        return len(kinds) == 1 or kinds == {"f", "c"}

    pairs = [(a, b) for a in group for b in group if allowed((a, b))]
    return st.sampled_from(pairs)


@st.composite
def unary(draw: Draw, dtypes: tuple[str, ...], low: float = -20, high: float = 20) -> Call:
    return Call((draw(arrays(dtypes, low=low, high=high)),))


@st.composite
def binary(draw: Draw, dtypes: tuple[str, ...], low: float = -20, high: float = 20, *, low2: float | None = None,
           high2: float | None = None) -> Call:  # fmt: skip
    """Two arrays that broadcast, or an array and a number on either side."""
    first, second = draw(promotable(dtypes))
    shapes = draw(
        npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3)
    ).input_shapes
    low2, high2 = low if low2 is None else low2, high if high2 is None else high2
    x1, x2 = draw(arrays(first, shapes[0], low, high)), draw(arrays(second, shapes[1], low2, high2))
    form = draw(st.sampled_from(("arrays", "arrays", "number second", "number first")))
    if form == "number second":
        x2 = draw(elements(first, low2, high2))
    elif form == "number first":
        x1 = draw(elements(second, low, high))
    return Call((x1, x2))


def axes(ndim: int) -> st.SearchStrategy[Any]:
    """None, an axis, or several."""
    if not ndim:
        return st.none()
    one = st.integers(-ndim, ndim - 1)
    several = st.lists(one, min_size=0, max_size=ndim, unique_by=lambda a: a % ndim).map(tuple)
    return st.none() | one | several


def axis_of(ndim: int) -> st.SearchStrategy[int]:
    return st.integers(-ndim, ndim - 1)


@st.composite
def reduced(draw: Draw, dtypes: tuple[str, ...], *, nonempty: bool = False, dtype_arg: bool = False,
            low: float = -20, high: float = 20, correction: bool = False) -> Call:  # fmt: skip
    shapes = (
        npst.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4) if nonempty else SHAPES
    )
    x = draw(arrays(dtypes, shapes, low, high))
    kwargs: dict[str, Any] = {"axis": draw(axes(x.ndim)), "keepdims": draw(st.booleans())}
    if dtype_arg and draw(st.booleans()):
        kinds = {"i": ("int64", x.dtype.name), "u": ("uint64",), "f": REALS, "c": COMPLEX}
        kwargs["dtype"] = DType(draw(st.sampled_from(kinds[x.dtype.kind])))
    if correction:
        kwargs["correction"] = draw(st.sampled_from((0.0, 1.0, 0, 1, 0.5)))
    return Call((x,), kwargs)


@st.composite
def searched(draw: Draw) -> Call:
    x = draw(arrays(REAL_NUMERIC, FILLED))
    axis = draw(st.none() | axis_of(x.ndim))
    return Call((x,), {"axis": axis, "keepdims": draw(st.booleans())})


@st.composite
def with_axis(
    draw: Draw, dtypes: tuple[str, ...], shapes: Any = FILLED, **more: st.SearchStrategy[Any]
) -> Call:
    x = draw(arrays(dtypes, shapes))
    return Call((x,), {"axis": draw(axis_of(x.ndim)), **{k: draw(v) for k, v in more.items()}})


@st.composite
def cumulative(draw: Draw, low: float, high: float) -> Call:
    x = draw(
        arrays(
            NUMERIC, npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4), low, high
        )
    )
    axis = draw(axis_of(x.ndim) | st.none()) if x.ndim == 1 else draw(axis_of(x.ndim))
    return Call((x,), {"axis": axis, "include_initial": draw(st.booleans())})


def _call(body: Callable[[Draw], Call]) -> Strategy:
    return st.composite(body)()


def matrices(
    dtypes: Any = INEXACT, *, square: bool = False, min_side: int = 1
) -> st.SearchStrategy[Any]:
    @st.composite
    def drawn(draw: Draw) -> Any:
        rows, columns = draw(st.integers(min_side, 4)), draw(st.integers(min_side, 4))
        batch = draw(st.sampled_from(((), (), (2,), (2, 1))))
        return draw(arrays(dtypes, (*batch, rows, rows if square else columns), -4, 4))

    return drawn()


def regular(dtypes: Any = INEXACT) -> st.SearchStrategy[Any]:
    """Square matrices that are far from singular."""
    return matrices(dtypes, square=True).map(
        lambda a: (a + 20 * np.eye(a.shape[-1])).astype(a.dtype)
    )


def hermitian(*, definite: bool) -> st.SearchStrategy[Any]:
    def made(a: Any) -> Any:
        whole = a + np.swapaxes(a.conj(), -1, -2)
        return (whole + (40 * np.eye(a.shape[-1]) if definite else 0)).astype(a.dtype)

    return matrices(square=True).map(made)


# ---- the table ----------------------------------------------------------------------------------------

CALLS: dict[str, Strategy] = {}

for _name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p",
              "log2", "log10", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"):  # fmt: skip
    CALLS[_name] = unary(INEXACT, -5, 5)
for _name in (
    "abs",
    "negative",
    "positive",
    "sign",
    "square",
    "isfinite",
    "isinf",
    "isnan",
    "round",
):
    CALLS[_name] = unary(NUMERIC)
for _name in ("ceil", "floor", "trunc"):
    CALLS[_name] = unary(REAL_NUMERIC)
for _name in ("conj", "real"):
    CALLS[_name] = unary(COMPLEX if _name == "real" else NUMERIC)
CALLS["imag"] = unary(COMPLEX)
CALLS["signbit"] = unary(REALS)
CALLS["bitwise_invert"] = unary(("bool", *INTEGERS))
CALLS["logical_not"] = unary(("bool",))
for _name in ("add", "multiply", "subtract"):
    CALLS[_name] = binary(NUMERIC, -10, 10)
for _name in ("equal", "not_equal"):
    CALLS[_name] = binary(ALL, -3, 3)
for _name in ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum"):
    CALLS[_name] = binary(REAL_NUMERIC, -3, 3)
for _name in ("atan2", "copysign", "hypot", "logaddexp", "nextafter"):
    CALLS[_name] = binary(REALS)
CALLS["divide"] = binary(INEXACT, low2=1)
for _name in ("floor_divide", "remainder"):
    CALLS[_name] = binary(REAL_NUMERIC, low2=1)
CALLS["pow"] = binary((*INTEGERS, *REALS), 0, 3, low2=0, high2=4)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    CALLS[_name] = binary(("bool", *INTEGERS))
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    CALLS[_name] = binary(INTEGERS, low2=0, high2=12)
for _name in ("logical_and", "logical_or", "logical_xor"):
    CALLS[_name] = binary(("bool",))


@_call
def _clip(draw: Draw) -> Call:
    x = draw(arrays(REAL_NUMERIC))
    dtype = x.dtype.name
    bound = st.none() | elements(dtype, 0, 5) | arrays(dtype, st.just(x.shape[-1:]), 0, 5)
    upper = st.none() | elements(dtype, 5, 9) | arrays(dtype, st.just(x.shape), 5, 9)
    return Call((x,), {"min": draw(bound), "max": draw(upper)})


CALLS["clip"] = _clip

# creation


@_call
def _arange(draw: Draw) -> Call:
    dtype = draw(st.sampled_from((*SIGNED, *REALS)))
    start, stop, step = (draw(st.integers(-9, 9)) for _ in range(3))
    args = draw(st.sampled_from(((start,), (start, stop), (start, stop, step or 2))))
    return Call(args, {"dtype": DType(dtype)})


@_call
def _linspace(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(INEXACT))
    start, stop = draw(elements(dtype, -9, 9)), draw(elements(dtype, -9, 9))
    num = draw(st.integers(0, 7))
    return Call((start, stop, num), {"dtype": DType(dtype), "endpoint": draw(st.booleans())})


@_call
def _shaped(draw: Draw) -> Call:
    shape = draw(SHAPES | st.integers(0, 5))
    return Call((shape,), {"dtype": DType(draw(st.sampled_from(ALL)))})


@_call
def _like(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    return Call((x,), {"dtype": DType(draw(st.sampled_from(ALL)))} if draw(st.booleans()) else {})


@_call
def _full(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(ALL))
    return Call((draw(SHAPES), draw(elements(dtype))), {"dtype": DType(dtype)})


@_call
def _full_like(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    return Call((x, draw(elements(x.dtype.name))))


@_call
def _eye(draw: Draw) -> Call:
    columns = draw(st.none() | st.integers(0, 5))
    kwargs = {"k": draw(st.integers(-3, 3)), "dtype": DType(draw(st.sampled_from(NUMERIC)))}
    return Call((draw(st.integers(0, 5)), columns), kwargs)


@_call
def _meshgrid(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    several = [
        draw(arrays(dtype, npst.array_shapes(min_dims=1, max_dims=1, max_side=3)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return Call(tuple(several), {"indexing": draw(st.sampled_from(("xy", "ij")))})


@_call
def _triangle(draw: Draw) -> Call:
    x = draw(arrays(ALL, npst.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4)))
    return Call((x,), {"k": draw(st.integers(-4, 4))})


@_call
def _asarray(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    kwargs = {"dtype": DType(x.dtype.name), "copy": draw(st.sampled_from((True, None)))}
    return Call(
        (draw(st.sampled_from((x, x.tolist()))),), kwargs if x.size else {**kwargs, "copy": None}
    )


CALLS |= {"arange": _arange, "linspace": _linspace, "zeros": _shaped, "ones": _shaped, "empty": _shaped,
          "zeros_like": _like, "ones_like": _like, "empty_like": _like, "full": _full, "full_like": _full_like,
          "eye": _eye, "meshgrid": _meshgrid, "tril": _triangle, "triu": _triangle, "asarray": _asarray}  # fmt: skip

# data types


@_call
def _astype(draw: Draw) -> Call:
    x = draw(arrays(ALL, low=0))
    complex_too = COMPLEX if x.dtype.kind == "c" else ALL
    return Call((x, DType(draw(st.sampled_from(complex_too)))), {"copy": draw(st.booleans())})


@_call
def _result_type(draw: Draw) -> Call:
    first, second = draw(promotable(ALL))
    forms = st.sampled_from((DType(first), draw(arrays(first))))
    number = {"b": True, "i": 3, "u": 3, "f": 1.5, "c": 1j}[np.dtype(second).kind]
    return Call((draw(forms), draw(st.sampled_from((DType(second), draw(arrays(second)), number)))))


CALLS["astype"] = _astype
CALLS["result_type"] = _result_type
CALLS["broadcast_shapes"] = npst.mutually_broadcastable_shapes(num_shapes=3).map(
    lambda found: Call(found.input_shapes)
)
CALLS["can_cast"] = promotable(ALL).map(lambda pair: Call(tuple(map(DType, pair))))
CALLS["finfo"] = st.sampled_from(INEXACT).map(lambda name: Call((DType(name),)))
CALLS["iinfo"] = st.sampled_from(INTEGERS).map(lambda name: Call((DType(name),)))
_KINDS = (
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
)
CALLS["isdtype"] = st.tuples(
    st.sampled_from(ALL).map(DType),
    st.sampled_from(_KINDS) | st.sampled_from(ALL).map(DType) | st.just(_KINDS[1:3]),
).map(Call)

# manipulation


@_call
def _broadcast_arrays(draw: Draw) -> Call:
    shapes = draw(
        npst.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3)
    ).input_shapes
    return Call(tuple(draw(arrays(ALL, shape)) for shape in shapes))


@_call
def _broadcast_to(draw: Draw) -> Call:
    found = draw(
        npst.mutually_broadcastable_shapes(num_shapes=1, base_shape=(2, 3), max_dims=3, max_side=3)
    )
    return Call((draw(arrays(ALL, found.input_shapes[0])), tuple(found.result_shape)))


@_call
def _concat(draw: Draw) -> Call:
    first, second = draw(promotable(ALL))
    shape = draw(FILLED)
    axis = draw(axis_of(len(shape)))
    other = list(shape)
    other[axis] = draw(st.integers(0, 3))
    if draw(st.booleans()):
        return Call(([draw(arrays(first, shape)), draw(arrays(second))],), {"axis": None})
    return Call(([draw(arrays(first, shape)), draw(arrays(second, tuple(other)))],), {"axis": axis})


@_call
def _stack(draw: Draw) -> Call:
    first, second = draw(promotable(ALL))
    shape = draw(SHAPES)
    axis = draw(st.integers(-len(shape) - 1, len(shape)))
    return Call(([draw(arrays(first, shape)), draw(arrays(second, shape))],), {"axis": axis})


@_call
def _expand_dims(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    return Call((x,), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))})


@_call
def _flip(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    return Call((x,), {"axis": draw(axes(x.ndim))})


@_call
def _moveaxis(draw: Draw) -> Call:
    x = draw(arrays(ALL, FILLED))
    source, target = draw(axis_of(x.ndim)), draw(axis_of(x.ndim))
    if draw(st.booleans()):
        return Call((x, source, target))
    order = draw(st.permutations(range(x.ndim)))
    return Call((x, tuple(range(x.ndim)), tuple(order)))


@_call
def _permute_dims(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    return Call((x, tuple(draw(st.permutations(range(x.ndim))))))


@_call
def _repeat(draw: Draw) -> Call:
    x = draw(arrays(ALL, FILLED))
    axis = draw(st.none() | axis_of(x.ndim))
    count = x.size if axis is None else x.shape[axis]
    return Call((x, draw(st.integers(0, 3) | arrays("int64", (count,), 0, 3))), {"axis": axis})


@_call
def _reshape(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    choices = [(x.size,), (-1,), (1, x.size), (x.size, 1, 1), x.shape[::-1]]
    choices = choices if x.size else [(x.size,), x.shape[::-1]]
    return Call((x, draw(st.sampled_from(choices))), {"copy": draw(st.sampled_from((None, True)))})


@_call
def _roll(draw: Draw) -> Call:
    x = draw(arrays(ALL))
    axis = draw(axes(x.ndim).filter(lambda a: a != ()))
    shift = st.integers(-9, 9)
    several = st.tuples(*[shift] * len(axis)) | shift if isinstance(axis, tuple) else shift
    return Call((x, draw(several)), {"axis": axis})


@_call
def _squeeze(draw: Draw) -> Call:
    x = draw(arrays(ALL, st.sampled_from(((1,), (2, 1), (1, 1, 3), (1, 2, 1)))))
    ones = [place for place, size in enumerate(x.shape) if size == 1]
    return Call((x, draw(st.sampled_from((*ones, tuple(ones), ones[0] - x.ndim)))))


@_call
def _tile(draw: Draw) -> Call:
    return Call((draw(arrays(ALL)), tuple(draw(st.lists(st.integers(0, 3), max_size=4)))))


CALLS |= {"broadcast_arrays": _broadcast_arrays, "broadcast_to": _broadcast_to, "concat": _concat, "stack": _stack,
          "expand_dims": _expand_dims, "flip": _flip, "moveaxis": _moveaxis, "permute_dims": _permute_dims,
          "repeat": _repeat, "reshape": _reshape, "roll": _roll, "squeeze": _squeeze, "tile": _tile,
          "unstack": with_axis(ALL)}  # fmt: skip

# searching, sorting, sets, indexing


@_call
def _searchsorted(draw: Draw) -> Call:
    first, second = draw(promotable(REAL_NUMERIC))
    x1 = np.sort(draw(arrays(first, npst.array_shapes(max_dims=1, min_side=0, max_side=5))))
    kwargs: dict[str, Any] = {"side": draw(st.sampled_from(("left", "right")))}
    if draw(st.booleans()):
        order = np.asarray(draw(st.permutations(range(x1.size))), np.int64)
        shuffled = np.empty_like(x1)
        shuffled[order] = x1
        x1, kwargs["sorter"] = shuffled, order
    return Call((x1, draw(arrays(second))), kwargs)


@_call
def _where(draw: Draw) -> Call:
    found = draw(binary(ALL))
    condition = draw(arrays("bool", st.sampled_from(((), (1,), (1, 1)))))
    return Call((condition, *found.args))


@_call
def _isin(draw: Draw) -> Call:
    first, second = draw(promotable(INTEGERS))
    x1, x2 = draw(arrays(first, SHAPES, -3, 3)), draw(arrays(second, SHAPES, -3, 3))
    return Call((x1, x2))  # invert is not asked for: the oracle (2.6) inverts twice


@_call
def _take(draw: Draw) -> Call:
    x = draw(arrays(ALL, FILLED))
    axis = draw(axis_of(x.ndim))
    bound = x.shape[axis]
    index = draw(arrays("int64", npst.array_shapes(max_dims=1, min_side=0), -bound, bound - 1))
    return Call((x, index), {"axis": axis})


@_call
def _take_along_axis(draw: Draw) -> Call:
    x = draw(arrays(ALL, FILLED))
    axis = draw(axis_of(x.ndim))
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 4))
    index = draw(arrays("int64", tuple(shape), -x.shape[axis], x.shape[axis] - 1))
    return Call((x, index), {"axis": axis})


CALLS |= {
    "argmax": searched(), "argmin": searched(), "count_nonzero": reduced(ALL, low=-2, high=2),
    "nonzero": unary(ALL, -1, 1).filter(lambda call: call.args[0].ndim), "searchsorted": _searchsorted, "where": _where,
    "isin": _isin, "take": _take, "take_along_axis": _take_along_axis,
    "sort": with_axis(REAL_NUMERIC, descending=st.booleans()),
    "argsort": with_axis(REAL_NUMERIC, descending=st.booleans()),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), unary(ALL, -2, 2)),
}  # fmt: skip

# statistics and utilities


@_call
def _diff(draw: Draw) -> Call:
    x = draw(arrays(NUMERIC, FILLED))
    axis = draw(axis_of(x.ndim))
    kwargs: dict[str, Any] = {"axis": axis, "n": draw(st.integers(1, 3))}
    for name in ("prepend", "append"):
        if draw(st.booleans()):
            shape = list(x.shape)
            shape[axis] = draw(st.integers(1, 2))
            kwargs[name] = draw(arrays(x.dtype.name, tuple(shape)))
    return Call((x,), kwargs)


CALLS |= {
    "max": reduced(REAL_NUMERIC, nonempty=True), "min": reduced(REAL_NUMERIC, nonempty=True),
    "mean": reduced(INEXACT, nonempty=True), "sum": reduced(NUMERIC, dtype_arg=True),
    "prod": reduced(NUMERIC, dtype_arg=True, low=-3, high=3),
    "std": reduced(REALS, nonempty=True, correction=True), "var": reduced(REALS, nonempty=True, correction=True),
    "all": reduced(ALL, low=-1, high=1), "any": reduced(ALL, low=-1, high=1), "diff": _diff,
    "cumulative_sum": cumulative(-20, 20), "cumulative_prod": cumulative(-3, 3),
}  # fmt: skip

# linear algebra


@_call
def _matmul(draw: Draw) -> Call:
    first, second = draw(promotable(NUMERIC))
    n = draw(st.integers(0, 4))
    left = draw(st.sampled_from(((n,), (3, n), (2, 3, n), (2, 1, 1, n))))
    right = draw(st.sampled_from(((n,), (n, 2), (2, n, 3))))
    return Call((draw(arrays(first, left, -4, 4)), draw(arrays(second, right, -4, 4))))


@_call
def _vecdot(draw: Draw) -> Call:
    first, second = draw(promotable(NUMERIC))
    n = draw(st.integers(0, 4))
    left, right = draw(st.sampled_from((((n,), (n,)), ((2, n), (n,)), ((2, 1, n), (3, n)))))
    return Call(
        (draw(arrays(first, left, -4, 4)), draw(arrays(second, right, -4, 4))), {"axis": -1}
    )


@_call
def _tensordot(draw: Draw) -> Call:
    first, second = draw(promotable(NUMERIC))
    left, right, pairs = draw(st.sampled_from((
        ((2, 3), (3, 4), 1), ((2, 3), (2, 3), 2), ((2, 3), (4,), 0), ((2, 3, 4), (4, 2), ((2, 0), (0, 1))),
        ((2, 3), (3, 2), ((-1,), (-2,))), ((0, 3), (3, 2), 1),
    )))  # fmt: skip
    return Call(
        (draw(arrays(first, left, -4, 4)), draw(arrays(second, right, -4, 4))), {"axes": pairs}
    )


@_call
def _cross(draw: Draw) -> Call:
    first, second = draw(promotable(NUMERIC))
    left, right, axis = draw(
        st.sampled_from(
            (
                ((3,), (3,), -1),
                ((2, 3), (2, 3), 1),
                ((3, 2), (3, 2), 0),
                ((2, 3), (1, 3), -1),
                ((3,), (2, 1, 3), -1),
            )
        )
    )
    return Call(
        (draw(arrays(first, left, -4, 4)), draw(arrays(second, right, -4, 4))),
        {"axis": axis - len(left) if axis >= 0 else axis},
    )


@_call
def _solve(draw: Draw) -> Call:
    x1 = draw(regular())
    n, batch = x1.shape[-1], x1.shape[:-2]
    shape = draw(st.sampled_from(((n,), (n, 2), (*batch, n, 3))))
    return Call((x1, draw(arrays(x1.dtype.name, shape, -4, 4))))


@_call
def _outer(draw: Draw) -> Call:
    first, second = draw(promotable(NUMERIC))
    flat = npst.array_shapes(max_dims=1, min_side=0, max_side=4)
    return Call((draw(arrays(first, flat)), draw(arrays(second, flat))))


def _one(matrix: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> Strategy:
    return st.tuples(matrix, st.fixed_dictionaries(options)).map(
        lambda drawn: Call((drawn[0],), drawn[1])
    )


@_call
def _vector_norm(draw: Draw) -> Call:
    x = draw(arrays(INEXACT, FILLED))
    ord = draw(st.sampled_from((2, 1, 0, math.inf, -math.inf, 3, 2.5, -1)))
    return Call(
        (x,),
        {
            "axis": draw(axes(x.ndim).filter(lambda a: a != ())),
            "keepdims": draw(st.booleans()),
            "ord": ord,
        },
    )


CALLS |= {
    "matmul": _matmul,
    "vecdot": _vecdot,
    "tensordot": _tensordot,
    "matrix_transpose": _one(matrices(ALL)),
}
for _name in ("matmul", "vecdot", "tensordot", "matrix_transpose"):
    CALLS[f"linalg.{_name}"] = CALLS[_name]
CALLS |= {
    "linalg.cholesky": _one(hermitian(definite=True), upper=st.booleans()), "linalg.cross": _cross,
    "linalg.det": _one(matrices(square=True)), "linalg.diagonal": _one(matrices(ALL), offset=st.integers(-5, 5)),
    "linalg.eigh": _one(hermitian(definite=False)), "linalg.eigvalsh": _one(hermitian(definite=False)),
    "linalg.inv": _one(regular()),
    "linalg.matrix_norm": _one(matrices(), keepdims=st.booleans(), ord=st.sampled_from(("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf))),
    "linalg.matrix_power": st.tuples(regular(), st.integers(-2, 3)).map(lambda pair: Call((pair[0] / pair[0].dtype.type(10), pair[1]))),
    "linalg.matrix_rank": _one(matrices(), rtol=st.sampled_from((None, 0.5))), "linalg.outer": _outer,
    "linalg.pinv": _one(matrices(), rtol=st.sampled_from((None, 0.3))),
    "linalg.qr": _one(matrices(), mode=st.sampled_from(("reduced", "complete"))),
    "linalg.slogdet": _one(regular()), "linalg.solve": _solve,
    "linalg.svd": _one(matrices(), full_matrices=st.booleans()), "linalg.svdvals": _one(matrices()),
    "linalg.trace": _one(matrices(NUMERIC), offset=st.integers(-4, 4)), "linalg.vector_norm": _vector_norm,
}  # fmt: skip

# transforms


@st.composite
def transformed(draw: Draw, dtypes: tuple[str, ...], *, least: int = 1) -> Call:
    x = draw(arrays(dtypes, npst.array_shapes(min_dims=1, max_dims=3, min_side=least, max_side=5)))
    kwargs = {
        "n": draw(st.none() | st.integers(least, 6)),
        "axis": draw(axis_of(x.ndim)),
        "norm": draw(st.sampled_from(("backward", "ortho", "forward"))),
    }
    return Call((x,), kwargs)


@st.composite
def transformed_axes(draw: Draw, dtypes: tuple[str, ...], *, least: int = 1) -> Call:
    x = draw(arrays(dtypes, npst.array_shapes(min_dims=1, max_dims=3, min_side=least, max_side=4)))
    several = st.lists(axis_of(x.ndim), min_size=1, max_size=x.ndim, unique_by=lambda a: a % x.ndim)
    chosen = draw(st.none() | several.map(tuple))
    sizes = None
    if chosen is not None and draw(st.booleans()):
        sizes = tuple(draw(st.integers(least, 5)) for _ in chosen)
    return Call(
        (x,),
        {
            "s": sizes,
            "axes": chosen,
            "norm": draw(st.sampled_from(("backward", "ortho", "forward"))),
        },
    )


for _name in ("fft", "ifft"):
    CALLS[f"fft.{_name}"] = transformed(COMPLEX)
    CALLS[f"fft.{_name}n"] = transformed_axes(COMPLEX)
for _name in ("rfft", "ihfft"):
    CALLS[f"fft.{_name}"] = transformed(REALS)
for _name in ("irfft", "hfft"):
    CALLS[f"fft.{_name}"] = transformed(COMPLEX, least=2)
CALLS["fft.rfftn"], CALLS["fft.irfftn"] = (
    transformed_axes(REALS),
    transformed_axes(COMPLEX, least=2),
)
for _name in ("fft.fftfreq", "fft.rfftfreq"):
    CALLS[_name] = st.builds(
        lambda n, d, dtype: Call((n,), {"d": d, "dtype": DType(dtype)}),
        st.integers(1, 9), st.sampled_from((1.0, 0.25)), st.sampled_from(REALS),
    )  # fmt: skip


@_call
def _shifted(draw: Draw) -> Call:
    x = draw(arrays(INEXACT, FILLED))
    return Call((x,), {"axes": draw(axes(x.ndim).filter(lambda a: a != ()))})


CALLS["fft.fftshift"] = CALLS["fft.ifftshift"] = _shifted

# ---- running and comparing ------------------------------------------------------------------------------


def function_named(namespace: Any, name: str) -> Any:
    """The function `add` or `linalg.inv` of a namespace."""
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def made(namespace: Any, value: Any) -> Any:
    """Neutral arguments as those of a namespace."""
    if isinstance(value, np.ndarray):
        return namespace.asarray(value)
    if isinstance(value, DType):
        return getattr(namespace, value.name)
    if isinstance(value, (list, tuple)):
        return type(value)(made(namespace, each) for each in value)
    return value


def run(namespace: Any, name: str, call: Call, function: Callable[..., Any] | None = None) -> Any:
    """Call a function of a namespace, or another one in its place."""
    function = function or function_named(namespace, name)
    args = made(namespace, call.args)
    return function(*args, **{key: made(namespace, value) for key, value in call.kwargs.items()})


def plain(value: Any) -> Any:
    """A result as NumPy arrays, names of dtypes, and Python values."""
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value) if hasattr(value, "_array") else value.numpy(force=True)
    if hasattr(value, "smallest_normal"):
        return tuple(
            float(getattr(value, key)) for key in ("bits", "eps", "max", "min", "smallest_normal")
        )
    if hasattr(value, "bits"):
        return tuple(int(getattr(value, key)) for key in ("bits", "max", "min"))
    if isinstance(value, (list, tuple)):
        return tuple(plain(each) for each in value)
    return (
        value if isinstance(value, (bool, int, float, complex)) else str(value).rpartition(".")[2]
    )


def _tolerance(dtype: np.dtype[Any]) -> float:
    return 3e-5 if dtype in {np.dtype("float32"), np.dtype("complex64")} else 1e-11


def agree(ours: Any, theirs: Any, *, values: bool = True) -> None:
    """Assert that two results are alike: structure, shapes, dtypes, and values up to rounding."""
    if isinstance(theirs, tuple):
        assert isinstance(ours, tuple)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other, values=values)
        return
    if not isinstance(theirs, np.ndarray):
        assert ours == theirs
        return
    assert isinstance(ours, np.ndarray)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    if not values:
        return
    if ours.dtype.kind in "fc":
        size = np.abs(theirs[np.isfinite(theirs)]).max(initial=1)
        rtol = _tolerance(ours.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * min(size, 1e3))
    else:
        np.testing.assert_array_equal(ours, theirs)


UNSET = frozenset({"empty", "empty_like"})
"""Functions whose values are not specified."""


def rebuilt(name: str, result: Any) -> Any:
    """What is unique in a result: factors multiplied."""
    if name == "linalg.eigh":
        values, vectors = result
        return values, (vectors * values[..., None, :]) @ np.swapaxes(vectors.conj(), -1, -2)
    if name == "linalg.qr":
        return result[0].shape, result[1].shape, result[0] @ result[1]
    if name == "linalg.svd":
        u, s, vh = result
        k = s.shape[-1]
        return u.shape, s, vh.shape, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    return result
