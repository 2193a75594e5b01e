"""`tinysplit compare`: what became slower or different between two measurements."""

from pathlib import Path
from typing import Annotated

import typer

from tinysplit.cli.basic_options import Json, emit
from tinysplit_hil.results.compare import DEFAULT_THRESHOLD_PERCENT, compare_files
from tinysplit_hil.results.compare_report import print_comparison

_HELP = "Measurement file: of `measure --save`, or what `measure --json` or `run --json` printed."
Before = Annotated[Path, typer.Argument(help=_HELP)]
After = Annotated[Path, typer.Argument(help="The same, later.")]
Threshold = Annotated[
    float,
    typer.Option(
        help="Change of a median in percent, above which it counts where the intervals of both medians are apart.",
        min=0,
    ),
]


def compare(
    before: Before, after: After, threshold: Threshold = DEFAULT_THRESHOLD_PERCENT, as_json: Json = False
) -> None:
    """Compare two measurements of a network: name what became slower or different, and end with exit code 1 then."""
    comparison = compare_files(before, after, threshold)
    emit(as_json, comparison.to_json(), lambda console: print_comparison(comparison, console))
    comparison.check()
