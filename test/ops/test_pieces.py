"""Pointwise operators do to a large tensor what they do to its pieces: blocks, tails, threads and layouts change nothing."""

from dataclasses import replace

import numpy as np
import pytest
from contract import build_call, good_samples, in_float64, operators, replaced, tensors_in

from tensorplay.ops.samples import Arg

ROWS, COLUMNS, PIECE = 70, 1030, 90
PIECES = [np.s_[0, :PIECE], np.s_[33, 500 : 500 + PIECE], np.s_[ROWS - 1, COLUMNS - PIECE :]]


def depends_on_places(operator):
    """Whether an element depends on where it lies."""
    kind = operator.kind
    return kind.index_name is not None or kind.linear_name is not None


POINTWISE = [
    each
    for each in operators()
    if each.kind.name == "pointwise" and not each.is_factory and not depends_on_places(each)
]


def enlarged(value, layout):
    """A description whose tensors are ROWS x COLUMNS, whatever their shapes were."""
    if isinstance(value, Arg):
        return replace(value, shape=(ROWS, COLUMNS), layout=layout, values=None)
    if isinstance(value, (list, tuple)):
        return type(value)(enlarged(each, layout) for each in value)
    return value


@pytest.mark.parametrize("operator", POINTWISE, ids=lambda each: each.name)
def test_a_large_call_is_the_calls_of_its_pieces(operator):
    sample = good_samples(operator)[0]
    for arguments in (sample.args, in_float64(sample.args)):
        for layout in ("contiguous", "transposed"):
            args, kwargs = build_call(operator, replace(sample, args=enlarged(arguments, layout)))
            tensors = list(tensors_in(args))
            assert tensors
            whole = operator(*args, **kwargs).numpy()
            for piece in PIECES:
                swap = {id(each): each[piece] for each in tensors}
                found = operator(*(replaced(each, swap) for each in args), **kwargs).numpy()
                assert found.tobytes() == whole[piece].tobytes()
