import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT
from rigs.fake_reports import GOOD, make_report, with_first_layer
from tinysplit.boards.device_identity import IDCODE, DeviceIdentity
from tinysplit.cli.app import app
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.results.files import ResultFiles

CHECK_FAILED = 1
LONGEST_LINE = 80
BOARDS = [{"number": number, "name": "nucleo_l4r5zi_dbank0"} for number in (1, 2)]
N = 9


@pytest.fixture(scope="module")
def report() -> MeasureReport:
    return make_report(n_samples=N)


def save(report: MeasureReport, path: Path, changes: Mapping[str, Any] | None = None) -> str:
    ResultFiles(json=path).write(report)
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, **(changes or {})}), encoding="utf-8")
    return str(path)


def compare(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": str(LONGEST_LINE)}).invoke(app, ["compare", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_same_measurement_twice(report: MeasureReport, tmp_path: Path) -> None:
    path = save(report, tmp_path / "a.json")
    code, out, err = compare(path, path)
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["L", "T", "I"]
    assert "4 other times are the same." in out
    assert "note:" not in out


def test_a_slower_layer_is_named_and_fails(report: MeasureReport, tmp_path: Path) -> None:
    before, after = save(report, tmp_path / "a.json"), save(with_first_layer(report, 1.05), tmp_path / "b.json")
    code, out, err = compare(before, after)
    assert (code, err) == (CHECK_FAILED, "error: slower: layer 1 layer_1 (board 1) +5.0 %\n")
    assert next(line for line in out.splitlines() if "layer_1" in line).endswith("slower")
    assert compare(before, after, "--threshold", "6")[0] == 0
    code, out, _ = compare(after, before)
    assert code == 0
    assert next(line for line in out.splitlines() if "layer_1" in line).endswith("faster")


def test_noise_is_no_change(report: MeasureReport, tmp_path: Path) -> None:
    before = save(with_first_layer(report, 1.0, noise=0.1), tmp_path / "a.json")
    after = save(with_first_layer(report, 1.05, noise=0.1), tmp_path / "b.json")
    assert compare(before, after)[0] == 0


def test_json_has_the_verdicts(report: MeasureReport, tmp_path: Path) -> None:
    before, after = save(report, tmp_path / "a.json"), save(with_first_layer(report, 1.05), tmp_path / "b.json")
    code, out, _ = compare(before, after, "--json")
    times = {(time["what"], time["number"]): time for time in json.loads(out)["times"]}
    assert code == CHECK_FAILED
    assert times["layer", 1]["verdict"] == "slower"
    assert times["layer", 1]["percent"] == pytest.approx(5)
    assert times["I", 0]["verdict"] == "same"


def test_what_became_different_in_the_outputs(report: MeasureReport, tmp_path: Path) -> None:
    before = save(report, tmp_path / "a.json")
    outputs = report.measurement.outputs.copy()
    outputs[4] ^= 1
    measurement = replace(report.measurement, outputs=outputs)
    outputs_now = replace(GOOD, differing=(4,), outputs={"y": replace(GOOD.worst, top1=0.95)})
    worse = replace(report, measurement=measurement, outputs=outputs_now)
    code, _, err = compare(before, save(worse, tmp_path / "b.json"))
    assert code == CHECK_FAILED
    assert err == (
        f"error: outputs differ in 1 of {N} samples, first in 5; 1 output not bit-exact any more, first of sample 5; "
        "top-1 0.9750 became 0.9500\n"
    )


def test_samples_that_fail_now(report: MeasureReport, tmp_path: Path) -> None:
    before = save(report, tmp_path / "a.json")
    after = save(report, tmp_path / "b.json", {"failures": [{"sample": 3, "reason": "no power"}], "not_run": 2})
    code, _, err = compare(before, after)
    assert (code, err) == (CHECK_FAILED, "error: 1 sample failed that did not before, first 3: no power\n")
    assert compare(after, before)[0] == 0


CHANGES = {"project_hash": 1, "rig": "real", "baud": 9600, "timing": "stm32g071rbt6: cortex-m0plus.load = 3"}


def test_what_explains_a_change_is_noted(report: MeasureReport, tmp_path: Path) -> None:
    before = save(report, tmp_path / "a.json")
    after = save(make_report(n_samples=3), tmp_path / "b.json", CHANGES)
    code, out, _ = compare(before, after)
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("note: ")] == [
        "note: project: 12345678 became 00000001",
        "note: baud rate: 115200 became 9600",
        "note: rig: virtual became real",
        "note: rules of time: the shipped ones became stm32g071rbt6: cortex-m0plus.load =",
        "note: 3 samples only: too few for an interval, so noise may count as a change",
    ]


def test_other_parts_and_compilers_are_noted_where_both_are_known(report: MeasureReport, tmp_path: Path) -> None:
    parts = [DeviceIdentity.of({IDCODE: revision << 16 | 0x460, "FLASH_OPTR": 0xAA}) for revision in (0x2000, 0x2001)]
    known = [
        replace(report, devices={1: part}, compilers={1: compiler, 2: "GCC: 12"})
        for part, compiler in zip(parts, ("GCC: 12", "GCC: 13"), strict=True)
    ]
    before, after = (save(each, tmp_path / f"{number}.json") for number, each in enumerate(known))
    _, out, _ = compare(before, after)
    assert " ".join(out[out.index("note:") :].split()) == (
        "note: part of board 1: device id 0x460, revision 0x2000, FLASH_OPTR 0x000000aa became device id 0x460, "
        "revision 0x2001, FLASH_OPTR 0x000000aa note: compiler of board 1: GCC: 12 became GCC: 13"
    )
    assert "note:" not in compare(before, save(report, tmp_path / "b.json"))[1]


def test_times_of_one_file_only_are_noted(report: MeasureReport, tmp_path: Path) -> None:
    before = save(report, tmp_path / "a.json")
    times = [time for time in report.to_json()["times"] if time["what"] != "cut"]
    code, out, _ = compare(before, save(report, tmp_path / "b.json", {"times": times}))
    assert code == 0
    assert "note: only before: cut 1 (1->2)" in out


def test_a_part_is_not_the_layer_of_its_number(report: MeasureReport, tmp_path: Path) -> None:
    parts = with_first_layer(report, 2).to_json()["times"]
    for time in parts:
        time["name"] = time["name"] and "layer_9"
    after = save(report, tmp_path / "b.json", {"times": parts})
    code, out, _ = compare(save(report, tmp_path / "a.json"), after)
    assert code == 0
    assert "only after: layer 1 layer_9 (board 1), " in " ".join(out.split())


def test_the_table_and_the_notes_fit_80_columns(report: MeasureReport, tmp_path: Path) -> None:
    fast, slow = report.to_json(), with_first_layer(report, 1234.5, noise=0.1).to_json()
    name = "/".join(["block_12", "depthwise_conv2d"] * 4)
    for time in (*fast["times"], *slow["times"]):
        time["name"] = time["name"] and name
    before = save(report, tmp_path / "a.json", {"times": fast["times"]})
    times = {"times": [time for time in slow["times"] if time["what"] != "cut"]}
    code, out, _ = compare(before, save(report, tmp_path / "b.json", {**times, "rig": "real", "boards": BOARDS}))
    assert code == CHECK_FAILED
    lines = out.splitlines()
    assert max(map(len, lines)) <= LONGEST_LINE
    (layer,) = (line for line in lines if line.startswith("layer 1 "))
    assert layer.split()[-1] == "slower"
    assert "note: rig: virtual became real" in lines


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bits": 16}, "reversal, 16 bits): measure the same model and bits twice"),
        (
            {"boards": [{"number": 1, "name": "nucleo_g071rb"}]},
            "are of 2 boards and 1 board: compare splits over as many boards",
        ),
        ({"schema_version": 2}, "has version 2 of the measurement file, not 3: measure again"),
        ({"times": []}, "times needs 1 or more entries"),
    ],
)
def test_what_cannot_be_compared(report: MeasureReport, tmp_path: Path, changes: Mapping[str, Any], says: str) -> None:
    before, after = save(report, tmp_path / "a.json"), save(report, tmp_path / "b.json", changes)
    code, _, err = compare(before, after)
    assert code == BAD_INPUT
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("content", "says"), [("{}", "is no measurement"), ("[1", "is not JSON"), ("3", "is no meas")])
def test_files_that_are_no_measurements(report: MeasureReport, tmp_path: Path, content: str, says: str) -> None:
    before, other = save(report, tmp_path / "a.json"), tmp_path / "b.json"
    other.write_text(content, encoding="utf-8")
    code, _, err = compare(before, str(other))
    assert code == BAD_INPUT
    assert says in err
    assert "measure again with `tinysplit measure --save FILE`" in err
