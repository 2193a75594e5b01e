"""The files of a program have one direction: none uses what, over any way, is made of it; by the symbols of objects."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from programs.firmware_build import firmware_of
from session.compiler_cache import path_in
from session.shared_folder import made_once
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.flash_sectors import FlashSlots
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.boards.parts import Memory
from tinysplit.codegen.board_files import firmware_sources, report_sources, wiring_test_sources
from tinysplit.codegen.platformio_ini import COMPILER, Parts, macros
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.plan.wake_up import WakeUp

if TYPE_CHECKING:
    from tinysplit.codegen.weights_source import BoardWeights

FIRMWARE = Path(__file__).parents[2] / "firmware"
BOARDS = (
    *("nucleo_g071rb", "disco_l496ag"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("nucleo_f446re", "nucleo_h743zi")),
)
SETTINGS = """
#define STANDALONE_FRAME_US 1000u
#define STANDALONE_KEEPS_NEWEST true
#define STANDALONE_INPUT 0u
#define STANDALONE_HAS_GUARD true
#define STANDALONE_PROBE_MS 1000u
"""
SLOTS = FlashSlots(Memory("flash", 0x08010000, 4096), Memory("flash", 0x08011000, 4096), 2048, 0x100000)
# Symbols of the linker script that may be null, or that only some scripts have.
WEAK = {
    *("_code_ram_data", "_code_ram_log2", "_code_ram_start", "_ram_code_end", "_ram_code_load", "_ram_code_start"),
    *("_external_start", "_external_end", "_far_end", "_far_load", "_far_start", "weights_staging"),
}


@dataclass(frozen=True)
class Symbols:
    """What an object defines, uses, and uses or defines as a weak symbol."""

    defined: frozenset[str]
    used: frozenset[str]
    weak: frozenset[str]


def symbols(path: Path) -> Symbols:
    listed = subprocess.run(["arm-none-eabi-nm", path], capture_output=True, text=True, check=True).stdout
    lines = [(line[-2], line[-1]) for line in map(str.split, listed.splitlines())]
    return Symbols(
        defined=frozenset(name for kind, name in lines if kind.isupper() and kind != "U"),
        used=frozenset(name for kind, name in lines if kind in "Uvw"),
        weak=frozenset(name for kind, name in lines if kind in "vVwW"),
    )


def compiled(folder: Path, board: Board, sources: Iterable[Path]) -> None:
    folder.mkdir()
    (folder / "standalone_settings.h").write_text(SETTINGS)
    includes = [
        "-I.",
        *(f"-I{path_in(folder, FIRMWARE / name)}" for name in ("common", board.device.family, "wiring", "report")),
    ]
    parts = macros(board, Parts(is_standalone=True, has_stop_mode=True))
    flags = (f"-mcpu={board.device.core}", "-mthumb", "-std=c11", "-O1", *(f"-D{each}" for each in parts))
    for source in sources:
        command = [COMPILER, *flags, *includes, "-c", path_in(folder, source), "-o", f"{source.stem}.o"]
        subprocess.run(command, cwd=folder, check=True)


def all_symbols(board: Board) -> dict[str, Symbols]:
    """Return the symbols of all files of firmware that are for the board, by their names without suffix."""
    sources = [
        path for name in ("common", board.device.family, "wiring", "report") for path in FIRMWARE.glob(f"{name}/*.c")
    ]
    used = [path for path in sources if path.stem != "external_memory" or board.external]
    folder = made_once(f"objects-{board.name}", lambda folder: compiled(folder, board, used))
    return {path.stem: symbols(path) for path in folder.glob("*.o")}


def programs(board: Board) -> dict[str, Sequence[tuple[str, Path]]]:
    """Return the files of programs that together have every file for the board."""
    weights = cast("BoardWeights", SimpleNamespace(slots=SLOTS, key=b"key", signer=b"signer"))
    plain = cast("BoardWeights", SimpleNamespace(slots=SLOTS, key=None, signer=None))
    wake_up = WakeUp(wake_us=1, pins=(), interrupts=())
    linked = firmware_of(board, board.link_uarts[:1])
    external = (0,) if board.external else ()
    whole = {
        f"by {driver}": firmware_sources(
            replace(firmware_of(board, board.link_uarts[:1], driver), weights=weights, external_layers=external)
        )
        for driver in (LinkDriver.DMA, LinkDriver.INTERRUPT)
    }
    return {
        **whole,
        "without a host": firmware_sources(replace(linked, is_standalone=True)),
        "that stops": firmware_sources(replace(linked, is_standalone=True, wake_up=wake_up)),
        "with nothing": firmware_sources(replace(firmware_of(board), has_diagnostics=False)),
        "that speaks MLPerf's protocol": firmware_sources(replace(linked, host=HostProtocol.MLPERF, weights=plain)),
        "that tests wires": wiring_test_sources(linked),
        "of a board report": report_sources(firmware_of(board)),
    }


def uses(files: Mapping[str, Symbols]) -> dict[str, set[str]]:
    """Return the files that each file uses symbols of.

    Tables of a network, which all files of a run read, count as none: they name the functions of its steps.
    """
    homes = {name: file for file, each in files.items() for name in each.defined if not name.startswith("network_")}
    return {file: {homes[name] for name in each.used if name in homes} for file, each in files.items()}


@pytest.mark.parametrize("name", BOARDS)
def test_no_program_has_files_that_use_each_other(name: str) -> None:
    board = load_board(name)
    objects = all_symbols(board)
    seen: set[str] = set()
    for sources in programs(board).values():
        files = {path.stem: objects[path.stem] for _, path in sources if path.suffix == ".c"}
        seen |= files.keys()
        TopologicalSorter(uses(files)).prepare()  # raises CycleError with the files of a circle
    assert objects.keys() == seen


@pytest.mark.parametrize("name", BOARDS)
def test_only_symbols_of_the_linker_script_are_weak(name: str) -> None:
    assert {symbol for each in all_symbols(load_board(name)).values() for symbol in each.weak} <= WEAK


def test_a_circle_over_a_third_file_is_found(tmp_path: Path) -> None:
    texts = {
        "low": "void middle(void); void low(void) { middle(); }",
        "middle": "void high(void); void middle(void) { high(); }",
        "high": "void low(void); void high(void) { low(); } __attribute__((weak)) void spare(void) {}",
    }
    for stem, text in texts.items():
        (tmp_path / f"{stem}.c").write_text(text)
    compiled(tmp_path / "objects", load_board("nucleo_g071rb"), tmp_path.glob("*.c"))
    files = {path.stem: symbols(path) for path in (tmp_path / "objects").glob("*.o")}
    assert files["high"].weak == {"spare"}
    with pytest.raises(CycleError, match="'low'"):
        TopologicalSorter(uses(files)).prepare()
    TopologicalSorter(uses({stem: files[stem] for stem in ("low", "high")})).prepare()
