"""The split file that `split` writes and `generate` and `arrivals` read: JSON; layers and boards count from 1."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, model_validator
from typing_extensions import override

from tinysplit import __version__
from tinysplit.boards.board import Board, ClockSource, CodeMemory
from tinysplit.boards.board_files import named_path
from tinysplit.boards.less_sure import less_sure_json
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.choices import InputSource, LowPower, Optimize
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import Count, FileModel, Hertz, Number, Seconds, read_json, validate
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.tables import counted
from tinysplit.costs.link_options import HandOffMode, LinkSetting
from tinysplit.costs.settings import BitsPerByte, CostSettings, MaxEnergy, MaxFlash, MaxLatency, MaxPeriod
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distributions
from tinysplit.network.graph import Graph
from tinysplit.network.removal.removable_channels import Channels
from tinysplit.plan.predicted_memory import PredictedMemory
from tinysplit.project.removed_channels import ChannelList, lists_of
from tinysplit.project.split_slices import SplitSlices
from tinysplit.split.evaluate.sub_models import sub_models
from tinysplit.split.explain.reasons import Reasons
from tinysplit.split.figures import PlacementFigures
from tinysplit.split.problem import Assignment, Objective, Period
from tinysplit.split.solution import Placement, Split, assignments
from tinysplit.timing.topology import Cut

SCHEMA_VERSION: Literal[4] = 4
HASH_DIGITS = 12  # of a SHA-256, in messages

# Fields of the split file that are those of its CostSettings, under the same names.
_OF_SETTINGS = (
    "baud",
    "bits_per_byte",
    "use_all",
    "cost_model",
    "objective",
    "frame_period_s",
    "low_power",
    "host_transfers",
    "input_source",
    "optimize",
    "max_flash_bytes",
    "link_driver",
    "hand_off",
    "code_memory",
)


class SplitModel(FileModel):
    """The network that was split."""

    name: str
    sha256: str


class SplitBoard(FileModel):
    """A board: what its layers need at most, what the firmware leaves for layers, and what the program is to take."""

    number: Number
    name: str
    file: str | None = None  # of a board that was named by its path
    sha256: str
    flash_bytes: Count
    flash_free_bytes: int
    ram_bytes: Count
    ram_free_bytes: int
    predicted_flash_bytes: Count | None = None  # of the whole program, None where none was planned
    predicted_ram_bytes: Count | None = None  # static, with the reserve of the stack


class SplitSubModel(FileModel):
    """A maximal run of consecutive layers on one board."""

    board: Number
    first_layer: Number
    last_layer: Number


class SplitCut(FileModel):
    """A tensor that is transferred from one board to another; `seconds` is the time on all links of its route."""

    after_layer: Number
    from_board: Number
    to_board: Number
    route: tuple[Number, ...]  # boards of the route, both ends included
    payload_bytes: Count
    seconds: Seconds

    @classmethod
    def of(cls, cut: Cut, split: Split) -> Self:
        """Return a cut of `split` as the file has it."""
        return cls(
            after_layer=cut.after_layer + 1,
            from_board=cut.sender + 1,
            to_board=cut.receiver + 1,
            route=tuple(device + 1 for device in split.route(cut)),
            payload_bytes=cut.payload_bytes,
            seconds=cut.seconds,
        )


class SplitLink(FileModel):
    """A link between two boards that differs from the others; `baud` is None if there is no link.

    `uarts` are those of a wiring test.
    """

    boards: tuple[Number, Number]
    baud: Hertz | None
    half_duplex: bool
    uarts: tuple[str, str] | None = None

    @classmethod
    def of(cls, link: LinkSetting) -> Self:
        """Return a link as the file has it."""
        first, second = link.boards
        return cls(boards=(first + 1, second + 1), baud=link.baud, half_duplex=link.half_duplex, uarts=link.uarts)

    @property
    def setting(self) -> LinkSetting:
        """The link, boards counted from 0."""
        return LinkSetting((self.boards[0] - 1, self.boards[1] - 1), self.baud, self.half_duplex, self.uarts)


class SplitWidths(FileModel):
    """Mixed precision: bit widths of values by ONNX name, and of weights by the ONNX name of the layer's output."""

    values: dict[str, Literal[8, 16]]
    weights: dict[str, Literal[8, 16]]


class SplitFigures(PlacementFigures):
    """Figures of the split.

    `lower_bound` is a bound on the objective of all splits, in seconds or joules, or of all options of the exact search
    where layers are divided; `gap` is its relative distance from the value, 0 where the search has reached the bound.
    """

    lower_bound: float
    gap: float

    @classmethod
    @override
    def of(cls, split: Split) -> Self:
        """Return the figures of `split`."""
        return cls(**dict(PlacementFigures.of(split)), lower_bound=split.lower_bound, gap=split.gap)


class SplitFile(FileModel):
    """The whole file. `assignment` has the number of the board of every layer.

    `copies` are the boards with a copy of the whole network each, empty for one pipeline; `assignment` and the figures
    L, T and I are then those of the slowest copy.
    """

    schema_version: Literal[4] = SCHEMA_VERSION
    tinysplit_version: str
    model: SplitModel
    boards: tuple[SplitBoard, ...] = Field(min_length=1)
    clock: ClockSource = ClockSource.HSI
    bits: Literal[8, 16]
    widths: SplitWidths | None = None  # of mixed precision; else all weights and values have `bits`
    baud: Hertz
    bits_per_byte: BitsPerByte
    use_all: bool
    cost_model: str | None = None  # None: the costs of generated firmware
    objective: Objective
    period_definition: Period
    max_latency_s: MaxLatency | None
    max_period_s: MaxPeriod | None
    max_energy_j: MaxEnergy | None
    frame_period_s: NonNegativeFloat
    links: tuple[SplitLink, ...]
    host_transfers: bool
    input_source: InputSource = InputSource.HOST
    low_power: LowPower = LowPower.SLEEP
    optimize: Optimize
    max_flash_bytes: MaxFlash | None = None  # of the program of each board; None: all of the flash
    link_driver: LinkDriver | None = None  # None: chosen for each board
    hand_off: HandOffMode | None = None  # None: what is faster, for each cut
    code_memory: CodeMemory | None = None  # None: chosen for each board
    solver: str
    picked_because: str
    assignment: tuple[Number, ...] = Field(min_length=1)
    copies: tuple[Number, ...] = ()
    sub_models: tuple[SplitSubModel, ...]
    cuts: tuple[SplitCut, ...]
    figures: SplitFigures
    proved: bool
    explored: int
    spent_s: float
    reasons: Reasons | None = None  # of the command `split`
    less_sure: tuple[str, ...] = ()  # whose times are, and why
    slices: SplitSlices | None = None  # of layers on several boards; `assignment` has the board of their first parts
    removed_channels: dict[str, ChannelList] | None = None  # that the split network lacks, None: as it is quantized

    @property
    def settings(self) -> CostSettings:
        """The settings of the costs, without kernels that are named."""
        return CostSettings(
            **{name: getattr(self, name) for name in _OF_SETTINGS},
            bits=self.bits,
            period=self.period_definition,
            max_latency_s=inf if self.max_latency_s is None else self.max_latency_s,
            max_period_s=inf if self.max_period_s is None else self.max_period_s,
            max_energy_j=inf if self.max_energy_j is None else self.max_energy_j,
            links=tuple(link.setting for link in self.links),
        )

    @property
    def bit_widths(self) -> BitWidths | None:
        """Bit widths of values and weights, if the split was found in mixed precision."""
        return BitWidths(dict(self.widths.values), dict(self.widths.weights)) if self.widths else None

    @property
    def is_edited(self) -> bool:
        """Whether the assignment was changed by hand, so that cuts, sub_models and figures are those of another one."""
        return not all(map(self._follows, self.cuts)) or self.sub_models != _sub_models(self.devices)

    @property
    def devices(self) -> Assignment:
        """Board of every layer, counted from 0."""
        return tuple(number - 1 for number in self.assignment)

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The assignment of each copy of the network, boards counted from 0; a split is one copy."""
        return assignments(self.devices, self.copied_devices)

    @property
    def distributions(self) -> Distributions | None:
        """How layers are divided over boards, None if they are not."""
        return self.slices.distributions(len(self.boards)) if self.slices else None

    @property
    def placement(self) -> Placement:
        """Where the network runs."""
        return Placement(self.assignments, self.distributions)

    @property
    def copied_devices(self) -> tuple[int, ...]:
        """Boards with a copy of the whole network, counted from 0."""
        return tuple(number - 1 for number in self.copies)

    @property
    def board_names(self) -> tuple[str, ...]:
        """Names or files of all boards, including those without a layer."""
        return tuple(board.file or board.name for board in self.boards)

    @classmethod
    def of(
        cls,
        split: Split,
        graph: Graph,
        boards: Sequence[Board],
        settings: CostSettings,
        widths: BitWidths | None = None,
        removed: Channels | None = None,
    ) -> Self:
        """Return the file of `split`, found in the settings' bits or, where given, in `widths`.

        `removed` are the channels that `graph` lacks, None where they are not known before it is quantized.
        """
        bits = widths.widest if widths else settings.bits
        how = split.distributions
        assignment = split.placement.devices if how else split.assignment
        return cls(
            tinysplit_version=__version__,
            model=SplitModel(name=graph.name, sha256=graph.sha256),
            boards=_boards(split, boards),
            clock=boards[0].clock_source,
            bits=8 if bits == 8 else 16,  # noqa: PLR2004 (tells the type checker)
            widths=SplitWidths.model_validate(asdict(widths)) if widths else None,
            **{name: getattr(settings, name) for name in _OF_SETTINGS},
            period_definition=settings.period_definition,
            max_latency_s=_limit(settings.max_latency_s),
            max_period_s=_limit(settings.max_period_s),
            max_energy_j=_limit(settings.max_energy_j),
            links=tuple(map(SplitLink.of, settings.links)),
            solver=split.solver,
            picked_because=split.picked_because,
            assignment=tuple(device + 1 for device in assignment),
            copies=tuple(device + 1 for device in split.copies),
            sub_models=_sub_models(assignment),
            cuts=() if how else tuple(SplitCut.of(cut, split) for cut in split.cuts),
            figures=SplitFigures.of(split),
            proved=split.proved,
            explored=split.explored,
            spent_s=split.spent_s,
            less_sure=tuple(less_sure_json(split.problem.devices)["less_sure"]),
            slices=SplitSlices.of(how) if how else None,
            removed_channels=None if removed is None else lists_of(removed),
        )

    def with_predictions(self, predicted: Mapping[int, PredictedMemory]) -> Self:
        """Return the file with the memory that programs are expected to take, by number of the board."""
        boards = (
            board.model_copy(
                update={"predicted_flash_bytes": memory.flash_bytes, "predicted_ram_bytes": memory.ram_bytes}
            )
            if (memory := predicted.get(board.number))
            else board
            for board in self.boards
        )
        return self.model_copy(update={"boards": tuple(boards)})

    @model_validator(mode="after")
    def _follows_from_assignment(self) -> Self:
        if max(self.assignment) > len(self.boards):
            raise ValueError(f"the assignment has board {max(self.assignment)} of {len(self.boards)}")
        if self.copies and (set(self.assignment) - set(self.copies) or max(self.copies) > len(self.boards)):
            raise ValueError("the assignment is not that of a copy, or a copy is on no board")
        if (self.slices or self.copies) and self.is_edited:
            raise ValueError("the assignment was changed, which whole layers of one pipeline allow")
        return self

    @model_validator(mode="after")
    def _has_the_boards_and_layers_of_its_slices(self) -> Self:
        if self.slices:
            if max(self.slices.boards) > len(self.boards):
                raise ValueError(f"slices have board {max(self.slices.boards)} of {len(self.boards)}")
            beyond = [number for number in self.slices.edges if number > len(self.assignment)]
            if beyond:
                raise ValueError(f"edges of slices have layer {beyond[0]} of {len(self.assignment)}")
            if self.copies:
                raise ValueError("copies and slices exclude each other")
        return self

    def _follows(self, cut: SplitCut) -> bool:
        """Return whether `cut` goes from the board of its layer to another one that runs a later layer."""
        before = self.assignment[: cut.after_layer]
        later = self.assignment[cut.after_layer :]
        crosses = before[-1] == cut.from_board != cut.to_board and cut.to_board in later
        return crosses and cut.route[:1] + cut.route[-1:] == (cut.from_board, cut.to_board)


def _boards(split: Split, boards: Sequence[Board]) -> tuple[SplitBoard, ...]:
    figures, devices = split.figures, split.problem.devices
    return tuple(
        SplitBoard(
            number=index + 1,
            name=board.name,
            file=named_path(board.name),
            sha256=board.sha256,
            flash_bytes=figures.flash_bytes[index],
            flash_free_bytes=devices[index].flash_bytes,
            ram_bytes=figures.ram_bytes[index],
            ram_free_bytes=devices[index].ram_bytes,
        )
        for index, board in enumerate(boards)
    )


def _limit(value: float) -> float | None:
    return value if isfinite(value) else None


def _sub_models(assignment: Assignment) -> tuple[SplitSubModel, ...]:
    return tuple(
        SplitSubModel(board=run.device + 1, first_layer=run.first + 1, last_layer=run.last + 1)
        for run in sub_models(assignment)
    )


def write_split(path: Path, split_file: SplitFile) -> None:
    """Write the file atomically. Raises InputError when it cannot be written."""
    write_whole_file(path, split_file.model_dump_json(indent=2) + "\n")


def read_split(path: Path) -> SplitFile:
    """Read a split file. Raises InputError when it is missing, unreadable or of another schema version."""
    data = read_json(path, "make it with `tinysplit split`")
    schema = data.get("schema_version") if isinstance(data, dict) else None
    if schema != SCHEMA_VERSION:
        raise InputError(
            f"{path} is not a split file of schema version {SCHEMA_VERSION} (its version is {schema!r}): "
            "make it again with `tinysplit split`"
        )
    return validate(path, data, SplitFile, "make it again with `tinysplit split`")


def check_split_matches(split_file: SplitFile, graph: Graph, boards: Sequence[Board], title: str = "the split") -> None:
    """Raise InputError, with both hashes, when a split was made for another network or other boards."""
    made_for = split_file.model
    if made_for.sha256 != graph.sha256:
        raise InputError(
            f"{title} was made for another model: {made_for.name} ({_short(made_for.sha256)}), "
            f"not {graph.name} ({_short(graph.sha256)}): split again"
        )
    if len(split_file.assignment) != len(graph.layers):
        raise InputError(
            f"{title} assigns {len(split_file.assignment)} layers, {graph.name} has {len(graph.layers)}: split again"
        )
    if len(split_file.boards) != len(boards):
        raise InputError(
            f"{title} was made for {counted(len(split_file.boards), 'board')}, not {len(boards)}: split again"
        )
    for there, here in zip(split_file.boards, boards, strict=True):
        if there.sha256 != here.sha256:
            raise InputError(
                f"{title} was made for another board {there.number}: {there.name} ({_short(there.sha256)}), "
                f"not {here.name} ({_short(here.sha256)}): split again"
            )


def _short(sha256: str) -> str:
    return sha256[:HASH_DIGITS]
