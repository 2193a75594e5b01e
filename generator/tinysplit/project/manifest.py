"""The manifest of a generated folder: model, layers with estimates, memory plan, and wiring of the boards.

`generate` writes `OUT/tinysplit.json`, `build` and `measure` read it. Layers, boards and cuts count from 1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator
from typing_extensions import override

from tinysplit.boards.board import CodeMemory, board_title
from tinysplit.boards.board_files import use_folder_beside
from tinysplit.boards.catalog import read_board_file
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.choices import InputSource
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.file_schema import Count, FileModel, Hertz, Number, Seconds, Watts, first_mistake, matching
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.input_files.texts import read_json_file
from tinysplit.common.project_files import ELF_IN_PROJECT, MANIFEST_NAME, WEIGHTS_IN_PROJECT
from tinysplit.network.distribution import Part, SliceAxis
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.project.activity import BoardActivity, EstimatedSpan, ExternalPower
from tinysplit.project.chip_parts import FirmwarePart
from tinysplit.project.file_link import FileLink
from tinysplit.project.layer_formats import ProjectFormats
from tinysplit.project.references import check_boards, check_known, check_once
from tinysplit.project.removed_channels import ChannelList
from tinysplit.project.standalone import ProjectStandalone
from tinysplit.settings.programs import DIAGNOSTICS, HOST_PROTOCOL
from tinysplit.split.figures import PlacementFigures

NETWORK_INPUT_NUMBER = 0

LayerNumber = Annotated[int, Field(ge=0, le=10**6)]  # 0: the network's input
Offset = Annotated[int, Field(ge=-(10**15), le=10**15)]  # in bytes
BoardName = Annotated[str, AfterValidator(matching(r"[a-z][a-z0-9_]*", "the name of a board"))]


class ProjectModel(FileModel):
    """The network: the folder has its ONNX file as `model.onnx`, and calibrated parameters as `parameters.npz`."""

    name: str
    sha256: str  # of the imported files
    copy_sha256: str  # of the folder's `model.onnx`, which contains all weights
    parameters_sha256: str  # of the folder's `parameters.npz`


class ConstantsIn(StrEnum):
    """Where the kernel of a layer reads its constants: where they are stored, or in RAM, to which they are copied."""

    FLASH = "flash"
    EXTERNAL = "external"  # memory of the board
    RAM = "ram"


class ProjectBuffer(FileModel):
    """Bytes of the arena: the output of layer `tensor` (0: the network's input), or that layer's scratch memory."""

    tensor: LayerNumber
    is_scratch: bool
    offset: Offset
    size_bytes: Count


class ProjectMemory(FileModel):
    """Kernel of a layer, its memory traffic, its offsets in the arena in bytes, and the reason for the choice."""

    scheme: str
    kernel: str
    flash_read_bytes: Count  # including repeated reads
    ram_read_bytes: Count
    scratch_bytes: Count
    constants_in: ConstantsIn
    input_offsets: tuple[Offset, ...]
    output_offset: Offset
    moved_bytes: Count  # of tensors that are moved within the arena before the layer runs
    fused_with: Number | None  # number of the layer with which it is computed a few rows at a time
    live: tuple[ProjectBuffer, ...] = ()  # all buffers of the board that are in use while the layer runs
    why: str


class ProjectPart(FileModel):
    """Rows or channels `first` to `last` (from 1) of the output of layer `layer` (0: of the network's input)."""

    layer: LayerNumber
    axis: SliceAxis
    first: Number
    last: Number

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"the last of {self.axis} {self.first}-{self.last} comes before the first")
        return self

    @classmethod
    def of(cls, part: Part) -> Self:
        """Return a part as the manifest has it."""
        return cls(layer=part.tensor + 1, axis=part.axis, first=part.range.start + 1, last=part.range.stop)

    @override
    def __str__(self) -> str:
        """Return what it is: `rows 1-12`."""
        return f"{self.axis} {self.first}-{self.last}" if self.last > self.first else f"{self.axis[:-1]} {self.first}"


class ProjectLayer(FileModel):
    """A layer: its board, formats, memory and estimated time. Layers of a distributed network are parts."""

    number: Number
    name: str
    kind: str
    board: Number
    inputs: tuple[LayerNumber, ...]  # layers whose outputs it reads, 0 for the network's input
    macc: Count
    formats: ProjectFormats
    weights_bytes: Count
    memory: ProjectMemory
    estimated_cycles: Count
    estimated_s: Seconds
    part: ProjectPart | None = None


class ProjectCut(FileModel):
    """A transfer of a tensor on a link between two boards; each link of a longer route has a cut of its own."""

    number: Number
    after_layer: LayerNumber
    from_board: Number
    to_board: Number
    payload_bytes: Count
    estimated_s: Seconds  # as a whole, until the receiver has it
    acknowledgement_s: Seconds = 0.0  # that its acknowledgement is on the wire, for which no board waits
    is_sent_by_rows: bool = False
    is_taken_by_rows: bool = False
    why_whole: str = ""  # why it is not streamed at both ends
    part: ProjectPart | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether a board computes while it sends or takes the tensor."""
        return self.is_sent_by_rows or self.is_taken_by_rows


class ProjectLink(FileLink):
    """A link of a project, with the connector of each UART and how it is driven."""

    connectors: tuple[str, str]
    drivers: tuple[LinkDriver, LinkDriver]
    baud: Hertz

    @property
    def pair(self) -> tuple[int, int]:
        """The numbers of its boards, the lower first."""
        first, second = self.boards
        return min(first, second), max(first, second)

    def connector_at(self, board: int) -> str:
        """Return the connector of the UART at one of the boards."""
        return self.connectors[self.boards.index(board)]

    def driver_at(self, board: int) -> LinkDriver:
        """Return how one of the boards drives it."""
        return self.drivers[self.boards.index(board)]

    @model_validator(mode="after")
    def _has_two_boards(self) -> Self:
        if len(set(self.boards)) == 1:
            raise ValueError(f"a link has board {self.boards[0]} at both ends")
        return self


class ProjectDecryption(FileModel):
    """The layers of a board whose weights are decrypted in each inference, bytes of these, and the time it takes."""

    layers: tuple[Number, ...] = ()
    size_bytes: Count = 0
    estimated_s: Seconds = 0.0


class ProjectWeightsFile(FileModel):
    """The configuration file of a board: where it lies, its bytes, those of its slot in flash, and its CRC-32."""

    address: Count
    size_bytes: Count
    slot_bytes: Count
    is_updatable: bool  # over the host port: the sectors of the slot are all alike
    is_encrypted: bool = False
    plain_bytes: Count = 0  # of RAM for arrays that are decrypted once
    decryption: ProjectDecryption = ProjectDecryption()
    crc: Count


class ProjectBoard(FileModel):
    """A board, its PlatformIO project, planned sizes of weights and arena, predicted ones of its program."""

    number: Number
    name: BoardName
    directory: Annotated[str, AfterValidator(matching(r"\w[\w.-]*", "the name of a folder"))]
    weights_bytes: Count
    external_weights_bytes: Count = 0  # of them in the external memory
    arena_bytes: Count  # with the buffers of staged transfers
    predicted_flash_bytes: Count | None = None  # code, weights and initial values of variables
    predicted_ram_bytes: Count | None = None  # static, with the reserve of the stack
    staged_cuts: tuple[Number, ...] = ()  # numbers of the cuts that have a buffer of their own here
    staged_input: bool = False
    staged_output: bool = False
    code_memory: CodeMemory = CodeMemory.FLASH  # of the layers' code
    ram_code_bytes: Count = 0  # of RAM that it takes at most
    code_memory_reason: str = ""  # "" for boards without RAM on the code buses
    core_hz: Hertz
    has_markers: bool = False  # pins that are high while a layer or a transfer runs
    takes_input: bool = False  # of the network, from the host
    gives_output: bool = False  # of the network, to the host
    run_w: Watts | None = None  # of the MCU; None: its currents are not known
    idle_w: Watts | None = None  # in Sleep mode
    stop_w: Watts | None = None  # in stop mode
    external_power: ExternalPower | None = None  # of an external memory with weights
    weights_file: ProjectWeightsFile | None = None  # None: the weights are in C arrays
    firmware_parts: tuple[FirmwarePart, ...] = ()  # what the application does not have

    @property
    def title(self) -> str:
        """Number and name, as in messages."""
        return board_title(self.number, self.name)

    def elf(self, folder: Path) -> Path:
        """Return the path of the ELF file in the generated folder `folder`."""
        return folder / self.directory / ELF_IN_PROJECT

    def weights_path(self, folder: Path) -> Path:
        """Return the path of the configuration file in the generated folder `folder`, if the board has one."""
        return folder / self.directory / WEIGHTS_IN_PROJECT

    def built_elf(self, folder: Path) -> Path:
        """Return the same where it exists. Raises InputError where the folder is not built."""
        elf = self.elf(folder)
        if not elf.is_file():
            raise InputError(f"{elf} is missing: build the folder first (`tinysplit build {folder}`)")
        return elf


@dataclass(frozen=True)
class Pipeline:
    """Boards that compute the network together, by number, with their layers and cuts: those of a split or a copy."""

    boards: tuple[int, ...]
    layers: tuple[ProjectLayer, ...]
    cuts: tuple[ProjectCut, ...]
    input_boards: tuple[int, ...]  # numbers of the boards that take the network's input
    output_board: int  # number of the board that gives the network's output

    @property
    def estimated_l_s(self) -> float:
        """L, the computational latency, in seconds."""
        return sum(layer.estimated_s for layer in self.layers)

    @property
    def estimated_t_s(self) -> float:
        """T, the communication latency, in seconds."""
        return sum(cut.estimated_s for cut in self.cuts)


class Project(FileModel):
    """The whole manifest.

    A split over all boards is one copy of the network. Of several copies each has all layers; `layers` and `cuts` have
    those of one copy after the other.
    """

    schema_version: Literal[6] = 6
    tinysplit_version: str
    model: ProjectModel
    bits: Annotated[int, Field(multiple_of=8, ge=8, le=16)]
    baud: Hertz
    host_baud: Hertz
    host_protocol: HostProtocol = HostProtocol.TINYSPLIT  # of the board that reads the input
    has_diagnostics: bool = True  # requests that only measuring needs
    standalone: ProjectStandalone | None = None  # None: the programs need a host
    calibration_samples: Count
    predicted_compiler: str = ""  # for which memory is predicted
    project_hash: Count
    weights_counter: Count | None = None  # of the configuration files, if there are any: it rises with each network
    signing_key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None  # public key of who signs these files
    figures: PlacementFigures | None = None  # from shapes alone, as `split` has them; None of a wiring test
    estimated_period_s: Seconds  # all other estimates know formats and weights
    one_board_period_s: Seconds | None  # of the best single board of the set that has the memory, None if there is none
    copies: tuple[tuple[Number, ...], ...]  # boards of each copy of the network
    boards: tuple[ProjectBoard, ...]
    links: tuple[ProjectLink, ...]
    layers: tuple[ProjectLayer, ...]
    cuts: tuple[ProjectCut, ...]
    estimated_t_s: Seconds  # T of the slowest copy
    estimated_i_s: Seconds  # I of it: L + T, less what overlaps
    keeps_state: bool = False  # an inference depends on those before it in its run
    network_formats: tuple[ProjectFormats, ...] = ()  # of the layers of the ONNX file, where those of boards differ
    removed_channels: dict[str, ChannelList] = Field(default_factory=dict)  # that layers of boards lack, by value
    estimated_alone: tuple[BoardActivity, ...] = ()  # of one inference on boards at rest, of the slowest copy
    estimated_in_stream: tuple[BoardActivity, ...] = ()  # of an inference among many, with inputs as fast as they go
    estimated_spans: tuple[EstimatedSpan, ...] = ()  # of one inference on boards at rest, of the slowest copy

    @model_validator(mode="after")
    def _has_all_parts(self) -> Self:
        check_boards(tuple(board.number for board in self.boards), self._named_boards())
        if bool(self.layers) != bool(self.copies):  # a wiring test has neither
            raise ValueError("a network has layers and copies of them")
        for boards in self.copies:
            members = [self.board(number) for number in boards]
            has_ends = any(board.takes_input for board in members) and any(board.gives_output for board in members)
            if not (has_ends and any(layer.board in boards for layer in self.layers)):
                raise ValueError("a copy of the network has no board with its input, its output or a layer")
        check_once("links", [link.pair for link in self.links])
        check_known("the link", [link.pair for link in self.links], self._named_links())
        for pipeline in self.pipelines:
            self._check_pipeline(pipeline)
        return self

    def _check_pipeline(self, pipeline: Pipeline) -> None:
        """Raise ValueError where parts of a copy of the network name layers or cuts that it has not."""
        check_once("layers", [layer.number for layer in pipeline.layers])
        check_once("cuts", [cut.number for cut in pipeline.cuts])
        for number in pipeline.boards:
            board = self.board(number)
            layers = [each for each in pipeline.layers if each.board == number]
            cuts = [cut.number for cut in pipeline.cuts if number in (cut.from_board, cut.to_board)]
            check_known("cut", cuts, [(f"board {number}", board.staged_cuts)])
            decrypted = board.weights_file.decryption.layers if board.weights_file else ()
            fused = [(f"layer {each.number}", (each.memory.fused_with,)) for each in layers if each.memory.fused_with]
            check_known("layer", [each.number for each in layers], [(f"board {number}", decrypted), *fused])
        if not self.is_distributed:  # else layers are parts, which also read what no board computes: parts of parts
            self._check_tensors(pipeline)

    def _check_tensors(self, pipeline: Pipeline) -> None:
        """Raise ValueError for a layer or a cut whose tensor comes later or is not on its board: (layer, board)."""
        there = {(layer.number, layer.board) for layer in pipeline.layers}
        there |= {(NETWORK_INPUT_NUMBER, number) for number in pipeline.input_boards}
        there |= {(cut.after_layer, cut.to_board) for cut in pipeline.cuts}
        sent = ((f"cut {cut.number}", [(cut.after_layer, cut.from_board)]) for cut in pipeline.cuts)
        check_known("the output (layer-board)", there, sent)
        for layer in pipeline.layers:
            if not layer.inputs or max(layer.inputs) >= layer.number:
                raise ValueError(f"layer {layer.number} does not read layers before it")
            read = [(f"layer {layer.number}", [(number, layer.board) for number in layer.inputs])]
            check_known("the output (layer-board)", there, read)

    def _named_links(self) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
        """Yield the parts that need links, and the boards of these."""
        for cut in self.cuts:
            yield f"cut {cut.number}", ((min(cut.from_board, cut.to_board), max(cut.from_board, cut.to_board)),)

    def _named_boards(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the parts that name boards, and these."""
        yield from (("a link", link.boards) for link in self.links)
        yield from ((f"cut {cut.number}", (cut.from_board, cut.to_board)) for cut in self.cuts)
        yield from ((f"layer {layer.number}", (layer.board,)) for layer in self.layers)
        yield from (("a copy of the network", boards) for boards in self.copies)
        yield from (("an activity", (each.board,)) for each in (*self.estimated_alone, *self.estimated_in_stream))

    @property
    def input_source(self) -> InputSource:
        """Where inputs come from."""
        return self.figures.input_source if self.figures else InputSource.HOST

    @property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """The copies of the network."""
        return tuple(
            Pipeline(
                boards=boards,
                layers=tuple(layer for layer in self.layers if layer.board in boards),
                cuts=tuple(cut for cut in self.cuts if cut.from_board in boards),
                input_boards=tuple(number for number in sorted(boards) if self.board(number).takes_input),
                output_board=next(number for number in boards if self.board(number).gives_output),
            )
            for boards in self.copies
        )

    @property
    def slowest(self) -> Pipeline:
        """The copy with the largest L + T, whose latency is that of the project."""
        return max(self.pipelines, key=lambda each: each.estimated_l_s + each.estimated_t_s)

    @property
    def estimated_l_s(self) -> float:
        """L of the slowest copy in seconds."""
        return self.slowest.estimated_l_s

    @property
    def estimated_saved_s(self) -> float:
        """By how many seconds I is less than L + T: boards compute while a tensor crosses, or side by side."""
        return self.estimated_l_s + self.estimated_t_s - self.estimated_i_s

    @property
    def has_streamed_cuts(self) -> bool:
        """Whether boards compute while a tensor crosses."""
        return any(cut.is_streamed for cut in self.cuts)

    @property
    def overlaps(self) -> bool:
        """Whether I is less than L + T: boards compute while a tensor crosses, or side by side."""
        return self.has_streamed_cuts or self.is_distributed

    @property
    def is_distributed(self) -> bool:
        """Whether the layers are parts of layers, on boards that work side by side."""
        return any(layer.part for layer in self.layers)

    @property
    def has_markers(self) -> bool:
        """Whether pins of the boards are high while layers and transfers run."""
        return any(board.has_markers for board in self.boards)

    @property
    def formats(self) -> tuple[LayerFormats, ...]:
        """Formats of all layers of the whole network."""
        if self.network_formats:
            return tuple(formats.layer_formats for formats in self.network_formats)
        return tuple(layer.formats.layer_formats for layer in self.pipelines[0].layers)

    @property
    def numbered_names(self) -> Mapping[int, str]:
        """The boards' names by their numbers, in board order."""
        return {board.number: board.name for board in self.boards}

    def board(self, number: int) -> ProjectBoard:
        """Return the board with this number."""
        return next(board for board in self.boards if board.number == number)

    def link(self, first: int, second: int) -> ProjectLink:
        """Return the link of two boards, which have one."""
        return next(link for link in self.links if set(link.boards) == {first, second})

    def speaks_mlperf(self, number: int) -> bool:
        """Return whether the host port of board `number` speaks MLPerf Tiny's protocol."""
        return self.host_protocol is HostProtocol.MLPERF and number in self.pipelines[0].input_boards

    def check_protocol(self, folder: Path) -> None:
        """Raise InputError where the host port has another protocol than ours."""
        if self.host_protocol is HostProtocol.MLPERF:
            raise InputError(
                f"{folder} speaks MLPerf Tiny's protocol: use the benchmark's runner (docs/reference/mlperf.md), or "
                f"generate it with {HOST_PROTOCOL('tinysplit')}"
            )

    def check_measurable(self, folder: Path) -> None:
        """Raise InputError where the host port has not the protocol and the requests that `tinysplit measure` needs."""
        self.check_protocol(folder)
        if not self.has_diagnostics:
            raise InputError(
                f"{folder} was generated with {DIAGNOSTICS(False)}: its programs have no requests for times; generate "
                f"it without {DIAGNOSTICS(False)} in another folder, and measure that"
            )

    def write(self, folder: Path) -> None:
        """Write the manifest into `folder`."""
        (folder / MANIFEST_NAME).write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of `folder`, whose own board files are used from now on.

        Raises InputError when it is missing or not valid.
        """
        path = folder / MANIFEST_NAME
        if folder.is_file():
            raise InputError(f"{folder} is a file: name a folder that `tinysplit generate` wrote")
        use_folder_beside(folder)
        try:
            project = cls.model_validate(read_json_file(path))
            project.check_wires()
        except FileNotFoundError:
            raise InputError(
                f"{folder} is not a generated folder: it has no {MANIFEST_NAME} (make one with `tinysplit generate`)"
            ) from None
        except (ValueError, OSError) as error:
            reason = first_mistake(error) if isinstance(error, ValidationError) else str(error)
            raise InputError(f"{path} cannot be read ({reason}): generate the folder again") from None
        except UsageError as error:
            raise InputError(f"{path}: {error.message}") from None
        return project

    def check_wires(self) -> None:
        """Raise ValueError for a link at a UART that its board has not for links, UsageError for an unknown board."""
        for link in self.links:
            for end in link.ends:
                known = {each.name for each in read_board_file(self.board(end.board).name).link_uarts}
                check_known("UART", known, [(f"the link of board {end.board}", (end.uart,))])
