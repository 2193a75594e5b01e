"""Accuracy and energy as a report shows them. Widths are in pixels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinysplit.common.units import MILLI, MS, PERCENT
from tinysplit.project.activity import BoardActivity
from tinysplit.project.manifest import Project
from tinysplit.project.validation_file import validation_lines
from tinysplit_hil.html_report.sources import Sources

_BAR = 220.0


@dataclass(frozen=True)
class EnergyBar:
    """Energy of an inference on a board: `run` and `sleep` in pixels."""

    name: str
    color: int
    run: float
    sleep: float
    text: str


@dataclass(frozen=True)
class EnergyCase:
    """Energy of an inference, estimated or measured."""

    name: str
    total: str
    bars: tuple[EnergyBar, ...]


def accuracy_lines(sources: Sources) -> Iterator[str]:
    """Yield what is known of the accuracy of the whole network."""
    if sources.validation:
        yield from (f"{line[0].upper()}{line[1:]}." for line in validation_lines(sources.validation))
    if sources.measurement:
        whole = sources.measurement.output
        text = f"{whole.reference_samples} samples on the integer reference of the measurement"
        for name, output in (whole.outputs or {"": whole}).items():
            of_output = f", output {name}" if len(whole.outputs) > 1 else ""
            share = f"agreement with float {PERCENT * output.agreement:.2f} %, " if output.agreement is not None else ""
            agreement = f"{share}relative error l2r {output.l2r:.4f}"
            top1 = "" if output.top1 is None else f", top-1 {output.top1:.4f}, float {output.float_top1:.4f}"
            yield f"{text}{of_output}: {agreement}{top1}."


def energy_cases(sources: Sources, colors: Mapping[int, int]) -> tuple[EnergyCase, ...]:
    """Return the energy of an inference on boards at rest, estimated and, of virtual boards, by their account."""
    project = sources.project
    cases = {"estimated, one inference alone": project.estimated_alone}
    energy = sources.measurement.energy.get("one_alone") if sources.measurement else None
    if energy and energy.measured:
        cases[f"{sources.measured}, one inference alone"] = energy.measured.boards
    stream = sources.measurement.energy.get("in_a_stream") if sources.measurement else None
    if stream and stream.estimated and stream.measured:
        cases["estimated, in a stream"] = stream.estimated.boards
        cases[f"{sources.measured}, in a stream"] = stream.measured.boards
    joules = {name: tuple(_joules(project, each)) for name, each in cases.items() if each}
    if not joules or any(None in own for own in joules.values()):
        return ()
    known = {name: [each for each in own if each] for name, own in joules.items()}
    largest = max((run + sleep for own in known.values() for run, sleep in own), default=0.0)
    return tuple(_case(name, cases[name], own, colors, largest) for name, own in known.items())


def _case(
    name: str,
    activities: Sequence[BoardActivity],
    joules: Sequence[tuple[float, float]],
    colors: Mapping[int, int],
    largest: float,
) -> EnergyCase:
    bars = tuple(
        EnergyBar(
            name=f"board {each.board}",
            color=colors[each.board],
            run=_BAR * run / largest,
            sleep=_BAR * sleep / largest,
            text=f"{MILLI * (run + sleep):.3f} mJ: runs {MS * each.run_s:.2f} ms, sleeps {MS * each.sleep_s:.2f} ms",
        )
        for each, (run, sleep) in zip(activities, joules, strict=True)
    )
    return EnergyCase(name, f"{MILLI * sum(map(sum, joules)):.3f} mJ", bars)


def _joules(project: Project, activities: Sequence[BoardActivity]) -> Iterator[tuple[float, float] | None]:
    """Yield the joules of each board while it runs and while it sleeps, None where its currents are not known."""
    for activity in activities:
        board = project.board(activity.board)
        if board.run_w is None or board.idle_w is None:
            yield None
        else:
            yield board.run_w * activity.run_s, board.idle_w * activity.sleep_s
