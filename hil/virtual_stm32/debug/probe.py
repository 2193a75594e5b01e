"""A debug probe in front of a virtual board: a TCP port for OpenOCD, the pins, and the time that they take."""

from collections.abc import Iterator

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.debug.access_port import AccessPort, MemoryBus
from virtual_stm32.debug.debug_port import DebugPortRegisters
from virtual_stm32.debug.device import DBGMCU_BYTES
from virtual_stm32.debug.jtag import JtagChain
from virtual_stm32.debug.part import DebuggedPart
from virtual_stm32.debug.remote_bitbang import RemoteBitbang
from virtual_stm32.debug.taps import BoundaryScanTap, DebugTap
from virtual_stm32.os_ports import LOCALHOST, Tcp
from virtual_stm32.rig import VirtualRig

TCK_HZ = 1_000_000
# IDR of the access port to the core, by core.
_AHB_PORTS = {
    "cortex-m0": 0x04770021,
    "cortex-m0plus": 0x04770031,
    "cortex-m3": 0x14770011,
    "cortex-m4": 0x24770011,
    "cortex-m7": 0x84770001,
    "cortex-m33": 0x84770015,
}
_WRAP_BYTES = {
    "cortex-m0": 1024,
    "cortex-m0plus": 1024,
    "cortex-m3": 4096,
    "cortex-m4": 4096,
    "cortex-m7": 1024,
    "cortex-m33": 1024,
}  # DDI 0432, 0484, 0337, 0439, 0489: AHB-AP, TAR
_APB_PORT = 0x54770002
_DEBUG_APB, _DBGMCU_ON_APB = 2, 0xE00E1000  # of the H7: number of its access port, and DBGMCU behind it
_CORE_PORT = {"stm32h5": 1}  # number of the access port to the core; of others 0
_ST = 0x041  # in the boundary scan's IDCODE: version 0, part 0x6000 + device id, manufacturer ST


# OpenOCD's remote_bitbang has no SWD before 0.13. In Tcl, behind the file that declares a chain of either kind: one of
# JTAG, for target files that do not give the length of its instructions.
_WITH_LENGTH = (
    "; rename source source_file; proc source {file} { uplevel #0 [list source_file $file];"
    " if {[string match *swj-dp.tcl $file]}"
    " { proc swj_newdap {chip tag args} { eval jtag newtap $chip $tag -irlen 4 $args } } }"
)


def adapter_commands(tcp_port: int, *, declares_jtag: bool = True) -> str:
    """Return OpenOCD's commands that choose the debug port behind a TCP port of this machine.

    `declares_jtag`: the part's target file takes it by JTAG, too.
    """
    commands = f"adapter driver remote_bitbang; remote_bitbang host {LOCALHOST}; remote_bitbang port {tcp_port}"
    return commands if declares_jtag else commands + _WITH_LENGTH


class ProbeServer:
    """A debug port behind a TCP port. The boards run for as long as the pins take, unless their time is not ours."""

    def __init__(self, rig: VirtualRig, index: int, port: Tcp) -> None:
        self.client_fd: int | None = None
        self._rig = rig
        self._part = rig.part(index)
        board = self._part.board
        self._port = port
        self._ticks = 0
        self._passes_time = True
        words, device_id = self._part.port.words, self._part.port.device_id
        self.adapter = adapter_commands(port.number, declares_jtag=words.openocd_declares_jtag)
        self._debug_port = DebugPortRegisters(dict(_access_ports(self._part, board)))
        debug_tap = DebugTap(words.port_idcode, self._debug_port, self._pass_time)
        scan_tap = BoundaryScanTap((0x6000 | device_id) << 12 | _ST)
        # Without JTAG, as on the G0, there is no boundary scan: this debug port stands for the serial wire debug port.
        self._chain = JtagChain([debug_tap, scan_tap] if words.has_jtag else [debug_tap])
        self._pins = RemoteBitbang(self._chain, self._part.reset_pin, self._tick)
        self._part.powered_up = self._power_up

    def _power_up(self) -> None:
        self._chain.reset()
        self._debug_port.power_up()

    def _tick(self, count: int) -> None:
        self._ticks += count

    def _pass_time(self) -> None:
        """Let the boards run for as long as the pins have taken."""
        if self._passes_time:
            self._rig.run_until(self._rig.time_ps + self._ticks * PS_PER_S // TCK_HZ)
        self._ticks = 0

    def close(self) -> None:
        """Close the port for the client, too."""
        self._port.close()

    def serve(self, *, passes_time: bool) -> None:
        """Answer what the client has sent."""
        self._passes_time = passes_time
        self.client_fd = self._port.look_for_client()
        while data := self._port.read():
            if answer := self.process(data):
                self._port.write(answer)

    def process(self, data: bytes) -> bytes:
        """Take levels of the pins and return those of TDO, which nobody drives without supply or debug access."""
        return self._pins.process(data) if self._part.is_open else b"1" * data.count(b"R")


def open_probes(rig: VirtualRig) -> Iterator[ProbeServer]:
    """Yield a debug port for each board, on free TCP ports. Raises ToolError when one cannot be opened."""
    for index in range(rig.board_count):
        yield ProbeServer(rig, index, Tcp(0))


def _access_ports(part: DebuggedPart, board: Board) -> Iterator[tuple[int, AccessPort]]:
    core = board.device.core
    yield _CORE_PORT.get(board.device.family, 0), AccessPort(_AHB_PORTS[core], part, _WRAP_BYTES[core])
    if board.device.family == "stm32h7":
        yield _DEBUG_APB, AccessPort(_APB_PORT, _DebugApb(part))


class _DebugApb(MemoryBus):
    """The debug bus of the H7: DBGMCU. What else is there (trace) reads as 0."""

    def __init__(self, part: DebuggedPart) -> None:
        self._part = part

    @override
    def read(self, address: int, size: int) -> int:
        place = self._place(address)
        return 0 if place is None else self._part.read(place, size)

    @override
    def write(self, address: int, size: int, value: int) -> None:
        place = self._place(address)
        if place is not None:
            self._part.write(place, size, value)

    def _place(self, address: int) -> int | None:
        """Return the address in DBGMCU on the system bus."""
        offset = address - _DBGMCU_ON_APB
        return self._part.port.idcode_address + offset if 0 <= offset < DBGMCU_BYTES else None
