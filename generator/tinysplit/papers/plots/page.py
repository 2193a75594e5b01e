"""The published figures that are plots, as one HTML file."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tinysplit.common.output_file import version_mark
from tinysplit.common.templates import render
from tinysplit.common.texts.quoting import json_in_html
from tinysplit.papers.plots.plot import Plot
from tinysplit.papers.reproduce.reproduction import Reproduction, Row


@dataclass(frozen=True)
class _Figure:
    plot: Plot
    rows: Sequence[Row]
    has_copies: bool


@dataclass(frozen=True)
class _FiguresPage:
    """Variables of the template; `data` is JSON that may stand in a script."""

    about: str
    figures: Sequence[_Figure]
    data: str


def figures_page(reproduction: Reproduction) -> str:
    """Return the page of the plots of a reproduction, each above its rows; it loads nothing."""
    figures = []
    for plot in reproduction.plots:
        rows = [row for row in reproduction.rows if (row.source, row.title) == (plot.source, plot.title)]
        figures.append(_Figure(plot, rows, any(row.replicated for row in rows)))
    data = json_in_html(json.dumps([asdict(plot) for plot in reproduction.plots]))
    return render("report/figures.html.j2", _FiguresPage(version_mark(), figures, data))
