"""The generated stubs and reference pages tell what the registry says now."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("script", ["write_stubs.py", "write_reference.py"])
def test_generated_files_are_current(script):
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
