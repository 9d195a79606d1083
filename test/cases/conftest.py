"""Each case runs eager and compiled: `run` is one of the ways to execute a function."""

from collections.abc import Callable

import pytest

import tensorplay as tp

MODES = ("eager", "compiled:eager", "compiled:aot_eager", "compiled:stax")


def runner(mode: str) -> Callable:
    """A decorator that leaves a function as it is (eager) or compiles it for one backend."""
    if mode == "eager":
        return lambda f: f
    backend = mode.removeprefix("compiled:")
    return lambda f: tp.compile(f, backend=backend, strict_native=True)


@pytest.fixture(params=MODES)
def run(request: pytest.FixtureRequest) -> Callable:
    """Execute in one mode: `run(f)(x)`."""
    return runner(request.param)


@pytest.fixture(params=MODES[1:])
def compiled(request: pytest.FixtureRequest) -> Callable:
    """Execute compiled, for cases about compilation itself."""
    return runner(request.param)
