"""`tinysplit bench report`: other rules stand for those of a real board, and wrong input is named in one line."""

import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import NoReturn

import pytest
from rich.console import Console
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, CHECK_FAILED, USAGE, run
from commands.served_boards import served
from rigs.debugged_boards import need_openocd
from tinysplit.boards.catalog import load_board
from tinysplit.cli.app import app
from tinysplit.cli.bench import report as bench_report
from tinysplit.codegen.board_report.projects import generate_report
from tinysplit.common.errors import CheckFailedError
from tinysplit.run import RunRequest
from tinysplit_hil.board_report.events import events_left_out
from tinysplit_hil.board_report.file import (
    BoardResult,
    Events,
    Identity,
    LayerCycles,
    NetworkCycles,
    PieceCycles,
    ReportFile,
    RuleResult,
    Setting,
    Verdict,
    read_report,
    write_report,
)
from tinysplit_hil.board_report.tables import check_report, print_report
from virtual_stm32.timing_rules import read_timing_file

G0, M0 = "stm32g071rbt6", "cortex-m0plus"
LONGEST_LINE = 80


def piece(
    name: str, measured: int, virtual: int, base: str = "loop", dma_bytes: int = 0, events: Events | None = None
) -> PieceCycles:
    return PieceCycles(
        piece=name,
        place="flash",
        offset=0,
        loops=32,
        repeats=8,
        base=base,
        dma_bytes=dma_bytes,
        settings=(Setting(wait_states=2, has_caches=True),),
        measured=(measured,),
        virtual=(virtual,),
        events=events,
    )


def board_result(name: str = "nucleo_g071rb", fits: int = 3, measured: int = 128, layer: int = 1000) -> BoardResult:
    """Return the result of a board whose load takes `fits` cycles in place of 2."""
    board = load_board(name)
    verdict = Verdict.CONFIRMED if fits == 2 else Verdict.CORRECTED
    return BoardResult(
        name=name,
        part=board.device.name,
        core=board.device.core,
        family=board.device.family,
        identity=Identity(
            device_id=0x460,
            revision=0x2000,
            registers={"DBGMCU_IDCODE": 0x20000460},
            core_hz=64_000_000,
            clock_ppm=-12.5,
            clock_uncertainty_ppm=3.0,
            compiler="arm-none-eabi-gcc 12.2.1",
            project_hash="0123abcd",
            elf_sha256="0" * 64,
        ),
        pieces=(
            piece("loop", 3 * 32, 3 * 32),
            piece("load", measured, 128, events=Events(loops=12, cpi=12, lsu=6, fold=0)),
            piece("nops", 640, 640),
            piece("nops beside DMA", 640 + 2 * 16, 640 + 16, base="nops", dma_bytes=16),
        ),
        left_out={"code RAM": "there is none"},
        rules=(RuleResult(table=board.device.core, rule="load", value=2, verdict=verdict, fits=fits, piece="load"),),
        networks=(
            NetworkCycles(
                name="tiny_cnn",
                sha256="0" * 64,
                layers=(LayerCycles(number=1, name="conv1", measured=layer, virtual=1000),),
            ),
        ),
    )


def report_of(*boards: BoardResult) -> ReportFile:
    return ReportFile(rig="real", note="real boards on /dev/ttyACM0", boards=boards)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    write_report(path, report_of(board_result()))
    return path


def test_a_report_reads_as_it_was_written(written: Path) -> None:
    assert read_report(written) == report_of(board_result())


def test_adopt_writes_what_the_board_has(written: Path, tmp_path: Path) -> None:
    out = tmp_path / "timing.toml"
    assert run("bench", "report", "--adopt", str(written), "-o", str(out)).strip() == f"{M0}.load = 3"
    timing = read_timing_file(out)
    assert (timing.part, timing.changes) == (G0, {M0: {"load": 3}})
    assert timing.values(load_board("nucleo_g071rb"), M0).cycles("load") == 3


def test_adopt_takes_the_named_board_of_several(tmp_path: Path) -> None:
    path, out = tmp_path / "report.json", tmp_path / "timing.toml"
    write_report(path, report_of(board_result("nucleo_f401re"), board_result(fits=4)))
    line = run("bench", "report", "--adopt", str(path), "-o", str(out), expect=BAD_INPUT)
    assert line == f"error: {path} is of stm32f401ret6, {G0}: name the board (--board)"
    run("bench", "report", "--adopt", str(path), "-o", str(out), "-b", "nucleo_g071rb")
    assert read_timing_file(out).changes == {M0: {"load": 4}}


def test_nothing_to_adopt_is_a_failed_check(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(path, report_of(board_result(fits=2)))
    line = run("bench", "report", "--adopt", str(path), "-o", str(tmp_path / "timing.toml"), expect=CHECK_FAILED)
    assert line == f"error: {path} corrects no rule of {G0}: there is nothing to adopt"


def test_a_report_of_another_part_or_version(written: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "timing.toml")
    line = run("bench", "report", "--adopt", str(written), "-o", out, "-b", "nucleo_l452re", expect=BAD_INPUT)
    assert line == f"error: {written} is of {G0}, not of stm32l452ret6: make a report of a stm32l452ret6"
    written.write_text(json.dumps({**json.loads(written.read_text()), "schema_version": 9}))
    line = run("bench", "report", "--adopt", str(written), "-o", out, expect=BAD_INPUT)
    assert line == (f"error: {written}: schema_version is 9, not 1: write it anew with `tinysplit bench report`")


@pytest.mark.parametrize(
    ("was", "becomes", "words"),
    [
        ('"rule":"load"', '"rule":"gibberish"', f"{M0}.gibberish: unknown rule: expected one of load, "),
        (f'"part":"{G0}"', '"part":"stm32foo"', "there is no part 'stm32foo': write it in full"),
        (f'"part":"{G0}"', r'"part":"x\"\nversion = 2"', r"""there is no part 'x"\nversion = 2': write it in full"""),
        (f'"table":"{M0}"', '"table":"cortex-m4"', f"cortex-m4: {G0} has no such core or family: expected {M0} or "),
        ('"fits":3', '"fits":1000', f"{M0}.load = 1000: expected cycles, a whole number from 0 to 100"),
    ],
)
def test_adopt_writes_no_file_that_would_be_refused(
    was: str, becomes: str, words: str, written: Path, tmp_path: Path
) -> None:
    assert was in written.read_text()
    written.write_text(written.read_text().replace(was, becomes))
    out = tmp_path / "timing.toml"
    line = run("bench", "report", "--adopt", str(written), "-o", str(out), expect=BAD_INPUT)
    assert line.startswith(f"error: {written}: {words}")
    assert "\n" not in line
    assert not out.exists()


def test_adopt_refuses_boards_that_contradict_each_other(tmp_path: Path) -> None:
    path, out = tmp_path / "report.json", tmp_path / "timing.toml"
    for others in (4, 2):
        write_report(path, report_of(board_result(fits=3), board_result(fits=others)))
        line = run("bench", "report", "--adopt", str(path), "-o", str(out), expect=BAD_INPUT)
        assert line == (
            f"error: {path}: two boards of {G0} contradict each other: {M0}.load is 3 and {others}: "
            "make a report of one of them"
        )
    write_report(path, report_of(board_result(fits=3), board_result(fits=3)))
    run("bench", "report", "--adopt", str(path), "-o", str(out))
    assert read_timing_file(out).changes == {M0: {"load": 3}}


def test_adopt_notes_a_report_of_another_version(written: Path, tmp_path: Path) -> None:
    written.write_text(json.dumps({**json.loads(written.read_text()), "tinysplit_version": "0.0.1"}))
    command = ("bench", "report", "--adopt", str(written), "-o", str(tmp_path / "timing.toml"))
    told = CliRunner().invoke(app, command).stderr
    assert f"note: {written} was made by tinysplit 0.0.1, whose rules may have been others\n" in told


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ((), USAGE, "give --rig for the boards to measure, or --adopt for a report that is there"),
        (("--rig", "virtual"), USAGE, "--rig virtual: repeat --board for each board of the report"),
        (("--adopt", "missing.json"), USAGE, "--adopt missing.json: name the timing file to write with --out"),
        (("--adopt", "a.json", "--rig", "virtual"), USAGE, "--adopt a.json measures nothing: leave --rig virtual out"),
        (("--adopt", "missing.json", "-o", "t.toml"), BAD_INPUT, "missing.json cannot be read"),
        (("--rig", "missing.toml"), BAD_INPUT, "rig missing.toml not found"),
        (("--rig", "virtual", "-b", "nucleo_g071rb", "--network", "a.onnx"), USAGE, "--network and --samples belong"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], exit_code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in run("bench", "report", *arguments, expect=exit_code)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({M0: {"laod": 2}}, f"{M0}.laod: unknown rule: expected one of"),
        ({"cortex-m1": {"load": 2}}, f"cortex-m1: {G0} has no such core or family: expected {M0} or stm32g0"),
    ],
)
def test_unknown_rules_end_the_report_before_anything_is_built(
    rules: Mapping[str, Mapping[str, int]], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    timing = tmp_path / "timing.toml"
    tables = "".join(
        f"[{name}]\n" + "".join(f"{rule} = {value}\n" for rule, value in own.items()) for name, own in rules.items()
    )
    timing.write_text(f'version = 1\npart = "{G0}"\n{tables}')
    command = ("bench", "report", "--rig", "virtual", "-b", "nucleo_g071rb", "--timing", str(timing))
    assert words in run(*command, expect=BAD_INPUT)
    timing.write_text('version = 1\npart = "stm32l452ret6"\n[cortex-m4]\nload = 3\n')
    assert f"is of stm32l452ret6, not of {G0}" in run(*command, expect=BAD_INPUT)
    assert not (tmp_path / "board_report").exists()


@pytest.mark.parametrize(
    ("name", "control", "reason"),
    [
        ("nucleo_g071rb", {}, f"not on {M0}"),
        ("nucleo_f401re", {"DWT_CTRL": 0x0D000001}, "the DWT has none: NOPRFCNT of DWT_CTRL is 1"),
        ("nucleo_f401re", {"DWT_CTRL": 0x40000001}, "the counters have 8 bits, and wrap within 256 cycles"),
    ],
)
def test_events_are_left_out_with_the_reason(name: str, control: Mapping[str, int], reason: str) -> None:
    assert list(events_left_out(load_board(name), control).values()) == [reason]


def test_a_network_without_room_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_network(request: RunRequest, _messages: Console) -> NoReturn:
        raise CheckFailedError(f"{request.model.stem} has no room")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench_report, "make_report", lambda *_, **__: report_of(board_result()))
    monkeypatch.setattr(bench_report, "run", run_network)
    (board,) = json.loads(run("bench", "report", "--rig", "virtual", "-b", "nucleo_g071rb", "--json"))["boards"]
    left_out = {name: board["left_out"][name] for name in ("tiny_cnn", "keywords")}
    assert left_out == {"tiny_cnn": "tiny_cnn has no room", "keywords": "keywords has no room"}
    assert board["networks"] == []


def test_mistakes_of_networks_end_the_report_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("bench", "report", "--rig", "virtual", "-b", "nucleo_g071rb")
    wrong = run(*command, "--network", "missing.onnx", "--samples", "missing.npz", expect=BAD_INPUT)
    assert "missing.onnx" in wrong
    own = tmp_path / "board_report_1_tiny_cnn" / "notes.txt"
    own.parent.mkdir()
    own.write_text("mine")
    assert "board_report_1_tiny_cnn contains files that were not generated (notes.txt)" in run(
        *command, expect=BAD_INPUT
    )
    assert list(tmp_path.iterdir()) == [own.parent]


def test_the_threshold_is_of_pieces_and_networks() -> None:
    check_report(report_of(board_result(measured=130, layer=1050)), 8)
    with pytest.raises(CheckFailedError, match=r"more than 8 %: board 1 \(nucleo_g071rb\): 1 of 4 pieces$"):
        check_report(report_of(board_result(measured=160)), 8)
    with pytest.raises(CheckFailedError, match=r"board 1 \(nucleo_g071rb\): tiny_cnn, -16\.7 %$"):
        check_report(report_of(board_result(layer=1200)), 8)


def test_the_tables_fit_80_columns() -> None:
    text = StringIO()
    print_report(report_of(board_result(measured=160)), Console(file=text, width=LONGEST_LINE))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= LONGEST_LINE
    assert any("load" in line and "-20.0" in line for line in lines)
    assert "core 64 MHz, fast by -12 +- 3 ppm" in lines
    words = [line.split() for line in lines]
    assert ["nops", "beside", "DMA", "flash", "+0", "2", "ws", "2.00", "1.00"] in words
    assert ["load", "flash", "+0", "1.00", "0.50", "0.00"] in words


def test_boards_that_are_less_sure_are_named() -> None:
    texts = []
    for name in ("nucleo_u575zi_q", "nucleo_g071rb"):
        text = StringIO()
        print_report(report_of(board_result(name)), Console(file=text, width=LONGEST_LINE))
        assert max(map(len, text.getvalue().splitlines())) <= LONGEST_LINE
        texts.append(text.getvalue())
    assert "note: times and energies of nucleo_u575zi_q are less sure: Cortex-M33" in texts[0]
    assert "less sure" not in texts[1]


@pytest.mark.slow
def test_other_rules_are_found_and_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards that measure have the shipped rules; those of the comparison are slower at loads and beside DMA."""
    monkeypatch.chdir(tmp_path)
    Path("other.toml").write_text(f'version = 1\npart = "{G0}"\n[{M0}]\nload = 3\ndma_wait = 2\n')
    run(
        *("bench", "report", "--rig", "virtual", "-b", "nucleo_g071rb", "-o", "report.json"),
        *("--timing", "other.toml", "--threshold", "1000"),
    )
    (board,) = read_report(Path("report.json")).boards
    rules = {f"{rule.table}.{rule.rule}": rule for rule in board.rules}
    assert (rules[f"{M0}.load"].verdict, rules[f"{M0}.load"].fits) == (Verdict.CORRECTED, 2)
    assert (rules[f"{M0}.dma_wait"].verdict, rules[f"{M0}.dma_wait"].fits) == (Verdict.CORRECTED, 1)
    others = [rule for rule in rules.values() if rule.piece and rule.rule not in ("load", "dma_wait")]
    assert {rule.verdict for rule in others} == {Verdict.CONFIRMED}
    assert (board.identity.device_id, board.identity.registers["FLASH_ACR"] & 7) == (0x460, 2)
    assert abs(board.identity.clock_ppm or 0) <= (board.identity.clock_uncertainty_ppm or 0)
    assert board.networks[0].virtual > 1.02 * board.networks[0].measured
    run("bench", "report", "--adopt", "report.json", "-o", "timing.toml")
    assert read_timing_file(Path("timing.toml")).changes == {M0: {"load": 2, "dma_wait": 1}}


@pytest.mark.nightly
def test_two_boards_from_the_factory_are_flashed_and_confirm_all_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_openocd()
    monkeypatch.chdir(tmp_path)
    boards = [load_board(name) for name in ("nucleo_g071rb", "nucleo_f401re")]
    generate_report(boards, Path("factory"))
    command = ("bench", "report", "--rig", "rig.toml", "-o", "report.json")
    with served(Path("factory"), "--debug", "--erased", "-o", "rig.toml", temporary=tmp_path):
        for force in ((), ("--force",)):
            run(*command, *force)
    for board in read_report(Path("report.json")).boards:
        assert {rule.verdict for rule in board.rules if rule.piece} == {Verdict.CONFIRMED}
        assert [network.name for network in board.networks] == ["tiny_cnn", "keywords"]
        assert all(network.measured == network.virtual for network in board.networks)
