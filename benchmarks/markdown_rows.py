"""Markdown tables of benchmarks, printed row by row as cases are done."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from tinysplit.network.graph import Graph


class NetworkCase(Protocol):
    """A case of a benchmark, with its network."""

    @property
    def graph(self) -> Graph:
        """The network."""


C = TypeVar("C", bound=NetworkCase)


def print_head(headings: Sequence[str]) -> None:
    """Print the head of a table."""
    print(f"| {' | '.join(headings)} |")
    print("|---" * len(headings) + "|")


def print_cases(description: str | None, headings: Sequence[str], cases: Iterable[C], row: Callable[[C], str]) -> None:
    """Print a table with a row a case; the command line may name networks with --only."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="text in the network's name")
    only = parser.parse_args().only
    print_head(headings)
    for case in cases:
        if only in case.graph.name:
            print(row(case), flush=True)
