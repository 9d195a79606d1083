"""Operator kinds: each interprets its declaration everywhere."""

from tensorplay.ops.kinds.composite import Composite
from tensorplay.ops.kinds.index import Index
from tensorplay.ops.kinds.kind import Kind
from tensorplay.ops.kinds.pointwise import Pointwise
from tensorplay.ops.kinds.reduction import Reduction
from tensorplay.ops.kinds.reinterpreted import Reinterpreted
from tensorplay.ops.kinds.structured import Structured
from tensorplay.ops.kinds.view import View

__all__ = [
    "Composite",
    "Index",
    "Kind",
    "Pointwise",
    "Reduction",
    "Reinterpreted",
    "Structured",
    "View",
]
