"""Validation of a generated folder: its integers against the float network, layer by layer and on all samples."""

from pathlib import Path

from rich.console import Console

from tinysplit.common.progress import references, steps
from tinysplit.common.project_files import MODEL_NAME
from tinysplit.network.sample_files import SampleSource
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit.project.validation_file import Validation
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.sample_warnings import print_chance_warnings
from tinysplit.quantize.validation import layer_errors

DEFAULT_LAYER_SAMPLES = 20


def validate_folder(folder: Path, source: Path | SampleSource, layer_samples: int, messages: Console) -> Validation:
    """Compare the first `layer_samples` layer by layer and all samples as a whole; the folder keeps what was found.

    Raises InputError for another folder, for samples that do not match, and where ONNX Runtime cannot run the network.
    """
    project = Project.read(folder)
    quantized = read_quantized(folder, project)
    model = folder / MODEL_NAME
    samples = load_samples(source, quantized.graph)
    first = samples.first(layer_samples).x
    with steps(messages, f"float and integers of {len(first)} samples, layer by layer"):
        errors = layer_errors(quantized, model, first)
    with references(messages, len(samples.x)):
        floats = FloatScores.of(quantized.graph, model, samples)
        accuracy = Accuracy.of(quantized, floats)
    print_chance_warnings(floats, messages)
    validation = Validation.of(project, len(first), accuracy, errors)
    validation.write(folder)
    return validation
