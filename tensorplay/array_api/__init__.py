"""The array API standard 2024.12 for tensors: https://data-apis.org/array-api/2024.12/.

    xp = tensor.__array_namespace__()

Functions take any tensor, and Python numbers where the standard does, and return `Array`s: tensors
whose operators follow the standard, too (`tensorplay.array_api.array`). Gradients flow through them,
and `tensorplay.compile` compiles functions written with them. What the standard leaves open: floats
are float32 by default; integers meet floats in the floats' dtype; an array of one element of any
shape is a Python number; `x.size` is a number that can also be called, as PyTorch's.

>>> from tensorplay import array_api as xp
>>> x = xp.linspace(0, 1, 5)
>>> xp.sum(x, axis=0), xp.std(x, correction=1)
(tensor(2.5000), tensor(0.3953))
"""

from __future__ import annotations

from math import e, inf, nan, pi

from tensorplay.array_api import fft, linalg
from tensorplay.array_api.array import Array
from tensorplay.array_api.creation import *
from tensorplay.array_api.data_types import *
from tensorplay.array_api.elementwise import *
from tensorplay.array_api.inspection import __array_namespace_info__
from tensorplay.array_api.manipulation import *
from tensorplay.array_api.products import *
from tensorplay.array_api.searching import *
from tensorplay.array_api.statistics import *
from tensorplay.core.dtypes import bool_ as bool

newaxis = None
__array_api_version__ = "2024.12"
