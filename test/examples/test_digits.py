"""The main job trains to 98 % on digits it never saw, compiled without fallback, and reports it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(400)
SCRIPT = Path(__file__).parents[2] / "examples" / "digits.py"


def run(*arguments):
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=380, check=False)
    assert done.returncode == 0, done.stderr
    return done


def accuracy(text):
    return float(re.search(r"test accuracy: ([\d.]+)% of 360 images", text)[1])


def test_compiled_training_learns_and_tells_what_was_compiled():
    done = run()
    assert accuracy(done.stdout) >= 98.0
    assert "15/15" in done.stderr  # the progress bar
    assert re.search(
        r"compiled: captures 3, backwards compiled 1, (kernels built|cache hits) \d+", done.stdout
    )
    assert "fallbacks" not in done.stdout
    assert re.search(r"epoch: eager [\d.]+ s, compiled [\d.]+ s", done.stdout)


def test_eager_training_takes_the_same_steps():
    losses = [
        float(re.search(r"loss=([\d.]+)", run("--epochs", "1", *flags).stderr)[1])
        for flags in ((), ("--eager",))
    ]
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)
