"""What people send as files: JSON, TOML, arrays, tables, images, traces, programs and keys."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
from PIL import Image

from fuzzing.files import from_file, scratch_folder
from fuzzing.json_changes import changed_json
from fuzzing.target import Target
from fuzzing.weights_target import weights_target
from rigs.fake_rig import make_project
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board, load_file
from tinysplit.boards.family_schema import FamilyFile
from tinysplit.boards.schema import read_toml
from tinysplit.build.elf import read_elf
from tinysplit.calibration import conditions
from tinysplit.calibration.conditions import read_calibration, target_of
from tinysplit.calibration.power_trace import fit_currents
from tinysplit.cli.config.file import read_config
from tinysplit.common import package_files
from tinysplit.common.errors import CheckFailedError, InputError, ToolError, UsageError
from tinysplit.common.output_folder import check_output_folder
from tinysplit.common.project_files import LIST_NAME, MANIFEST_NAME, VALIDATION_NAME
from tinysplit.common.secret_key import SecretKey
from tinysplit.explore.journal import SCHEMA_VERSION, Journal
from tinysplit.explore.prices import read_prices
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.sample_files import SampleEnds, SampleFile
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import read_split
from tinysplit.project.validation_file import read_validation
from tinysplit.project.wiring_file import read_wiring
from tinysplit.split.report.arrivals import Arrivals
from tinysplit_hil.results.compare import compare_files
from tinysplit_hil.rig.note import note_of_elf
from tinysplit_hil.rig.rig_file import read_rig_file
from tinysplit_hil.trace.files import read_trace
from tinysplit_hil.wire.simulated_time import SharedTime
from virtual_stm32.symbols import load_program

BOARD = "nucleo_g071rb"
OTHER_ERRORS = (InputError, UsageError, ToolError, CheckFailedError)


def _text(**values: object) -> bytes:
    return json.dumps(values).encode()


# --- JSON ------------------------------------------------------------------------------------------------------------


@cache
def _boards() -> tuple[Board, ...]:
    return (load_board(BOARD), load_board(BOARD))


def _project(path: Path) -> object:
    project = Project.read(path.parent)
    return project.pipelines, project.slowest, project.numbered_names


def _wiring() -> bytes:
    boards = [{"number": n, "name": each.name, "sha256": each.sha256} for n, each in enumerate(_boards(), 1)]
    direction = {"to_board": 2, "sent_frames": 9, "good_frames": 9, "damaged_frames": 0, "line_errors": 0}
    trial = {"baud": 921600, "directions": [direction, {**direction, "to_board": 1}]}
    link = {"boards": [1, 2], "uarts": ["USART1", "USART1"], "drivers": ["dma", "dma"], "baud": 921600}
    links = [{**link, "tested_bytes": 18432, "trials": [trial]}]
    return _text(schema_version=1, tinysplit_version="0.1.0", rig="virtual", clock="hsi", boards=boards, links=links)


def _read_wiring(path: Path) -> object:
    wiring = read_wiring(path, _boards())
    return wiring.links_with(()), wiring.driver_with(None), wiring.lowest_baud, wiring.summary


def _calibration() -> bytes:
    """Return a calibration with a few entries of each part."""
    table = shipped_table()

    def few(values: object, depth: int) -> object:
        if not isinstance(values, dict) or not depth:
            return values
        return {key: few(value, depth - 1) for key, value in list(values.items())[:2]}

    data = table.model_dump(mode="json", exclude_none=True)
    core = _boards()[0].device.core
    own = target_of(_boards()[0], has_ideal_memory=True).model_dump(mode="json")
    depths = {"cores": 3, "code": 5, "firmware": 1, "link": 2, "handoff": 1, "code_waits": 3}
    return _text(**{key: few(value, depths.get(key, 0)) for key, value in data.items()} | {"targets": {core: own}})


def _read_calibration(path: Path) -> object:
    """Read with a compiler and a firmware that need not be looked at each time."""
    table = shipped_table()
    with (
        patch.object(conditions, "compiler_version", lambda: table.compiler),
        patch.object(conditions, "firmware_sha256", lambda: table.firmware_sha256),
    ):
        return read_calibration(path, _boards()[:1])


def _journal() -> bytes:
    point = {"latency_s": 0.1, "energy_j": 0.2, "period_s": 0.1, "assignment": [0, 1], "copies": [], "proved": True}
    outcome = {"model": "00", "bits": 8, "baud": 921600, "boards": [BOARD, BOARD]}
    lines = [
        {"schema_version": SCHEMA_VERSION, "tinysplit": "0.1.0"},
        {**outcome, "points": [point, point], "why_not": "", "complete": True},
        {**outcome, "boards": [BOARD], "baud": 0, "points": [], "why_not": "it does not fit", "complete": False},
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _read_journal(path: Path) -> object:
    with Journal(path, {"tinysplit": "0.1.0"}) as journal:
        return journal.outcomes


def _validation(path: Path) -> object:
    return read_validation(path.parent, make_project())


def _compared(path: Path) -> object:
    """Compare with the measurement that is the first input of the corpus."""
    before = scratch_folder() / "before.json"
    if not before.exists():
        before.write_bytes(path.read_bytes())
    return compare_files(before, path, 1.0).to_json()


def json_targets() -> list[Target]:
    """Return the files in JSON."""
    changes = (changed_json,)

    def target(
        name: str, file: str, read: Callable[[Path], object], seeds: Callable[[], Sequence[bytes]] = list
    ) -> Target:
        return Target(name, from_file(file, read), seeds, OTHER_ERRORS, changes)

    return [
        target(
            "project",
            MANIFEST_NAME,
            _project,
            lambda: [make_project(copies=n).model_dump_json().encode() for n in (1, 2)],
        ),
        target("split", "split.json", read_split),
        target("measurement", "measurement.json", _compared),
        target("validation", VALIDATION_NAME, _validation),
        target("wiring", "wiring.json", _read_wiring, lambda: [_wiring()]),
        target("calibration", "calibration.json", _read_calibration, lambda: [_calibration()]),
        target("journal", "journal", _read_journal, lambda: [_journal()]),
    ]


# --- TOML and other texts --------------------------------------------------------------------------------------------

_RIG = b"""[[board]]
name = "nucleo_g071rb"
serial_number = "0667FF"
port = "/dev/ttyACM0"

[[board]]
name = "nucleo_f401re"
target = "left"

[[link]]
boards = [1, 2]
uarts = ["USART1", "USART1"]
baud = 921600

[labgrid]
environment = "rig.yaml"
"""
_SERVED = b"""[virtual]
time_file = "/tmp/time"
ports = ["/dev/pts/1"]
note = "virtual boards"

[[board]]
name = "nucleo_g071rb"
port = "/dev/pts/1"
openocd_adapter = "adapter driver remote_bitbang"
"""
_CONFIG = b"""board = ["nucleo_g071rb"]
bits = 8
baud = 921600
max-energy = 0.5
samples = "samples.npz"
use-all = true
"""
_VCD = b"""$timescale 1 us $end
$scope module tinysplit $end
$var wire 1 ! board1_layer $end
$var wire 1 " board1_transfer [0] $end
$upscope $end
$enddefinitions $end
#0 0! 0"
#100 1!
#10100 0!
#10200 1" #10300 0"
"""
_LEVELS = (
    b"; CSV generated by libsigrok\n; Channels (2/8): D0, D1\n; Samplerate: 500 kHz\nlogic,logic\n0,0\n1,0\n0,1\n0,0\n",
    b"META samplerate: 500000\nboard1_layer,board1_transfer\n0,0\n0,1\n0,0\n",
)


def _pulses(path: Path) -> object:
    trace = read_trace(path)
    return [trace.pulses(name) for name in trace.changes], trace.pulses("board1_layer")


def _currents() -> bytes:
    rows = (
        f"{step / 10},{5.4 if step // 20 % 2 else 3.0},{'run' if step // 20 % 2 else 'sleep'}" for step in range(160)
    )
    return "\n".join(["time (s),current (mA),marker", *rows]).encode()


def _board(path: Path) -> object:
    load_file.cache_clear()
    return load_file("own", path)


def _listed(path: Path) -> None:
    (path.parent / "x").write_bytes(b"x")
    check_output_folder(path.parent)


def _toml_of(folder: Path) -> Callable[[], list[bytes]]:
    return lambda: [path.read_bytes() for path in sorted(folder.glob("*.toml"))]


def text_targets() -> list[Target]:
    """Return the files in TOML and other texts."""

    def target(name: str, file: str, read: Callable[[Path], object], *seeds: bytes) -> Target:
        return Target(name, from_file(file, read), lambda: seeds, OTHER_ERRORS)

    prices = b"nucleo_g071rb = 11.20\nNUCLEO-F401RE = 3\n"
    return [
        target("rig", "rig.toml", read_rig_file, _RIG, _SERVED),
        target("config", "tinysplit.toml", read_config, _CONFIG),
        target("prices", "prices.toml", lambda path: read_prices(path, _boards()), prices),
        Target("board", from_file("own.toml", _board), _toml_of(package_files.boards()), OTHER_ERRORS),
        Target(
            "family",
            from_file("family.toml", lambda path: read_toml(path, FamilyFile)),
            _toml_of(package_files.boards() / "families"),
        ),
        target("arrivals", "times.txt", Arrivals.of_trace, b"0\n0.5\n1e3\n\n1000.25\n"),
        target("trace", "trace.vcd", _pulses, _VCD, *_LEVELS),
        target("currents", "trace.csv", fit_currents, _currents()),
        target("table", "x.csv", _samples, b"a,b,label\n1,2.5,0\n-3e-2,4,1\n", b'1,2,3\n"4",5,6\n'),
        target("key", "key", SecretKey.from_file, bytes(range(16)), b"0123456789abcdef" * 4 + b"\n"),
        Target(
            "file-list",
            _in_folder("listed", LIST_NAME, _listed),
            lambda: [sha256(b"x").hexdigest().encode() + b"  x\n" + b"00" * 32 + b"  board1/main.c\n"],
        ),
    ]


# --- binary files ----------------------------------------------------------------------------------------------------


_ENDS = SampleEnds("network", ("x",), ("y",))


def _samples(path: Path) -> object:
    return SampleFile(path).read(_ENDS)


def _npz(**arrays: object) -> bytes:
    stream = BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _npy(*values: object) -> bytes:
    stream = BytesIO()
    np.save(stream, np.array(values, np.float32))
    return stream.getvalue()


def _image(kind: str, mode: str) -> bytes:
    stream = BytesIO()
    Image.new(mode, (5, 4)).save(stream, kind)
    return stream.getvalue()


def _images(path: Path) -> object:
    return SampleFile(path.parent).read(_ENDS)


def _in_folder(name: str, file: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    folder = scratch_folder() / name
    folder.mkdir(exist_ok=True)
    return from_file(f"{name}/{file}", read)


def _program(path: Path) -> object:
    board = load_board(BOARD)
    found: list[object] = []
    for read in (
        note_of_elf,
        lambda path: load_program(path).flash_image(board, path),
        lambda path: read_elf(path, board.device),
    ):
        try:
            found.append(read(path))
        except (InputError, ToolError) as error:
            found.append(error)
            refusal = error
    if any(isinstance(each, Exception) for each in found):
        raise refusal
    return found


def _shared_time(path: Path) -> object:
    shared = SharedTime(path)
    try:
        counts = [shared.delivered(index) + shared.written(index) for index in range(shared.port_count)]
        return shared.time_s, shared.limit_s, counts
    finally:
        shared.close()


def binary_targets() -> list[Target]:
    """Return arrays, images, weights, programs and the file of simulated time."""
    arrays = {"x": np.zeros((3, 4), np.float32), "y": np.zeros(3, np.int64)}
    return [
        Target("npz", from_file("x.npz", _samples), lambda: [_npz(**arrays), _npz(x=np.zeros((2, 3), np.int8))]),
        Target("npy", from_file("x.npy", _samples), lambda: [_npy(1, 2), _npy([1, 2], [3, 4])]),
        Target(
            "png",
            _in_folder("png", "a.png", _images),
            lambda: [_image("PNG", mode) for mode in ("L", "RGB", "P", "I;16")],
        ),
        Target(
            "jpeg",
            _in_folder("jpeg", "a.jpg", _images),
            lambda: [_image("JPEG", mode) for mode in ("L", "RGB", "CMYK")],
        ),
        weights_target(),
        Target("program", from_file("firmware.elf", _program), list, OTHER_ERRORS),
        Target(
            "shared-time", from_file("time", _shared_time), lambda: [b"sim-time" + bytes(32)], (OSError, ValueError)
        ),
    ]


def file_targets() -> list[Target]:
    """Return all files but networks."""
    return [*json_targets(), *text_targets(), *binary_targets()]
