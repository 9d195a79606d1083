"""No kernel shows NumPy's floating-point warnings: overflow, infinities and NaN are results like others."""

import contextlib
import warnings
from dataclasses import replace

import pytest
from contract import build_call, good_samples, operators

from tensorplay.core import dtypes
from tensorplay.ops.samples import Arg

REFUSED = (TypeError, ValueError, RuntimeError, IndexError)
INF, NAN = float("inf"), float("nan")
EXTREMES = {
    dtypes.float16: (6e4, -6e4, INF, NAN, 0.0, -0.0, 6e-8),
    dtypes.float32: (3e38, -3e38, INF, NAN, 0.0, -0.0, 1e-45),
    dtypes.float64: (1e308, -1e308, INF, NAN, 0.0, -0.0, 5e-324),
}


def extreme(value, dtype):
    """A description whose floats are as large, small and special as they come."""
    if isinstance(value, Arg) and value.dtype.is_floating_point:
        count = 1
        for size in value.shape:
            count *= size
        values = [EXTREMES[dtype][i % len(EXTREMES[dtype])] for i in range(count)]
        return replace(value, dtype=dtype, values=values)
    if isinstance(value, (tuple, list)):
        return type(value)(extreme(each, dtype) for each in value)
    return value


@pytest.mark.parametrize("operator", operators(), ids=lambda each: each.name)
def test_kernels_are_quiet(operator):
    for sample in good_samples(operator)[:2]:
        for dtype in EXTREMES:
            given = replace(sample, args=extreme(sample.args, dtype))
            args, kwargs = build_call(operator, given)
            with warnings.catch_warnings(), contextlib.suppress(*REFUSED):
                warnings.simplefilter("error", RuntimeWarning)
                operator(*args, **kwargs)
