import gc
import os
from collections.abc import Iterator

import numpy as np
import pytest

from models import onnx_builder
from session import compiler_cache, direct_builds, profiles, program_cache, shared_folder
from session.fake_clock import FakeClock
from tinysplit.boards import board_files
from tinysplit.common import progress
from tinysplit.split import clock

NO_TIME_S = 1e-6  # between two readings of the clock of searches, which so end by their work alone
NEVER_S = 86400.0
TERMINAL = {"COLUMNS": "80", "LINES": "25", "TERM": "xterm"}
COLOURS = ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "GITHUB_ACTIONS")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-golden", action="store_true", help="write tests/golden/ anew instead of comparing")
    parser.addoption("--profile", choices=list(profiles.Profile), help="how many random cases to try (default: full)")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile, share what is built, and let no result depend on the terminal and the machine's speed."""
    os.environ.update(TERMINAL)
    for name in (*COLOURS, "TERMINAL_WIDTH"):
        os.environ.pop(name, None)
    clock.now = FakeClock(NO_TIME_S)
    progress.LATE_S = NEVER_S
    config.add_cleanup(direct_builds.use())
    profiles.use(profiles.Profile(config.getoption("--profile") or profiles.current()))
    if shared_folder.begin():
        config.add_cleanup(shared_folder.end)
        compiler_cache.use(shared_folder.path())
        program_cache.use()
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # the programs that tests start would compile all they import
            os.environ["PYTHONPYCACHEPREFIX"] = str(shared_folder.path() / "bytecode")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if any(map(item.get_closest_marker, profiles.markers_left_out()))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Let the collector of garbage leave out modules and tests, and run less often: a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture
def by_platformio() -> Iterator[None]:
    """Build by PlatformIO, as users do, which takes longer."""
    with direct_builds.left_out():
        yield


@pytest.fixture(autouse=True)
def _same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same random weights, whichever tests run before it."""
    monkeypatch.setattr(onnx_builder, "RNG", np.random.default_rng(0))


@pytest.fixture(autouse=True)
def _same_boards() -> Iterator[None]:
    """Forget the boards that a test has named or read, which all commands of a process find from then on."""
    named, beside = {**board_files._named}, [*board_files._beside]
    yield
    board_files._named.clear()
    board_files._named.update(named)
    board_files._beside[:] = beside
