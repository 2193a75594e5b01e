"""`tinysplit flash --production` with programmers that are scripts: the log, refused boards, bad input."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, CHECK_FAILED, TOOL, USAGE, run
from rigs.bench import ACR, IDCODE, OPTIONS, SERIALS, Desk, desk_in
from tinysplit.cli.app import app
from tinysplit.common.folder_lock import locked_file
from tinysplit.common.project_files import LIST_NAME
from tinysplit_hil.bench import flash, production

FIRST, SECOND = SERIALS
PART = {"0x40015800": IDCODE, "0x40022020": OPTIONS, "0x40022000": ACR}
UNIQUE_ID = 0x1FFF7590  # of the STM32G0 (RM0444)
G0_UNITS = ((1, 2), (3, 4))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(flash, "BOOT_S", 0.0)
    with desk_in(tmp_path / "desk", monkeypatch) as laid:
        plug_in(laid, G0_UNITS[0])
        yield laid


def plug_in(desk: Desk, ids: tuple[int | None, int | None]) -> None:
    """Put boards with these unique IDs under the probes, with other programs."""
    for serial, number in zip(SERIALS, ids, strict=True):
        own = {f"0x{UNIQUE_ID + 4 * word:08x}": 16 * number + word for word in range(3)} if number else {}
        desk.set(serial, words={**PART, **own}, exit_code=0, unplug_after=None)
        desk.runs(serial, 0xDEADBEEF)


def log_of(desk: Desk) -> Path:
    return desk.folder / "production.jsonl"


def flash_unit(desk: Desk, *options: str, expect: int = 0) -> str:
    arguments = ("flash", str(desk.out), "--rig", str(desk.rig), "--production", str(log_of(desk)), *options)
    return run(*arguments, expect=expect)


def lines_of(desk: Desk) -> list[dict[str, object]]:
    return [json.loads(line) for line in log_of(desk).read_text().splitlines()]


def test_each_board_of_each_unit_has_a_line(desk: Desk) -> None:
    flash_unit(desk)
    plug_in(desk, G0_UNITS[1])
    flash_unit(desk)
    lines = lines_of(desk)
    assert [(line["unit"], line["board"], line["probe"]) for line in lines] == [
        (1, 1, FIRST),
        (1, 2, SECOND),
        (2, 1, FIRST),
        (2, 2, SECOND),
    ]
    assert [line["unique_id"] for line in lines] == [
        f"{16 * number + 2:08x}{16 * number + 1:08x}{16 * number:08x}" for number in (1, 2, 3, 4)
    ]
    assert {line["result"] for line in lines} == {"pass"}
    assert {line["project_hash"] for line in lines} == {f"{desk.project.project_hash:08x}"}
    assert all(len(str(line["image_sha256"])) == 64 and str(line["time"]).endswith("+00:00") for line in lines)
    assert desk.flashed == [FIRST, FIRST, SECOND, SECOND]


def test_a_board_that_has_passed_is_refused_unless_forced(desk: Desk) -> None:
    flash_unit(desk)
    plug_in(desk, (3, 2))
    line = flash_unit(desk, expect=CHECK_FAILED)
    assert "no board was flashed: board 2 (nucleo_g071rb) at probe 066EFF02, unique ID 000000220000002100000020" in line
    assert "is board 2 of unit 1, which passed at 20" in line
    assert "plug in the next unit, or add --force" in line
    assert len(lines_of(desk)) == 2
    flash_unit(desk, "--force")
    assert [line["unit"] for line in lines_of(desk)] == [1, 1, 2, 2]


def test_a_unit_that_has_failed_is_flashed_again(desk: Desk) -> None:
    desk.set(SECOND, exit_code=1, prints="Error: checksum mismatch")
    failed = CliRunner().invoke(
        app, ["flash", str(desk.out), "--rig", str(desk.rig), "--production", str(log_of(desk))]
    )
    assert failed.exit_code == TOOL
    desk.set(SECOND, exit_code=0, prints="")
    flash_unit(desk)
    lines = lines_of(desk)
    assert [(line["unit"], line["result"]) for line in lines] == [(1, "pass"), (1, "fail"), (2, "pass"), (2, "pass")]
    assert "the flash does not have what was written to it" in str(lines[1]["problem"])
    assert desk.flashed == [FIRST, SECOND, SECOND]


def test_a_probe_that_is_missing_fails_both_boards(desk: Desk) -> None:
    (desk.folder / f"{SECOND}.unplugged").touch()
    assert "the probe is not connected" in flash_unit(desk, expect=TOOL)
    lines = lines_of(desk)
    assert [line["result"] for line in lines] == ["fail", "fail"]
    assert all("the probe is not connected" in str(line["problem"]) for line in lines)
    assert desk.flashed == []


def test_another_part_is_logged(desk: Desk) -> None:
    own = {f"0x{UNIQUE_ID + 4 * word:08x}": word for word in range(3)}
    desk.set(SECOND, words={**PART, **own, "0x40015800": 0x10006467})
    assert "the part has device id 0x467" in flash_unit(desk, expect=TOOL)
    lines = lines_of(desk)
    assert [line["unique_id"] is not None for line in lines] == [True, True]
    assert all("no board was flashed" in str(line["problem"]) for line in lines)


def test_a_part_that_tells_no_unique_id_is_refused(desk: Desk) -> None:
    plug_in(desk, (1, None))
    line = flash_unit(desk, expect=TOOL)
    assert "no board was flashed: board 2 (nucleo_g071rb) at probe 066EFF02 does not tell the unique ID" in line
    assert [each["unique_id"] for each in lines_of(desk)] == [None, None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\n", "is no log of flashing: line 1"),
        ('{"unit": 1}\n', "is no log of flashing: line 1: time is missing"),
        (b"\xff\n", "cannot be used as a log (it is no text)"),
    ],
)
def test_another_file_is_no_log(desk: Desk, content: str | bytes, message: str) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    log_of(desk).write_bytes(data)
    assert message in flash_unit(desk, expect=BAD_INPUT)
    assert log_of(desk).read_bytes() == data
    assert desk.calls == []


def test_a_log_that_was_edited_goes_on(desk: Desk) -> None:
    flash_unit(desk)
    log_of(desk).write_text("\n" + log_of(desk).read_text().rstrip("\n"))
    for ids in (G0_UNITS[1], (5, 6)):
        plug_in(desk, ids)
        flash_unit(desk)
    texts = filter(None, log_of(desk).read_text().splitlines())
    assert [json.loads(text)["unit"] for text in texts] == [1, 1, 2, 2, 3, 3]


def test_a_log_in_a_generated_folder_is_refused(desk: Desk) -> None:
    (desk.out / LIST_NAME).touch()
    log = desk.out / "production.jsonl"
    line = run("flash", str(desk.out), "--rig", str(desk.rig), "--production", str(log), expect=BAD_INPUT)
    assert "is inside the generated folder" in line
    assert not log.exists()
    assert desk.calls == []


def test_the_log_of_another_project_is_refused(desk: Desk) -> None:
    flash_unit(desk)
    text = log_of(desk).read_text().replace(f"{desk.project.project_hash:08x}", "0badcafe")
    log_of(desk).write_text(text)
    assert "is the log of project 0badcafe, this one is" in flash_unit(desk, expect=BAD_INPUT)


def test_a_log_that_cannot_be_written_is_named_before_anything_is_flashed(desk: Desk) -> None:
    log_of(desk).mkdir()
    assert "cannot be used as a log (Is a directory)" in flash_unit(desk, expect=BAD_INPUT)
    assert desk.calls == []


@pytest.mark.parametrize("option", ["--dry-run", "--weights-only"])
def test_only_whole_images_are_logged(desk: Desk, option: str) -> None:
    assert f"leave {option} out" in flash_unit(desk, option, expect=USAGE)


def test_one_command_at_a_time_has_a_log(desk: Desk) -> None:
    with locked_file(log_of(desk)):
        assert "is in use by another tinysplit command" in flash_unit(desk, expect=TOOL)
    assert not desk.flashed


def test_an_interrupted_unit_has_failed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(production, "flash_project", interrupted)
    CliRunner().invoke(app, ("flash", str(desk.out), "--rig", str(desk.rig), "--production", str(log_of(desk))))
    assert [(line["result"], line["problem"]) for line in lines_of(desk)] == [("fail", "interrupted")] * 2
