"""OpenOCD's remote_bitbang (its doc/manual/jtag/drivers/remote_bitbang.txt): a character for each level of the pins."""

import re
from collections.abc import Callable

from virtual_stm32.debug.jtag import JtagChain

# 0 to 7: TCK, TMS and TDI as bits 2, 1 and 0. R: read TDO. r, s, t, u: TRST and SRST as bits 1 and 0. B, b: LED.
_FALLING = b"0123"
_RISING = b"4567"
_RUN = re.compile(rb"(?:R[45])+|[45]+")  # of shifts with TMS low: all of them with TDO, or none
_TDI = bytes.maketrans(b"45", b"01")
_RESETS = b"rstu"


class RemoteBitbang:
    """A client's pins on a chain; `reset` is called when it pulls SRST down, `tick` with the rising edges of TCK."""

    def __init__(self, chain: JtagChain, reset: Callable[[], None], tick: Callable[[int], None]) -> None:
        self._chain = chain
        self._reset = reset
        self._tick = tick

    def process(self, data: bytes) -> bytes:
        """Take what the client has sent, and return what it reads.

        Only rising edges of TCK count, and a falling one has to come before each.
        """
        edges = data.translate(None, _FALLING)
        answer, at = bytearray(), 0
        while at < len(edges):
            run = _RUN.match(edges, at) if self._chain.is_shifting else None
            if run:
                answer += self._shift(run[0])
                at = run.end()
            else:
                answer += self._step(edges[at])
                at += 1
        return bytes(answer)

    def _shift(self, run: bytes) -> bytes:
        is_read = run.startswith(b"R")
        bits = (run[1::2] if is_read else run).translate(_TDI)
        self._tick(len(bits))
        out = self._chain.shift(int(bits[::-1], 2), len(bits))
        return f"{out:0{len(bits)}b}"[::-1].encode() if is_read else b""

    def _step(self, character: int) -> bytes:
        if character in _RISING:
            self._tick(1)
            self._chain.clock(character >> 1 & 1, character & 1)
        elif character == ord("R"):
            return b"%d" % self._chain.tdo
        elif character in _RESETS:
            lines = character - _RESETS[0]
            if lines >> 1:
                self._chain.reset()
            if lines & 1:
                self._reset()
        return b""
