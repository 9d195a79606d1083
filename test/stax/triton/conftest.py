"""One interpreter process for all tests of this folder."""

import pytest
from stax.triton.interpreter import Interpreter

pytest.importorskip("triton", reason="the optional dependency tensorplay[triton]")


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory):
    child = Interpreter(tmp_path_factory.mktemp("kernels"))
    yield child
    child.close()
