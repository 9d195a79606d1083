"""Random state: a generator is a seed and an offset.

Numbers are a pure function of (seed, offset, index of the element), computed by Philox4x32-10 in
the operators; a call that draws takes the current pair and advances the offset by one. So
recomputing a call gives the same numbers, and eager and compiled programs draw the same ones.

>>> generator = Generator(7)
>>> generator.draw(), generator.draw()
((7, 0), (7, 1))
"""

from __future__ import annotations

import os
import threading

_MASK = (1 << 63) - 1


class Generator:
    """A stream of random numbers."""

    def __init__(self, seed: int = 0) -> None:
        """Start at the beginning of the stream `seed`."""
        self._lock = threading.Lock()
        self._seed = seed & _MASK
        self._offset = 0

    def __repr__(self) -> str:
        """Text for debugging."""
        return f"Generator(seed={self._seed}, offset={self._offset})"

    def manual_seed(self, seed: int) -> Generator:
        """Start at the beginning of another stream."""
        with self._lock:
            self._seed, self._offset = seed & _MASK, 0
        return self

    def seed(self) -> int:
        """Start at the beginning of a stream chosen by the system; returns its seed."""
        fresh = int.from_bytes(os.urandom(8), "little") & _MASK
        self.manual_seed(fresh)
        return fresh

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def draw(self, count: int = 1) -> tuple[int, int]:
        """The current (seed, offset); the offset then advances by `count`."""
        with self._lock:
            state = (self._seed, self._offset)
            self._offset = (self._offset + count) & _MASK
        return state

    def get_state(self) -> tuple[int, int]:
        """The (seed, offset) from which the next call draws."""
        return self._seed, self._offset

    def set_state(self, state: tuple[int, int]) -> None:
        """Go on from a state that `get_state` gave."""
        with self._lock:
            self._seed, self._offset = (int(each) & _MASK for each in state)


default_generator = Generator()
"""The generator of calls that name none."""


def manual_seed(seed: int) -> Generator:
    """Start the default generator at the beginning of a stream."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator at the beginning of a stream chosen by the system; returns its seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> tuple[int, int]:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(state: tuple[int, int]) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(state)
