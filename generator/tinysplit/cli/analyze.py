"""`tinysplit analyze`: the layers of a network."""

from tinysplit.cli.basic_options import Json, Model, emit
from tinysplit.cli.options import Bits, check_bits
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.network.analyze import analyze as analyze_graph
from tinysplit.network.analyze import print_analysis
from tinysplit.onnx_import import import_model


def analyze(model: Model, bits: Bits = CostSettings.bits, as_json: Json = False) -> None:
    """Show the layers of a network: shapes, MACs, and memory for weights and activations in float32 and fixed point."""
    analysis = analyze_graph(import_model(model, needs_weights=False), check_bits(bits))
    emit(as_json, analysis.to_json(), lambda console: print_analysis(analysis, console))
