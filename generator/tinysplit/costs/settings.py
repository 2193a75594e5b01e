"""The settings of the costs of splits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import Annotated

from pydantic import AfterValidator, NonNegativeFloat

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.boards.link_rates import SHORT_WIRES_BAUD, fastest_rate, host_baud_of
from tinysplit.common.choices import BIT_WIDTHS, SHORT_BITS, InputSource, LowPower, Optimize
from tinysplit.common.file_schema import in_range, wanted
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.common.settings_class import settings_class
from tinysplit.costs.cost_model import cost_model_of
from tinysplit.costs.link_options import HandOffMode, LinkSetting, LinkSettings
from tinysplit.settings.boards_and_links import BAUD
from tinysplit.settings.costs import BITS_PER_BYTE as BITS_PER_BYTE_SETTING
from tinysplit.settings.costs import MAX_ENERGY, MAX_FLASH, MAX_LATENCY, MAX_PERIOD
from tinysplit.settings.programs import HOST_BAUD
from tinysplit.split.problem import Objective, Period

Baud = Annotated[int, in_range(BAUD)]
HostBaud = Annotated[int, in_range(HOST_BAUD)]
BitsPerByte = Annotated[int, in_range(BITS_PER_BYTE_SETTING)]
MaxLatency = Annotated[float, in_range(MAX_LATENCY)]
MaxPeriod = Annotated[float, in_range(MAX_PERIOD)]
MaxEnergy = Annotated[float, in_range(MAX_ENERGY)]
MaxFlash = Annotated[int, in_range(MAX_FLASH)]
Bits = Annotated[int, AfterValidator(wanted("8 or 16", BIT_WIDTHS.__contains__))]


@settings_class
@dataclass(frozen=True)
class CostSettings:
    """The parts of a problem that depend neither on the network nor on the boards.

    `bits` is the width of weights and values, `bits_per_byte` the bit times of a byte on a link. `cost_model`
    is the name of one that takes the place of the costs of generated firmware (`costs/cost_model.py`). `period` None
    means `firmware`, or that of the cost model.
    """

    bits: Bits = SHORT_BITS
    baud: Baud | None = None  # None: of each link the highest that both boards make (`fastest_rate`)
    host_baud: HostBaud | None = None  # None: the highest usual rate that all boards make
    returns_output: bool = False  # to the board that reads the input, which keeps that
    bits_per_byte: BitsPerByte = BITS_PER_BYTE
    objective: Objective = Objective.LATENCY
    use_all: bool = False
    cost_model: str | None = None
    period: Period | None = None
    max_latency_s: MaxLatency = inf
    max_period_s: MaxPeriod = inf
    max_energy_j: MaxEnergy = inf
    frame_period_s: NonNegativeFloat = 0.0  # time between inputs; 0: as fast as a split takes them
    links: tuple[LinkSetting, ...] = ()  # exceptions from `baud`
    link_driver: LinkDriver | None = None  # None: chosen for each board
    hand_off: HandOffMode | None = None  # None: what is faster, for each cut
    input_source: InputSource = InputSource.HOST
    low_power: LowPower = LowPower.SLEEP  # else the boards run without a host
    host_transfers: bool = False  # whether host transfers count as latency
    optimize: Optimize = Optimize.CYCLES  # objective of kernels and memory layout
    max_flash_bytes: MaxFlash | None = None  # of each board's program; None: all of the flash
    kernels: tuple[tuple[int, str], ...] = ()  # (layer, kernel or scheme to use), 0-based, in scripts from 1
    code_memory: CodeMemory | None = None  # of the layers; None: chosen for each board
    has_weights_file: bool = False  # constants stay in a file in flash, which others can replace

    def limited(self, boards: Sequence[Board]) -> tuple[Board, ...]:
        """Return the boards with the flash that their programs may take."""
        return tuple(replace(board, flash_limit_bytes=self.max_flash_bytes) for board in boards)

    def host_baud_on(self, boards: Sequence[Board]) -> int:
        """Return the baud rate of the host ports of these boards. Raises UsageError where they have none in common."""
        return self.host_baud or host_baud_of(boards)

    def link_settings_on(self, boards: Sequence[Board]) -> LinkSettings:
        """Return the links between all pairs of these boards."""
        baud = cost_model_of(self.cost_model).baud if self.cost_model and not self.baud else self.baud
        baud, links = (baud, self.links) if baud else self._fastest(boards)
        return LinkSettings(baud, links, self.link_driver, self._hand_off, self.returns_output)

    @property
    def _hand_off(self) -> HandOffMode | None:
        """The hand-off of all cuts, None for what is faster.

        Streamed ones shorten I, but the cycles of their frames lengthen the period: for throughput they have to be
        asked for.
        """
        return self.hand_off or (HandOffMode.WHOLE if self.objective is Objective.THROUGHPUT else None)

    @property
    def may_stream(self) -> bool:
        """Whether programs may have streamed hand-offs of whole layers; ideal periods have no programs."""
        has_programs = not self.cost_model and self.period_definition is Period.FIRMWARE
        return has_programs and LinkDriver.POLLING is not self.link_driver and self._hand_off is not HandOffMode.WHOLE

    def assumed_rates(self, boards: Sequence[Board]) -> str:
        """Return a line with the baud rates of links that nobody has chosen or tested, empty where there are none."""
        named = {link.boards for link in self.links}
        pairs = [pair for pair in combinations(range(len(boards)), 2) if pair not in named]
        if self.baud or self.cost_model or not pairs:
            return ""
        settings = self.link_settings_on(boards)
        rates = ((pair, settings.between(*pair).baud) for pair in pairs)
        others = [f"{i + 1}-{h + 1}: {rate or 'none'}" for (i, h), rate in rates if rate != settings.baud]
        but = f" ({', '.join(others)})" if others else ""
        return f"links at {settings.baud} baud{but}, assumed for short wires: `tinysplit wiring` tests it"

    def _fastest(self, boards: Sequence[Board]) -> tuple[int, tuple[LinkSetting, ...]]:
        """Return the highest rate of most links, and the links that are exceptions: those of `links` stay."""
        named = {link.boards for link in self.links}
        pairs = (pair for pair in combinations(range(len(boards)), 2) if pair not in named)
        rates = {(i, h): fastest_rate(boards[i], boards[h], self.link_driver, len(boards) - 1) for i, h in pairs}
        counts = Counter(rate for rate in rates.values() if rate)
        usual = max(counts, key=lambda rate: (counts[rate], rate), default=SHORT_WIRES_BAUD)
        others = (LinkSetting(pair, rate) for pair, rate in rates.items() if rate != usual)
        return usual, (*self.links, *others)

    @property
    def period_definition(self) -> Period:
        """The definition of the period to use."""
        if self.period or not self.cost_model:
            return self.period or Period.FIRMWARE
        return cost_model_of(self.cost_model).period
