"""One suite over the registry: every operator, every declared sample, against what its declaration promises."""

import numpy as np
import pytest
from contract import (
    ArrayHandler,
    bad_samples,
    build_call,
    float64_sample,
    good_samples,
    operators,
    replaced,
    tensors_in,
    without_data,
)

import tensorplay as tp
from tensorplay import dispatch
from tensorplay.core.errors import DataNeededError, IndexRangeError, NotDifferentiableError
from tensorplay.ops.expression import Recorder, differentiate
from tensorplay.ops.kinds import Composite, Index, Pointwise, Reduction, Reinterpreted, View
from tensorplay.ops.kinds.index import Gather, Merged, Pieces, Scatter
from tensorplay.ops.registry import to_metas
from tensorplay.ops.registry import tp as registry
from tensorplay.ops.samples import Arg

OPERATORS = operators()
every_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name)


def of_kind(kind):
    chosen = [each for each in OPERATORS if isinstance(each.kind, kind)]
    return pytest.mark.parametrize("operator", chosen, ids=lambda each: each.name)


def that(predicate):
    chosen = [each for each in OPERATORS if predicate(each)]
    return pytest.mark.parametrize("operator", chosen, ids=lambda each: each.name)


def is_random(operator):
    return operator.effect or "random" in operator.family


def has_gradient(operator):
    return operator.not_differentiable is None and not is_random(operator)


def results_of(found):
    return list(tensors_in(found))


def test_every_declaration_is_complete():
    registry.freeze()


def test_names_are_found_again():
    for operator in OPERATORS:
        assert getattr(registry, operator.name) is operator
        for name in operator.kind.overload_names(operator):
            overload = operator.overload(name)
            assert str(overload) == f"tensorplay.ops.tp.{operator.name}.{name}"
            assert getattr(operator, name) is overload


@every_operator
def test_meta_equals_eager(operator):
    """Shape, dtype, strides and offset of the meta rule are those of the eager result."""
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        eager = operator(*args, **kwargs)
        try:
            meta = operator(*without_data(args), **without_data(kwargs))
        except DataNeededError:
            continue  # the shape depends on data
        if not list(tensors_in((args, kwargs))):
            meta = operator.meta(*args, **kwargs)
            metas = meta if isinstance(meta, tuple) else (meta,)
        else:
            metas = [each.tensor_meta for each in results_of(meta)]
        found = [each.tensor_meta for each in results_of(eager)]
        assert len(found) == len(metas)
        for expected, actual in zip(metas, found, strict=True):
            assert actual.shape == expected.shape, sample
            assert actual.dtype is expected.dtype, sample
            assert actual.strides == expected.strides, sample
            if operator.kind.is_view:
                assert actual.offset == expected.offset, sample


@every_operator
def test_normalized_calls_bind_to_themselves(operator):
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        values = operator.signature.bind(args, kwargs)
        overload = operator.overload_of(values)
        shown_args, shown_kwargs = overload.normalize(args, kwargs)
        again = overload.bind(shown_args, shown_kwargs)
        assert len(again) == len(values)
        assert all(
            a is b or a == b
            for a, b in zip(again, values, strict=True)
            if not isinstance(a, (tp.Tensor, tuple))
        )
        assert operator.overload_of(again) is overload


@every_operator
def test_bad_calls_are_refused(operator):
    """With the error and the words that the declaration states, eager and without data."""
    for sample in bad_samples(operator):
        args, kwargs = build_call(operator, sample)
        with pytest.raises(sample.error, match=sample.match):
            operator(*args, **kwargs)
        if not issubclass(sample.error, IndexRangeError) and list(tensors_in((args, kwargs))):
            with pytest.raises(sample.error, match=sample.match):
                operator(*without_data(args), **without_data(kwargs))


@every_operator
def test_arguments_are_left_alone(operator):
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        inputs = list(tensors_in((args, kwargs)))
        before = [each.numpy().tobytes() for each in inputs]
        operator(*args, **kwargs)
        assert before == [each.numpy().tobytes() for each in inputs]


@that(lambda each: isinstance(each.kind, (Pointwise, View)) and not is_random(each))
def test_half_precision_rounds_the_float32_result(operator):
    """Compute in float32 and round once: a half result is the rounded result of the float32 call."""
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        halves = [each for each in tensors_in((args, kwargs)) if each.dtype is tp.bfloat16]
        others = [each for each in tensors_in((args, kwargs)) if each.dtype is not tp.bfloat16]
        if not halves or any(each.is_floating_point() for each in others):
            continue
        half = operator(*args, **kwargs)
        swap = {id(each): each.to(tp.float32) for each in halves}
        whole = operator(*replaced(args, swap), **replaced(kwargs, swap))
        assert np.array_equal(
            half.float().numpy(), whole.to(half.dtype).float().numpy(), equal_nan=True
        )


# ---- interpretations of a kind agree ------------------------------------------------------------------


@of_kind(Pointwise)
def test_expression_equals_kernel(operator):
    """The lowering's view of a pointwise operator, run on arrays, gives the kernel's bits."""
    handler = ArrayHandler()
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        values = operator.signature.bind(args, kwargs)
        eager = operator(*args, **kwargs)
        loaded = {
            parameter.name: handler.of(value.numpy())
            for parameter, value in zip(operator.signature.parameters, values, strict=True)
            if isinstance(value, tp.Tensor)
        }
        grids = np.indices(eager.shape, np.int64)
        linear = np.arange(eager.numel(), dtype=np.int64).reshape(eager.shape)
        found = operator.kind.expression(
            operator,
            to_metas(values),
            handler,
            loaded,
            [handler.of(each) for each in grids],
            handler.of(linear),
        )
        assert found.dtype is eager.dtype
        data = np.broadcast_to(found.data, eager.shape)
        assert same_values(data, eager.numpy()), sample


def same_values(a, b):
    if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":
        a, b = a.astype(np.float32), b.astype(np.float32)
    equal = (a == b) | ((a != a) & (b != b))
    signs = np.signbit(a) == np.signbit(b) if a.dtype.kind == "f" else True
    return bool(np.all(equal & (signs | (a != a))))


@of_kind(Reduction)
def test_folding_the_monoid_equals_the_kernel(operator):
    """before, combine from left to right, after: exact for integers and order, close for floats."""
    handler = ArrayHandler()
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        values = operator.signature.bind(args, kwargs)
        kind, array = operator.kind, args[0].numpy()
        eager = operator(*args, **kwargs)
        dims = kind.dims(operator, values)
        kept = [i for i in range(array.ndim) if i not in dims]
        moved = array.transpose([*kept, *dims]).reshape([*(array.shape[i] for i in kept), -1])
        count = moved.shape[-1]
        if count == 0:
            continue
        state = None
        for k in range(count):
            element = kind.before(operator, to_metas(values), handler.of(np.asarray(moved[..., k])))
            one = {
                1: lambda e=element: (e,),
                2: lambda e=element, k=k: (e, handler.constant(k, tp.int64)),
                3: lambda e=element: (
                    e,
                    handler.constant(0.0, e.dtype),
                    handler.constant(1.0, e.dtype),
                ),
            }[kind.monoid.components]()
            state = one if state is None else kind.monoid.combine(state, one)
        found = kind.after(
            operator, to_metas(values), state, handler.constant(count, state[0].dtype)
        )
        assert found.dtype is eager.dtype
        data = np.broadcast_to(found.data, [array.shape[i] for i in kept]).reshape(eager.shape)
        wanted = eager.numpy()
        if wanted.dtype.kind in "biu":
            assert np.array_equal(data, wanted), sample
        else:
            tolerance = 1e-2 if wanted.dtype.itemsize == 2 else 1e-5
            np.testing.assert_allclose(
                data.astype(np.float64), wanted.astype(np.float64), tolerance, 1e-30
            )


@of_kind(View)
def test_index_map_equals_the_view(operator):
    """Each element of the view is the element that the index map names; memory is shared unless it copies."""
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        values = operator.signature.bind(args, kwargs)
        source = args[0].numpy()
        view = operator(*args, **kwargs)
        if operator.name == "as_strided" or isinstance(operator.kind, Reinterpreted):
            continue  # they speak of memory; see test_as_strided, test_complex_numbers
        found = operator.kind.view_map(args[0].tensor_meta, *values[1:])
        assert tuple(found.shape) == view.shape
        for index in np.ndindex(*view.shape):
            assert view.numpy()[index] == source[tuple(found.source(list(index)))]
        if operator.kind.is_view and view.numel():
            assert view.storage is args[0].storage
            assert np.shares_memory(view.numpy(), source)
        elif not operator.kind.is_view:
            assert not np.shares_memory(view.numpy(), source)


@that(
    lambda each: (
        isinstance(each.kind, View)
        and not isinstance(each.kind, Reinterpreted)
        and (each.kind.inverse or each.kind.scatter)
    )
)
def test_writing_back_through_a_view(operator):
    """The inverse scatter puts a value where the view reads it and leaves the rest."""
    kind = operator.kind
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        values = operator.signature.bind(args, kwargs)
        base = args[0]
        view = operator(*args, **kwargs)
        if tp.core.layout.has_internal_overlap(view.shape, view.strides):
            continue
        value = tp.arange(float(view.numel())).reshape(view.shape).to(view.dtype) + 100
        rebuilt = kind.scattered(operator, base.tensor_meta, values[1:], base, value)
        assert rebuilt.shape == base.shape
        again = operator(rebuilt.contiguous(), *values[1:])
        assert tp.equal(again, value)
        inside = operator(tp.arange(base.numel()).reshape(base.shape), *values[1:])
        outside = np.setdiff1d(np.arange(base.numel()), inside.numpy().reshape(-1))
        kept = rebuilt.numpy().reshape(-1)[outside]
        assert np.array_equal(kept, base.contiguous().numpy().reshape(-1)[outside])


@of_kind(Index)
def test_form_equals_the_kernel(operator):
    """The declared index function, run element by element, gives the kernel's result."""
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, sample)
        values = operator.signature.bind(args, kwargs)
        eager = operator(*args, **kwargs)
        form = operator.kind.form(operator, to_metas(values))
        found = run_form(operator, form, values)
        np.testing.assert_allclose(
            found.astype(np.float64),
            eager.numpy().astype(np.float64),
            1e-2 if eager.itemsize == 2 else 1e-6,
            1e-6 if isinstance(form, Merged) else 0,  # sums in another order
        )
        assert found.shape == eager.shape


def run_form(operator, form, values):
    def array_of(name):
        base, _, item = name.partition(".")
        value = values[operator.signature.places[base]]
        found = value[int(item)] if item else value
        return found.numpy() if isinstance(found, tp.Tensor) else np.asarray(found)

    def read(name, index, size, *, wraps=True):
        place = int(array_of(name)[tuple(index)])
        place = place + size if place < 0 and wraps else place
        assert 0 <= place < size
        return place

    match form:
        case Gather():
            result = np.empty(form.shape, array_of(form.source).dtype)
            for i in np.ndindex(*form.shape):
                result[i] = array_of(form.source)[tuple(form.place(list(i), read))]
        case Scatter():
            result = np.array(array_of(form.base), order="C")
            wide = result.astype(np.float32) if result.dtype.itemsize == 2 else result
            for i in np.ndindex(*form.domain):
                place = tuple(form.place(list(i), read))
                values_given = array_of(form.value)
                value = (
                    values_given[tuple(form.value_place(list(i)))]
                    if values_given.ndim
                    else values_given
                )
                if form.combine is None:
                    wide[place] = value
                else:
                    handler = ArrayHandler()
                    pair = (
                        handler.of(np.asarray(wide[place])),
                        handler.of(np.asarray(value, wide.dtype)),
                    )
                    wide[place] = form.combine.combine((pair[0],), (pair[1],))[0].data
            result = wide.astype(result.dtype)
        case Pieces():
            first = next(each.source for each in form.pieces if isinstance(each.source, str))
            result = np.empty(form.shape, array_of(first).dtype)
            for i in np.ndindex(*form.shape):
                result[i] = chosen_piece(form, i, array_of)[0]
        case Merged():
            result = np.empty(form.shape, operator.meta(*to_metas(values)).dtype.numpy)
            for i in np.ndindex(*form.shape):
                result[i] = merged(form, i, array_of)
    return result


def chosen_piece(form, index, array_of):
    """An element of pieces, and whether it is read from a tensor."""
    for piece in form.pieces:
        if all(
            c.low <= c.value < c.high and (c.value - c.low) % c.step == 0
            for c in piece.conditions(list(index))
        ):
            if isinstance(piece.source, str):
                return array_of(piece.source)[tuple(piece.place(list(index)))], True
            return piece.source, False
    raise AssertionError(index)


def merged(form, index, array_of):
    points = [(*index, *k) for k in np.ndindex(*form.sizes)]
    found = [(point, *chosen_piece(form.pieces, point, array_of)) for point in points]
    if form.place is not None:
        read = [(point, value) for point, value, is_read in found if is_read]
        greatest = int(np.argmax([value for _, value in read]))
        return form.place(list(read[greatest][0]))
    elements = np.array([value for _, value, _ in found])
    return form.monoid.reduce(elements.astype(np.float64), (0,), False)[0]


# ---- derivatives -----------------------------------------------------------------------------------------


def differentiable_calls(operator):
    """Float64 calls with data, and which of their tensors can have a gradient."""
    for sample in good_samples(operator):
        args, kwargs = build_call(operator, float64_sample(sample))
        floats = [each for each in tensors_in((args, kwargs)) if each.dtype is tp.float64]
        if floats and not has_given_floats((sample.args, sample.kwargs)):
            yield args, kwargs, floats


def has_given_floats(value):
    """Exact values hold ties, NaN and infinities, where a difference says nothing."""
    if isinstance(value, Arg):
        return value.values is not None and value.dtype.is_floating_point
    if isinstance(value, dict):
        return has_given_floats(tuple(value.values()))
    return isinstance(value, (tuple, list)) and any(has_given_floats(each) for each in value)


def outputs_of(operator, args, kwargs):
    return [each for each in results_of(operator(*args, **kwargs)) if each.dtype is tp.float64]


def weights_like(outputs, seed=0):
    rng = np.random.default_rng(seed)
    return [tp.from_numpy(rng.uniform(0.5, 1.5, each.shape)) for each in outputs]


def weighted(outputs, weights):
    total = 0.0
    for output, weight in zip(outputs, weights, strict=True):
        total = total + (output * weight).sum()
    return total


STEP = 1e-6
ROUNDING = frozenset(
    {"floor", "ceil", "trunc", "round", "sign", "floor_divide", "frac", "nextafter"}
)


@that(has_gradient)
def test_gradient_is_the_slope(operator):
    """<gradient, direction> equals the central difference along a random direction."""
    for args, kwargs, floats in differentiable_calls(operator):
        leaves = [each.detach().clone().requires_grad_() for each in floats]
        swap = {id(a): b for a, b in zip(floats, leaves, strict=True)}
        outputs = outputs_of(operator, replaced(args, swap), replaced(kwargs, swap))
        outputs = [each for each in outputs if each.requires_grad]
        if not outputs:
            continue
        weights = weights_like(outputs)
        grads = tp.autograd.grad(weighted(outputs, weights), leaves, allow_unused=True)
        rng = np.random.default_rng(1)
        directions = [tp.from_numpy(rng.uniform(-1, 1, each.shape)) for each in floats]
        slope = sum(
            float((g * d).sum()) for g, d in zip(grads, directions, strict=True) if g is not None
        )
        for grad, leaf in zip(grads, leaves, strict=True):
            if grad is not None:
                assert grad.shape == leaf.shape
                assert grad.dtype is leaf.dtype
        if operator.name in ROUNDING and operator.name != "frac":
            continue
        values = []
        for sign in (1, -1):
            moved = {id(a): a + d * (sign * STEP) for a, d in zip(floats, directions, strict=True)}
            found = outputs_of(operator, replaced(args, moved), replaced(kwargs, moved))
            values.append(float(weighted(found[: len(weights)], weights)))
        if not np.isfinite(values).all():
            continue  # the variance of one number, the logarithm of an empty sum
        difference = (values[0] - values[1]) / (2 * STEP)
        scale = max(
            1.0,
            abs(difference),
            sum(
                float((g * d).abs().sum())
                for g, d in zip(grads, directions, strict=True)
                if g is not None
            ),
        )
        assert abs(slope - difference) < 1e-6 * scale + 1e-6, (args, slope, difference)


@that(lambda each: has_gradient(each) and each.name not in ROUNDING)
def test_second_gradient_is_the_slope_of_the_first(operator):
    for args, kwargs, floats in differentiable_calls(operator):
        rng = np.random.default_rng(2)
        directions = [tp.from_numpy(rng.uniform(-1, 1, each.shape)) for each in floats]
        probes = [tp.from_numpy(rng.uniform(-1, 1, each.shape)) for each in floats]

        def slope(points, *, create_graph, args=args, kwargs=kwargs, floats=floats, probes=probes):
            swap = {id(a): b for a, b in zip(floats, points, strict=True)}
            outputs = outputs_of(operator, replaced(args, swap), replaced(kwargs, swap))
            outputs = [each for each in outputs if each.requires_grad]
            if not outputs:
                return None
            grads = tp.autograd.grad(
                weighted(outputs, weights_like(outputs)),
                points,
                create_graph=create_graph,
                allow_unused=True,
            )
            total = None
            for grad, probe in zip(grads, probes, strict=True):
                if grad is not None:
                    part = (grad * probe).sum()
                    total = part if total is None else total + part
            return total

        leaves = [each.detach().clone().requires_grad_() for each in floats]
        first = slope(leaves, create_graph=True)
        if first is None:
            continue
        if first.requires_grad:
            grads = tp.autograd.grad(first, leaves, allow_unused=True)
        else:
            grads = [None] * len(leaves)
        found = sum(
            float((g * d).sum()) for g, d in zip(grads, directions, strict=True) if g is not None
        )
        values = []
        for sign in (1, -1):
            moved = [
                (a + d * (sign * STEP)).detach().requires_grad_()
                for a, d in zip(floats, directions, strict=True)
            ]
            values.append(float(slope(moved, create_graph=False)))
        if not np.isfinite(values).all():
            continue  # the variance of one number, the logarithm of an empty sum
        difference = (values[0] - values[1]) / (2 * STEP)
        assert abs(found - difference) < 1e-5 * max(1.0, abs(difference)) + 1e-5, (
            args,
            found,
            difference,
        )


@that(lambda each: has_gradient(each) and not isinstance(each.kind, Composite))
def test_tangent_is_the_transpose_of_the_gradient(operator):
    """<u, J v> = <J^T u, v>, with the operator's own jvp and vjp."""
    for args, kwargs, _ in differentiable_calls(operator):
        values = operator.signature.bind(args, kwargs)
        tensors = operator.tensors(values)
        result = operator(*args, **kwargs)
        outputs = [each for each in results_of(result) if each.dtype is tp.float64]
        if not outputs:
            continue
        rng = np.random.default_rng(3)
        tangents = [
            tp.from_numpy(rng.uniform(-1, 1, each.shape)) if each.dtype is tp.float64 else None
            for each in tensors
        ]
        try:
            forward = operator.jvp(values, result, tangents)
        except NotDifferentiableError as error:
            pytest.fail(f"no forward mode: {error}")
        weights = weights_like(outputs)
        left = 0.0
        if forward is not None:
            forwards = [
                each
                for each in results_of(forward)
                if each is not None and each.dtype is tp.float64
            ]
            assert [each.shape for each in forwards] == [each.shape for each in outputs]
            left = float(weighted(forwards, weights))
        pullback = operator.vjp(values, result, [each is not None for each in tangents])
        right = 0.0
        if pullback is not None:
            queue = list(weights)
            grads = tuple(
                queue.pop(0) if each.dtype is tp.float64 else None for each in results_of(result)
            )
            found = pullback.pull(grads, pullback.saved, [each is not None for each in tangents])
            right = sum(
                float((g * t).sum())
                for g, t in zip(found, tangents, strict=True)
                if g is not None and t is not None
            )
        if np.isnan(left) and np.isnan(right):
            continue  # the variance of one number
        assert abs(left - right) < 1e-9 * max(1.0, abs(left)) + 1e-9


def test_written_gradients_equal_the_derived_ones():
    for operator in OPERATORS:
        if isinstance(operator.kind, Pointwise) and operator.gradients:
            compare_written_and_derived(operator)


def compare_written_and_derived(operator):
    for args, kwargs, _ in differentiable_calls(operator):
        values = operator.signature.bind(args, kwargs)
        result = operator(*args, **kwargs)
        needs = [each.dtype is tp.float64 for each in operator.tensors(values)]
        if result.dtype.is_complex:
            continue
        grad = weights_like([result])[0]
        written = operator.vjp(values, result, needs)
        derived = operator.kind.pullback(operator, values, result, needs)
        for a, b in zip(
            written.pull((grad,), written.saved, needs),
            derived.pull((grad,), derived.saved, needs),
            strict=True,
        ):
            if a is not None and b is not None:
                np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-9, 1e-12)


@that(lambda each: isinstance(each.kind, Pointwise) and has_gradient(each) and not each.gradients)
def test_saved_tensors_are_those_that_the_derivative_reads(operator):
    """The companion takes grad, what the partial reads, and nothing else."""
    for args, kwargs, floats in differentiable_calls(operator):
        values = operator.signature.bind(args, kwargs)
        result = operator(*args, **kwargs)
        if result.dtype is not tp.float64:
            continue
        tensors = operator.tensors(values)
        needs = [any(each is leaf for leaf in floats) for each in tensors]
        pullback = operator.vjp(values, result, needs)
        read = set()
        names = [
            p.name
            for p, v in zip(operator.signature.parameters, values, strict=True)
            if isinstance(v, tp.Tensor)
        ]
        for name, need in zip(names, needs, strict=True):
            derivative = operator.kind.derivative(operator, values, name) if need else None
            if derivative is None:
                continue
            arguments = {each for each in derivative.arguments if isinstance(each, str)} - {"grad"}
            if derivative.operator is not None and "_backward" in derivative.operator.name:
                use_result = "result" in arguments
                program = operator.kind.differential(
                    operator, values, name, tp.float64, use_result=use_result
                )
                arguments &= set(program.inputs)
            read |= arguments
        known = {**dict(zip(names, tensors, strict=True)), "result": result}
        wanted = {id(known[name]) for name in read if name in known}
        assert {id(each) for each in pullback.saved} == wanted


# ---- places where a result is given by decree -------------------------------------------------------------


def test_derivatives_at_kinks():
    """PyTorch's documented values: 0 for relu and abs at 0, halves for equal operands of maximum, bounds of clamp pass."""
    zero = tp.tensor([0.0, -0.0], requires_grad=True)
    for function in (tp.relu, tp.abs):
        assert tp.autograd.grad(function(zero).sum(), zero)[0].tolist() == [0.0, 0.0]
    a, b = (tp.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    for function in (tp.maximum, tp.minimum):
        assert [g.tolist() for g in tp.autograd.grad(function(a, b).sum(), [a, b])] == [
            [0.5, 0.5]
        ] * 2
    x = tp.tensor([-2.0, -1.0, 0.0, 1.0, 2.0, float("nan")], requires_grad=True)
    assert tp.autograd.grad(x.clamp(-1, 1).sum(), x)[0].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    y = tp.tensor([[1.0, 3.0, 3.0]], requires_grad=True)
    assert tp.autograd.grad(y.amax(1).sum(), y)[0].tolist() == [[0.0, 0.5, 0.5]]


def test_a_pointwise_gradient_of_integers_is_none():
    x = tp.tensor([1.0, 2.0], requires_grad=True)
    n = tp.tensor([2, 3])
    (grad,) = tp.autograd.grad((x * n).sum(), [x])
    assert grad.tolist() == [2.0, 3.0]


def test_differentiating_a_recorded_program():
    recorder = Recorder()
    x = recorder.input("x", tp.float32)
    program = recorder.finish(x * x)
    derivative = differentiate(program, "x")
    assert set(derivative.inputs) == {"x", "grad"}
    assert differentiate(program, "y") is None


def test_modes_see_operators_with_normalized_arguments():
    seen = []

    class Watch(dispatch.OperatorMode):
        def call(self, overload, args, kwargs):
            seen.append((str(overload), args[1:], kwargs))
            return overload(*args, **kwargs)

    with Watch():
        x = tp.ones(64, 128)
        (tp.relu(x + x) * 2).sum(-1)
    names = [name.removeprefix("tensorplay.ops.tp.") for name, _, _ in seen]
    assert names == ["full.Scalar", "add.Tensor", "relu.default", "mul.Scalar", "sum.dim_IntList"]
    assert seen[1][2] == {"alpha": 1}
    assert seen[3][1] == (2,)
    assert seen[4][1:] == (([-1], False), {"dtype": tp.undefined})
