import errno
import os
import pty
from pathlib import Path
from types import SimpleNamespace

import pytest
import serial
from serial.tools import list_ports

from commands.command_line import BAD_INPUT, run
from rigs.fake_rig import make_project
from tinysplit.common.errors import InputError, TinysplitError, ToolError
from tinysplit_hil.rig.rig import Rig, open_rig


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
        SimpleNamespace(device="loop://", serial_number="066EFF01", vid=None),
        SimpleNamespace(device="loop://?logging=error", serial_number="066EFF02", vid=None),
        SimpleNamespace(device="/dev/ttyS0", serial_number=None, vid=None),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: connected)
    spec = write(tmp_path, '[[board]]\nserial_number = "066EFF02"\n[[board]]\nserial_number = "066EFF01"\n')
    with open_rig(spec, make_project(), tmp_path) as opened:
        assert [opened.ports[number].name for number in (1, 2)] == ["loop://?logging=error", "loop://"]
    spec = write(tmp_path, '[[board]]\nserial_number = "FF"\n[[board]]\nserial_number = "066EFF01"\n')
    with pytest.raises(ToolError) as caught:
        open_spec(spec, tmp_path)
    assert str(caught.value) == (
        "no serial port has the USB serial number FF (connected: 066EFF01 (loop://), 066EFF02 (loop://?logging=error)):"
        " connect the board, or correct the rig file; `tinysplit bench discover` lists what is plugged in"
    )


ONE = '[[board]]\nport = "loop://"\n'
BOTH = '[[board]]\nserial_number = "{}"\nport = "{}"\n'
LINK = '[[link]]\nboards = {}\nuarts = ["USART1", "USART1"]\nbaud = {}\n'
NAMED = '[[board]]\nport = "spy://"\nname = "{}"\n'


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (ONE, InputError, "has 1 [[board]] table, but the project has 2 boards"),
        (ONE + ONE, InputError, "has the same port for two boards: loop://"),
        ("", InputError, "is not a valid rig file (board is missing)"),
        ("board = 3", InputError, "is not a valid rig file (begin each board with a line [[board]])"),
        (ONE + "[[board]]\n", InputError, "board 2: a [[board]] needs serial_number, port or both"),
        (
            ONE + "baud = 3\n" + ONE,
            InputError,
            "board 1 has the unknown key `baud`: known are serial_number, openocd_adapter, port, name",
        ),
        ("speed = 3\n" + ONE, InputError, "the file has the unknown key `speed`: known are [[board]]"),
        (BOTH.format(1, "a") + BOTH.format(1, "b"), InputError, "has the same serial_number for two boards: 1;"),
        ("board = []", InputError, "is not a valid rig file (board needs 1 or more entries)"),
        ("[[board]]\nport = 3\n" + ONE, InputError, "is not a valid rig file (board 1, port has to be text)"),
        (ONE + LINK.format("[0, 1]", 9600), InputError, "(link 1, boards 1 has to be at least 1)"),
        (ONE + LINK.format("[1]", 9600), InputError, "(link 1, boards 2 is missing)"),
        (ONE + LINK.format("[1, 2]", '"fast"'), InputError, "(link 1, baud has to be a whole number)"),
        (NAMED.format("nucleo"), InputError, "board 1, name: there is no board 'nucleo'; nearest: nucleo_"),
        (NAMED.format("nucleo_f401re") + ONE, InputError, "a nucleo_f401re where the project has board 1 (nucleo_g07"),
        ("[[board", InputError, "is not a valid rig file"),
        ('[board]\nport = "a"', InputError, "(begin each board with a line [[board]])"),
        (ONE + '[[board]]\nport = "/dev/no_such_tty"\n', ToolError, "the port /dev/no_such_tty cannot be opened"),
        (
            ONE + '[[board]]\nport = "nonsense://"\n',
            InputError,
            "the port nonsense:// is no device, socket://HOST:PORT or",
        ),
        (ONE + '[[board]]\nport = "spy://a?file=b"\n', InputError, "the port spy://a?file=b is no device, "),
    ],
)
def test_bad_rig(tmp_path: Path, text: str, error: type[TinysplitError], message: str) -> None:
    spec = write(tmp_path, text)
    with pytest.raises(error) as caught:
        open_spec(spec, tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_virtual_boards_that_were_stopped(tmp_path: Path) -> None:
    served = f'[virtual]\ntime_file = "{tmp_path}/time"\nports = ["/dev/pts/x", "loop://"]\nnote = ""\n'
    spec = write(tmp_path, served + '[[board]]\nport = "/dev/pts/x"\n' + ONE)
    for _ in range(2):
        with pytest.raises(ToolError, match=r"do not run any more: start `tinysplit virtual OUT -o .*rig.toml` again"):
            open_spec(spec, tmp_path)
        (tmp_path / "time").touch()  # the process was killed: its port is gone


def test_no_such_rig(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rig virtuall not found: use `virtual` or a TOML file"):
        open_spec("virtuall", tmp_path)


def test_a_test_of_wires_names_it_too(tmp_path: Path) -> None:
    boards = ("-b", "nucleo_g071rb", "-b", "nucleo_f401re")
    line = run("bench", "check", "--rig", str(tmp_path / "none.toml"), *boards, expect=BAD_INPUT)
    assert "none.toml not found: use `virtual` or a TOML file with a [[board]]" in line


def test_a_board_with_both_talks_on_its_port(tmp_path: Path) -> None:
    spec = write(tmp_path, BOTH.format("066EFF01", "loop://") + BOTH.format("066EFF02", "loop://?logging=error"))
    assert [port.name for port in open_spec(spec, tmp_path).ports.values()] == ["loop://", "loop://?logging=error"]


def test_a_probe_with_two_ports_needs_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connected = [SimpleNamespace(device=f"/dev/ttyACM{i}", serial_number="066EFF01") for i in range(2)]
    monkeypatch.setattr(list_ports, "comports", lambda: connected)
    spec = write(tmp_path, ONE + '[[board]]\nserial_number = "066EFF01"\n')
    with pytest.raises(ToolError, match=r"has the ports /dev/ttyACM0, /dev/ttyACM1: add `port` to its \[\[board\]\]"):
        open_spec(spec, tmp_path)


def test_a_port_is_not_opened_for_the_board_of_another_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connected = [SimpleNamespace(device="loop://", serial_number="066EFF02")]
    monkeypatch.setattr(list_ports, "comports", lambda: connected)
    spec = write(tmp_path, BOTH.format("066EFF01", "loop://") + BOTH.format("066EFF02", "loop://?logging=error"))
    with pytest.raises(ToolError, match="the port loop:// of board 1 belongs to the probe 066EFF02, not to 066EFF01"):
        open_spec(spec, tmp_path)


def test_a_port_that_another_program_uses(tmp_path: Path) -> None:
    end, other = pty.openpty()
    with serial.Serial(os.ttyname(other), exclusive=True):
        spec = write(tmp_path, f'[[board]]\nport = "{os.ttyname(other)}"\n{ONE}')
        with pytest.raises(ToolError, match="another program uses it: end that one"):
            open_spec(spec, tmp_path)
    os.close(end)
    os.close(other)


def test_a_port_without_permission_names_group_and_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, **_: object) -> None:
        raise serial.SerialException(errno.EACCES, f"could not open port {name}: [Errno 13] Permission denied")

    monkeypatch.setattr(serial, "serial_for_url", refuse)
    with pytest.raises(ToolError, match=r"join the group dialout .*`tinysplit bench udev` prints"):
        open_spec(write(tmp_path, ONE + ONE.replace("loop", "spy")), tmp_path)
