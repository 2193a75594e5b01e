"""Bytes of the parts of kernels' code: layers of many shapes and the firmware library, compiled and not linked."""

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from tinysplit.boards.board import Board
from tinysplit.build.elf import WEIGHTS_SECTION
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.calibration.tflite_networks import widths_of
from tinysplit.codegen.layer_source import LayerSource, render_header, render_layer
from tinysplit.codegen.platformio_ini import COMPILER, Flags, macros
from tinysplit.common import package_files
from tinysplit.common.alignment import aligned
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.kernels import DSP_CORES, candidates
from tinysplit.kernels.code_parts import SharedFunction
from tinysplit.kernels.cost_table import ONCE, CodeCosts, PartBytes, Work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.graph import Graph

_SHARED = "dsp_"  # prefix of functions that layers share
_OF_COMPILER = ("memmove",)  # that only links and some kernels call

Samples = Sequence[tuple[Work, int]]  # counts of parts, and bytes
Kind = tuple[str, str, str]  # core, bits ("" of functions that layers share), kind in the cost table


def code_costs(networks: Sequence[Graph], boards: Sequence[Board]) -> CodeCosts:
    """Return the bytes of the parts of all kernels on the cores of the boards, and of the functions that they share."""
    samples: dict[Kind, list[tuple[Work, int]]] = defaultdict(list)
    with process_pool() as pool:
        cases = [(graph, bits, board) for graph in networks for bits in widths_of(graph) for board in boards]
        for of_case in pool.results(_network_samples, *zip(*cases, strict=True)):
            for kind, sample in of_case:
                samples[kind].append(sample)
    kernels: dict[str, dict[str, dict[str, PartBytes]]] = defaultdict(lambda: defaultdict(dict))
    functions = {board.device.core: library_bytes(board) for board in boards}
    for (core, bits, name), every in sorted(samples.items()):
        (kernels[core][bits] if bits else functions[core])[name] = fit_bytes(every)
    return CodeCosts(kernels=kernels, functions=functions)


def fit_bytes(samples: Samples) -> PartBytes:
    """Return the bytes of each part, and of what is there once (`ONCE`), by non-negative least squares."""
    from scipy.optimize import nnls  # noqa: PLC0415 (half a second, for what only the calibration needs)

    parts = sorted({part for work, _ in samples for part in work})
    counts = np.array([[1.0, *(work.get(part, 0.0) for part in parts)] for work, _ in samples])
    scales = np.maximum(np.abs(counts).max(axis=0), 1e-9)
    costs = nnls(counts / scales, np.array([size for _, size in samples], float))[0] / scales
    return {part: round(float(cost), 2) for part, cost in zip((ONCE, *parts), costs, strict=True) if cost >= 0.01}  # noqa: PLR2004


def _network_samples(graph: Graph, bits: int, board: Board) -> list[tuple[Kind, tuple[Work, int]]]:
    """Return the parts and bytes of all layers of a network, by each kernel that can compute them."""
    core = board.device.core
    quantized = quantize_randomly(graph, bits)[0]
    samples: list[tuple[Kind, tuple[Work, int]]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, layer in enumerate(quantized.layers, 1):
            widths = Widths.of(layer.formats)
            for kernel in candidates(layer.dequantized, core, widths) if not layer.layer.is_view else ():
                source = LayerSource(layer, kernel)
                code = kernel.exact_code(layer)
                sizes = _layer_sizes(source, number, board, Path(folder))
                shared = {name: size for name, size in sizes.items() if name.startswith(_SHARED)}
                own_bytes = sum(sizes.values()) - sum(shared.values())
                samples.append(((core, str(bits), kernel.cost_kind(layer.layer)), (code.own, own_bytes)))
                samples += [
                    ((core, "", each.kind), (each.parts, size)) for each, size in _generated(code.shared, shared)
                ]
    return samples


def _generated(
    functions: Mapping[str, SharedFunction], sizes: Mapping[str, int]
) -> Iterator[tuple[SharedFunction, int]]:
    """Yield the functions that a layer's file has for several layers, with the static ones that only these call."""
    for name, function in functions.items():
        copies = [size for symbol, size in sizes.items() if symbol == name or symbol.startswith(f"{name}_")]
        if name in sizes:
            yield function, sum(copies)


def _layer_sizes(source: LayerSource, number: int, board: Board, folder: Path) -> Mapping[str, int]:
    (folder / "layers.h").write_text(render_header({number: source}), encoding="utf-8")
    (folder / "layer.c").write_text(render_layer(source, number), encoding="utf-8")
    return _compiled_sizes(folder / "layer.c", board, folder)


def library_bytes(board: Board) -> dict[str, PartBytes]:
    """Return the bytes of the functions that kernels call, by name: of the firmware library, and of the compiler."""
    return dict(_library(board))


def _library(board: Board) -> Iterator[tuple[str, PartBytes]]:
    with tempfile.TemporaryDirectory() as folder:
        sources = (package_files.firmware() / "common").glob("dsp_*.c") if board.device.core in DSP_CORES else ()
        for path in sorted(sources):
            for name, size in _compiled_sizes(path, board, Path(folder)).items():
                yield name, {ONCE: float(size)}
        for name in _OF_COMPILER:
            linked = _sizes(("-nostartfiles", f"-Wl,--entry={name}", f"-Wl,--undefined={name}"), board, Path(folder))
            yield name, {ONCE: float(linked["text"])}


def _compiled_sizes(source: Path, board: Board, folder: Path) -> Mapping[str, int]:
    """Return the bytes of every section of a compiled file but weights, by the name of its function or data."""
    includes = (f"-I{folder}", f"-I{package_files.firmware() / 'common'}")
    return _sizes(("-c", *(f"-D{macro}" for macro in macros(board)), *includes, str(source)), board, folder)


def _sizes(arguments: Sequence[str], board: Board, folder: Path) -> Mapping[str, int]:
    """Return the bytes of every section that the compiler makes, but weights, by the end of the section's name."""
    flags = Flags()
    out = folder / "compiled.o"
    sizes = defaultdict[str, int](int)
    machine = (f"-mcpu={board.device.core}", *flags.machine)
    command = (COMPILER, *machine, *flags.c, *flags.compiler, *arguments, "-o", str(out))
    subprocess.run(command, check=True, capture_output=True)
    with out.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and not section.name.startswith(WEIGHTS_SECTION):
                name = section.name.split(".", maxsplit=2)[-1].split(".")[0]
                sizes[name] += aligned(section["sh_size"])
    return {name: size for name, size in sizes.items() if size}
