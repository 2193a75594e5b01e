"""Links of the firmware, compiled for the host, on a simulated line with faults.

The line is tests/c/link_line.c. Takes some minutes.
"""

import subprocess
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from common.benchmark import OUTPUT, SEEDS, benchmark, option
from common.networks import ROOT
from common.tables import Cell, MarkdownTable, output_to

COMMON = ROOT / "firmware" / "common"
FAILURES = (
    "no answer",
    "peer stopped",
    "peer restarted",
    "other run",
    "other plan",
    "other version",
    "wrong board",
    "corrupt",
)

LONG = {"bytes": 2700, "back_bytes": 700}
ERROR_RATES = {"1e-6": 1_000, "1e-5": 10_000, "1e-4": 100_000, "3e-4": 300_000, "1e-3": 1_000_000}
FAULTS: dict[str, dict[str, int]] = {
    "none": {},
    **{f"bit errors, {rate}": {"flip": rate_value} for rate, rate_value in ERROR_RATES.items()},
    "lost bytes, 1e-3": {"lose": 1_000_000},
    "doubled bytes, 1e-3": {"double": 1_000_000},
    "inserted bytes, 1e-3": {"insert": 1_000_000},
    "lost, doubled and inserted, 1e-4 each": {"lose": 100_000, "double": 100_000, "insert": 100_000},
    **{f"burst of {ms} ms": {"cut_ms": ms, "burst": 1} for ms in (1, 10, 100)},
    **{f"wire cut for {ms:,} ms": {"cut_ms": ms} for ms in (1, 10, 100, 1000, 10_000)},
    **{f"cut for {ms:,} ms, one direction": {"cut_ms": ms, "cut_sides": 1} for ms in (10, 1000, 10_000)},
    **{f"cut for {ms:,} ms, answers only": {"cut_ms": ms, "cut_sides": 2} for ms in (10, 1000, 10_000)},
    "only the last ACK lost, cut for 5 s": {"cut_ms": 5000, "ack_cut": 1},
    "receiver late by up to 2 s": {"late_ms": 2000},
    "first board reset": {"reset": 0, "late_ms": 20},
    "second board reset": {"reset": 1, "late_ms": 20},
    "second board reset, 4 channels": {"reset": 1, "late_ms": 20, "channels": 2},
    "new run over an unfinished one": {"new_run": 1, "late_ms": 20},
    "new run, bit errors 1e-5": {"new_run": 1, "late_ms": 20, "flip": 10_000},
    "other plan": {"other_plan": 1},
    "wrong board": {"wrong_board": 1},
    "peer never starts": {"absent": 1},
    "peer never starts, line full of garbage": {"absent": 1, "flood": 1},
    "garbage between the frames": {"flood": 1},
    "streamed, bit errors 1e-5": {"streamed": 1, "flip": 10_000},
}


@benchmark(
    "line",
    "5 minutes",
    SEEDS,
    OUTPUT,
    option("--tensors-at-8e-4", type=int, default=0, help="number of tensors of 256 bytes, 0 for none"),
)
def line(options: Namespace) -> None:
    """Measure how links end and how long they take under each fault of the line, a lost byte, and bit errors.

    Each fault befalls `seeds` simulations of three tensors each way, at a random time. A simulation that ends without
    an exit code of 0 (a wrong tensor, a hang, a failed run after the fault) ends the benchmark.
    """
    with tempfile.TemporaryDirectory() as folder, output_to(options.output):
        program = _compile(Path(folder))
        _print_faults(program, options.seeds)
        _print_lost_bytes(program)
        _print_rates(program, options.seeds)
        _print_wrong(program, options.tensors_at_8e_4)
        _print_shares()


def _compile(folder: Path) -> Path:
    sources = [ROOT / "tests" / "c" / "link_line.c", COMMON / "crc32.c", *sorted(COMMON.glob("link*.c"))]
    program = folder / "link_line"
    subprocess.run(["gcc", "-std=c11", "-O2", f"-I{COMMON}", *sources, "-o", program], check=True)
    return program


def _run(program: Path, **options: int) -> dict[str, float]:
    command = [str(program), *(f"{name}={value}" for name, value in options.items())]
    fields = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(fields[::2], map(float, fields[1::2]), strict=True))


def _print_faults(program: Path, seeds: int) -> None:
    print(f"Three tensors of 2700 bytes and three of 700 back, at 115 200 baud, {seeds} times each:\n")
    numbers = ("all arrived", "runs ended by name", "within, ms", "frames repeated", "slowest tensor, ms")
    table = MarkdownTable("fault", numbers=numbers, last=("named",))
    table.print(_fault_cells(name, _run(program, seeds=seeds, **{**LONG, **faults})) for name, faults in FAULTS.items())


def _fault_cells(name: str, totals: dict[str, float]) -> Sequence[Cell]:
    reasons = [f"{reason} ({totals[key]:.0f})" for key, reason in _named() if key in totals]
    completed, within = int(totals["completed"]), round(totals["failure_ms"]) if reasons else None
    ended = int(totals["simulations"]) - completed
    times = (within, int(totals["repeats"]), round(totals["worst_ms"]))
    return name, completed, ended, *times, ", ".join(reasons) or None


def _named() -> Iterator[tuple[str, str]]:
    for number, reason in enumerate(FAILURES, start=1):
        yield f"failure_{number}", reason


def _print_lost_bytes(program: Path) -> None:
    print("\nOne byte of a tensor of 56 bytes is lost, each in turn:\n")
    numbers = ("baud", "frame, ms", "clean, ms", "worst, ms", "costs, ms", "allowed, ms")
    MarkdownTable(numbers=numbers).print(
        _lost_byte_cells(program, baud) for baud in (9600, 115_200, 921_600, 4_000_000)
    )


def _lost_byte_cells(program: Path, baud: int) -> Sequence[Cell]:
    options = {"baud": baud, "bytes": 56, "tensors": 5, "again": 0, "span": 1}
    clean = _run(program, **options)["last_ms"]
    frame_ms = 71 * 10_000 / baud
    worst = max(_run(program, **options, lose_at=at)["last_ms"] for at in range(71))
    figures = (frame_ms, clean, worst, worst - clean, 2 * frame_ms + 10)
    return baud, *(f"{figure:.2f}" for figure in figures)


def _print_rates(program: Path, seeds: int) -> None:
    print("\nTransfers at bit error rates, 115 200 baud:\n")
    numbers = ("bytes", "rate", "transfers that arrived", "mean, ms", "throughput of the clean line, %")
    MarkdownTable(numbers=numbers).print(_rate_rows(program, seeds))


def _rate_rows(program: Path, seeds: int) -> Iterator[Sequence[Cell]]:
    for size in (2700, 65_536):
        few = seeds if size == LONG["bytes"] else max(1, seeds // 10)
        options = {"bytes": size, "tensors": 1, "again": 0, "seeds": few}
        clean = _run(program, **options)["mean_ms"]
        for rate, value in {**ERROR_RATES, "8e-4": 800_000}.items():
            totals = _run(program, **options, flip=value)
            mean_ms, arrived = totals["mean_ms"], f"{totals['tensors']:.0f} of {few}"
            yield size, rate, arrived, f"{mean_ms:.1f}", f"{100 * clean / mean_ms:.1f}"


def _print_wrong(program: Path, tensors: int) -> None:
    if tensors:
        each = 1000
        flips = {"flip": 800_000, "again": 0, "limit_ms": 1_000_000_000}
        totals = _run(program, seeds=-(-tensors // each), tensors=each, bytes=256, **flips)
        print(
            f"\n0 of {totals['tensors']:.0f} tensors of 256 bytes are wrong at a bit error rate of 8e-4; all arrived."
        )


def _print_shares() -> None:
    print("\nShare of the payload in the bytes on the wire, both directions together:\n")
    table = MarkdownTable(numbers=("bytes", "with ACK, %", "with ACK and GRANT, %"))
    table.print(map(_share_cells, (1024, 1025, 2048, 2049, 4096, 65_536)))


def _share_cells(size: int) -> Sequence[Cell]:
    frames = -(-size // 2048)
    sent = size + 15 * frames + (4 if frames > 1 else 0)
    return size, f"{100 * size / (sent + 11):.2f}", f"{100 * size / (sent + 22):.2f}"
