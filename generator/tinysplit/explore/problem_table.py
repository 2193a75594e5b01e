"""The costs of a network on all types of boards, from which the problem of any set of boards is assembled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from tinysplit.boards.board import Board
from tinysplit.boards.link_rates import common_rates
from tinysplit.common.choices import Slices
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.candidates import can_link
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.slices.choice import SliceRequest
from tinysplit.split.problem import Problem
from tinysplit.timing.handoff import DeviceTable, Handoff


@dataclass(frozen=True)
class ProblemTable:
    """The problem of a network on two boards of every type; the second one has transfers between equal boards."""

    costs: CycleTable = field(repr=False)
    graph: Graph = field(repr=False)
    boards: Mapping[str, Board]
    settings: CostSettings
    problem: Problem

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The types of boards, in the order of the problem."""
        return tuple(self.boards)

    @classmethod
    def of(cls, table: CycleTable, graph: Graph, boards: Sequence[Board], settings: CostSettings) -> "ProblemTable":
        """Return the table of `graph`; raises the errors of `make_problem`.

        Boards that cannot have a link with each other have one at a low rate here, as no candidate has both.
        """
        twice = (*boards, *boards)
        slow = tuple(
            LinkSetting((a, b), common_rates(twice[a].link_uarts[0], twice[b].link_uarts[0])[-1])
            for a, b in combinations(range(len(twice)), 2)
            if settings.baud and not can_link(twice[a], twice[b], settings.baud)
        )
        problem = make_problem(table, graph, twice, replace(settings, links=slow))
        direct = problem.links.direct if problem.links else problem.transfer_seconds
        return cls(
            costs=table,
            graph=graph,
            boards={board.name: board for board in boards},
            settings=settings,
            problem=replace(problem, transfer_seconds=direct, links=None),
        )

    def links_of(self, boards: Sequence[str]) -> tuple[int, ...]:
        """Return the number of link UARTs of each of `boards` that make the rate."""
        chosen = [self.boards[name] for name in boards]
        return tuple(self.settings.link_settings_on(chosen).counts(chosen))

    def division_of(self, boards: Sequence[str], slices: Slices | None, time_limit_s: float) -> SliceRequest:
        """Return the request to divide the network over `boards`, each of which takes part."""
        settings = replace(self.settings, use_all=len(boards) > 1)
        widths = BitWidths.of(self.graph, settings.bits)
        chosen = tuple(self.boards[name] for name in boards)
        return SliceRequest(self.costs, self.graph, chosen, settings, widths, slices, None, (None, None), time_limit_s)

    def problem_of(self, boards: Sequence[str]) -> Problem:
        """Return the problem of the network on `boards`, by name; a name may occur several times."""
        indices = [self.names.index(name) for name in boards]
        devices = range(len(indices))
        limits = tuple(self.problem.devices[index] for index in indices)

        def pick(row: Sequence[float], i: int) -> tuple[float, ...]:
            """Return the times of a transfer from device `i` to each other device, which may be of the same type."""
            second = indices[i] + len(self.names)
            return tuple(0.0 if h == i else row[second if indices[h] == indices[i] else indices[h]] for h in devices)

        whole = self.problem.of(tuple(indices)) if len(indices) == 1 else self.problem
        costs = whole.costs.on(indices)
        picked = replace(
            whole,
            layers=costs.layers,
            devices=limits if len(indices) > 1 else (limits[0].without_links,),
            transfer_seconds=tuple(
                tuple(pick(table[indices[i]], i) for i in devices) for table in self.problem.transfer_seconds
            ),
            host_seconds=tuple(self.problem.host_seconds[index] for index in indices)
            if self.problem.host_seconds
            else (),
            handoff=_handoff_of(self.problem.handoff, indices, pick) if self.problem.handoff else None,
            must_use_all=True,
        )
        return picked.with_costs(costs, whole.alone and whole.alone.on(indices))


def _handoff_of(
    parts: Handoff, indices: Sequence[int], pick: Callable[[Sequence[float], int], tuple[float, ...]]
) -> Handoff:
    """Return the parts of transfers between the devices `indices` of the table; `pick` is that of `problem_of`."""

    def by_device(table: DeviceTable) -> DeviceTable:
        return tuple(tuple(row[index] for index in indices) for row in table)

    def by_pair(table: DeviceTable) -> DeviceTable:
        return tuple(pick(table[index], i) for i, index in enumerate(indices))

    return replace(
        parts,
        wire_s=tuple(map(by_pair, parts.wire_s)),
        reply_s=by_pair(parts.reply_s),
        copy_s=by_device(parts.copy_s),
        send_s=by_device(parts.send_s),
        receive_s=by_device(parts.receive_s),
        host_s=tuple(parts.host_s[index] for index in indices),
        latency_s=tuple(map(by_pair, parts.latency_s)),
        resume_s=tuple(parts.resume_s[index] for index in indices),
        taken_s=tuple(parts.taken_s[index] for index in indices) if parts.taken_s else (),
        wake_s=by_device(parts.wake_s),
        tick_shares=tuple(parts.tick_shares[index] for index in indices),
        hears_bytes=tuple(parts.hears_bytes[index] for index in indices),
        look_bytes=tuple(parts.look_bytes[index] for index in indices),
        look_s=tuple(parts.look_s[index] for index in indices),
        polled_room_bytes=tuple(parts.polled_room_bytes[index] for index in indices) if parts.polled_room_bytes else (),
    )
