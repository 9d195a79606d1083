"""Run a schedule on NumPy arrays, instruction by instruction: what every generated kernel must agree with.

Each outer iteration is run on its own, in a shuffled order where the group is parallel; the loops of a segment become
the axes of arrays. Nothing is shared with code generation except the types.
"""

from __future__ import annotations

import itertools

import numpy as np

from tensorplay.compiler.backends.stax.loop_body import (
    CheckBounds,
    Compute,
    Constant,
    IndexExpr,
    Load,
    LoadLocal,
    Part,
    Reduce,
    Scan,
    Store,
    StoreLocal,
    is_indirect,
)
from tensorplay.compiler.backends.stax.schedule import BufferView, Group, Role
from tensorplay.core import dtypes
from tensorplay.ops.values import TABLE

MERGE = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
    "any": np.logical_or, "all": np.logical_and, "xor_sum": np.bitwise_xor,
}  # fmt: skip


class Memory:
    """A flat array whose place 0 is the first element of a strided array."""

    def __init__(self, flat, shift=0):
        self.flat, self.shift = flat, shift

    @classmethod
    def of(cls, array):
        steps = [s // array.itemsize for s in array.strides]
        low = sum((n - 1) * t for n, t in zip(array.shape, steps, strict=True) if t < 0 and n)
        high = sum((n - 1) * t for n, t in zip(array.shape, steps, strict=True) if t > 0 and n)
        if array.size == 0:
            return cls(np.zeros(0, array.dtype))
        start = array[tuple(-1 if t < 0 else 0 for t in steps)]
        base = (
            np.lib.stride_tricks.as_strided(
                array[tuple(slice(-1, None) if t < 0 else slice(0, 1) for t in steps)],
                (high - low + 1,),
                (array.itemsize,),
            )
            if array.ndim
            else array.reshape(1)
        )
        del start
        return cls(base, -low)

    def view(self, shape, strides, offset=0):
        if 0 in shape:
            return np.zeros(shape, self.flat.dtype)
        size = self.flat.itemsize
        start = self.flat[self.shift + offset :]
        return np.lib.stride_tricks.as_strided(start, shape, [s * size for s in strides])


def run_schedule(schedule, inputs, seed=0):
    """Return the outputs of a schedule for arrays by input name; other buffers start as garbage."""
    memory = {name: Memory.of(np.asarray(array)) for name, array in inputs.items()}
    rng = np.random.default_rng(seed)
    for name, info in schedule.buffers.items():
        if name not in memory:
            flat = np.zeros(info.elements, info.dtype.numpy)
            if info.dtype.kind == "f":
                flat[...] = np.nan
            else:
                flat[...] = 1
            memory[name] = Memory(flat)
    for step in schedule.steps:
        if isinstance(step, Group):
            run_group(step, memory, rng)
        else:
            run_extern(step, memory, schedule)
    return [
        memory[name].view(schedule.buffers[name].shape, schedule.buffers[name].strides).copy()
        for name in schedule.outputs
    ]


def run_extern(step, memory, schedule):
    def array(a):
        if isinstance(a, BufferView):
            return memory[a.buffer].view(a.shape, a.strides, a.offset)
        if isinstance(a, (list, tuple)):
            return type(a)(map(array, a))
        return a

    kwargs = {k: array(v) for k, v in step.kwargs.items()}
    found = step.overload.operator.kernel(*map(array, step.args), **kwargs)
    for name, result in zip(
        step.outputs, found if isinstance(found, tuple) else (found,), strict=True
    ):
        info = schedule.buffers[name]
        memory[name].view(info.shape, info.strides)[...] = result


def run_group(group, memory, rng):
    starts = [range(0, o.extent, o.step) for o in group.outer]
    points = list(itertools.product(*starts))
    assert len(points) == group.iterations
    if group.parallel:
        rng.shuffle(points)
    touched = set(group.reads) | set(group.writes) | set(group.updates)
    for point in points:
        env, ranges = {}, {}
        for o, start in zip(group.outer, point, strict=True):
            if o.step == 1:
                env[o.symbol] = start
            else:
                ranges[o.symbol] = range(start, min(start + o.step, o.extent))
        local = {}
        for segment in group.segments:
            run_segment(group, segment, env, ranges, local, memory, touched)


def run_segment(group, segment, env, ranges, local, memory, touched):
    axes = [loop.symbol for loop in segment.loops]
    spans = {}
    for loop in segment.loops:
        stop = loop.extent if loop.stop is None else loop.stop
        spans[loop.symbol] = ranges.get(loop.symbol, range(loop.start, stop))
        assert loop.symbol not in env
    if segment.vector is not None:
        assert segment.vector in axes
    values = dict(env)
    for k, symbol in enumerate(axes):
        shape = [-1 if j == k else 1 for j in range(len(axes))]
        values[symbol] = np.array(spans[symbol], dtype=np.int64).reshape(shape)
    shape = tuple(len(spans[s]) for s in axes)
    reduced = tuple(k for k, loop in enumerate(segment.loops) if loop.role is Role.REDUCED)
    scanned = [k for k, loop in enumerate(segment.loops) if loop.role is Role.SCANNED]
    found = []

    def place(index, indices):
        point = dict(values)
        for symbol in index.symbols():
            if is_indirect(symbol):
                point[symbol] = found[indices[int(symbol.name[1:])]].astype(np.int64)
        return np.broadcast_to(np.asarray(index.evaluate(point), dtype=np.int64), shape)

    def axes_of(name):
        return next(x for x in group.locals if x.name == name).axes

    for number, i in enumerate((*segment.body, *segment.after)):
        late = number >= len(segment.body)
        result = None
        match i:
            case Compute(op, args, dtype, attrs):
                extra = dict(attrs) | ({"dtype": dtype} if op == "to_dtype" else {})
                operands = [found[a] for a in args]
                if op == "philox":  # its array function takes one seed and one offset
                    operands[:2] = [int(a.flat[0]) for a in operands[:2]]
                with np.errstate(all="ignore"):
                    result = np.asarray(TABLE[op].array(*operands, **extra))
            case Constant(value, dtype):
                result = np.full(shape, value, dtype.numpy)
            case IndexExpr(index, dtype, indices):
                result = place(index, indices).astype(dtype.numpy)
                assert (place(index, indices) == result).all()
            case Load(buffer, index, dtype, indices, mask):
                assert buffer in touched
                where = place(index, indices)
                source = memory[buffer]
                keep = np.ones(shape, bool) if mask is None else np.broadcast_to(found[mask], shape)
                checked = where[keep] + source.shift
                assert checked.size == 0 or (
                    checked.min() >= 0 and checked.max() < source.flat.size
                )
                result = np.zeros(shape, dtype.numpy)
                result[keep] = source.flat[checked]
            case LoadLocal(name, dtype):
                wanted = axes_of(name)
                first = [spans[s].start - ranges.get(s, range(1)).start for s in wanted]
                part = tuple(
                    slice(f, f + len(spans[s])) for f, s in zip(first, wanted, strict=True)
                )
                order = [wanted.index(s) for s in axes if s in wanted]
                data = local[name][part].transpose(order)
                shaped = data.reshape([len(spans[s]) if s in wanted else 1 for s in axes])
                result = np.broadcast_to(shaped, shape).astype(dtype.numpy)
            case CheckBounds(value, size, check, mask):
                bad = (found[value] < 0) | (found[value] >= size)
                if mask is not None:
                    bad &= found[mask]
                if np.any(bad):
                    raise IndexError(group.checks[check])
                result = np.zeros(())
            case Reduce(kind, args, dtype):
                assert not late
                assert reduced
                result = merge(
                    kind, [np.broadcast_to(found[a], shape) for a in args], reduced, dtype
                )
            case Part(reduction, position, _):
                assert late
                result = found[reduction][position]
            case Scan(kind, value, dtype):
                with np.errstate(all="ignore"):
                    result = MERGE[kind].accumulate(
                        np.broadcast_to(found[value], shape), axis=scanned[0], dtype=dtype.numpy
                    )
            case Store(buffer, index, value, mode, indices, mask):
                assert mask is None
                assert buffer in touched
                target = memory[buffer].flat
                where = place(index, indices)
                data = found[value]
                if late:
                    kept = tuple(0 if k in reduced else slice(None) for k in range(len(shape)))
                    where = where[kept]
                    data = np.broadcast_to(data, shape_without(shape, reduced))[kept]
                data = np.broadcast_to(data, where.shape)
                assert data.dtype == target.dtype, (data.dtype, target.dtype, buffer)
                where = where + memory[buffer].shift
                assert where.size == 0 or (where.min() >= 0 and where.max() < target.size)
                write(target, where.ravel(), data.ravel(), mode)
                result = np.zeros(())
            case StoreLocal(name, value):
                data = np.broadcast_to(found[value], shape_without(shape, reduced if late else ()))
                wanted = axes_of(name)
                kept = tuple(slice(None) if s in wanted else 0 for s in axes)
                own = [s for s in axes if s in wanted]
                part = np.array(data[kept]).transpose([own.index(s) for s in wanted])
                whole = [len(ranges.get(s, range(s.extent))) for s in wanted]
                if name not in local:
                    local[name] = np.zeros(whole, part.dtype)
                first = [spans[s].start - ranges.get(s, range(1)).start for s in wanted]
                target = tuple(slice(f, f + n) for f, n in zip(first, part.shape, strict=True))
                local[name][target] = part
                result = np.zeros(())
        found.append(result)


def shape_without(shape, reduced):
    return tuple(1 if k in reduced else n for k, n in enumerate(shape))


def write(target, where, data, mode):
    with np.errstate(all="ignore"):
        if mode in {"set", "overwrite"}:
            target[where] = data
            if (
                mode == "set"
            ):  # an output may overlap itself, as eager's view does; then values agree
                assert target[where].tobytes() == data.tobytes()
        else:
            ufunc = {"add": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[mode]
            ufunc.at(target, where, data)


def merge(kind, values, axes, dtype):
    with np.errstate(all="ignore"):
        if kind in MERGE:
            return MERGE[kind].reduce(values[0], axis=axes, keepdims=True, dtype=dtype.numpy)
        if kind == "welford":
            x = values[0]
            mean = x.mean(axis=axes, keepdims=True)
            moment = np.square(x - mean).sum(axis=axes, keepdims=True)
            return mean, moment, np.full_like(mean, x.size // mean.size)
        x, place = values
        kept = [k for k in range(x.ndim) if k not in axes]
        flat = x.transpose([*kept, *axes]).reshape([*(x.shape[k] for k in kept), -1])
        places = place.transpose([*kept, *axes]).reshape(flat.shape)
        best = np.argmax(flat, -1) if kind == "argmax" else np.argmin(flat, -1)
        picked = np.take_along_axis(places, best[..., None], -1)[..., 0]
        return picked.reshape(shape_without(x.shape, axes)).astype(dtypes.int64.numpy)
