"""`target[where] += values` where places may meet: each of them counts.

>>> import numpy as np
>>> x = np.zeros(3)
>>> add_at(x, (np.array([0, 2, 0]),), np.array([1.0, 2.0, 3.0]))
>>> x
array([4., 0., 2.])
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from tensorplay import _C

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def add_at(target: Array, where: tuple[Any, ...], values: Array) -> None:
    """Add `values` to `target` at `where`, all of those that meet in one place; half types sum in float32 and round once."""
    if target.dtype.kind == "V" or (target.dtype.itemsize == 2 and target.dtype.kind not in "iub"):
        wide = target.astype(np.float32)
        add_at(wide, where, values.astype(np.float32))
        target[...] = wide.astype(target.dtype)
    elif target.dtype.kind == "b":
        np.logical_or.at(target, where, values)
    elif not _add_rows(target, where, values):
        np.add.at(target, where, values)


def _add_rows(target: Array, where: tuple[Any, ...], values: Array) -> bool:
    """Do the same natively, if `target` is contiguous and `where` is whole dimensions and then arrays; say whether."""
    first = next((i for i, each in enumerate(where) if not isinstance(each, slice)), len(where))
    last = next((i for i in range(first, len(where)) if isinstance(where[i], slice)), len(where))
    own = [np.asarray(each) for each in where[first:last]]
    if (
        not own
        or any(each.dtype.kind != "i" for each in own)
        or any(
            not isinstance(each, slice) or each != slice(None)
            for each in (*where[:first], *where[last:])
        )
        or not target.flags.c_contiguous
        or target.dtype.kind == "c"
        or target.size == 0
    ):
        return False
    outer, sizes = target.shape[:first], target.shape[first:last]
    rows = np.arange(math.prod(outer), dtype=np.int64).reshape(-1, *[1] * max(e.ndim for e in own))
    for each, size in zip(own, sizes, strict=True):
        if each.size and not (-size <= each.min() and each.max() < size):
            return False  # NumPy's error names the index
        rows = rows * size + np.where(each < 0, each + size, each)
    rest = target.shape[last:]
    values = np.broadcast_to(values, (*outer, *rows.shape[1:], *rest)).astype(
        target.dtype, order="C", copy=False
    )
    width = math.prod(rest)
    _C.add_rows(
        target.reshape(-1, width),
        np.ascontiguousarray(rows.reshape(-1)),
        np.ascontiguousarray(values).reshape(-1, width),
    )
    return True
