"""Devices: where a tensor's memory is.

>>> Device("cpu")
device(type='cpu')
>>> str(as_device("cuda:1"))
'cuda:1'
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorplay.core.errors import DeviceError

_TYPES = ("cpu", "cuda", "meta")


@dataclass(frozen=True, slots=True, repr=False)
class Device:
    """A device type and, where there are several, its number."""

    type: str
    index: int | None = None

    def __post_init__(self) -> None:
        """Refuse unknown types."""
        if self.type not in _TYPES:
            msg = f"unknown device {self.type!r}; the device types are {', '.join(_TYPES)}"
            raise DeviceError(msg)

    def __repr__(self) -> str:
        """Text as in `device(type='cuda', index=0)`."""
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{number})"

    def __str__(self) -> str:
        """Text as in `cuda:0`."""
        return self.type if self.index is None else f"{self.type}:{self.index}"


CPU = Device("cpu")


def check_available(device: Device) -> None:
    """Refuse a device that tensors cannot be on."""
    if device.type not in {"cpu", "meta"}:
        msg = f"device {str(device)!r} is not available: this build computes on the CPU"
        raise DeviceError(msg)


def as_device(device: Device | str | None) -> Device:
    """Turn `None`, `"cpu"`, `"cuda:0"` or a device into a device."""
    if device is None:
        return CPU
    if isinstance(device, Device):
        return device
    name, colon, number = str(device).partition(":")
    if not colon:
        return Device(name) if name != "cpu" else CPU
    if not number.isdigit():
        msg = f"device {device!r}: expected a number after the colon, as in 'cuda:0'"
        raise DeviceError(msg)
    return CPU if name == "cpu" else Device(name, int(number))
