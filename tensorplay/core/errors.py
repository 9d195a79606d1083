"""Errors, one class per remedy.

A message says what was asked, what was found, and what to do. Each class also derives from the
built-in exception that Python programmers expect (`IndexError`, `TypeError`, `ValueError`), so that
ordinary handlers work.

>>> raise ShapeError("add: shapes (2, 3) and (4,) do not broadcast")
Traceback (most recent call last):
    ...
tensorplay.core.errors.ShapeError: add: shapes (2, 3) and (4,) do not broadcast
"""

from __future__ import annotations


class TensorPlayError(RuntimeError):
    """Base of everything that TensorPlay raises on purpose."""


class ShapeError(TensorPlayError, ValueError):
    """Sizes do not fit together: change the shapes."""


class DTypeError(TensorPlayError, TypeError):
    """A dtype is not accepted here: convert with `.to(dtype)`."""


class DeviceError(TensorPlayError):
    """Tensors live on different devices, or the device does not exist."""


class DimensionError(TensorPlayError, IndexError):
    """A dimension number is outside the tensor's rank."""


class IndexRangeError(TensorPlayError, IndexError):
    """An index points outside a tensor."""


class ArgumentError(TensorPlayError, TypeError):
    """A call does not match the operator's signature."""


class ArgumentValueError(TensorPlayError, ValueError):
    """An argument has the right type and a value outside its domain."""


class NumberRangeError(ArgumentValueError, OverflowError):
    """A number lies outside the range of the integer dtype that is to hold it: use a wider dtype, or wrap it."""


class LinAlgError(ArgumentValueError):
    """A factorization does not exist (a singular matrix, one that is not positive definite), or did not converge."""


class LayoutError(TensorPlayError):
    """The strides do not allow what was asked: call `.contiguous()` or `.reshape(...)`."""


class DataNeededError(TensorPlayError):
    """The program asked for the data of a tensor that has none (it is being recorded)."""


class GradientError(TensorPlayError):
    """A gradient was asked for where none exists."""


class VersionError(GradientError):
    """A tensor needed by the backward pass was changed in place."""


class BatchError(TensorPlayError):
    """A function can't run for a batch of samples at once; the message names the user's line."""


class NotDifferentiableError(GradientError, NotImplementedError):
    """An operator has no derivative, for the reason given."""


class RegistryError(TensorPlayError):
    """A declaration is incomplete, or declared twice."""


class CaptureError(TensorPlayError):
    """The compiled function cannot be captured; the message names the user's line."""


class CompileError(TensorPlayError):
    """A stage of the compiler failed."""


class CompilerNotFoundError(CompileError):
    """There is no C++ compiler; the message says what to install."""


class CacheError(TensorPlayError, OSError):
    """The cache folder cannot be used."""


class VerifyError(CompileError):
    """A verifier found an ill-formed program between two stages: a fault of the compiler."""
