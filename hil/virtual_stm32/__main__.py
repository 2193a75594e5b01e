"""`python -m virtual_stm32`: run programs on virtual boards, their host UARTs on standard input and output."""

import argparse
import os
import re
import select
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tinysplit.common.errors import INTERRUPTED, TinysplitError, UsageError
from virtual_stm32 import VirtualBoard, VirtualRig, Wire
from virtual_stm32.clock import PS_PER_S

_STEP_PS = PS_PER_S // 1000  # between two looks at standard input
_READ_BYTES = 4096
_EPILOG = """\
Input goes to the first board. With several boards, each line of output begins with the number of its board.
example: python -m virtual_stm32 a.elf b.elf --board nucleo_g071rb --board nucleo_l452re --wire 1:USART1-2:USART1
"""


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m virtual_stm32",
        description="Run ELF files on virtual STM32 boards.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("elf", nargs="+", type=Path, help="program of each board, in board order")
    parser.add_argument("--board", action="append", default=[], help="board of each program: a name, or a board file")
    parser.add_argument("--wire", action="append", default=[], help="UARTs that are connected, as in 1:USART1-2:USART1")
    parser.add_argument("--baud", type=int, default=115200, help="baud rate of the host (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="time of the boards (default: %(default)s)")
    parser.add_argument("--ideal-memory", action="store_true", help="no wait states, and caches that always hit")
    return parser.parse_args(arguments)


def parse_wire(text: str, n_boards: int) -> Wire:
    """Return the wire that "1:USART1-2:USART1" names, boards counted from 1. Raises UsageError for other text."""
    match = re.fullmatch(r"(\d+):(\w+)-(\d+):(\w+)", text)
    if not match or not all(1 <= int(number) <= n_boards for number in match.group(1, 3)):
        raise UsageError(f"--wire {text!r}: expected two UARTs of boards 1 to {n_boards}, as in 1:USART1-2:USART1")
    first, first_uart, second, second_uart = match.groups()
    return Wire((int(first) - 1, first_uart), (int(second) - 1, second_uart))


def _rig(given: argparse.Namespace) -> VirtualRig:
    if len(given.board) != len(given.elf):
        raise UsageError(f"programs: {len(given.elf)}, boards: {len(given.board)}: give one --board for each program")
    if given.baud <= 0 or not 0 < given.seconds < sys.maxsize:
        raise UsageError("--baud and --seconds have to be above zero")
    boards = [VirtualBoard.of(name, elf) for name, elf in zip(given.board, given.elf, strict=True)]
    wires = [parse_wire(text, len(boards)) for text in given.wire]
    rig = VirtualRig(boards, wires, has_ideal_memory=given.ideal_memory)
    for index in range(rig.board_count):
        rig.set_baud(index, given.baud)
    return rig


class _Output:
    """Bytes of all boards on standard output: raw of one board, line by line of several."""

    def __init__(self, n_boards: int) -> None:
        self._lines = [bytearray() for _ in range(n_boards)]

    def take(self, rig: VirtualRig) -> None:
        """Print what has arrived at the host."""
        for index, pending in enumerate(self._lines):
            port = rig.host_port(index)
            pending.extend(port.read(len(port.received)))
            is_alone = len(self._lines) == 1
            end = len(pending) if is_alone else pending.rfind(b"\n") + 1
            self._print(index, [bytes(pending)] if is_alone else bytes(pending[:end]).splitlines(keepends=True))
            del pending[:end]

    def finish(self) -> None:
        """Print what ends without a line break."""
        for index, line in enumerate(self._lines):
            if line:
                self._print(index, [bytes(line) + b"\n"])

    def _print(self, index: int, lines: Iterable[bytes]) -> None:
        for line in lines:
            sys.stdout.buffer.write(line if len(self._lines) == 1 else b"%d: " % (index + 1) + line)
        sys.stdout.buffer.flush()


def _run(rig: VirtualRig, end_ps: int) -> None:
    """Run the boards until `end_ps` of their time, bytes of standard input on the first one's line."""
    output, has_input = _Output(rig.board_count), True
    try:
        while rig.time_ps < end_ps:
            if has_input and select.select([sys.stdin], [], [], 0)[0]:
                data = os.read(sys.stdin.fileno(), _READ_BYTES)
                has_input = bool(data)
                rig.write(0, data)
            rig.run_until(min(rig.time_ps + _STEP_PS, end_ps))
            output.take(rig)
    finally:
        output.take(rig)
        output.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the programs; return the exit code: 0, that of a user's error, 4 for a board that stops, or 130."""
    given = _arguments(arguments)
    try:
        rig = _rig(given)
        _run(rig, round(given.seconds * PS_PER_S))
    except TinysplitError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    for index in range(rig.board_count):
        stalls = rig.stalls(index)
        waits = stalls.code + stalls.constants + stalls.values
        text = f"{rig.cycles(index)} cycles, {rig.slept_cycles(index)} asleep, {waits} waits for memory"
        print(f"board {index + 1}: {text}", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
