"""What docs/protocol.md says of frames and bytes on a line; firmware/common/frames.h says the same."""

FRAME_PAYLOAD_BYTES = 1024  # at most
FRAME_OVERHEAD_BYTES = 8  # header and CRC
BITS_PER_BYTE = 10  # a start bit, 8 data bits, a stop bit
