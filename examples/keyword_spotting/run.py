"""Spot keywords with two virtual boards and no PC: a microphone at board 1, a line of text and an LED at board 2.

Splits the network, generates its programs with the application of this folder, builds them, plays a recording into the
ADC of board 1, and compares what board 2 tells with the reference in NumPy. docs/do/deploying.md explains each step.
"""

import argparse
import shutil
import sys
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import reference
from mfcc import COEFFICIENTS, RATE_HZ, tables
from numpy.typing import NDArray

from tinysplit import api
from tinysplit.common.errors import CheckFailedError, InputError, TinysplitError
from tinysplit.project.manifest import Project
from tinysplit.split.report.figures import battery_text
from tinysplit_hil.rig.project_rig import project_rig
from virtual_stm32 import VirtualRig
from virtual_stm32.symbols import load_program

HERE = Path(__file__).parent
BOARDS = ("nucleo_l452re", "nucleo_l452re")
LINK_BAUD = 2_000_000
MICROPHONE, LED, TEXT_UART = "PA0", "PA5", "USART3"
MICROPHONE_FILES = (
    "application_features.c",
    "application_features.h",
    "application_microphone.c",
    "application_microphone.h",
)
FUNCTIONS = ("begin", "input", "output", "failure", "idle")
HOP_HANDLER = "application_DMA1_Channel1_IRQHandler"
CLOCK_HZ = 80_000_000
BATTERY_MAH = 2000.0
TAIL_S = 0.3  # of silence behind the recording
PS_PER_S = 10**12


@dataclass(frozen=True)
class Heard:
    """What the boards did while they heard a recording; all times are in seconds from power-up."""

    lines: Sequence[tuple[float, str]]  # that board 2 told, by the time of their first byte
    hop_s: Sequence[float]  # when a hop of samples was complete
    result_s: Sequence[float]
    lit_s: Sequence[float]  # when the LED went on
    asleep: Sequence[float]  # share of the time, of each board


def read_recording(path: Path) -> NDArray[np.int16]:
    """Return the samples of a WAV file. Raises InputError for other files than 16 kHz, 16 bits, one channel."""
    try:
        with wave.open(str(path)) as file:
            form = file.getframerate(), file.getsampwidth(), file.getnchannels()
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    except (OSError, EOFError, wave.Error) as error:
        raise InputError(f"{path} cannot be read as a WAV file ({error})") from None
    if form != (RATE_HZ, 2, 1):
        raise InputError(
            f"{path} has {form[0]} Hz, {8 * form[1]} bits, {form[2]} channels: {RATE_HZ} Hz, 16 bits, 1 channel"
        )
    return samples


def generate(network: Path, out: Path) -> Path:
    """Generate and build the programs of both boards, with their applications; return the folder."""
    costs = api.CostSettings(baud=LINK_BAUD, use_all=True, input_source=api.InputSource.BOARD)
    graph = api.load_model(network)
    if (graph.in_shape.size, graph.out_shape.size) != (reference.FRAMES * COEFFICIENTS, len(reference.WORDS) + 2):
        raise InputError(f"{network} has other inputs and outputs than 49 x 10 features and 12 labels")
    found = api.split(graph, BOARDS, costs, api.Search(input_board=1, output_board=2))
    calibration = np.load(HERE / "calibration.npz")["x"].reshape(-1, *graph.sample_shape)
    programs = api.ProgramSettings(is_standalone=True)
    made = api.generate(network, found, calibration, out, programs=programs)
    table_file = out / made.project.boards[0].directory / "include" / "application_tables.h"
    if not table_file.exists():  # else the applications are there, and the user's
        for board in made.project.boards:
            add_application(out / board.directory, "input" if board.takes_input else "output")
        table_file.write_text(tables())
    api.build(out).check()
    return out


def add_application(project: Path, kind: str) -> None:
    """Write the application into a board's project, and switch off the functions that it does not have."""
    source = (HERE / f"{kind}_application.c").read_text()
    (project / "src" / "application.c").write_text(source)
    header = project / "include" / "application.h"
    text = header.read_text()
    for name in FUNCTIONS:
        if f" application_{name}(" not in source:
            text = text.replace(f"#define APPLICATION_{name.upper()} 1", f"#define APPLICATION_{name.upper()} 0")
    header.write_text(text)
    shutil.copyfile(HERE / f"{kind}_application.toml", project / "application.toml")
    for name in MICROPHONE_FILES if kind == "input" else ():
        shutil.copyfile(HERE / name, project / ("include" if name.endswith(".h") else "src") / name)


def play(project: Project, folder: Path, levels: list[int]) -> tuple[VirtualRig, Heard]:
    """Let virtual boards hear `levels` of their ADC from power-up on; return them as they are at the end."""
    rig = project_rig(project, folder)
    rig.play(0, MICROPHONE, levels, RATE_HZ)
    text = rig.listen(1, TEXT_UART)
    led = rig.trace_pins([("led", 1, LED)])
    for index, name in enumerate((HOP_HANDLER, "application_output")):
        rig.mark(index, [_address(project.boards[index].elf(folder), name)])
    rig.run_until(round((len(levels) / RATE_HZ + TAIL_S) * PS_PER_S))
    hop_s, result_s = ([cycle / CLOCK_HZ for _, cycle, _ in rig.marks(index)] for index in (0, 1))
    lit_s = [ps / PS_PER_S for ps, _, level in led.changes if level]
    asleep = [rig.slept_cycles(index) / rig.cycles(index) for index in (0, 1)]
    return rig, Heard(list(_lines(text)), hop_s, result_s, lit_s, asleep)


def _address(elf: Path, name: str) -> int:
    return next(address for address, each in load_program(elf).functions if each == name)


def _lines(text: Sequence[tuple[int, int]]) -> Iterator[tuple[float, str]]:
    begin_ps, line = 0, ""
    for ps, byte in text:
        begin_ps = begin_ps if line else ps
        line += chr(byte)
        if line.endswith("\r\n"):
            yield begin_ps / PS_PER_S, line.strip()
            line = ""


def expected_lines(folder: Path, levels: list[int], inferences: int) -> list[str]:
    """Return what the reference tells in the first `inferences`."""
    features = reference.frames([*levels, *[2048] * round(TAIL_S * RATE_HZ)])
    return [text for _, text in reference.detections(folder, reference.outputs(folder, features)[:inferences])]


def print_figures(project: Project, folder: Path, heard: Heard) -> None:
    """Print period, delay, energy and memory."""
    period_s = mean(np.diff(heard.result_s))
    ends_s = heard.hop_s[reference.FRAMES :: reference.STEP]
    delay_s = mean(result - end for result, end in zip(heard.result_s, ends_s, strict=False))
    print(f"period {1000 * period_s:.2f} ms; a result {1000 * delay_s:.1f} ms after the end of its second of sound")
    watts = [
        (board.run_w or 0.0) * (1 - asleep) + (board.idle_w or 0.0) * asleep
        for board, asleep in zip(project.boards, heard.asleep, strict=True)
    ]
    shares = " and ".join(f"{100 * asleep:.0f} %" for asleep in heard.asleep)
    energy_mj = 1000 * sum(watts) * period_s
    print(f"mean power {1000 * sum(watts):.1f} mW, {energy_mj:.2f} mJ an inference (MCUs only; asleep {shares})")
    print(battery_text(sum(watts), BATTERY_MAH))
    for built in api.build(folder).boards:
        print(f"board {built.number}: {built.flash_bytes} bytes of flash, {built.ram_bytes} of RAM")


def main() -> None:
    """Generate, build, play, and compare. Raises CheckFailedError where the boards tell something else."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--network", type=Path, default=HERE / "keywords.onnx", help="ONNX or .tflite, 49 x 10 MFCC to 12 labels"
    )
    parser.add_argument(
        "--speech", type=Path, default=HERE / "speech.wav", help="WAV file: 16 kHz, 16 bits, one channel"
    )
    parser.add_argument("--out", type=Path, default=Path("out/keyword_spotting"), help="folder for the programs")
    options = parser.parse_args()
    levels = reference.adc_levels(read_recording(options.speech))
    folder = generate(options.network, options.out)
    project = Project.read(folder)
    _, heard = play(project, folder, levels)
    for second, text in heard.lines:
        print(f"{second:6.2f} s  {text}")
    print_figures(project, folder, heard)
    expected = expected_lines(folder, levels, len(heard.result_s))
    if [text for _, text in heard.lines] != expected:
        raise CheckFailedError(f"the boards have told {[text for _, text in heard.lines]}, the reference {expected}")
    print(f"equal to the reference: {len(heard.result_s)} inferences, {len(expected)} words")


if __name__ == "__main__":
    try:
        main()
    except TinysplitError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
