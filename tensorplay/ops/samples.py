"""Sample calls: part of a declaration, and what the contract suite runs.

A sample describes its tensors (shape, dtype, domain, layout) instead of holding them, so that
declaring samples costs nothing at import. `Arg` stands for a tensor; the suite makes it
reproducibly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tensorplay.core.dtypes import DType, float32

Layout = Literal["contiguous", "transposed", "strided", "expanded", "reversed"]


@dataclass(frozen=True, slots=True)
class Arg:
    """A tensor argument of a sample: values uniform in `[low, high)`, integers for integer dtypes."""

    shape: tuple[int, ...]
    dtype: DType = float32
    low: float = -2.0
    high: float = 2.0
    layout: Layout = "contiguous"
    values: Sequence[object] | None = None
    """Exact values instead of random ones."""

    def with_dtype(self, dtype: DType) -> Arg:
        """The same argument with another dtype."""
        return replace(self, dtype=dtype)


@dataclass(frozen=True, slots=True)
class Sample:
    """A call, or, with `error`, a call that must be refused with that exception and a message containing `match`."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object] = field(default_factory=dict)
    error: type[Exception] | None = None
    match: str = ""


def sample(*args: object, **kwargs: object) -> Sample:
    """A sample call."""
    return Sample(args, kwargs)


def bad(error: type[Exception], match: str, *args: object, **kwargs: object) -> Sample:
    """A call that must be refused."""
    return Sample(args, kwargs, error, match)
