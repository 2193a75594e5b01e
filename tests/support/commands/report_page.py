"""A report as a test reads it: its texts, the bars of its timeline, and the numbers of its tables."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from commands.command_line import run
from tinysplit.common.output_file import check_output_file

VOID = {"meta", "link", "br"}


class Bar(NamedTuple):
    """A bar of the timeline."""

    title: str
    begin: float
    share: float


class Page(HTMLParser):
    """The ids, the addresses and the text of a page; every element has to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.opened: list[str] = []
        self.bars: list[Bar] = []
        self.rows: list[list[float]] = []  # numbers of sortable tables
        self.feed(text)
        assert not self.opened

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.addresses += [value for name, value in attrs if name in {"src", "href"} and value]
        values = {name: value or "" for name, value in attrs}
        if tag == "i" and "--w:" in values.get("style", ""):
            begin, share = (float(text) for text in re.findall(r"--[xw]:([\d.]+)", values["style"]))
            self.bars.append(Bar(values["title"], begin, share))
        if tag == "tr":
            self.rows.append([])
        if "data-value" in values:
            self.rows[-1].append(float(values["data-value"]))
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


def written(out: Path, *arguments: str | Path) -> Page:
    run("report", *map(str, arguments), "-o", str(out))
    check_output_file(out)  # it is ours: the next report may replace it
    return Page(out.read_text(encoding="utf-8"))
