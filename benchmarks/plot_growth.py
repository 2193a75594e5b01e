"""Time against size on logarithmic axes, as SVG; needs matplotlib (extra `plots`)."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Growth:
    """Median seconds against one size, and the exponent of the power law that fits best."""

    sizes: list[int]
    seconds: list[float]
    exponent: float


def plot(growths: Mapping[str, Growth], path: Path) -> None:
    """Draw one panel per item of `growths`, or print that matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (an optional extra)
    except ImportError:
        print("not drawn: pip install 'tinysplit[plots]'", file=sys.stderr)
        return
    plt.rcParams["svg.fonttype"] = "none"  # text is not converted to paths: smaller files
    plt.rcParams["svg.hashsalt"] = "growth"  # reproducible output
    figure, panels = plt.subplots(1, len(growths), figsize=(8, 3), layout="constrained", sharey=True)
    for panel, (what, grown) in zip(panels, growths.items(), strict=True):
        panel.loglog(grown.sizes, grown.seconds, "o-")
        panel.set_xticks(grown.sizes, [str(size) for size in grown.sizes])
        panel.minorticks_off()
        panel.set_xlabel(what)
        panel.set_title(f"exponent {grown.exponent:.1f}")
    panels[0].set_ylabel("s")
    figure.savefig(path, metadata={"Date": None})
