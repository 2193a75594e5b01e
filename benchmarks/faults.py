"""Faults of lines, boards, programs and hosts on virtual boards with the firmware of a small network.

    .venv/bin/python benchmarks/faults.py [--seeds 300] [--only TEXT] [--board NAME] [--folder BUILT] [--output FILE]

Each fault befalls `seeds` inferences on two boards, each in a run of its own as `tinysplit measure` starts them, at a
random time. After an error the next inference, without the fault, has to be right; nobody resets anything before. A
seed takes about 0.7 s of one core, and up to 5 s where the fault costs seconds of virtual time.
"""

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fault_cases import Fault, faults
from tinysplit.project.manifest import Project

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from faulty_boards import LONGEST_S, FaultyBoards, Outcome, build_small_network, faulty_boards

NAMES = {  # of errors, by what their texts have in common
    r"restarted in mid-run \(cause: ([\w -]+)\)": r"restarted: \1",
    "restarted in mid-run": "restarted",
    "no answer on the link|LINK_NO_ANSWER": "no answer on the link",
    "runs another plan|runs firmware of project|LINK_OTHER_PLAN": "another plan",
    "runs the firmware of board|LINK_WRONG_BOARD": "wrong board",
    "reports STACK_OVERFLOW": "stack overflow",
    "FLASH_CORRUPT": "flash changed",
    "arrives? damaged|damaged input": "damaged again and again",
    "does not reply": "does not reply",
    "host was disconnected": "host gone",
    "is in no run|left the run|STOPPED": "left the run",
}


@dataclass
class Results:
    """Of all seeds of a fault."""

    at_once: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    recovered: int = 0
    wrong: int = 0
    hangs: int = 0
    longest_s: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count an inference under a fault."""
        self.longest_s = max(self.longest_s, outcome.seconds)
        self.hangs += outcome.seconds > LONGEST_S
        if outcome.error is None:
            self.at_once += outcome.is_right
            self.wrong += not outcome.is_right
        else:
            self.errors[_name(outcome.error)] += 1

    def row(self, fault: Fault, seeds: int) -> str:
        """Return a row of the table."""
        errors = ", ".join(f"{name} ({count})" for name, count in self.errors.most_common()) or "-"
        recovered = f"{self.recovered} of {self.errors.total()}" if self.errors and not fault.is_permanent else "-"
        cells = (fault.name, seeds, self.at_once, errors, recovered, f"{1000 * self.longest_s:.0f}", self.wrong)
        return f"| {' | '.join(map(str, (*cells, self.hangs)))} |"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="regular expression of the faults' names")
    parser.add_argument("--board", default="nucleo_g071rb")
    parser.add_argument("--folder", type=Path, help="keeps the built network for another time")
    parser.add_argument("--output", type=Path, help="file for the table instead of stdout")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        project, folder, other = _built(arguments.folder or Path(temporary), arguments.board)
        chosen = [fault for fault in faults(other) if re.search(arguments.only, fault.name)]
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        with arguments.output.open("w", encoding="utf-8") if arguments.output else sys.stdout as file:
            print(
                "| fault | seeds | right at once | named error | next right | longest, ms | wrong | hangs |", file=file
            )
            print("|---|---|---|---|---|---|---|---|", file=file)
            for fault in chosen:
                print(_results(project, folder, fault, seeds).row(fault, len(seeds)), file=file, flush=True)


def _built(folder: Path, board: str) -> tuple[Project, Path, Path]:
    """Return the network's project, its folder, and the second board's program of an older plan."""
    for name, seed in (("plan", 1), ("older", 2)):
        if not (folder / name).exists():
            build_small_network(folder / name, board, board, seed=seed)
    older = Project.read(folder / "older" / "project")
    project = folder / "plan" / "project"
    return Project.read(project), project, older.boards[1].elf(folder / "older" / "project")


def _results(project: Project, folder: Path, fault: Fault, seeds: range) -> Results:
    results = Results()
    with faulty_boards(project, folder, **fault.options) as boards:
        for seed in seeds:
            results.recovered += _try(boards, fault, seed, results)
    return results


def _try(boards: FaultyBoards, fault: Fault, seed: int, results: Results) -> bool:
    """Let the fault befall one inference; return whether the next one was right after an error."""
    boards.settle(random.Random(f"phase {seed}").random())  # noqa: S311 (no secret)
    fault.strike(boards, random.Random(f"{fault.name} {seed}"))  # noqa: S311 (no secret)
    outcome = fault.act(boards, seed)
    results.add(outcome)
    boards.settle(fault.settle_ms)
    boards.heal()
    if outcome.error is None or fault.is_permanent:
        return False
    after = boards.infer(seed + 1)
    if not after.is_right:
        print(f"{fault.name}, seed {seed}: {outcome}, then {after}", file=sys.stderr)
    return after.is_right


def _name(error: str) -> str:
    """Return a short name of an error; the whole text where it has none."""
    for pattern, name in NAMES.items():
        found = re.search(pattern, error)
        if found:
            return found.expand(name)
    return error


if __name__ == "__main__":
    main()
