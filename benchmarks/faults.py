"""Faults of lines, boards, programs and hosts on virtual boards with the whole firmware of a small network.

Takes 0.7 s of one core a seed, and up to 5 s where the fault costs seconds of virtual time: hours in all.
"""

import random
import re
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.benchmark import OUTPUT, SEEDS, benchmark, option
from common.tables import Cell, MarkdownTable, output_to
from rigs.faulty_boards import LONGEST_S, MS_PS, FaultyBoards, Outcome, build_small_network, faulty_boards
from tinysplit.common.errors import ToolError
from tinysplit.project.manifest import Project
from tinysplit_hil.wire.frames import Frame
from tinysplit_hil.wire.protocol import MessageType, pack_load, pack_start
from virtual_stm32 import ResetCause
from virtual_stm32.line_faults import LineFaults

INFERENCE_MS = 60.0  # of the small network on two boards: RESET, input, layers, transfer, output, records
HOST = "host"
CAUSES = (ResetCause.PIN, ResetCause.WATCHDOG, ResetCause.SOFTWARE)

Strike = Callable[[FaultyBoards, random.Random], None]
Act = Callable[[FaultyBoards, int], Outcome]
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


@dataclass(frozen=True)
class Fault:
    """What happens before or during an inference, and how boards are opened for it.

    `settle_ms`: until a fault that ends by itself is over. `is_permanent`: no inference is
    ever right. `options`: of faulty_boards(). `act`: what is tried.
    """

    name: str
    strike: Strike
    settle_ms: float = 0.0
    is_permanent: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    act: Act = FaultyBoards.infer


def _nothing(_boards: FaultyBoards, _numbers: random.Random) -> None:
    pass


class HostGoneError(ToolError):
    """The host was disconnected."""


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

    def cells(self, fault: Fault, seeds: int) -> Sequence[Cell]:
        """Return a row of the table."""
        errors = ", ".join(f"{name} ({count})" for name, count in self.errors.most_common()) or None
        recovered = f"{self.recovered} of {self.errors.total()}" if self.errors and not fault.is_permanent else None
        longest_ms = round(1000 * self.longest_s)
        return fault.name, seeds, self.at_once, recovered, longest_ms, self.wrong, self.hangs, errors


@benchmark(
    "boards",
    "hours; 0.7 s a seed",
    SEEDS,
    option("--first-seed", type=int, default=0, help="of the times"),
    option("--only", default="", metavar="TEXT", help="regular expression of the faults' names"),
    option("--board", default="nucleo_g071rb", help="type of both boards"),
    option("--folder", type=Path, help="keeps the built network for another time"),
    OUTPUT,
)
def boards(options: Namespace) -> None:
    """Measure how inferences end and recover under each fault on two boards, with the host program of `measure`.

    Each fault befalls `seeds` inferences, each in a run of its own as `tinysplit measure` starts them, at a random
    time. After an error the next inference, without the fault, has to be right; nobody resets anything before.
    """
    numbers = ("seeds", "right at once", "next right", "longest, ms", "wrong", "hangs")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    with tempfile.TemporaryDirectory() as temporary, output_to(options.output):
        project, folder, other = _built(options.folder or Path(temporary), options.board)
        chosen = (fault for fault in faults(other) if re.search(options.only, fault.name))
        table = MarkdownTable("fault", numbers=numbers, last=("named error",))
        table.print(_results(project, folder, fault, seeds).cells(fault, len(seeds)) for fault in chosen)


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


def faults(other_plan: Path | None = None) -> Iterator[Fault]:
    """Yield all faults; `other_plan` is a program of the second board for another plan."""
    yield Fault("none", _nothing)
    yield from _line_faults()
    yield from _cuts()
    yield from _host_faults()
    yield from _board_faults()
    yield from _wrong_boards(other_plan)


def _on_links(name: str, **rates: float) -> Fault:
    def strike(boards: FaultyBoards, numbers: random.Random) -> None:
        for uart in boards.link_uarts:
            boards.virtual.set_faults(uart, LineFaults(seed=numbers.randrange(1 << 30), **rates))  # type: ignore[arg-type]

    return Fault(name, strike)


def _line_faults() -> Iterator[Fault]:
    for rate in ("1e-6", "1e-5", "1e-4", "3e-4", "1e-3"):
        yield _on_links(f"link: bit errors, {rate}", bit_error_rate=float(rate))
    yield _on_links("link: lost bytes, 1e-3", loss_rate=1e-3)
    yield _on_links("link: doubled bytes, 1e-3", doubling_rate=1e-3)
    yield _on_links("link: inserted bytes, 1e-3", insertion_rate=1e-3)
    yield _on_links("link: bursts of 16 bytes, 1e-3", burst_rate=1e-3)
    yield _on_links("link: framing errors, 1e-3", framing_error_rate=1e-3)
    yield _on_links("link: overruns, 1e-3", overrun_rate=1e-3)
    for percent in (1, 2, 3):
        errors = (percent * 5000, -percent * 5000)
        yield Fault(f"clocks {percent} % apart", _nothing, options={"clock_errors_ppm": errors})


def _cuts() -> Iterator[Fault]:
    for ms in (1, 10, 100, 1000, 10_000):
        yield Fault(f"link: cut for {ms:,} ms", _cut(ms, (0, 1)), settle_ms=ms)
    for ms in (10, 1000):
        yield Fault(f"link: cut for {ms:,} ms, data only", _cut(ms, (1,)), settle_ms=ms)
        yield Fault(f"link: cut for {ms:,} ms, answers only", _cut(ms, (0,)), settle_ms=ms)


def _cut(ms: int, ends: tuple[int, ...]) -> Strike:
    def strike(boards: FaultyBoards, numbers: random.Random) -> None:
        begin = boards.virtual.time_ps + round(numbers.random() * INFERENCE_MS * MS_PS)
        for end in ends:
            cut = LineFaults(cuts_ps=((begin, begin + ms * MS_PS),))
            boards.virtual.set_faults(boards.link_uarts[end], cut)

    return strike


# Host ports


def _host_faults() -> Iterator[Fault]:
    for rate in ("1e-5", "1e-4"):
        yield Fault(f"host: bit errors, {rate}", _on_host_ports(bit_error_rate=float(rate)))
    yield Fault("host: lost bytes, 1e-4", _on_host_ports(loss_rate=1e-4))
    yield Fault("host: disconnected in an inference", _disconnect)
    yield Fault("host: half a command before", _half_a_command)
    yield Fault("host: half a command in an inference", _during(_half_a_command))
    yield Fault("host: 2000 bytes of garbage before", _garbage)
    yield Fault("host: 2000 bytes of garbage in an inference", _during(_garbage))
    yield Fault("host: flood of 300 requests in an inference", _during(_flood))


def _during(what: Strike) -> Strike:
    def strike(boards: FaultyBoards, numbers: random.Random) -> None:
        boards.strike_within(INFERENCE_MS, numbers, lambda: what(boards, numbers))

    return strike


def _on_host_ports(**rates: float) -> Strike:
    def strike(boards: FaultyBoards, numbers: random.Random) -> None:
        for index in range(boards.virtual.board_count):
            for target in ((index, HOST), (index, boards.host_uarts[index])):
                boards.virtual.set_faults(target, LineFaults(seed=numbers.randrange(1 << 30), **rates))  # type: ignore[arg-type]

    return strike


def _disconnect(boards: FaultyBoards, numbers: random.Random) -> None:
    def leave() -> None:
        raise HostGoneError("the host was disconnected")

    boards.strike_within(INFERENCE_MS, numbers, leave)


def _half_a_command(boards: FaultyBoards, numbers: random.Random) -> None:
    kind, payload = numbers.choice(
        [(MessageType.LOAD, pack_load(0, 0, bytes(256))), (MessageType.START, pack_start(0, 0))]
    )
    data = Frame(kind, 200, payload).encode()
    boards.virtual.write(numbers.randrange(2), data[: numbers.randrange(1, len(data))])


def _garbage(boards: FaultyBoards, numbers: random.Random) -> None:
    boards.virtual.write(numbers.randrange(2), numbers.randbytes(2000))


def _flood(boards: FaultyBoards, numbers: random.Random) -> None:
    kinds = (MessageType.IDENTIFY, MessageType.CHECK, MessageType.READ_TIMES)
    data = b"".join(Frame(numbers.choice(kinds), 201, b"").encode() for _ in range(300))
    boards.virtual.write(numbers.randrange(2), data)


# Boards


def _board_faults() -> Iterator[Fault]:
    for index in (0, 1):
        number = index + 1
        yield Fault(f"board {number}: reset in an inference", _reset(index))
        yield Fault(f"board {number}: brown-out of 50 ms", _brown_out(index), settle_ms=100)
        yield Fault(f"board {number}: program hangs", _hang(index))
        yield Fault(f"board {number}: stack overflow", _overflow(index))
        yield Fault(f"board {number}: weight flipped before", _flip(index, is_before=True))
        yield Fault(f"board {number}: weight flipped in an inference", _flip(index, is_before=False))


def _reset(index: int) -> Strike:
    return _during(lambda boards, numbers: boards.virtual.reset_board(index, numbers.choice(CAUSES)))


def _brown_out(index: int) -> Strike:
    return _during(lambda boards, _numbers: boards.virtual.reset_board(index, ResetCause.BROWN_OUT, held_ps=50 * MS_PS))


def _hang(index: int) -> Strike:
    return _during(lambda boards, _numbers: boards.virtual.jump(index, boards.endless_loops[index]))


def _overflow(index: int) -> Strike:
    def overwrite_guard(boards: FaultyBoards, numbers: random.Random) -> None:
        boards.virtual.write_word(index, boards.symbol(index, "_stack_start"), numbers.randrange(1 << 32))

    return _during(overwrite_guard)


def _flip(index: int, *, is_before: bool) -> Strike:
    def strike(boards: FaultyBoards, numbers: random.Random) -> None:
        first, behind = (boards.symbol(index, name) for name in ("_weights_start", "_weights_end"))
        where = (index, numbers.randrange(first, behind), numbers.randrange(8))

        def flip() -> None:
            boards.virtual.flip_flash_bit(*where)
            boards.mend_by(lambda: boards.virtual.flip_flash_bit(*where))

        if is_before:
            flip()
        else:
            boards.strike_within(INFERENCE_MS, numbers, flip)

    return strike


def _wrong_boards(other_plan: Path | None) -> Iterator[Fault]:
    yield _wrong("board 1: never starts", {"dead": 0})
    yield _wrong("board 2: never starts", {"dead": 1})
    yield _wrong("board 2: never starts, seen by board 1", {"dead": 1}, FaultyBoards.join_first)
    yield _wrong("programs swapped", {"order": (1, 0)})
    yield _wrong("both boards have program 1, seen by board 1", {"order": (0, 0)}, FaultyBoards.join_first)
    if other_plan:
        yield _wrong("board 2: older plan", {"second": other_plan})
        yield _wrong("board 2: older plan, seen by board 1", {"second": other_plan}, FaultyBoards.join_first)


def _wrong(name: str, options: Mapping[str, Any], act: Act = FaultyBoards.infer) -> Fault:
    return Fault(name, _nothing, is_permanent=True, options=options, act=act)
