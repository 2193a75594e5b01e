"""Estimated and measured latency and period with the check of the outputs, as JSON; `tables` prints it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from zlib import crc32

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_all
from tinysplit.boards.device_identity import DeviceIdentity
from tinysplit.boards.less_sure import less_sure_json
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.errors import CheckFailedError
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.energy_report import TOO_SHORT, Energy
from tinysplit_hil.measure.measure import Failure, Measurement
from tinysplit_hil.measure.outputs import OutputCheck
from tinysplit_hil.measure.stream import Stream
from tinysplit_hil.measure.timeline.layer_parts import PartTimes
from tinysplit_hil.measure.timeline.report import TimelineReport
from tinysplit_hil.measure.times import MeasuredTime, times_of
from tinysplit_hil.wire.protocol import StackUse

SCHEMA_VERSION = 3
LEAST_FREE_STACK_BYTES = 128  # of handlers that happened not to interrupt the deepest call


@dataclass(frozen=True)
class Latency:
    """L, T and I in seconds (Santamaria 2021, formulas 2, 4 and 5); `overlap_s` is what streamed hand-offs save."""

    l_s: float
    t_s: float
    overlap_s: float = 0.0

    @property
    def i_s(self) -> float:
        """I = L + T, less the overlap."""
        return self.l_s + self.t_s - self.overlap_s

    @property
    def values(self) -> tuple[float, float, float]:
        """L, T, I."""
        return self.l_s, self.t_s, self.i_s


@dataclass(frozen=True)
class MeasureReport:
    """A project, its measurement sample by sample, and the check of all outputs.

    `stream`: of a pipelined measurement; `timeline`: of inferences that were recorded after the samples; `parts`: of a
    distributed network, what each board did for each layer in an inference of its own. By board number: `stacks`,
    `devices`, as far as their probes read them, and the `compilers` of the programs that are there.
    """

    project: Project
    measurement: Measurement
    outputs: OutputCheck
    stream: Stream | None = None
    timeline: TimelineReport | None = None
    parts: tuple[PartTimes, ...] = ()
    stacks: Mapping[int, StackUse] = field(default_factory=dict)
    devices: Mapping[int, DeviceIdentity] = field(default_factory=dict)
    compilers: Mapping[int, str] = field(default_factory=dict)

    @property
    def estimated(self) -> Latency:
        """Latency as the cost model estimates it."""
        project = self.project
        return Latency(project.estimated_l_s, project.estimated_t_s, project.estimated_saved_s)

    @property
    def measured(self) -> Latency:
        """Latency on the boards, mean over samples."""
        measurement = self.measurement
        l_s, t_s = measurement.l_s.mean, measurement.t_s.mean
        return Latency(l_s, t_s, l_s + t_s - measurement.i_s.mean if self.project.overlaps else 0.0)

    @property
    def energies(self) -> tuple[tuple[str, Energy], ...]:
        """Energy of one inference on boards at rest, and, of a stream, of one among many; each with its title."""
        project = self.project
        alone = Energy(project, project.estimated_alone, self.measurement.activities)
        if self.stream is None:
            return (("one alone", alone),)
        why_not = TOO_SHORT.format(len(self.stream.samples)) if self.stream.is_too_short else None
        streamed = Energy(project, project.estimated_in_stream, self.stream.activities, why_not)
        return ("one alone", alone), ("in a stream", streamed)

    @property
    def virtual_boards(self) -> tuple[Board, ...]:
        """The boards whose measured times are those of a model."""
        is_virtual = self.measurement.rig.kind == VIRTUAL
        return load_all([each.name for each in self.project.boards]) if is_virtual else ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Samples that the boards gave no output for, in either mode."""
        return self.measurement.failures + (self.stream.failures if self.stream else ())

    @property
    def not_run(self) -> int:
        """Number of samples that were left out after too many failures."""
        return self.measurement.not_run + (self.stream.not_run if self.stream else 0)

    def check(self) -> None:
        """Raise CheckFailedError unless all outputs are there and bit-exact, and all stacks have enough left."""
        self.outputs.check()
        if self.failures:
            first, number = self.failures[0], len(self.failures)
            what = "1 sample" if number == 1 else f"{number} samples"
            rest = f" and {self.not_run} were not run" if self.not_run else ""
            raise CheckFailedError(f"{what} failed{rest}; sample {first.sample + 1}: {first.reason}")
        for problem in filter(None, self.stack_problems.values()):
            raise CheckFailedError(problem)

    @property
    def stack_problems(self) -> Mapping[int, str]:
        """Why the stack of each board is too small, by number, "" where it is not."""
        return {number: self._stack_problem(number, stack) for number, stack in self.stacks.items()}

    def _stack_problem(self, number: int, stack: StackUse) -> str:
        if stack.free_bytes >= LEAST_FREE_STACK_BYTES:
            return ""
        return (
            f"{self.project.board(number).title} has used {stack.used_bytes} of {stack.stack_bytes} bytes of its "
            f"stack, of which {LEAST_FREE_STACK_BYTES} have to be left: raise STACK_BYTES in board_files.py"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, times in seconds."""
        rig = self.measurement.rig
        return {
            "schema_version": SCHEMA_VERSION,
            "tinysplit_version": self.project.tinysplit_version,
            "model": self.project.model.model_dump(),
            "bits": self.project.bits,
            "baud": self.project.baud,
            "project_hash": self.project.project_hash,
            "rig": rig.kind,
            "rig_note": rig.note,
            "memory": rig.memory,
            "timing": rig.timing,
            **less_sure_json(self.virtual_boards),
            "boards": self._boards_json(),
            "estimated_i_s": self.estimated.i_s,
            "measured_i_s": self.measurement.i_s.mean,
            "estimated_period_s": self.project.estimated_period_s,
            "input_source": self.project.input_source,
            "measured_period_s": self.stream.period_s if self.stream else None,
            "one_board_period_s": self.project.one_board_period_s,
            "pipelined": self._stream_json(self.stream) if self.stream else None,
            "failures": [{"sample": each.sample + 1, "reason": each.reason} for each in self.failures],
            "not_run": self.not_run,
            "latency": {
                "estimated": dict(zip("LTI", self.estimated.values, strict=True)),
                "measured": dict(zip("LTI", self.measured.values, strict=True)),
            },
            "energy": {title.replace(" ", "_"): energy.to_json() for title, energy in self.energies},
            "timeline": self.timeline.to_json() if self.timeline else None,
            "times": [time.to_json() for time in self.times],
            "layers": self._layers_json(),
            "parts": [part.to_json() for part in self.parts],
            "cuts": self._cuts_json(),
            "output": self._output_json(),
        }

    def _output_json(self) -> dict[str, Any]:
        outputs = self.outputs
        return {
            "bit_exact": outputs.bit_exact,
            "samples": outputs.samples,
            "differing": list(outputs.differing),
            "crc32": self._output_crcs(),
            "reference_samples": outputs.reference_samples,
            **asdict(outputs.worst),
            "outputs": {name: asdict(errors) for name, errors in outputs.outputs.items()},
        }

    @property
    def times(self) -> tuple[MeasuredTime, ...]:
        """All times with their statistics: L, T, I, the period, layers and cuts."""
        return tuple(times_of(self.project, self.measurement, self.stream))

    def _output_crcs(self) -> dict[str, str]:
        """Return the CRC-32 of each output by the number of its sample, from 1."""
        parts = [(self.measurement.samples, self.measurement.outputs)]
        parts += [(self.stream.samples, self.stream.outputs)] if self.stream else []
        return {
            str(sample + 1): f"{crc32(output.tobytes()):08x}"
            for samples, outputs in parts
            for sample, output in zip(samples, outputs, strict=True)
        }

    def _stream_json(self, stream: Stream) -> dict[str, Any]:
        return {
            "samples": len(stream.samples),
            "copies": [list(copy) for copy in self.project.copies],
            "host_port_share": stream.host_port_share,
        }

    def _boards_json(self) -> list[dict[str, Any]]:
        identities = self.measurement.identities
        return [
            {
                "number": board.number,
                "name": board.name,
                "core_hz": identities[board.number].core_hz,
                "timer_hz": identities[board.number].timer_hz,
                "measured_s": self.board_l_s(board.number),
                **self._stack_json(board.number),
                "device": device.model_dump() if (device := self.devices.get(board.number)) else None,
                "compiler": self.compilers.get(board.number),
            }
            for board in self.project.boards
        ]

    def _stack_json(self, number: int) -> dict[str, int | None]:
        stack = self.stacks.get(number)
        return {
            "stack_bytes": stack.stack_bytes if stack else None,
            "stack_used_bytes": stack.used_bytes if stack else None,
        }

    def board_l_s(self, number: int) -> float:
        """Return the seconds of all layers of board `number` (from 1), mean over samples."""
        return sum(time.seconds.mean for time in self.measurement.layers if time.layer.board == number)

    def _layers_json(self) -> list[dict[str, Any]]:
        return [
            {
                "number": time.layer.number,
                "name": time.layer.name,
                "kind": time.layer.kind,
                "board": time.layer.board,
                "part": time.layer.part.model_dump(mode="json") if time.layer.part else None,
                "macc": time.layer.macc,
                "cycles": time.cycles.mean,
                "cycles_min": time.cycles.smallest,
                "cycles_max": time.cycles.largest,
                "estimated_cycles": time.layer.estimated_cycles,
                "estimated_s": time.layer.estimated_s,
                "measured_s": time.seconds.mean,
            }
            for time in self.measurement.layers
        ]

    def _cuts_json(self) -> list[dict[str, Any]]:
        return [
            {
                "number": time.cut.number,
                "after_layer": time.cut.after_layer,
                "from_board": time.cut.from_board,
                "to_board": time.cut.to_board,
                "payload_bytes": time.cut.payload_bytes,
                "estimated_s": time.cut.estimated_s,
                "measured_s": time.seconds.mean,
                "measured_min_s": time.seconds.smallest,
                "measured_max_s": time.seconds.largest,
                "repeats": time.repeats,
            }
            for time in self.measurement.cuts
        ]
