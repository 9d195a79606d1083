"""Minimum cuts by shortest augmenting paths, and the network of Definition 5.2.

`FlowNetwork` finds a maximum flow with the Edmonds-Karp method: always along a shortest augmenting
path. The paths of one length are found together, from one breadth-first search (Dinic's phases), so
that a network whose paths are short takes a few linear passes instead of one a path.

`RematerializationNetwork` splits each forward value into two vertices; cutting the edge between
them means saving the value.

>>> network = RematerializationNetwork()
>>> matmul, gelu = network.add_value(9011), network.add_value(100)
>>> network.add_dependence(matmul, gelu)
>>> network.forbid_recomputing(matmul)
>>> network.require(gelu)
>>> network.minimum_cut()
Cut(value=100, saved=(1,))
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

INFINITE: Final = 1 << 200
"""More than any sum of finite capacities: 2^64 values of 2^64 bytes, far from any reader."""


class FlowNetwork:
    """A directed network with integer capacities. Edges come in pairs: `e ^ 1` is `e` reversed."""

    __slots__ = ("capacity", "edges_from", "head")

    def __init__(self) -> None:
        self.edges_from: list[list[int]] = []
        self.head: list[int] = []
        self.capacity: list[int] = []

    def add_vertex(self) -> int:
        """Add a vertex and return its number."""
        self.edges_from.append([])
        return len(self.edges_from) - 1

    def add_edge(self, tail: int, head: int, capacity: int) -> None:
        """Add an edge, and the edge of capacity zero that undoes its flow."""
        self.edges_from[tail].append(len(self.head))
        self.head.append(head)
        self.capacity.append(capacity)
        self.edges_from[head].append(len(self.head))
        self.head.append(tail)
        self.capacity.append(0)

    def maximum_flow(self, source: int, sink: int) -> int:
        """Return the value of a maximum flow; `capacity` holds the residual network afterwards.

        A flow of `INFINITE` or more means that there is no finite cut; the search then stops.
        """
        flow = 0
        while flow < INFINITE:
            level = self._levels(source)
            if level[sink] < 0:
                break
            flow += self._push_shortest(source, sink, level)
        return flow

    def reachable(self, source: int) -> list[bool]:
        """Return which vertices the residual network reaches: the source's side of a minimum cut."""
        return [level >= 0 for level in self._levels(source)]

    def _levels(self, source: int) -> list[int]:
        """Return each vertex's distance from the source in the residual network, -1 if none."""
        level = [-1] * len(self.edges_from)
        level[source] = 0
        queue = deque([source])
        while queue:
            vertex = queue.popleft()
            for edge in self.edges_from[vertex]:
                head = self.head[edge]
                if self.capacity[edge] > 0 and level[head] < 0:
                    level[head] = level[vertex] + 1
                    queue.append(head)
        return level

    def _push_shortest(self, source: int, sink: int, level: list[int]) -> int:
        """Push along shortest paths until none is left, and return what was pushed."""
        pushed = 0
        following = [0] * len(self.edges_from)
        path: list[int] = []
        vertex = source
        while True:
            if vertex == sink:
                amount = min(self.capacity[edge] for edge in path)
                pushed += amount
                for edge in path:
                    self.capacity[edge] -= amount
                    self.capacity[edge ^ 1] += amount
                if pushed >= INFINITE:
                    return pushed
                full = next(i for i, edge in enumerate(path) if self.capacity[edge] == 0)
                vertex = self.head[path[full] ^ 1]
                del path[full:]
                continue
            edges = self.edges_from[vertex]
            while following[vertex] < len(edges):
                edge = edges[following[vertex]]
                head = self.head[edge]
                if self.capacity[edge] > 0 and level[head] == level[vertex] + 1:
                    path.append(edge)
                    vertex = head
                    break
                following[vertex] += 1
            else:
                if not path:
                    return pushed
                vertex = self.head[path.pop() ^ 1]
                following[vertex] += 1


class Cut(NamedTuple):
    """A minimum cut: its capacity, and the values whose edges it crosses."""

    value: int
    saved: tuple[int, ...]


class RematerializationNetwork:
    """The network of Definition 5.2: its finite cuts are the feasible sets of saved values."""

    __slots__ = ("_network", "_sink", "_source", "_vertices")

    def __init__(self) -> None:
        self._network = FlowNetwork()
        self._source = self._network.add_vertex()
        self._sink = self._network.add_vertex()
        self._vertices: list[tuple[int, int]] = []

    def add_value(self, capacity: int) -> int:
        """Add a forward value that costs `capacity` to save, and return its number."""
        inner, outer = self._network.add_vertex(), self._network.add_vertex()
        self._network.add_edge(inner, outer, capacity)
        self._vertices.append((inner, outer))
        return len(self._vertices) - 1

    def add_dependence(self, producer: int, consumer: int) -> None:
        """Say that computing `consumer` reads `producer`."""
        self._network.add_edge(self._vertices[producer][1], self._vertices[consumer][0], INFINITE)

    def forbid_recomputing(self, value: int) -> None:
        """Put a value into U."""
        self._network.add_edge(self._source, self._vertices[value][0], INFINITE)

    def require(self, value: int) -> None:
        """Put a value into B: the backward pass reads it."""
        self._network.add_edge(self._vertices[value][1], self._sink, INFINITE)

    def minimum_cut(self) -> Cut | None:
        """Return a minimum cut, or None when every cut is infinite. Call it once."""
        value = self._network.maximum_flow(self._source, self._sink)
        if value >= INFINITE:
            return None
        inside = self._network.reachable(self._source)
        saved = (
            number
            for number, (inner, outer) in enumerate(self._vertices)
            if inside[inner] and not inside[outer]
        )
        return Cut(value, tuple(saved))
