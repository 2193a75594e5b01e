"""Weights files in scripts: made, replaced on boards that have no requests for measuring, and refused."""

from pathlib import Path

import pytest

from commands.served_boards import served
from example_folders import example
from example_folders.weights_folders import other_model
from tinysplit import api
from tinysplit.common.errors import InputError, UsageError

G0 = "nucleo_g071rb"


@pytest.fixture(scope="module")
def found() -> api.SplitResult:
    return api.split(example.MODEL, [G0, G0], api.CostSettings(use_all=True), api.Search(slices=api.Slices.NONE))


@pytest.mark.slow
def test_boards_without_diagnostics_take_new_weights(found: api.SplitResult, tmp_path: Path) -> None:
    old, new, rig = tmp_path / "old", tmp_path / "new", tmp_path / "rig.toml"
    model = other_model(tmp_path)
    programs = api.ProgramSettings(weights=api.WeightsIn.BINARY, has_diagnostics=False)
    api.generate(example.MODEL, found, example.CALIBRATION, old, programs=programs)
    api.build(old).check()
    made = api.generate(model, found, example.CALIBRATION, new, programs=api.ProgramSettings(structure_of=str(old)))
    assert not made.project.has_diagnostics
    with served(old, "-o", str(rig), temporary=tmp_path):
        updated, again = (api.update(new, rig) for _ in range(2))
    assert [(board.counter_before, board.counter, board.is_skipped) for board in updated.boards] == [(1, 2, False)] * 2
    assert [board.is_skipped for board in again.boards] == [True, True]
    assert [board["counter_before"] for board in updated.to_json()["boards"]] == [1, 1]
    assert again.to_rows()[1]["crc"] == f"{updated.boards[1].crc:08x}"
    with pytest.raises(InputError, match="was generated with has_diagnostics=False"):
        api.measure(new, example.SAMPLES, api.MeasureSettings(rig=str(rig)))


def test_what_cannot_be_done_is_said_in_words_of_scripts(found: api.SplitResult, tmp_path: Path) -> None:
    arrays = tmp_path / "arrays"
    api.generate(example.MODEL, found, example.CALIBRATION, arrays)
    out = (example.MODEL, found, example.CALIBRATION, tmp_path / "out")
    with pytest.raises(UsageError, match='sign signs weights files: add weights="binary" or weights="encrypted"'):
        api.generate(*out, programs=api.ProgramSettings(sign=True))
    with pytest.raises(InputError, match='has its weights in C arrays: generate it with weights="binary"'):
        api.generate(*out, programs=api.ProgramSettings(structure_of=arrays))
    with pytest.raises(UsageError, match="rig virtual: virtual boards take the weights of their folder"):
        api.update(arrays, "virtual")
    with pytest.raises(InputError, match=r"no\.toml"):
        api.update(arrays, tmp_path / "no.toml")
