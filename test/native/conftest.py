"""What the tests of the native module share: kernels written in C++, and their programs."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import tensorplay as tp
from tensorplay import _C
from tensorplay.compiler.backends.stax.cpp_builder import find_compiler

SOURCE = """
#include <stdint.h>
extern "C" int64_t times2plus1(void* const* b, int64_t begin, int64_t end) {
  const float* x = (const float*)b[0];
  float* y = (float*)b[1];
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] * 2 + 1;
  return 0;
}
extern "C" int64_t check(void* const* b, int64_t begin, int64_t end) {
  const int64_t* x = (const int64_t*)b[0];
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] < 0) return 1;
    if (x[i] > 99) return 2;
  }
  return 0;
}
extern "C" int64_t where_it_ran(void* const* b, int64_t begin, int64_t end) {
  int64_t* y = (int64_t*)b[0];
  for (int64_t i = begin; i < end; ++i) y[i] = begin;
  return 0;
}
"""


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], _C.Kernel]:
    """Kernels of a library that is compiled once."""
    folder = tmp_path_factory.mktemp("kernels")
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text(SOURCE)
    command = find_compiler().command
    subprocess.run([*command, "-O2", "-fPIC", "-shared", "-o", library, source], check=True)
    return lambda symbol: _C.Kernel(str(library), symbol)


@pytest.fixture
def affine(kernel: Callable[[str], _C.Kernel]) -> Callable[..., _C.Program]:
    """The program x * 2 + 1 on n floats."""

    def make(n: int, grain: int = 1 << 20) -> _C.Program:
        spec = (tp.float32, (n,), (1,))
        launch = ("launch", kernel("times2plus1"), (0, 1), n, grain, ())
        return _C.Program((spec,), (("output", *spec),), (launch,), (1,), name="affine")

    return make


@pytest.fixture
def library_folder(kernel: Callable[[str], _C.Kernel]) -> Path:
    """Where the compiled library lies."""
    return Path(kernel("check").path).parent


@pytest.fixture
def threads() -> Callable[[int], None]:
    """Sets the number of threads for one test."""
    before = _C.get_num_threads()
    yield _C.set_num_threads
    _C.set_num_threads(before)
