"""The GPT of the example: the losses of its first steps are PyTorch's, eager and compiled; the script trains and writes.

char_gpt_torch.json holds PyTorch's losses of ten steps on the LICENSE, from weights and batches that PCG64 draws
(bench/gpt_against_torch.py --record FILE made it).
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorplay as tp

pytestmark = pytest.mark.timeout(400)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench():
    path = ROOT / "bench" / "gpt_against_torch.py"
    spec = importlib.util.spec_from_file_location("gpt_against_torch", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "compiled"])
@pytest.mark.parametrize(("dtype", "rounding"), [("float64", 1e-12), ("float32", 5e-6)])
def test_losses_are_those_of_pytorch(bench, dtype, rounding, eager):
    recorded = json.loads(Path(__file__).with_name("char_gpt_torch.json").read_text())
    text = bench.char_gpt.Text((ROOT / "LICENSE").read_text())
    sizes = bench.char_gpt.Sizes(**recorded["sizes"])
    assert len(text.alphabet) == sizes.vocabulary
    batches = bench.pieces_of(text, bench.RECORDED_STEPS, 4, sizes.context)
    found = bench.train(sizes, batches, getattr(tp, dtype), eager=eager)["losses"]
    assert found == pytest.approx(recorded[dtype], abs=rounding)
    assert found[-1] < found[0] - 0.4  # it learns, so the figures tell something


def test_the_script_trains_and_writes():
    script = str(ROOT / "examples" / "char_gpt.py")
    small = ["--steps", "30", "--layers", "1", "--width", "32", "--batch", "8", "--letters", "60"]
    done = subprocess.run(
        [sys.executable, script, *small], capture_output=True, text=True, timeout=380, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "30/30" in done.stderr  # the progress bar
    assert float(re.search(r"test loss: ([\d.]+)", done.stdout)[1]) < 4.0
    assert re.search(r"compiled: captures \d, backwards compiled 1", done.stdout)
    assert "fallbacks" not in done.stdout
    assert re.search(r"characters a second: eager [\d,]+, compiled [\d,]+", done.stdout)
    sample = done.stdout.split("---\n", 1)[1]
    assert len(sample.rstrip("\n")) >= 40
