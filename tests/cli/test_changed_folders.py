"""Generated folders whose files somebody has changed: all commands that read them end with results or with one line."""

import json
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from example_folders import example, measured_example, weights_folders
from session.profiles import cases
from tinysplit.cli.app import app
from tinysplit.common.project_files import MANIFEST_NAME, MEASUREMENT_NAME, PARAMETERS_NAME, SPLIT_NAME, VALIDATION_NAME

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
ESCAPE = "\x1b]0;title\x07"
LEFT_OUT = "left out"
VALUES: tuple[object, ...] = (
    *(LEFT_OUT, None, True, 0, -1, 3, 2**70, -0.5, 1e308, float("nan")),
    *("", "x", "../x", "nucleo_h743zi", ESCAPE, "a\nb<&\"'", "[red]x[/red]", [], {}, [[]]),
)
SAMPLES = ("--samples", str(example.SAMPLES), "--sample-count", "1")
Place = tuple[str | int, ...]


class Bench:
    """A copy of a built folder, and the commands that read it."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.out = folder / "out"
        shutil.copytree(source, self.out, symlinks=True)
        rig, self.junit, self.svg = folder / "rig.toml", folder / "junit.xml", folder / "timeline.svg"
        rig.write_text("".join(f'[[board]]\nserial_number = "A{n}"\nport = "/dev/none{n}"\n' for n in (1, 2)))
        trace = folder / "trace.vcd"
        trace.write_text("$timescale 1ns $end\n$var wire 1 ! board1_layer $end\n$enddefinitions $end\n#0\n0!\n")
        out = str(self.out)
        kept = self.out / MEASUREMENT_NAME
        old = folder / "old.json"
        if kept.is_file():
            shutil.copy(kept, old)
        self.fast = {
            "wiring": ("wiring", out),
            "info": ("info", out),
            "report": ("report", out, "-o", str(folder / "report.html"), "--force"),
            "flash": ("flash", out, "--rig", str(rig), "--dry-run"),
            "update": ("update", out, "--rig", str(rig)),
            "library": ("library", out, "-o", str(folder / "library")),
            "import-trace": ("import-trace", out, str(trace)),
            "compare": ("compare", str(old), str(kept)),
        }
        files = ("--junit", str(self.junit), "--csv", str(folder / "times.csv"), "--timeline-svg", str(self.svg))
        self.slow = {
            "build": ("build", out),
            "validate": ("validate", out, *SAMPLES),
            "measure": ("measure", out, *SAMPLES, "--timeline", *files, "--force"),
        }

    def check(self, what: str, *commands: tuple[str, ...]) -> None:
        for command in commands:
            self._check(f"{command[0]} with {what}", CliRunner().invoke(app, command))

    def _check(self, what: str, result: Result) -> None:
        text = result.stdout + result.stderr
        assert result.exception is None or isinstance(result.exception, SystemExit), f"{what}: {result.exception!r}"
        assert result.exit_code in range(5), f"{what}: {result.exit_code}"
        assert all(each.isprintable() for each in text.replace("\n", "")), f"{what}: {text!r}"
        if result.exit_code > 1:
            errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
            assert len(errors) == 1, f"{what}: {text}"
        if result.exit_code == 0 and what.startswith("measure"):
            for file in (self.junit, self.svg):
                ET.parse(file)  # noqa: S314 (our own)


def places(data: Any, place: Place = ()) -> Iterator[Place]:  # noqa: ANN401 (of JSON)
    """Yield where values are in JSON, lists and tables included; of lists the first entries."""
    inside = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*place, key)
        yield from places(value, (*place, key))


def changed(data: Any, place: Place, value: object) -> Any:  # noqa: ANN401 (of JSON)
    data = deepcopy(data)
    inside = data
    for key in place[:-1]:
        inside = inside[key]
    if value is LEFT_OUT:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return data


def chosen(data: Any, count: int) -> list[tuple[Place, object]]:  # noqa: ANN401 (of JSON)
    """Return so many changes, the same for the same data."""
    every = [(place, value) for place in places(data) for value in VALUES]
    Random(1).shuffle(every)  # noqa: S311 (repeatable)
    return every[:count]


@pytest.fixture
def measured(tmp_path: Path) -> Bench:
    return Bench(tmp_path, measured_example.shared_measured_example()[1] / "out")


@pytest.mark.slow
@pytest.mark.parametrize("name", [MANIFEST_NAME, MEASUREMENT_NAME, VALIDATION_NAME, SPLIT_NAME])
def test_json_files(name: str, measured: Bench) -> None:
    path = measured.out / name
    data = json.loads(path.read_text())
    for place, value in chosen(data, cases(quick=5, full=5, nightly=1000)):
        path.write_text(json.dumps(changed(data, place, value)))
        measured.check(f"{name} {place} = {value!r}", *measured.fast.values())


@pytest.mark.slow
def test_the_manifest_of_what_is_measured(measured: Bench) -> None:
    path = measured.out / MANIFEST_NAME
    data = json.loads(path.read_text())
    for place, value in chosen(data, cases(quick=3, full=3, nightly=300)):
        path.write_text(json.dumps(changed(data, place, value)))
        measured.check(f"{place} = {value!r}", *measured.slow.values())


# By what they caused: KeyError, escape sequences, RuntimeError, a StopIteration, a division by zero, infinite sums.
SEEN: tuple[tuple[Place, object], ...] = (
    (("links", 0, "uarts", 0), "USART1\n#include"),
    (("links", 0, "uarts"), ["USART3", "USART3"]),
    (("boards", 0, "code_memory_reason"), ESCAPE),
    (("boards", 0, "name"), f"nucleo_g071rb{ESCAPE}"),
    (("boards", 0, "name"), "nucleo_unknown"),
    (("model", "name"), f"a\nb<&\"'--> {ESCAPE}\ufffe [red]x[/red]"),
    (("layers", 0, "name"), f"=cmd\n<b>{ESCAPE}[/red]"),
    (("layers", 0, "kind"), f"<b>{ESCAPE}"),
    (("links",), []),
    (("cuts",), []),
    (("layers", 1, "memory", "fused_with"), -1),
    (("layers", 1, "memory", "fused_with"), 7),
    (("cuts", 0, "estimated_s"), 1e308),
    (("cuts", 0, "after_layer"), 3),
    (("layers", 0, "inputs"), [5]),
    (("estimated_alone", 0), {"board": 1, "run_s": 0, "sleep_s": 0}),
    (("tinysplit_version",), f"1{ESCAPE}-->"),
    (("copies",), [[1], [2]]),
)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "value"), SEEN)
def test_changes_that_ended_in_tracebacks(place: Place, value: object, measured: Bench) -> None:
    path = measured.out / MANIFEST_NAME
    path.write_text(json.dumps(changed(json.loads(path.read_text()), place, value)))
    measured.check(f"{place} = {value!r}", *measured.fast.values(), *measured.slow.values())


@pytest.mark.slow
def test_other_files_of_a_folder(measured: Bench) -> None:
    for name in (PARAMETERS_NAME, "model.onnx", MANIFEST_NAME, MEASUREMENT_NAME, VALIDATION_NAME, SPLIT_NAME):
        path = measured.out / name
        right = path.read_bytes()
        for content in (b"", right[: len(right) // 2], ESCAPE.encode() + right, b"[]", b"\xff\xfe\x00"):
            path.write_bytes(content)
            measured.check(f"{name} {content[:8]!r}", *measured.fast.values(), measured.slow["validate"])
        path.unlink()
        measured.check(f"no {name}", *measured.fast.values(), measured.slow["validate"])
        path.write_bytes(right)


@pytest.mark.slow
def test_folders_with_weights_files(tmp_path: Path) -> None:
    _, folder = weights_folders.shared_binary(G0, F4)
    bench = Bench(tmp_path, folder)
    path = bench.out / MANIFEST_NAME
    data = json.loads(path.read_text())
    own = {"boards": [{"weights_file": board["weights_file"]} for board in data["boards"]]}
    for place, value in chosen(own, cases(quick=5, full=8, nightly=300)):
        path.write_text(json.dumps(changed(data, place, value)))
        commands = [bench.fast[name] for name in ("wiring", "info", "flash", "update")]
        bench.check(f"{place} = {value!r}", *commands, (*bench.fast["flash"], "--weights-only"))
