"""`tinysplit compare`, `report` and `import-trace`: measurements compared, shown as HTML, and read from an analyser."""

from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import onnx
import typer

from tinysplit.cli.basic_options import Folder, Force, Json, emit, wrote
from tinysplit.cli.option import option
from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.project_files import MODEL_NAME, REPORT_NAME
from tinysplit.project.annotated_model import annotated_model
from tinysplit.project.channels import parse_channels
from tinysplit.project.manifest import Project
from tinysplit.project.split_graph import split_dot
from tinysplit.settings.measurement import CHANNEL, SAMPLE_RATE
from tinysplit.settings.result_files import OUT, SAVE
from tinysplit_hil.html_report.comparison import check_same_network, compare_sources, write_comparison
from tinysplit_hil.html_report.page import write_report
from tinysplit_hil.html_report.sources import Sources
from tinysplit_hil.results.compare import DEFAULT_THRESHOLD_PERCENT, compare_files
from tinysplit_hil.results.compare_report import print_comparison
from tinysplit_hil.trace.files import read_trace
from tinysplit_hil.trace.times import times_of
from tinysplit_hil.trace.trace_tables import print_trace

_HELP = f"Measurement file: of `measure {SAVE.option}`, or what `measure --json` or `run --json` printed."
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


def report(
    folder: Folder,
    other: Annotated[
        Path | None, typer.Argument(help="Folder to compare it with, of the same network, or the same folder again.")
    ] = None,
    out: Annotated[Path, option(OUT, "HTML file to write.")] = Path(REPORT_NAME),
    measurement: Annotated[
        list[Path] | None,
        typer.Option(
            help="Measurement to show, written by `measure --save`; by default the last one of `measure` or `run`. "
            "Of two folders, give two."
        ),
    ] = None,
    threshold: Threshold = DEFAULT_THRESHOLD_PERCENT,
    dot: Annotated[
        Path | None, typer.Option("--graphviz", help="File to write the split to, in the language of Graphviz.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--onnx", help="ONNX file to write: the network with the split in its metadata, as Netron shows."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a report as one HTML file: network and split, timeline, memory, accuracy and energy; or compare two."""
    paths = [path for path in (out, dot, model) if path]
    for path in paths:
        check_output_file(path, force=force)
        if paths.count(path) > 1:
            raise UsageError(f"{path} is to be two files: give each a name of its own")
    folders = [folder, *([other] if other else [])]
    if other and (dot or model):
        raise UsageError("--graphviz and --onnx are of one folder: run `report` once for each")
    if measurement and len(measurement) != len(folders):
        raise UsageError(f"--measurement is of one folder: give it {len(folders)} times, not {len(measurement)}")
    sources, *others = (Sources.read(*each) for each in zip_longest(folders, measurement or ()))
    if others:
        _compare_folders(out, sources, others[0], threshold, as_json=as_json)
        return
    write_report(out, sources)
    if dot:
        write_whole_file(dot, split_dot(sources.project, sources.graph))
    if model:
        annotated = annotated_model(sources.project, sources.graph, onnx.load(folder / MODEL_NAME))
        write_whole_file(model, annotated.SerializeToString())
    wrote(*paths)
    emit(as_json, sources.to_json() | {"files": [str(path) for path in paths]}, lambda _: None)


def _compare_folders(out: Path, before: Sources, after: Sources, threshold: float, *, as_json: bool) -> None:
    check_same_network(before, after)
    comparison = compare_sources(before, after, threshold)
    write_comparison(out, before, after, comparison)
    wrote(out)
    found = {"comparison": comparison.to_json() if comparison else None, "files": [str(out)]}
    emit(as_json, {"before": before.to_json(), "after": after.to_json(), **found}, lambda _: None)


def import_trace(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="VCD or CSV file of sigrok (PulseView, sigrok-cli).")],
    channel: Annotated[
        list[str] | None,
        option(CHANNEL),
    ] = None,
    sample_rate: Annotated[float | None, option(SAMPLE_RATE)] = None,
    as_json: Json = False,
) -> None:
    """Print the times of layers and transfers in the trace of a logic analyser at the markers of the boards."""
    project = Project.read(folder)
    names = parse_channels(project, channel or [])
    report = times_of(project, read_trace(file, sample_rate), names)
    emit(as_json, report.to_json(), lambda console: print_trace(report, console))
