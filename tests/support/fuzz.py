"""Feeds the Python parsers with mutated inputs and prints a line for each: `.venv/bin/python tests/support/fuzz.py`.

Fails if there is a finding, which it prints with its input, and if a parser accepts nothing.
"""

import argparse
import sys

from fuzzing.all_targets import all_targets
from fuzzing.target import run


def main() -> int:
    """Run the parsers that are named, or all."""
    targets = all_targets()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PARSER", help=f"by default all: {', '.join(targets)}")
    parser.add_argument("--inputs", type=int, default=100_000, help="of each parser (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default: %(default)s)")
    options = parser.parse_args()
    if options.inputs < 1:
        parser.error("--inputs: at least 1")
    if unknown := set(options.names) - set(targets):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    _say(f"{'parser':<25} {'inputs':>7} {'accepted':>8} {'findings':>8} {'seconds':>8} {'slowest ms':>10}")
    n_findings, unread = 0, []
    for name in options.names or targets:
        done = run(targets[name], options.inputs, options.seed)
        n_findings += len(done.findings)
        unread += [] if done.accepted else [name]
        counts = f"{done.inputs:>7} {done.accepted:>8} {len(done.findings):>8}"
        _say(f"{name:<25} {counts} {done.seconds:>8.1f} {1000 * done.slowest_s:>10.1f}", *done.findings.values())
    if unread:
        _say(f"no input was accepted, not even those of the corpus: {', '.join(unread)}")
    return 1 if n_findings or unread else 0


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
