"""Files of a generated folder: manifest, split file, quantized parameters."""
