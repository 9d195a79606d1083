"""The project as a whole: its commands, what importing it loads and costs, and what must never be in it."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [
        ROOT / name
        for name in listed.stdout.decode().split("\0")
        if name and (ROOT / name).exists()
    ]


def loaded_by(statement: str) -> set[str]:
    program = f"{statement}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(json.loads(child.stdout))


def test_the_commands_exist_and_the_readme_names_them_first():
    readme = (ROOT / "README.md").read_text()
    first = readme.index("```bash")
    for name in ("scripts/digits", "scripts/test"):
        assert (ROOT / name).stat().st_mode & 0o111
        assert first < readme.index(name) < first + 250
    assert "scripts/test" in (ROOT / ".ci/run").read_text()


def test_importing_loads_neither_compiler_nor_optional_packages():
    modules = loaded_by("import tensorplay")
    heavy = (
        "tensorplay.compiler.backends.stax",
        "scipy",
        "triton",
        "ziglang",
        "matplotlib",
        "torch",
        "cupy",
    )
    assert not [m for m in modules if m.startswith(heavy)]


def test_a_warm_compiled_call_loads_no_triton():
    program = "import tensorplay as tp\ntp.compile(lambda x: x + 1, strict_native=True)(tp.ones(3))"
    assert "triton" not in loaded_by(program)


def test_no_tracked_file_names_a_place_on_somebody_s_machine():
    places = [("/" + name + "/").encode() for name in ("root", "home", "work", "Users")]
    for path in tracked_files():
        content = path.read_bytes()
        for place in places:
            assert place not in content, f"{path.relative_to(ROOT)} names {place.decode()}"


def test_no_tracked_file_is_large():
    assert not [path for path in tracked_files() if path.stat().st_size > 1 << 20]


def test_each_ruff_exception_is_explained():
    section = (ROOT / "pyproject.toml").read_text().partition("[tool.ruff.lint]")[2]
    section = section.partition("[tool.ruff.lint.pydocstyle]")[0]
    for line in section.splitlines():
        if line.startswith('    "'):
            assert "#" in line, f"why this exception? {line.strip()}"
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert rules["select"] == ["ALL"]


def test_types_are_checked_strictly_and_everywhere():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"] is True
    for override in settings["overrides"]:
        assert not [m for m in override["module"] if m.startswith("tensorplay")]


def test_every_exception_from_a_rule_says_why():
    bare = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])\s*$")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("tensorplay", "test", "scripts", "bench", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if bare.search(line)
    ]
    assert found == []
