"""The loop-level representation (section 6): tensors as functions from indices to values, and buffers.

In: what the lowering rules make. Out: a `LoopProgram`: input buffers, computed buffers (a `Pointwise`, `Reduction`,
`Scan` or `Scatter` each) and buffers of external calls, all with fixed layouts, in the order of computation. The text
is that of the chapter's Listings 6.2 to 6.4:

    ComputedBuffer(name='buf2', layout=FixedLayout('cpu', float32, size=[64], stride=[1]), data=Reduction(
      'cpu',
      tensorplay.float32,
      def inner_fn(index, rindex):
          i0 = index
          r0_0 = rindex
          tmp0 = ops.load('primals_1', 128*i0 + r0_0)
          ...

An `inner_fn` takes a handler, the index (a tuple of expressions) and, in reductions, the reduction index; it returns
a `Value` (`argmax` and `argmin`: value and index). What it means depends on the handler alone (6.7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tensorplay.compiler.backends.stax.handlers.recording import RecordingHandler
from tensorplay.compiler.backends.stax.handlers.symbolic import BufferFacts
from tensorplay.compiler.backends.stax.handlers.text import TextHandler
from tensorplay.compiler.backends.stax.index import Expr, Symbol, linear_index, variable
from tensorplay.compiler.backends.stax.intervals import Interval
from tensorplay.compiler.backends.stax.loop_body import LoopBody
from tensorplay.core.readable import Readable
from tensorplay.ops.values import Value

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.ops.registry import Overload

Index: TypeAlias = tuple[Expr, ...]
PointwiseFn: TypeAlias = "Callable[[SymbolicHandler, Index], Value]"
ReductionFn: TypeAlias = "Callable[[SymbolicHandler, Index, Index], tuple[Value, ...]]"
ScatterFn: TypeAlias = "Callable[[SymbolicHandler, Index], tuple[Index, Value]]"


@dataclass(frozen=True, slots=True)
class FixedLayout:
    """Shape, strides and offset in elements (Definition 6.2)."""

    device: Device
    dtype: DType
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0

    def address(self, index: Index) -> Expr:
        """Return the place of an element."""
        return linear_index(index, self.stride, self.offset)

    @property
    def reach(self) -> int:
        """The number of elements from the first to the last place that is used, for strides that aren't negative."""
        if 0 in self.size:
            return 0
        return 1 + sum((n - 1) * abs(t) for n, t in zip(self.size, self.stride, strict=True))

    def facts(self) -> BufferFacts:
        """Return the dtype, and the places from the first element that exist."""
        if 0 in self.size:
            return BufferFacts(self.dtype, Interval(0, -1))
        steps = [(n - 1) * t for n, t in zip(self.size, self.stride, strict=True)]
        reach = Interval(sum(s for s in steps if s < 0), sum(s for s in steps if s > 0))
        return BufferFacts(self.dtype, reach)

    def text(self, *, as_tuple: bool = False) -> str:
        """Return the layout as the listings print it; the size of a pointwise buffer is a tuple there."""
        size = str(self.size) if as_tuple else str(list(self.size))
        offset = f", offset={self.offset}" if self.offset else ""
        return (
            f"FixedLayout('{self.device}', {self.dtype.name}, size={size}, "
            f"stride={list(self.stride)}{offset})"
        )


# ---- loops ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One value for every index in `ranges` (Definition 6.1)."""

    dtype: DType
    ranges: tuple[int, ...]
    inner_fn: PointwiseFn


@dataclass(frozen=True, slots=True)
class Reduction:
    """For every index in `ranges`, the merge of the values over `reduction_ranges` (Definition 6.1).

    `kind` names the monoid, see `loop_body.Reduce`; `part` picks one component of a `welford` reduction.
    """

    dtype: DType
    ranges: tuple[int, ...]
    reduction_ranges: tuple[int, ...]
    kind: str
    inner_fn: ReductionFn
    part: int | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """The running merge of values along dimension `dim` of `ranges`."""

    dtype: DType
    ranges: tuple[int, ...]
    dim: int
    kind: str
    inner_fn: PointwiseFn


@dataclass(frozen=True, slots=True)
class Scatter:
    """For every index in `ranges`, write a value to a place of `target` that may depend on data.

    `inner_fn` gives the place as an index into `target`, and the value. `mode` as in `loop_body.Store`.
    """

    dtype: DType
    ranges: tuple[int, ...]
    target: str
    mode: str
    inner_fn: ScatterFn


Loops: TypeAlias = Pointwise | Reduction | Scan | Scatter


# ---- buffers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InputBuffer(Readable):
    """An argument of the compiled function, whose layout the caller decides."""

    name: str
    layout: FixedLayout

    def text(self) -> str:
        """Return one line."""
        return f"InputBuffer(name={self.name!r}, layout={self.layout.text()})"


@dataclass(frozen=True, slots=True)
class ComputedBuffer:
    """A tensor written by loops. A scatter has no memory of its own: it changes its target's."""

    name: str
    layout: FixedLayout
    data: Loops
    origins: tuple[str, ...]

    @property
    def storage(self) -> str:
        """The name of the buffer whose memory is written."""
        return self.data.target if isinstance(self.data, Scatter) else self.name

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to compute."""
        return 0 in self.data.ranges


@dataclass(frozen=True, slots=True)
class ExternBuffer(Readable):
    """One result of a call of an operator's own kernel; all results of one call share `call`."""

    name: str
    layout: FixedLayout
    call: ExternCall
    position: int

    def text(self) -> str:
        """Return one line."""
        inside = ", ".join([*map(argument_text, self.call.args), *(
            f"{k}={argument_text(v)}" for k, v in self.call.kwargs.items()
        )])  # fmt: skip
        return (
            f"ExternBuffer(name={self.name!r}, layout={self.layout.text()}, "
            f"call={self.call.overload}({inside}))"
        )


@dataclass(frozen=True, slots=True)
class StridedView:
    """A view of a buffer that an external call reads: `layout` places its elements in the buffer's memory."""

    buffer: str
    layout: FixedLayout


@dataclass(frozen=True, slots=True, eq=False)
class ExternCall:
    """A call of an operator on realized tensors; a `StridedView` stands for each, also inside lists."""

    overload: Overload
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    into: bool
    effect: bool
    origin: str


Buffer: TypeAlias = InputBuffer | ComputedBuffer | ExternBuffer


@dataclass(frozen=True)
class LoopProgram(Readable):
    """All buffers in the order of computation, and the names of those that are returned.

    `bodies` holds the loop body of every computed buffer that has elements. `fallbacks` names the calls that have no lowering.
    `write_backs` gives for an output the input whose memory the caller will overwrite with it.
    """

    buffers: tuple[Buffer, ...]
    bodies: Mapping[str, LoopBody]
    outputs: tuple[str, ...]
    fallbacks: tuple[str, ...] = ()
    write_backs: Mapping[str, str] = field(default_factory=dict)

    @property
    def computed(self) -> tuple[ComputedBuffer, ...]:
        """The buffers that loops write."""
        return tuple(b for b in self.buffers if isinstance(b, ComputedBuffer))

    def facts(self) -> dict[str, BufferFacts]:
        """Return what handlers know of every buffer."""
        return {b.name: b.layout.facts() for b in self.buffers}

    def text(self) -> str:
        """Return every buffer in the form of the chapter's listings."""
        facts = self.facts()
        return "\n".join(
            computed_text(b, facts) if isinstance(b, ComputedBuffer) else b.text()
            for b in self.buffers
        )


# ---- interpretations -----------------------------------------------------------------------------


def loop_variables(prefix: str, ranges: tuple[int, ...]) -> Index:
    """Return one variable a range, named `i0`, `i1` and so on, or `r0_0`, `r0_1`."""
    return tuple(variable(f"{prefix}{k}", size) for k, size in enumerate(ranges))


def symbols_of(index: Index) -> tuple[Symbol, ...]:
    """Return the loop variables that have more than one value."""
    return tuple(s for s in (e.as_symbol() for e in index) if s is not None)


def record_body(
    data: Loops, name: str, place: Callable[[Index], Expr], buffers: Mapping[str, BufferFacts]
) -> LoopBody:
    """Run an `inner_fn` once and return the loop body that writes buffer `name`; `place` gives addresses in it.

    Loops of one iteration are dropped, since their variable is the constant zero.
    """
    handler = RecordingHandler(buffers)
    index = loop_variables("i", data.ranges)
    reduced: Index = ()
    scanned = None
    match data:
        case Pointwise():
            handler.store(name, place(index), handler.token(data.inner_fn(handler, index)))
        case Reduction():
            reduced = loop_variables("r0_", data.reduction_ranges)
            values = [handler.token(v) for v in data.inner_fn(handler, index, reduced)]
            result = handler.reduce(data.kind, values, data.dtype)
            if data.part is not None:
                result = handler.part(result, data.part, data.dtype)
            handler.store(name, place(index), result)
        case Scan():
            value = handler.token(data.inner_fn(handler, index))
            scanned = index[data.dim].as_symbol()
            if scanned is not None:  # of one element, the running merge is the element
                value = handler.scan(data.kind, value, data.dtype)
            handler.store(name, place(index), value)
        case Scatter():
            where, scattered = data.inner_fn(handler, index)
            handler.store(name, place(where), handler.token(scattered), data.mode)
    return LoopBody(
        symbols_of(index), symbols_of(reduced), handler.finish(), scanned, tuple(handler.checks)
    )


def computed_text(buffer: ComputedBuffer, buffers: Mapping[str, BufferFacts]) -> str:
    """Return a computed buffer as the listings print it."""
    data = buffer.data
    handler = TextHandler(buffers)
    index = loop_variables("i", data.ranges)
    lines = []
    if len(data.ranges) == 1:
        lines.append("i0 = index")
    elif data.ranges:
        lines.append(", ".join(f"i{k}" for k in range(len(data.ranges))) + " = index")
    arguments = "index"
    tail = [f"ranges={list(data.ranges)},"]
    if isinstance(data, Reduction):
        arguments = "index, rindex"
        reduced = loop_variables("r0_", data.reduction_ranges)
        names = [f"r0_{k}" for k in range(len(reduced))]
        if names:
            lines.append(", ".join(names) + " = rindex")
        results = [handler.token(v) for v in data.inner_fn(handler, index, reduced)]
        tail += [
            f"reduction_ranges={list(data.reduction_ranges)},",
            f"reduction_type={data.kind},",
        ]
        if data.part is not None:
            tail.append(f"part={data.part},")
    elif isinstance(data, Scatter):
        place, value = data.inner_fn(handler, index)
        results = [handler.token(value)]
        where = ", ".join(map(str, place))
        tail += [f"target={data.target!r}, place=[{where}], mode={data.mode!r},"]
    else:
        results = [handler.token(data.inner_fn(handler, index))]
        if isinstance(data, Scan):
            tail += [f"dim={data.dim},", f"scan_type={data.kind},"]
        else:
            tail = [f"ranges={data.ranges},"]
    lines += handler.lines
    lines.append(f"return {', '.join(map(str, results))}")
    tail.append(f"origins=OrderedSet([{', '.join(buffer.origins)}])")
    layout = buffer.layout.text(as_tuple=isinstance(data, Pointwise))
    kind = type(data).__name__
    return "\n".join([
        f"ComputedBuffer(name={buffer.name!r}, layout={layout}, data={kind}(",
        f"  '{buffer.layout.device.type}',",
        f"  {data.dtype!r},",
        f"  def inner_fn({arguments}):",
        *(f"      {line}" for line in lines),
        "  ,",
        *(f"  {line}" for line in tail),
        "))",
    ])  # fmt: skip


def argument_text(argument: object) -> str:
    """Return an argument of an external call."""
    if isinstance(argument, StridedView):
        layout = argument.layout
        offset = f"+{layout.offset}" if layout.offset else ""
        return f"{argument.buffer}{list(layout.size)}:{list(layout.stride)}{offset}"
    if isinstance(argument, (list, tuple)):
        return "[" + ", ".join(map(argument_text, argument)) + "]"
    return repr(argument)
