"""Why a split was taken: the best of each kind, the next placements, and what would make it faster."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from math import inf, isfinite
from operator import itemgetter

from pydantic import NonNegativeFloat
from rich.table import Table

from tinysplit.common.file_schema import FileModel
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.texts.spans import span_text
from tinysplit.network.distribution import SliceAxis
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import alone_on_each
from tinysplit.split.problem import Objective, Problem
from tinysplit.split.solution import Considered, Placement, Split

N_NEXT = 4
MOST_CUTS = 12  # that are printed
ONE_BOARD, WHOLE, COPIES = "one board", "whole layers", "copies"


class NamedValue(FileModel):
    """A placement or a change, and the objective with it: seconds or joules."""

    name: str
    value: NonNegativeFloat


class Reasons(FileModel):
    """What else was considered, with values of the objective: seconds or joules.

    `following` are the next placements, `faster` changes of what is given; `by_cut` has, of two boards, the placements
    with a cut after each layer but the last one, the first layers on the first board: None is not feasible.
    """

    best_of_each_kind: dict[str, NonNegativeFloat]
    following: tuple[NamedValue, ...]
    by_cut: tuple[NonNegativeFloat | None, ...]
    faster: tuple[NamedValue, ...]

    def table(self, objective: Objective) -> Table:
        """Return a table of the best of each kind."""
        table = plain_table("best of each kind", numbers=(objective.unit,))
        for kind, value in self.best_of_each_kind.items():
            table.add_row(kind, objective.number(value))
        return table

    def lines(self, objective: Objective) -> Iterator[str]:
        """Yield the next placements, those of whole layers by their cut, and what would be faster."""
        for each in self.following:
            yield f"next: {objective.text(each.value)}, {each.name}"
        feasible = [(number, value) for number, value in enumerate(self.by_cut, 1) if value is not None]
        if feasible:
            shown = sorted(sorted(feasible, key=lambda each: each[1])[:MOST_CUTS])
            of_all = f", the best {MOST_CUTS} of {len(feasible)}" if len(shown) < len(feasible) else ""
            cuts = (f"{number} {objective.number(value)}" for number, value in shown)
            yield f"whole layers by the cut after layer ({objective.unit}{of_all}): {', '.join(cuts)}"
        for each in self.faster:
            yield f"with {each.name}: {objective.text(each.value)}"


def reasons_for(
    split: Split, whole: Problem, value_of: Callable[[Considered], float], faster: Iterable[tuple[str, float]]
) -> Reasons:
    """Return the reasons for a split of a network that is, undivided, the problem `whole`.

    `value_of` returns the objective of a placement as of a split: as `Split.value` has it.
    """
    cuts = tuple(_by_cut(whole)) if len(whole.devices) == 2 else ()  # noqa: PLR2004 (a pair)
    by_cut = cuts if whole.objective is Objective.LATENCY else ()
    others = [*split.considered, *_alone(whole), *(each for each in cuts if isfinite(each.value))]
    named: dict[str, Considered] = {}
    for each in sorted(others, key=lambda each: each.value):
        named.setdefault(placement_text(each.placement), each)
    named.pop(placement_text(split.placement), None)
    of_kinds: dict[str, str] = {}  # the best placement of each kind
    for name, each in named.items():
        of_kinds.setdefault(kind_of(each.placement), name)
    following = list(named)[:N_NEXT]
    values = {name: value_of(named[name]) for name in {*following, *of_kinds.values()}}
    kinds = {kind: values[name] for kind, name in of_kinds.items()}
    own_kind = kind_of(split.placement)
    kinds[own_kind] = min(split.value, kinds.get(own_kind, inf))
    best = {name: values[name] for name in following}
    return Reasons(
        best_of_each_kind=dict(sorted(kinds.items(), key=lambda each: each[1])),
        following=_named(sorted(best.items(), key=lambda each: each[1])),
        by_cut=tuple(each.value if isfinite(each.value) else None for each in by_cut),
        faster=_named(faster),
    )


def _named(values: Iterable[tuple[str, float]]) -> tuple[NamedValue, ...]:
    return tuple(NamedValue(name=name, value=value) for name, value in values)


def kind_of(placement: Placement) -> str:
    """Return the kind of a placement, as in "rows"."""
    if placement.distributions:
        axes = {str(each.axis) for each in placement.distributions.layers if not each.is_whole}
        if axes:
            return " and ".join(sorted(axes, reverse=True))
    if placement.copies:
        return COPIES
    return ONE_BOARD if len(set(placement.devices)) == 1 else WHOLE


def placement_text(placement: Placement) -> str:
    """Return which layers are where, numbers from 1: "layers 1-9 by rows over boards 1 and 2, 10-12 on board 1"."""
    if placement.copies:
        return f"copies on {_boards(placement.copies)}"
    if placement.distributions:
        layers = placement.distributions.layers
        where = [_where(None if each.is_whole else each.axis, sorted(each.owners)) for each in layers]
    else:
        where = [_where(None, (device,)) for device in placement.assignments[0]]
    runs = ((text, [number for number, _ in run]) for text, run in groupby(enumerate(where, 1), key=itemgetter(1)))
    return f"layers {', '.join(f'{span_text(numbers[0], numbers[-1])} {text}' for text, numbers in runs)}"


def _where(axis: SliceAxis | None, owners: Sequence[int]) -> str:
    return f"by {axis} over {_boards(owners)}" if axis else f"on {_boards(owners)}"


def _boards(devices: Sequence[int]) -> str:
    numbers = [str(device + 1) for device in devices]
    if len(numbers) == 1:
        return f"board {numbers[0]}"
    return f"boards {', '.join(numbers[:-1])} and {numbers[-1]}" if len(numbers) < 4 else counted(len(numbers), "board")  # noqa: PLR2004


def _alone(whole: Problem) -> Iterator[Considered]:
    """Yield the network on the best board alone, if there is one."""
    feasible = (each for each in alone_on_each(whole) if each.is_feasible)
    best = min(feasible, key=lambda each: each.value, default=None)
    if best:
        yield Considered(best.value, Placement((best.assignment,)))


def _by_cut(whole: Problem) -> Iterator[Considered]:
    """Yield the placements of the first layers on the first of two boards; the value of those not feasible is inf."""
    n_layers = len(whole.layers)
    for n_first in range(1, n_layers):
        found = evaluate(whole, (0,) * n_first + (1,) * (n_layers - n_first))
        yield Considered(found.value if found.is_feasible else inf, Placement((found.assignment,)))
