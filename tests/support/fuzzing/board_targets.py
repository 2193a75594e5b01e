"""What boards send on their host ports: frames, payloads and notes."""

import struct
from collections.abc import Callable, Sequence
from functools import partial

from fuzzing.json_changes import changed_json
from fuzzing.target import FindingError, Target
from tinysplit.build.platformio import first_error
from tinysplit.common.errors import ToolError
from tinysplit_hil.rig.note import note_in, parse_note
from tinysplit_hil.rig.programmers import PROGRAMMERS, failure
from tinysplit_hil.wire import protocol
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.weights_protocol import Staging, WeightsIdentity, weights_reason
from virtual_stm32.debug.jtag import JtagChain
from virtual_stm32.debug.remote_bitbang import RemoteBitbang
from virtual_stm32.debug.taps import BoundaryScanTap

_BOARD = protocol.Identity(board_index=1, project_hash=5, core_hz=64, timer_hz=64, input_bytes=300, output_bytes=10)
_PAYLOADS: dict[str, tuple[Callable[[bytes], object], Sequence[bytes]]] = {
    "identity": (lambda payload: protocol.Identity.unpack(payload).cause, [_BOARD.pack(), b"\1" + _BOARD.pack()[1:24]]),
    "stack": (protocol.StackUse.unpack, [protocol.StackUse(2048, 700).pack()]),
    "weights-identity": (WeightsIdentity.unpack, [WeightsIdentity(5, 7).pack()]),
    "staging": (Staging.unpack, [struct.pack("<II", 8192, 256)]),
    "times": (
        protocol.TimeRecord.unpack_all,
        [protocol.TimeRecord(kind, 1, 2**33).pack() * 2 for kind in protocol.RecordKind],
    ),
    "sendings": (protocol.Sending.unpack_all, [protocol.Sending(5, 2).pack() * 3]),
    "done": (protocol.Done.unpack, [protocol.Done(3, 5).pack()]),
    "error": (
        lambda payload: str(protocol.BoardError.unpack(payload)),
        [protocol.BoardError(code, detail).pack() for code in protocol.ErrorCode for detail in (0, 7)],
    ),
    "taken": (protocol.unpack_taken, [protocol.pack_taken(7)]),
    "clock": (protocol.unpack_clock, [protocol.pack_clock(2**40)]),
    "ends": (lambda payload: protocol.unpack_ends(payload, 2**33), [protocol.pack_ticks([1, 2, 2**32 - 1])]),
    "ticks": (protocol.unpack_ticks, [protocol.pack_ticks([1, 2, 3])]),
}

_GOOD = Frame(0x81, 7, b"the reply")
_STEPS = (1, 7, 50, 4096)  # bytes that arrive at once


def _found(stream: bytes) -> list[Frame]:
    """Return the frames of a stream before a whole one, which has to be found behind any bytes."""
    step = _STEPS[len(stream) % len(_STEPS)]
    stream += _GOOD.encode()
    decoder = FrameDecoder()
    frames = [frame for at in range(0, len(stream), step) for frame in decoder.feed(stream[at : at + step])]
    frames += decoder.give_up()
    if _GOOD not in frames:
        raise FindingError("the frame behind was lost")
    return frames


def _note(received: bytes) -> object:
    text = note_in(received)
    return parse_note(received if text is None else text, "board 1")


_NOTE = (
    b'{"tinysplit":"0.1.0","protocol":2,"model":"tiny_cnn","board":1,"name":"nucleo_g071rb","core_hz":64000000,'
    b'"host_protocol":"mlperf","link_bauds":[921600],"project_hash":"1234abcd"}'
)
_OUTPUTS = (
    b"Open On-Chip Debugger 0.12.0\nError: open failed\n0x40015800: 20006460 \n0xe000ed00 : 410cc601\n",
    b"Error: init mode failed (unable to connect to the target)\nin procedure 'program'\n** Programming Failed **\n",
    b"Found 1 stlink programmers\n  serial: 0667FF\n  hla-serial: 1\n  flash: 131072\n  chipid: 0x0460\n",
    b"Compiling x.o\nsrc/main.c:3:5: error: unknown type name 'x'\n*** [main.o] Error 1\n=== [FAILED] ===\n",
    b"0000755 E No ST-LINK detected\nread-protected\nTarget type stm32 not recognized\n\n",
)


def _tool_output(output: bytes) -> object:
    text = output.decode(errors="replace")
    for line in (failure(text), first_error(text)):
        if len(line.splitlines()) > 1:
            raise FindingError(f"a reason of several lines: {line!r}")
    readers = (each.words for each in PROGRAMMERS.values() if each.words)
    return [words(text, "0667FF", [0x40015800, 0xE000ED00]) for words in readers]


def _pins(characters: bytes) -> bytes:
    chain = JtagChain([BoundaryScanTap(0x6415041), BoundaryScanTap(5)])
    return RemoteBitbang(chain, reset=lambda: None, tick=lambda _: None).process(characters)


def board_targets() -> list[Target]:
    """Return the parsers of single replies and lines."""
    return [
        *(
            Target(f"payload-{name}", unpack, partial(list, seeds), (ValueError, struct.error))
            for name, (unpack, seeds) in _PAYLOADS.items()
        ),
        Target(
            "frames",
            _found,
            lambda: [_GOOD.encode() * 2, b"\xa5" * 20 + _GOOD.encode(), Frame(1, 2, bytes(1024), 3).encode()],
            (),
        ),
        Target("weights-reason", lambda data: weights_reason(int.from_bytes(data[:4])), lambda: [bytes(4)], ()),
        Target(
            "note", _note, lambda: [_NOTE, b"m-tinysplit-[" + _NOTE + b"]\r\n"], (ToolError,), changes=(changed_json,)
        ),
        Target("tool-output", _tool_output, lambda: _OUTPUTS, ()),
        Target("remote-bitbang", _pins, lambda: [b"0404R0404rstuBb", b"2626260404R4R5R5" * 8], ()),
    ]
