"""The program of a board report: compiles without a warning, and has its pieces where they say."""

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from programs.firmware_build import link_project
from tinysplit.boards.catalog import load_all, load_board
from tinysplit.codegen.board_report.piece import Place
from tinysplit.codegen.board_report.pieces import left_out, variants_of
from tinysplit.codegen.board_report.projects import generate_report

ONE_A_FAMILY = (
    "nucleo_g071rb",
    "nucleo_c031c6",
    "nucleo_f746zg",
    "nucleo_l073rz",
    "nucleo_f091rc",
    "nucleo_f103rb",
    "nucleo_f303re",
    "nucleo_wb55rg",
    "nucleo_wl55jc",
    "nucleo_u575zi_q",
    "nucleo_h563zi",
    "nucleo_l552ze_q",
    "nucleo_f401re",
    "nucleo_l452re",
    "nucleo_g474re",
    "nucleo_h743zi",
)
FIRST = {Place.FLASH: 0x08000000, Place.RAM: 0x20000000}


def functions(elf: Path) -> dict[str, int]:
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert table is not None
        return {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}


@pytest.mark.parametrize("name", ONE_A_FAMILY)
def test_each_piece_is_in_its_memory(name: str, tmp_path: Path) -> None:
    (board,) = load_all([name])
    project = generate_report([board], tmp_path / "out")
    linked = link_project(tmp_path / "out" / project.boards[0].directory, board)
    assert linked.returncode == 0, linked.stderr
    addresses = functions(tmp_path / "out" / project.boards[0].directory / "firmware.elf")
    variants = variants_of(board)
    assert len(variants) > 100
    places = FIRST | ({Place.CODE_RAM: board.code_ram.code_start} if board.code_ram else {})
    for number, variant in enumerate(variants):
        start = places[variant.place]
        assert start <= addresses[f"report_{number}"] < start + 0x08000000, variant


def test_a_board_without_an_fpu_leaves_its_pieces_out() -> None:
    with_fpu, without = (left_out(load_board(name)) for name in ("nucleo_wb55rg", "nucleo_wl55jc"))
    more = {piece: reason for piece, reason in without.items() if piece not in with_fpu}
    assert set(more) == {"FPU load", "FPU add chain", "FPU FMA chain", "FPU division"}
    assert set(more.values()) == {"not without an FPU"}
