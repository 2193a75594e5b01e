"""The structure that docs/develop/architecture.md describes: package order, no import cycles, sizes of files."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GENERATOR = ROOT / "generator" / "tinysplit"
HARNESS = ROOT / "hil" / "tinysplit_hil"
VIRTUAL = ROOT / "hil" / "virtual_stm32"

# In the order of the data. A package imports only packages that stand before it.
PACKAGES = (
    "settings",
    "common",
    "boards",
    "tflite_import",
    "network",
    "onnx_import",
    "kernels",
    "memory",
    "timing",
    "split",
    "costs",
    "plan",
    "slices",
    "quantize",
    "weights_file",
    "project",
    "codegen",
    "build",
    "explore",
    "calibration",
    "supported",
    "papers",
    "virtual_stm32",
    "tinysplit_hil",
    "context",
    "pipeline",
    "run",
    "api",
    "tinysplit_hil.pytest_plugin",
    "cli",
    "__main__",
)
# The packages of tinysplit_hil, in the same sense.
HARNESS_PACKAGES = (
    "wire",
    "trace",
    "rig",
    "measure",
    "bench",
    "board_report",
    "calibration",
    "results",
    "html_report",
    "pytest_plugin",
)
FLAT = {"__init__.py", "__main__.py", "context.py", "pipeline.py", "run.py"}
# Caps tell when a folder, file or function has come to hold two concepts; one concept that is longer raises its cap.
MAX_MODULES = 24
MAX_SHARED_MODULES = 12  # of a folder of tests/support
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60


def sources() -> list[Path]:
    """Return all Python files of the project but the generated ones."""
    folders = ("generator", "hil", "release", "tests", "benchmarks", "examples", "boards")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name of a file of one of the three packages."""
    root = GENERATOR if GENERATOR in path.parents else HARNESS
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Return every module of tinysplit, tinysplit_hil and virtual_stm32 by its dotted name."""
    return {module_name(path): path for folder in (GENERATOR, HARNESS, VIRTUAL) for path in folder.rglob("*.py")}


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return what a file imports, wherever the import stands: in functions and under TYPE_CHECKING, too."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules() else str(node.module) for name in names)


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules of ours that each module imports."""
    return {name: {used for used in imported(path) if used in modules()} for name, path in modules().items()}


def package_of(module: str) -> str:
    """Return the entry of PACKAGES that a module belongs to; the root package itself belongs to none."""
    first, *rest = module.split(".")
    if rest and f"{first}.{rest[0]}" in PACKAGES:
        return f"{first}.{rest[0]}"
    return first if first in {HARNESS.name, VIRTUAL.name} or not rest else rest[0]


def importers(folder: Path, package: str) -> set[str]:
    files = folder.rglob("*.py")
    return {
        path.relative_to(folder).as_posix()
        for path in files
        if any(name.split(".")[0] == package for name in imported(path))
    }


def test_packages_are_listed() -> None:
    folders = {path.parent.name for path in GENERATOR.glob("*/__init__.py")}
    assert folders == set(PACKAGES) - {
        "virtual_stm32",
        "tinysplit_hil",
        "tinysplit_hil.pytest_plugin",
        "context",
        "pipeline",
        "run",
        "__main__",
    }
    assert {path.name for path in GENERATOR.glob("*.py")} == FLAT


def test_a_package_imports_only_packages_before_it() -> None:
    order = {package: position for position, package in enumerate(PACKAGES)}
    upward = [
        f"{name} imports {used}"
        for name, every in imports().items()
        for used in sorted(every)
        if "." in used and order.get(package_of(used), -1) > order.get(package_of(name), -1)
    ]
    assert not upward


def test_a_package_of_the_harness_imports_only_packages_before_it() -> None:
    assert {path.parent.name for path in HARNESS.glob("*/__init__.py")} == set(HARNESS_PACKAGES)
    assert [path.name for path in HARNESS.glob("*.py")] == ["__init__.py"]
    order = {package: position for position, package in enumerate(HARNESS_PACKAGES)}
    upward = [
        f"{name} imports {used}"
        for name, every in imports().items()
        for used in sorted(every)
        if name.count(".") > 1 and name.startswith("tinysplit_hil.") and used.startswith("tinysplit_hil.")
        if order[used.split(".")[1]] > order[name.split(".")[1]]
    ]
    assert not upward


def test_no_import_cycle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_no_package_is_crowded() -> None:
    folders = {path.parent for path in modules().values()}
    counts = {folder: len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) for folder in folders}
    assert not {str(folder): count for folder, count in counts.items() if count > MAX_MODULES}


def test_what_tests_share_lies_in_folders_by_theme() -> None:
    support = ROOT / "tests" / "support"
    counts = {path.parent: len(list(path.parent.glob("*.py"))) - 1 for path in support.glob("*/__init__.py")}
    assert [path.name for path in support.glob("*.py")] == ["fuzz.py"]  # a command
    assert not {str(folder): count for folder, count in counts.items() if count > MAX_SHARED_MODULES}


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert not {str(path): length for path, length in lengths.items() if length > MAX_FILE_LINES}


def test_functions_are_short() -> None:
    too_long = [
        f"{path}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.end_lineno and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert not too_long


def test_only_runs_scripts_and_command_line_use_the_harness() -> None:
    assert {path.split("/")[0] for path in importers(GENERATOR, "tinysplit_hil")} <= {"run.py", "api", "cli"}


def test_only_virtual_boards_need_the_gpl() -> None:
    assert importers(GENERATOR, "unicorn") == importers(HARNESS, "unicorn") == set()
    assert importers(VIRTUAL, "unicorn")


def test_virtual_boards_know_boards_and_no_networks() -> None:
    used = {package_of(name) for path in VIRTUAL.rglob("*.py") for name in imported(path) if name in modules()}
    assert used == {"virtual_stm32", "boards", "common"}


def test_only_where_costs_begin_is_the_table_of_the_installation_read() -> None:
    readers = {name for name, path in modules().items() if "shipped_table" in path.read_text(encoding="utf-8")}
    assert readers == {
        "tinysplit.kernels.cost_table",
        "tinysplit.calibration.conditions",  # without --cost-table
        "tinysplit.api.prediction",  # which takes none, as the next one
        "tinysplit.cli.quantize",
        "tinysplit.quantize.scale_search",  # of a usual core
        "tinysplit.supported.kernels",  # its cores
        "tinysplit.supported.tables",
        "tinysplit.papers.reproduce.costs",
        "tinysplit_hil.calibration.calibrate",  # what it makes a new one of
    }


def test_facts_of_devices_come_from_one_module() -> None:
    readers = {name for name, path in modules().items() if '"modm_devices"' in path.read_text(encoding="utf-8")}
    assert readers == {"tinysplit.boards.devices"}
