"""The choice of distributions of a network as a problem of numbers (`exact/problem.py`).

Costs are those of parts alone on a board (`part_costs.py`), and of transfers over the links. What is left out makes it
cheaper than the generated firmware: that edges are computed apart costs nothing, rows take their share of a part, links
are never busy, and tensors that are not read at once have long arrived, but for those that one board has when a branch
begins; a tensor that several layers read takes CPUs for the first of them alone.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.costs.problem_builder import limits_of
from tinysplit.costs.transfers import host_seconds
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.memory.link_memory import least_link_bytes
from tinysplit.network.distribution import Distribution, SliceAxis
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.parts import needed_rows
from tinysplit.slices.exact.problem import Choice, DistributionProblem, Floats, Stage, Transition
from tinysplit.slices.options import Options, OptionSet
from tinysplit.slices.part_costs import PartCost, PartCosts
from tinysplit.slices.transfer_costs import LinkCosts
from tinysplit.slices.transitions import Reading, Side, arrivals_of
from tinysplit.split.problem import DeviceLimits, Objective

Costs = list[list[PartCost]]  # by [option][board]

FLASH_MARGIN = 0.1  # relative
LATEST = 2  # stages back, from which tensors may arrive late
_LATEST_S = 1e9  # arrives what has no route, which is not allowed


def most_flash_bytes(board: Board, flash_bytes: int) -> int:
    """Return the size up to which parts may fit `flash_bytes` of a board: more, where their size is a bound.

    That is where weights are packed (kernels/armv6m/packed.py): how far is known when they are quantized.
    """
    return round(flash_bytes * (1 + FLASH_MARGIN)) if board.device.core in NARROW_CORES else flash_bytes


@dataclass(frozen=True, eq=False)
class DistributionModel:
    """A network on boards with links, as a problem over an option set; input and output are at two boards.

    Of their memories, `kept_flash` and `kept_ram` bytes are not for parts.
    """

    costs: PartCosts
    links: LinkCosts
    option_set: OptionSet
    input_board: int
    output_board: int
    kept_flash: tuple[int, ...]
    kept_ram: tuple[int, ...]

    @classmethod
    def of(
        cls, costs: PartCosts, order: tuple[int, ...], axes: Sequence[SliceAxis], input_board: int, output_board: int
    ) -> Self:
        """Return the model of boards that are wired by the settings of `costs`; tensors are divided by `axes`.

        Shares are those of the boards' speeds with the whole network.
        """
        graph, boards = costs.graph, range(len(costs.boards))
        layers = range(len(graph.layers))
        whole_s = [
            sum(costs.of(number, board, SliceAxis.ROWS, range(graph.shape(number).height)).seconds for number in layers)
            for board in boards
        ]
        words = {n: WORD_BYTES // (costs.widths.values[graph.layers[n].output] // 8) for n in layers}
        speeds = tuple(1 / seconds for seconds in whole_s)
        options = OptionSet(graph, order, speeds, tuple(axes), words, needed_rows(graph))
        links, nothing = LinkCosts(costs.table, costs.boards, costs.settings), (0,) * len(costs.boards)
        return cls(costs, links, options, input_board, output_board, nothing, nothing)

    def around(self, layers: tuple[Distribution, ...]) -> Self:
        """Return the model of distributions around known ones."""
        return replace(self, option_set=replace(self.option_set, around=layers))

    def keeping(self, flash_bytes: Sequence[int], ram_bytes: Sequence[int]) -> Self:
        """Return the model in which boards keep more of their memories free: bytes by board."""
        kept_flash, kept_ram = (
            tuple(kept + more for kept, more in zip(own, others, strict=True))
            for own, others in ((self.kept_flash, flash_bytes), (self.kept_ram, ram_bytes))
        )
        return replace(self, kept_flash=kept_flash, kept_ram=kept_ram)

    @property
    def _graph(self) -> Graph:
        return self.costs.graph

    @property
    def _n_boards(self) -> int:
        return len(self.costs.boards)

    @cached_property
    def problem(self) -> DistributionProblem:
        """The problem: a stage a layer, and one that brings the output to its board."""
        stages = (*self._stages, self._output_stage())
        limits = [
            most_flash_bytes(board, free.flash_bytes + free.link_flash_bytes) - kept
            for board, free, kept in zip(self.costs.boards, self._free, self.kept_flash, strict=True)
        ]
        return DistributionProblem(stages, np.array(limits, float))

    @property
    def least_energy_j(self) -> float:
        """A lower bound of the energy of an inference: layers where they take least, transfers and waiting for nothing.

        With a frame period, one board at least is asleep for the rest of it.
        """
        frame_s = self.costs.settings.frame_period_s
        powers = np.array([[each.run_w, each.between_w * (frame_s > 0)] for each in self._free])
        busy_j = sum(float((stage.seconds @ (powers[:, 0] - powers[:, 1])).min()) for stage in self.problem.stages)
        return busy_j + frame_s * float(powers[:, 1].min())

    @cached_property
    def _free(self) -> tuple[DeviceLimits, ...]:
        """The memories of the boards, which may have links."""
        costs = self.costs
        links = costs.settings.link_settings_on(costs.boards)
        return tuple(limits_of(costs.table, costs.boards, board, links) for board in range(len(costs.boards)))

    @cached_property
    def _most_ram_bytes(self) -> tuple[int, ...]:
        """The RAM of each board for the parts of a layer, with one link at least."""
        return tuple(
            free.ram_bytes - least_link_bytes(free.driver_bytes) - kept
            for free, kept in zip(self._free, self.kept_ram, strict=True)
        )

    @property
    def has_options(self) -> bool:
        """Whether each layer has an option of which all parts fit the boards' RAM: without, there is no problem."""
        return all(len(options) for options, _ in self._costed)

    def whole_choices(self) -> Iterator[Choice]:
        """Yield the choices of all layers on one board, the output where it is wanted."""
        last = len(self._graph.layers) - 1
        for board in range(self._n_boards):
            wanted = [
                Distribution.whole(
                    self._graph.shape(number), self.output_board if number == last else board, self._n_boards
                )
                for number in range(last + 1)
            ]
            options = [self.options(number).distributions for number in range(last + 1)]
            if all(each in own for each, own in zip(wanted, options, strict=True)):
                yield (*(own.index(each) for each, own in zip(wanted, options, strict=True)), 0)

    def distributions(self, choice: Choice) -> tuple[Distribution, ...]:
        """Return the distribution of each layer's output."""
        return tuple(self.options(number).distributions[option] for number, option in enumerate(choice[:-1]))

    def options(self, tensor: int) -> Options:
        """Return the options of a layer's output, or the one of NETWORK_INPUT."""
        return self._sides[tensor].options

    def _within_ram(self, number: int) -> tuple[Options, Costs]:
        """Return the options of a layer of which each part fits its board; of the output, only where it is wanted."""
        options, limits = self.option_set.of(number), self._most_ram_bytes
        costs = self._part_costs(number, options)
        is_last = number == len(self._graph.layers) - 1

        def is_usable(index: int) -> bool:
            fits = all(cost.ram_bytes <= limit for cost, limit in zip(costs[index], limits, strict=True))
            own = options.distributions[index]
            return fits and not (is_last and own.is_whole and own.owners != (self.output_board,))

        usable = [index for index in range(len(options)) if is_usable(index)]
        return options.taken(usable), [costs[index] for index in usable]

    def _part_costs(self, number: int, options: Options) -> Costs:
        """Return what parts take."""
        return [
            [self.costs.of(number, board, each.axis, part) for board, part in enumerate(parts)]
            for each, parts in zip(options.distributions, options.parts, strict=True)
        ]

    @cached_property
    def _stages(self) -> tuple[Stage, ...]:
        """The stages of the layers: layers that are alike and read alike ones have the same arrays."""
        graph, known = self._graph, dict[Hashable, Stage]()
        found, read = list[Stage](), set[int]()
        for number, sources in enumerate(graph.predecessors):
            reading = [(self._alike(source), min(number - source, LATEST + 1), source in read) for source in sources]
            reads_earlier = LATEST in map(number.__sub__, sources) and len(graph.predecessors[number - 1]) == 1
            before = found[-1] if reads_earlier else None
            key = (self._alike(number), *reading, before and self._longest_sending(before).tobytes())
            if key not in known:
                known[key] = self._stage(number, before)
            own = zip(known[key].transitions, sources, strict=True)
            found.append(replace(known[key], transitions=tuple(replace(each, source=source) for each, source in own)))
            read.update(sources)
        return tuple(found)

    def _alike(self, tensor: int) -> int:
        """Return the first of the layers that have the same options and costs, or the network's input itself."""
        return tensor if tensor == NETWORK_INPUT else self._first_alike[tensor]

    @cached_property
    def _first_alike(self) -> Sequence[int]:
        first, options, last = dict[Hashable, int](), self.option_set, len(self._graph.layers) - 1
        return [
            first.setdefault(
                (
                    *(self.costs.shapes[number], options.needed[number], options.word_elements[number]),
                    *(options.around[number : number + 1], number == last),
                ),
                number,
            )
            for number in range(last + 1)
        ]

    @staticmethod
    def _longest_sending(stage: Stage) -> Floats:
        """Return for how many seconds each board sends for a stage at most."""
        every = (np.where(each.allowed[..., None], each.sending_s, 0.0) for each in stage.transitions)
        longest: Floats = np.sum([each.max(axis=(0, 1)) for each in every], axis=0)
        return longest

    def _stage(self, number: int, before: Stage | None) -> Stage:
        """Return the stage of a layer; `before` is the stage before it where the layer reads an earlier one."""
        own = self._sides[number]
        flash = [[cost.flash_bytes for cost in costs] for costs in self._costed[number][1]]
        transitions = []
        seconds = own.seconds[None]
        for k, source in enumerate(self._graph.predecessors[number]):
            reading = Reading.of(self._graph, number, k, self._sides[source], own, self.costs)
            transition = self._transition(source, number, reading)
            if transition.arrivals and number - source == LATEST:
                is_whole = (self._sides[source].options.sizes > 0).sum(axis=-1) == 1
                late = transition.arrivals.since_next(is_whole, self._longest_sending(before)) if before else None
                transition = replace(transition, arrivals=late)
            transitions.append(transition)
            if reading.seconds is not None:
                seconds = reading.seconds
        return Stage(seconds, np.array(flash, float), tuple(transitions))

    def _output_stage(self) -> Stage:
        last = len(self._graph.layers) - 1
        shape = self._graph.out_shape
        wanted = Distribution.whole(shape, self.output_board, self._n_boards)
        nothing = np.zeros((1, self._n_boards))
        own = Side(Options(shape, (wanted,), range(shape.height)), nothing, self._element_bytes(last))
        reading = Reading.of_all(self._sides[last], own)
        host_s = nothing.copy()
        host_s[0, self.output_board] = self._host_s
        return Stage(host_s[None], nothing, (self._transition(last, last + 1, reading),))

    @property
    def _host_s(self) -> float:
        """Seconds of the host's input and output, if they count."""
        settings, graph = self.costs.settings, self._graph
        if not settings.host_transfers:
            return 0.0
        ends = (NETWORK_INPUT, len(graph.layers) - 1)
        in_bytes, out_bytes = (self.costs.widths.size_bytes(graph, tensor) for tensor in ends)
        boards = (self.costs.boards[board] for board in (self.input_board, self.output_board))
        host_baud = settings.host_baud_on(self.costs.boards)
        own = (in_bytes, out_bytes, host_baud, settings.input_source)
        (in_s, _), (_, out_s) = (host_seconds(board, *own) for board in boards)
        return in_s + out_s

    def _transition(self, source: int, number: int, reading: Reading) -> Transition:
        costs = self.links.of(reading.n_bytes)
        allowed = reading.allowed & (costs.arrival_s < np.inf).all(axis=(2, 3))
        waits = self.costs.settings.objective is not Objective.THROUGHPUT and number - source <= LATEST
        is_first = all(source not in earlier for earlier in self._graph.predecessors[:number])
        return Transition(
            source,
            allowed,
            costs.sending_s if is_first else np.zeros_like(costs.sending_s),
            costs.receiving_s if is_first else np.zeros_like(costs.receiving_s),
            arrivals_of(reading, costs._replace(arrival_s=np.minimum(costs.arrival_s, _LATEST_S))) if waits else None,
        )

    @cached_property
    def _costed(self) -> tuple[tuple[Options, Costs], ...]:
        """The options of each layer, and what they cost."""
        found = {number: self._within_ram(number) for number in dict.fromkeys(self._first_alike)}
        return tuple(map(found.__getitem__, self._first_alike))

    @cached_property
    def _sides(self) -> tuple[Side, ...]:
        """The outputs of all layers, and the network's input last."""
        own = {
            number: Side(
                self._costed[number][0],
                np.array([[cost.seconds for cost in parts] for parts in self._costed[number][1]]),
                self._element_bytes(number),
            )
            for number in dict.fromkeys(self._first_alike)
        }
        shape = self._graph.in_shape
        given = Distribution.whole(shape, self.input_board, self._n_boards)
        options = Options(shape, (given,), range(shape.height))
        return (
            *map(own.__getitem__, self._first_alike),
            Side(options, np.zeros((1, self._n_boards)), self._element_bytes(NETWORK_INPUT)),
        )

    def _element_bytes(self, tensor: int) -> int:
        return self.costs.widths.values[self._graph.value_names[tensor + 1]] // 8
