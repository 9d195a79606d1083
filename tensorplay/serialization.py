"""Tensors by name in one file, in the safetensors format: no code runs when a file is loaded.

>>> import tensorplay as tp, tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp(), "model.safetensors")
>>> tp.save(tp.nn.Linear(2, 1).state_dict(), path)
>>> sorted(tp.load(path))
['bias', 'weight']
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tensorplay._C import wrap
from tensorplay.core.errors import ArgumentError, DTypeError, TensorPlayError
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping


class FileFormatError(TensorPlayError):
    """A file holds no tensors in the safetensors format."""


def save(
    tensors: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors, such as a module's `state_dict`, and text ``metadata`` to a file.

    The file is written beside ``path`` and then renamed, so readers never see half of it and an
    error leaves an older file as it was. A tensor that stands under two names is written twice.
    """
    from safetensors.numpy import save_file

    arrays = {name: _array_of(name, tensor) for name, tensor in tensors.items()}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        save_file(arrays, temporary, None if metadata is None else dict(metadata))
        Path(temporary).chmod(_default_mode())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def load(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read all tensors of a file that `save` or any other safetensors writer wrote."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(os.fspath(path))
    except SafetensorError as error:
        raise FileFormatError(f"{os.fspath(path)} is no safetensors file: {error}") from error
    return {name: wrap(np.array(array)) for name, array in sorted(arrays.items())}


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the text that was saved along with the tensors."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="np") as file:
            return dict(file.metadata() or {})
    except SafetensorError as error:
        raise FileFormatError(f"{os.fspath(path)} is no safetensors file: {error}") from error


def _array_of(name: str, tensor: object) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    if not isinstance(tensor, Tensor):
        raise ArgumentError(
            f"save writes tensors by name; {name!r} is of type {type(tensor).__name__}"
        )
    if tensor.dtype.name == "complex128":
        raise DTypeError(f"safetensors has no complex128; convert {name!r} to complex64 first")
    if tensor.array is None:
        raise ArgumentError(f"{name!r} has no data to save: it is being recorded")
    return np.ascontiguousarray(tensor.array).reshape(tensor.shape)


def _default_mode() -> int:
    """Return the permissions that a new file gets here (temporary files are private)."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
