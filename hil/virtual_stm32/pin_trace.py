"""Levels of pins of virtual boards over time, as a logic analyser sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tinysplit.common.output_file import version_mark, write_whole_file

_FIRST_CODE = ord("!")  # of a signal in a VCD file
_HEAD = "$timescale 1 ps $end\n$scope module boards $end\n"


@dataclass
class PinTrace:
    """Changes of signals by their names: time in ps, index of the signal, level. All are low first."""

    names: Sequence[str]
    changes: list[tuple[int, int, bool]] = field(default_factory=list)

    def change(self, index: int, ps: int, *, level: bool) -> None:
        """Note the level of a signal from a time on."""
        self.changes.append((ps, index, level))

    def write_vcd(self, path: Path, end_ps: int) -> None:
        """Write a Value Change Dump (IEEE 1364-2005, section 18), as GTKWave and sigrok read it."""
        codes = [chr(_FIRST_CODE + index) for index in range(len(self.names))]
        lines = [f"$var wire 1 {code} {name} $end\n" for code, name in zip(codes, self.names, strict=True)]
        lines += ["$upscope $end\n$enddefinitions $end\n#0\n", *(f"0{code}\n" for code in codes)]
        for ps, index, level in sorted(self.changes, key=lambda change: change[0]):
            lines.append(f"#{ps}\n{int(level)}{codes[index]}\n")
        lines.append(f"#{end_ps}\n")
        write_whole_file(path, f"$version {version_mark()} $end\n{_HEAD}{''.join(lines)}")
