"""The contract for inputs in any layout: every declared sample again, transposed, strided and reversed.

The values don't depend on how the inputs lie in memory, and the result lies as the meta rule says.
"""

from dataclasses import replace

import numpy as np
import pytest
from contract import build_call, good_samples, operators, tensors_in, without_data

import tensorplay as tp
from tensorplay.core.errors import DataNeededError, LayoutError
from tensorplay.ops.samples import Arg

# They show memory as it lies, or show what nobody wrote.
OF_MEMORY = frozenset(
    {
        "as_strided",
        "as_strided_copy",
        "as_strided_scatter",
        "empty",
        "empty_like",
        "new_empty",
        "new_empty_strided",
    }
)
OPERATORS = [each for each in operators() if each.name not in OF_MEMORY and not each.effect]


def laid_out(value, layout):
    """Descriptions with another layout."""
    if isinstance(value, Arg):
        return replace(value, layout=layout)
    if isinstance(value, (tuple, list)):
        return type(value)(laid_out(each, layout) for each in value)
    return value


def strides(tensor):
    """Strides where there is a next element."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size != 1]


@pytest.mark.parametrize("layout", ["transposed", "strided", "reversed"])
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)
def test_layouts(operator, layout):
    for sample in good_samples(operator):
        kwargs = {k: laid_out(v, layout) for k, v in sample.kwargs.items()}
        other = replace(sample, args=laid_out(sample.args, layout), kwargs=kwargs)
        args, kwargs = build_call(operator, sample)
        tp.manual_seed(0)
        right = list(tensors_in(operator(*args, **kwargs)))
        args, kwargs = build_call(operator, other)
        tp.manual_seed(0)
        try:
            found = list(tensors_in(operator(*args, **kwargs)))
        except LayoutError:
            continue  # a view that this layout does not have
        try:
            metas = list(tensors_in(operator(*without_data(args), **without_data(kwargs))))
        except DataNeededError:
            metas = [None] * len(found)  # the shape depends on data
        if not list(tensors_in((args, kwargs))):
            continue  # a creation
        for expected, actual, meta in zip(right, found, metas, strict=True):
            tolerance = 1e-2 if actual.itemsize == 2 else 1e-5
            np.testing.assert_allclose(
                actual.numpy().astype(expected.numpy().dtype),
                expected.numpy(),
                tolerance,
                tolerance,
            )
            if meta is not None:
                assert strides(actual) == strides(meta), sample
