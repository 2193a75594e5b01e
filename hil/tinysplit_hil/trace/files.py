"""Files of a logic analyser, as sigrok writes them: Value Change Dump (IEEE 1364-2005, section 18) and CSV."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TextIO

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import TRACE_CHANGES, TRACE_LINE_CHARACTERS
from tinysplit.settings.measurement import CHANNEL, SAMPLE_RATE

_UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "fs": 1e-15}
_TIMESCALE = re.compile(r"\$timescale\s+(\d{1,3})\s*([munpf]?s)\s+\$end")
_SIGNAL = re.compile(r"\$var\s+\w+\s+1\s+(\S+)\s+(\S+)(?:\s+\[0\])?\s+\$end")
_TIME = re.compile(r"#\d{1,18}")
_END_OF_HEAD = "$enddefinitions $end"
_RATE = re.compile(r"samplerate:\s*(\d+(?:\.\d+)?)\s*([kMG]?)(?:Hz)?\s*$", re.IGNORECASE)
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_CHANNELS = re.compile(r"Channels \(\d+/\d+\):(.*)")

Change = tuple[int, bool]  # time in units of the file, and the level from then on


@dataclass(frozen=True)
class Trace:
    """Levels of channels: their changes by name, from the first level at time 0; one unit lasts `unit_s` seconds."""

    path: Path
    unit_s: float
    changes: dict[str, list[Change]]

    def pulses(self, name: str) -> list[tuple[float, float]]:
        """Return begin and end of each pulse of a channel, in seconds.

        Raises InputError for a channel that is not there, or not low at both ends of the trace.
        """
        if name not in self.changes:
            known = ", ".join(self.changes)
            raise InputError(f"{self.path} has no channel {name} (it has {known}): name it with {CHANNEL}")
        changes = self.changes[name]
        where = "begins" if changes and changes[0][1] else "ends" if changes and changes[-1][1] else ""
        if where:
            raise InputError(f"{self.path} {where} while {name} is high: record whole inferences, from idle to idle")
        return [(begin * self.unit_s, end * self.unit_s) for (begin, level), (end, _) in pairwise(changes) if level]


def read_trace(path: Path, sample_rate_hz: float | None = None) -> Trace:
    """Read a trace. `sample_rate_hz` is that of a CSV file that does not tell its own.

    Raises InputError for a file that is missing, of another format or damaged.
    """
    try:
        with path.open(encoding="utf-8") as file:
            lines = _lines(path, file)
            head = _head(lines)
            every = chain(head, lines)
            return _read_vcd(path, every) if head[-1].startswith("$") else _read_csv(path, every, sample_rate_hz)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text: export VCD or CSV (`sigrok-cli -i {path} -O vcd`)") from None


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(TRACE_LINE_CHARACTERS):
        if len(line) == TRACE_LINE_CHARACTERS:
            raise InputError(f"{path} has a line of {TRACE_LINE_CHARACTERS} characters: export VCD or CSV")
        yield line.strip()


def _head(lines: Iterator[str]) -> list[str]:
    """Return the lines up to the first one that tells the format: sigrok writes META lines before it."""
    head = [next(lines, "")]
    while not head[-1] or head[-1].startswith("META"):
        if (line := next(lines, None)) is None:
            break
        head.append(line)
    return head


def _note(changes: list[Change], time: int, level: bool) -> bool:
    """Note a level; return whether it is another one than before."""
    is_new = not changes or changes[-1][1] != level
    if is_new:
        changes.append((time, level))
    return is_new


def _check_changes(path: Path, left: int) -> None:
    if left < 0:
        raise InputError(f"{path} has more than {TRACE_CHANGES} changes of levels: record fewer inferences")


# VCD


def _read_vcd(path: Path, lines: Iterator[str]) -> Trace:
    head = []
    for line in lines:
        head.append(line)
        if line.endswith(_END_OF_HEAD):
            break
    text = " ".join(head)
    scale = _TIMESCALE.search(text)
    signals = dict(_SIGNAL.findall(text))
    if not (scale and signals and text.endswith(_END_OF_HEAD)):
        raise InputError(f"{path} is no whole VCD file: its head has no time scale, no signals or no end")
    changes: dict[str, list[Change]] = {name: [] for name in signals.values()}
    time = 0
    left = TRACE_CHANGES
    for word in (word for line in lines for word in line.split()):
        if _TIME.fullmatch(word):
            if int(word[1:]) < time:
                raise InputError(f"{path} is damaged at time {time}: the next time is {word[1:]}")
            time = int(word[1:])
        elif word[0] in "01xXzZ" and word[1:] in signals:
            left -= _note(changes[signals[word[1:]]], time, word[0] == "1")
            _check_changes(path, left)
        elif not word.startswith("$"):
            raise InputError(f"{path} is damaged at time {time}: {word!r} is no time and no level")
    return Trace(path, int(scale[1]) * _UNITS_S[scale[2]], changes)


# CSV: comments, perhaps a line of titles, then a line for each sample


def _read_csv(path: Path, lines: Iterator[str], sample_rate_hz: float | None) -> Trace:
    names: Sequence[str] = ()
    changes: list[list[Change]] = []
    before, row, left = "", -1, TRACE_CHANGES
    for line in lines:
        if not row + 1 and (rate := _RATE.search(line)):
            sample_rate_hz = sample_rate_hz or float(rate[1]) * _FACTORS[rate[2].lower()]
        elif line.startswith((";", "META")) or not line:
            listed = None if row + 1 else _CHANNELS.search(line)
            names = [name.strip() for name in listed[1].split(",")] if listed else names
        elif not row + 1 and not set(line) <= set("01,"):
            names = _titles(path, line, names)
        else:
            row += 1
            if line != before:
                changes = changes or [[] for _ in names]
                left -= _note_row(path, changes, row, line)
                _check_changes(path, left)
                before = line
    if not (names and changes):
        raise InputError(f"{path} has no samples: export VCD, or CSV with `label=channel` (`sigrok-cli -O csv:...`)")
    if not sample_rate_hz:
        raise InputError(f"{path} does not tell its sample rate: give {SAMPLE_RATE}, or export VCD")
    return Trace(path, 1.0 / sample_rate_hz, dict(zip(names, changes, strict=True)))


def _titles(path: Path, line: str, names: Sequence[str]) -> Sequence[str]:
    """Return the names of the channels after a line of titles, which may only say what kind they are."""
    titles = [title.strip() for title in line.split(",")]
    if "Time" in titles or any(title.endswith("seconds") for title in titles):
        raise InputError(f"{path} has a column of times, which sigrok rounds: export VCD, or CSV without `time`")
    return names if set(titles) == {"logic"} else titles


def _note_row(path: Path, changes: Sequence[list[Change]], row: int, line: str) -> int:
    """Note the levels of all channels; return how many are other ones than before."""
    levels = line.split(",")
    if len(levels) != len(changes) or not set(levels) <= {"0", "1"}:
        raise InputError(f"{path} is cut off or damaged at sample {row + 1}: {line[:40]!r} is no {len(changes)} levels")
    return sum(_note(own, row, level == "1") for own, level in zip(changes, levels, strict=True))
