"""Reading a network for a user: with progress where it takes long, and a note where weights are missing."""

from pathlib import Path

from rich.console import Console

from tinysplit.common.progress import reading
from tinysplit.network.graph import Graph
from tinysplit.onnx_import.importer import import_model


def read_network(model: Path, messages: Console, *, needs_weights: bool = True) -> Graph:
    """Import an ONNX file, and say where it lacks weights. Raises InputError where that fails."""
    with reading(messages, [model]):
        graph = import_model(model, needs_weights=needs_weights)
    if not graph.has_weights:
        messages.print(f"note: {model} lacks weights: estimates do not need them", highlight=False, soft_wrap=True)
    return graph
