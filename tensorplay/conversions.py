r"""Tensors over memory that other objects hold: the two functions that take whatever speaks a protocol.

>>> import tensorplay as tp
>>> tp.asarray([[1, 2]]), tp.frombuffer(bytearray(b"\x01\x02"), dtype=tp.int8)
(tensor([[1, 2]]), tensor([1, 2], dtype=tensorplay.int8))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorplay.core import dtypes
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.tensor import Tensor, as_tensor, from_dlpack, from_numpy, tensor_from_data


def asarray(
    obj: Any,  # noqa: ANN401  # a tensor, an array, a buffer, numbers
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of what `obj` holds: over the same memory where it can be shared, else a copy.

    `obj` is a tensor, an ndarray, an object with `__dlpack__` or the buffer protocol (of the default dtype unless
    `dtype` says another), a number or nested sequences of numbers. `copy=True` always copies; `copy=False` raises
    ArgumentValueError where a copy would be needed. Without `requires_grad` the result is detached from the graph.

    >>> import numpy as np, tensorplay as tp
    >>> a = np.zeros(2)
    >>> tp.asarray(a)[0] = 1
    >>> a
    array([1., 0.])
    """
    shared = _over_memory_of(obj, dtype)
    if shared is None:
        if copy is False:
            name = type(obj).__name__
            msg = f"asarray: {name} has no memory that a tensor could share; leave copy=False away"
            raise ArgumentValueError(msg)
        result = tensor_from_data(obj, dtype=dtype, device=device)
    else:
        result = as_tensor(shared, dtype, device)
        if copy is False and result is not shared:
            msg = f"asarray: {shared.dtype} becomes {result.dtype} by a copy; leave copy=False away"
            raise ArgumentValueError(msg)
        if copy and result is shared:
            result = shared.clone()
    if result.requires_grad != requires_grad:
        result = result.detach().requires_grad_(requires_grad)
    return result


def _over_memory_of(obj: Any, dtype: DType | None) -> Tensor | None:  # noqa: ANN401  # any object
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj) if obj.dtype.isnative else None
    if isinstance(obj, np.generic):
        return None
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if _is_buffer(obj):
        return frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    return None


def _is_buffer(obj: Any) -> bool:  # noqa: ANN401  # any object
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def frombuffer(
    buffer: Any,  # noqa: ANN401  # any object with the buffer protocol
    *,
    dtype: DType,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    r"""A 1-d tensor over the memory of a buffer, such as a bytearray.

    `count` elements (-1: all) of `dtype` from the byte `offset` on. Memory that only can be read is copied, so that
    no write reaches it. ArgumentValueError where the buffer is too short or does not hold whole elements.

    >>> import tensorplay as tp
    >>> tp.frombuffer(bytearray(b"\x01\x00\x02\x00"), dtype=tp.int16, offset=2)
    tensor([2], dtype=tensorplay.int16)
    """
    wanted = dtypes.as_dtype(dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        name = type(buffer).__name__
        msg = f"frombuffer: expected an object with the buffer protocol, found {name}"
        raise ArgumentError(msg) from None
    try:
        array = np.frombuffer(view, wanted.numpy, count, offset)
    except ValueError as error:
        asked = f"{count} elements of {wanted} from byte {offset} of {view.nbytes}"
        msg = f"frombuffer: {asked}: {error}"
        raise ArgumentValueError(msg) from None
    result = from_numpy(array if array.flags.writeable else array.copy())
    return result.requires_grad_() if requires_grad else result


__all__ = ["asarray", "frombuffer"]
