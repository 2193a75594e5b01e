"""Alignment of tensors and buffers in RAM: 32-bit words."""

WORD_BYTES = 4


def aligned(size_bytes: int) -> int:
    """Return a size in bytes rounded up to whole words."""
    return -(-size_bytes // WORD_BYTES) * WORD_BYTES
