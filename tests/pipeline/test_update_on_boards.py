"""New weights over the host port: what boards take and refuse, and supplies that fail while flash changes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import serial
from rich.console import Console

from commands.command_line import BAD_INPUT, USAGE, run
from controllers.failing_flash import FailingFlash
from example_folders import example
from example_folders.weights_folders import generate, other_model, shared_binary
from rigs.updated_boards import board_of, one_board, smallest, with_one_slot
from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.build.folder import build_folder
from tinysplit.common.errors import InputError, ToolError
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.weights_file.file import HEADER_BYTES
from tinysplit_hil.bench.update import ERASED, UNIT_BYTES, UpdatedBoard, update_boards
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.rig.rig import Rig, open_rig
from tinysplit_hil.rig.virtual_clock import VirtualClock
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.protocol import ErrorCode
from tinysplit_hil.wire.request_port import RequestPort
from tinysplit_hil.wire.tasks import Task
from virtual_stm32 import VirtualRig
from virtual_stm32.peripherals.reset import ResetCause

G0, F1, F4, L4 = "nucleo_g071rb", "nucleo_f103rb", "nucleo_f401re", "nucleo_l452re"
L4PLUS = ("nucleo_l4r5zi", "nucleo_l4r5zi_dbank0")
QUIET = Console(quiet=True)
RELOAD = 0x08  # offset of a register of the watchdog


def new_weights(folder: Path, *boards: str) -> Project:
    """Generate another network of the structure of the shared folder."""
    _, structure = shared_binary(*boards)
    return generate(folder / "new", *boards, model=other_model(folder), structure=structure)


def test_boards_take_new_weights_and_say_which(tmp_path: Path) -> None:
    project, old = shared_binary(G0, F4)
    new = new_weights(tmp_path, G0, F4)
    with open_rig("virtual", project, old) as rig:
        for _ in range(2):
            found = update_boards(new, tmp_path / "new", rig, QUIET, may_be_older=False)
            assert [each.after.crc for each in found] == crcs(new)
            assert [each.after.counter for each in found] == [2, 2]
        assert all(each.is_skipped for each in found)
        with pytest.raises(ToolError, match=r"weights with counter 2, newer than those of the folder \(1\)"):
            update_boards(project, old, rig, QUIET, may_be_older=False)
        found = update_boards(project, old, rig, QUIET, may_be_older=True)
        assert [each.before.crc for each in found] == crcs(new)
        assert [each.after.crc for each in found] == crcs(project)


def crcs(project: Project) -> list[int]:
    return [board.weights_file.crc for board in project.boards if board.weights_file]


def test_the_l5_with_one_bank(tmp_path: Path) -> None:
    text = 'extends = "nucleo_l552ze_q"\ntitle = "one bank"\n[flash]\nbanks = 1\nsource = "RM0438 DBANK"\n'
    (tmp_path / "l5_one_bank.toml").write_text(text, encoding="utf-8")
    board, out = load_board(str(tmp_path / "l5_one_bank.toml")).name, tmp_path / "old"
    project = generate(out, board)
    build_folder(project, out, QUIET).check()
    new = generate(tmp_path / "new", board, model=other_model(tmp_path), structure=out)
    with open_rig("virtual", project, out) as rig:
        (found,) = update_boards(new, tmp_path / "new", rig, QUIET, may_be_older=False)
        assert [found.before.crc, found.after.crc] == crcs(project) + crcs(new)


def test_what_boards_cannot_take_changes_none(tmp_path: Path) -> None:
    project, old = shared_binary(G0, F4)
    small = smallest(project, old)
    new = new_weights(tmp_path, G0, F4)
    path = new.boards[small].weights_path(tmp_path / "new")
    right = path.read_bytes()
    with open_rig("virtual", project, old) as rig:
        for wrong, reason in {
            right[:-1]: f"has {len(right) - 1} bytes, its header says {len(right)}",
            right + b"\0": f"has {len(right) + 1} bytes, its header says {len(right)}",
            right[:200] + bytes([right[200] ^ 4]) + right[201:]: "has changed: its CRC-32 is",
            project.boards[small].weights_path(old).read_bytes(): "is not the file of this project",
        }.items():
            path.write_bytes(wrong)
            with pytest.raises(InputError, match=rf"weights\.bin.*{reason}"):
                update_boards(new, tmp_path / "new", rig, QUIET, may_be_older=False)
        path.write_bytes(right)
        other = new.model_copy(update={"project_hash": new.project_hash ^ 1})
        with pytest.raises(ToolError, match=r"nucleo_g071rb.*flash"):
            update_boards(other, tmp_path / "new", rig, QUIET, may_be_older=False)
        found = update_boards(project, old, rig, QUIET, may_be_older=False)
        assert all(each.is_skipped for each in found)


def test_the_command_names_what_is_missing(tmp_path: Path) -> None:
    _, folder = shared_binary(G0, F4)
    assert "give a rig file" in run("update", str(folder), "--rig", "virtual", expect=USAGE)
    line = run("update", str(folder), "--rig", str(tmp_path / "absent.toml"), expect=BAD_INPUT)
    assert "absent.toml" in line


def test_a_board_refuses_parts_that_do_not_follow() -> None:
    project, folder = shared_binary(G0, F4)
    small = smallest(project, folder)
    file = project.boards[small].weights_path(folder).read_bytes()
    with board_of(project, folder, small) as (rig, _, client):
        del rig
        for task in (client.write_weights(0, file[:32]), client.commit_weights()):
            with pytest.raises(ToolError, match="BAD_RANGE"):
                client.run(task)
        client.run(client.begin_weights(file[:28], may_be_older=False))
        client.run(client.write_weights(0, file[:64]))
        client.run(client.write_weights(32, file[32:64]))  # again
        for offset, part in {128: file[128:160], 64: file[64:95], 1 << 20: file[:32]}.items():
            with pytest.raises(ToolError, match="BAD_RANGE"):
                client.run(client.write_weights(offset, part))
        with pytest.raises(ToolError, match="BAD_RANGE"):
            client.run(client.commit_weights())
        for offset, value in {4: 2, 5: file[5] ^ 1, 12: file[12] ^ 1, 8: file[8] ^ 4}.items():
            header = bytearray(file[:28])
            header[offset] = value
            with pytest.raises(ToolError, match="WEIGHTS: its weights file"):
                client.run(client.begin_weights(bytes(header), may_be_older=True))


@pytest.mark.slow
def test_a_file_with_another_header_or_crc_is_not_committed() -> None:
    """Every bit of the CRC counts, and every byte of the header."""
    project, folder = shared_binary(G0, F4)
    small = smallest(project, folder)
    file = project.boards[small].weights_path(folder).read_bytes()
    with board_of(project, folder, small) as (_, _, client):
        header, crc = range(0, 8 * HEADER_BYTES, 9), range(8 * len(file) - 32, 8 * len(file))
        for bit in (*header, *crc):
            wrong = file[: bit // 8] + bytes([file[bit // 8] ^ 1 << bit % 8]) + file[bit // 8 + 1 :]
            padded = wrong + ERASED * (-len(wrong) % UNIT_BYTES)
            client.run(client.begin_weights(file[:HEADER_BYTES], may_be_older=False))
            for offset in range(0, len(padded), 512):
                client.run(client.write_weights(offset, padded[offset : offset + 512]))
            with pytest.raises(ToolError, match="WEIGHTS: its weights file has changed"):
                client.run(client.commit_weights())


def test_a_run_ends_an_update_and_its_long_watchdog() -> None:
    project, folder = shared_binary(G0, F4)
    small = smallest(project, folder)
    file = project.boards[small].weights_path(folder).read_bytes()
    with board_of(project, folder, small) as (_, virtual, client):
        client.run(client.weights())
        watchdog = virtual.part(small).machine.chip.watchdog
        own = watchdog.read(RELOAD, 0)
        client.run(client.begin_weights(file[:28], may_be_older=False))
        assert watchdog.read(RELOAD, 0) > 4 * own
        client.run(client.reset(1))
        assert watchdog.read(RELOAD, 0) == own
        client.run(client.stop(1.0))
        with pytest.raises(ToolError, match="BAD_RANGE"):
            client.run(client.write_weights(0, file[:32]))


@pytest.mark.parametrize("request_name", ["write_weights", "commit_weights"])
def test_who_loses_the_supply_is_to_repeat_the_command(
    request_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, old = shared_binary(G0, F4)
    small = smallest(project, old)
    new, folder = one_board(new_weights(tmp_path, G0, F4), small), tmp_path / "new"
    with board_of(project, old, small) as (rig, virtual, _):
        request = getattr(BoardClient, request_name)

        def starts_before(client: BoardClient, *arguments: Any) -> Task[None]:  # noqa: ANN401 (those of a request)
            virtual.reset_board(small, ResetCause.POWER_UP)
            yield from request(client, *arguments)

        with monkeypatch.context() as patched:
            patched.setattr(BoardClient, request_name, starts_before)
            with pytest.raises(
                ToolError, match=rf"{new.boards[0].name}.* has restarted.*: check its supply, and repeat the com"
            ):
                update_boards(new, folder, rig, QUIET, may_be_older=False)
        update_all(rig, new, folder)


def test_a_board_that_falls_silent_is_to_get_the_command_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, old = shared_binary(G0, F4)
    small = smallest(project, old)
    new = one_board(new_weights(tmp_path, G0, F4), small)
    with board_of(project, old, small) as (rig, _, _):
        monkeypatch.setattr(RequestPort, "poll", lambda _: None)
        with pytest.raises(ToolError, match=r"does not reply: .*; then repeat the command"):
            update_boards(new, tmp_path / "new", rig, QUIET, may_be_older=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "board",
    [
        G0,
        *(
            pytest.param(each, marks=pytest.mark.nightly)
            for each in (
                F4,
                L4,
                *L4PLUS,
                "nucleo_h743zi",
                "nucleo_f746zg",
                "nucleo_f303re",
                "nucleo_wb55rg",
                "nucleo_wl55jc",
                "nucleo_f072rb",
                "nucleo_u575zi_q",
                "nucleo_h563zi",
                "nucleo_l552ze_q",
                F1,
            )
        ),
    ],
)
def test_supplies_may_fail_at_any_change_of_the_flash(board: str, tmp_path: Path) -> None:
    """The board comes back with the old weights or the new ones, whole, says which, and takes the new ones then."""
    project, old = shared_binary(board, board)
    small = smallest(project, old)
    new, folder = new_weights(tmp_path, board, board), tmp_path / "new"
    with board_of(project, old, small) as (rig, virtual, client):
        flash = FailingFlash(virtual, small)
        update_all(rig, one_board(new, small), folder)
        kept, points = 0, flash.decisive(cases(quick=4, full=4, nightly=flash.changes))
        for point in points:
            flash.fail_at(point)
            kept += comes_back_with(client, one_board(project, small), one_board(new, small)) == project.weights_counter
        assert 0 < kept < len(points)
        flash.fail_at(points[1])
        update_all(rig, one_board(new, small), folder)
        flash.fail_at(points[-2])
        comes_back_with(client, one_board(new, small))
        run_bit_exactly(virtual, new, folder)


def test_boards_with_weights_of_different_networks_run_nothing(tmp_path: Path) -> None:
    project, old = shared_binary(G0, F4)
    small = smallest(project, old)
    new = new_weights(tmp_path, G0, F4)
    with board_of(project, old, small) as (rig, virtual, _):
        update_all(rig, one_board(new, small), tmp_path / "new")
        with all_boards(virtual, project) as both:
            clients = both.clients(project)
            for client in clients.values():
                client.run(client.reset(1))
            found = [client.run(client.identify()).error for client in clients.values()]
    assert found == [ErrorCode.LINK_OTHER_PLAN] * 2


@pytest.mark.slow
def test_a_board_with_one_slot_starts_again_before_it_runs_new_weights(tmp_path: Path) -> None:
    """Its neighbours know it by the weights with which it has started."""
    project, old = shared_binary(G0, F4)
    small = smallest(project, old)
    new = new_weights(tmp_path, G0, F4)
    file = new.boards[small].weights_path(tmp_path / "new").read_bytes()
    padded = file + bytes(-len(file) % UNIT_BYTES)
    with board_of(project, with_one_slot(project, old, tmp_path, small), small) as (_, _, client):
        client.run(client.begin_weights(file[:HEADER_BYTES], may_be_older=False))
        for offset in range(0, len(padded), UNIT_BYTES):
            client.run(client.write_weights(offset, padded[offset : offset + UNIT_BYTES]))
        client.run(client.commit_weights())
        with pytest.raises(ToolError, match="its weights were replaced since it has started: reset it"):
            client.run(client.reset(1))


@contextmanager
def all_boards(virtual: VirtualRig, project: Project) -> Iterator[Rig]:
    """Open the ports of all boards of a rig that `board_of` has made."""
    urls = {board.number: f"virtual://update/{index}" for index, board in enumerate(project.boards)}
    ports = {number: serial.serial_for_url(url, project.host_baud, timeout=0) for number, url in urls.items()}
    yield Rig("virtual", "", "real", ports, VirtualClock(virtual))
    for port in ports.values():
        port.close()


def update_all(rig: Rig, project: Project, folder: Path) -> list[UpdatedBoard]:
    found = update_boards(project, folder, rig, QUIET, may_be_older=True)
    assert [each.after.crc for each in found] == crcs(project)
    return found


def comes_back_with(client: BoardClient, *allowed: Project) -> int:
    """Wait for a board that starts, which has one of these files, and return the counter of its file."""
    for _ in range(40):
        with suppress(ToolError):
            found = client.run(client.weights())
            break
    client.run(client.check_flash())
    assert [found.crc] in [crcs(project) for project in allowed]
    return found.counter


def run_bit_exactly(virtual: VirtualRig, project: Project, folder: Path) -> None:
    """Run a sample on all boards, when the others have the same weights."""
    with all_boards(virtual, project) as rig:
        update_all(rig, project, folder)
        quantized = read_quantized(folder, project)
        samples = load_samples(example.SAMPLES, quantized.graph).x[:1]
        found = measure(project, rig, quantize_input(quantized, samples), fail_fast=True).outputs
    assert np.array_equal(found[0][quantized.graph.output_order], run_integer(quantized, samples)[0].ravel())
