"""Pareto fronts and rankings as one HTML file: points over two axes that the reader chooses, above their table."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tinysplit.common.output_file import version_mark
from tinysplit.common.templates import render
from tinysplit.common.texts.quoting import json_in_html
from tinysplit.common.units import MILLI, MS


@dataclass(frozen=True)
class PageAxis:
    """A quantity of points: `key` in them, and the factor that makes `unit` of it."""

    key: str
    name: str
    unit: str
    factor: float


@dataclass(frozen=True)
class PagePoint:
    """A split: what it is, by heading, and its values by the key of the axis, None where they are not known."""

    labels: Mapping[str, str]
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class PageFront:
    """Points with a title. The first two axes that all points have are drawn at first."""

    title: str
    points: Sequence[PagePoint]


@dataclass(frozen=True)
class _Page:
    """Variables of the template; `data` is JSON that may stand in a script."""

    about: str
    title: str
    subtitle: str
    data: str


AXES = (
    PageAxis("latency_s", "I", "ms", MS),
    PageAxis("energy_j", "energy", "mJ", MILLI),
    PageAxis("period_s", "period", "ms", MS),
    PageAxis("power_w", "mean power", "mW", MILLI),
    PageAxis("price", "price", "", 1.0),
)


def render_front_page(title: str, subtitle: str, fronts: Iterable[PageFront]) -> str:
    """Return the page; it has all that it needs in it, and loads nothing."""
    data = {"axes": [asdict(axis) for axis in AXES], "fronts": [asdict(front) for front in fronts]}
    text = json_in_html(json.dumps(data))
    return render("report/front.html.j2", _Page(version_mark(), title, subtitle, text))


def front_page(name: str, data: Mapping[str, Any]) -> str:
    """Return the page of the JSON that `tinysplit pareto` prints of a network."""
    points = [page_point(entry, data["boards"]) for entry in data["points"]]
    subtitle = f"Pareto front of latency against {data['against']}, estimated."
    return render_front_page(name, subtitle, [PageFront(" + ".join(data["boards"]), points)])


def page_point(entry: Mapping[str, Any], boards: Sequence[str]) -> PagePoint:
    """Return a point of the JSON of a front or a ranking, on `boards` in their order."""
    labels = {
        "boards": " + ".join(boards),
        "placement": entry["placement"],
        "baud": str(entry.get("baud") or "-"),
        "proved": "yes" if entry["proved"] else "no",
    }
    return PagePoint(labels, {axis.key: entry.get(axis.key) for axis in AXES})
