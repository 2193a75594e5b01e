"""The figures of a placement as files and JSON have them: L, T, I, period, energy, and what sets the period."""

from typing import TYPE_CHECKING, Self

from tinysplit.common.choices import InputSource
from tinysplit.common.file_schema import FileModel, Number, Seconds
from tinysplit.split.problem import Period
from tinysplit.timing.bottleneck import Bottleneck, Place

if TYPE_CHECKING:
    from tinysplit.split.solution import Split  # which takes long, and manifests have to be imported fast


class FigureBottleneck(FileModel):
    """What is busy for the largest share of the period: a board with its layers, a link or a host's port."""

    place: Place
    boards: tuple[Number, ...]  # two of a link
    layers: tuple[Number, ...]
    busy_s: Seconds  # of an inference
    share: float

    @classmethod
    def of(cls, found: Bottleneck) -> Self:
        """Return a bottleneck as the file has it."""
        return cls(
            place=found.busy.place,
            boards=tuple(number + 1 for number in (found.busy.device, found.busy.receiver) if number >= 0),
            layers=tuple(number + 1 for number in found.layers),
            busy_s=found.busy.seconds,
            share=found.share,
        )


class PlacementFigures(FileModel):
    """Figures by Santamaria 2021, formulas 2 and 4 to 6: seconds, inferences per second, joules."""

    L: Seconds
    T: Seconds
    I: Seconds  # noqa: E741 (the name of formula 5)
    period_s: Seconds
    period_definition: Period = Period.FIRMWARE
    input_source: InputSource = InputSource.HOST
    frame_period_s: Seconds = 0.0  # between two inputs; 0: as soon as there is room
    bottleneck: FigureBottleneck | None = None  # of the period; None of an ideal one
    throughput: float | None  # None for a period of 0
    energy_j: float | None  # None where the currents of a board are not known
    power: dict[str, float] | None = None  # `PowerFigures` of the simulated firmware

    @classmethod
    def of(cls, split: "Split") -> Self:
        """Return the figures of `split`."""
        return cls(
            L=split.l_s,
            T=split.t_s,
            I=split.i_s,
            period_s=split.period_s,
            period_definition=split.problem.period_definition,
            input_source=split.problem.handoff_parts.input_source,
            frame_period_s=split.problem.frame_period_s,
            bottleneck=FigureBottleneck.of(split.timing.bottleneck) if split.timing else None,
            throughput=1 / split.period_s if split.period_s else None,
            energy_j=None if split.without_currents else split.energy_j,
            power=split.power.to_json() if split.power else None,
        )
