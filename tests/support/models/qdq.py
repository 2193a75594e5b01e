"""Samples for ONNX Runtime's quantizer, which writes quantized (QDQ) networks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Gives the samples one by one, as the quantizer wants them."""

    def __init__(self, samples: NDArray[np.float32]) -> None:
        self.rest = iter([{"x": x[np.newaxis]} for x in samples])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)
