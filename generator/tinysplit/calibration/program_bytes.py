"""Bytes of the parts of the firmware beside layers: programs with kernels in plain C, built for a family of boards."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.build.elf import ElfSizes
from tinysplit.calibration.code_bytes import fit_bytes
from tinysplit.calibration.networks import calibration_networks
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.board_program import board_program, layer_sources
from tinysplit.codegen.mlperf import Mlperf
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import PartBytes, Work
from tinysplit.plan.predicted_memory import PlannedProgram

FAST, SLOW = 1_000_000, 57_600  # baud
STREAMED, WHOLE = HandOffMode.STREAMED, HandOffMode.WHOLE


@dataclass(frozen=True)
class Case:
    """A network of the calibration on one or several boards."""

    network: int
    boards: int = 1
    bits: int = 8
    baud: int = FAST
    driver: LinkDriver | None = None
    hand_off: HandOffMode | None = None
    returns_output: bool = False
    mlperf: Mlperf | None = None
    has_markers: bool = False
    has_diagnostics: bool = True
    code_memory: CodeMemory | None = CodeMemory.FLASH


ALONE = (
    Case(0),
    Case(1, bits=16),
    Case(2),
    Case(3, bits=16),
    Case(4),
    Case(0, has_markers=True),
    Case(0, has_diagnostics=False),
    Case(1, mlperf=Mlperf("kws01")),
)
LINKED = (
    Case(0, boards=2, hand_off=WHOLE),
    Case(1, boards=3, hand_off=WHOLE),
    Case(2, boards=2, hand_off=WHOLE, bits=16),
    Case(4, boards=2, hand_off=STREAMED),
    Case(5, boards=3, hand_off=STREAMED),
    Case(1, boards=2, baud=SLOW, driver=LinkDriver.INTERRUPT, hand_off=WHOLE),
    Case(3, boards=3, baud=SLOW, driver=LinkDriver.INTERRUPT, hand_off=STREAMED),
    Case(1, boards=2, baud=SLOW, driver=LinkDriver.POLLING, hand_off=WHOLE),
    Case(0, boards=2, returns_output=True, hand_off=WHOLE),
    Case(2, boards=2, returns_output=True, hand_off=STREAMED),
    Case(1, boards=2, returns_output=True, mlperf=Mlperf("kws01")),
)
IN_RAM = (Case(0, code_memory=CodeMemory.RAM), Case(2, boards=2, code_memory=CodeMemory.RAM))


def program_parts(board: Board) -> tuple[PartBytes, PartBytes]:
    """Return the bytes of each part of the firmware of the board's family: of flash, and of RAM."""
    flash: list[tuple[Work, int]] = []
    ram: list[tuple[Work, int]] = []
    for case in (*ALONE, *LINKED, *(IN_RAM if board.code_ram else ())):
        for program, sizes in _programs(case, board):
            known, parts = program.known, program.parts
            constants = sizes.weights_bytes + sum(sizes.layer_code_bytes.values())
            flash.append((parts, sizes.flash.used_bytes - known.flash_bytes - constants))
            ram.append((parts, sizes.ram_bytes - known.ram_bytes - sizes.ram_code_bytes))
    return fit_bytes(flash), fit_bytes(ram)


def _programs(case: Case, board: Board) -> Iterator[tuple[PlannedProgram, ElfSizes]]:
    """Yield the programs of the boards of a case, each with what it takes."""
    quantized = quantize_randomly(calibration_networks()[case.network], case.bits)[0]
    settings = CostSettings(
        baud=case.baud,
        link_driver=case.driver,
        hand_off=case.hand_off,
        returns_output=case.returns_output,
        code_memory=case.code_memory,
        kernels=tuple((number, "direct") for number in range(len(quantized.layers))),
    )
    count = len(quantized.layers)
    assignment = tuple(number * case.boards // count for number in range(count))
    planned = plan_network(quantized, (board,) * case.boards, assignment, settings)
    sources = layer_sources(quantized, planned.plan)
    options = ProgramOptions(mlperf=case.mlperf, has_markers=case.has_markers, has_diagnostics=case.has_diagnostics)
    with tempfile.TemporaryDirectory() as name:
        project, report = planned.build(Path(name) / "out", options)
    for own, built, described in zip(planned.plan.boards, report.boards, project.boards, strict=True):
        program = board_program(quantized, planned.plan, own, sources)
        host = project.host_protocol if described.takes_input else HostProtocol.TINYSPLIT
        yield (
            replace(program, host=host, has_markers=case.has_markers, has_diagnostics=case.has_diagnostics),
            built.sizes,
        )
