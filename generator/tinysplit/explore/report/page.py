"""An exploration as one HTML file."""

from collections.abc import Mapping
from typing import Any

from tinysplit.split.report.front_page import PageFront, page_point, render_front_page


def exploration_page(data: Mapping[str, Any]) -> str:
    """Return the page of the JSON that `tinysplit explore` prints: fronts, or rankings in their order."""
    groups = data.get("fronts") or data.get("rankings") or ()
    fronts = [
        PageFront(
            f"{group['model']['name']}, {group['bits']} bits",
            [page_point(entry, entry["boards"]) for entry in group.get("points") or group.get("best") or ()],
        )
        for group in groups
    ]
    if objective := data.get("objective"):
        return render_front_page("Sets of boards", f"The best sets by {objective}, simulated.", fronts)
    return render_front_page("Sets of boards", f"Pareto fronts of {', '.join(data['axes'])}, estimated.", fronts)
