"""The contract suite's last clause: compiled equals eager, for every operator and every declared sample.

All samples of an operator are one function, so that it is compiled once. Pointwise, view and index operators must agree
bit for bit (class 1), whatever sums within the bound of their sums (class 2).
"""

import numpy as np
import pytest
from checks import same_bits
from contract import build_call, good_samples, operators, replaced, tensors_in

import tensorplay as tp
from tensorplay.ops.kinds import Index, Pointwise, View

# Their result's shape depends on data, or is memory that nobody wrote.
NOT_COMPILED = frozenset(
    {
        "nonzero", "masked_select", "bincount", "unique", "unique_parts", "runs", "unique_consecutive",
        "argwhere", "empty_permuted", "empty_strided", "new_empty_strided", "empty", "empty_like", "new_empty",
    }
)  # fmt: skip
OPERATORS = [each for each in operators() if each.name not in NOT_COMPILED]


def is_bitwise(operator, tensors):
    sums = any(each.dtype.kind == "f" for each in tensors)
    return (
        isinstance(operator.kind, (Pointwise, View))
        or (isinstance(operator.kind, Index) and not operator.name.endswith("add"))
        or not sums
    )


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)
def test_compiled_equals_eager(operator):
    calls = [build_call(operator, sample) for sample in good_samples(operator)]
    inputs = [list(tensors_in(call)) for call in calls]

    def every_sample(*tensors):
        queue = list(tensors)
        results = []
        for (args, kwargs), own in zip(calls, inputs, strict=True):
            swap = {id(each): queue.pop(0) for each in own}
            results.append(operator(*replaced(args, swap), **replaced(kwargs, swap)))
        return [list(tensors_in(each)) for each in results]

    flat = [each for own in inputs for each in own]
    tp.manual_seed(3)
    eager = every_sample(*flat)
    tp.manual_seed(3)
    # Complex numbers are computed by the eager kernels: no native code has them.
    native = not any(each.dtype.kind == "c" for own in (*inputs, *eager) for each in own)
    compiled = tp.compile(every_sample, strict_native=native)(*flat)
    assert len(compiled) == len(eager)
    for own, expected, found in zip(inputs, eager, compiled, strict=True):
        assert len(expected) == len(found)
        for a, b in zip(expected, found, strict=True):
            assert b.dtype is a.dtype
            assert b.shape == a.shape
            assert b.stride() == a.stride()
            if is_bitwise(operator, [*own, *expected]):
                assert same_bits(b.numpy(), a.numpy()), operator.name
            else:
                tolerance = 2e-2 if a.itemsize == 2 else 2e-6
                np.testing.assert_allclose(
                    b.to(tp.float64).numpy(), a.to(tp.float64).numpy(), tolerance, 20 * tolerance
                )
