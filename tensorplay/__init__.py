"""TensorPlay: tensors, automatic differentiation, and a compiler that turns tensor programs into native kernels.

>>> import tensorplay as tp
>>> x = tp.tensor([1.0, -2.0], requires_grad=True)
>>> tp.relu(x).sum()
tensor(1., grad_fn=<SumBackward>)
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from tensorplay import functions
from tensorplay._C import get_num_threads, set_num_threads
from tensorplay.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tensorplay.core.config import config
from tensorplay.core.device import Device as device  # noqa: N813  # PyTorch's name
from tensorplay.core.dtypes import (
    ALL_DTYPES,
    bfloat16,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
    undefined,
)
from tensorplay.core.dtypes import (
    DType as dtype,  # noqa: N813  # PyTorch's name
)
from tensorplay.core.dtypes import (
    bool_ as bool,  # PyTorch's names
)
from tensorplay.core.dtypes import complex64 as cfloat
from tensorplay.core.dtypes import complex128 as cdouble
from tensorplay.core.dtypes import float16 as half
from tensorplay.core.dtypes import float32 as float  # as PyTorch has it
from tensorplay.core.dtypes import float64 as double
from tensorplay.core.dtypes import int16 as short
from tensorplay.core.dtypes import int32 as int  # as PyTorch has it
from tensorplay.core.dtypes import int64 as long
from tensorplay.core.memory_format import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)
from tensorplay.core.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from tensorplay.functions import (
    allclose,
    as_tensor,
    asarray,
    broadcast_shapes,
    broadcast_tensors,
    can_cast,
    equal,
    from_dlpack,
    from_numpy,
    frombuffer,
    is_tensor,
    numel,
    result_type,
    tensor,
)
from tensorplay.interop.when_imported import call_when_imported
from tensorplay.tensor import Tensor


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a submodule, or a function declared after the import
    """Load submodules at first use; find operators that were declared later."""
    if name in _SUBMODULES:
        return importlib.import_module(f"tensorplay.{name}")
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    if name in functions.PUBLIC:
        function = globals()[name] = getattr(functions, name)
        return function
    msg = f"module 'tensorplay' has no attribute {name!r}"
    raise AttributeError(msg)


newaxis = None
call_when_imported("einops._backends", lambda: importlib.import_module("tensorplay.interop.einops"))
_SUBMODULES = frozenset(
    {
        "array_api",
        "autograd",
        "compiler",
        "fft",
        "func",
        "graph",
        "linalg",
        "masked",
        "nn",
        "ops",
        "optim",
        "serialization",
        "signal",
        "special",
        "utils",
    }
)
_ELSEWHERE = {
    "compile": "tensorplay.compiler.api",
    "get_printoptions": "tensorplay._printing",
    "load": "tensorplay.serialization",
    "save": "tensorplay.serialization",
    "set_printoptions": "tensorplay._printing",
    "vmap": "tensorplay.func",
}
