"""Tables of a split: layers and memory by board, cuts, latency, period, energy, and the optimality gap."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

from tinysplit.boards.board import board_title
from tinysplit.common.choices import InputSource
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.texts.spans import span_text, spans_text
from tinysplit.common.units import KB, MS
from tinysplit.network.distribution import Distributions
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.sub_models import SubModel
from tinysplit.split.explain.reasons import placement_text
from tinysplit.split.problem import Objective, Period
from tinysplit.split.report.figures import latency_text, power_lines, throughput_lines, with_host
from tinysplit.split.solution import GIVEN, Split
from tinysplit.timing.program import Kind
from tinysplit.timing.topology import Cut, pair_of

SMALL_GAP = 0.001
MOST_BOARDS = 10  # rows of a screen
BAR_WIDTH = 5  # so that the table fits into 80 columns, also with the megabytes of an H7


class Use(NamedTuple):
    """Bytes of a board's flash and RAM that its program takes, and those that there are."""

    flash_bytes: int
    flash_size_bytes: int
    ram_bytes: int
    ram_size_bytes: int

    @property
    def cells(self) -> tuple[str, str]:
        """Both memories as they stand in a table."""
        flash = f"{self.flash_bytes / KB:.1f} of {self.flash_size_bytes / KB:.0f}"
        return flash, f"{self.ram_bytes / KB:.1f} of {self.ram_size_bytes / KB:.0f}"


def print_split(split: Split, uses: Mapping[int, Use], console: Console) -> None:
    """Print the objective and what limits it, layers, time and memory of each board, and the figures: one screen.

    `uses` has the memory of the programs by number of the board; without it, what the layers need at most is printed.
    """
    objective = split.problem.objective
    answer = f"{objective.noun} {objective.text(split.value)} (estimated): {placement_text(split.placement)}"
    console.print(answer, highlight=False, style="bold")
    if limit := limit_of_latency(split):
        console.print(limit, highlight=False)
    console.print(_answer_table(split, uses))
    if unused := len(split.problem.devices) - len(
        {device for assignment in split.assignments for device in assignment}
    ):
        console.print(f"{counted(unused, 'board')} without layers", highlight=False)
    for line in (latency_line(split), *throughput_lines(split), proof_text(split)):
        console.print(line, highlight=False, markup=False)


def limit_of_latency(split: Split) -> str:
    """Return what takes most of the latency: computing, or transfers and waiting; empty of another objective."""
    if split.problem.objective is not Objective.LATENCY or not split.i_s:
        return ""
    used = sorted({device for assignment in split.assignments for device in assignment})
    if split.copies:
        used = [split.assignment[0]]
    busiest = max(used, key=split.l_s_on)
    computing_s = split.l_s_on(busiest) if split.distributions else split.l_s
    title = board_title(busiest + 1, split.problem.devices[busiest].name)
    if computing_s >= split.i_s / 2:
        return f"limited by computing: {title} computes for {split.l_s_on(busiest) * MS:.2f} ms"
    return f"limited by the links: all boards wait for {(split.i_s - computing_s) * MS:.2f} ms"


def proof_text(split: Split) -> str:
    """Return how good the split is known to be."""
    if split.solver == GIVEN:
        return "given, not searched for"
    if split.proved:
        return f"proved optimal{_scope(split)}"
    if not split.lower_bound:
        return "not proved optimal: no lower bound is known"
    if split.lower_bound > split.value:
        return f"not proved optimal{_scope(split)}: streamed hand-offs make it faster than their lower bound"
    return f"not proved optimal: {_bound(split)}, gap {_gap(split.gap)}"


def _answer_table(split: Split, uses: Mapping[int, Use]) -> Table:
    table = plain_table("board", "layers", numbers=("L ms", "flash KB", "RAM KB"))
    used = [index for index in range(len(split.problem.devices)) if _layers_on(split, index)]
    for index in used[:MOST_BOARDS]:
        limits, found = split.problem.devices[index], split.figures
        most = Use(found.flash_bytes[index], limits.flash_bytes, found.ram_bytes[index], limits.ram_bytes)
        memories = uses.get(index + 1, most).cells
        table.add_row(
            f"{index + 1} {limits.name}", _layers_on(split, index), f"{split.l_s_on(index) * MS:.2f}", *memories
        )
    more = len(used) - MOST_BOARDS
    if more > 0:
        table.add_row(f"and {counted(more, 'board')} more")
    return table


def _layers_on(split: Split, device: int) -> str:
    """Return the layers of which a device computes at least a part, from 1."""
    if split.distributions is None:
        return ", ".join(map(layer_numbers, split.runs_on(device)))
    layers = enumerate(split.distributions.layers, 1)
    return spans_text([number for number, each in layers if device in each.owners])


def print_details(split: Split, console: Console) -> None:
    """Print parts of layers, what the search counts of memories, cuts, waits, power, and how the search ended.

    Before them comes what the solver reports.
    """
    for each in split.report.printed:
        console.print(each, highlight=False)
    if split.distributions:
        console.print(_parts(split.distributions, split))
    console.print(_boards(split))
    if split.copies:
        source = split.problem.handoff_parts.input_source
        dealt = "the host deals the inputs to them" if source is InputSource.HOST else "each has inputs of its own"
        console.print(f"copies of the whole network: {dealt}", highlight=False)
    if split.cuts and not split.distributions:
        console.print(_cuts(split))
    for line in (*_blocking(split), *power_lines(split), _proof(split)):
        console.print(line, highlight=False, markup=False)


def latency_line(split: Split) -> str:
    """Return L, T and I, and which links a network needs whose layers are divided."""
    if not split.distributions:
        copy = "the slowest copy, " if split.copies else ""
        return f"{latency_text(split.l_s, split.t_s, split.i_s)} ({copy}estimated{with_host(split)})"
    where = " over all boards, which work side by side" if len(set(split.assignment)) > 1 else ""
    latency = f"L {split.l_s * MS:.2f} ms and T {split.t_s * MS:.2f} ms{where}: I {split.i_s * MS:.2f} ms"
    pairs = sorted({pair_of(hop.sender, hop.receiver) for hop in transfers(split.problem, split.assignment)})
    wires = ", ".join(f"{first + 1}-{second + 1}" for first, second in pairs)
    return f"{latency} (estimated{with_host(split)}){f'; boards to wire: {wires}' if wires else ''}"


def layer_numbers(run: SubModel) -> str:
    """Return the layers of a sub-model, numbered from 1: "3", "4-7"."""
    return span_text(run.first + 1, run.last + 1)


def _bound_of_options(split: Split) -> str:
    """Return how far a division of layers by the boards' speeds may be below the split."""
    if not split.lower_bound:
        return ", not proved"
    if not split.gap:
        return ", no division by the boards' speeds is better"
    return f", not proved: {_bound(split)} among divisions by the boards' speeds, gap {_gap(split.gap)}"


def _parts(how: Distributions, split: Split) -> Table:
    boards = [f"board {board + 1}" for board in range(len(split.problem.devices))]
    table = plain_table("layers", "divided by", numbers=tuple(boards))
    numbered = enumerate(how.layers, 1)
    for _, group in groupby(numbered, key=lambda each: each[1].owners if each[1].is_whole else each[1]):
        same = list(group)
        numbers, divided = [number for number, _ in same], same[0][1]
        layers = span_text(numbers[0], numbers[-1])
        if divided.is_whole:
            cells = ["all" if part else "" for part in divided.parts]
        else:
            cells = [_numbers(part) for part in divided.parts]
        table.add_row(layers, "" if divided.is_whole else str(divided.axis), *cells)
    return table


def _numbers(part: range) -> str:
    """Return the rows or channels of a part, from 1: "3", "4-7"."""
    return span_text(part.start + 1, part.stop) if part else ""


def _boards(split: Split) -> Table:
    table = plain_table("board", "layers", "flash", "", "arena", "", numbers=("L ms",))
    for index, limits in enumerate(split.problem.devices):
        if layers := _layers_on(split, index):
            table.add_row(
                f"{index + 1} {limits.name}",
                layers,
                *_bar(split.figures.flash_bytes[index], limits.flash_bytes),
                *_bar(split.figures.ram_bytes[index], limits.ram_bytes),
                f"{split.l_s_on(index) * MS:.2f}",
            )
    return table


def _cuts(split: Split) -> Table:
    table = plain_table("cut after layer", "from", "to", numbers=("bytes", "T ms"))
    for cut in split.cuts:
        layer = f"{cut.after_layer + 1} {split.problem.layers[cut.after_layer].name}"
        table.add_row(
            layer, str(cut.sender + 1), _receiver(split, cut), str(cut.payload_bytes), f"{cut.seconds * MS:.2f}"
        )
    return table


def _receiver(split: Split, cut: Cut) -> str:
    relays = " and ".join(str(device + 1) for device in split.route(cut)[1:-1])
    return f"{cut.receiver + 1} via {relays}" if relays else str(cut.receiver + 1)


def _bar(used_bytes: int, total_bytes: int) -> tuple[ProgressBar, str]:
    total = max(total_bytes, 1)
    return ProgressBar(total, used_bytes, width=BAR_WIDTH, complete_style="green"), f"{used_bytes} of {total_bytes}"


def _blocking(split: Split) -> Iterator[str]:
    """Yield a line for each transfer for which a board waits."""
    if split.problem.period_definition is not Period.FIRMWARE:
        return
    what = {
        Kind.INPUT: "the network's input arrives",
        Kind.OUTPUT: "the network's output is read",
        Kind.SEND: "it sends",
        Kind.RECEIVE: "it receives",
    }
    for step in split.blocking:
        if n_bytes := step.n_bytes:
            board = board_title(step.device + 1, split.problem.devices[step.device].name)
            yield f"{board} waits while {what[step.kind]}: no room for a buffer of {n_bytes} bytes"


def _proof(split: Split) -> str:
    if split.solver == GIVEN:
        return f"given, not searched for: {_bound(split)}, optimality gap at most {_gap(split.gap)}"
    picked = f" ({split.picked_because})" if split.picked_because else ""
    if split.among_options:
        kind = "the best of them" if split.distributions else "whole layers are the best found"
        ended = " until the time limit" if split.ended_by_time else ""
        work = f"{counted(split.explored, 'candidate')} explored in {split.spent_s:.2f} s{ended}"
        return f"solver {split.solver}{picked}: {work}, {kind}{_bound_of_options(split)}"
    if split.proved and not split.explored:
        proved = f"proved optimal{_scope(split)}"
        return f"{split.solver}{picked}: {proved} by lower bounds alone, no candidate had to be explored"
    work = f"{split.solver}{picked}: {counted(split.explored, 'candidate')} explored in {split.spent_s:.2f} s"
    if split.proved:
        return f"{work}, proved optimal{_scope(split)}"
    return f"{work} until the time limit, not proved: {_bound(split)}, optimality gap {_gap(split.gap)}"


def _gap(gap: float) -> str:
    """Return a gap in percent, small ones with one significant digit."""
    return f"{gap:.1%}" if gap >= SMALL_GAP else f"{100 * gap:.1g}%"


def _bound(split: Split) -> str:
    objective = split.problem.objective
    return f"lower bound of {objective.noun} {objective.text(split.lower_bound)}{_scope(split)}"


def _scope(split: Split) -> str:
    """Return of which splits bounds are: where transfers may be streamed, and where RAM comes before the objective."""
    problem = split.problem
    transfers = " for whole transfers" if problem.may_stream and len(problem.devices) > 1 else ""
    if not problem.minimises_ram or len(problem.devices) == 1:
        return transfers
    return f"{transfers} and the least arena" if transfers else " for the least arena"
