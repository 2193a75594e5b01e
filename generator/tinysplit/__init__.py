"""Split a trained CNN over several STM32 boards, write their firmware, and measure it."""

import os

__version__ = "0.1.0"  # of the package, too: pyproject.toml reads it here

# ONNX Runtime reads it when it is imported; without it, it writes a device id and events into the user's cache.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
