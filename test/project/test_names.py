"""Names at the top level that PyTorch's users write, reached from `import tensorplay` alone."""

import subprocess
import sys

import pytest

import tensorplay as tp


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("half", tp.float16), ("float", tp.float32), ("double", tp.float64), ("short", tp.int16), ("int", tp.int32),
        ("long", tp.int64), ("cfloat", tp.complex64), ("cdouble", tp.complex128), ("bool", tp.ones(1).bool().dtype),
    ],
)  # fmt: skip
def test_dtypes_have_their_names_of_c(name, dtype):
    assert getattr(tp, name) is dtype


PATHS = (
    "utils.checkpoint.checkpoint", "nn.functional.relu", "optim.lr_scheduler.StepLR", "autograd.forward_ad.make_dual",
    "autograd.functional.jacobian", "func.vmap", "vmap", "optim.swa_utils.AveragedModel", "nn.utils.parametrize",
    "special.erf", "fft.fft", "linalg.svd", "set_printoptions", "save", "compile", "array_api.asarray",
)  # fmt: skip


def test_submodules_need_no_import_of_their_own():
    code = "\n".join(["import tensorplay", *(f"tensorplay.{path}" for path in PATHS)])
    subprocess.run([sys.executable, "-c", code], check=True)
