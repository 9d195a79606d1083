"""From an operator graph to a program that runs: every stage one call, every result one frozen value.

The stages are imported where they are called: a process that finds its artifact in the cache loads none of them.

>>> from tensorplay.compiler.backends.stax import pipeline                     # doctest: +SKIP
>>> print(pipeline.plan_graph(graph, target).schedule.text())                  # doctest: +SKIP
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorplay.compiler.backends.stax import artifact_cache
from tensorplay.compiler.target import CpuTarget
from tensorplay.core.config import config
from tensorplay.core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorplay._C import Program
    from tensorplay.compiler.backends.stax.ir import LoopProgram
    from tensorplay.compiler.backends.stax.schedule import BufferInfo, Group, Plan, Schedule
    from tensorplay.compiler.backends.stax.sources import Sources
    from tensorplay.compiler.options import Options
    from tensorplay.compiler.phases import OperatorGraph
    from tensorplay.compiler.target import Target


@dataclass(frozen=True, slots=True)
class Stages:
    """What each stage made of a graph."""

    program: LoopProgram
    schedule: Schedule
    plan: Plan


def plan_graph(graph: OperatorGraph, target: Target, *, strict: bool = False) -> Stages:
    """Lower, schedule and plan a graph: all that comes before text. Needs no device and no compiler."""
    from tensorplay.compiler.backends.stax import verify
    from tensorplay.compiler.backends.stax.graph_lowering import lower_graph
    from tensorplay.compiler.backends.stax.memory import plan_memory
    from tensorplay.compiler.backends.stax.scheduler import schedule_program

    # Interpret the graph: values become functions of their indices, or buffers.
    program = lower_graph(graph, target, strict=strict)
    if config.verify:
        verify.verify_program(program)

    # Fuse what may share a kernel, put the kernels into an order, split rows into segments.
    schedule = schedule_program(program, target)
    if config.verify:
        verify.verify_schedule(schedule)

    # Give every buffer that is left a place in memory.
    plan = plan_memory(schedule)
    if config.verify:
        verify.verify_plan(plan)
    return Stages(program, schedule, plan)


def print_sources(plan: Plan, target: Target, title: str = "program") -> Sources:
    """Print every kernel, and for a CPU the module that holds and calls them."""
    from tensorplay.compiler.backends.stax.codegen import cpp
    from tensorplay.compiler.backends.stax.share_kernels import share_kernels
    from tensorplay.compiler.backends.stax.sources import KernelSource, Sources
    from tensorplay.compiler.backends.stax.wrapper import print_wrapper

    if isinstance(target, CpuTarget):
        kernels, launches = share_kernels(
            plan.schedule,
            lambda group, buffers: cpp.print_kernel(group, buffers, target),
            lambda info: cpp.known_alignment(info, target),
        )
        return Sources(kernels, launches, print_wrapper(plan, kernels, launches, target, title))

    from tensorplay.compiler.backends.stax.codegen.triton import KNOWN_ALIGNMENT, print_triton

    def print_group(group: Group, buffers: Mapping[str, BufferInfo]) -> KernelSource:
        return KernelSource(group.name, print_triton(group, buffers, target).source, "triton")

    kernels, launches = share_kernels(plan.schedule, print_group, lambda _: KNOWN_ALIGNMENT)
    return Sources(kernels, launches, "")


def compile(
    graph: OperatorGraph, target: Target, options: Options, *, strict: bool = False
) -> Program:
    """Compile a graph; the result takes a sequence of tensors and returns a tuple of new ones.

    Under `strict`, a call that only its operator's eager kernel could compute is an error.
    """
    if not isinstance(target, CpuTarget):
        msg = f"the target {target.device} can be printed (plan_graph, print_sources), not run; use a CPU"
        raise CompileError(msg)
    # An artifact of the same graph, target, options and sources needs no work at all.
    key = artifact_cache.artifact_key(graph, target, (options, strict))
    known = None if key is None else artifact_cache.look_up(key)
    if known is not None:
        return known

    # Otherwise: lower, schedule and plan; print; build through the cache and load.
    stages = plan_graph(graph, target, strict=strict)
    sources = print_sources(stages.plan, target)
    if key is None:
        return artifact_cache.load_uncached(sources.wrapper)
    return artifact_cache.save(key, sources.wrapper)


def explain_lookup(
    graph: OperatorGraph, target: Target, options: Options, *, strict: bool = False
) -> artifact_cache.Lookup | None:
    """Say what the cache had when `compile` asked it for a graph; None for targets that run nothing."""
    if not isinstance(target, CpuTarget):
        return None
    return artifact_cache.explain_lookup(graph, target, (options, strict))
