"""The themes, and the command that lists and runs their benchmarks."""

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from common.benchmark import Benchmark, benchmark
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
    """Return a line for each benchmark: what it measures and about how long it takes.

    It reads the source of the themes: importing them needs packages of extras.
    """
    lines = [USAGE]
    for theme in themes:
        module = _source(theme)
        lines += ["", f"{theme}: {_first_line(module)}", *(f"  {line}" for line in _lines(module))]
    return "\n".join(lines)


def _source(theme: str) -> ast.Module:
    return ast.parse(Path(__file__).with_name(f"{theme}.py").read_text(encoding="utf-8"))


def _lines(module: ast.Module) -> Iterator[str]:
    """Yield name, first line and time of the benchmarks that a module declares, in the order of their declarations."""
    for function in [node for node in module.body if isinstance(node, ast.FunctionDef)]:
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == benchmark.__name__:
                name, takes = map(ast.literal_eval, mark.args[:2])
                yield f"{name:<10} {_first_line(function)} Takes {takes}."


def _first_line(node: ast.Module | ast.FunctionDef) -> str:
    """Return the first line of a docstring."""
    return (ast.get_docstring(node) or "").partition("\n")[0]


def main(words: Sequence[str]) -> None:
    """Run the benchmark that the command line names, or list those of a theme or all."""
    theme, *rest = [*words, ""]
    try:
        if theme in ("", "-h", "--help"):
            print(listing(THEMES))
        elif theme in THEMES and rest[0] in ("", "-h", "--help") and len([*_lines(_source(theme))]) > 1:
            print(listing([theme]))
        else:
            theme, found, arguments = find(words)
            found.run(found.parser(theme).parse_args(arguments))
    except TinysplitError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
