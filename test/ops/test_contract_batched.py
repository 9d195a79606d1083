"""Batching rules against their meaning: vmap of every operator on every sample is the loop, stacked.

Each tensor argument of a sample is drawn several times; then all of them hold the batch, and each
one alone, in front and as the last dimension. Pointwise operators, views and index operators give
the loop's bits, the others its numbers: a reduction or a matrix product may add in another order.
"""

import warnings
import zlib

import numpy as np
import pytest
from contract import build, good_samples, operators, replaced, tensors_in

import tensorplay as tp
from tensorplay.autograd.batching import BatchWarning
from tensorplay.compiler.capture.random_calls import draws_random_numbers
from tensorplay.core.errors import BatchError
from tensorplay.func import vmap

SIZE = 3
UNDEFINED = frozenset({"empty", "new_empty", "empty_like", "new_empty_strided"})
"""Their results are memory that nobody wrote."""
OF_MEMORY = frozenset({"as_strided", "as_strided_copy", "view_as_complex", "as_strided_scatter"})
"""They read memory, where a sample of a batch that is the last dimension lies otherwise than alone."""
EXACT = frozenset({"pointwise", "view", "index"})


def results_of(found):
    if not isinstance(found, (tuple, list)):
        return [found]
    return [leaf for each in found for leaf in results_of(each)]


def draws(operator, sample):
    """The tensors of a sample, drawn several times."""
    for number in range(SIZE):
        rng = np.random.default_rng(zlib.crc32(operator.name.encode()) + number)
        yield (
            build(sample.args, rng),
            {name: build(each, rng) for name, each in sample.kwargs.items()},
        )


def cases(operator):
    """(call of the batched tensors, drawn tensors, which of them hold the batch)."""
    for sample in good_samples(operator):
        calls = list(draws(operator, sample))
        rows = [list(tensors_in(call)) for call in calls]
        count = len(rows[0])
        if not count:
            continue
        args, kwargs = calls[0]

        def call(*tensors, args=args, kwargs=kwargs, first=rows[0]):
            swap = {id(a): b for a, b in zip(first, tensors, strict=True)}
            return tuple(results_of(operator(*replaced(args, swap), **replaced(kwargs, swap))))

        yield call, rows, tuple(range(count))
        if count > 1:
            for alone in range(count):
                yield call, rows, (alone,)


def in_loop(call, rows, which):
    """The results of all samples, one after the other; None where their shapes differ."""
    found = []
    for row in rows:
        chosen = [row[j] if j in which else rows[0][j] for j in range(len(row))]
        found.append(call(*(each.clone() for each in chosen)))
    columns = list(zip(*found, strict=True))
    if any(each.shape != column[0].shape for column in columns for each in column):
        return None
    return [tp.stack(list(column), 0) for column in columns]


def compare(found, expected, exact):
    assert found.shape == expected.shape
    assert found.dtype is expected.dtype
    a, b = found.detach().numpy(), expected.detach().numpy()
    if a.dtype.kind in "biu" or exact:
        np.testing.assert_array_equal(a, b)
        return
    half = a.dtype.itemsize == 2
    if half:
        a, b = a.astype(np.float32), b.astype(np.float32)
    tolerance = 1e-2 if half else 1e-5
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance / 10)


BATCHED = [each for each in operators() if each.name not in UNDEFINED and not each.effect]


@pytest.mark.parametrize("operator", BATCHED, ids=lambda each: each.name)
def test_a_batch_is_the_loop(operator):
    for call, rows, which in cases(operator):
        expected = in_loop(call, rows, which)
        for place in (0,) if operator.name in OF_MEMORY else (0, -1):
            stacked = [tp.stack([row[j] for row in rows], place) for j in which]
            shared = list(rows[0])
            dims = [None] * len(shared)
            for j, each in zip(which, stacked, strict=True):
                shared[j], dims[j] = each, place
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BatchWarning)
                try:
                    found = vmap(call, in_dims=tuple(dims), randomness="same")(*shared)
                except BatchError:
                    assert asks_for_data(call, rows[0]) or writes(call, rows[0])
                    continue
            assert expected is not None
            if draws_numbers(operator):
                continue  # its numbers are the generator's
            for a, b in zip(found, expected, strict=True):
                compare(a, b, operator.kind.name in EXACT)


def writes(call, tensors):
    """Whether a call writes into an argument, which then has to hold the batch."""
    copies = [each.clone() for each in tensors]
    before = [each._version for each in copies]
    call(*copies)
    return [each._version for each in copies] != before


def asks_for_data(call, tensors):
    """Whether the shape of a result of a call, or its control flow, depends on data."""
    metas = [tp.dispatch.tensor_of_meta(each.tensor_meta) for each in tensors]
    try:
        call(*metas)
    except tp.core.errors.DataNeededError:
        return True
    return False


def draws_numbers(operator):
    return draws_random_numbers(operator.name)


def test_index_operators_follow_from_their_forms():
    """The rule that the kind derives, where a written one usually takes its place."""
    written = {
        each.name: each.batching_rule
        for each in operators()
        if each.kind.name == "index" and each.batching_rule is not None
    }
    assert len(written) >= 10
    for name, rule in written.items():
        operator = tp.ops.tp[name]
        operator.batching_rule = None
        try:
            test_a_batch_is_the_loop(operator)
        finally:
            operator.batching_rule = rule
