"""Random programs that write in place through views of inputs that may overlap (3.7: compiling is unobservable).

After the call everything is compared: results, inputs, the memory under the inputs, and which results share memory
with what.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from checks import same_bits, to_array
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tensorplay as tp

Step = tuple[str, int, tuple]


@dataclass
class Writes:
    """A program over a list of tensors: views and new tensors are appended, writes happen in place."""

    steps: list[Step] = field(default_factory=list)
    outputs: tuple[int, ...] = ()

    def __call__(self, *inputs: tp.Tensor) -> tuple[tp.Tensor, ...]:
        values = list(inputs)
        for name, place, arguments in self.steps:
            result = STEPS[name](
                values[place], *(values[a.place] if isinstance(a, Ref) else a for a in arguments)
            )
            if result is not None:
                values.append(result)
        return tuple(values[k] for k in self.outputs)

    def text(self) -> str:
        return "\n".join(
            f"{name}(v{place}, {arguments})" for name, place, arguments in self.steps
        ) + (f"\nreturn {self.outputs}")


@dataclass(frozen=True)
class Ref:
    """Another value of the program."""

    place: int


def assign(x: tp.Tensor, index: object, value: object) -> None:
    x[index] = value


def discard(function: Callable[..., object]) -> Callable[..., None]:
    def run(*arguments: object) -> None:
        function(*arguments)

    return run


STEPS: dict[str, Callable[..., tp.Tensor | None]] = {
    "slice": lambda x, dim, start, step: x[(*(slice(None),) * dim, slice(start, None, step))],
    "select": lambda x, dim, at: x.select(dim, at),
    "t": lambda x: x.transpose(0, -1),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "diagonal": lambda x: x.diagonal(),
    "reshape": lambda x: x.reshape(-1),
    "plus": lambda x, number: x + number,
    "times": lambda x, y: x * y,
    "sum": lambda x: x.sum(),
    "add_": discard(lambda x, number: x.add_(number)),
    "mul_": discard(lambda x, y: x.mul_(y)),
    "relu_": discard(lambda x: x.relu_()),
    "zero_": discard(lambda x: x.zero_()),
    "copy_": discard(lambda x, y: x.copy_(y)),
    "assign": assign,
}
VIEWS = ("slice", "select", "t", "unsqueeze", "diagonal", "reshape")
WRITES = ("add_", "mul_", "relu_", "zero_", "copy_", "assign")


@st.composite
def inputs_of(draw: st.DrawFn) -> Callable[[], tuple[np.ndarray, list[tp.Tensor]]]:
    """A function that makes the same inputs anew: two views of one base that may overlap, and a tensor apart."""
    start = draw(st.integers(0, 8))
    stride = draw(st.sampled_from([1, 2]))

    def make() -> tuple[np.ndarray, list[tp.Tensor]]:
        base = np.arange(1, 33, dtype=np.float32)
        first = base[:12].reshape(3, 4)
        second = base[start : start + 12 * stride : stride].reshape(3, 4)
        return base, [tp.from_numpy(a) for a in (first, second, np.full((3, 4), 2.0, np.float32))]

    return make


@st.composite
def programs(draw: st.DrawFn) -> tuple[Writes, Callable]:
    make = draw(inputs_of())
    program = Writes()
    _, values = make()
    for _ in range(draw(st.integers(1, 7))):
        place = draw(st.integers(0, len(values) - 1))
        x = values[place]
        name = draw(st.sampled_from([*VIEWS, *WRITES, *WRITES, "plus", "times", "sum"]))
        arguments: tuple = ()
        if name in ("slice", "select", "diagonal", "t") and x.ndim == 0:
            continue
        if name == "slice":
            dim = draw(st.integers(0, x.ndim - 1))
            arguments = (dim, draw(st.integers(0, x.shape[dim])), draw(st.integers(1, 2)))
        elif name == "select":
            dim = draw(st.integers(0, x.ndim - 1))
            if x.shape[dim] == 0:
                continue
            arguments = (dim, draw(st.integers(0, x.shape[dim] - 1)))
        elif name == "diagonal" and x.ndim < 2:
            continue
        elif name in ("plus", "add_"):
            arguments = (draw(st.sampled_from([1, -0.5])),)
        elif name in ("times", "mul_", "copy_"):
            fits = [k for k, v in enumerate(values) if _fits(x, v)]
            arguments = (Ref(draw(st.sampled_from(fits))),)
        elif name == "assign":
            if x.ndim == 0 or x.shape[0] == 0:
                continue
            at = draw(st.integers(-x.shape[0], x.shape[0] - 1))
            arguments = (
                draw(st.sampled_from([at, slice(at, None), ...])),
                draw(st.sampled_from([0, 7.5])),
            )
        program.steps.append((name, place, arguments))
        result = STEPS[name](x, *(values[a.place] if isinstance(a, Ref) else a for a in arguments))
        if result is not None:
            values.append(result)
    count = len(values)
    program.outputs = tuple(draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3)))
    return program, make


def _fits(x: tp.Tensor, y: tp.Tensor) -> bool:
    try:
        return np.broadcast_shapes(tuple(x.shape), tuple(y.shape)) == tuple(x.shape)
    except ValueError:
        return False


def observe(program: Callable, make: Callable) -> tuple[list[np.ndarray], list[tuple], np.ndarray]:
    """Everything that a caller can see: values, shapes and strides, and who shares memory with whom."""
    base, inputs = make()
    results = [*program(*inputs), *inputs]
    arrays = [t.detach().numpy() for t in results]
    sharing = np.array([[np.shares_memory(a, b) for a in [*arrays, base]] for b in [*arrays, base]])
    layouts = [(tuple(t.shape), tuple(t.stride())) for t in results]
    return [*(to_array(t) for t in results), base.copy()], layouts, sharing


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "stax"])
@given(data=st.data())
@settings(max_examples=60)
def test_compiled_programs_write_what_eager_ones_write(backend, data):
    program, make = data.draw(programs())
    note(program.text())
    right, layouts, sharing = observe(program, make)
    compiled = tp.compile(program, backend=backend, strict_native=True)
    for _ in range(2):
        found, found_layouts, found_sharing = observe(compiled, make)
        for a, b in zip(found, right, strict=True):
            assert same_bits(a, b)
        assert found_layouts == layouts
        assert np.array_equal(found_sharing, sharing)
