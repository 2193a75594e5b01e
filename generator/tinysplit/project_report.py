"""A generated folder as a table: what each board holds, and how the boards are to be wired."""

from pathlib import Path

from rich.console import Console

from tinysplit.project import Project
from tinysplit.tables import plain_table


def _print_layers(project: Project, console: Console) -> None:
    table = plain_table("layer", "scheme", "technique", numbers=("scratch", "flash read", "RAM read", "cycles"))
    for layer in project.layers:
        memory = layer.memory
        numbers = (memory.scratch_bytes, memory.flash_read_bytes, memory.ram_read_bytes, layer.estimated_cycles)
        named = (f"{layer.number} {layer.kind}", memory.scheme or "", memory.technique)
        table.add_row(*named, *(str(value) for value in numbers))
    console.print(table)
    for layer in project.layers:
        memory = layer.memory
        moves = f", {memory.moved_bytes} bytes move before" if memory.moved_bytes else ""
        line = f"layer {layer.number}, output at {memory.output_offset}{moves}: {memory.why}"
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_project(project: Project, out: Path, console: Console) -> None:
    """Print the boards with their layers, weights and arena, and one line a wire."""
    table = plain_table("board", "project", "layers", numbers=("weights bytes", "arena bytes"))
    for board in project.boards:
        layers = [str(layer.number) for layer in project.layers if layer.board == board.number]
        directory = str(out / board.directory)
        title = f"{board.number} {board.name}"
        table.add_row(title, directory, ", ".join(layers), str(board.weights_bytes), str(board.arena_bytes))
    console.print(table)
    _print_layers(project, console)
    for link in project.links:
        ends = [
            f"board {board} {uart} ({connector})"
            for board, uart, connector in zip(link.boards, link.uarts, link.connectors, strict=True)
        ]
        console.print(
            f"wire: {ends[0]} with {ends[1]}, TX to RX both ways, and their grounds; {link.baud} baud",
            highlight=False,
            soft_wrap=True,
        )
