"""`tinysplit analyze` and `tinysplit operators`: the layers of a network, and what networks may have."""

from typing import Annotated

import typer

from tinysplit.cli.basic_options import Json, Model, emit, messages
from tinysplit.cli.options import Bits, check_bits
from tinysplit.common.errors import UsageError
from tinysplit.common.progress import reading
from tinysplit.common.tables import counted
from tinysplit.costs.settings import CostSettings
from tinysplit.network.analyze import analyze as analyze_graph
from tinysplit.network.analyze import print_analysis
from tinysplit.onnx_import import import_model
from tinysplit.supported.tables import operators_to_json, operators_to_markdown, print_operators

Check = Annotated[bool, typer.Option("--check", help="Say only whether the network can be imported, or what it lacks.")]


def analyze(model: Model, bits: Bits = CostSettings.bits, check: Check = False, as_json: Json = False) -> None:
    """Show the layers of a network: shapes, MACs, and memory for weights and activations in float32 and fixed point."""
    check_bits(bits)
    with reading(messages, [model]):
        graph = import_model(model, needs_weights=False)
    if check:
        found = {"model": str(model), "layers": len(graph.layers), "macs": graph.macc}
        text = f"{model} can be imported: {counted(len(graph.layers), 'layer')}, {graph.macc} MACs"
        emit(as_json, found, lambda console: console.print(text, highlight=False, markup=False, soft_wrap=True))
        return
    analysis = analyze_graph(graph, bits)
    emit(as_json, analysis.to_json(), lambda console: print_analysis(analysis, console))


def operators(
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/reference/operators.md.")] = False,
    as_json: Json = False,
) -> None:
    """List the ONNX operators that can be imported, with their attributes, and the kernels of their layers by core."""
    if as_markdown and as_json:
        raise UsageError("--markdown and --json are two forms of the list: leave one of them out")
    if as_markdown:
        typer.echo(operators_to_markdown(), nl=False)
    else:
        emit(as_json, operators_to_json(), print_operators)
