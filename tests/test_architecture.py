"""Which package may import which: the generator knows nothing of the harness, and only virtual boards need Unicorn."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATOR = ROOT / "generator" / "tinysplit"
HARNESS = ROOT / "hil" / "tinysplit_hil"


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level packages that a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def importers(folder: Path, package: str) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if package in imported(path)}


def test_only_the_whole_job_knows_generator_and_harness() -> None:
    assert importers(GENERATOR, "tinysplit_hil") == {"pipeline.py", "cli/run.py"}


def test_only_virtual_boards_need_the_gpl() -> None:
    assert importers(GENERATOR, "unicorn") == set()
    in_harness = importers(HARNESS, "unicorn")
    assert in_harness
    assert all(path.startswith("virtual/") for path in in_harness)


def test_facts_of_devices_come_from_one_module() -> None:
    assert importers(GENERATOR, "modm_devices") == {"boards/devices.py"}
