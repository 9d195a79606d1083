"""From a function to printed Triton kernels: record, lower and schedule for a GPU, print."""

from dataclasses import dataclass

import numpy as np

import tensorplay as tp
from tensorplay.compiler.aot.trace import InputSpec, trace_function
from tensorplay.compiler.backends.stax.codegen.triton import print_triton
from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
from tensorplay.compiler.backends.stax.scheduler import schedule_program
from tensorplay.compiler.phases import OperatorGraph
from tensorplay.compiler.target import H100
from tensorplay.core.meta import TensorMeta


@dataclass
class Printed:
    """A schedule and its kernels."""

    schedule: object
    kernels: tuple


def meta(*shape, dtype=tp.float32, strides=None, requires_grad=False):
    return TensorMeta(shape, dtype, strides=strides), requires_grad


def record(function, *metas):
    """The operator graph of a function; the joint graph where an input requires a gradient."""
    specs = [InputSpec(m, f"arg{k}", requires_grad=grad) for k, (m, grad) in enumerate(metas)]

    def run(_, tensors):
        found = function(*tensors)
        return found if isinstance(found, tuple) else (found,)

    trace = trace_function(run, specs, gradients=any(grad for _, grad in metas))
    return OperatorGraph(trace.graph)


def schedule_for_gpu(graph, target=H100):
    graph.verify()
    return schedule_program(lower_graph(graph, target), target)


def print_schedule(schedule):
    return Printed(
        schedule, tuple(print_triton(g, schedule.buffers, H100) for g in schedule.groups)
    )


def printed(function, *metas):
    return print_schedule(schedule_for_gpu(record(function, *metas)))


def execute(interpreter, schedule, kernels, arrays, blocks=None):
    """The outputs of a schedule of kernels alone, run in the interpreter; other memory starts as garbage."""
    memory = {
        name: np.ascontiguousarray(a) for name, a in zip(schedule.inputs, arrays, strict=True)
    }
    for name, info in schedule.buffers.items():
        memory.setdefault(name, np.full(info.elements, 77, info.dtype.numpy))
    memory[""] = np.zeros(1, np.int64)
    for kernel in kernels:
        memory.update(interpreter.run(kernel, memory, blocks))
    if memory[""][0]:
        messages = [m for g in schedule.groups for m in g.checks]
        raise IndexError(messages[memory[""][0] - 1])
    outputs = []
    for name in schedule.outputs:
        info, flat = schedule.buffers[name], memory[name]
        strides = [s * flat.itemsize for s in info.strides]
        outputs.append(np.lib.stride_tricks.as_strided(flat, info.shape, strides))
    return outputs
