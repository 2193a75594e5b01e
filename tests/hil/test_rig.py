from pathlib import Path
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

from fake_rig import make_project
from tinysplit.common.errors import InputError, TinysplitError, ToolError
from tinysplit_hil.rig import Rig, open_rig


def write(folder: Path, text: str) -> str:
    path = folder / "rig.toml"
    path.write_text(text)
    return str(path)


def open_spec(spec: str, folder: Path) -> Rig:
    with open_rig(spec, make_project(), folder) as opened:
        return opened


def test_ports_in_board_order(tmp_path: Path) -> None:
    spec = write(tmp_path, '[[board]]\nport = "loop://"\n[[board]]\nport = "loop://?logging=error"\n')
    with open_rig(spec, make_project(), tmp_path) as opened:
        assert opened.kind == "real"
        assert opened.note == "real boards on loop://, loop://?logging=error"
        assert [opened.ports[number].name for number in (1, 2)] == ["loop://", "loop://?logging=error"]
        assert opened.ports[1].baudrate == 921600
        clients = opened.clients(make_project())
        assert clients[2].name == "board 2 (nucleo_g071rb) on loop://?logging=error"


def test_boards_by_serial_number_of_their_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connected = [
        SimpleNamespace(device="loop://", serial_number="066EFF01"),
        SimpleNamespace(device="loop://?logging=error", serial_number="066EFF02"),
        SimpleNamespace(device="/dev/ttyS0", serial_number=None),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: connected)
    spec = write(tmp_path, '[[board]]\nserial_number = "066EFF02"\n[[board]]\nserial_number = "066EFF01"\n')
    with open_rig(spec, make_project(), tmp_path) as opened:
        assert [opened.ports[number].name for number in (1, 2)] == ["loop://?logging=error", "loop://"]
    spec = write(tmp_path, '[[board]]\nserial_number = "FF"\n[[board]]\nserial_number = "066EFF01"\n')
    with pytest.raises(ToolError) as caught:
        open_spec(spec, tmp_path)
    assert str(caught.value) == (
        "no serial port has the USB serial number FF (connected: 066EFF01 (loop://), 066EFF02 (loop://?logging=error))"
    )


ONE = '[[board]]\nport = "loop://"\n'


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (ONE, InputError, "has 1 [[board]] entries, but the project has 2 boards"),
        (ONE + ONE, InputError, "has the same port for two boards: loop://, loop://"),
        ("", InputError, "is not a valid rig file (board: Field required)"),
        ("board = 3", InputError, "is not a valid rig file (board: Input should be a valid tuple)"),
        (ONE + "[[board]]\n", InputError, "a [[board]] has either port or serial_number"),
        (ONE + "baud = 3\n" + ONE, InputError, "board.0.baud: Extra inputs are not permitted"),
        ("[[board", InputError, "is not a valid rig file"),
        (ONE + '[[board]]\nport = "/dev/no_such_tty"\n', ToolError, "the port /dev/no_such_tty cannot be opened"),
        (ONE + '[[board]]\nport = "nonsense://"\n', ToolError, "the port nonsense:// cannot be opened"),
    ],
)
def test_bad_rig(tmp_path: Path, text: str, error: type[TinysplitError], message: str) -> None:
    spec = write(tmp_path, text)
    with pytest.raises(error) as caught:
        open_spec(spec, tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_such_rig(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rig virtuall not found: use `virtual` or a TOML file"):
        open_spec("virtuall", tmp_path)
