"""What every test gets: an empty kernel cache, fixed seeds, golden files, an order that may be shuffled.

`--accept` writes what a test saw into its golden file; `--shuffle SEED` runs the tests in another order,
which must not change any result.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "project",
    deadline=None,  # the machine is shared: a slow example is no failure
    derandomize=True,  # the same examples everywhere; `--hypothesis-profile=explore` looks further
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "explore",
    parent=hypothesis.settings.get_profile("project"),
    derandomize=False,
    max_examples=2000,
)
hypothesis.settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="write golden files instead of comparing"
    )
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run its own cache of kernels, shared by all its workers and their children."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="tensorplay-test-")
        os.environ["TP_CACHE_DIR"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Every test starts from the same random state and the default settings, whatever ran before it."""
    import tensorplay as tp

    tp.manual_seed(0)
    dtype = tp.get_default_dtype()
    yield
    tp.set_default_dtype(dtype)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: text equals the file golden/<name> beside the test; `--accept` writes it."""

    def check(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--accept"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists():
            pytest.fail(f"{path} does not exist; run with --accept to write it:\n{text}")
        assert text == path.read_text(), f"differs from {path}; --accept if the change is meant"

    return check
