"""The smallest changes that make an infeasible splitting problem feasible, each verified by solving it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tinysplit.boards.board import Board, board_title
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Optimize
from tinysplit.common.errors import TinysplitError
from tinysplit.common.units import KB
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.graph import Graph
from tinysplit.settings.costs import MAX_FLASH, OPTIMIZE
from tinysplit.split import clock
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import DeviceLimits, Objective, Problem
from tinysplit.split.solution import Split
from tinysplit.split.validate import MAX_DEVICES

CHANGES_LIMIT_S = 5.0
TRIAL_LIMIT_S = 1.0
MORE_BOARDS = 3  # of one type, at most


def sufficient_changes(table: CycleTable, graph: Graph, boards: Sequence[Board], settings: CostSettings) -> str:
    """Return a clause that lists sufficient changes; empty if none is found within `CHANGES_LIMIT_S` seconds."""
    search = _ChangeSearch(table, graph, tuple(boards), settings, clock.now() + CHANGES_LIMIT_S)
    found = dict.fromkeys([*search.other_kernels(), *search.more_boards(), *search.more_memory()])
    return f"; sufficient: {', or '.join(found)}" if found else ""


@dataclass(frozen=True)
class _ChangeSearch:
    table: CycleTable
    graph: Graph
    boards: tuple[Board, ...]
    settings: CostSettings
    deadline: float

    def other_kernels(self) -> Iterator[str]:
        """Yield the option that selects other kernels, the fastest ones if that is sufficient, or smaller ones."""
        for optimize in (Optimize.CYCLES, Optimize.FLASH, Optimize.RAM):
            if optimize is self.settings.optimize:
                continue
            settings = replace(self.settings, optimize=optimize)
            if self._tried(make_problem(self.table, self.graph, self.boards, settings), self.boards):
                yield f"{OPTIMIZE} {optimize}"
                return

    def more_boards(self) -> Iterator[str]:
        """Yield the least number of additional boards of each type that is already used."""
        for name in dict.fromkeys(board.name for board in self.boards):
            for count in range(1, MORE_BOARDS + 1):
                if self._with_more(name, count):
                    yield f"{count} more {name}"
                    break

    def more_memory(self) -> Iterator[str]:
        """Yield the least additional flash (KB) or RAM (bytes) on each single board; both if neither is sufficient.

        Where the user has limited the flash, the limit that is sufficient takes the place of flash.
        """
        problem = make_problem(self.table, self.graph, self.boards, self.settings)
        everything = sum(max(layer.flash_bytes) + max(layer.ram_bytes) for layer in problem.layers)
        for device, limits in enumerate(problem.devices):
            on_board = f"on {board_title(device + 1, limits.name)}"
            flash_kb = self._least_more(problem, device, _FLASH, everything)
            ram_words = self._least_more(problem, device, _RAM, everything)
            if flash_kb:
                yield self._flash(device, flash_kb, f" {on_board}")
            if ram_words:
                yield f"{_ram(ram_words)} {on_board}"
            if not flash_kb and not ram_words:
                roomy = _FLASH.grown(problem, device, everything)
                ram_words = self._least_more(roomy, device, _RAM, everything)
                flash_kb = self._least_more(_RAM.grown(problem, device, ram_words), device, _FLASH, everything)
                if ram_words and flash_kb:
                    yield f"{self._flash(device, flash_kb)} and {_ram(ram_words)} {on_board}"

    def _flash(self, device: int, more_kb: int, on_board: str = "") -> str:
        limit_bytes = self.settings.max_flash_bytes
        enough_bytes = (limit_bytes or 0) + more_kb * KB
        if limit_bytes is None or enough_bytes > self.boards[device].device.flash.size_bytes:
            return f"{more_kb} KB more flash{on_board}"
        return MAX_FLASH(enough_bytes)

    def _with_more(self, name: str, count: int) -> Split | None:
        boards = (*self.boards, *(load_board(name),) * count)
        if len(boards) > MAX_DEVICES:
            return None
        return self._tried(make_problem(self.table, self.graph, boards, self.settings), boards)

    def _least_more(self, problem: Problem, device: int, memory: "_Memory", everything: int) -> int:
        """Return the least sufficient number of additional units of one memory, by bisection; 0 if no amount suffices.

        `everything` is an upper bound of the bytes that any split needs.
        """
        free = memory.free(problem.devices[device])

        def needed(units: int) -> int | None:
            """Return the additional units that a split with `units` more really uses; None without a split."""
            split = self._tried(memory.grown(problem, device, units), self.boards)
            return -(-(memory.used(split)[device] - free) // memory.unit_bytes) if split else None

        most = needed(everything // memory.unit_bytes + 1)
        return _least_enough(most, needed) if most else 0

    def _tried(self, problem: Problem, boards: Sequence[Board]) -> Split | None:
        left_s = min(self.deadline - clock.now(), TRIAL_LIMIT_S)
        if left_s <= 0:
            return None
        links = self.settings.link_settings_on(boards).counts(boards)
        fastest = replace(problem, objective=Objective.LATENCY)
        try:
            return solve_within_links(fastest, links, "auto", time_limit_s=left_s)
        except TinysplitError:
            return None


@dataclass(frozen=True)
class _Memory:
    """One of the two memories of a board, and the unit of additional memory."""

    unit_bytes: int
    free: Callable[[DeviceLimits], int]
    used: Callable[[Split], Sequence[int]]
    larger: Callable[[DeviceLimits, int], DeviceLimits]

    def grown(self, problem: Problem, device: int, units: int) -> Problem:
        """Return the problem with `units` more on one device."""
        devices = list(problem.devices)
        devices[device] = self.larger(devices[device], units * self.unit_bytes)
        return replace(problem, devices=tuple(devices))


_FLASH = _Memory(
    KB,
    free=lambda limits: limits.flash_bytes,
    used=lambda split: split.figures.flash_bytes,
    larger=lambda limits, n_bytes: replace(limits, flash_bytes=limits.flash_bytes + n_bytes),
)
_RAM = _Memory(
    4,  # a word
    free=lambda limits: limits.ram_bytes,
    used=lambda split: split.figures.ram_bytes,
    larger=lambda limits, n_bytes: replace(limits, ram_bytes=limits.ram_bytes + n_bytes),
)


def _ram(units: int) -> str:
    return f"{units * _RAM.unit_bytes} bytes more RAM"


def _least_enough(most: int, needed: Callable[[int], int | None]) -> int:
    """Return the least sufficient number of units by bisection; `most` is sufficient.

    `needed` returns the units that a split really uses, or None if the number is insufficient.
    """
    too_few = 0
    while most - too_few > 1:
        middle = (too_few + most) // 2
        used = needed(middle)
        if used is None:
            too_few = middle
        else:
            most = max(min(used, middle), too_few + 1)
    return most
