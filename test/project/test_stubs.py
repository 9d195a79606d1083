"""The generated stubs tell what the registry says now."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_stubs_are_current():
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write_stubs.py", "--check"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
