"""The user's application in the programs of boards: the files that it begins with, and `tinysplit.h` for it.

`src/application.c` and `include/application.h` are the user's from then on (`common/output_folder.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.codegen.board_program import BoardProgram
from tinysplit.codegen.end_tensors import EndTensor, input_tensors, output_tensors
from tinysplit.codegen.network_source import board_transfers, network_input
from tinysplit.common.choices import LateInputs
from tinysplit.common.errors import UsageError
from tinysplit.common.project_files import APPLICATION_HEADER, APPLICATION_PARTS, APPLICATION_SOURCE
from tinysplit.common.templates import render
from tinysplit.project.standalone import ProjectStandalone
from tinysplit.settings.costs import INPUT_SOURCE
from tinysplit.settings.programs import STANDALONE

GUARD_BYTES = 8  # of own_input.c


@dataclass(frozen=True)
class ApplicationContext:
    """The names of the templates in `application/`; inputs and outputs only where the board has them."""

    number: int
    title: str
    model: str
    inputs: Sequence[EndTensor]
    outputs: Sequence[EndTensor]
    standalone: ProjectStandalone | None
    keeps_newest: bool
    input_offset: int  # where the application writes the input, in the arena
    has_guard: bool  # bytes behind it show whether it overruns


def render_application(program: BoardProgram) -> dict[str, str]:
    """Return the text of each file by its path in the board's project."""
    standalone, (input_offset, has_guard) = program.options.standalone, _filled(program)
    context = ApplicationContext(
        number=program.number,
        title=program.board.title,
        model=program.quantized.graph.name,
        inputs=input_tensors(program.quantized) if program.board_plan.takes_input else (),
        outputs=output_tensors(program.quantized) if program.gives_output else (),
        standalone=standalone,
        keeps_newest=standalone is not None and standalone.late_inputs is LateInputs.NEWEST,
        input_offset=input_offset,
        has_guard=has_guard,
    )
    names = {
        "include/tinysplit.h": "tinysplit.h",
        APPLICATION_HEADER: "application.h",
        APPLICATION_SOURCE: "application.c",
        APPLICATION_PARTS: "application.toml",
    }
    if standalone:
        names["include/standalone_settings.h"] = "standalone_settings.h"
    return {path: render(f"application/{name}.j2", context) for path, name in names.items()}


def _filled(program: BoardProgram) -> tuple[int, bool]:
    """Return where the application writes the input, as an offset in the arena, and whether guard bytes follow there.

    Between two inferences the layers' part of the arena is free, but for the input, and for what moves over links of a
    distributed network. At its end the input is written below its place, and moved.
    """
    tensor, end = network_input(program), program.board_plan.stages_begin_bytes
    if not tensor.bytes:
        return tensor.offset, False
    behind = tensor.offset + tensor.bytes
    if program.quantized.graph.is_distributed:
        moving = (transfer.tensor for _, transfer in board_transfers(program, 0))
        is_free = all(each.stage >= behind + GUARD_BYTES or each.stage + each.bytes <= behind for each in moving)
        return tensor.offset, is_free and behind + GUARD_BYTES <= end
    if behind + GUARD_BYTES <= end:
        return tensor.offset, True
    return (tensor.offset - GUARD_BYTES, True) if tensor.offset >= GUARD_BYTES else (tensor.offset, False)


def check_standalone(copies: Sequence[Sequence[BoardProgram]]) -> None:
    """Raise UsageError where boards cannot run without a host: several of a copy of the network read the input."""
    for programs in copies:
        readers = [program.number for program in programs if program.board_plan.takes_input]
        if programs[0].options.standalone and len(readers) > 1:
            raise UsageError(
                f"{STANDALONE(True)} needs one board that reads the input, and boards {', '.join(map(str, readers))} "
                f"do: split with {INPUT_SOURCE('board')}"
            )
