"""Operators: scalar instructions, operator kinds, the registry and the library.

Imports neither the compiler nor autograd. `tensorplay.ops.tp` is the namespace of operators
(`tensorplay.ops.tp.add.Tensor` is an overload, the target of graph nodes).
"""

from tensorplay.ops import instructions, special_instructions
from tensorplay.ops.registry import tp

__all__ = ["instructions", "special_instructions", "tp"]
