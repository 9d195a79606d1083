"""Text of tensors, as PyTorch prints them.

>>> import tensorplay as tp
>>> tp.tensor([[1.0, 2.5], [-3.0, 4.0]])
tensor([[ 1.0000,  2.5000],
        [-3.0000,  4.0000]])

Numbers of one tensor share a format: integers as such, floats with four digits, in scientific
notation where they differ in size by more than a thousand, are above 1e8 or below 1e-4. More than a
thousand elements are summarized. `set_printoptions` changes these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensorplay import dispatch
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentValueError

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_LARGEST, _SMALLEST, _SPREAD = 1e8, 1e-4, 1e3

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """How tensors are printed."""

    precision: int = 4
    """Digits after the point."""
    threshold: float = 1000
    """Elements above which a tensor is summarized."""
    edgeitems: int = 3
    """Elements that a summary shows at each end of a dimension."""
    linewidth: int = 80
    """Characters of a line."""
    sci_mode: bool | None = None
    """Scientific notation: always, never, or (None) where numbers differ much in size."""


_PROFILES: Final = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_current = PrintOptions()


def get_printoptions() -> PrintOptions:
    """How tensors are printed now.

    >>> import tensorplay as tp
    >>> tp.get_printoptions().precision
    4
    """
    return _current


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed; what is not named stays, but for `sci_mode`, which starts anew.

    `profile` ("default", "short" or "full") sets all of them first; errors name what is wrong.

    >>> import tensorplay as tp
    >>> tp.set_printoptions(precision=2)
    >>> tp.tensor([1.23456, 2.0])
    tensor([1.23, 2.00])
    >>> tp.set_printoptions(profile="default")
    """
    global _current  # noqa: PLW0603  # the one state of this module
    if profile is not None and profile not in _PROFILES:
        msg = f"set_printoptions: profile must be one of {sorted(_PROFILES)}, found {profile!r}"
        raise ArgumentValueError(msg)
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        least = 1 if name == "linewidth" else 0
        if value is not None and not value >= least:
            msg = f"set_printoptions: {name} must be at least {least}, found {value}"
            raise ArgumentValueError(msg)
    start = _current if profile is None else _PROFILES[profile]
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _current = replace(start, **changes, sci_mode=sci_mode)


def tensor_text(tensor: Tensor) -> str:
    """The text of `repr(tensor)`."""
    with dispatch.without_modes(), dispatch.set_grad_enabled(False):
        return _body(tensor)


def _body(tensor: Tensor) -> str:
    prefix = "tensor("
    suffixes = _suffixes(tensor)
    if tensor.array is None:
        text = "..."
        suffixes.insert(0, f"size={tuple(tensor.shape)}")
    elif tensor.numel() == 0:
        text = "[]"
        if tensor.ndim != 1:
            suffixes.insert(0, f"size={tuple(tensor.shape)}")
    else:
        array = _plain(tensor.array)
        summarize = array.size > _current.threshold
        formatted = _formatter(_shown(array) if summarize else array)
        text = _nested(array, len(prefix), formatted, summarize=summarize)
    return prefix + _joined(text, suffixes, len(prefix)) + ")"


def _plain(array: Array) -> Array:
    """Half types as float32."""
    return (
        array.astype(np.float32)
        if array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
        else array
    )


def _suffixes(tensor: Tensor) -> list[str]:
    found: list[str] = []
    dtype = tensor.dtype
    implied = dtype in {dtypes.get_default_dtype(), dtypes.int64, dtypes.bool_, dtypes.complex64}
    if tensor.device.type != "cpu":
        found.append(f"device='{tensor.device}'")
    if not implied or (tensor.numel() == 0 and dtype is not dtypes.get_default_dtype()):
        found.append(f"dtype={dtype!r}")
    if tensor.grad_fn is not None:
        found.append(f"grad_fn={_named(tensor.grad_fn)}")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    return found


def _named(grad_fn: Any) -> str:  # noqa: ANN401  # a node
    return f"<{getattr(grad_fn, 'title', type(grad_fn).__name__)}>"


def _joined(text: str, suffixes: Sequence[str], indent: int) -> str:
    parts = [text]
    length = len(text) - text.rfind("\n") - 1 + (indent if "\n" not in text else 0)
    for suffix in suffixes:
        length += len(suffix) + 2
        if length > _current.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
        else:
            parts.append(", " + suffix)
    return "".join(parts)


def _shown(array: Array) -> Array:
    """The elements that a summary shows, flat."""
    index = [
        np.r_[0 : _current.edgeitems, size - _current.edgeitems : size]
        if size > 2 * _current.edgeitems
        else np.arange(size)
        for size in array.shape
    ]
    return array[np.ix_(*index)] if index else array


def _nested(array: Array, indent: int, formatted: Callable[[Any], str], *, summarize: bool) -> str:
    if array.ndim == 0:
        return formatted(array[()])
    if array.ndim == 1:
        return _row(array, indent, formatted, summarize=summarize)
    size = array.shape[0]
    if summarize and size > 2 * _current.edgeitems:
        rows = [
            _nested(each, indent + 1, formatted, summarize=True)
            for each in array[: _current.edgeitems]
        ]
        rows.append("...")
        rows += [
            _nested(each, indent + 1, formatted, summarize=True)
            for each in array[size - _current.edgeitems :]
        ]
    else:
        rows = [_nested(each, indent + 1, formatted, summarize=summarize) for each in array]
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(rows) + "]"


def _row(array: Array, indent: int, formatted: Callable[[Any], str], *, summarize: bool) -> str:
    size = array.shape[0]
    if summarize and size > 2 * _current.edgeitems:
        items = [formatted(each) for each in array[: _current.edgeitems]] + [" ..."]
        items += [formatted(each) for each in array[size - _current.edgeitems :]]
    else:
        items = [formatted(each) for each in array]
    width = max((len(each) for each in items), default=0) + 2
    each_line = max(1, (_current.linewidth - indent) // width)
    lines = [", ".join(items[i : i + each_line]) for i in range(0, len(items), each_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _formatter(array: Array) -> Callable[[Any], str]:
    kind = array.dtype.kind
    if kind == "c":
        real, imag = _formatter(np.array(array.real)), _formatter(np.array(array.imag))

        def complex_text(x: Any) -> str:  # noqa: ANN401  # a NumPy scalar
            imaginary = imag(x.imag).strip()
            return real(x.real) + ("" if imaginary.startswith("-") else "+") + imaginary + "j"

        return complex_text
    plain = str if kind in "biu" else _float_style(array)
    measured = array if kind in "biu" else array[np.isfinite(array) & (array != 0)]
    width = max((len(plain(each)) for each in measured.reshape(-1)), default=0) if array.ndim else 0

    def text(x: Any) -> str:  # noqa: ANN401  # a NumPy scalar
        return plain(x).rjust(width)

    return text


def _float_style(array: Array) -> Callable[[Any], str]:
    digits, scientific = _current.precision, _current.sci_mode
    finite = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    whole = bool(np.all(finite == np.ceil(finite)))
    if scientific is None and finite.size:
        largest, smallest = float(finite.max()), float(finite.min())
        scientific = largest / smallest > _SPREAD or largest > _LARGEST
        scientific = scientific or (not whole and smallest < _SMALLEST)
    if scientific:
        return lambda x: f"{x:.{digits}e}"
    if whole:
        return lambda x: f"{x:.0f}." if math.isfinite(x) else f"{x}"
    return lambda x: f"{x:.{digits}f}"
