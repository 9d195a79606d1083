"""Tensors in one file, in the safetensors format: no code runs when a file is loaded.

>>> import tensorplay as tp, tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp(), "model.safetensors")
>>> tp.save(tp.nn.Linear(2, 1).state_dict(), path)
>>> sorted(tp.load(path))
['bias', 'weight']
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from tensorplay._C import wrap
from tensorplay.core import dtypes
from tensorplay.core.errors import ArgumentError, DTypeError, TensorPlayError
from tensorplay.saved_structure import put_together, take_apart
from tensorplay.tensor import Tensor

if TYPE_CHECKING:
    Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
    File: TypeAlias = str | os.PathLike[str] | BinaryIO

_DTYPES = {
    "BOOL": dtypes.bool_,
    **{f"U{bits}": getattr(dtypes, f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"I{bits}": getattr(dtypes, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"F{bits}": getattr(dtypes, f"float{bits}") for bits in (16, 32, 64)},
    "BF16": dtypes.bfloat16,
    "C64": dtypes.complex64,
}
"""What safetensors calls dtypes; its own NumPy functions read files in memory without bfloat16."""
_STRUCTURE = "tensorplay.structure"
"""The metadata under which the structure of a nested object lies."""


class FileFormatError(TensorPlayError):
    """A file holds no tensors in the safetensors format."""


def save(obj: object, f: File, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors by name, such as a module's `state_dict`, and text ``metadata``, to a file.

    ``obj`` may also be nested: dicts, lists and tuples of tensors, numbers, strings and None, such as
    ``{"epoch": 3, "model": ..., "optimizer": optimizer.state_dict()}``; the structure is written as metadata, and every
    reader of safetensors finds the tensors by their paths (``"model.weight"``). ``f`` is a path or a binary file.

    A path is written beside and then renamed, so readers never see half of it and an error leaves an
    older file as it was. A tensor that stands under two names is written twice.

    >>> import io, tensorplay as tp
    >>> file = io.BytesIO()
    >>> tp.save({"epoch": 3, "model": {"weight": tp.ones(2)}}, file)
    >>> tp.load(io.BytesIO(file.getvalue()))
    {'epoch': 3, 'model': {'weight': tensor([1., 1.])}}
    """
    from safetensors.numpy import save as to_bytes
    from safetensors.numpy import save_file

    known = None if metadata is None else dict(metadata)
    tensors: Mapping[str, Tensor]
    if isinstance(obj, Mapping) and _is_flat(obj):
        tensors = obj
    else:
        text, tensors = take_apart(obj)
        known = {**(known or {}), _STRUCTURE: text}
    arrays = {name: _array_of(name, tensor) for name, tensor in tensors.items()}
    if not isinstance(f, (str, os.PathLike)):
        f.write(to_bytes(arrays, known))
        return
    target = Path(f)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        save_file(arrays, temporary, known)
        Path(temporary).chmod(_default_mode())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def _is_flat(obj: Mapping[Any, Any]) -> bool:
    return all(isinstance(name, str) and isinstance(each, Tensor) for name, each in obj.items())


def load(f: File) -> Any:  # noqa: ANN401  # what was saved
    """Read what `save` wrote, or the tensors by name of any other safetensors file.

    ``f`` is a path or a binary file. FileFormatError where it is no such file.
    """
    from safetensors import deserialize, safe_open

    with _refused_by_name(f):
        if isinstance(f, (str, os.PathLike)):
            with safe_open(os.fspath(f), framework="np") as file:
                arrays = {each: file.get_tensor(each) for each in file.keys()}  # noqa: SIM118  # no mapping
                metadata = file.metadata() or {}
        else:
            content = f.read()
            parts = deserialize(content)  # type: ignore[no-untyped-call]  # a native function without types
            arrays = {each: _array_from(**part) for each, part in parts}
            metadata = _metadata_of(content)
    tensors = {name: wrap(np.array(array)) for name, array in sorted(arrays.items())}
    structure = metadata.get(_STRUCTURE)
    return tensors if structure is None else put_together(structure, tensors)


def load_metadata(f: File) -> dict[str, str]:
    """Read the text that was saved along with the tensors, and no tensor of a file that a path names."""
    from safetensors import deserialize, safe_open

    with _refused_by_name(f):
        if isinstance(f, (str, os.PathLike)):
            with safe_open(os.fspath(f), framework="np") as file:
                metadata = dict(file.metadata() or {})
        else:
            content = f.read()
            deserialize(content)  # type: ignore[no-untyped-call]  # it refuses what is no such file
            metadata = _metadata_of(content)
    metadata.pop(_STRUCTURE, None)
    return metadata


@contextlib.contextmanager
def _refused_by_name(f: File) -> Iterator[None]:
    """What safetensors refuses becomes an error of ours that names the file."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        name = os.fspath(f) if isinstance(f, (str, os.PathLike)) else getattr(f, "name", "the file")
        raise FileFormatError(f"{name} is no safetensors file: {error}") from error


def _array_from(dtype: str, shape: list[int], data: bytes) -> Array:
    """The array of a tensor that a file describes."""
    if dtype not in _DTYPES:
        raise DTypeError(
            f"safetensors' dtype {dtype} has none here; there are {', '.join(_DTYPES)}"
        )
    return np.frombuffer(data, _DTYPES[dtype].numpy).reshape(shape)


def _metadata_of(content: bytes) -> dict[str, str]:
    """The metadata of a file that was read: JSON behind its length in 8 bytes, as the format has it."""
    length = int.from_bytes(content[:8], "little")
    found: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return found


def _array_of(name: str, tensor: Tensor) -> Array:
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
