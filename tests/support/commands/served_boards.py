"""Runs `tinysplit virtual` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinysplit.project.manifest import Project


@dataclass(frozen=True)
class Served:
    """The running command and the ports of all boards, in their order."""

    process: subprocess.Popen[str]
    ports: tuple[str, ...]


def without_account(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report of `measure` without the account of sleep, which only boards of the same process keep."""
    energy = {title: {"estimated": each["estimated"]} for title, each in report["energy"].items()}
    return {**report, "energy": energy}


@contextmanager
def served(folder: Path, *options: str, temporary: Path) -> Iterator[Served]:
    """Serve the boards of a built folder until the end of the context; its files are made in `temporary`."""
    command = [sys.executable, "-m", "tinysplit", "virtual", str(folder), *options]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    with process:
        try:
            assert process.stdout
            lines = [process.stdout.readline() for _ in Project.read(folder).boards]
            yield Served(process, tuple(line.strip().rpartition(": ")[2] for line in lines))
        finally:
            process.kill()
