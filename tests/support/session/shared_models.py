"""Real models, which are kept beside the project and not in it: tests that need one are skipped where it is not."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[4] / "shared" / "models"
KWS = "mlperf_tiny_kws_dscnn.onnx"
KWS_SAMPLES = "mlperf_tiny_kws01_samples.npz"
MOBILENET = "mobilenet_v1_025_128.onnx"
RESNET = "mlperf_tiny_ic_resnet8.onnx"


def shared_model(name: str) -> Path:
    """Return the path of a model or of its samples, or skip the test and say what is missing."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{path} is absent: real models are kept beside the project, not in it")
    return path
