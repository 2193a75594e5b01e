"""The themes, and the command that lists and runs their benchmarks."""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from common.benchmark import Benchmark
from tinysplit.common.errors import TinysplitError, UsageError

THEMES = (
    "kernels",
    "memory",
    "quantization",
    "gallery",
    "families",
    "prediction",
    "simulation",
    "splitting",
    "slices",
    "papers",
    "link",
    "faults",
    "standalone",
    "virtual_boards",
    "host",
    "choices",
    "pictures",
)
USAGE = "usage: python benchmarks THEME [NAME] [options]; --help behind a name shows its options"


def benchmarks_of(theme: str) -> dict[str, Benchmark]:
    """Return the benchmarks of a theme by their names."""
    found = vars(import_module(theme)).values()
    return {each.name: each for each in found if isinstance(each, Benchmark)}


def find(words: Sequence[str]) -> tuple[str, Benchmark, Sequence[str]]:
    """Return theme, benchmark and options that a command line names; the name of a theme's only one may be left out.

    Raises UsageError if there is no such benchmark.
    """
    theme, *rest = words
    if theme not in THEMES:
        raise UsageError(f"no theme is called {theme}: there are {', '.join(THEMES)}")
    named = benchmarks_of(theme)
    if rest and rest[0] in named:
        return theme, named[rest[0]], rest[1:]
    if len(named) == 1 and (not rest or rest[0].startswith("-")):
        return theme, next(iter(named.values())), rest
    raise UsageError(f"{theme} needs one of these names: {', '.join(named)}")


def listing(themes: Iterable[str]) -> str:
    """Return a line for each benchmark: what it measures and about how long it takes."""
    lines = [USAGE]
    for theme in themes:
        module = import_module(theme)
        lines += ["", f"{theme}: {(module.__doc__ or '').splitlines()[0]}"]
        lines += [f"  {name:<10} {each.line}" for name, each in benchmarks_of(theme).items()]
    return "\n".join(lines)


def main(words: Sequence[str]) -> None:
    """Run the benchmark that the command line names, or list those of a theme or all."""
    theme, *rest = [*words, ""]
    try:
        if theme in ("", "-h", "--help"):
            print(listing(THEMES))
        elif theme in THEMES and len(benchmarks_of(theme)) > 1 and rest[0] in ("", "-h", "--help"):
            print(listing([theme]))
        else:
            theme, found, arguments = find(words)
            found.run(found.parser(theme).parse_args(arguments))
    except TinysplitError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
