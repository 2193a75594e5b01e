"""A client of MLPerf Tiny's protocol, as docs/reference/mlperf.md has it: commands end with %, lines until m-ready."""

import re
from collections.abc import Sequence

import serial

DIGITS_BYTES = 31  # of the input in a command
TIME_LIMIT_S = 60.0


class MlperfClient:
    def __init__(self, port: str) -> None:
        self._port = serial.serial_for_url(port, baudrate=115200, timeout=TIME_LIMIT_S)

    def close(self) -> None:
        self._port.close()

    def send(self, command: str) -> None:
        self._port.write(command.encode() + b"%")

    def lines(self) -> list[str]:
        """Return the lines up to m-ready."""
        lines: list[str] = []
        while not lines or lines[-1] != "m-ready":
            line = self._port.readline()
            assert line.endswith(b"\r\n"), f"{line!r} after {lines}"
            lines.append(line.decode("ascii").removesuffix("\r\n"))
        return lines[:-1]

    def ask(self, command: str) -> list[str]:
        self.send(command)
        return self.lines()

    def load(self, data: bytes) -> None:
        assert self.ask(f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
        answers: Sequence[str] = ()
        for start in range(0, len(data), DIGITS_BYTES):
            answers = self.ask(f"db {data[start : start + DIGITS_BYTES].hex()}")
        assert answers == ["m-load-done"]

    def infer(self, count: int, warm_ups: int) -> tuple[float, list[float]]:
        """Return the seconds of `count` inferences, and the results."""
        lines = self.ask(f"infer {count} {warm_ups}")
        assert [line for line in lines if line.startswith("e-")] == []
        start, end = (int(line.removeprefix("m-lap-us-")) for line in lines if line.startswith("m-lap-us-"))
        return (end - start) / 1e6, results(lines)


def results(lines: Sequence[str]) -> list[float]:
    (found,) = (match[1] for line in lines if (match := re.fullmatch(r"m-results-\[(.*)\]", line)))
    return [float(number) for number in found.split(",")]
