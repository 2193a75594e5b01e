"""A timeline as JSON in the Trace Event Format, which Perfetto and chrome://tracing open.

Cases, such as estimated and measured, are processes, rows are their threads; times are in microseconds.
"""

from collections.abc import Iterator
from typing import Any

from tinysplit import __version__
from tinysplit.common.output_file import VERSION_KEY
from tinysplit_hil.measure.timeline.spans import Timeline

_US = 1e6


def trace_of(timeline: Timeline) -> dict[str, Any]:
    """Return the trace."""
    about = {VERSION_KEY: __version__}
    return {"otherData": about, "displayTimeUnit": "ms", "traceEvents": [*_names(timeline), *_events(timeline)]}


def _names(timeline: Timeline) -> Iterator[dict[str, Any]]:
    for process, case in enumerate(timeline.cases, 1):
        yield _meta("process_name", process, 0, {"name": case})
        yield _meta("process_sort_index", process, 0, {"sort_index": process})
        for thread, row in enumerate(timeline.rows, 1):
            yield _meta("thread_name", process, thread, {"name": f"{row.name} ({row.detail})"})
            yield _meta("thread_sort_index", process, thread, {"sort_index": thread})


def _meta(name: str, process: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": args}


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    for row, case, spans in timeline.lanes():
        place = {"pid": list(timeline.cases).index(case) + 1, "tid": timeline.rows.index(row) + 1}
        for span in spans:
            times = {"ts": _US * span.start_s, "dur": _US * span.seconds}
            yield {"ph": "X", "name": span.title, "cat": span.kind.value, **place, **times}
