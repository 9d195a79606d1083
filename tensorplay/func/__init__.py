"""Functions of functions: gradients, products with Jacobians, Jacobians and Hessians.

In: a function of tensors, or of trees of them (tuples, lists, dictionaries, what is registered with
optree). Out: a function that returns derivatives, in trees as the arguments and results are. They
compose: each is differentiable by the others, in any order.

>>> import tensorplay as tp
>>> from tensorplay.func import grad, hessian
>>> grad(grad(lambda x: x**3))(tp.tensor(2.0))
tensor(12.)
>>> hessian(lambda x: x.prod())(tp.tensor([2.0, 3.0]))
tensor([[0., 1.],
        [1., 0.]])
"""

from __future__ import annotations

from tensorplay.func.jacobians import hessian, jacfwd, jacrev
from tensorplay.func.linearize import linearize
from tensorplay.func.modules import functional_call, stack_module_state
from tensorplay.func.transforms import grad, jvp, value_and_grad, vjp
from tensorplay.func.vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]
