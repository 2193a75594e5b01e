"""`generate --structure-of`: what contradicts the programs of the folder is refused before anything is computed."""

from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from example_folders.weights_folders import shared_binary
from rigs.fake_rig import make_project
from tinysplit.codegen.readme import write_readme
from tinysplit.common.host_protocol import HostProtocol

G0, F4 = "nucleo_g071rb", "nucleo_f401re"

pytestmark = pytest.mark.slow


def refused(out: Path, folder: Path, *options: str, expect: int = USAGE, split: Path | None = None) -> str:
    split = split or folder / "split.json"
    files = ("--split", str(split), "--samples", str(example.CALIBRATION), "-o", str(out))
    return run("generate", str(example.MODEL), *files, "--structure-of", str(folder), *options, expect=expect)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--markers",), "have no markers: leave --markers out"),
        (("--no-diagnostics",), "have diagnostics: leave --no-diagnostics out"),
        (("--sign",), "are not signed: leave --sign out"),
        (("--weights", "encrypted"), "are binary: leave --weights out"),
        (("--host-protocol", "mlperf", "--mlperf-model", "kws01"), "another protocol: use --host-protocol tinysplit"),
        (("--bits", "auto", "--min-sqnr", "30"), "leave --structure-of out, or --max-accuracy-drop and --min-sqnr"),
    ],
)
def test_options_that_the_programs_do_not_have(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    assert says in refused(tmp_path / "out", shared_binary(G0, F4)[1], *options)


def test_other_boards_and_the_folder_itself(tmp_path: Path) -> None:
    _, folder = shared_binary(G0, F4)
    assert "is the folder that is written: give another one with --out" in refused(folder, folder)
    split = tmp_path / "split.json"
    run("split", str(example.MODEL), "-b", G0, "-o", str(split))
    line = refused(tmp_path / "out", folder, split=split, expect=BAD_INPUT)
    assert f"the split is of {G0}, and {folder} is of {G0}, {F4}: use {folder / 'split.json'}" in line


@pytest.mark.parametrize(
    ("changes", "has", "lacks"),
    [
        ({}, "tinysplit measure . --rig ../rig.toml", "tinysplit update"),
        ({"has_diagnostics": False}, "no diagnostics, which `tinysplit measure` needs", "tinysplit measure ."),
        ({"host_protocol": HostProtocol.MLPERF}, "speaks MLPerf Tiny's protocol", "tinysplit measure ."),
        ({"weights_counter": 1}, "tinysplit update ../newer --rig ../rig.toml", "are encrypted"),
    ],
)
def test_the_readme_has_the_commands_that_work(
    changes: dict[str, object], has: str, lacks: str, tmp_path: Path
) -> None:
    write_readme(tmp_path, make_project().model_copy(update=changes))
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert has in text
    assert lacks not in text
