"""Measure our kernels on the virtual boards and write generator/tinysplit/data/cycles.json.

Every calibration network is generated, built and run on two boards of each core. Cycles a layer give the costs of its
kind by least squares, the time of the cut beyond that of its bits what a board adds to a transfer, and the ELF files
the bytes of code and firmware. Takes some minutes: .venv/bin/python benchmarks/calibrate_cycles.py
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from configparser import ConfigParser
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

from calibration_networks import calibration_networks
from tinysplit.boards import load_board
from tinysplit.build import build_projects
from tinysplit.build_report import BuildReport
from tinysplit.cost_model import CostSettings, make_problem
from tinysplit.cycles import TABLE_NAME, CycleTable, FirmwareBytes, KernelCosts, fit, load_cycle_table
from tinysplit.elf import ElfSizes
from tinysplit.generate import generate
from tinysplit.graph import Graph
from tinysplit.hardware import Board
from tinysplit.layers import Layer
from tinysplit.plan import make_plan
from tinysplit.platformio_project import COMPILER
from tinysplit.project import Project
from tinysplit.quantize import choose_formats, quantize
from tinysplit.quantized import QuantizedGraph
from tinysplit.techniques import TECHNIQUES, Technique, Widths, candidates, is_named
from tinysplit.transfers import link_seconds
from tinysplit.units import KB
from tinysplit_hil.measure import measure
from tinysplit_hil.rig import open_rig

COMMAND = "benchmarks/calibrate_cycles.py"
TABLE = Path(__file__).parent.parent / "generator" / "tinysplit" / "data" / TABLE_NAME
BOARDS = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_h743zi")  # a family each
BAUD = 1_000_000
NAMED = [technique.name for technique in TECHNIQUES if not technique.is_automatic]
FLASH_MARGIN_BYTES = 512  # kernels of shapes that no network here has may be longer
VALUE_RANGE = (-8.0, 8.0)


@dataclass
class Findings:
    """What all networks together have shown."""

    cycles: dict[tuple[str, str], list[tuple[Technique, Layer, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    code_bytes: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))
    link_cycles: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    firmware: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    flags: set[str] = field(default_factory=set)


def calibrate(graph: Graph, board: Board, bits: int, findings: Findings, name: str | None) -> None:
    """Run `graph` on two boards of a kind and add what is found; with a technique's `name` what it is found for."""
    core, widths = board.device.core, Widths.all(bits)
    named = [
        (number, name)
        for number, layer in enumerate(graph.layers)
        if name and any(is_named(each, layer, name) for each in candidates(layer, core, widths))
    ]
    if name and not named:
        return
    settings = CostSettings(bits=bits, baud=BAUD)
    quantized = _quantize(graph, bits)
    middle = len(graph.layers) // 2
    assignment = (0,) * middle + (1,) * (len(graph.layers) - middle)
    problem = make_problem(graph, (board, board), settings)
    plan = make_plan(graph, bits, (board, board), problem, assignment, settings.link_settings, techniques=named)
    with _folder() as folder:
        project = generate(quantized, plan, BAUD, 0, onnx.ModelProto(), folder)
        elfs = build_projects([folder / own.directory for own in project.boards])
        counted = [number + 1 for number, _ in named] or [layer.number for layer in project.layers]
        _add_sizes(BuildReport.read(project, elfs), project, graph, board, counted, findings)
        _add_times(project, folder, quantized, board, counted, findings)
        ini = ConfigParser(interpolation=None)
        ini.read(folder / project.boards[0].directory / "platformio.ini", encoding="utf-8")
        findings.flags.update(flag for flag in ini["env"]["build_flags"].split() if flag.startswith("-O"))


def _quantize(graph: Graph, bits: int) -> QuantizedGraph:
    """Quantize with one range for all values, but half of it for those of one branch that join another."""
    joined = {layer.output for layer in graph.layers if len(layer.inputs) > 1}
    joining = {name for layer in graph.layers for name in layer.inputs[1:]} - joined
    ranges = dict.fromkeys(graph.value_names, VALUE_RANGE)
    ranges |= dict.fromkeys(joining, (VALUE_RANGE[0] / 2, VALUE_RANGE[1] / 2))
    return quantize(graph, choose_formats(graph, ranges, bits), bits)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "out"


def _add_sizes(
    report: BuildReport, project: Project, graph: Graph, board: Board, counted: Sequence[int], findings: Findings
) -> None:
    for built in report.boards:
        sizes = built.sizes
        kernels = sum(sizes.layer_code_bytes.values()) + sum(sizes.shared_code_bytes.values())
        own = (sizes.code_bytes - kernels, sum(use.used_bytes for use in sizes.ram) - sizes.arena_bytes)
        findings.firmware[board.device.family].append(own)
        for number in sizes.layer_code_bytes.keys() & set(counted):
            technique, layer = _technique(project, number), graph.layers[number - 1]
            key = (board.device.core, str(project.bits), technique.cost_kind(layer))
            code_bytes = sizes.layer_code_bytes[number] + _largest_shared(sizes, technique.shared_code(layer))
            findings.code_bytes[key] = max(findings.code_bytes[key], code_bytes)


def _largest_shared(sizes: ElfSizes, prefix: str | None) -> int:
    """Return the bytes of the largest function that a layer may bring along: promised to each, there once for many."""
    if prefix is None:
        return 0
    return max((size for name, size in sizes.shared_code_bytes.items() if name.startswith(prefix)), default=0)


def _add_times(
    project: Project, folder: Path, quantized: QuantizedGraph, board: Board, counted: Sequence[int], findings: Findings
) -> None:
    x_format, shape = quantized.input_format, quantized.graph.in_shape
    rng = np.random.default_rng(1)
    inputs = rng.integers(x_format.low, x_format.high, (1, *shape), dtype=x_format.dtype, endpoint=True)
    with open_rig("virtual", project, folder) as rig:
        measured = measure(project, rig, inputs)
    core = board.device.core
    for layer in measured.layers:
        if layer.number in counted:
            technique, own = _technique(project, layer.number), quantized.graph.layers[layer.number - 1]
            findings.cycles[core, str(project.bits)].append((technique, own, layer.cycles.mean))
    uart = board.link_uarts[0]
    for cut, time in zip(project.cuts, measured.cuts, strict=True):
        beyond_s = time.seconds.mean - link_seconds(cut.payload_bytes, uart, uart, BAUD)
        findings.link_cycles[core].append(max(0.0, beyond_s) * board.clock.core_hz / 2)  # two boards add it


def _technique(project: Project, number: int) -> Technique:
    name = project.layers[number - 1].memory.technique
    return next(technique for technique in TECHNIQUES if technique.name == name)


def _table(findings: Findings) -> CycleTable:
    cores: dict[str, dict[str, dict[str, KernelCosts]]] = defaultdict(dict)
    for (core, bits), measured in sorted(findings.cycles.items()):
        fitted = fit(
            (technique.cost_kind(layer), technique.work(layer), cycles) for technique, layer, cycles in measured
        )
        cores[core][bits] = {
            kind: KernelCosts(
                per_macc=round(per_macc, 3),
                per_output=round(per_output, 2),
                per_moved=round(per_moved, 3),
                per_layer=round(per_layer),
                code_bytes=findings.code_bytes[core, bits, kind],
            )
            for kind, (per_macc, per_output, per_moved, per_layer) in sorted(fitted.items())
        }
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    return CycleTable(
        schema_version=1,
        made_by=COMMAND,
        compiler=version.stdout.splitlines()[0],
        flags=" ".join(sorted(findings.flags)),
        cores=cores,
        firmware={
            family: FirmwareBytes(
                flash_bytes=_whole_kb([flash + FLASH_MARGIN_BYTES for flash, _ in sizes]),
                ram_bytes=_whole_kb([ram for _, ram in sizes]),
            )
            for family, sizes in sorted(findings.firmware.items())
        },
        link={core: round(sum(cycles) / len(cycles)) for core, cycles in sorted(findings.link_cycles.items())},
    )


def _keep_unmeasured(table: CycleTable) -> None:
    """Add from the table in use the plain kernels that no network shows, as a faster technique takes their layers."""
    for core, widths in load_cycle_table().cores.items():
        for bits, kinds in widths.items():
            table.cores[core][bits].update(
                {kind: kinds[kind] for kind in kinds.keys() - table.cores[core][bits].keys()}
            )


def _whole_kb(sizes: Sequence[int]) -> int:
    """Round up: tables of the schedule add some bytes a layer."""
    return -(-max(sizes) // KB) * KB


def _print_errors(console: Console, table: CycleTable, findings: Findings) -> None:
    """Print how far the fitted costs are from the cycles that they were fitted to."""
    shown = Table("core", "bits", "kind", "layers", "cycles/MACC", "worst %", "mean %", box=None)
    for (core, bits), measured in sorted(findings.cycles.items()):
        errors: dict[str, list[float]] = defaultdict(list)
        rates: dict[str, list[float]] = defaultdict(list)
        for technique, layer, cycles in measured:
            kind = technique.cost_kind(layer)
            errors[kind].append(abs(table.kernel(core, int(bits), kind).cycles(technique.work(layer)) / cycles - 1))
            rates[kind].append(cycles / (layer.operator_macc or layer.out_shape.size))  # some only move values
        for kind, values in sorted(errors.items()):
            rate = f"{min(rates[kind]):.1f}-{max(rates[kind]):.1f}"
            worst, mean = f"{100 * max(values):.1f}", f"{100 * sum(values) / len(values):.1f}"
            shown.add_row(core, bits, kind, str(len(values)), rate, worst, mean)
    console.print(shown)


def main() -> None:
    """Calibrate everything and replace the table."""
    console, findings = Console(width=120), Findings()
    for board in map(load_board, BOARDS):
        for bits in (8, 16):
            for graph in calibration_networks():
                console.print(f"{board.name}, {bits} bits, {graph.name}", highlight=False)
                for name in (None, *NAMED):
                    calibrate(graph, board, bits, findings, name)
    table = _table(findings)
    _print_errors(console, table, findings)
    _keep_unmeasured(table)
    TABLE.write_text(json.dumps(table.model_dump(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
