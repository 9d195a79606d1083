"""Bad input gets a clear error, and nothing is lost: the same exception eager and compiled, then a right call."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks import expect, tensor_of

import tensorplay as tp
from tensorplay.core import errors
from tensorplay.nn import functional

MODES = ("eager", "compiled")


@pytest.fixture(params=MODES)
def run(request):
    if request.param == "eager":
        return lambda f: f
    return lambda f: tp.compile(f, strict_native=True)


def refused(run, kind, words, f, *arguments):
    """`f` raises `kind` with every word in its message, and the arguments are as they were."""
    before = [a.tolist() for a in arguments if isinstance(a, tp.Tensor)]
    with pytest.raises(kind) as caught:
        run(f)(*arguments)
    for word in words:
        assert word in str(caught.value)
    assert [a.tolist() for a in arguments if isinstance(a, tp.Tensor)] == before
    return caught


def test_shapes_that_do_not_broadcast(run):
    a, b = tp.ones(2, 3), tp.ones(4)
    refused(run, errors.ShapeError, ["add", "(2, 3)", "(4,)"], lambda a, b: a + b, a, b)
    refused(run, errors.ShapeError, ["where"], lambda a, b: tp.where(a > 0, a, b), a, b)


def test_shapes_that_do_not_fit_a_matrix_product(run):
    a, b = tp.ones(2, 3), tp.ones(2, 3)
    refused(run, errors.ShapeError, ["matmul", "(2, 3)"], lambda a, b: a @ b, a, b)
    refused(run, errors.ShapeError, ["linear"], functional.linear, tp.ones(2, 3), tp.ones(4, 5))


def test_a_reshape_to_another_size(run):
    refused(run, errors.ShapeError, ["reshape", "(2, 3)"], lambda x: x.reshape(4, 2), tp.ones(2, 3))
    refused(run, errors.ShapeError, ["expand"], lambda x: x.expand(4, 2), tp.ones(2, 3))


def test_a_view_that_the_strides_do_not_allow(run):
    x = tp.ones(2, 3)
    refused(run, errors.LayoutError, ["view", "reshape"], lambda x: x.t().view(6), x)


def test_dimensions_outside_the_rank(run):
    x = tp.ones(2, 3)
    for f in (
        lambda x: x.sum(2),
        lambda x: x.transpose(0, -3),
        lambda x: tp.softmax(x, 5),
        lambda x: x.unsqueeze(4),
    ):
        refused(run, errors.DimensionError, [], f, x)
    refused(run, errors.TensorPlayError, [], lambda x: x.permute(0, 0), x)


def test_dtypes_that_an_operator_does_not_take(run):
    floats, flags = tp.ones(3), tensor_of([True], "bool")
    refused(run, errors.DTypeError, ["bitwise_and", "float32"], lambda x: x & x, floats)
    refused(run, errors.DTypeError, ["neg", "bool"], lambda x: -x, flags)
    refused(run, errors.DTypeError, ["int64"], lambda x: x.mean(), tensor_of([1, 2], "int64"))
    refused(run, errors.TensorPlayError, [], lambda x, i: x[i], floats, tp.ones(2))


def test_an_in_place_operator_that_would_change_shape_or_dtype(run):
    refused(run, errors.ShapeError, [], lambda x, y: x.add_(y), tp.ones(1), tp.ones(3))
    refused(run, errors.DTypeError, [], lambda x: x.mul_(0.5), tensor_of([1, 2], "int64"))


def test_a_device_that_does_not_exist(run):
    refused(run, errors.DeviceError, ["cuda"], lambda x: x.to("cuda"), tp.ones(2))
    with pytest.raises(errors.TensorPlayError, match="toaster"):
        tp.ones(2, device="toaster")


def test_arguments_that_do_not_match_the_signature(run):
    x = tp.ones(3)
    refused(run, TypeError, [], lambda x: tp.relu(x, 1, 2, 3), x)
    refused(run, TypeError, ["sideways"], lambda x: x.sum(sideways=True), x)
    refused(
        run, ValueError, ["gelu", "cubic"], lambda x: functional.gelu(x, approximate="cubic"), x
    )


def test_a_gradient_of_integers_and_of_vectors(run):
    with pytest.raises(errors.TensorPlayError):
        tensor_of([1, 2], "int64").requires_grad_()
    x = tp.ones(3).requires_grad_()
    with pytest.raises(errors.GradientError, match="one element"):
        run(lambda x: x * 2)(x).backward()


def test_a_saved_tensor_that_was_changed(run):
    x = tp.ones(3).requires_grad_()
    w = tp.ones(3)
    y = run(lambda x, w: (x * w).sum())(x, w)
    w.add_(1)
    with pytest.raises(errors.VersionError, match="in-place"):
        y.backward()


def test_a_second_backward_through_a_freed_graph(run):
    x = tp.ones(3).requires_grad_()
    y = run(lambda x: (x * x).sum())(x)
    y.backward()
    with pytest.raises(errors.GradientError, match="retain_graph"):
        y.backward()


def test_a_compiled_function_works_after_it_refused():
    f = tp.compile(lambda a, b: a + b, strict_native=True)
    with pytest.raises(errors.ShapeError):
        f(tp.ones(2), tp.ones(3))
    expect(f(tp.ones(2), tp.ones(2)), [2.0, 2.0], "float32")


def test_an_error_of_the_users_own_comes_through_unchanged():
    class MineError(Exception):
        pass

    def f(x):
        raise MineError("as I said it")

    with pytest.raises(MineError, match="as I said it"):
        tp.compile(f)(tp.ones(2))


@pytest.mark.parametrize("needs_data", [lambda x: x[x > 1], lambda x: x[x > 1].sum() * 2])
def test_what_cannot_be_captured_names_the_users_line(needs_data):
    def f(x):
        y = x + 1
        return needs_data(y)

    with pytest.raises(errors.CaptureError, match="where") as caught:
        tp.compile(f)(tp.ones(2))
    message = str(caught.value)
    assert Path(__file__).name in message
    line = inspect.getsourcelines(f)[1] + 2
    assert f"line {line}" in message or f"line {inspect.getsourcelines(needs_data)[1]}" in message


PROGRAM = """
import sys
import tensorplay as tp
try:
    y = tp.compile(lambda x: tp.exp(x) * 2 + 1, strict_native=True)(tp.zeros(3))
except tp.core.errors.TensorPlayError as error:
    sys.stdout.write(f"{type(error).__name__}: {error}")
else:
    sys.stdout.write(str(y.tolist()))
"""


def outcome(**environment):
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout, child.stderr


def test_a_compiler_that_fails_shows_its_command_its_output_and_the_source(tmp_path):
    compiler = tmp_path / "broken-compiler"
    compiler.write_text('#!/bin/sh\necho "this compiler is broken" >&2\nexit 1\n')
    compiler.chmod(0o755)
    found, _ = outcome(CXX=str(compiler), TP_CACHE_DIR=str(tmp_path / "cache"))
    assert found.startswith("CompileError")
    assert str(compiler) in found
    assert "this compiler is broken" in found
    assert ".cpp" in found


def test_without_any_compiler_the_error_says_what_to_install(tmp_path):
    program = tmp_path / "sitecustomize.py"
    program.write_text("import sys\nsys.modules['ziglang'] = None\n")
    environment = {"PATH": str(tmp_path), "CXX": "", "PYTHONPATH": str(tmp_path)}
    found, _ = outcome(**environment, TP_CACHE_DIR=str(tmp_path / "cache"))
    assert found.startswith("CompilerNotFoundError")
    assert "tensorplay[zig]" in found


def test_a_cache_folder_that_cannot_be_made(tmp_path):
    place = tmp_path / "a-file"
    place.write_text("")
    found, warned = outcome(TP_CACHE_DIR=str(place / "cache"))
    assert found == "[3.0, 3.0, 3.0]" or found.startswith("CacheError")
    assert str(place) in found + warned


# Everything is loaded before the process becomes nobody, who may not read this folder but may run the compiler.
READ_ONLY = """
import os, sys
from pathlib import Path
import tensorplay as tp
tp.compile(lambda x: tp.exp(x) * 3, strict_native=True)(tp.zeros(3))
if os.geteuid() == 0:
    os.setuid(65534)
with tp.core.config.config.override(cache_dir=Path(sys.argv[1])):
    y = tp.compile(lambda x: tp.exp(x) * 2 + 1, strict_native=True)(tp.zeros(3))
sys.stdout.write(str(y.tolist()))
"""


def test_a_cache_folder_that_is_read_only_is_replaced_with_a_warning(tmp_path):
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    for parent in (tmp_path, *tmp_path.parents[:2]):
        if parent.owner() == folder.owner():
            parent.chmod(parent.stat().st_mode | 0o055)
    child = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True, check=False
    )
    assert child.stdout == "[3.0, 3.0, 3.0]" or "CacheError" in child.stderr, child.stderr
    assert str(folder) in child.stderr


# No file may grow beyond 64 bytes: what a full disk does to a process, without filling one.
FULL = """
import signal, resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import tensorplay
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
"""


def test_a_full_disk_is_reported(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", FULL + PROGRAM],
        env={**os.environ, "TP_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout == "[3.0, 3.0, 3.0]" or "Error" in child.stdout.split(":")[0]
    again, _ = outcome(TP_CACHE_DIR=str(tmp_path))
    assert again == "[3.0, 3.0, 3.0]"


@pytest.mark.parametrize(
    "make",
    [
        lambda: tp.ones(2, device="cuda"),
        lambda: tp.rand(2, device="cuda"),
        lambda: tp.empty(2, device="cuda"),
        lambda: tp.zeros_like(tp.ones(2), device="cuda"),
        lambda: tp.arange(3, device="cuda"),
        lambda: tp.tensor([1.0], device="cuda"),
    ],
)
def test_creations_on_a_device_that_is_not_there(run, make):
    """Not quietly on the CPU."""
    refused(run, errors.DeviceError, ["cuda", "not available"], lambda x: make() + x, tp.ones(()))


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "rand", "randn"])
def test_negative_sizes(run, name):
    state = tp.get_rng_state()
    words = ["sizes must not be negative, found (2, -3)"]
    refused(run, errors.ShapeError, words, lambda x: getattr(tp, name)(2, -3) + x, tp.ones(()))
    assert tp.get_rng_state() == state


def test_a_tensor_without_data_in_a_compiled_function():
    f = tp.compile(lambda x: (x, tp.ones(2, device="meta")), strict_native=True)
    with pytest.raises(errors.CompileError, match="makes a tensor without data"):
        f(tp.ones(2))


def test_a_class_that_is_no_class(run):
    one_hot = tp.nn.functional.one_hot
    refused(run, IndexError, ["out of range"], lambda x: one_hot(x, 3), tp.tensor([0, 3]))


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: tp.gcd(x, 2), "gcd(): other"), (lambda x: tp.complex(x.float(), 2.0), "complex(): imag"),
        (lambda x: tp.max(2, 3), "argmax(): input"), (lambda x: tp.gather(x, 0, 1), "gather(): index"),
        (lambda x: tp.sort([3, 1]), "argsort(): input"), (lambda x: tp.sum(None), "sum(): input"),
        (lambda x: functional.linear(x.float(), 2), "linear(): weight"),
    ],
)  # fmt: skip
def test_what_is_no_tensor_is_named(run, call, name):
    refused(run, errors.ArgumentError, [name, "must be a tensor, found"], call, tp.tensor([1, 2]))
