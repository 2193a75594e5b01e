"""The configuration file of a board in its project: `weights.bin`, and `src/weights.c` that names the arrays in it."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.flash_sectors import last_sectors
from tinysplit.boards.parts import Memory
from tinysplit.codegen.layer_source import LayerSource, own_arrays
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.project_files import WEIGHTS_IN_PROJECT
from tinysplit.common.templates import render
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan
from tinysplit.project.structure import CONTENT_HEADER
from tinysplit.weights_file.file import Identity, Layout, encode
from tinysplit.weights_file.layers import LayerEntry, encode_layers, layer_entries

EXPECTED_CODE_BYTES = 340  # of firmware/common/weights_file.c and crc_unit.c, on all cores


@dataclass(frozen=True)
class PlacedArray:
    """An array of the file as the assembler sees it: symbol, offset and size in bytes."""

    symbol: str
    offset: int
    size_bytes: int


@dataclass(frozen=True)
class WeightsContext:
    """The names of `project/weights.c.j2`."""

    file_name: str
    size_bytes: int
    arrays: tuple[PlacedArray, ...]


@dataclass(frozen=True)
class WeightsCrcContext:
    """The names of `project/weights_crc.h.j2`."""

    file_name: str
    crc: int


@dataclass(frozen=True, eq=False)
class BoardWeights:
    """The weights of a board: the layer graph, the arrays by symbol, and the sectors of the flash that they get."""

    layers: tuple[LayerEntry, ...]
    arrays: Mapping[str, IntArray]
    sectors: Memory

    @classmethod
    def of(cls, quantized: QuantizedGraph, board_plan: BoardPlan, sources: Mapping[int, LayerSource]) -> "BoardWeights":
        """Place the weights of a board; `sources` are its layers by number from 1.

        Raises UsageError for weights in an external memory, CheckFailedError where they do not fit into the flash.
        """
        board = board_plan.board
        if board_plan.external:
            raise UsageError(
                f"--weights binary: weights of {board.title} are in its external memory: use --weights arrays"
            )
        layers = tuple(layer_entries(quantized, board_plan.layers))
        arrays = {
            array.flash_symbol: array.values
            for number, source in sources.items()
            if not source.quantized.layer.is_view
            for array in own_arrays(source, number)
        }
        size_bytes = Layout.of(encode_layers(layers), arrays).size_bytes
        sectors = last_sectors(board.name, size_bytes)
        if sectors is None:
            raise CheckFailedError(
                f"{board.title}: weights of {size_bytes} bytes exceed its flash of {board.device.flash.size_bytes}"
            )
        return cls(layers, arrays, sectors)

    @property
    def size_bytes(self) -> int:
        """Bytes of the file."""
        return Layout.of(encode_layers(self.layers), self.arrays).size_bytes

    @property
    def added_bytes(self) -> int:
        """Expected bytes of flash that the file takes beside its arrays, with the code that checks it."""
        return self.size_bytes - sum(array.nbytes for array in self.arrays.values()) + EXPECTED_CODE_BYTES

    @property
    def source(self) -> str:
        """The text of `src/weights.c`, which depends on the structure alone."""
        layout = Layout.of(encode_layers(self.layers), self.arrays)
        placed = tuple(PlacedArray(symbol, *place) for symbol, place in layout.arrays.items())
        return render("project/weights.c.j2", WeightsContext(WEIGHTS_IN_PROJECT.name, layout.size_bytes, placed))

    def write(self, directory: Path, identity: Identity) -> int:
        """Write the file into the project of the board, and return its CRC-32."""
        data = encode(identity, self.layers, self.arrays)
        crc = zlib.crc32(data[:-4])
        path = directory / WEIGHTS_IN_PROJECT
        path.write_bytes(data)
        header = render("project/weights_crc.h.j2", WeightsCrcContext(path.name, crc))
        (path.parent / CONTENT_HEADER).write_text(header, encoding="utf-8")
        return crc
