"""A project on two fake boards, whose network reverses its input."""

from dataclasses import dataclass

import numpy as np

from fake_boards import CORE_HZ, FakeBoard, FakePort
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.project.manifest import (
    Project,
    ProjectBoard,
    ProjectCut,
    ProjectFormat,
    ProjectFormats,
    ProjectLayer,
    ProjectLink,
    ProjectMemory,
    ProjectModel,
)
from tinysplit_hil.frames import Frame
from tinysplit_hil.protocol import Identity, MessageType, RecordKind, TimeRecord
from tinysplit_hil.rig import Rig

HASH = 0x12345678
INPUT_BYTES = 300
LAYER_TICKS = (640_000, 64_000, 6_400)  # 10 ms, 1 ms, 0.1 ms
CUT_TICKS = 1_280_000  # 20 ms
Q7 = ProjectFormat(bits=8, scale=2**-7)
NOTE = "fake boards"
MEMORY = ProjectMemory(
    scheme="interleaved",
    flash_read_bytes=0,
    ram_read_bytes=0,
    kernel="direct",
    scratch_bytes=0,
    input_offsets=(0,),
    output_offset=300,
    moved_bytes=0,
    fused_with=None,
    why="",
)


def make_project(board_names: tuple[str, str] = ("nucleo_g071rb", "nucleo_g071rb"), macc: int = 100_000) -> Project:
    def layer(number: int, board: int) -> ProjectLayer:
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

    def board(number: int) -> ProjectBoard:
        name = board_names[number - 1]
        directory = f"board{number}_{name}"
        return ProjectBoard(
            number=number, name=name, directory=directory, weights_bytes=100, arena_bytes=600, core_hz=CORE_HZ
        )

    cut = ProjectCut(number=1, after_layer=2, from_board=1, to_board=2, payload_bytes=300, estimated_s=0.0199)
    return Project(
        tinysplit_version="0.1.0",
        model=ProjectModel(name="reversal", sha256="0" * 64, copy_sha256="1" * 64, parameters_sha256="2" * 64),
        bits=8,
        baud=115200,
        host_baud=115200,
        calibration_samples=1,
        project_hash=HASH,
        boards=(board(1), board(2)),
        links=(
            ProjectLink(
                boards=(1, 2),
                uarts=("USART1", "USART1"),
                connectors=("a", "b"),
                drivers=(LinkDriver.DMA, LinkDriver.DMA),
                baud=115200,
            ),
        ),
        layers=(layer(1, 1), layer(2, 1), layer(3, 2)),
        cuts=(cut,),
    )


@dataclass
class FakeRig:
    """Two boards that compute a network together, and the rig with their ports."""

    boards: tuple[FakeBoard, FakeBoard]
    rig: Rig

    @classmethod
    def make(cls) -> "FakeRig":
        first, last = (
            FakeBoard(Identity(1, i, True, 0, HASH, CORE_HZ, CORE_HZ, INPUT_BYTES, INPUT_BYTES)) for i in range(2)
        )
        last.takes_input = False
        first.records = [
            TimeRecord(RecordKind.LAYER, 1, LAYER_TICKS[0]),
            TimeRecord(RecordKind.LAYER, 2, LAYER_TICKS[1]),
            TimeRecord(RecordKind.TRANSFER, 0, CUT_TICKS),
        ]
        last.records = [TimeRecord(RecordKind.LAYER, 3, LAYER_TICKS[2])]

        def run(data: bytes) -> None:
            last.output = data[::-1]
            last.send(Frame(MessageType.DONE, 0))

        first.run = run
        ports = {1: FakePort(first, "fake://1"), 2: FakePort(last, "fake://2")}
        return cls((first, last), Rig("virtual", NOTE, ports))


def make_inputs(samples: int = 3) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.random.default_rng(0).integers(-128, 128, (samples, 10, 10, 3), np.int8)
