"""A benchmark as a command: what it measures, how long it takes, and its options."""

import inspect
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Option:
    """An option or argument: what `ArgumentParser.add_argument` takes."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def option(*names: str, **settings: Any) -> Option:  # noqa: ANN401 (as argparse)
    """Return an option."""
    return Option(names, settings)


JSON = option("--json", action="store_true", help="print JSON in place of tables")
ONLY = option("--only", default="", metavar="TEXT", help="only cases whose name contains it, such as a network's")
BITS = option("--bits", type=int, choices=(8, 16), action="append", help="only this bit width")
SEEDS = option("--seeds", type=int, default=300, help="random times of each fault")
OUTPUT = option("--output", type=Path, metavar="FILE", help="file for the tables instead of stdout")


def boards(*names: str) -> Option:
    """Return the option for some of the boards `names`."""
    return option("--board", choices=names, action="append", help="only this board; repeat for several")


def limit(seconds: float) -> Option:
    """Return the option for the time of each search."""
    return option("--limit", type=float, default=seconds, metavar="SECONDS", help="of each search")


def plot(file: str) -> Option:
    """Return the option that draws a picture of the docs."""
    return option("--plot", action="store_true", help=f"also draw docs/images/{file} (extra `plots`)")


@dataclass(frozen=True)
class Benchmark:
    """A benchmark; `takes` is the time of all its cases on an idle core, and `run` prints its tables."""

    name: str
    takes: str
    options: tuple[Option, ...]
    run: Callable[[Namespace], None]

    @property
    def description(self) -> str:
        """What it measures and against what; `python benchmarks` lists its first line."""
        return inspect.getdoc(self.run) or ""

    def parser(self, theme: str) -> ArgumentParser:
        """Return the parser of its options."""
        parser = ArgumentParser(
            f"benchmarks {theme} {self.name}",
            description=f"{self.description}\n\nTakes {self.takes}.",
            formatter_class=RawDescriptionHelpFormatter,
        )
        for each in self.options:
            parser.add_argument(*each.names, **each.settings)
        return parser


def benchmark(name: str, takes: str, *options: Option) -> Callable[[Callable[[Namespace], None]], Benchmark]:
    """Make a benchmark of the function that runs it, whose docstring says what it measures.

    Name and time are literals: `python benchmarks` reads them in the source.
    """
    return lambda run: Benchmark(name, takes, options, run)
