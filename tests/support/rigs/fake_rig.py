"""A project on fake boards, whose network reverses its input."""

from dataclasses import dataclass, replace

import numpy as np

from rigs.fake_boards import BAUD, CORE_HZ, FakeBoard, FakePort, FakeTime, make_identity
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.project.layer_formats import ProjectFormat, ProjectFormats
from tinysplit.project.manifest import (
    ConstantsIn,
    Project,
    ProjectBoard,
    ProjectCut,
    ProjectLayer,
    ProjectLink,
    ProjectMemory,
    ProjectModel,
)
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.protocol import RecordKind, TimeRecord

HASH = 0x12345678
INPUT_BYTES = 300
LAYER_TICKS = (640_000, 64_000, 6_400)  # 10 ms, 1 ms, 0.1 ms
CUT_TICKS = 1_279_360  # 19.99 ms
COPY_TICKS = 640  # 10 us
FIRST_S, LAST_S = 0.031, 0.011  # from input to output of each board
PERIOD_S = FIRST_S  # the first board is the slowest
Q7 = ProjectFormat(bits=8, scale=2**-7)
NOTE = "fake boards"
MEMORY = ProjectMemory(
    scheme="interleaved",
    flash_read_bytes=0,
    ram_read_bytes=0,
    kernel="direct",
    scratch_bytes=0,
    constants_in=ConstantsIn.FLASH,
    input_offsets=(0,),
    output_offset=300,
    moved_bytes=0,
    fused_with=None,
    why="",
)


def make_project(macc: int = 100_000, copies: int = 1) -> Project:
    pairs = tuple((2 * copy + 1, 2 * copy + 2) for copy in range(copies))
    return Project(
        tinysplit_version="0.1.0",
        model=ProjectModel(name="reversal", sha256="0" * 64, copy_sha256="1" * 64, parameters_sha256="2" * 64),
        bits=8,
        baud=115200,
        host_baud=BAUD,
        calibration_samples=1,
        project_hash=HASH,
        estimated_period_s=0.03,
        estimated_t_s=0.0199,
        estimated_i_s=0.02989,
        one_board_period_s=0.04,
        copies=pairs,
        boards=tuple(_make_board(number + 1) for number in range(2 * copies)),
        links=tuple(map(_make_link, pairs)),
        layers=tuple(_make_layer(number, pair[number == 3], macc) for pair in pairs for number in (1, 2, 3)),
        cuts=tuple(map(_make_cut, pairs)),
    )


def _make_link(pair: tuple[int, int]) -> ProjectLink:
    return ProjectLink(
        boards=pair,
        uarts=("USART1", "USART1"),
        connectors=("a", "b"),
        drivers=(LinkDriver.DMA, LinkDriver.DMA),
        baud=115200,
    )


def _make_cut(pair: tuple[int, int]) -> ProjectCut:
    first, last = pair
    return ProjectCut(number=1, after_layer=2, from_board=first, to_board=last, payload_bytes=300, estimated_s=0.0199)


def _make_board(number: int) -> ProjectBoard:
    name = "nucleo_g071rb"
    return ProjectBoard(
        number=number,
        name=name,
        directory=f"board{number}_{name}",
        weights_bytes=100,
        arena_bytes=600,
        core_hz=CORE_HZ,
        staged_cuts=(1,),
        takes_input=number % 2 == 1,  # the first of two
        gives_output=number % 2 == 0,
    )


def _make_layer(number: int, board: int, macc: int) -> ProjectLayer:
    return ProjectLayer(
        number=number,
        name=f"layer_{number}",
        kind="conv",
        board=board,
        inputs=(number - 1,),
        macc=macc,
        formats=ProjectFormats(inputs=(Q7,), output=Q7),
        weights_bytes=100,
        memory=MEMORY,
        estimated_cycles=LAYER_TICKS[number - 1] * 9 // 10,
        estimated_s=0.9 * LAYER_TICKS[number - 1] / CORE_HZ,
    )


@dataclass
class FakeRig:
    """Boards that compute the network together, in copies of two boards, and the rig with their ports."""

    boards: tuple[FakeBoard, ...]
    rig: Rig
    time: FakeTime

    @classmethod
    def make(cls, copies: int = 1) -> "FakeRig":
        time = FakeTime()
        boards = tuple(board for copy in range(copies) for board in _make_copy(time, 2 * copy))
        ports = {number: FakePort(board, f"fake://{number}") for number, board in enumerate(boards, 1)}
        return cls(boards, Rig("virtual", NOTE, "real", ports, time), time)

    def keep_accounts(self) -> None:
        """Let boards keep an account of their cycles, as virtual ones do."""
        accounts = lambda: {number: board.account() for number, board in enumerate(self.boards, 1)}  # noqa: E731
        self.rig = replace(self.rig, accounts=accounts)


def _make_copy(time: FakeTime, first_index: int) -> tuple[FakeBoard, FakeBoard]:
    first, last = (
        FakeBoard(time, make_identity(first_index + i, INPUT_BYTES * (i == 0), INPUT_BYTES * (i == 1), HASH))
        for i in range(2)
    )
    first.following, first.duration_s = last, FIRST_S
    last.takes_input, last.duration_s, last.compute = False, LAST_S, lambda data: data[::-1]
    first.records = [
        TimeRecord(RecordKind.INPUT, 0, 1000),
        TimeRecord(RecordKind.LAYER, 1, LAYER_TICKS[0]),
        TimeRecord(RecordKind.LAYER, 2, LAYER_TICKS[1]),
        TimeRecord(RecordKind.TRANSFER, 0, CUT_TICKS),
    ]
    last.records = [TimeRecord(RecordKind.COPY, 0, COPY_TICKS), TimeRecord(RecordKind.LAYER, 3, LAYER_TICKS[2])]
    return first, last


def make_inputs(samples: int = 3) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.random.default_rng(0).integers(-128, 128, (samples, 10, 10, 3), np.int8)
