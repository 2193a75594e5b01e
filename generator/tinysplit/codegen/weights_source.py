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
from tinysplit.memory.constants_in_ram import Decrypted
from tinysplit.memory.decryption import BLOCK_BYTES
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan
from tinysplit.project.manifest import ProjectDecryption, ProjectWeightsFile
from tinysplit.project.structure import CONTENT_HEADER
from tinysplit.settings.programs import WEIGHTS
from tinysplit.weights_file.file import ArrayLayout, FileIdentity, encode, header_flags
from tinysplit.weights_file.layers import LayerEntry, encode_layers, layer_entries
from tinysplit.weights_file.signing_key import SigningKey

# What `python benchmarks memory options` prints.
EXPECTED_CODE_BYTES = 1000  # of firmware/common/weights_file.c, flash_errors.c and crc_unit.c, on all cores
EXPECTED_UPDATE_CODE_BYTES = 1650  # of weights_update.c and flash_family.c, flash_half_words.c or flash_pages.c
EXPECTED_UPDATE_RAM_BYTES = 610  # mostly the data of a request
EXPECTED_KEY_CODE_BYTES = {"cortex-m0": 3130, "cortex-m0plus": 3130}  # of weights_key.c, gcm.c and aes.c
EXPECTED_KEY_CODE_ELSEWHERE_BYTES = 2550
EXPECTED_AGAIN_CODE_BYTES = 240  # of what decrypts in each inference
EXPECTED_KEY_RAM_BYTES = 860  # mostly gcm_t
EXPECTED_SIGNATURE_CODE_BYTES = 4280  # of weights_signature.c, ed25519.c and sha512.c
EXPECTED_SIGNATURE_RAM_BYTES = 520  # ed25519_t
MOST_KEY_RAM_BYTES = (  # of a board with encrypted weights, for code
    EXPECTED_KEY_RAM_BYTES + EXPECTED_UPDATE_RAM_BYTES + EXPECTED_SIGNATURE_RAM_BYTES
)


@dataclass(frozen=True)
class PlacedArray:
    """An array of the file as the assembler sees it: symbol, address as an expression, and size in bytes."""

    symbol: str
    address: str
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
    is_encrypted: bool
    plain_bytes: int  # of RAM for arrays that are kept decrypted
    public_key: bytes  # of who signs the files, b"" where they are not signed


@dataclass(frozen=True)
class WeightsCrcContext:
    """The names of `project/weights_crc.h.j2`."""

    file_name: str
    crc: int


@dataclass(frozen=True, eq=False)
class BoardWeights:
    """The weights of a board: the layer graph, the arrays by symbol, and the slots of the flash that they get.

    `core` is that of the board. The arrays whose symbols are in `again` are the last ones, and decrypted in each
    inference.
    """

    core: str
    layers: tuple[LayerEntry, ...]
    arrays: Mapping[str, IntArray]
    slots: FlashSlots
    key: SecretKey | None
    signer: SigningKey | None
    again: frozenset[str]
    decryption: ProjectDecryption

    @classmethod
    def of(
        cls,
        quantized: QuantizedGraph,
        board_plan: BoardPlan,
        sources: Mapping[int, LayerSource],
        key: SecretKey | None = None,
        signer: SigningKey | None = None,
    ) -> "BoardWeights":
        """Place the weights of a board; `sources` are its layers, by index from 0.

        They are encrypted if there is a `key`, and signed if there is a `signer`.

        Raises UsageError for weights in an external memory, CheckFailedError where they do not fit into the flash.
        """
        board = board_plan.board
        if board_plan.external:
            raise UsageError(
                f"{WEIGHTS('binary')}: weights of {board.title} are in its external memory: use {WEIGHTS('arrays')}"
            )
        layers = tuple(layer_entries(quantized, board_plan.layers))
        arrays = {
            array.flash_symbol: array.values
            for index, source in sorted(sources.items(), key=lambda item: (item[1].decrypts, item[0]))
            if not source.quantized.layer.is_view
            for array in own_arrays(source, index + 1)
        }
        again = frozenset(
            array.flash_symbol
            for index, source in sources.items()
            if source.decrypts
            for array in own_arrays(source, index + 1)
        )
        size_bytes = _layout(layers, arrays, key, signer).size_bytes
        slots = last_slots(board.name, size_bytes)
        if slots is None:
            raise CheckFailedError(
                f"{board.title}: weights of {size_bytes} bytes exceed its flash of {board.device.flash.size_bytes}"
            )
        return cls(board.device.core, layers, arrays, slots, key, signer, again, _decryption(board_plan))

    @property
    def _layout(self) -> ArrayLayout:
        return _layout(self.layers, self.arrays, self.key, self.signer)

    @property
    def size_bytes(self) -> int:
        """Bytes of the file."""
        return self._layout.size_bytes

    @property
    def plain_bytes(self) -> int:
        """Bytes of RAM for the arrays that are kept decrypted: all, or whole blocks of the cipher."""
        if not self.key:
            return 0
        layout = self._layout
        kept_end = min((layout.arrays[symbol][0] for symbol in self.again), default=layout.arrays_end)
        kept_bytes = -(-(kept_end - layout.first_array) // BLOCK_BYTES) * BLOCK_BYTES
        return min(layout.arrays_bytes, kept_bytes)

    @property
    def added_bytes(self) -> int:
        """Expected bytes of flash that the file takes beside its arrays, with the code that checks and replaces it."""
        code_bytes = EXPECTED_CODE_BYTES + (EXPECTED_UPDATE_CODE_BYTES if self.slots.sector_bytes else 0)
        code_bytes += EXPECTED_KEY_CODE_BYTES.get(self.core, EXPECTED_KEY_CODE_ELSEWHERE_BYTES) if self.key else 0
        code_bytes += EXPECTED_AGAIN_CODE_BYTES if self.again else 0
        code_bytes += EXPECTED_SIGNATURE_CODE_BYTES if self.slots.sector_bytes and self.signer else 0
        return self.size_bytes - sum(array.nbytes for array in self.arrays.values()) + code_bytes

    @property
    def added_ram_bytes(self) -> int:
        """Expected bytes of static RAM of the code that replaces or decrypts it, and of arrays that are kept."""
        own_bytes = EXPECTED_UPDATE_RAM_BYTES if self.slots.sector_bytes else 0
        own_bytes += EXPECTED_SIGNATURE_RAM_BYTES if self.slots.sector_bytes and self.signer else 0
        return own_bytes + (EXPECTED_KEY_RAM_BYTES + self.plain_bytes if self.key else 0)

    @property
    def public_key(self) -> bytes:
        """The key of who signs its files, b"" where they are not signed."""
        return self.signer.public_key if self.signer else b""

    @property
    def source(self) -> str:
        """The text of `src/weights.c`, which depends on the structure alone."""
        layout = self._layout

        def placed(symbol: str, offset: int, size_bytes: int) -> PlacedArray:
            is_plain = self.key and symbol not in self.again
            address = f"weights_plain + {offset - layout.first_array}" if is_plain else f"weights_file + {offset}"
            return PlacedArray(symbol, address, size_bytes)

        arrays = tuple(placed(symbol, *place) for symbol, place in layout.arrays.items())
        context = WeightsContext(
            file_name=WEIGHTS_IN_PROJECT.name,
            size_bytes=layout.size_bytes,
            slots=self.slots,
            arrays=arrays,
            first_array=layout.first_array,
            layers=len(self.layers),
            flags=header_flags(is_encrypted=self.key is not None, is_signed=self.signer is not None),
            is_encrypted=self.key is not None,
            plain_bytes=self.plain_bytes,
            public_key=self.public_key,
        )
        return render("project/weights.c.j2", context)

    def write(self, directory: Path, identity: FileIdentity) -> ProjectWeightsFile:
        """Write the file into the project of the board, and return what the manifest says of it."""
        data = encode(identity, self.layers, self.arrays, self.key, self.signer)
        crc = zlib.crc32(data[:-4])
        path = directory / WEIGHTS_IN_PROJECT
        path.write_bytes(data)
        header = render("project/weights_crc.h.j2", WeightsCrcContext(path.name, crc))
        (path.parent / CONTENT_HEADER).write_text(header, encoding="utf-8")
        return ProjectWeightsFile(
            address=self.slots.active.start,
            size_bytes=self.size_bytes,
            slot_bytes=self.slots.active.size_bytes,
            is_updatable=self.slots.sector_bytes is not None,
            is_encrypted=self.key is not None,
            plain_bytes=self.plain_bytes,
            decryption=self.decryption,
            crc=crc,
        )


def _layout(
    layers: Sequence[LayerEntry], arrays: Mapping[str, IntArray], key: SecretKey | None, signer: SigningKey | None
) -> ArrayLayout:
    return ArrayLayout.of(encode_layers(layers), arrays, is_encrypted=key is not None, is_signed=signer is not None)


def _decryption(board_plan: BoardPlan) -> ProjectDecryption:
    """Return what a board decrypts in each inference."""
    again = {number: own for number, own in board_plan.constants.items() if own.decrypted is Decrypted.EACH_TIME}
    return ProjectDecryption(
        layers=tuple(sorted(number + 1 for number in again)),
        size_bytes=sum(own.size_bytes for own in again.values() if not own.is_reused),
        estimated_s=sum(own.cost_cycles for own in again.values()) / board_plan.board.clock.core_hz,
    )
