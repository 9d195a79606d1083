"""Splits a joint graph into a forward and a backward operator graph (section 5.4).

The forward graph returns the results and the saved values; the backward graph takes the saved
values, the primals that it reads and the tangents, and recomputes the rest.

`Partition.text()` lists capacities, U, the cut and what is saved: Table 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorplay.compiler.aot.joint_graph import JointGraph, is_backward
from tensorplay.compiler.aot.remat import Choice, RematerializationModel, Trait, TraitOf
from tensorplay.compiler.phases import OperatorGraph
from tensorplay.core.readable import Readable
from tensorplay.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Partition(Readable):
    """The two graphs, and what crosses from one to the other.

    `forward` returns the distinct computed results and saved values, in the order of
    `forward_outputs`; `backward` takes `backward_inputs` and returns `backward_outputs`. All three
    name nodes of the joint graph.
    """

    joint: JointGraph
    forward: OperatorGraph
    backward: OperatorGraph
    choice: Choice
    forward_outputs: tuple[Node, ...]
    backward_inputs: tuple[Node, ...]
    backward_outputs: tuple[Node, ...]

    @property
    def saved(self) -> tuple[str, ...]:
        """The names of the forward values that are saved. Inputs are kept anyway."""
        return tuple(node.name for node in self.choice.saved)

    @property
    def capacities(self) -> dict[str, int]:
        """c(v) of every forward value."""
        return {node.name: capacity for node, capacity in self.choice.capacities.items()}

    @property
    def cut(self) -> int | None:
        """The capacity of the minimum cut; None where no cut is finite and everything is saved."""
        return self.choice.cut

    def text(self) -> str:
        """Return the network's values, the cut, and both graphs."""
        width = max((len(node.name) for node in self.choice.capacities), default=5)
        lines = [f"{'value':{width}}  {'capacity':>12}  in U  saved"]
        for node, capacity in self.choice.capacities.items():
            in_u = "yes" if node in self.choice.not_recomputed else "no"
            saved = "yes" if node in self.choice.saved else "no"
            lines.append(f"{node.name:{width}}  {capacity:12}  {in_u:4}  {saved}")
        cut = "none is finite: everything is saved" if self.cut is None else str(self.cut)
        lines += [f"minimum cut: {cut}", "", "forward", self.forward.text()]
        return "\n".join([*lines, "", "backward", self.backward.text()])


def partition_min_cut(
    joint: JointGraph, trait_of: TraitOf, *, memory_budget: float = 1.0
) -> Partition:
    """Split `joint` where the fewest bytes cross.

    `memory_budget`, from 0 to 1, is the fraction of the minimum cut's memory that may be used: below
    1 the backward pass recomputes expensive values too, at 0 it saves only random states.
    """
    choice = RematerializationModel(joint, trait_of).choose(memory_budget)
    effects = [
        node
        for node in joint.graph.nodes
        if node.op == "call_function" and trait_of(node) is Trait.EFFECT
    ]
    computed = [node for node in joint.outputs if node.op != "placeholder"]
    states = [node for node in gradient_graph(joint, trait_of)[1] if node.op != "placeholder"]
    forward_outputs = tuple(dict.fromkeys([*computed, *choice.saved, *states]))
    forward = _extract(
        joint.primals, forward_outputs, [node for node in effects if not is_backward(node)]
    )
    saved = frozenset(choice.saved)
    order = _backward_order(joint, saved, [node for node in effects if is_backward(node)])
    read = dict.fromkeys(
        value for node in order for value in node.input_set if _is_given(value, saved)
    )
    read.update(dict.fromkeys(node for node in joint.gradients if _is_given(node, saved)))
    given = [node for node in choice.saved if node in read]
    given += [node for node in joint.graph.placeholders if node in read]
    outputs = tuple(dict.fromkeys(node for node in joint.gradients if not _is_given(node, saved)))
    return Partition(
        joint=joint,
        forward=forward,
        backward=_build(given, order, outputs),
        choice=choice,
        forward_outputs=forward_outputs,
        backward_inputs=tuple(given),
        backward_outputs=outputs,
    )


def gradient_graph(joint: JointGraph, trait_of: TraitOf) -> tuple[OperatorGraph, tuple[Node, ...]]:
    """Return the gradients as a function of primals, tangents and random states, in one graph.

    Also returned are the nodes that are its inputs: those that it reads. It is what a second derivative
    differentiates; given the random states that the forward pass drew, it recomputes the same numbers.
    """
    states = frozenset(
        node
        for node in joint.graph.nodes
        if node.op == "call_function" and not is_backward(node) and trait_of(node) is Trait.EFFECT
    )
    order = _backward_order(joint, states, ())
    read = {value for node in order for value in node.input_set if _is_given(value, states)}
    given = tuple(node for node in joint.graph.nodes if node in read)
    outputs = tuple(dict.fromkeys(node for node in joint.gradients if not _is_given(node, states)))
    return _build(given, order, outputs), given


def _is_given(node: Node, saved: frozenset[Node]) -> bool:
    return node.op == "placeholder" or node in saved


def _extract(
    inputs: Sequence[Node], outputs: Sequence[Node], effects: Sequence[Node]
) -> OperatorGraph:
    """Return the part of a graph that `outputs` and `effects` need, as a graph of its own."""
    needed: set[Node] = set()
    pending = [*outputs, *effects]
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending.extend(node.input_set)
    graph = outputs[0].graph if outputs else None
    nodes = graph.nodes if graph is not None else ()
    order = [node for node in nodes if node in needed and node.op == "call_function"]
    return _build(inputs, order, outputs)


def _backward_order(
    joint: JointGraph, saved: frozenset[Node], effects: Sequence[Node]
) -> list[Node]:
    """Return what the backward graph computes, in order: each recomputed value just before its use."""
    needed: set[Node] = set()
    pending = [*joint.gradients, *effects]
    while pending:
        node = pending.pop()
        if node not in needed and not _is_given(node, saved):
            needed.add(node)
            pending.extend(node.input_set)
    order: dict[Node, None] = {}
    position = {node: place for place, node in enumerate(joint.graph.nodes)}
    for node in joint.graph.nodes:
        if node in needed and (is_backward(node) or node in joint.gradients):
            for value in _recomputed_for(node, needed, order, position):
                order[value] = None
    return list(order)


def _recomputed_for(
    node: Node, needed: set[Node], done: dict[Node, None], position: dict[Node, int]
) -> Iterable[Node]:
    """Return `node` and the values that it still lacks, in their order in the joint graph."""
    lacking: set[Node] = set()
    pending = [node]
    while pending:
        value = pending.pop()
        if value in needed and value not in done and value not in lacking:
            lacking.add(value)
            pending.extend(value.input_set)
    return sorted(lacking, key=position.__getitem__)


def _build(inputs: Iterable[Node], order: Iterable[Node], outputs: Iterable[Node]) -> OperatorGraph:
    """Return a graph of copies: `inputs` as placeholders, `order` as calls."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta["val"] = node.meta["val"]
    for node in order:
        copies[node] = graph.copy_node(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in outputs))
    return OperatorGraph(graph)
