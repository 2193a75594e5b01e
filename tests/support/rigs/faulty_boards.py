"""A project on virtual boards that faults strike at a chosen time, and what becomes of its inferences."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx
import serial
from elftools.elf.elffile import ELFFile
from rich.console import Console

from models.onnx_builder import OnnxBuilder
from tinysplit import pipeline
from tinysplit.boards.catalog import load_board
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.choices import Slices
from tinysplit.common.errors import ToolError
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.rig.virtual_clock import VirtualClock
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.protocol import BoardError
from tinysplit_hil.wire.request_port import Port
from tinysplit_hil.wire.tasks import T, Task, run_task
from virtual_stm32 import VirtualBoard, VirtualRig, Wire, open_registered
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.rig import HOST

MS_PS = PS_PER_S // 1000
LONGEST_S = 12.0
ALL_BOARDS = CostSettings(baud=921_600, use_all=True)
WHOLE_LAYERS = Search(slices=Slices.NONE)
ENDLESS_LOOP = b"\xfe\xe7"  # b .

Strike = Callable[[], None]


def build_small_network(
    out: Path,
    *board_names: str,
    settings: CostSettings = ALL_BOARDS,
    search: Search = WHOLE_LAYERS,
    pointwise_layers: int = 1,
    seed: int = 1,
    programs: ProgramOptions = PLAIN,
    change: Callable[[Project, Path], None] = lambda _project, _folder: None,
) -> Project:
    """Build three layers of a few milliseconds, or more; `seed` is that of the weights.

    Every cut between whole layers has 2304 bytes, two frames. `change` may change the generated folder before it is
    built.
    """
    out.mkdir(parents=True)
    numbers = np.random.default_rng(seed)
    builder = OnnxBuilder((1, 1, 16, 16))
    builder.node("Conv", builder.constant(numbers.normal(size=(9, 1, 3, 3))), pads=[1, 1, 1, 1])
    builder.node("Relu")
    for _ in range(pointwise_layers):
        builder.node("Conv", builder.constant(numbers.normal(size=(9, 9, 1, 1))))
        builder.node("Relu")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(numbers.normal(size=(2304, 10)) / 16), builder.constant(np.zeros(10)))
    onnx.save(builder.model(), out / "small.onnx")
    np.savez(out / "samples.npz", x=numbers.normal(size=(32, 1, 16, 16)).astype(np.float32))
    context = Context.load(out / "small.onnx", board_names, settings, Console(quiet=True))
    context = replace(context, programs=programs)
    split = pipeline.describe_split(context, pipeline.split_network(context, search))
    project = pipeline.generate_folder(context, split, out / "samples.npz", out / "project")
    change(project, out / "project")
    build_folder(project, out / "project", Console(quiet=True)).check()
    return project


@dataclass(frozen=True)
class Outcome:
    """Of one inference: its error, None if its output came, whether that is right, and the virtual time it took."""

    error: str | None
    is_right: bool
    seconds: float


class StrikingClock(VirtualClock):
    """The clock of a virtual rig, which lets faults strike at their times while the host waits."""

    def __init__(self, rig: VirtualRig) -> None:
        """Nothing is to strike yet."""
        super().__init__(rig)
        self._strikes: list[tuple[int, Strike]] = []

    def strike_at(self, ps: int, strike: Strike) -> None:
        """Call `strike` at virtual time `ps`."""
        self._strikes = sorted([*self._strikes, (ps, strike)], key=lambda each: each[0])

    def forget_strikes(self) -> None:
        """Let nothing strike any more."""
        self._strikes.clear()

    def wait(self, timeout_s: float) -> None:
        """Run the boards as VirtualClock does, at the latest until a fault strikes."""
        now_ps = self._rig.time_ps
        if self._strikes:
            timeout_s = min(timeout_s, max(0, self._strikes[0][0] - now_ps) / PS_PER_S)
        super().wait(timeout_s)
        while self._strikes and self._strikes[0][0] <= self._rig.time_ps:
            self._strikes.pop(0)[1]()


@dataclass
class FaultyBoards:
    """Virtual boards of a project, its samples, and their right outputs."""

    project: Project
    virtual: VirtualRig
    rig: Rig
    clock: StrikingClock
    inputs: IntArray
    expected: IntArray
    elfs: Sequence[Path]
    link_uarts: Sequence[tuple[int, str]]
    _mends: list[Strike] = field(default_factory=list)

    @property
    def host_uarts(self) -> Sequence[str]:
        """Names of the UARTs of the boards' host ports."""
        return [load_board(board.name).host_uart.name for board in self.project.boards]

    def infer(self, sample: int) -> Outcome:
        """Run one inference in a run of its own, as `tinysplit measure` does."""
        start_s = self.virtual.time_s
        index = sample % len(self.inputs)
        try:
            outputs = measure(self.project, self.rig, self.inputs[index : index + 1], fail_fast=True).outputs
        except ToolError as error:
            return Outcome(str(error), is_right=False, seconds=self.virtual.time_s - start_s)
        is_right = bool((outputs[0] == self.expected[index]).all())
        return Outcome(None, is_right, self.virtual.time_s - start_s)

    def strike_within(self, ms: float, numbers: random.Random, strike: Strike) -> None:
        """Let a fault strike at a random time from now on."""
        self.clock.strike_at(self.virtual.time_ps + round(numbers.random() * ms * MS_PS), strike)

    def join_first(self, sample: int) -> Outcome:
        """Let the host of the first board alone start a run, and wait for an error."""
        del sample
        start_s = self.virtual.time_s
        clients = self.rig.clients(self.project)
        first = clients[1]
        run = self.ask(clients, first.identify()).run + 1
        self.ask(clients, first.reset(run))
        error = ""
        while not error and self.virtual.time_s < start_s + LONGEST_S:
            identity = self.ask(clients, first.identify())
            error = str(BoardError(identity.error, identity.error_detail)) if identity.error else ""
        return Outcome(error or "nothing", is_right=False, seconds=self.virtual.time_s - start_s)

    def ask(self, clients: Mapping[int, BoardClient], task: Task[T]) -> T:
        """Run a task; bytes at any port let virtual time rest until they are read."""

        def poll() -> None:
            for client in clients.values():
                client.poll()

        return run_task(self.clock, poll, task)

    def mend_by(self, mend: Strike) -> None:
        """Let heal() call `mend`."""
        self._mends.append(mend)

    def heal(self) -> None:
        """Remove the faults of all lines, those that have not struck yet, and what somebody has to mend."""
        self.clock.forget_strikes()
        while self._mends:
            self._mends.pop()()
        host_ports = [end for index, uart in enumerate(self.host_uarts) for end in ((index, HOST), (index, uart))]
        for target in (*self.link_uarts, *host_ports):
            self.virtual.set_faults(target, None)

    def settle(self, ms: float) -> None:
        """Let virtual time pass."""
        self.virtual.run_until(self.virtual.time_ps + round(ms * MS_PS))

    def symbol(self, index: int, name: str) -> int:
        """Return the address of a symbol of a board's program."""
        with self.elfs[index].open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            values = [symbol["st_value"] for symbol in table.get_symbol_by_name(name)]
            return int(values[0])

    @cached_property
    def endless_loops(self) -> tuple[int, ...]:
        """Addresses of an endless loop in every board's program."""
        return tuple(map(_endless_loop, self.elfs))


def _endless_loop(path: Path) -> int:
    with path.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text")
        at: int = -1
        while True:
            at = text.data().index(ENDLESS_LOOP, at + 1)
            if at % 2 == 0:
                return int(text["sh_addr"]) + at


def _wires(project: Project) -> list[Wire]:
    return [Wire(*((end.board - 1, end.uart) for end in link.ends)) for link in project.links]


def inputs_and_outputs(folder: Path, project: Project) -> tuple[IntArray, IntArray]:
    """Return the integers of the samples, and the outputs by the integer reference, samples x elements."""
    quantized = read_quantized(folder, project)
    samples = load_samples(folder.parent / "samples.npz", quantized.graph)
    outputs = run_integer(quantized, samples.x)
    return quantize_input(quantized, samples.x), outputs.reshape(len(outputs), -1)


def _open_ports(stack: ExitStack, name: str, project: Project) -> dict[int, Port]:
    urls = {board.number: f"virtual://{name}/{index}" for index, board in enumerate(project.boards)}
    return {
        number: stack.enter_context(serial.serial_for_url(url, baudrate=project.host_baud))
        for number, url in urls.items()
    }


@contextmanager
def faulty_boards(
    project: Project,
    folder: Path,
    *,
    order: Sequence[int] | None = None,
    second: Path | None = None,
    clock_errors_ppm: Sequence[int] = (),
    dead: int | None = None,
) -> Iterator[FaultyBoards]:
    """Open virtual boards with a built project; `dead` is a board that does not start.

    `order`: whose program each board has; `second`: another program of the second board.
    """
    elfs = [project.boards[index].elf(folder) for index in order or range(len(project.boards))]
    if second:
        elfs[1] = second
    kinds = [load_board(board.name) for board in project.boards]
    errors = clock_errors_ppm or [0] * len(kinds)
    boards = [
        VirtualBoard(*each, starts=index != dead) for index, each in enumerate(zip(kinds, elfs, errors, strict=True))
    ]
    wires = _wires(project)
    inputs, expected = inputs_and_outputs(folder, project)
    with ExitStack() as stack:
        name = f"faulty-{project.project_hash:08x}"
        virtual = stack.enter_context(open_registered(name, VirtualRig(boards, wires)))
        ports = _open_ports(stack, name, project)
        clock = StrikingClock(virtual)
        faulty = FaultyBoards(
            project=project,
            virtual=virtual,
            rig=Rig("virtual", "", "real", ports, clock),
            clock=clock,
            inputs=inputs,
            expected=expected,
            elfs=elfs,
            link_uarts=tuple(end for wire in wires for end in (wire.first, wire.second)),
        )
        faulty.settle(10)
        yield faulty
