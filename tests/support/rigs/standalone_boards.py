"""Virtual boards that run without a host, with an application that gives samples and notes results."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from rigs.faulty_boards import ALL_BOARDS, MS_PS, WHOLE_LAYERS, build_small_network, inputs_and_outputs
from session.shared_folder import made_once
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.choices import Copies, InputSource, Slices
from tinysplit.costs.settings import CostSettings
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.activity import BoardActivity
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.project.standalone import ProjectStandalone
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective
from tinysplit_hil.rig.account import Account, activities_between
from tinysplit_hil.rig.project_rig import project_wires
from tinysplit_hil.wire.protocol import StandaloneCounters
from virtual_stm32 import VirtualBoard, VirtualRig, Wire
from virtual_stm32.line_faults import LineFaults

SAMPLES = 5
WWDG = 0  # position in the vector table of the interrupt that the application handles
LONGEST_WAIT_MS = 0.1
INTERRUPT_WITHIN_MS = 1.0
STEP_PS = 5 * MS_PS  # between two looks at the results
RING = 16  # results that the application keeps
WORD_BYTES = 4
FREE_RUNNING = ProjectStandalone()


@dataclass(frozen=True)
class Division:
    """How the small network lies on boards."""

    title: str
    boards: tuple[str, ...]
    settings: CostSettings = ALL_BOARDS
    search: Search = WHOLE_LAYERS
    pointwise_layers: int = 1


def _divided(title: str, *boards: str, slices: Slices) -> Division:
    settings = replace(ALL_BOARDS, input_source=InputSource.BOARD)
    return Division(title, boards, settings, Search(slices=slices))


_G071, _F401 = "nucleo_g071rb", "nucleo_f401re"
_BEST_PERIOD = replace(ALL_BOARDS, objective=Objective.THROUGHPUT, input_source=InputSource.BOARD)
DIVISIONS = (
    Division("whole layers", (_G071, _F401)),
    Division("whole layers", (_F401, _G071, _G071)),
    Division("whole layers", (_G071, _F401, _G071, _F401), pointwise_layers=2),
    Division("pipeline", (_G071, _F401, _G071), _BEST_PERIOD),
    Division("copies", (_G071, _G071), _BEST_PERIOD, Search(copies=Copies.ALWAYS, slices=Slices.NONE)),
    _divided("rows", _G071, _G071, slices=Slices.ROWS),
    _divided("rows", _G071, _F401, _G071, slices=Slices.ROWS),
    _divided("channels", _G071, _G071, _G071, slices=Slices.CHANNELS),
)

INPUT = """
static const tinysplit_input_t samples[{samples}][TINYSPLIT_INPUT_VALUES] = {{{rows}}};
volatile uint32_t given;
volatile uint32_t is_silent; /* the test wants no inputs */
bool application_input(tinysplit_input_t *input) {{
  if (is_silent) return false;
  for (uint32_t i = 0; i < TINYSPLIT_INPUT_VALUES{overrun}; i++) {{
    input[i] = samples[given % {samples}u][i % TINYSPLIT_INPUT_VALUES];
  }}
  given++;
  return true;
}}
"""
OUTPUT = """
volatile uint32_t got;
tinysplit_output_t results[{ring}][{stride}] __attribute__((aligned(4)));
void application_output(const tinysplit_output_t *output) {{
  for (uint32_t i = 0; i < TINYSPLIT_OUTPUT_VALUES; i++) results[got % {ring}u][i] = output[i];
  got++;
}}
"""
OTHERS = """
volatile uint32_t begun, failures, reason, board_of_failure, idled;
volatile uint32_t blocks; /* the test wants this call to block, or none */
volatile uint32_t interrupts;
void application_WWDG_IRQHandler(void);
void application_WWDG_IRQHandler(void) {{ interrupts++; }}
void application_begin(void) {{
  begun++;
  *(volatile uint32_t *)0xE000E100 = 1; /* NVIC: enables interrupt 0, the WWDG's, and lets it come */
  *(volatile uint32_t *)0xE000E200 = 1;
}}
void application_failure(uint8_t why, uint8_t board) {{
  while (!begun) continue; /* as one that needs what application_begin has switched on */
  failures++;
  reason = why;
  board_of_failure = board;
}}
void application_idle(void) {{
  idled++;
  while (blocks) continue;
}}
"""

OBJECT = """
volatile unsigned constructed;
struct Object { Object() { constructed = constructed + 1; } };
static Object object;
"""


def application(board: ProjectBoard, inputs: IntArray, result_values: int, overrun: int = 0) -> str:
    """Return the application of a board; `overrun` is the number of values that it writes behind the input."""
    text = '#include "application.h"\n' + OTHERS.format()
    if board.takes_input:
        rows = ",\n".join(f"{{{', '.join(map(str, sample.ravel()))}}}" for sample in inputs)
        extra = f" + {overrun}u" if overrun else ""
        text += INPUT.format(samples=len(inputs), rows=rows, overrun=extra)
    if board.gives_output:
        text += OUTPUT.format(ring=RING, stride=-(-result_values // WORD_BYTES) * WORD_BYTES)
    return text


def write_applications(project: Project, folder: Path, inputs: IntArray, result_values: int, overrun: int = 0) -> None:
    """Write the application of each board into a generated folder."""
    for board in project.boards:
        sources = folder / board.directory / "src"
        (sources / "application.c").write_text(application(board, inputs[:SAMPLES], result_values, overrun))
        (sources / "application_object.cpp").write_text(OBJECT)


def build_standalone(
    out: Path, division: Division, standalone: ProjectStandalone = FREE_RUNNING, overrun: int = 0
) -> Project:
    """Build the small network for boards without a host, in a folder of `out`."""

    def change(project: Project, folder: Path) -> None:
        inputs, expected = inputs_and_outputs(folder, project)
        write_applications(project, folder, inputs, expected.shape[1], overrun)

    return build_small_network(
        out,
        *division.boards,
        settings=division.settings,
        search=division.search,
        pointwise_layers=division.pointwise_layers,
        programs=ProgramOptions(standalone=standalone),
        change=change,
    )


def standalone_project(
    division: Division, standalone: ProjectStandalone = FREE_RUNNING, overrun: int = 0
) -> tuple[Project, Path]:
    """Return the project of `build_standalone` and its folder, built once for all tests."""
    choices = (standalone.frame_us, standalone.late_inputs, standalone.low_power, overrun)
    name = "-".join(("standalone", division.title, *division.boards, *map(str, choices))).replace(" ", "-")
    made = made_once(name, lambda out: build_standalone(out, division, standalone, overrun))
    return Project.read(made / "project"), made / "project"


def symbols(elf: Path) -> dict[str, int]:
    """Return the addresses of a program's symbols by their names."""
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {symbol.name: int(symbol["st_value"]) for symbol in table.iter_symbols()}


@dataclass
class StandaloneBoards:
    """Virtual boards without a host: `expected` are the right results of the samples, which come in turn."""

    project: Project
    folder: Path
    virtual: VirtualRig
    expected: IntArray
    wires: Sequence[Wire]
    right_of: Counter[int] = field(default_factory=Counter)  # results of each board, by its index
    wrong: list[IntArray] = field(default_factory=list)
    result_ms: list[float] = field(default_factory=list)  # when each result was there, to a step
    _seen: dict[int, int] = field(default_factory=dict)  # results of each board

    @cached_property
    def _symbols(self) -> Sequence[dict[str, int]]:
        return [symbols(board.elf(self.folder)) for board in self.project.boards]

    def symbol(self, board: int, name: str) -> int:
        """Return the address of a symbol of a board's program, by the board's index."""
        return self._symbols[board][name]

    def read(self, board: int, name: str) -> int:
        """Return a variable of a board's program."""
        return self.virtual.read_word(board, self.symbol(board, name))

    def set(self, board: int, name: str, value: int) -> None:
        """Change a variable of a board's program."""
        self.virtual.write_word(board, self.symbol(board, name), value)

    def counters(self, board: int) -> StandaloneCounters:
        """Return what a board has counted."""
        at = self.symbol(board, "standalone_counters")
        size_bytes = len(StandaloneCounters.__dataclass_fields__) * WORD_BYTES
        words = (self.virtual.read_word(board, at + offset) for offset in range(0, size_bytes, WORD_BYTES))
        return StandaloneCounters.unpack(b"".join(word.to_bytes(WORD_BYTES, "little") for word in words))

    def accounts(self) -> dict[int, Account]:
        """Return what the boards have done since their resets, by number."""
        virtual = self.virtual
        return {
            board.number: Account(virtual.cycles(index), virtual.slept_cycles(index), 0, virtual.stopped_s(index))
            for index, board in enumerate(self.project.boards)
        }

    def activities(self, ms: float) -> tuple[BoardActivity, ...]:
        """Let time pass, and return what the boards do meanwhile."""
        before = self.accounts()
        self.run(ms)
        return activities_between(before, self.accounts(), {each.number: each.core_hz for each in self.project.boards})

    @property
    def first(self) -> int:
        """Index of the board that reads the input."""
        return next(index for index, board in enumerate(self.project.boards) if board.takes_input)

    @cached_property
    def outputs(self) -> Sequence[int]:
        """Indices of the boards that have the output: of copies, each."""
        return [index for index, board in enumerate(self.project.boards) if board.gives_output]

    @property
    def right(self) -> int:
        """Right results of all boards."""
        return self.right_of.total()

    @property
    def last(self) -> int:
        """Index of the board that has the output, of copies the first one."""
        return self.outputs[0]

    def run(self, ms: float) -> None:
        """Let time pass, and look at what results come."""
        end_ps = self.virtual.time_ps + round(ms * MS_PS)
        while self.virtual.time_ps < end_ps:
            self.virtual.run_until(min(end_ps, self.virtual.time_ps + STEP_PS))
            for index in self.outputs:
                self._look(index)

    def run_to(self, results: int, within_ms: float) -> bool:
        """Let time pass until so many more results are right, or it is up; return whether they are, and none wrong."""
        end_ps, wanted = self.virtual.time_ps + round(within_ms * MS_PS), self.right + results
        while self.right < wanted and self.virtual.time_ps < end_ps:
            self.run(STEP_PS / MS_PS)
        return self.right >= wanted and not self.wrong

    def skip(self) -> None:
        """Leave out the results that are there already."""
        self._seen = {index: self.read(index, "got") for index in self.outputs}

    def _look(self, index: int) -> None:
        count, seen = self.read(index, "got"), self._seen.get(index, 0)
        if not 0 <= count - seen <= RING:  # the board has started anew, or its RAM has random contents
            seen = 0
        if count <= seen + RING:
            for number in range(seen, count):
                self._take(index, number)
            self._seen[index] = count

    def _take(self, index: int, number: int) -> None:
        values = self.expected.shape[1]
        words = -(-values // WORD_BYTES)
        at = self.symbol(index, "results") + number % RING * words * WORD_BYTES
        raw = b"".join(self.virtual.read_word(index, at + WORD_BYTES * i).to_bytes(4, "little") for i in range(words))
        result = np.frombuffer(raw, np.int8)[:values]
        if (self.expected == result).all(axis=1).any():
            self.right_of[index] += 1
            self.result_ms.append(self.virtual.time_ps / MS_PS)
        else:
            self.wrong.append(result)


@contextmanager
def standalone_boards(project: Project, folder: Path, ram_seed: int = 0) -> Iterator[StandaloneBoards]:
    """Power up the boards of a project of `standalone_project`."""
    boards = [VirtualBoard(load_board(board.name), board.elf(folder)) for board in project.boards]
    wires = project_wires(project)
    _, expected = inputs_and_outputs(folder, project)
    virtual = VirtualRig(boards, wires, ram_seed=ram_seed)
    opened = StandaloneBoards(project, folder, virtual, expected[:SAMPLES], wires)
    for index in range(len(boards)):
        virtual.mark(index, [opened.symbol(index, "application_WWDG_IRQHandler") & ~1])
    yield opened


def interrupt_latencies(boards: StandaloneBoards, index: int, count: int) -> list[int]:
    """Raise the application's interrupt `count` times while a board works.

    Returns the cycles from each to the first instruction of its handler.
    """
    numbers = random.Random(f"interrupts of board {index}")  # noqa: S311 (no secret)
    cycles = []
    for _ in range(count):
        boards.run(INTERRUPT_WITHIN_MS * numbers.random())
        raised = boards.virtual.cycles(index)
        boards.virtual.interrupt(index, WWDG)
        boards.run(LONGEST_WAIT_MS)
        entered = [cycle for _, cycle, _ in boards.virtual.marks(index) if cycle >= raised]
        cycles.append(entered[0] - raised)
    return cycles


def cut(boards: StandaloneBoards, ms: float, wire: int = 0) -> None:
    """Cut a wire from now on for some milliseconds."""
    now_ps = boards.virtual.time_ps
    for end in (boards.wires[wire].first, boards.wires[wire].second):
        boards.virtual.set_faults(end, LineFaults(cuts_ps=((now_ps, now_ps + round(ms * MS_PS)),)))


def babble(boards: StandaloneBoards, seed: int, wire: int = 0) -> None:
    """Let a wire carry random bytes from now on, until `heal`."""
    for end in (boards.wires[wire].first, boards.wires[wire].second):
        boards.virtual.set_faults(end, LineFaults(seed=seed, burst_rate=0.5, insertion_rate=0.2, loss_rate=0.2))


def heal(boards: StandaloneBoards, wire: int = 0) -> None:
    """Remove the faults of a wire."""
    for end in (boards.wires[wire].first, boards.wires[wire].second):
        boards.virtual.set_faults(end, None)
