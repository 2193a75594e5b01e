"""The configuration file of a board in its project: `weights.bin`, and `src/weights.c` that names the arrays in it."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.flash_sectors import FlashSlots, last_slots
from tinysplit.codegen.layer_source import LayerSource, own_arrays
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.project_files import WEIGHTS_IN_PROJECT
from tinysplit.common.secret_key import SecretKey
from tinysplit.common.templates import render
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan
from tinysplit.project.structure import CONTENT_HEADER
from tinysplit.weights_file.file import Identity, Layout, encode, header_flags
from tinysplit.weights_file.layers import LayerEntry, encode_layers, layer_entries
from tinysplit.weights_file.signing_key import SigningKey

EXPECTED_CODE_BYTES = 900  # of firmware/common/weights_file.c, flash_errors.c and crc_unit.c, on all cores
EXPECTED_UPDATE_CODE_BYTES = 1560  # of weights_update.c and flash_family.c
EXPECTED_UPDATE_RAM_BYTES = 610  # mostly WEIGHTS_PART_BYTES
EXPECTED_KEY_CODE_BYTES = 2700  # of weights_key.c, gcm.c and aes.c
EXPECTED_KEY_RAM_BYTES = 860  # mostly gcm_t
EXPECTED_SIGNATURE_CODE_BYTES = 4150  # of weights_signature.c, ed25519.c and sha512.c
EXPECTED_SIGNATURE_RAM_BYTES = 520  # ed25519_t


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
    slots: FlashSlots
    arrays: tuple[PlacedArray, ...]
    first_array: int
    layers: int  # in the layer graph
    flags: int  # in the header
    plain_bytes: int  # of RAM for decrypted arrays, 0 where they are not encrypted
    public_key: bytes  # of who signs the files, b"" where they are not signed


@dataclass(frozen=True)
class WeightsCrcContext:
    """The names of `project/weights_crc.h.j2`."""

    file_name: str
    crc: int


@dataclass(frozen=True, eq=False)
class BoardWeights:
    """The weights of a board: the layer graph, the arrays by symbol, and the slots of the flash that they get."""

    layers: tuple[LayerEntry, ...]
    arrays: Mapping[str, IntArray]
    slots: FlashSlots
    key: SecretKey | None
    signer: SigningKey | None

    @classmethod
    def of(
        cls,
        quantized: QuantizedGraph,
        board_plan: BoardPlan,
        sources: Mapping[int, LayerSource],
        key: SecretKey | None = None,
        signer: SigningKey | None = None,
    ) -> "BoardWeights":
        """Place the weights of a board; `sources` are its layers by number from 1.

        They are encrypted if there is a `key`, and signed if there is a `signer`.

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
        size_bytes = _layout(layers, arrays, key, signer).size_bytes
        slots = last_slots(board.name, size_bytes)
        if slots is None:
            raise CheckFailedError(
                f"{board.title}: weights of {size_bytes} bytes exceed its flash of {board.device.flash.size_bytes}"
            )
        return cls(layers, arrays, slots, key, signer)

    @property
    def _layout(self) -> Layout:
        return _layout(self.layers, self.arrays, self.key, self.signer)

    @property
    def size_bytes(self) -> int:
        """Bytes of the file."""
        return self._layout.size_bytes

    @property
    def plain_bytes(self) -> int:
        """Bytes of RAM for the decrypted arrays, 0 where they are not encrypted."""
        return self._layout.arrays_bytes if self.key else 0

    @property
    def added_bytes(self) -> int:
        """Expected bytes of flash that the file takes beside its arrays, with the code that checks and replaces it."""
        code_bytes = EXPECTED_CODE_BYTES + (EXPECTED_UPDATE_CODE_BYTES if self.slots.sector_bytes else 0)
        code_bytes += EXPECTED_KEY_CODE_BYTES if self.key else 0
        code_bytes += EXPECTED_SIGNATURE_CODE_BYTES if self.slots.sector_bytes and self.signer else 0
        return self.size_bytes - sum(array.nbytes for array in self.arrays.values()) + code_bytes

    @property
    def added_ram_bytes(self) -> int:
        """Expected bytes of static RAM of the code that replaces or decrypts it, and of the decrypted arrays."""
        own_bytes = EXPECTED_UPDATE_RAM_BYTES if self.slots.sector_bytes else 0
        own_bytes += EXPECTED_SIGNATURE_RAM_BYTES if self.slots.sector_bytes and self.signer else 0
        return own_bytes + (EXPECTED_KEY_RAM_BYTES + self.plain_bytes if self.key else 0)

    def check_ram(self, board_plan: BoardPlan, other_bytes: int) -> None:
        """Raise CheckFailedError where decrypted arrays do not fit into RAM beside `other_bytes` of the program."""
        memory, board = board_plan.arena_memory, board_plan.board
        used_bytes = other_bytes if memory == board.near_memory else board_plan.arena_bytes
        if self.key and used_bytes + self.added_ram_bytes > memory.size_bytes:
            raise CheckFailedError(
                f"{board.title}: {self.plain_bytes} bytes of decrypted weights do not fit into the {memory.size_bytes} "
                f"bytes of {memory.name}, of which the program takes {used_bytes}: assign fewer layers, or use "
                "--weights binary"
            )

    @property
    def public_key(self) -> bytes:
        """The key of who signs its files, b"" where they are not signed."""
        return self.signer.public_key if self.signer else b""

    @property
    def source(self) -> str:
        """The text of `src/weights.c`, which depends on the structure alone."""
        layout = self._layout
        placed = tuple(PlacedArray(symbol, *place) for symbol, place in layout.arrays.items())
        context = WeightsContext(
            file_name=WEIGHTS_IN_PROJECT.name,
            size_bytes=layout.size_bytes,
            slots=self.slots,
            arrays=placed,
            first_array=layout.first_array,
            layers=len(self.layers),
            flags=header_flags(is_encrypted=self.key is not None, is_signed=self.signer is not None),
            plain_bytes=self.plain_bytes,
            public_key=self.public_key,
        )
        return render("project/weights.c.j2", context)

    def write(self, directory: Path, identity: Identity) -> int:
        """Write the file into the project of the board, and return its CRC-32."""
        data = encode(identity, self.layers, self.arrays, self.key, self.signer)
        crc = zlib.crc32(data[:-4])
        path = directory / WEIGHTS_IN_PROJECT
        path.write_bytes(data)
        header = render("project/weights_crc.h.j2", WeightsCrcContext(path.name, crc))
        (path.parent / CONTENT_HEADER).write_text(header, encoding="utf-8")
        return crc


def _layout(
    layers: Sequence[LayerEntry], arrays: Mapping[str, IntArray], key: SecretKey | None, signer: SigningKey | None
) -> Layout:
    return Layout.of(encode_layers(layers), arrays, is_encrypted=key is not None, is_signed=signer is not None)
