"""Each function of the standard, on drawn arguments, gives what `array-api-strict` gives; compiled what it gives eagerly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_calls import CALLS, UNSET, agree, function_named, plain, rebuilt, run

import tensorplay as tp
from tensorplay import array_api as xp

strict = pytest.importorskip("array_api_strict", minversion="2.5")
ELSEWHERE = frozenset({"from_dlpack"})
"""Functions with tests of their own."""


@pytest.fixture(autouse=True)
def version():
    strict.set_array_api_strict_flags(api_version="2025.12")  # it has all of 2024.12


def names(module, prefix=""):
    found = [prefix + name for name in module.__all__ if not name.startswith("_")]
    return [
        name
        for name in found
        if callable(function_named(strict, name))
        and not isinstance(function_named(strict, name), type)
    ]


def test_every_function_of_the_standard_is_called():
    wanted = {
        *names(strict),
        *names(strict.linalg, "linalg."),
        *names(strict.fft, "fft."),
    } - ELSEWHERE
    wanted -= {
        "set_array_api_strict_flags",
        "get_array_api_strict_flags",
        "reset_array_api_strict_flags",
        "ArrayAPIStrictFlags",
    }
    assert wanted - set(CALLS) == set()
    assert set(CALLS) - wanted == set()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the oracle's, of the variance of one number
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=6)
@given(data=st.data())
def test_a_function_agrees_with_the_oracle(name, data):
    call = data.draw(CALLS[name])
    with np.errstate(all="ignore"):
        expected = rebuilt(name, plain(run(strict, name, call)))
        found = rebuilt(name, plain(run(xp, name, call)))
    agree(found, expected, values=name not in UNSET)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=1)
@given(data=st.data())
def test_a_captured_function_agrees_with_itself(name, data):
    call = data.draw(CALLS[name])
    compiled = tp.compile(function_named(xp, name), backend="aot_eager")
    found, expected = run(xp, name, call, compiled), run(xp, name, call)
    assert classes(found) == classes(expected)
    agree(plain(found), plain(expected), values=name not in UNSET)


def classes(value):
    """The classes of a result and its parts: arrays, named tuples, lists, numbers."""
    parts = value if isinstance(value, (tuple, list)) else ()
    return type(value), [classes(each) for each in parts]


@pytest.mark.parametrize("name", ["matrix_rank", "pinv"])
@pytest.mark.parametrize("batch", [(), (2,), (3, 2)])
def test_each_matrix_has_its_tolerance(name, batch):
    x = np.random.default_rng(0).normal(size=(*batch, 3, 4))
    rtol = np.resize([0.01, 0.6], batch)
    found = getattr(xp.linalg, name)(xp.asarray(x), rtol=xp.asarray(rtol))
    agree(plain(found), np.asarray(getattr(np.linalg, name)(x, rtol=rtol)))
