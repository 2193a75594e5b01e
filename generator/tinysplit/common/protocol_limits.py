"""Sizes of frames and messages as in docs/understand/protocol.md and firmware/common/frames.h."""

PROTOCOL_VERSION = 2

FRAME_PAYLOAD_BYTES = 1024  # at most
FRAME_OVERHEAD_BYTES = 8  # header and CRC

LINK_PAYLOAD_BYTES = 2048  # of a tensor in a frame on a link, at most
LINK_BLOCK_BYTES = 64  # of a tensor that is streamed, whole blocks leave
LINK_HEADER_BYTES = 11  # of a frame on a link
LINK_OVERHEAD_BYTES = LINK_HEADER_BYTES + 4  # header and CRC
LINK_HELLO_BYTES = LINK_OVERHEAD_BYTES + 20  # HELLO and HELLO_REPLY
LINK_REPLY_BYTES = LINK_HEADER_BYTES  # a frame without payload: GRANT, ACK
TENSOR_CRC_BYTES = 4  # at the end of a tensor of several frames

BITS_PER_BYTE = 10  # a start bit, 8 data bits, a stop bit

USUAL_HOST_BAUD = 921600
LOAD_OFFSET_BYTES = 8  # number and offset before the data in a LOAD
LOAD_BYTES = 1016  # of the input in one LOAD
START_BYTES = 8  # payload of START
DONE_BYTES = 8  # payload of DONE
TAKEN_BYTES = 4  # payload of TAKEN
ERROR_BYTES = 8  # payload of ERROR
READ_REQUEST_BYTES = 10  # payload of READ_OUTPUT
READ_BYTES = 1024  # of the output in one READ_OUTPUT


def frames_of(tensor_bytes: int) -> int:
    """Return the frames of a tensor on a link that loses nothing."""
    return -(-tensor_bytes // LINK_PAYLOAD_BYTES)


def line_bytes_of(tensor_bytes: int) -> int:
    """Return the bytes of a tensor and its frames on a link that loses nothing."""
    n_frames = frames_of(tensor_bytes)
    return tensor_bytes + n_frames * LINK_OVERHEAD_BYTES + (TENSOR_CRC_BYTES if n_frames > 1 else 0)


def last_frame_of(tensor_bytes: int) -> int:
    """Return the bytes of a tensor in its last frame."""
    return (tensor_bytes - 1) % LINK_PAYLOAD_BYTES + 1
