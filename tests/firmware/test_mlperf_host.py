"""MLPerf Tiny's protocol on a board, compiled for the host with AddressSanitizer: commands, answers and failures."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from programs.firmware_on_host import RUN_SOURCES, compile_host

BANNER = ["m-timestamp-mode-performance", "m-lap-us-0", "m-init-done", "m-ready"]
SOURCES = ("mlperf_events", "mlperf_host", "mlperf_infer", "mlperf_input", "mlperf_results", "text_out", *RUN_SOURCES)
RESET_NEIGHBOURS, UNPLUG_NEIGHBOURS, DAMAGE_INPUT = "\x01", "\x02", "\x03"
LOAD = ["db load 6%", "db 6465%", "db 6a5e00ff%"]  # with the map of the test's board: 0, 1, 6, -6, -100, 155
RESULTS = "m-results-[-0.500000,0.000000,2.500000,-3.500000,13.500000,13.000000]"


@pytest.fixture(scope="module", params=[1, 2])
def value_bytes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_port(tmp_path_factory.mktemp("mlperf"), 1, is_mapped=True)


def compile_port(folder: Path, value_bytes: int, *, is_mapped: bool = False, has_reals: bool = False) -> Path:
    defines = (f"VALUE_BYTES={value_bytes}", f"MAPPED={is_mapped:d}", f"REALS={has_reals:d}")
    return compile_host(folder, "mlperf_port", *(f"{name}.c" for name in SOURCES), defines=defines)


def ask(port: Path, *commands: str) -> list[str]:
    """Return the lines that the board sends after its banner; each ends with CR and LF."""
    done = subprocess.run([port], input="".join(commands).encode(), capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    *lines, rest = done.stdout.decode("ascii").split("\r\n")
    assert rest == ""
    assert lines[:4] == BANNER
    return lines[4:]


def without_times(lines: Sequence[str]) -> list[str]:
    return ["m-lap-us" if line.startswith("m-lap-us-") else line for line in lines]


def inference(count: int, warm_ups: int, results: str = RESULTS) -> list[str]:
    """Return the lines of `infer`, without times."""
    started = [f"m-warmup-start-{warm_ups}", "m-warmup-done", f"m-infer-start-{count}", "m-lap-us"]
    return [*started, "m-lap-us", "m-infer-done", results, "m-ready"]


LOADED = ["m-[Expecting 6 bytes]", "m-ready", "m-ready", "m-load-done", "m-ready"]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("name%", ["m-name-dut-[board]"]),
        ("profile%", ["m-profile-[ULPMark for tinyML Firmware V0.0.1]", "m-model-[kws01]"]),
        ("note%", ['m-tinysplit-[{"board":1}]']),
        ("results%", ["e-[There are no results yet]"]),
        ("%", []),
        ("\r\nname%", ["m-name-dut-[board]"]),
        ("  name  %", ["m-name-dut-[board]"]),
        ("names%", ["e-[Unknown command: names]"]),
        ("a" * 200 + "%", [f"e-[Unknown command: {'a' * 80}]"]),
        ("db%", ["e-[Command 'db' requires a subcommand]"]),
        ("db 00%", ["e-[Command 'db load' comes first]"]),
        ("db load%", ["e-[Command 'db load' needs the input's 6 bytes]"]),
        ("db load 7%", ["e-[Command 'db load' needs the input's 6 bytes]"]),
        ("db load 99999999999999999999%", ["e-[Command 'db load' needs the input's 6 bytes]"]),
        ("db print%", []),
        ("infer 1 0%", ["e-[There is no input: use 'db load']"]),
        ("infer 0%", ["e-[Inference iterations must be >0]"]),
        ("infer -1 0%", ["e-[Inference iterations must be >0]"]),
        ("infer 1 -1%", ["e-[Inference warmup must be >=0]"]),
    ],
)
def test_a_command_is_answered(port: Path, command: str, answer: list[str]) -> None:
    assert ask(port, command) == [*answer, "m-ready"]


def test_help_names_every_command(port: Path) -> None:
    text = " ".join(ask(port, "help%"))
    assert all(name in text for name in ("name", "timestamp", "profile", "db", "load", "infer", "results"))


def test_the_protocols_own_commands_give_the_output(tmp_path: Path, value_bytes: int) -> None:
    port = compile_port(tmp_path, value_bytes, is_mapped=True)
    wide = RESULTS if value_bytes == 1 else "m-results-[-0.500000,0.000000,2.500000,-3.500000,-50.500000,77.000000]"
    lines = ask(port, *LOAD, "infer 1 0%", "results%")
    assert without_times(lines) == [*LOADED, *inference(1, 0, wide), wide, "m-ready"]


def test_without_a_map_the_bytes_are_the_inputs_own(tmp_path: Path) -> None:
    port = compile_port(tmp_path, 2, is_mapped=False)
    lines = ask(port, "db load 12%", "db 0000010006000500ffff00ff%", "infer 1 0%")
    assert "m-results-[-0.500000,0.000000,2.500000,2.000000,-1.000000,-128.500000]" in lines


def test_print_gives_what_was_loaded(tmp_path: Path, value_bytes: int) -> None:
    port = compile_port(tmp_path, value_bytes, is_mapped=True)
    lines = ask(port, *LOAD[:2], "db print%", LOAD[2], "infer 1 0%", "db print%")
    assert lines[3:5] == ["m-buffer-64-65", "m-ready"]
    assert lines[-2:] == ["m-buffer-64-65-6a-5e-00-ff", "m-ready"]


def test_print_has_eight_bytes_a_line(tmp_path: Path) -> None:
    port = compile_port(tmp_path, 2, is_mapped=False)
    lines = ask(port, "db load 12%", "db 0000010006000500ffff00ff%", "db print%")
    assert lines[-3:] == ["m-buffer-00-00-01-00-06-00-05-00", "m-buffer-ff-ff-00-ff", "m-ready"]


def test_every_inference_has_the_same_input(port: Path) -> None:
    assert without_times(ask(port, *LOAD, "infer 7 3%"))[5:] == inference(7, 3)
    assert without_times(ask(port, *LOAD, "infer%"))[5:] == inference(1, 10)
    assert without_times(ask(port, *LOAD, "infer 2 0%", "infer 3 1%"))[5:] == [*inference(2, 0), *inference(3, 1)]


def test_times_are_those_of_the_measured_inferences(port: Path) -> None:
    lines = ask(port, "timestamp%", *LOAD, "infer 5 3%", "timestamp%")
    before, start, end, after = (int(line.removeprefix("m-lap-us-")) for line in lines if line.startswith("m-lap-us-"))
    assert end - start == 5 * 2000
    assert before < start
    assert after > end


def test_a_new_input_takes_the_place_of_the_old_one(port: Path) -> None:
    lines = ask(port, *LOAD, "infer 1 0%", "db load 6%", "db 646464646464ffff%", "db 00%", "infer 1 0%")
    assert lines[-3] == "m-infer-done"
    assert lines[-2] == "m-results-[-0.500000,-0.500000,-0.500000,-0.500000,-0.500000,-0.500000]"
    assert "e-[Command 'db load' comes first]" in lines


@pytest.mark.parametrize(("digits", "error"), [("6", "Insufficient number of hex digits"), ("0g", "Invalid hex digit")])
def test_a_byte_that_is_none_is_refused(port: Path, digits: str, error: str) -> None:
    lines = ask(port, "db load 6%", f"db {digits}%", "infer 1 0%")
    assert lines[2:] == [f"e-[{error}]", "m-ready", "e-[There is no input: use 'db load']", "m-ready"]


def test_neighbours_that_were_reset_do_not_end_the_first_inference(port: Path) -> None:
    assert without_times(ask(port, *LOAD, "infer 1 0%", RESET_NEIGHBOURS, "infer 2 1%"))[-8:] == inference(2, 1)


def test_neighbours_that_answer_nothing_end_it(port: Path) -> None:
    lines = ask(port, *LOAD, UNPLUG_NEIGHBOURS, "infer 2 1%", "name%")[5:]
    assert lines == ["m-warmup-start-1", "e-[Error 6, detail 3]", "m-ready", "m-name-dut-[board]", "m-ready"]


def test_an_input_that_changes_in_ram_ends_it(port: Path) -> None:
    lines = ask(port, *LOAD, DAMAGE_INPUT, "infer 1 1%", *LOAD, "infer 1 1%")[5:]
    assert lines[:3] == ["m-warmup-start-1", "e-[Error 18, detail 0]", "m-ready"]
    assert without_times(lines)[-8:] == inference(1, 1)


def reconstruction(port: Path, reals: Sequence[float]) -> float:
    """Return the result for float32 values, which are loaded in pieces that end anywhere."""
    data = np.array(reals, "<f4").tobytes()
    loads = [f"db {data[start : start + 7].hex()}%" for start in range(0, len(data), 7)]
    lines = ask(port, f"db load {len(data)}%", *loads, "infer 1 0%", "db print%")
    assert "m-load-done" in lines
    printed = "".join(line.removeprefix("m-buffer-") for line in lines if line.startswith("m-buffer-"))
    assert bytes.fromhex(printed.replace("-", "")) == data
    (result,) = (line for line in lines if line.startswith("m-results-"))
    return float(result.removeprefix("m-results-[").removesuffix("]"))


@pytest.mark.parametrize(
    "reals",
    [
        (0, 0, 0, 0, 0, 0),
        (1, -2.5, 4.25, 0.75, -0.25, 3),  # in steps of the input: the network doubles them
        (0.1, 1e-30, -0.0, 7.7, -3.14159, 2.71828),
        (1e6, -1e6, 0, 0, 0, 0),  # saturate in input and output
        (-7.9, 15.6, 15.9, -16.3, 100, -31),
    ],
)
@pytest.mark.parametrize("value_bytes", [1, 2])
def test_the_result_of_a_reconstruction_is_its_error(tmp_path: Path, value_bytes: int, reals: Sequence[float]) -> None:
    port = compile_port(tmp_path, value_bytes, has_reals=True)
    x = np.array(reals, np.float32).astype(np.float64)
    integer = np.iinfo(f"i{value_bytes}")
    inputs = np.clip(np.floor(4 * x + 1.5), integer.min, integer.max).astype(np.int64)
    outputs = ((2 * inputs).astype(f"i{value_bytes}") - 2.0) / 4
    assert reconstruction(port, reals) == pytest.approx(
        np.mean(np.minimum(np.abs(outputs - x), 1024) ** 2), rel=1e-4, abs=2e-6
    )


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800000, 0xFF800000, 0x00000001])
def test_no_number_and_infinity_saturate(tmp_path: Path, bits: int) -> None:
    real = np.array([bits], "<u4").view("<f4")[0]
    found = reconstruction(compile_port(tmp_path, 1, has_reals=True), [real, 0, 0, 0, 0, 0])
    assert found == (0 if bits == 1 else pytest.approx(1024**2 / 6, rel=1e-6))
