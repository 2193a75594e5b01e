"""Compiles kernels for the host and compares what they compute with the integer reference."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from math import lcm
from pathlib import Path

import numpy as np

from kernel_cases.layer_cases import hard_inputs
from session.compiler_cache import path_in
from session.shared_folder import made_once
from tinysplit.codegen.layer_source import LayerSource, file_name, render_header, render_layer
from tinysplit.common import package_files
from tinysplit.kernels import DSP_CORES, candidates
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.quantized_graph import QuantizedLayer

RUN_LAYERS = Path(__file__).parents[2] / "c" / "run_layers.c"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion")
# Not optimized: most of the time goes into compiling. test_optimized_kernels.py compiles at -O3.
SANITIZED = ("gcc", "-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
LINKER = ("-fuse-ld=gold",) if shutil.which("ld.gold") else ()  # takes a quarter of the time of GNU ld
COMMON = package_files.firmware() / "common"
CORES = ("cortex-m0plus", *sorted(DSP_CORES))
MAX_INPUTS = 4  # of a layer
COMPILER_TIMEOUT_S, RUN_TIMEOUT_S = 120, 120


def all_kernels(layers: list[QuantizedLayer], cores: tuple[str, ...] = CORES) -> dict[int, LayerSource]:
    """Return a kernel for every layer and every kernel that fits it on any of these cores, by number."""
    kernels = [
        LayerSource(quantized, kernel)
        for quantized in layers
        for kernel in dict.fromkeys(
            kernel for core in cores for kernel in candidates(quantized.layer, core, Widths.of(quantized.formats))
        )
    ]
    return dict(enumerate(kernels, 1))


def write_layers(folder: Path, kernels: dict[int, LayerSource]) -> list[Path]:
    """Write the header and one C file a layer; return the C files."""
    (folder / "layers.h").write_text(render_header(kernels))
    sources = []
    for number, source in kernels.items():
        sources.append(folder / file_name(source.quantized, number))
        sources[-1].write_text(render_layer(source, number))
    return sources


def compile_all(compiler: tuple[str, ...], folder: Path, sources: list[Path]) -> list[Path]:
    """Compile every source in `folder` to an object beside it. No command has its path: ccache knows it again."""
    common = path_in(folder, COMMON)

    def one(source: Path) -> Path:
        target = source.with_suffix(".o")
        command = [*compiler, *WARNINGS, f"-I{common}", "-I.", "-c", source.name, "-o", target.name]
        result = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=COMPILER_TIMEOUT_S
        )
        assert result.returncode == 0, f"{source.name}: {result.stderr}\n{source.read_text()}"
        return target

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources))


def shared_objects(compiler: tuple[str, ...], program: Path) -> list[Path]:
    """Compile `program` and what all kernels share, once for all tests."""
    sources = [program, *COMMON.glob("dsp_*.c")]

    def make(folder: Path) -> None:
        folder.mkdir()
        beside = f"-I{path_in(folder, program.parent)}"
        compile_all((*compiler, beside), folder, [Path(shutil.copy(each, folder)) for each in sources])

    folder = made_once("-".join((program.stem, *compiler)), make)
    return [folder / f"{each.stem}.o" for each in sources]


def run_program(
    compiler: tuple[str, ...],
    program: Path,
    folder: Path,
    kernels: dict[int, LayerSource],
    cases: list[str],
    inputs: list[list[IntArray]],
) -> bytes:
    """Compile layers and their lines of `struct layer_case` for `program`; return what it makes of the inputs."""
    samples = len(inputs[0][0])
    table = "".join(f"{each},\n" for each in cases)
    path = folder / "cases.c"
    path.write_text(
        f'#include "{program.stem}.h"\n#include "layers.h"\n'
        + "".join(case_function(number, source) for number, source in kernels.items())
        + f"const struct layer_case cases[] = {{\n{table}}};\n"
        f"const size_t case_count = {len(cases)};\nconst int sample_count = {samples};\n"
    )
    beside = f"-I{path_in(folder, program.parent)}"
    own = compile_all((*compiler, beside), folder, [path, *write_layers(folder, kernels)])
    command = [*compiler, *LINKER, *map(str, (*own, *shared_objects(compiler, program)))]
    subprocess.run([*command, "-o", str(folder / program.stem)], check=True, timeout=COMPILER_TIMEOUT_S)
    stream = b"".join(x[i].tobytes() for xs in inputs for i in range(samples) for x in xs)
    result = subprocess.run(
        [folder / program.stem], input=stream, capture_output=True, check=False, timeout=RUN_TIMEOUT_S
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def run_on_host(
    folder: Path, kernels: dict[int, LayerSource], inputs: list[list[IntArray]], compiler: tuple[str, ...] = SANITIZED
) -> bytes:
    """Compile layers, with ASan and UBSan if nothing else is said, and return what they make of the inputs, in order.

    Every layer runs with its output in a place of its own, and over each input as far as it may.
    """
    cases = [case(number, source) for number, source in kernels.items()]
    return run_program(compiler, RUN_LAYERS, folder, kernels, cases, inputs)


def case_function(number: int, source: LayerSource) -> str:
    """Return a function that calls a layer with its inputs from an array."""
    inputs = ", ".join(f"inputs[{i}]" for i in range(len(source.quantized.layer.inputs)))
    call = f"layer_{number}({inputs}, output{', scratch' if source.scratch_bytes else ''})"
    return f"static void run_{number}(void *const *inputs, void *output, void *scratch) {{ (void)scratch; {call}; }}\n"


def case(number: int, source: LayerSource) -> str:
    """Return a line of `struct layer_case`."""
    layer = source.quantized.layer
    formats = source.quantized.formats
    inputs = ", ".join(str(shape.size * x.bits // 8) for shape, x in zip(layer.in_shapes, formats.inputs, strict=True))
    output = layer.out_shape.size * formats.y.bits // 8
    sizes = f".input_bytes = {{{inputs}}}, .output_bytes = {output}, .scratch_bytes = {source.scratch_bytes}"
    distances = [overlap(source, k) for k in range(MAX_INPUTS)]
    return f"{{.run = run_{number}, {sizes}, .distances = {{{', '.join(distances)}}}}}"


def overlap(source: LayerSource, k: int) -> str:
    """Return by how many bytes the output has to begin before input k, in words: as C, NONE where it must not."""
    layer, formats = source.quantized.layer, source.quantized.formats
    if k >= len(layer.inputs):
        return "NONE"
    lead = source.kernel.lead(layer, k, Widths.of(formats)._replace(x=formats.inputs[k].bits))
    if lead is None:
        return "NONE"
    unit, in_bytes = lcm(lead.unit_bytes, 4), layer.in_shapes[k].size * formats.inputs[k].bits // 8
    return str(max(-(-lead.least_bytes // unit), -(in_bytes // unit)) * unit)


def assert_c_equals_the_reference(
    tmp_path: Path,
    rng: np.random.Generator,
    layers: list[QuantizedLayer],
    compiler: tuple[str, ...] = SANITIZED,
    given: list[list[IntArray]] | None = None,
) -> None:
    """Run every kernel of the layers on the host, with `given` inputs of each layer or the hardest ones."""
    kernels = all_kernels(layers)
    own = dict(zip(map(id, layers), given or [], strict=False))
    inputs = [own.get(id(source.quantized)) or hard_inputs(rng, source.quantized) for source in kernels.values()]
    output = run_on_host(tmp_path, kernels, inputs, compiler)
    for (number, source), xs in zip(kernels.items(), inputs, strict=True):
        expected = source.quantized.layer.integer_reference(source.quantized, *xs).tobytes()
        assert output[: len(expected)] == expected, render_layer(source, number)
        output = output[len(expected) :]
    assert not output
