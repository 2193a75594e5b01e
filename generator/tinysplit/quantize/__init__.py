"""Post-training quantization: calibration, formats, integer weights, and accuracy."""
