"""Random programs of the core language (Definition 6.5): map, view and red over tensors of one dtype.

A program is drawn together with its inputs, step by step, each step from what the values so far allow; so
the eager values are there already when it is complete, and `Program.text()` prints it for a person:

    x0: float32[2, 3] reversed
    y1 = permute(x0, (1, 0))
    y2 = add(y1, y1)
    return y2
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from checks import LAYOUTS, REAL, array_of, laid_out, numpy_dtype
from hypothesis import strategies as st

import tensorplay as tp

TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.79e308}

FLOAT_UNARY = (
    *("neg", "abs", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt"),
    *(
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
    ),
    *(
        "erf",
        "erfc",
        "reciprocal",
        "sigmoid",
        "relu",
        "floor",
        "ceil",
        "round",
        "trunc",
        "sign",
        "square",
    ),
)
FLOAT_BINARY = (
    *("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin"),
    *("remainder", "fmod", "floor_divide", "pow", "atan2", "hypot", "copysign"),
)
INTEGER_UNARY = ("neg", "abs", "bitwise_not", "sign", "square")
INTEGER_BINARY = (
    *("add", "sub", "mul", "maximum", "minimum", "floor_divide", "remainder"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"),
)
BOOL_UNARY = ("logical_not",)
BOOL_BINARY = ("logical_and", "logical_or", "logical_xor")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@dataclass(frozen=True)
class Step:
    """One binding: a function of earlier values."""

    text: str
    operands: tuple[int, ...]
    apply: Callable[..., tp.Tensor]


@dataclass
class Program:
    """Inputs, steps, and the eager value of each."""

    values: list[tp.Tensor]
    inputs: list[str]
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[int, ...] = ()

    def add(self, step: Step) -> None:
        """Append a step and its eager value."""
        self.values.append(step.apply(*(self.values[k] for k in step.operands)))
        self.steps.append(step)

    def __call__(self, *inputs: tp.Tensor) -> tuple[tp.Tensor, ...]:
        """Run the program: this is the function that gets compiled."""
        values = list(inputs)
        for step in self.steps:
            values.append(step.apply(*(values[k] for k in step.operands)))
        return tuple(values[k] for k in self.outputs)

    @property
    def arguments(self) -> list[tp.Tensor]:
        """The input tensors."""
        return self.values[: len(self.inputs)]

    def text(self) -> str:
        """The program, one binding a line."""
        lines = [f"x{k}: {text}" for k, text in enumerate(self.inputs)]
        for k, step in enumerate(self.steps, len(self.inputs)):
            names = [f"x{o}" if o < len(self.inputs) else f"y{o}" for o in step.operands]
            lines.append(f"y{k} = {step.text.format(*names)}")
        return "\n".join([*lines, f"return {self.outputs}"])


def special_values(dtype: str) -> list[float]:
    """Values at which rounding, overflow or comparison go wrong, and ordinary ones."""
    if dtype == "bool":
        return [False, True]
    if dtype in TINY:
        small, step, large = TINY[dtype], EPSILON[dtype], LARGEST[dtype]
        edge = [float("nan"), float("inf"), -float("inf"), small, -small * 3, large, -large]
        return [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1 + step, 3.1415, -0.1, 7.0, *edge]
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    return [0, 1, 2, 3, 7, high, high - 1, low, low + 1, high // 2] + ([-1, -7] if low else [])


@st.composite
def arrays(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array whose entries are special values."""
    size = int(np.prod(shape))
    entries = st.sampled_from(special_values(dtype))
    values = draw(st.lists(entries, min_size=size, max_size=size))
    return np.array(values, dtype=object).astype(numpy_dtype(dtype)).reshape(shape)


@st.composite
def inputs(draw: st.DrawFn, dtype: str) -> tuple[tp.Tensor, str]:
    """An input tensor in one of several layouts, overlapping ones among them, and its description."""
    rank = draw(st.integers(0, 3))
    shape = tuple(
        draw(st.lists(st.sampled_from([0, 1, 2, 3, 3, 5, 9]), min_size=rank, max_size=rank))
    )
    layout = draw(st.sampled_from([*LAYOUTS, "expanded", "overlapping"]))
    if layout == "expanded":
        row = laid_out(draw(arrays(dtype, shape)), "contiguous").unsqueeze(0)
        tensor = row.expand(2, *shape)
    elif layout == "overlapping":
        base = draw(arrays(dtype, (8,)))
        tensor = laid_out(base, "contiguous").as_strided((3, 4), (2, 1), 0)
    else:
        tensor = laid_out(draw(arrays(dtype, shape)), layout)
    return tensor, f"{dtype}{list(tensor.shape)} {layout} strides {tuple(tensor.stride())}"


def _call(name: str, count: int) -> tuple[str, Callable[..., tp.Tensor]]:
    function = getattr(tp, name)
    places = ", ".join(["{}"] * count)
    return f"{name}({places})", function


def broadcasts(a: tp.Tensor, b: tp.Tensor) -> bool:
    """Whether two shapes broadcast to one that is small."""
    try:
        shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    except ValueError:
        return False
    return int(np.prod(shape)) <= 2000


def _of_dtype(program: Program, name: str) -> list[int]:
    dtype = getattr(tp, name)
    return [k for k, v in enumerate(program.values) if v.dtype == dtype]


def _draw_map(draw: st.DrawFn, program: Program, dtype: str) -> Step | None:
    mine, flags = _of_dtype(program, dtype), _of_dtype(program, "bool")
    first = draw(st.sampled_from(mine))
    partners = [k for k in mine if broadcasts(program.values[first], program.values[k])]
    second = draw(st.sampled_from(partners))
    if dtype == "bool":
        unary, binary = BOOL_UNARY, BOOL_BINARY
    elif dtype in TINY:
        unary, binary = FLOAT_UNARY, FLOAT_BINARY
    else:
        unary, binary = INTEGER_UNARY, INTEGER_BINARY
    kind = draw(st.sampled_from(["unary", "binary", "scalar", "compare", "where", "clamp", "cast"]))
    if kind == "unary" or (dtype == "bool" and kind in ("scalar", "clamp")):
        return Step(*_split(_call(draw(st.sampled_from(unary)), 1), (first,)))
    if kind == "binary":
        return Step(*_split(_call(draw(st.sampled_from(binary)), 2), (first, second)))
    if kind == "compare":
        return Step(*_split(_call(draw(st.sampled_from(COMPARISONS)), 2), (first, second)))
    if kind == "cast":
        other = draw(st.sampled_from(REAL))
        there, back = getattr(tp, other), getattr(tp, dtype)
        return Step(f"{{}}.to({other}).to({dtype})", (first,), lambda x: x.to(there).to(back))
    if kind == "scalar":
        number = draw(st.sampled_from([2, 3] if dtype not in TINY else [2, 0.0, 1, -1.5, 0.1]))
        name = draw(st.sampled_from(["add", "sub", "mul"]))
        function = getattr(tp, name)
        return Step(f"{name}({{}}, {number})", (first,), lambda x: function(x, number))
    if kind == "clamp":
        low, high = (0, 5) if dtype not in TINY else (-1.0, 2.5)
        return Step(f"clamp({{}}, {low}, {high})", (first,), lambda x: tp.clamp(x, low, high))
    choosers = [
        k
        for k in flags
        if broadcasts(program.values[k], program.values[first])
        and broadcasts(program.values[k], program.values[second])
    ]
    if not choosers:
        return None
    where = draw(st.sampled_from(choosers))
    return Step("where({}, {}, {})", (where, first, second), tp.where)


def _split(call: tuple[str, Callable[..., tp.Tensor]], operands: tuple[int, ...]) -> tuple:
    text, function = call
    return text, operands, function


def _draw_view(draw: st.DrawFn, program: Program) -> Step | None:
    place = draw(st.integers(0, len(program.values) - 1))
    shape = tuple(program.values[place].shape)
    rank = len(shape)
    if rank == 0:
        return Step("unsqueeze({}, 0)", (place,), lambda x: x.unsqueeze(0))
    dim = draw(st.integers(0, rank - 1))
    size = shape[dim]
    kind = draw(
        st.sampled_from(
            ["permute", "slice", "flip", "unsqueeze", "expand", "select", "flatten", "split"]
        )
    )
    if kind == "permute":
        order = tuple(draw(st.permutations(range(rank))))
        return Step(f"permute({{}}, {order})", (place,), lambda x: x.permute(*order))
    if kind == "slice":
        start, step = draw(st.integers(0, size)), draw(st.integers(1, 3))
        index = (*(slice(None),) * dim, slice(start, None, step))
        return Step(f"{{}}[dim {dim}: {start}::{step}]", (place,), lambda x: x[index])
    if kind == "flip":
        return Step(f"flip({{}}, {dim})", (place,), lambda x: x.flip(dim))
    if kind == "expand" and size == 1:
        wide = (*shape[:dim], 3, *shape[dim + 1 :])
        return Step(f"expand({{}}, {wide})", (place,), lambda x: x.expand(*wide))
    if kind == "select" and size:
        at = draw(st.integers(-size, size - 1))
        return Step(f"select({{}}, {dim}, {at})", (place,), lambda x: x.select(dim, at))
    if kind == "flatten":
        return Step("reshape({}, -1)", (place,), lambda x: x.reshape(x.numel()))
    if kind == "split" and size and size % 3 == 0:
        split = (*shape[:dim], size // 3, 3, *shape[dim + 1 :])
        return Step(f"reshape({{}}, {split})", (place,), lambda x: x.reshape(*split))
    return Step(f"unsqueeze({{}}, {dim})", (place,), lambda x: x.unsqueeze(dim))


def _draw_exact_reduction(draw: st.DrawFn, program: Program, dtype: str) -> Step | None:
    """A reduction whose value does not depend on the order: extrema, and sums of integers.

    Which of +0 and -0 is the larger is not defined, so floats get rid of -0 first.
    """
    place = draw(st.sampled_from(_of_dtype(program, dtype)))
    shape = tuple(program.values[place].shape)
    dim = draw(st.integers(-len(shape), len(shape) - 1)) if shape else -1
    keep = draw(st.booleans())
    names = ["amax", "amin"] if not shape or shape[dim] else []
    if dtype == "bool":
        names += ["any", "all"]
    if dtype not in TINY:
        names += ["sum", "prod"]
    if not names:
        return None
    name = draw(st.sampled_from(names))

    zero = 0.0 if dtype in TINY else None

    def reduce(x: tp.Tensor) -> tp.Tensor:
        return getattr(x if zero is None else x + zero, name)(dim, keepdim=keep)

    shown = "{}" if zero is None else "{} + 0.0"
    return Step(f"{name}({shown}, {dim}, keepdim={keep})", (place,), reduce)


@st.composite
def programs(draw: st.DrawFn, dtype: str, reductions: bool = True) -> Program:
    """A program of class 1: its compiled value equals its eager value bit for bit."""
    drawn = [draw(inputs(dtype)) for _ in range(draw(st.integers(1, 3)))]
    program = Program([t for t, _ in drawn], [text for _, text in drawn])
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["map", "map", "map", "view", "view", "red"]))
        if kind == "map":
            step = _draw_map(draw, program, dtype)
        elif kind == "view":
            step = _draw_view(draw, program)
        else:
            step = _draw_exact_reduction(draw, program, dtype) if reductions else None
        if step is not None:
            program.add(step)
    last = len(program.values) - 1
    more = draw(st.lists(st.integers(0, last), max_size=2, unique=True))
    program.outputs = tuple(dict.fromkeys([last, *more]))
    return program


def ordinary(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> tp.Tensor:
    """A tensor of moderate numbers, whose sums neither overflow nor are exact."""
    size = int(np.prod(shape))
    seed = draw(st.integers(0, 2**32 - 1))
    values = np.random.default_rng(seed).standard_normal(size).reshape(shape)
    return laid_out(array_of(values, dtype), draw(st.sampled_from(LAYOUTS)))
