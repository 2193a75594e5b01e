"""Mukherjee 2022, Figures 4 and 5: images at a frame rate, through a pipeline and on whole networks."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

from tinysplit.common.units import MS
from tinysplit.papers.ideal_arrivals import deal, frames, through_split
from tinysplit.papers.plots.plot import Curve, Panel, Plot, Work, bars_of
from tinysplit.papers.reproduce.figures import MUKHERJEE_TABLE_2, NANO_IN_FIGURE_4, ONLY_A_PICTURE, PIPELINE_IN_FIGURE_4
from tinysplit.papers.reproduce.reproduction import MUKHERJEE, Convention, Row
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem

SCHEDULES, SWEEP = "Figure 4", "Figure 5"
DEVICES = ("Jetson Nano", "Coral TPU")
FRAME_RATE = 25.0  # of Figure 4, per second
DRAWN_IMAGES = 10  # in our schedules
IMAGES = 50  # in our sweep
PRINTED_RATES = (3.0, 4.0, 4.85, 10.0, 25.0)
NEAR_CAPACITY = 6.0  # frames per second; up to here one panel of the sweep shows the curves apart
RATES = tuple(tenths / 10 for tenths in (*range(10, 80), *range(80, 301, 5)))  # per second
PIPELINE = (0, 1)  # devices of the two stages

STAGES, COPIES, GREEDY = Convention.STAGES, Convention.COPIES, Convention.GREEDY
NANO_MS = "contradicts Table 2, which has 689"
LAST_LAYER = f"{ONLY_A_PICTURE}; Table 2 and the text beside Figure 3 have 16"
FIFTH = "what is optimal is not defined; ours: from this image on, the mean latency so far stays below that of greedy"
BARS = "not identifiable: the number of images and their bars are only drawn"
DRAWN = "not identifiable: rates, numbers of images and latencies are only drawn"
CROSSING = f"{DRAWN}; at lower rates the TPU alone keeps up, and is faster than the pipeline"
SWEEP_CAPTION = (
    "Latency from arrival to output, simulated with the milliseconds of Table 2. The text of the document has neither "
    "the rates nor the numbers of images nor the latencies of its curves, so that no point can be compared."
)


@cache
def two_stages() -> Problem:
    """Return ResNet34 of Table 2 as two layers, whose times include the transfer; any device has memory for both."""
    row = MUKHERJEE_TABLE_2[0]
    first_ms, second_ms = row.nano_stage_ms, row.tpu_stage_ms
    layers = (
        LayerCosts.alike("stage 1", 1, 1, 0, (first_ms / MS, (row.tpu_ms - second_ms) / MS)),
        LayerCosts.alike("stage 2", 1, 1, 0, ((row.nano_ms - first_ms) / MS, second_ms / MS)),
    )
    devices = tuple(DeviceLimits(name, 2, 1) for name in DEVICES)
    return Problem(layers, devices, (((0.0, 0.0), (0.0, 0.0)),) * 2)


@cache
def latencies(per_second: float, count: int = IMAGES) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the seconds from arrival to output of each image, through the pipeline and by greedy placement."""
    problem, arrivals = two_stages(), frames(count, per_second)
    through = tuple(passage.latency_s for passage in through_split(problem, PIPELINE, arrivals))
    return through, tuple(placed.passage.latency_s for placed in deal(problem, arrivals))


def _means(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(total / count for count, total in enumerate(accumulate(values), 1))


def stays_below(values: Sequence[float], others: Sequence[float]) -> int | None:
    """Return the first position from which on each value is less than the other at its position, None if none is."""
    below = [value < other for value, other in zip(values, others, strict=True)]
    last = max((position for position, is_below in enumerate(below) if not is_below), default=-1)
    return last + 1 if last + 1 < len(below) else None


def frame_rate_rows() -> Iterator[Row]:
    """Yield the rows of both figures."""
    yield from _schedule_rows()
    for rate in PRINTED_RATES:
        through, greedy = latencies(rate)
        for quantity, figure in (("mean latency, s", lambda s: sum(s) / len(s)), ("largest latency, s", max)):
            texts = [f"{figure(values):.2f}" for values in (through, greedy)]
            name = f"{rate:g} frames/s"
            yield Row(MUKHERJEE, SWEEP, name, quantity, "", texts[0], (STAGES, GREEDY), DRAWN, replicated=texts[1])
    means = [[sum(values) / len(values) for values in latencies(rate)] for rate in RATES]
    first = stays_below(*zip(*means, strict=True))
    crossing = "" if first is None else f"{RATES[first]:g}"
    yield Row(MUKHERJEE, SWEEP, "pipeline", "better from, frames/s", "", crossing, (STAGES, GREEDY), CROSSING)


def _schedule_rows() -> Iterator[Row]:
    through, greedy = latencies(FRAME_RATE)
    problem = two_stages()
    on_nano_s = next(each.passage for each in deal(problem, (0.0,), devices=(0,))).latency_s
    better = stays_below(_means(through), _means(greedy))
    image = "" if better is None else str(better + 1)
    pipeline = f"{through[0] * MS:.0f}"
    nano = f"{on_nano_s * MS:.0f}"
    for name, quantity, published, ours, why, conventions in (
        ("pipeline", "first image, ms", PIPELINE_IN_FIGURE_4, pipeline, "", (STAGES,)),
        ("pipeline", "last layer on the Nano", "15", "", LAST_LAYER, ()),
        ("pipeline", "better from image", "5", image, FIFTH, (STAGES, GREEDY)),
        ("greedy", "whole network, Nano, ms", NANO_IN_FIGURE_4, nano, NANO_MS, (STAGES,)),
        ("both", "images drawn", "", "", BARS, ()),
    ):
        yield Row(MUKHERJEE, SCHEDULES, name, quantity, published, ours, conventions, why)


def frame_rate_plots() -> tuple[Plot, Plot]:
    """Return the schedules of Figure 4 and the curves of Figure 5."""
    axis = "s; bars have the number of the image"
    panels = (
        Panel("(a) greedy: whole networks", axis, lanes=DEVICES, bars=bars_of(_greedy(DRAWN_IMAGES))),
        Panel("(b) pipeline", axis, lanes=DEVICES, bars=bars_of(_pipeline(DRAWN_IMAGES))),
    )
    return (
        Plot(MUKHERJEE, SCHEDULES, _schedules_caption(), panels),
        Plot(MUKHERJEE, SWEEP, SWEEP_CAPTION, (_over_rates(NEAR_CAPACITY), _over_rates(RATES[-1]), _over_images())),
    )


def _schedules_caption() -> str:
    row = MUKHERJEE_TABLE_2[0]
    pipeline = MS / max(row.nano_stage_ms, row.tpu_stage_ms)
    copies = MS / row.nano_ms + MS / row.tpu_ms
    return (
        f"{row.model} at {FRAME_RATE:g} frames per second with the milliseconds of Table 2: {row.nano_stage_ms} and "
        f"{row.tpu_stage_ms} for the stages, {row.nano_ms} and {row.tpu_ms} for the whole network. Bars have the "
        "number of the image; how many the document draws is not in its text. Both queues grow: the pipeline takes "
        f"{pipeline:.2f} images per second, both devices with whole networks {copies:.2f}."
    )


def _greedy(count: int) -> tuple[Work, ...]:
    placed = deal(two_stages(), frames(count, FRAME_RATE))
    return tuple(
        Work(each.device, each.passage.start_s, each.passage.end_s, str(number), number)
        for number, each in enumerate(placed, 1)
    )


def _pipeline(count: int) -> tuple[Work, ...]:
    """Return both stages of each image: the first begins with its start, the second ends with its end."""
    problem = two_stages()
    first_s, second_s = (layer.seconds[device] for layer, device in zip(problem.layers, PIPELINE, strict=True))
    works = []
    for number, passage in enumerate(through_split(problem, PIPELINE, frames(count, FRAME_RATE)), 1):
        works.append(Work(PIPELINE[0], passage.start_s, passage.start_s + first_s, str(number), number))
        works.append(Work(PIPELINE[1], passage.end_s - second_s, passage.end_s, str(number), number))
    return tuple(works)


def _over_rates(highest: float) -> Panel:
    rates = tuple(rate for rate in RATES if rate <= highest)
    means = [[sum(values) / len(values) for values in latencies(rate)] for rate in rates]
    curves = [Curve(name, rates, y) for name, y in zip(("pipeline", "greedy"), zip(*means, strict=True), strict=True)]
    title = f"{IMAGES} images, up to {highest:g} frames per second"
    return Panel(title, "frames per second", "mean latency, s", curves)


def _over_images() -> Panel:
    numbers = tuple(range(1, IMAGES + 1))
    curves = [
        Curve(name, numbers, _means(values))
        for name, values in zip(("pipeline", "greedy"), latencies(FRAME_RATE), strict=True)
    ]
    return Panel(f"{FRAME_RATE:g} frames per second", "number of images", "mean latency, s", curves)
