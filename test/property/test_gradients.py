"""Random differentiable programs: gradients through compiled code equal eager ones, of first and of second order."""

from collections.abc import Callable

import numpy as np
import pytest
from checks import LAYOUTS, laid_out, to_array
from hypothesis import given, note, settings
from hypothesis import strategies as st
from property.programs import Program, Step, broadcasts

import tensorplay as tp

UNARY = ("sin", "cos", "tanh", "sigmoid", "erf", "atan", "neg", "square", "asinh")
BINARY: dict[str, Callable] = {
    "add": tp.add,
    "mul": tp.mul,
    "sub": tp.sub,
    "over": lambda x, y: x / (y * y + 1),
    "hypot": lambda x, y: tp.hypot(x, y + 3),
    "matmul": lambda x, y: x @ y.transpose(0, -1),
}


def _unary(name: str, place: int) -> Step:
    return Step(f"{name}({{}})", (place,), getattr(tp, name))


def _reduction(name: str, dim: int, keep: bool, place: int) -> Step:
    shown = f"{name}({{}}, {dim}, keepdim={keep})"
    return Step(shown, (place,), lambda x: getattr(x, name)(dim, keepdim=keep))


@st.composite
def smooth_programs(draw: st.DrawFn) -> Program:
    """Map, view and red over float64 tensors of two dimensions, and a sum at the end."""
    seed = draw(st.integers(0, 2**31))
    generator = np.random.default_rng(seed)
    values, described = [], []
    for _ in range(draw(st.integers(1, 2))):
        shape = draw(st.sampled_from([(3, 4), (1, 4), (3, 1), (3, 3), (5, 4)]))
        layout = draw(st.sampled_from(LAYOUTS))
        values.append(laid_out(generator.standard_normal(shape), layout).requires_grad_())
        described.append(f"float64{list(shape)} {layout}")
    program = Program(values, described)
    for _ in range(draw(st.integers(1, 7))):
        place = draw(st.integers(0, len(program.values) - 1))
        x = program.values[place]
        kind = draw(st.sampled_from(["unary", "binary", "binary", "view", "red"]))
        if kind == "unary":
            program.add(_unary(draw(st.sampled_from(UNARY)), place))
        elif kind == "binary":
            name = draw(st.sampled_from(list(BINARY)))
            fits = [
                k
                for k, y in enumerate(program.values)
                if (x.shape[-1] == y.shape[-1] if name == "matmul" else broadcasts(x, y))
            ]
            if fits:
                pair = (place, draw(st.sampled_from(fits)))
                program.add(Step(f"{name}({{}}, {{}})", pair, BINARY[name]))
        elif kind == "view":
            view = draw(st.sampled_from(["t", "slice", "flip", "cat"]))
            function = {
                "t": lambda x: x.transpose(0, 1),
                "slice": lambda x: x[:, 1:] if x.shape[1] > 1 else x,
                "flip": lambda x: x.flip(1),
                "cat": lambda x: tp.cat([x, x.sin()], 0),
            }[view]
            program.add(Step(f"{view}({{}})", (place,), function))
        else:
            names = (
                ["sum", "mean", "logsumexp", "amax", "var"] if x.shape[1] > 1 else ["sum", "mean"]
            )
            program.add(_reduction(draw(st.sampled_from(names)), 1, True, place))
    last = len(program.values) - 1
    program.add(Step("sum({})", (last,), lambda x: x.sum()))
    program.outputs = (last + 1,)
    return program


def gradients(function: Callable, inputs: list[tp.Tensor], second: bool) -> list[np.ndarray]:
    """First gradients by all inputs; with `second`, of the sum of their squares once more."""
    (y,) = function(*inputs)
    first = tp.autograd.grad(y, inputs, create_graph=second, allow_unused=True)
    found = [g for g in first if g is not None]
    if second:
        total = sum((g * g).sum() for g in found)
        if not (isinstance(total, tp.Tensor) and total.requires_grad):
            return []
        found = [g for g in tp.autograd.grad(total, inputs, allow_unused=True) if g is not None]
    return [to_array(g) for g in found]


@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("backend", ["aot_eager", "stax"])
@given(data=st.data())
@settings(max_examples=25)
def test_compiled_gradients_equal_eager_ones(backend, second, data):
    program = data.draw(smooth_programs())
    note(program.text())
    compiled = tp.compile(program, backend=backend, strict_native=True)
    right = gradients(program, program.arguments, second)
    found = gradients(compiled, program.arguments, second)
    assert len(found) == len(right)
    for a, b in zip(found, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
