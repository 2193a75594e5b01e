"""Tables of a split: layers and memory by board, cuts, latency, period, energy, and the optimality gap."""

from collections.abc import Iterator
from itertools import groupby

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

from tinysplit.boards.board import board_title
from tinysplit.common.choices import InputSource
from tinysplit.common.tables import counted, plain_table, shortened
from tinysplit.common.texts.spans import span_text
from tinysplit.common.units import MS
from tinysplit.network.distribution import Distributions
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.sub_models import SubModel
from tinysplit.split.problem import Period
from tinysplit.split.report.figures import latency_text, throughput_lines, with_host
from tinysplit.split.solution import GIVEN, Split
from tinysplit.timing.program import Kind
from tinysplit.timing.topology import Cut, pair_of

SMALL_GAP = 0.001
BAR_WIDTH = 5  # so that the table fits into 80 columns, also with the megabytes of an H7


def print_split(split: Split, console: Console) -> None:
    """Print the boards with their layers and memory, the cuts, the figures, and the optimality gap.

    Before them comes what the solver reports.
    """
    for each in split.report.printed:
        console.print(each, highlight=False)
    if split.distributions:
        print_slices(split, console)
        return
    console.print(_boards(split))
    if unused := sum(not split.runs_on(device) for device in range(len(split.problem.devices))):
        console.print(f"{counted(unused, 'board')} without layers", highlight=False)
    if split.copies:
        source = split.problem.handoff_parts.input_source
        dealt = "the host deals the inputs to them" if source is InputSource.HOST else "each has inputs of its own"
        console.print(f"copies of the whole network: {dealt}", highlight=False)
    if split.cuts:
        console.print(_cuts(split))
    copy = "the slowest copy, " if split.copies else ""
    latency = latency_text(split.l_s, split.t_s, split.i_s)
    console.print(f"{latency} ({copy}estimated{with_host(split)})", highlight=False)
    for line in (*_blocking(split), *throughput_lines(split), _proof(split)):
        console.print(line, highlight=False, markup=False)


def layer_numbers(run: SubModel) -> str:
    """Return the layers of a sub-model, numbered from 1: "3", "4-7"."""
    return span_text(run.first + 1, run.last + 1)


def print_slices(split: Split, console: Console) -> None:
    """Print what each board computes of each layer, its memory, and the figures."""
    how = split.distributions
    if how is None:
        return
    console.print(_parts(how, split))
    console.print(_memory(split))
    if unused := len(split.problem.devices) - len(set(split.assignment)):
        console.print(f"{counted(unused, 'board')} without layers", highlight=False)
    where = " over all boards, which work side by side" if len(set(split.assignment)) > 1 else ""
    latency = f"L {split.l_s * MS:.2f} ms and T {split.t_s * MS:.2f} ms{where}: I {split.i_s * MS:.2f} ms"
    console.print(f"{latency} (estimated{with_host(split)})", highlight=False)
    if pairs := {pair_of(hop.sender, hop.receiver) for hop in transfers(split.problem, split.assignment)}:
        wires = ", ".join(f"{first + 1}-{second + 1}" for first, second in sorted(pairs))
        console.print(f"boards to wire: {wires}", highlight=False)
    for line in (*throughput_lines(split), _proof(split)):
        console.print(line, highlight=False, markup=False)


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


def _memory(split: Split) -> Table:
    table = plain_table("board", "flash", "", "arena", "", numbers=("L ms",))
    for index, limits in enumerate(split.problem.devices):
        if index not in split.assignment:
            continue
        table.add_row(
            f"{index + 1} {limits.name}",
            *_bar(split.figures.flash_bytes[index], limits.flash_bytes),
            *_bar(split.figures.ram_bytes[index], limits.ram_bytes),
            f"{split.l_s_on(index) * MS:.2f}",
        )
    return table


def _boards(split: Split) -> Table:
    table = plain_table("board", "layers", "flash", "", "arena", "", numbers=("L ms",))
    for index, limits in enumerate(split.problem.devices):
        runs = split.runs_on(index)
        if not runs:
            continue
        table.add_row(
            f"{index + 1} {limits.name}",
            ", ".join(map(layer_numbers, runs)),
            *_bar(split.figures.flash_bytes[index], limits.flash_bytes),
            *_bar(split.figures.ram_bytes[index], limits.ram_bytes),
            f"{split.l_s_on(index) * MS:.2f}",
        )
    return table


def _cuts(split: Split) -> Table:
    table = plain_table("cut after layer", "from", "to", numbers=("bytes", "T ms"))
    for cut in split.cuts:
        layer = f"{cut.after_layer + 1} {shortened(split.problem.layers[cut.after_layer].name)}"
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
        return f"{split.solver}{picked}: proved optimal by lower bounds alone, no candidate had to be explored"
    work = f"{split.solver}{picked}: {counted(split.explored, 'candidate')} explored in {split.spent_s:.2f} s"
    if split.proved:
        return f"{work}, proved optimal"
    return f"{work} until the time limit, not proved: {_bound(split)}, optimality gap {_gap(split.gap)}"


def _gap(gap: float) -> str:
    """Return a gap in percent, small ones with one significant digit."""
    return f"{gap:.1%}" if gap >= SMALL_GAP else f"{100 * gap:.1g}%"


def _bound(split: Split) -> str:
    objective = split.problem.objective
    return f"lower bound of {objective.noun} {objective.text(split.lower_bound)}"
