"""A network as a C library, without start-up, clocks and UARTs, for firmware of any origin.

One board computes all of it: layers and arena. Several boards do: a library for each, with its part, the links and the
schedule, over a small port which the program implements.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.codegen.board_files import FIRMWARE_LIBRARY
from tinysplit.codegen.c_names import OWN, check_prefix, prefixed, with_prefix
from tinysplit.codegen.end_tensors import EndTensor, input_tensors, output_tensors
from tinysplit.codegen.platformio_ini import macros
from tinysplit.common import package_files
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.templates import render
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.settings.costs import INPUT_SOURCE
from tinysplit.settings.programs import WEIGHTS

# Of a board's firmware, what layers include, and what knows no hardware of the links.
_KERNEL_FILES = ("dsp*.[ch]", "swar.h", "fixed_point.h", "window.h", "words.[ch]")
_LINK_FILES = (
    *("link*.[ch]", "network_links.h", "transfers.[ch]", "row_stream.[ch]", "run.[ch]", "crc32.[ch]"),
    *("error_codes.h", "markers.h"),
)
# They get other names, as libraries have files of their own of these names, which include them.
_RENAMED = {"network.h": "network_steps.h", "run.h": "run_state.h"}
_OWN_MACROS = ("DSP_DUAL_ISSUE",)
# The files by which build systems know it: name and template.
_PACKAGES = {
    "CMakeLists.txt": "CMakeLists.txt",
    "{prefix}-config.cmake": "config.cmake",
    "library.json": "library.json",
    "zephyr/module.yml": "module.yml",
    "zephyr/CMakeLists.txt": "zephyr.cmake",
}
_LINK = re.compile(r"/\* to board (\d+) \*/.*?\.baud = (\d+)", re.DOTALL)  # in network.c, in the order of the links


@dataclass(frozen=True)
class LibraryLink:
    """A link of a board: the number of the board at its other end, and the baud rate."""

    peer: int
    baud: int


@dataclass(frozen=True)
class LibraryContext:
    """The names of the templates in `library/`; inputs, outputs and links only where the board has them."""

    model: str
    board: str
    core: str
    macros: tuple[str, ...]
    inputs: Sequence[EndTensor]
    outputs: Sequence[EndTensor]
    arena_bytes: int
    prefix: str = OWN
    version: str = ""
    number: int = 1
    boards: int = 1  # that compute the network
    links: Sequence[LibraryLink] = ()


def write_library(
    project: Project, folder: Path, out: Path, number: int | None = None, *, prefix: str = OWN, force: bool = False
) -> list[Path]:
    """Write the network of the generated `folder` as C sources into the folder `out`.

    Where single boards compute it, as the first or board `number` does. Of a split each board has a folder in `out`,
    named as its project; with `number` that board's files are in `out` itself. All external names begin with `prefix`.
    Returns the files by their names in `out`. Raises UsageError for weights in files and for a split of which several
    boards read the input, InputError for another board or prefix and for folders of another version, and the errors of
    `whole_folder`.
    """
    check_prefix(prefix)
    if project.weights_counter is not None:
        raise UsageError(f"{folder} has its weights in binary files: generate it with {WEIGHTS('arrays')}")
    chosen = _chosen(project, folder, number)
    quantized = read_quantized(folder, project)
    with whole_folder(out, force=force) as fresh:
        for board in chosen:
            target = fresh / board.directory if len(chosen) > 1 else fresh
            for path, text in _files(project, folder, quantized, board, prefix):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_text(text, encoding="utf-8")
    return sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())


def _chosen(project: Project, folder: Path, number: int | None) -> list[ProjectBoard]:
    """Return the boards that get libraries: of copies on one board each, the first."""
    if not project.pipelines:
        raise InputError(f"{folder} has no network: it is a wiring test")
    for pipeline in project.pipelines:
        if len(pipeline.boards) > 1 and len(pipeline.input_boards) > 1:
            names = ", ".join(map(str, pipeline.input_boards))
            raise UsageError(
                f"boards {names} read the input, and one has to begin the runs: split with {INPUT_SOURCE('board')}"
            )
    if number:
        found = [board for board in project.boards if board.number == number]
        if not found:
            raise InputError(f"there is no board {number}: the folder has {len(project.boards)}")
        return found
    is_split = any(len(pipeline.boards) > 1 for pipeline in project.pipelines)
    return list(project.boards if is_split else project.boards[:1])


def _files(
    project: Project, folder: Path, quantized: QuantizedGraph, board: ProjectBoard, prefix: str
) -> Iterator[tuple[str, str]]:
    """Yield the files of a board's library: name and text."""
    pipeline = next(each for each in project.pipelines if board.number in each.boards)
    is_split = len(pipeline.boards) > 1
    sources = dict(_sources(folder / board.directory, is_split=is_split))
    known = load_board(board.name)
    context = LibraryContext(
        model=quantized.graph.name,
        board=board.name,
        core=known.device.core,
        macros=tuple(macro for macro in macros(known) if macro in _OWN_MACROS),
        inputs=input_tensors(quantized) if board.takes_input else (),
        outputs=output_tensors(quantized) if board.gives_output else (),
        arena_bytes=board.arena_bytes,
        prefix=prefix,
        version=project.tinysplit_version,
        number=board.number,
        boards=len(pipeline.boards),
        links=[LibraryLink(int(peer), int(baud)) for peer, baud in _LINK.findall(sources["network.c"])],
    )
    header = render("library/split.h.j2" if is_split else "library/tinysplit.h.j2", context)
    yield from with_prefix(sources | {"tinysplit.h": header}, prefix).items()
    yield "LICENSE", package_files.licence().read_text(encoding="utf-8")
    for name, template in _PACKAGES.items():
        yield name.format(prefix=prefix), render(f"library/{template}.j2", context)
    if is_split:
        yield f"{prefix}.hpp", prefixed(render("library/split.hpp.j2", context), prefix)
        ports = package_files.firmware() / "library" / "ports"
        for path in sorted(path for path in ports.rglob("*") if path.is_file()):
            text = path.read_text(encoding="utf-8")
            yield f"ports/{path.relative_to(ports)}", prefixed(text, prefix) if path.parent.name == "example" else text


def _sources(board: Path, *, is_split: bool) -> Iterator[tuple[str, str]]:
    """Yield the C files of a library, of a board's project and its own. Raises InputError where they are missing."""
    firmware, own = board / FIRMWARE_LIBRARY / "src", package_files.firmware() / "library"
    patterns = (*_KERNEL_FILES, *(_LINK_FILES if is_split else ()), "network.h")
    copied = sorted({path for pattern in patterns for path in firmware.glob(pattern)})
    _check_version(board.parent, copied, firmware / "network.h")
    layers = [board / "src" / "network.c", board / "include" / "layers.h", *sorted(board.glob("src/layer_*.c"))]
    layers += [board / "src" / "project_hash.c"] if is_split else []
    try:
        for path in copied:
            yield _RENAMED.get(path.name, path.name), path.read_text(encoding="utf-8")
        for path in (*layers, *_c_files(own), *_c_files(own / ("split" if is_split else "whole"))):
            yield path.name, path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{error.filename} is missing: generate the folder again") from None


def _c_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in {".c", ".h"})


def _check_version(folder: Path, copied: Iterable[Path], needed: Path) -> None:
    """Raise InputError where files of the firmware are missing, or not those of this version."""
    common = package_files.firmware() / "common"
    if not needed.is_file():
        raise InputError(f"{needed} is missing: generate the folder again")
    for path in copied:
        if not (common / path.name).is_file() or path.read_bytes() != (common / path.name).read_bytes():
            raise InputError(
                f"{folder} is of another version of tinysplit, or {path.name} was changed: generate it again"
            )
