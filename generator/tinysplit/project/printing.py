"""Prints a generated folder: layers and memory of each board, the kernel of each layer, and the wiring."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from tinysplit.boards.board import CodeMemory
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.tables import plain_table
from tinysplit.common.texts.spans import spans_text
from tinysplit.common.units import KB, MS, PERCENT
from tinysplit.project.energy import board_energy_j
from tinysplit.project.manifest import Pipeline, Project, ProjectBoard, ProjectCut, ProjectDecryption, ProjectLink
from tinysplit.project.network_numbers import layer_number
from tinysplit.project.standalone import StandaloneEstimate
from tinysplit.split.report.figures import current_text, energy_text, latency_text, period_text


def print_project(project: Project, console: Console) -> None:
    """Print a line for each board, the wires, and the figures."""
    numbers = ("flash KB", "RAM KB", "weights KB", "arena KB")
    table = plain_table("project", "layers", numbers=numbers)
    for board in project.boards:
        own = spans_text(sorted({layer_number(layer) for layer in project.layers if layer.board == board.number}))
        sizes = (board.predicted_flash_bytes, board.predicted_ram_bytes, board.weights_bytes, board.arena_bytes)
        table.add_row(board.directory, own, *("-" if size is None else f"{size / KB:.1f}" for size in sizes))
    console.print(table)
    print_decryption(project, console)
    for link in project.links:
        console.print(f"{wiring_text(link)}; {link.baud} baud", highlight=False, soft_wrap=True)
    console.print(f"host ports: {project.host_baud} baud", highlight=False)
    for line in figure_lines(project):
        console.print(line, highlight=False, soft_wrap=True)
    if project.host_protocol is HostProtocol.MLPERF:
        console.print(mlperf_text(project), highlight=False, soft_wrap=True)


def explain_project(project: Project, console: Console) -> None:
    """Print why each layer has its kernel, where code and weights are, and how each cut crosses."""
    for board in project.boards:
        if board.code_memory_reason:
            line = f"{board.title}: code of its layers in {code_memory_text(board)}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    for name, pipeline in _different(project).items():
        if len(project.copies) > 1:
            console.print(f"the network on each {name}:", highlight=False)
        console.print(_layers(pipeline), "", sep="\n")
        _print_reasons(pipeline, console)
    print_hand_offs(project, console)


def figure_lines(project: Project) -> Iterator[str]:
    """Yield latency, period and energy, as `split` prints them."""
    figures = project.figures
    if not figures:
        return
    yield f"{latency_text(figures.L, figures.T, figures.I)} (estimated)"
    yield period_text(figures.period_s, figures.period_definition, figures.input_source)
    if figures.energy_j is not None:
        yield energy_text(figures.energy_j, figures.frame_period_s)
    if project.standalone and project.standalone.estimated:
        yield standalone_text(project, project.standalone.estimated)


def standalone_text(project: Project, estimated: StandaloneEstimate) -> str:
    """Return the mean current of the boards without a host, and their time in stop mode."""
    span_s = max(each.span_s for each in estimated.boards)
    joules = [board_energy_j(project.board(each.board), each) for each in estimated.boards]
    known = [own_j for own_j in joules if own_j is not None]
    current = f"mean current {current_text(sum(known) / span_s)}" if len(known) == len(joules) else "currents not known"
    stopped = ", ".join(f"{PERCENT * each.stop_s / each.span_s:.1f} %" for each in estimated.boards)
    return f"without a host: an input every {span_s * MS:.6g} ms, {current} (MCUs only, estimated), stop mode {stopped}"


def mlperf_text(project: Project) -> str:
    """Return which board speaks MLPerf Tiny's protocol, and at which baud rate."""
    (number,) = project.pipelines[0].input_boards
    title = project.board(number).title
    return f"{title} speaks MLPerf Tiny's protocol at {project.host_baud} baud (docs/reference/mlperf.md)"


def print_decryption(project: Project, console: Console) -> None:
    """Print what boards decrypt in each inference, with the time that the split does not count."""
    for board in project.boards:
        decryption = board.weights_file.decryption if board.weights_file else ProjectDecryption()
        if decryption.layers:
            layers = ", ".join(map(str, decryption.layers))
            line = (
                f"{board.title}: RAM does not hold all weights decrypted: those of layers {layers} "
                f"({decryption.size_bytes} bytes) are decrypted in each inference, in "
                f"{decryption.estimated_s * MS:.2f} ms of L (estimated), which the split does not count"
            )
            console.print(line, highlight=False, soft_wrap=True)


def code_memory_text(board: ProjectBoard) -> str:
    """Return the memory of the layers' code on a board with RAM on the code buses, with the reason for the choice."""
    most = f", at most {board.ram_code_bytes} bytes" if board.code_memory is CodeMemory.RAM else ""
    return f"{board.code_memory}{most}: {board.code_memory_reason}"


def wiring_text(link: ProjectLink) -> str:
    """Return how a link is to be wired."""
    first, second = (f"{end} ({link.connector_at(end.board)})" for end in link.ends)
    return f"wiring: {first} to {second}, TX to RX in both directions, and ground"


def print_hand_offs(project: Project, console: Console) -> None:
    """Print how each cut crosses."""
    for cut in project.cuts:
        if cut.part:
            what = f"{cut.part} of layer {cut.part.layer}" if cut.part.layer else f"{cut.part} of the input"
            console.print(f"{what}: board {cut.from_board} to board {cut.to_board}", highlight=False)
            continue
        reason = f" ({cut.why_whole})" if cut.why_whole else ""
        line = f"output of layer {cut.after_layer} to board {cut.to_board}: {_hand_off(cut)}{reason}"
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _hand_off(cut: ProjectCut) -> str:
    if cut.is_sent_by_rows and cut.is_taken_by_rows:
        return "streamed"
    if cut.is_sent_by_rows:
        return "sent row by row"
    return "taken row by row" if cut.is_taken_by_rows else "whole"


def _different(project: Project) -> dict[str, Pipeline]:
    """Return the copies of the network that differ, by the name of their first board."""
    different: dict[str, Pipeline] = {}
    for pipeline in project.pipelines:
        different.setdefault(project.board(pipeline.boards[0]).name, pipeline)
    return different


def _layers(pipeline: Pipeline) -> Table:
    numbers = ("flash\nread", "RAM\nread", "\ncycles")
    table = plain_table("\n#", "\nkind", "\nscheme", "\nkernel", numbers=numbers)
    for layer in pipeline.layers:
        memory = layer.memory
        named = (str(layer.number), layer.kind, memory.scheme, memory.kernel)
        reads = (memory.flash_read_bytes, memory.ram_read_bytes, layer.estimated_cycles)
        table.add_row(*named, *(str(value) for value in reads))
    return table


def _print_reasons(pipeline: Pipeline, console: Console) -> None:
    for layer in pipeline.layers:
        memory = layer.memory
        moves = f", {memory.moved_bytes} bytes moved before" if memory.moved_bytes else ""
        scratch = f"{memory.scratch_bytes} bytes" if memory.scratch_bytes else "none"
        line = f"layer {layer.number}, output at {memory.output_offset}, buffer {scratch}{moves}: {memory.why}"
        console.print(line, highlight=False, markup=False, soft_wrap=True)
