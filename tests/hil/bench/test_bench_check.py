"""`tinysplit bench check`: wires and clocks that are wrong are found on virtual boards, and links go into rig files."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import MODEL
from rigs.fake_rig import make_project
from rigs.wiring_boards import bench_check_of
from tinysplit.common.errors import CheckFailedError, InputError
from tinysplit_hil.bench import check
from tinysplit_hil.bench.check import BenchCheck
from tinysplit_hil.bench.check_report import check_to_json, print_check
from tinysplit_hil.bench.clocks import WANTED_PPM, ClockError
from tinysplit_hil.measure.wiring_client import End, Stamp
from tinysplit_hil.rig.rig_file import RigLink, read_rig_file
from tinysplit_hil.rig.rig_links import read_rig_of_project, write_links
from virtual_stm32 import LineFaults

TWO = ("nucleo_g071rb", "nucleo_f401re")
FIRST, SECOND = (0, "USART1"), (1, "USART1")
CUT = LineFaults(cuts_ps=((0, 10**15),))
NOISE = LineFaults(seed=2, bit_error_rate=0.3, framing_error_rate=0.5)
BOARDS = '# mine\n[[board]]\nport = "/dev/ttyACM0"  # left\n\n[[board]]\nport = "/dev/ttyACM1"\n'


@pytest.fixture
def no_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "measure_clocks", lambda _client: {})


@pytest.fixture
def two_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "RATES", (1_000_000, 115_200))
    monkeypatch.setattr(check, "LOW_RATES", ())


def printed(found: BenchCheck) -> str:
    console = Console(file=StringIO(), width=200)
    print_check(found, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.usefixtures("two_rates")
@pytest.mark.slow
def test_good_wires_have_a_link_and_clocks_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LOW_RATES", (38_400,))
    found = bench_check_of(*TWO, clock_errors_ppm=(150, -80))
    found.check()
    assert found.rig_links == (RigLink(boards=(1, 2), uarts=("USART1", "USART1"), baud=1_000_000),)
    (link,) = found.links
    assert [trial.baud for trial in link.trials] == [38_400, 115_200, 1_000_000]
    assert all(trial.passed for trial in link.trials)
    assert {end: count.sender for end, count in found.heard.items()} == {
        End(0, 0): End(1, 0), End(0, 1): None, End(1, 0): End(0, 0), End(1, 1): None
    }  # fmt: skip
    for number, ppm in ((1, 150), (2, -80)):
        error = found.clocks[number]
        assert error.ppm == pytest.approx(ppm, abs=error.uncertainty_ppm)
        assert error.uncertainty_ppm <= WANTED_PPM
    (silent,) = (line for line in printed(found).splitlines() if "USART3 RX (PC11)" in line)
    assert silent.rstrip().endswith("nothing")
    assert json.loads(json.dumps(check_to_json(found)))["links"][0]["baud"] == 1_000_000


@pytest.mark.usefixtures("no_clocks")
def test_a_tx_that_is_wired_to_a_tx() -> None:
    found = bench_check_of(*TWO, are_straight=True)
    assert found.links == ()
    (fault,) = found.faults
    pins = "board 1 (nucleo_g071rb) USART1 TX (PA9) is wired to board 2 (nucleo_f401re) USART1 TX (PA9)"
    assert fault == f"{pins}: swap the two wires of this link at one end"
    with pytest.raises(CheckFailedError, match="swap the two wires"):
        found.check()


@pytest.mark.usefixtures("no_clocks")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["nucleo_l452re", "nucleo_h743zi"])
def test_other_families_find_a_tx_at_a_tx_too(name: str) -> None:
    found = bench_check_of(name, "nucleo_g071rb", are_straight=True)
    assert len(found.faults) == 1
    assert "is wired to" in found.faults[0]


@pytest.mark.usefixtures("no_clocks")
@pytest.mark.slow
def test_no_wires() -> None:
    found = bench_check_of(*TWO, wires=[])
    assert found.faults == ("no link UART hears another one: connect TX to RX in both directions, and ground",)
    assert printed(found).count("nothing") == 4


@pytest.mark.usefixtures("no_clocks")
@pytest.mark.slow
def test_one_wire_that_is_open() -> None:
    (fault,) = bench_check_of(*TWO, faults={SECOND: CUT}).faults
    first, second = "board 1 (nucleo_g071rb) USART1", "board 2 (nucleo_f401re) USART1"
    assert fault == (
        f"{first} RX (PA10) hears {second} TX (PA9), but {second} RX (PA10) does not hear it: check the wire from"
        f" {first} TX (PA9) to {second} RX (PA10)"
    )


@pytest.mark.usefixtures("no_clocks")
@pytest.mark.slow
def test_a_transmitter_at_its_own_receiver() -> None:
    (fault,) = bench_check_of(*TWO, wires=[(FIRST, FIRST)]).faults
    assert fault == (
        "board 1 (nucleo_g071rb) USART1 TX (PA9) is wired to its own RX: wire it to the RX of the other board"
    )


@pytest.mark.usefixtures("no_clocks")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "guess"),
    [
        ({FIRST: NOISE, SECOND: NOISE}, "a guess: the two boards have no common ground"),
        ({FIRST: NOISE, SECOND: CUT}, "a guess: a loose wire or a short circuit"),
    ],
)
def test_noise_is_a_guess(faults: dict[tuple[int, str], LineFaults], guess: str) -> None:
    (fault,) = bench_check_of(*TWO, faults=faults).faults
    assert fault.startswith("board 1 (nucleo_g071rb) USART1 RX (PA10)")
    assert f"only noise arrives ({guess})" in fault


@pytest.mark.usefixtures("no_clocks", "two_rates")
@pytest.mark.slow
def test_errors_are_counted_by_rate() -> None:
    faults = {FIRST: LineFaults(seed=3, bit_error_rate=2e-4), SECOND: LineFaults(highest_baud=500_000)}
    (link,) = bench_check_of(*TWO, faults=faults).links
    slow, fast = link.trials
    to_first, to_second = (
        [each for trial in (slow, fast) for each in trial.directions if each.to_board == number] for number in (1, 2)
    )
    assert sum(each.bit_errors for each in to_first) > 0
    assert to_second[0].is_clean
    assert to_second[1].good_frames == 0


@pytest.mark.usefixtures("no_clocks", "two_rates")
def test_a_link_with_errors_at_every_rate_is_a_fault() -> None:
    faults = {end: LineFaults(seed=4, bit_error_rate=5e-4) for end in (FIRST, SECOND)}
    found = bench_check_of(*TWO, faults=faults)
    assert found.rig_links == ()
    assert any("has errors at every baud rate (a guess: " in fault for fault in found.faults)


def test_the_uncertainty_of_a_clock_is_the_width_of_its_readings() -> None:
    first, last = Stamp(100.0, 7.0, 7.002), Stamp(110.001, 17.0, 17.002)
    assert ClockError.between(first, last).ppm == pytest.approx(100.0)
    assert ClockError.between(first, last).uncertainty_ppm == pytest.approx(200.0)


# Rig files


LINKS = [RigLink(boards=(1, 2), uarts=("USART1", "USART1"), baud=2_000_000)]


def test_links_are_written_in_place_of_those_before(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    write_links(path, BOARDS, LINKS)
    assert path.read_text().startswith(BOARDS)
    assert read_rig_file(path).link == tuple(LINKS)
    once = path.read_text()
    write_links(path, once, LINKS)
    assert path.read_text() == once
    write_links(path, f"[[ link ]]\nboards = [1, 3]\n{BOARDS}", [])
    assert path.read_text().lstrip("\n") == BOARDS


@pytest.mark.parametrize(
    ("links", "text"),
    [
        ([], None),
        (LINKS, None),
        ([LINKS[0].model_copy(update={"boards": (2, 1)})], None),
        (
            [LINKS[0].model_copy(update={"uarts": ("USART3", "USART1")})],
            "has no [[link]] between board 1 USART1 and board 2 USART1, which the project uses: wire it, then",
        ),
        (
            [LINKS[0].model_copy(update={"baud": 57_600})],
            "has no error up to 57600 baud, the project uses 115200: split again with --baud 57600",
        ),
    ],
)
def test_a_project_has_the_links_of_its_rig(links: list[RigLink], text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    write_links(path, BOARDS, links)
    if text is None:
        read_rig_of_project(path, make_project())
        return
    with pytest.raises(InputError) as caught:
        read_rig_of_project(path, make_project())
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_split_has_the_links_of_its_rig(tmp_path: Path) -> None:
    rig, out = tmp_path / "rig.toml", tmp_path / "split.json"
    options = ("-b", TWO[0], "-b", TWO[1], "--use-all", "--baud", "115200", "-o", str(out), "--rig", str(rig))
    write_links(rig, BOARDS, [LINKS[0].model_copy(update={"uarts": ("USART3", "USART1")})])
    line = run("split", str(MODEL), *options, expect=BAD_INPUT)
    assert "has no [[link]] between board 1 USART1 and board 2 USART1, which the project uses" in line
    assert not out.exists()
    write_links(rig, BOARDS, LINKS)
    run("split", str(MODEL), *options)
    assert out.exists()


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (("--rig", "virtual"), USAGE, "--rig virtual: repeat --board for each board of the test"),
        (("--rig", "virtual", "-b", "nucleo_g071rb"), USAGE, "a test of wires needs at least two boards"),
        (("--rig", "virtual", "-o", "rig.toml"), USAGE, "--rig virtual: there is no rig file whose links --out could"),
        (("--rig", "rig.toml"), BAD_INPUT, "rig.toml has no name for board 1: add it, or give --board for all boards"),
        (("--rig", "no.toml"), BAD_INPUT, "rig no.toml not found"),
        (("--rig", "odd.toml"), BAD_INPUT, "link 1 has the unknown key `speed`: known are boards, uarts, baud"),
    ],
)
def test_benches_that_cannot_be_tested(
    options: tuple[str, ...], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rig.toml").write_text(BOARDS)
    (tmp_path / "odd.toml").write_text(
        f'{BOARDS}[[link]]\nboards = [1, 2]\nuarts = ["USART1", "USART1"]\nbaud = 9600\nspeed = 3\n'
    )
    assert text in run("bench", "check", *options, expect=code)
    assert not (tmp_path / "wiring_test").exists()
