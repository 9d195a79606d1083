"""The documents run: each Python block is executed, and the text block after it is what it prints.

`--accept` writes what was printed into the document. Each document runs in a process of its own, since one of
them declares an operator.
"""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/tour.md", "docs/adding_an_operator.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)

PROGRAM = """
import __future__, contextlib, io, json, linecache, sys
blocks, outputs, names = json.load(sys.stdin), [], {"__name__": "document"}
flags = 0  # a future import holds for the blocks after it, as at a prompt
for number, (file, block) in enumerate(blocks):
    name = f"{file}_{number}.py"
    linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = compile(block, name, "exec", flags=flags, dont_inherit=True)
        flags |= code.co_flags & __future__.annotations.compiler_flag
        exec(code, names)
    outputs.append(printed.getvalue())
json.dump(outputs, sys.stdout)
"""


def run_blocks(document: str, blocks: list[str]) -> list[str]:
    """What each block prints when all run one after the other."""
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        input=json.dumps([(Path(document).stem, block) for block in blocks]),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


def with_outputs(text: str, document: str) -> str:
    """The document with every expected output replaced by the real one."""
    parts = list(BLOCK.finditer(text))
    programs = [part for part in parts if part[1] == "python"]
    outputs = dict(zip(programs, run_blocks(document, [p[2] for p in programs]), strict=True))
    pieces, end = [], 0
    for before, after in itertools.pairwise(parts):
        follows = text[before.end() : after.start()].strip() == ""
        if before in outputs and after[1] == "text" and follows:
            pieces += [text[end : after.start(2)], outputs[before]]
            end = after.end(2)
    return "".join(pieces) + text[end:]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_prints_what_it_says(document, request):
    path = ROOT / document
    text = path.read_text()
    found = with_outputs(text, document)
    if request.config.getoption("--accept"):
        path.write_text(found)
    assert found == path.read_text(), f"{document} has changed; --accept if that is meant"


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")), ids=str
)
def test_links_lead_somewhere(path):
    prose = BLOCK.sub("", path.read_text())
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{path.name} points to {target}"
