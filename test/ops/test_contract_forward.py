"""Forward mode of every differentiable operator, composites included: <u, J v> = <Jᵀ u, v>.

`test_contract` compares the rules of single operators; here calls run as a user makes them, in
`func.jvp` and `func.vjp`, so that composites and their parts, in-place steps and views take part.
"""

import numpy as np
import pytest
from contract import build_call, float64_sample, good_samples, operators, replaced, tensors_in

import tensorplay as tp
from tensorplay.core.errors import TensorPlayError
from tensorplay.func import jvp, vjp

DIFFERENTIABLE = [each for each in operators() if each.not_differentiable is None]


def calls(operator):
    """(function of the float64 tensors of a sample, these tensors)."""
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, float64_sample(sample))
        floats = [each for each in tensors_in((args, kwargs)) if each.dtype is tp.float64]
        if not floats:
            continue

        def call(*points, args=args, kwargs=kwargs, floats=floats):
            swap = {id(a): b for a, b in zip(floats, points, strict=True)}
            found = operator(*replaced(args, swap), **replaced(kwargs, swap))
            found = found if isinstance(found, (tuple, list)) else [found]
            return tuple(
                each for each in found if isinstance(each, tp.Tensor) and each.dtype is tp.float64
            )

        yield call, [each.clone() for each in floats]


def pairing(a, b):
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("operator", DIFFERENTIABLE, ids=lambda each: each.name)
def test_forward_mode_is_the_transpose_of_reverse_mode(operator):
    rng = np.random.default_rng(0)
    for call, points in calls(operator):
        state = tp.get_rng_state()
        try:
            outputs, pull = vjp(call, *points)
        except TensorPlayError:
            continue  # float64 is refused, as of a sample for integers
        if not all(np.isfinite(each.detach().numpy()).all() for each in outputs):
            continue  # the mean of no numbers, the condition of a singular matrix
        directions = [tp.from_numpy(np.asarray(rng.uniform(-1, 1, x.shape))) for x in points]
        weights = [tp.from_numpy(np.asarray(rng.uniform(0.5, 1.5, y.shape))) for y in outputs]
        grads = pull(tuple(weights))
        tp.set_rng_state(state)
        _, tangents = jvp(call, tuple(points), tuple(directions))
        left = pairing(weights, tangents)
        right = pairing(grads if isinstance(grads, tuple) else (grads,), directions)
        assert abs(left - right) < 1e-8 * max(1.0, abs(left)) + 1e-8
