"""Pictures of the docs, as SVG; they need matplotlib (extra `plots`)."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from common.networks import DOCS


def save_plot(
    name: str, panels: int, size: tuple[int, int], draw: Callable[[Sequence[Any]], None], *, sharey: bool = False
) -> None:
    """Let `draw` fill panels in docs/images/<name>.svg, `size` in inches, or print that matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (an optional extra)
    except ImportError:
        print("not drawn: pip install 'tinysplit[plots]'", file=sys.stderr)
        return
    plt.rcParams["svg.fonttype"] = "none"  # text is not converted to paths: smaller files
    plt.rcParams["svg.hashsalt"] = name  # reproducible output
    figure, axes = plt.subplots(1, panels, figsize=size, layout="constrained", sharey=sharey)
    draw(axes)
    figure.savefig(DOCS / "images" / f"{name}.svg", metadata={"Date": None})
