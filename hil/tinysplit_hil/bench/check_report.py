"""Prints the self-test of a bench."""

from typing import Any

from rich.console import Console

from tinysplit.boards.board import board_title
from tinysplit.common.tables import plain_table
from tinysplit_hil.bench.check import FRAME_BYTES, BenchCheck
from tinysplit_hil.bench.wiring import FINDING_BAUD, pin_title
from tinysplit_hil.measure.wiring_client import Count, End

BITS_PER_FRAME = 8 * FRAME_BYTES  # of payload, whose errors are counted


def print_check(check: BenchCheck, console: Console) -> None:
    """Print who hears whom, the errors of each link at each baud rate, the clocks, and all faults."""
    hearing = plain_table("receiver", f"hears at {FINDING_BAUD} baud")
    for end, count in check.heard.items():
        hearing.add_row(pin_title(check.boards, end, "RX"), _heard(check, count))
    console.print(hearing)
    for link in check.links:
        first, second = (check.title(end) for end in link.ends)
        best = f"no error up to {link.baud} baud" if link.baud else "errors at every baud rate"
        console.print(f"\nlink between {first} and {second}: {best}", highlight=False, soft_wrap=True)
        table = plain_table("", numbers=("baud", "frames lost or damaged", "bit errors", "bits", "line errors"))
        for trial in link.trials:
            for direction in trial.directions:
                bad = direction.sent_frames - direction.good_frames
                bits = direction.sent_frames * BITS_PER_FRAME
                values = (trial.baud, bad, direction.bit_errors, bits, direction.line_errors)
                table.add_row(f"to board {direction.to_board}", *map(str, values))
        console.print(table)
    clocks = plain_table("clock", numbers=("core MHz", "fast by ppm", "+- ppm"))
    for number, error in check.clocks.items():
        board = check.boards[number - 1]
        mhz = f"{board.clock.core_hz / 1e6:g}"
        clocks.add_row(board_title(number, board.name), mhz, f"{error.ppm:.0f}", f"{error.uncertainty_ppm:.0f}")
    console.print("", clocks, sep="\n")


def _heard(check: BenchCheck, count: Count) -> str:
    if count.sender:
        return pin_title(check.boards, count.sender, "TX")
    return "noise" if count.is_noise else "nothing"


def check_to_json(check: BenchCheck) -> dict[str, Any]:
    """Return JSON values: boards count from 1, clock errors are in ppm of the host's clock."""

    def end_to_json(end: End | None) -> dict[str, Any] | None:
        return {"board": end.board + 1, "uart": check.uart_name(end)} if end else None

    return {
        "boards": [board.name for board in check.boards],
        "heard": [
            {"receiver": end_to_json(end), "sender": end_to_json(count.sender), "noise": count.is_noise}
            for end, count in check.heard.items()
        ],
        "tx_to_tx": [[end_to_json(end) for end in ends] for ends in check.crossed],
        "links": [
            {
                "ends": [end_to_json(end) for end in link.ends],
                "baud": link.baud,
                "bits_per_frame": BITS_PER_FRAME,
                "trials": [trial.model_dump(mode="json") for trial in link.trials],
            }
            for link in check.links
        ],
        "clocks": [
            {"board": number, "ppm": error.ppm, "uncertainty_ppm": error.uncertainty_ppm}
            for number, error in check.clocks.items()
        ],
        "faults": list(check.faults),
    }
