"""The alignment of tensors and buffers in RAM: whole 32-bit words."""

WORD_BYTES = 4


def aligned(size_bytes: int) -> int:
    """Round up to whole words, so that every tensor starts on one."""
    return -(-size_bytes // WORD_BYTES) * WORD_BYTES
