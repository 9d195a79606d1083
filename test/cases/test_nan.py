"""B01, B03: NaN wins every comparison of a maximum or minimum, the first one on ties."""

from math import inf, nan

import pytest
from checks import FLOATS, LAYOUTS, expect, tensor_of

import tensorplay as tp
from tensorplay.core import errors

ROWS = {
    "nan in the middle": [2.0, nan, 7.0],
    "nan first": [nan, 2.0, 7.0],
    "nan last": [2.0, 7.0, nan],
    "two nans": [2.0, nan, 7.0, nan],
    "nan beside infinity": [inf, nan, -inf],
    "no nan, ties": [7.0, 2.0, 7.0, 2.0],
    "all nan": [nan, nan],
    "alone": [-inf],
}
ARGMAX = [1, 0, 2, 1, 1, 0, 0, 0]
ARGMIN = [1, 0, 2, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("row", "largest", "smallest"), list(zip(ROWS.values(), ARGMAX, ARGMIN, strict=True)), ids=ROWS
)
def test_argmax_and_argmin_find_the_first_nan(run, dtype, row, largest, smallest):
    x = tensor_of(row, dtype)
    expect(run(lambda x: (x * 1.0).argmax())(x), largest, "int64")
    expect(run(lambda x: (x * 1.0).argmin())(x), smallest, "int64")


@pytest.mark.parametrize("position", [0, 1, 7, 8, 15, 16, 31, 63, 64, 99])
def test_a_nan_is_found_at_every_place_of_a_vector_and_its_tail(run, position):
    row = [float(i % 13) for i in range(100)]
    row[position] = nan
    x = tensor_of([row, row])
    expect(run(lambda x: x.argmax(1))(x), [position, position], "int64")
    expect(run(lambda x: x.amax(1))(x), [nan, nan], "float32")
    expect(
        run(lambda x: x.argmin(0))(tensor_of([[v, v] for v in row])), [position, position], "int64"
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_argmax_of_columns_in_every_layout(run, layout):
    x = tensor_of([[1.0, nan, 3.0], [nan, 2.0, 3.0], [4.0, nan, 3.0]], "float32", layout)
    expect(run(lambda x: x.argmax(0))(x), [1, 0, 0], "int64")
    expect(run(lambda x: x.argmin(1, keepdim=True))(x), [[1], [0], [1]], "int64")


def test_argmax_of_a_0d_tensor_and_of_nothing(run):
    expect(run(lambda x: x.argmax())(tensor_of(nan)), 0, "int64")
    expect(run(lambda x: x.argmax(1))(tensor_of([[]] * 0, "float32").reshape(0, 3)), [], "int64")
    with pytest.raises(errors.TensorPlayError, match="argmax"):
        run(lambda x: x.argmax(1))(tensor_of([[], []]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_minimum_and_their_reductions_keep_nan(run, dtype):
    x = tensor_of([1.0, nan, -inf], dtype)
    expect(run(lambda x: x.amax())(x), nan, dtype)
    expect(run(lambda x: x.amin())(x), nan, dtype)
    expect(run(lambda x: x.max())(x), nan, dtype)
    expect(run(lambda x: x.min())(x), nan, dtype)
    y = tensor_of([nan, 1.0, nan], dtype)
    expect(run(tp.maximum)(x, y), [nan, nan, nan], dtype)
    expect(run(tp.minimum)(x, y), [nan, nan, nan], dtype)


def test_maximum_with_a_literal_keeps_nan_when_it_folds(run):
    def folded(x):
        literal = tp.tensor([1.0, nan, -inf])
        return x + tp.maximum(literal, tp.full((3,), 0.0)), x + literal.amax(), x + literal.amin()

    largest, top, bottom = run(folded)(tensor_of([0.0, 0.0, 0.0]))
    expect(largest, [1.0, nan, 0.0], "float32")
    expect(top, [nan] * 3, "float32")
    expect(bottom, [nan] * 3, "float32")


def test_clamp_and_relu_keep_nan(run):
    x = tensor_of([nan, -inf, inf, -0.5, 0.5])
    expect(run(lambda x: tp.clamp(x, -1.0, 0.25))(x), [nan, -1.0, 0.25, -0.5, 0.25], "float32")
    expect(run(tp.relu)(x), [nan, 0.0, inf, 0.0, 0.5], "float32")
