"""What to save for the backward pass: the model of section 5.4 on a joint graph.

In: a joint graph and the trait of each node. Out: the values to save, with the capacities and the
minimum cut that led to them.

- U, the values that the backward pass should not compute again: what is not cheap; what the
  backward pass would write to memory anyway, because one of its readers there can't be fused with
  it; reductions with 4 · (output bytes) < input bytes; values read both near and far; and ends of
  long fusible chains, so that one recomputation doesn't drag in the whole chain.
- c(v) = bytes · β · 1.1^d, truncated, where d is the distance to the first backward reader within
  [1, 100], and β is 1 if the forward pass writes v to memory anyway, else 2.

A view writes nothing: what its readers ask of it, they ask of the value that it views.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from tensorplay.compiler.aot.joint_graph import JointGraph, is_backward
from tensorplay.compiler.aot.min_cut import INFINITE, RematerializationNetwork
from tensorplay.compiler.phases import operator_of
from tensorplay.core.meta import TensorMeta
from tensorplay.graph import Node, map_nodes
from tensorplay.ops.kinds.index import Index, Scatter

DISTANCE_LIMIT: Final = 100
CHAIN_LIMIT: Final = 32
"""Operations that one recomputation may chain: beyond it a value costs more than its traffic."""
REDUCTION_RATIO: Final = 4


class Trait(enum.Enum):
    """How the partition sees an operator."""

    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    VIEW = "view"
    ITEM = "item of a tuple"
    EXTERN = "not cheap: a template, a library, a scatter"
    EFFECT = "draws random state"


_TRAIT_OF_KIND: Final = {
    "pointwise": Trait.POINTWISE,
    "view": Trait.POINTWISE,  # one that copies: flip, repeat
    "index": Trait.POINTWISE,
    "reduction": Trait.REDUCTION,
}
TraitOf: TypeAlias = Callable[[Node], Trait]


def trait_of(node: Node) -> Trait:
    """Return the trait of a call in an operator graph."""
    called = operator_of(node)
    if called is None:
        return Trait.ITEM
    if called.effect:
        return Trait.EFFECT
    if called.kind.is_view:
        return Trait.VIEW
    kind = called.kind
    if isinstance(kind, Index):
        values = called.signature.bind(node.args, node.kwargs)
        metas = tuple(map_nodes(value, lambda read: read.meta["val"]) for value in values)
        if isinstance(kind.form(called, metas), Scatter):
            return Trait.EXTERN
    return _TRAIT_OF_KIND.get(kind.name, Trait.EXTERN)


class Choice(NamedTuple):
    """What to save, and why. `cut` is None where there is no finite cut, and all is saved."""

    saved: tuple[Node, ...]
    capacities: Mapping[Node, int]
    cut: int | None
    not_recomputed: frozenset[Node]

    @property
    def saved_bytes(self) -> int:
        """The memory that lives from the forward to the backward pass, apart from inputs."""
        return sum(value_bytes(node) for node in self.saved)


class RematerializationModel:
    """The forward values of a joint graph with U, B and the capacities, ready to be cut."""

    def __init__(self, joint: JointGraph, trait_of: TraitOf) -> None:
        """Analyse the graph. Linear in its size."""
        self.outputs = frozenset(joint.outputs)
        self.gradients = frozenset(joint.gradients)
        self.nodes = [node for node in joint.graph.nodes if node.op == "call_function"]
        self.traits = {node: trait_of(node) for node in self.nodes}
        self.values = [node for node in self.nodes if not is_backward(node)]
        self.required = [node for node in self.values if self._is_required(node)]
        self.capacities = self._capacities()
        self.not_recomputed = self._not_recomputed()

    def choose(self, memory_budget: float = 1.0) -> Choice:
        """Return the cheapest feasible choice, within a fraction of the memory that it needs.

        A budget below 1 lets the backward pass recompute values of U as well, those that free most
        bytes for the least work first; 0 saves nothing but random states.
        """
        best = self._cut(self.not_recomputed)
        limit = memory_budget * best.saved_bytes
        if memory_budget >= 1 or best.saved_bytes <= limit:
            return best
        ranked = sorted(
            (node for node in self.not_recomputed if self.traits[node] is not Trait.EFFECT),
            key=lambda node: self._work(node) / max(value_bytes(node), 1),
        )
        low, high = 0, len(ranked)
        best = self._cut(self.not_recomputed.difference(ranked))
        while low + 1 < high:
            middle = (low + high) // 2
            choice = self._cut(self.not_recomputed.difference(ranked[:middle]))
            if choice.saved_bytes <= limit:
                best, high = choice, middle
            else:
                low = middle
        return best

    def _cut(self, forbidden: frozenset[Node]) -> Choice:
        network = RematerializationNetwork()
        number = {node: network.add_value(self.capacities[node]) for node in self.values}
        for node in self.values:
            for read in node.input_set:
                if read in number:
                    network.add_dependence(number[read], number[node])
            if node in forbidden:
                network.forbid_recomputing(number[node])
        for node in self.required:
            network.require(number[node])
        cut = network.minimum_cut()
        if cut is None:
            saved = tuple(node for node in self.required if self.capacities[node] < INFINITE)
            return Choice(saved, self.capacities, None, forbidden)
        saved = tuple(self.values[value] for value in cut.saved)
        return Choice(saved, self.capacities, cut.value, forbidden)

    def _is_required(self, node: Node) -> bool:
        return node in self.gradients or any(map(is_backward, node.user_set))

    def _is_transparent(self, node: Node) -> bool:
        return self.traits.get(node) in {Trait.VIEW, Trait.ITEM}

    def _wanted_in_memory(self, *, backward: bool) -> frozenset[Node]:
        """Return the values that something in one of the passes can only read from memory."""
        found = set(self.gradients if backward else self.outputs)
        for node in reversed(self.nodes):
            for reader in node.user_set:
                if self._is_transparent(reader):
                    if reader in found:
                        found.add(node)
                elif (
                    reader.op != "output"
                    and is_backward(reader) == backward
                    and self.traits[reader] is Trait.EXTERN
                ):
                    found.add(node)
        return frozenset(found)

    def _capacities(self) -> dict[Node, int]:
        """Return c(v) of every forward value."""
        wanted = self._wanted_in_memory(backward=False)
        written: set[Node] = set()
        for node in self.values:
            if self._is_transparent(node):
                is_written = any(
                    read in written or read.op == "placeholder" for read in node.inputs
                )
            else:
                is_written = node in wanted or self.traits[node] is Trait.EXTERN
            if is_written:
                written.add(node)
        views = {node for node in self.values if self._is_transparent(node)}
        distance: dict[Node, int] = {}
        for node in reversed(self.values):
            steps = [
                1 if is_backward(reader) else distance[reader] + (reader not in views)
                for reader in node.user_set
                if reader.op != "output"
            ]
            if node in self.gradients:
                steps.append(1)
            distance[node] = min([*steps, DISTANCE_LIMIT])
        return {
            node: int(value_bytes(node) * (1 if node in written else 2) * 1.1 ** distance[node])
            if isinstance(node.meta["val"], TensorMeta)
            else INFINITE
            for node in self.values
        }

    def _not_recomputed(self) -> frozenset[Node]:
        """Return U."""
        rewritten = self._wanted_in_memory(backward=True)
        position = {node: place for place, node in enumerate(self.values)}
        depth: dict[Node, int] = {}
        found: set[Node] = set()
        for node in self.values:
            chain = max((depth.get(read, 0) for read in node.input_set), default=0)
            if self._is_transparent(node):
                depth[node] = chain
            elif (
                self.traits[node] in {Trait.EXTERN, Trait.EFFECT}
                or node in rewritten
                or (self.traits[node] is Trait.REDUCTION and _shrinks(node))
                or _is_read_near_and_far(node, position)
                or chain + 1 >= CHAIN_LIMIT
            ):
                found.add(node)
                depth[node] = 0
            else:
                depth[node] = chain + 1
        return frozenset(found)

    def _work(self, node: Node) -> int:
        """Estimate the operations that computing a value once more takes."""
        elements = value_elements(node)
        if self.traits[node] is not Trait.EXTERN:
            return elements
        lengths = [meta.shape[-1] for read in node.inputs for meta in _metas(read) if meta.shape]
        return elements * max(lengths, default=1)


def _metas(node: Node) -> Iterable[TensorMeta]:
    value = node.meta["val"]
    found = value if isinstance(value, tuple) else (value,)
    return (meta for meta in found if isinstance(meta, TensorMeta))


def value_bytes(node: Node) -> int:
    """Return the bytes of a value, of all its tensors if there are several."""
    return sum(meta.nbytes for meta in _metas(node))


def value_elements(node: Node) -> int:
    """Return the elements of a value, of all its tensors if there are several."""
    return sum(meta.numel for meta in _metas(node))


def _shrinks(node: Node) -> bool:
    return REDUCTION_RATIO * value_bytes(node) < sum(map(value_bytes, node.input_set))


def _is_read_near_and_far(node: Node, position: Mapping[Node, int]) -> bool:
    distances = [position[user] - position[node] for user in node.user_set if user in position]
    return bool(distances) and min(distances) <= CHAIN_LIMIT and max(distances) > DISTANCE_LIMIT
