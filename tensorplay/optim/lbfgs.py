"""L-BFGS: quasi-Newton steps from the last changes of parameters and gradients.

>>> import tensorplay as tp
>>> x = tp.nn.Parameter(tp.tensor([3.0, -2.0]))
>>> opt = tp.optim.LBFGS([x], line_search_fn="strong_wolfe")
>>> def closure():
...     opt.zero_grad()
...     loss = ((x - tp.tensor([1.0, 2.0])) ** 2 * tp.tensor([1.0, 10.0])).sum()
...     loss.backward()
...     return loss
>>> first = opt.step(closure)
>>> x.detach()
tensor([1., 2.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorplay.autograd import enable_grad, no_grad
from tensorplay.core.errors import ArgumentError, ArgumentValueError
from tensorplay.functions import cat, zeros_like
from tensorplay.optim.line_search import Evaluation, strong_wolfe
from tensorplay.optim.optimizer import Group, Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tensorplay.tensor import Tensor

LEAST_CURVATURE = 1e-10
"""A pair of changes with less, sᵀy, would spoil the matrix, and is left out."""


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal and Wright, "Numerical optimization", 2nd ed., Algorithms 7.4 and 7.5).

    ``step(closure)`` makes up to ``max_iter`` iterations, and calls ``closure``, which computes the loss with gradients,
    at most ``max_eval`` times (``max_iter * 5 // 4`` by default). It ends where no gradient is above ``tolerance_grad``
    or where step or loss change by less than ``tolerance_change``. ``line_search_fn`` is None (steps of ``lr``) or
    ``"strong_wolfe"``. There is one group of parameters.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float | Tensor = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        """Take the settings above."""
        if line_search_fn not in {None, "strong_wolfe"}:
            raise ArgumentValueError(
                f"LBFGS: line_search_fn is None or 'strong_wolfe', got {line_search_fn!r}"
            )
        defaults: dict[str, Any] = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ArgumentValueError("LBFGS has one group of parameters: all take the same step")
        self._memory: dict[str, Any] = {"func_evals": 0, "n_iter": 0}

    @classmethod
    def slot_names(cls, group: Group) -> tuple[str, ...]:
        """None for a parameter: the state is that of all together."""
        del group
        return ()

    def compile(self, **options: Any) -> None:  # noqa: ANN401 - as the base class
        """Refuse: how often the closure is called depends on data. Compile what the closure computes."""
        del options
        raise ArgumentError(
            "LBFGS.compile: its steps depend on data; compile the function that the closure calls"
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # noqa: ANN401 - the closure's
        """Make up to ``max_iter`` iterations; return the first loss."""
        if closure is None:
            raise ArgumentError("LBFGS.step needs a closure that computes the loss with gradients")
        settings, memory = self.param_groups[0], self._memory
        rate = float(settings["lr"])

        def evaluate() -> tuple[Any, Evaluation]:
            with enable_grad():
                loss = closure()
            return loss, Evaluation(float(loss), self._gathered(gradients=True))

        with no_grad():
            first, now = evaluate()
            memory["func_evals"] += 1
            evaluations = 1
            if _largest(now.gradient) <= settings["tolerance_grad"]:
                return first
            for iteration in range(1, settings["max_iter"] + 1):
                memory["n_iter"] += 1
                direction = self._direction(now.gradient)
                length = rate
                if memory["n_iter"] == 1:
                    length = min(1.0, 1.0 / now.gradient.abs().sum().item()) * rate
                slope = (now.gradient @ direction).item()
                before = now.loss
                memory |= {
                    "d": direction, "t": length, "prev_flat_grad": now.gradient.clone(), "prev_loss": before,
                }  # fmt: skip
                if slope > -settings["tolerance_change"]:
                    break
                used = 0
                if settings["line_search_fn"] is not None:
                    start = self._gathered(gradients=False)

                    def at(t: float, start: Tensor = start, d: Tensor = direction) -> Evaluation:
                        self._place(start + t * d)
                        return evaluate()[1]

                    tolerance = settings["tolerance_change"]
                    now, length, used = strong_wolfe(at, length, direction, now, slope, tolerance)
                    self._place(start + length * direction)
                else:
                    self._place(self._gathered(gradients=False) + length * direction)
                    if iteration < settings["max_iter"]:
                        now = evaluate()[1]
                        used = 1
                memory["t"] = length
                memory["func_evals"] += used
                evaluations += used
                if (
                    evaluations >= settings["max_eval"]
                    or _largest(now.gradient) <= settings["tolerance_grad"]
                    or _largest(direction * length) <= settings["tolerance_change"]
                    or abs(now.loss - before) < settings["tolerance_change"]
                ):
                    break
        return first

    def _direction(self, gradient: Tensor) -> Tensor:
        """The two-loop recursion (Algorithm 7.4), after the last changes were remembered."""
        memory = self._memory
        if memory["n_iter"] == 1:
            memory |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0}
            return -gradient
        change = gradient - memory["prev_flat_grad"]
        moved = memory["d"] * memory["t"]
        curvature = (change @ moved).item()
        changes, moves, inverses = memory["old_dirs"], memory["old_stps"], memory["ro"]
        if curvature > LEAST_CURVATURE:
            if len(changes) == self.param_groups[0]["history_size"]:
                for each in (changes, moves, inverses):
                    each.pop(0)
            changes.append(change)
            moves.append(moved)
            inverses.append(1.0 / curvature)
            memory["H_diag"] = curvature / (change @ change).item()
        q: Tensor = -gradient
        weights = []
        for y, s, rho in zip(reversed(changes), reversed(moves), reversed(inverses), strict=True):
            weights.append((s @ q).item() * rho)
            q = q - weights[-1] * y
        q = q * memory["H_diag"]
        for y, s, rho, weight in zip(changes, moves, inverses, reversed(weights), strict=True):
            q = q + (weight - (y @ q).item() * rho) * s
        return q

    # ------------------------------------------------------------------ all parameters as one vector

    def _gathered(self, *, gradients: bool) -> Tensor:
        """All gradients, or all parameters, as one vector of its own."""
        parts = []
        for param in self.param_groups[0]["params"]:
            value = param.detach()
            if gradients:
                value = zeros_like(value) if param.grad is None else param.grad.detach()
            parts.append(value.reshape(-1))
        found: Tensor = cat(parts, 0)
        return found.clone() if len(parts) == 1 else found

    def _place(self, vector: Tensor) -> None:
        """Write one vector into all parameters."""
        start = 0
        for param in self.param_groups[0]["params"]:
            end = start + param.numel()
            param.copy_(vector[start:end].reshape(param.shape))
            start = end

    # ------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Return the settings, and the memory as the state of parameter 0: PyTorch's layout."""
        found = super().state_dict()
        found["state"] = {0: dict(self._memory)} if self._memory["func_evals"] else {}
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and memory over from `state_dict`."""
        super().load_state_dict({**state_dict, "state": {}})
        self._memory = dict(state_dict["state"].get(0, {"func_evals": 0, "n_iter": 0}))
        for name in ("old_dirs", "old_stps", "ro"):
            if name in self._memory:
                self._memory[name] = list(self._memory[name])
        if "ro" in self._memory:
            self._memory["ro"] = [float(each) for each in self._memory["ro"]]
        if "H_diag" in self._memory:
            self._memory["H_diag"] = float(self._memory["H_diag"])


def _largest(vector: Tensor) -> float:
    size: float = vector.abs().max().item()
    return size
