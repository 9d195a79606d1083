"""What the namespace can do: `__array_namespace_info__()`.

>>> from tensorplay import array_api as xp
>>> info = xp.__array_namespace_info__()
>>> info.default_dtypes()["real floating"], list(info.dtypes(kind="bool"))
(tensorplay.float32, ['bool'])
"""

from __future__ import annotations

from typing import Any

from tensorplay.array_api.creation import DeviceLike, available_device
from tensorplay.array_api.data_types import KINDS
from tensorplay.core import dtypes
from tensorplay.core.device import CPU, Device
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentValueError


class ArrayNamespaceInfo:
    """The capabilities, devices and dtypes of `tensorplay.array_api`."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing and shapes that depend on data work; NumPy, which holds the data, limits dimensions to 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new arrays."""
        return CPU

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """The dtypes of new arrays that are given none; see `tensorplay.set_default_dtype`."""
        available_device(device)
        return {
            "real floating": dtypes.get_default_dtype(),
            "complex floating": dtypes.dtype_of_number(1j),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def devices(self) -> list[Device]:
        """The devices that arrays can be on."""
        return [CPU]

    def dtypes(
        self, *, device: DeviceLike = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes by name, all or of one or several kinds."""
        available_device(device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [each for each in kinds if each not in KINDS]
        if unknown:
            msg = f"dtypes: expected kinds among {', '.join(KINDS)}, found {unknown[0]!r}"
            raise ArgumentValueError(msg)
        return {dtype.name: dtype for each in kinds for dtype in KINDS[each]}


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807  # the standard's name
    """What the namespace can do."""
    return ArrayNamespaceInfo()


__all__ = ["ArrayNamespaceInfo", "__array_namespace_info__"]
