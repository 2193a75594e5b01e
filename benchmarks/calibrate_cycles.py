"""Measure the kernels on virtual cores and boards, and write the cost table kernels/cycles.json.

    .venv/bin/python benchmarks/calibrate_cycles.py [--check] [--layers] [--only KIND[:PART,...]]...

Every calibration network runs on each core, with the chosen kernels and with all others. The cycles of the layers give
the costs of each kernel by least squares, the symbols of the ELF file its bytes of code. Some networks are generated
and built for two boards of each family: the remainder of the ELF files is the firmware. What the ends of a link add to
a transfer is fitted to transfers between all cores (link_costs.py), what hand-offs take from the cores to periods of
streams (handoff_costs.py; --handoff: only both), waits for code to runs with the memory of a board of each family
(code_waits.py; --waits: only these). --only replaces the costs of one kind, or adds those of some parts to the costs
that the kind has, from the small networks alone. At the end it prints the errors of estimates, also for networks that
were not used in the fit (--check: only these, with the existing table). Takes some minutes.
"""

import argparse
import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from configparser import ConfigParser
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import onnx
from rich.console import Console

from calibration_networks import RANDOM_NETWORKS, calibration_networks, random_network
from code_waits import code_wait_table
from estimate_errors import print_kinds, print_networks, print_percentiles, unseen_layers
from handoff_costs import fit_handoffs, measure_handoffs
from link_costs import fit_links, measure_links
from measured_layers import BOARDS, MeasuredLayer, measure_layers, quantize_randomly
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.build.platformio import build_projects
from tinysplit.build.report import BuildReport
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.codegen.projects import generate
from tinysplit.common.protocol_limits import HOST_BAUD
from tinysplit.common.units import KB
from tinysplit.costs.problem_builder import CostSettings, make_problem
from tinysplit.kernels import KERNELS, Direct, Kernel, candidates
from tinysplit.kernels.cost_table import (
    TABLE_NAME,
    CycleTable,
    FirmwareBytes,
    HandoffCosts,
    KernelCosts,
    LinkCosts,
    Sample,
    fit,
    load_cycle_table,
)
from tinysplit.network.bit_widths import Widths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import make_plan

COMMAND = "benchmarks/calibrate_cycles.py"
TABLE = Path(__file__).parent.parent / "generator" / "tinysplit" / "kernels" / TABLE_NAME
FAMILIES = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_h743zi")  # one board each
HANDOFF_BOARDS = {"cortex-m0plus": "nucleo_g071rb", "cortex-m4": "nucleo_f401re", "cortex-m7": "nucleo_h743zi"}
BAUD = 1_000_000
FLASH_MARGIN_BYTES = 512  # kernels of other shapes may be larger
FLASH_STEP_BYTES = 64
NAMES = tuple(kernel.name for kernel in KERNELS)
QUICK_NAMES = tuple(name for name in NAMES if name != Direct.name)  # for large networks
FIRMWARE_NETWORKS = 3  # number of small networks
DIGITS = 4  # significant digits of a cost


class Handoffs(TypedDict):
    """Parts of the cost table that belong to links."""

    link: dict[str, LinkCosts]
    handoff: dict[str, HandoffCosts]


@dataclass
class Firmware:
    """Bytes of flash and RAM beside layers, of boards alone and of boards with a link, by family."""

    alone: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    linked: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    flags: set[str] = field(default_factory=set)


def calibration_layers(console: Console) -> Iterator[MeasuredLayer]:
    """Yield the layers of all networks on all cores, by every kernel that can compute them."""
    small, large = calibration_networks(), tuple(map(random_network, RANDOM_NETWORKS))
    with ProcessPoolExecutor() as workers:
        running = [
            workers.submit(_network_layers, graph, bits, NAMES if graph in small else QUICK_NAMES)
            for graph in (*large, *small)
            for bits in (16, 8)
        ]
        for done in as_completed(running):
            layers = done.result()
            console.print(f"{layers[0].network}, {layers[0].bits} bits", highlight=False)
            yield from layers


def _network_layers(graph: Graph, bits: int, names: Sequence[str]) -> list[MeasuredLayer]:
    quantized, x = quantize_randomly(graph, bits)
    return [layer for core in BOARDS for name in (None, *names) for layer in measure_layers(quantized, x, core, name)]


def measure_firmware(quantized: QuantizedGraph, board: Board, findings: Firmware) -> None:
    """Build a network for one board and for two of its type, and add the sizes."""
    middle = len(quantized.layers) // 2
    _build(quantized, (board,), (0,) * len(quantized.layers), findings.alone, findings)
    assignment = (0,) * middle + (1,) * (len(quantized.layers) - middle)
    _build(quantized, (board, board), assignment, findings.linked, findings)


def _build(
    quantized: QuantizedGraph,
    boards: tuple[Board, ...],
    assignment: tuple[int, ...],
    sizes: dict[str, list[tuple[int, int]]],
    findings: Firmware,
) -> None:
    graph, settings = quantized.graph, CostSettings(bits=quantized.bits, baud=BAUD)
    problem = make_problem(graph, boards, settings)
    plan = make_plan(graph, quantized.bits, boards, problem, assignment, settings.link_settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        project = generate(quantized, (plan,), (BAUD, HOST_BAUD), 0, onnx.ModelProto(), folder)
        elfs = build_projects([folder / own.directory for own in project.boards])
        sizes[boards[0].device.family].extend(_sizes(BuildReport.read(project, elfs)))
        ini = ConfigParser(interpolation=None)
        ini.read(folder / project.boards[0].directory / "platformio.ini", encoding="utf-8")
        findings.flags.update(flag for flag in ini["env"]["build_flags"].split() if flag.startswith("-O"))


def _sizes(report: BuildReport) -> Iterator[tuple[int, int]]:
    for built in report.boards:
        sizes = built.sizes
        kernels = sum(sizes.layer_code_bytes.values()) + sum(sizes.shared_code_bytes.values())
        ram_bytes = sum(use.used_bytes for use in sizes.ram) - sizes.arena_bytes - sizes.ram_code_bytes
        yield sizes.code_bytes - kernels, ram_bytes


def make_table(measured: Sequence[MeasuredLayer], firmware: Firmware) -> CycleTable:
    """Return the table that is fitted to the measurements."""
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    return CycleTable(
        schema_version=2,
        made_by=COMMAND,
        compiler=version.stdout.splitlines()[0],
        flags=" ".join(sorted(firmware.flags)),
        cores={core: {str(bits): _kernel_costs(measured, core, bits) for bits in (8, 16)} for core in sorted(BOARDS)},
        firmware=firmware_bytes(firmware),
        **handoffs(),
        code_waits=code_wait_table(Console(quiet=True)),
    )


def firmware_bytes(firmware: Firmware) -> dict[str, FirmwareBytes]:
    """Return what the firmware takes of each family: flash and RAM, and of flash for links."""
    found = {}
    for family, alone in sorted(firmware.alone.items()):
        flash_bytes = _rounded_up([flash + FLASH_MARGIN_BYTES for flash, _ in alone], FLASH_STEP_BYTES)
        linked_bytes = _rounded_up(
            [flash + FLASH_MARGIN_BYTES for flash, _ in firmware.linked[family]], FLASH_STEP_BYTES
        )
        ram_bytes = _rounded_up([ram for _, ram in alone], KB)
        link_bytes = linked_bytes - flash_bytes
        found[family] = FirmwareBytes(flash_bytes=flash_bytes, ram_bytes=ram_bytes, link_flash_bytes=link_bytes)
    return found


def handoffs() -> Handoffs:
    """Return what links and hand-offs take from each core, measured on a board with it."""
    boards = {core: load_board(name) for core, name in sorted(HANDOFF_BOARDS.items())}
    link = fit_links(measure_links(boards))
    return {
        "link": link,
        "handoff": {core: fit_handoffs(measure_handoffs(board)) for core, board in boards.items()},
    }


def _kernel_costs(measured: Sequence[MeasuredLayer], core: str, bits: int) -> dict[str, KernelCosts]:
    own = [layer for layer in measured if (layer.core, layer.bits) == (core, bits)]
    code_bytes: dict[str, int] = defaultdict(int)
    for layer in own:
        code_bytes[layer.kind] = max(code_bytes[layer.kind], layer.code_bytes)
    fitted = fit(Sample(layer.kind, layer.work, layer.cycles, layer.cycles) for layer in own)
    return {
        kind: KernelCosts(cycles={part: _rounded(cost) for part, cost in costs.items()}, code_bytes=code_bytes[kind])
        for kind, costs in sorted(fitted.items())
    }


def _rounded(cost: float) -> float:
    return float(f"{cost:.{DIGITS}g}")


def _rounded_up(sizes: Sequence[int], step: int) -> int:
    """Return the largest, rounded up: tables of the schedule add some bytes per layer."""
    return -(-max(sizes) // step) * step


def calibrate(console: Console) -> CycleTable:
    """Measure everything, print the errors of the fit, and return the table."""
    measured, firmware = list(calibration_layers(console)), Firmware()
    for board in map(load_board, FAMILIES):
        for bits in (8, 16):
            for graph in calibration_networks()[:FIRMWARE_NETWORKS]:
                console.print(f"{graph.name}, {bits} bits, two {board.name}", highlight=False)
                measure_firmware(quantize_randomly(graph, bits)[0], board, firmware)
    table = make_table(measured, firmware)
    print_kinds(console, table, measured)
    return table


def calibrate_only(table: CycleTable, wanted: Mapping[str, frozenset[str]]) -> CycleTable:
    """Return the table with new costs of the kinds in `wanted`: of all parts, or of those parts that are named.

    The costs of other parts are subtracted from the measurements.
    """
    measured = [layer for layer in _layers_of_kinds(wanted) if layer.kind in wanted]
    cores = {core: {bits: dict(kinds) for bits, kinds in by_bits.items()} for core, by_bits in table.cores.items()}
    groups: dict[tuple[str, int, str], list[MeasuredLayer]] = defaultdict(list)
    for layer in measured:
        groups[layer.core, layer.bits, layer.kind].append(layer)
    for (core, bits, kind), layers in groups.items():
        old, parts = table.measured(core, bits, kind), wanted[kind]
        code_bytes = max(layer.code_bytes for layer in layers)
        if not parts or old is None:
            cores[core][str(bits)][kind] = _kernel_costs(layers, core, bits)[kind]
            continue
        kept = old.model_copy(update={"cycles": {part: c for part, c in old.cycles.items() if part not in parts}})
        samples = [
            Sample(
                kind,
                {part: layer.work.get(part, 0.0) for part in parts},
                layer.cycles - kept.of(layer.work),
                layer.cycles,
            )
            for layer in layers
            if any(layer.work.get(part) for part in parts)
        ]
        added = fit(samples, has_overhead=False).get(kind, {})
        cycles = kept.cycles | {part: _rounded(cost) for part, cost in added.items()}
        cores[core][str(bits)][kind] = KernelCosts(cycles=cycles, code_bytes=max(code_bytes, old.code_bytes))
    return table.model_copy(update={"cores": cores})


def _layers_of_kinds(wanted: Mapping[str, frozenset[str]]) -> Iterator[MeasuredLayer]:
    """Yield the layers of those networks, cores and widths that have layers of the kinds with the parts."""
    runs = [
        (graph, bits, core, names)
        for graph in (*map(random_network, RANDOM_NETWORKS), *calibration_networks())
        for bits in (16, 8)
        for core in BOARDS
        if (names := _wanted_kernels(graph, core, Widths.all(bits), wanted))
    ]
    with ProcessPoolExecutor() as workers:
        for done in as_completed([workers.submit(_core_layers, *run) for run in runs]):
            yield from done.result()


def _wanted_kernels(graph: Graph, core: str, widths: Widths, wanted: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    found = ((kernel, layer) for layer in graph.layers for kernel in candidates(layer, core, widths))
    return tuple({kernel.name for kernel, layer in found if _is_wanted(kernel, layer, widths, wanted)})


def _is_wanted(kernel: Kernel, layer: Layer, widths: Widths, wanted: Mapping[str, frozenset[str]]) -> bool:
    parts, work = wanted.get(kernel.cost_kind(layer)), kernel.work(layer, widths)
    return parts is not None and (not parts or any(work.get(part) for part in parts))


def _core_layers(graph: Graph, bits: int, core: str, names: Sequence[str]) -> list[MeasuredLayer]:
    quantized, x = quantize_randomly(graph, bits)
    return [layer for name in (None, *names) for layer in measure_layers(quantized, x, core, name)]


def main() -> None:
    """Calibrate and replace the cost table, or check the existing one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="only print the estimation errors of the existing cost table"
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="also print the error of every layer of the networks that were not used in the fit",
    )
    parser.add_argument("--handoff", action="store_true", help="calibrate only what hand-offs take from the cores")
    parser.add_argument("--waits", action="store_true", help="calibrate only the waits for code in flash")
    parser.add_argument(
        "--only", action="append", help="KIND or KIND:PART,...: calibrate only these; repeat for several"
    )
    options = parser.parse_args()
    console = Console(width=140)
    if options.only:
        wanted = {
            kind: frozenset(filter(None, parts.split(",")))
            for kind, _, parts in (o.partition(":") for o in options.only)
        }
        _write(calibrate_only(load_cycle_table(), wanted))
        return
    if options.waits:
        _write(load_cycle_table().model_copy(update={"code_waits": code_wait_table(console)}))
        return
    if options.handoff:
        _write(load_cycle_table().model_copy(update=handoffs()))
        return
    if options.check:
        table = load_cycle_table()
    else:
        table = calibrate(console)
        _write(table)
    unseen = list(unseen_layers())
    print_networks(console, table, unseen, options.layers)
    print_percentiles(console, table, unseen)


def _write(table: CycleTable) -> None:
    TABLE.write_text(json.dumps(table.model_dump(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
