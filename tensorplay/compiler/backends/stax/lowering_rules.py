"""The lowering rules that follow from an operator's kind (Table 6.1).

In: a `Call`, one node of the operator graph with its arguments lowered. Out: a lowered tensor, or None where there is no
rule. A pointwise operator composes its scalar function with its operands' loaders; a view composes its index map; a
reduction becomes a buffer (two where it is split); gathers read at places that depend on data; scatters write there;
concatenations choose between masked reads. Structured operators call their own kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol, cast

from tensorplay.compiler.backends.stax import choices
from tensorplay.compiler.backends.stax.index import Expr, linear_index, to_expr
from tensorplay.compiler.backends.stax.ir import Index, PointwiseFn, Reduction, Scatter
from tensorplay.compiler.backends.stax.lowered import (
    BufferDraft,
    LoweredTensor,
    Stored,
    ViewOf,
    strided_view,
)
from tensorplay.compiler.backends.stax.wrapper import INTO
from tensorplay.core import dtypes
from tensorplay.core.layout import contiguous_strides
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Node, map_nodes
from tensorplay.ops import kinds
from tensorplay.ops.kinds.index import Condition, Gather, Piece, Pieces, Read
from tensorplay.ops.kinds.index import Scatter as ScatterForm
from tensorplay.ops.kinds.view import StridedView
from tensorplay.ops.monoids import SUM, Monoid
from tensorplay.ops.signature import Values
from tensorplay.ops.values import NO_ATTRS, TABLE, Value, square
from tensorplay.ops.values import to_dtype as convert

if TYPE_CHECKING:
    from tensorplay.compiler.backends.stax.handlers.symbolic import SymbolicHandler
    from tensorplay.compiler.backends.stax.ir import Loops
    from tensorplay.compiler.target import Target
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.ops.registry import Operator, Overload


class Lowering(Protocol):
    """What the rules need of the interpreter."""

    target: Target
    current: str
    """The node whose own rule runs: an origin of every buffer that the rule makes."""

    def add_buffer(
        self, loops: Loops, device: Device, size: tuple[int, ...], origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make a buffer that loops write."""
        ...

    def add_scatter(
        self, loops: Scatter, target: BufferDraft, origins: tuple[str, ...]
    ) -> BufferDraft:
        """Make the result of a scatter."""
        ...

    def extern(
        self, call: Call, *, into: bool = False
    ) -> LoweredTensor | tuple[LoweredTensor, ...]:
        """Make the buffers of a call of the operator's own kernel."""
        ...


class Call:
    """One node to lower: the operator, its call with metadata in place of tensors, and the lowered tensors."""

    def __init__(
        self,
        lowering: Lowering,
        node: Node,
        overload: Overload,
        tensor_of: Callable[[Node], LoweredTensor],
    ) -> None:
        """Bind the node's arguments to the operator's parameters."""
        self.lowering = lowering
        self.node = node
        self.overload = overload
        self.tensor_of = tensor_of
        args = tuple(map_nodes(a, self.meta_of) for a in node.args)
        kwargs = {k: map_nodes(a, self.meta_of) for k, a in node.kwargs.items()}
        self.values: Values = overload.bind(args, kwargs)

    @property
    def operator(self) -> Operator:
        """The operator that is called."""
        return self.overload.operator

    @property
    def meta(self) -> TensorMeta:
        """The metadata of the result, a single tensor."""
        return cast("TensorMeta", self.node.meta["val"])

    def meta_of(self, node: Node) -> TensorMeta:
        """Return a tensor argument's metadata."""
        return cast("TensorMeta", node.meta["val"])

    def tensors(self) -> dict[str, LoweredTensor]:
        """Return the tensor arguments by parameter name; items of lists as ``name.0``, ``name.1``, …"""
        args = tuple(map_nodes(a, self.tensor_of) for a in self.node.args)
        kwargs = {k: map_nodes(a, self.tensor_of) for k, a in self.node.kwargs.items()}
        found: dict[str, LoweredTensor] = {}
        bound = self.overload.bind(args, kwargs)
        for parameter, value in zip(self.operator.signature.parameters, bound, strict=True):
            if isinstance(value, LoweredTensor):
                found[parameter.name] = value
            elif isinstance(value, tuple):
                for place, item in enumerate(value):
                    if isinstance(item, LoweredTensor):
                        found[f"{parameter.name}.{place}"] = item
        return found

    def map_tensors(self, argument: object, change: Callable[[LoweredTensor], object]) -> object:
        """Return an argument of the node with every tensor in it changed."""
        return map_nodes(argument, lambda n: change(self.tensor_of(n)))

    def describe(self) -> str:
        """Return the dtypes of the tensors, for messages."""
        return ", ".join(t.dtype.name for t in self.tensors().values()) or "no tensors"

    def computed(
        self, inner_fn: PointwiseFn, sources: Sequence[LoweredTensor], view: ViewOf | None = None
    ) -> LoweredTensor:
        """Return the result as a function over indices."""
        meta = self.meta
        return LoweredTensor(
            self.lowering,
            meta.shape,
            meta.dtype,
            meta.device,
            inner_fn=inner_fn,
            depth=1 + max((s.depth for s in sources), default=0),
            origins=merge_origins(sources, self.node.name),
            view=view,
            eager_strides=meta.strides,
        )


def merge_origins(sources: Sequence[LoweredTensor], name: str) -> tuple[str, ...]:
    """Return the graph nodes that a value comes from since the last buffers, and itself."""
    found: dict[str, None] = {}
    for source in sources:
        found.update(
            dict.fromkeys(source.origins if source.stored is None or is_input(source) else ())
        )
    found[name] = None
    return tuple(found)


def is_input(tensor: LoweredTensor) -> bool:
    """Say whether a tensor lies in an input buffer."""
    stored = tensor.stored
    return stored is not None and stored.buffer.is_input


def lower_call(call: Call) -> LoweredTensor | tuple[LoweredTensor, ...] | None:
    """Lower a call by its operator's own rule, else by its kind's; None where there is none."""
    operator = call.operator
    found = None if operator.lowering is None else lower_by_rule(call, operator.lowering)
    if found is not None:
        return found
    if isinstance(operator.kind, kinds.Structured):
        return call.lowering.extern(call, into=writes_into(call))
    if has_complex(call):
        return None
    match operator.kind:
        case kinds.Pointwise() as kind:
            return lower_pointwise(call, kind)
        case StridedView():
            return lower_strided_view(call)
        case kinds.View() as kind:
            return lower_view(call, kind)
        case kinds.Reduction() as kind:
            return lower_reduction(call, kind)
        case kinds.Index() as kind:
            form = kind.form(operator, call.values)
            match form:
                case Gather():
                    return lower_gather(call, form)
                case ScatterForm():
                    return lower_scatter(call, form)
                case Pieces():
                    return lower_pieces(call, form)
        case _:
            return None


def lower_by_rule(
    call: Call, rule: Callable[..., object]
) -> LoweredTensor | tuple[LoweredTensor, ...] | None:
    """Run a registered rule on the node's arguments; its result gets the recorded dtype."""
    args = [call.map_tensors(a, lambda t: t) for a in call.node.args]
    kwargs = {k: call.map_tensors(a, lambda t: t) for k, a in call.node.kwargs.items()}
    call.lowering.current = call.node.name
    result = rule(*args, **kwargs)
    call.lowering.current = ""
    if result is None or isinstance(result, tuple):
        return result
    if not isinstance(result, LoweredTensor):
        msg = f"the lowering of {call.overload} returned {type(result).__name__}, not a lowered tensor"
        raise TypeError(msg)
    result.origins = merge_origins([result], call.node.name)
    if result.dtype is call.meta.dtype:
        return result
    load, dtype = result.make_loader(), call.meta.dtype
    return call.computed(lambda h, i: convert(load(h, i), dtype), [result])


def needs_memory(node: Node) -> str:
    """Say what a node wants of its arguments: "arguments" in memory, "if used" (views pass it on), or ""."""
    operator = getattr(node.target, "operator", None)
    if operator is None or operator.lowering is not None:
        return ""
    if isinstance(operator.kind, (kinds.Structured, kinds.Composite)):
        return "arguments"
    return "if used" if isinstance(operator.kind, kinds.View) else ""


def writes_into(call: Call) -> bool:
    """Say whether the operator's kernel writes into memory that the plan allocates (wrapper.INTO)."""
    return call.operator.name in INTO and call.meta.dtype.name in {"float32", "float64"}


def has_complex(call: Call) -> bool:
    """Say whether complex numbers occur, for which there are no loops."""
    metas = [v for v in call.values if isinstance(v, TensorMeta)]
    return any(m.dtype.kind == "c" for m in (*metas, call.meta))


# ---- pointwise and views -------------------------------------------------------------------------


def broadcast_loader(tensor: LoweredTensor, size: tuple[int, ...]) -> PointwiseFn:
    """Return a loader that takes indices of the broadcast shape."""
    load = tensor.make_loader()
    own = tensor.size
    if own == size:
        return load
    skipped = len(size) - len(own)
    zero = to_expr(0)
    fixed = [n == 1 for n in own]

    def broadcast(handler: SymbolicHandler, index: Index) -> Value:
        tail = index[skipped:]
        return load(handler, tuple(zero if one else i for i, one in zip(tail, fixed, strict=True)))

    return broadcast


def lower_pointwise(call: Call, kind: kinds.Pointwise) -> LoweredTensor:
    """Compose the scalar function with the loaders of the operands."""
    size, dtype = call.meta.shape, call.meta.dtype
    tensors = call.tensors()
    loaders = {name: broadcast_loader(t, size) for name, t in tensors.items()}
    operator, values = call.operator, call.values
    strides = contiguous_strides(size)

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        loaded = {name: load(handler, index) for name, load in loaders.items()}
        places: list[Value] = []
        linear = None
        if kind.index_name is not None:
            places = [handler.index_expr(i, dtypes.int64) for i in index]
        if kind.linear_name is not None:
            linear = handler.index_expr(linear_index(index, strides), dtypes.int64)
        value = kind.expression(operator, values, handler, loaded, places, linear)
        return convert(value, dtype)

    return call.computed(inner, list(tensors.values()))


def lower_view(call: Call, kind: kinds.View) -> LoweredTensor:
    """Compose the index map: as strides where the tensor has a fixed layout, else in front of its loader."""
    tensor = next(iter(call.tensors().values()))
    found = kind.view_map(cast("TensorMeta", call.values[0]), *call.values[1:])
    source = found.source
    return view_of(call, tensor, lambda index: source(list(index)))


def lower_strided_view(call: Call) -> LoweredTensor:
    """Place a view over the memory that a tensor lies in, which eager execution laid out before."""
    tensor = next(iter(call.tensors().values()))
    size, strides = (cast("tuple[int, ...]", v) for v in call.values[1:3])
    offset = cast("int", call.values[3])
    own = cast("TensorMeta", call.values[0])
    base = tensor
    while base.stored is None and base.view is not None:
        base = base.view.base
    stored = base.realize_with(base.eager_strides) if base.stored is None else base.stored
    start = stored.buffer.memory.eager_offset
    first = own.offset if call.values[3] is None else offset
    place = Stored(stored.buffer, strides, first - start)
    meta = call.meta
    return LoweredTensor(
        call.lowering, size, meta.dtype, meta.device, place,
        origins=merge_origins([tensor], call.node.name), eager_strides=meta.strides,
    )  # fmt: skip


def view_of(
    call: Call, tensor: LoweredTensor, source: Callable[[Index], Sequence[int | Expr]]
) -> LoweredTensor:
    """Return the view of a tensor through an index map."""
    stored = tensor.stored
    if stored is not None and (stored.strides or stored.buffer.memory.strides) is not None:
        place = strided_view(stored, call.meta.shape, source)
        if place is not None:
            meta = call.meta
            return LoweredTensor(
                call.lowering, meta.shape, meta.dtype, meta.device, place,
                origins=merge_origins([tensor], call.node.name), eager_strides=meta.strides,
            )  # fmt: skip
    load = tensor.make_loader()

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        return load(handler, tuple(map(to_expr, source(index))))

    return call.computed(inner, [tensor], ViewOf(tensor, source))


# ---- reductions ----------------------------------------------------------------------------------


def lower_reduction(call: Call, kind: kinds.Reduction) -> LoweredTensor:
    """Make the buffers of a reduction, and compose what comes after it."""
    (tensor,) = call.tensors().values()
    operator, values = call.operator, call.values
    dims = kind.dims(operator, values)
    plan = kind.plan(operator, values)
    keep = kind.keepdim(operator, values)
    kept = tuple(d for d in range(len(tensor.size)) if d not in dims)
    load = tensor.make_loader()

    def element(handler: SymbolicHandler, index: Index) -> Value:
        return kind.before(operator, values, load(handler, index))

    rows = Rows(call, tensor, dims, kept, element, plan.accumulator)
    states = rows.states(kind.monoid)
    count = prod(rows.sizes)
    dtype = call.meta.dtype

    def select(index: Index) -> Index:
        return tuple(index[d] for d in kept) if keep else index

    if len(states) == 1 and kind.after_fn is None and states[0].dtype is dtype:
        return view_of(call, states[0], select) if keep else states[0]
    loaders = [s.make_loader() for s in states]

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        row = select(index)
        state = [load_state(handler, row) for load_state in loaders]
        total = handler.constant(count, plan.accumulator)
        if kind.monoid.components == MOMENTS:
            state.append(total)
        return convert(kind.after(operator, values, state, total), dtype)

    return call.computed(inner, states)


PAIR, MOMENTS = 2, 3
"""Components of a monoid's state: (value, index), and (mean, second moment, count)."""


class Rows:
    """The rows of a tensor that a reduction merges: `kept` dimensions tell rows apart, `dims` run along them."""

    def __init__(
        self,
        call: Call,
        tensor: LoweredTensor,
        dims: tuple[int, ...],
        kept: tuple[int, ...],
        element: PointwiseFn,
        accumulator: DType,
    ) -> None:
        """Describe the rows; `element` gives what is merged, at an index of the tensor."""
        self.call = call
        self.tensor = tensor
        self.dims = dims
        self.kept = kept
        self.element = element
        self.accumulator = accumulator
        self.sizes = tuple(tensor.size[d] for d in dims)
        self.shape = tuple(tensor.size[d] for d in kept)
        self.origins = merge_origins([tensor], call.node.name)

    def full_index(self, row: Index, along: Index) -> Index:
        """Return an index of the tensor from a row's and a place along it."""
        full: list[Expr] = [to_expr(0)] * len(self.tensor.size)
        for d, i in zip(self.kept, row, strict=True):
            full[d] = i
        for d, i in zip(self.dims, along, strict=True):
            full[d] = i
        return tuple(full)

    def states(self, monoid: Monoid) -> list[LoweredTensor]:
        """Return the monoid's state of every row: one tensor, or mean and second moment."""
        if monoid.components == MOMENTS:
            return self.moments()
        if monoid.components == PAIR:
            return [self.extreme_place(monoid.name)]
        return [self.merged(monoid, self.element)]

    def moments(self) -> list[LoweredTensor]:
        """Return mean and sum of squared distances.

        Two passes, as in eager execution: both run in one kernel, the second from the cache. A long row takes one
        pass, which merges means (Welford) and divides for every element.
        """
        size = prod(self.sizes) * self.tensor.dtype.itemsize
        if prod(self.sizes) > 1 and choices.moments_in_one_pass(size, self.call.lowering.target):
            return [self.buffer(self.welford(part)) for part in (0, 1)]
        total = self.merged(SUM, self.element).make_loader()
        count = prod(self.sizes)
        element, accumulator = self.element, self.accumulator

        def mean_of(handler: SymbolicHandler, row: Index) -> Value:
            return total(handler, row) / handler.constant(count, accumulator)

        def squared(handler: SymbolicHandler, index: Index) -> Value:
            row = tuple(index[d] for d in self.kept)
            return square(element(handler, index) - mean_of(handler, row))

        return [self.tensor_of(mean_of), self.merged(SUM, squared)]

    def welford(self, part: int) -> Reduction:
        """Return the reduction of which mean and second moment are parts."""

        def inner(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            return (self.element(handler, self.full_index(row, along)),)

        return Reduction(self.accumulator, self.shape, self.sizes, "welford", inner, part)

    def extreme_place(self, kind: str) -> LoweredTensor:
        """Return the place of the largest or smallest element of every row, counted in row-major order."""
        strides = contiguous_strides(self.sizes)

        def inner(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            place = handler.index_expr(linear_index(along, strides), dtypes.int64)
            return self.element(handler, self.full_index(row, along)), place

        if prod(self.sizes) <= 1:
            return self.tensor_of(lambda h, _: h.constant(0, dtypes.int64), dtypes.int64)
        return self.buffer(Reduction(dtypes.int64, self.shape, self.sizes, kind, inner))

    def merged(self, monoid: Monoid, element: PointwiseFn) -> LoweredTensor:
        """Return the merge of every row, in two levels where the target wants more parallel work."""
        count = prod(self.sizes)
        dtype = self.accumulator
        identity = monoid.identity(dtype)
        assert identity is not None  # noqa: S101  # one component: there is a neutral element
        if count == 0:
            return self.tensor_of(lambda h, _: h.constant(identity, dtype))
        if count == 1:
            zeros = (to_expr(0),) * len(self.dims)
            return self.tensor_of(lambda h, row: element(h, self.full_index(row, zeros)))
        target = self.call.lowering.target
        columns = self.kept[-1:] > self.dims[-1:] and prod(self.shape) > 1
        segments = choices.reduction_segments(
            count, prod(self.shape), monoid.name, target, columns=columns
        )

        def inner(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            return (element(handler, self.full_index(row, along)),)

        if segments <= 1:
            return self.buffer(Reduction(dtype, self.shape, self.sizes, monoid.name, inner))
        return self.split(monoid, element, segments)

    def split(self, monoid: Monoid, element: PointwiseFn, segments: int) -> LoweredTensor:
        """Return the merge of every row by way of the merges of its segments (associativity, section 6.5)."""
        count = prod(self.sizes)
        length = -(-count // segments)
        dtype = self.accumulator
        identity = cast("float", monoid.identity(dtype))

        def part(handler: SymbolicHandler, index: Index, along: Index) -> tuple[Value, ...]:
            flat = index[-1] * length + along[0]

            def read() -> Value:
                return element(handler, self.full_index(index[:-1], unflatten(flat, self.sizes)))

            if length * segments == count:
                return (read(),)
            place = handler.index_expr(flat, dtypes.int64)
            inside = apply_instruction("lt", place, handler.constant(count, dtypes.int64))
            return (handler.select(inside, read, lambda: handler.constant(identity, dtype)),)

        ranges = (*self.shape, segments)
        parts = self.buffer(Reduction(dtype, ranges, (length,), monoid.name, part)).make_loader()

        def join(handler: SymbolicHandler, row: Index, along: Index) -> tuple[Value, ...]:
            return (parts(handler, (*row, *along)),)

        return self.buffer(Reduction(dtype, self.shape, (segments,), monoid.name, join))

    def buffer(self, loops: Reduction) -> LoweredTensor:
        """Write a reduction to memory; its readers load it."""
        lowering, device = self.call.lowering, self.tensor.device
        draft = lowering.add_buffer(loops, device, loops.ranges, self.origins)
        return LoweredTensor(
            lowering, loops.ranges, loops.dtype, device, Stored(draft), origins=self.origins
        )

    def tensor_of(self, inner_fn: PointwiseFn, dtype: DType | None = None) -> LoweredTensor:
        """Return a tensor of one value a row that is only a function."""
        return LoweredTensor(
            self.call.lowering,
            self.shape,
            dtype or self.accumulator,
            self.tensor.device,
            inner_fn=inner_fn,
            depth=self.tensor.depth + 1,
            origins=self.origins,
        )


def unflatten(flat: Expr, sizes: tuple[int, ...]) -> Index:
    """Return the index whose place in row-major order is `flat`."""
    strides = contiguous_strides(sizes)
    return tuple(
        flat // t if k == 0 else flat // t % n
        for k, (n, t) in enumerate(zip(sizes, strides, strict=True))
    )


def apply_instruction(name: str, *operands: Value) -> Value:
    """Apply a scalar instruction by name."""
    return operands[0].handler.apply(TABLE[name], operands, NO_ATTRS)


# ---- places that depend on data ------------------------------------------------------------------


def reader(
    call: Call, handler: SymbolicHandler, loaders: Mapping[str, PointwiseFn]
) -> Read:
    """Return the function that an index form reads index tensors with."""

    def read(name: str, indices: Sequence[object], size: int, *, wraps: bool = True) -> Expr:
        index = tuple(to_expr(cast("int | Expr", i)) for i in indices)
        value = loaders[name](handler, index)
        return handler.indirect(value, size, call.operator.name, wrap=wraps)

    return read


def lower_gather(call: Call, form: Gather) -> LoweredTensor:
    """Read a tensor at places that depend on data."""
    tensors = call.tensors()
    loaders = {name: t.make_loader() for name, t in tensors.items()}
    load = loaders[form.source]

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        place = form.place(index, reader(call, handler, loaders))
        return load(handler, tuple(map(to_expr, place)))

    return call.computed(inner, list(tensors.values()))


SCATTER_MODES = {"sum": "add", "prod": "prod", "max": "max", "min": "min"}


def lower_scatter(call: Call, form: ScatterForm) -> LoweredTensor | None:
    """Copy the base, then write values to places that depend on data."""
    dtype = call.meta.dtype
    if form.combine is not None and (
        dtype.compute is not dtype or form.combine.name not in SCATTER_MODES
    ):
        return None
    tensors = call.tensors()
    base = tensors[form.base]
    copy = call.computed(converted(base.make_loader(), dtype), [base])
    target = copy.realize_with(contiguous_strides(call.meta.shape)).buffer
    loaders = {name: t.make_loader() for name, t in tensors.items()}

    def inner(handler: SymbolicHandler, index: Index) -> tuple[Index, Value]:
        place = tuple(map(to_expr, form.place(index, reader(call, handler, loaders))))
        if form.value not in loaders:
            number = call.values[call.operator.signature.places[form.value]]
            return place, handler.constant(cast("float", number), dtype)
        source = tuple(map(to_expr, form.value_place(index)))
        return place, convert(loaders[form.value](handler, source), dtype)

    mode = "overwrite" if form.combine is None else SCATTER_MODES[form.combine.name]
    loops = Scatter(dtype, tuple(form.domain), target.memory.name, mode, inner)
    origins = merge_origins(list(tensors.values()), call.node.name)
    draft = call.lowering.add_scatter(loops, target, origins)
    return LoweredTensor(
        call.lowering, call.meta.shape, dtype, call.meta.device, Stored(draft), origins=origins
    )


def converted(load: PointwiseFn, dtype: DType) -> PointwiseFn:
    """Return a loader whose values have a dtype."""
    return lambda handler, index: convert(load(handler, index), dtype)


# ---- concatenations ------------------------------------------------------------------------------


def lower_pieces(call: Call, form: Pieces) -> LoweredTensor:
    """Choose, for every element, the first piece whose conditions hold; each is read under its condition only."""
    tensors = call.tensors()
    dtype = call.meta.dtype
    loaders = {name: converted(t.make_loader(), dtype) for name, t in tensors.items()}

    def value_of(handler: SymbolicHandler, index: Index, piece: Piece) -> Value:
        if isinstance(piece.source, str):
            return loaders[piece.source](handler, tuple(map(to_expr, piece.place(index))))
        return handler.constant(piece.source, dtype)

    def inner(handler: SymbolicHandler, index: Index) -> Value:
        def choose(number: int) -> Value:
            piece = form.pieces[number]
            if number == len(form.pieces) - 1:
                return value_of(handler, index, piece)
            condition = all_hold(handler, piece.conditions(index))
            return handler.select(
                condition,
                lambda: value_of(handler, index, piece),
                lambda: choose(number + 1),
            )

        return choose(0)

    return call.computed(inner, list(tensors.values()))


def all_hold(handler: SymbolicHandler, conditions: Sequence[Condition]) -> Value:
    """Return whether every condition holds at an index."""
    result = handler.constant(number=True, dtype=dtypes.bool_)
    for condition in conditions:
        value = to_expr(condition.value)
        tests = [("ge", value, condition.low), ("lt", value, condition.high)]
        if condition.step != 1:
            tests.append(("eq", (value - condition.low) % condition.step, 0))
        for name, e, bound in tests:
            place = handler.index_expr(e, dtypes.int64)
            holds = apply_instruction(name, place, handler.constant(bound, dtypes.int64))
            result = apply_instruction("logical_and", result, holds)
    return result
