"""Independent check of the virtual boards: QEMU runs the same ELF file and computes the same bytes."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import serial

from example_folders.example import SAMPLES, shared_example
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit_hil.wire.client import BoardClient

QEMU = "qemu-system-arm"
SAMPLE_COUNT = 3
INFERENCE_TIMEOUT_S = 300.0  # emulated on a busy machine


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def qemu(elf: Path) -> Iterator[serial.SerialBase]:
    """Run `elf` on the STM32F405 of a Netduino Plus 2; the port is its USART2, the host UART of Nucleo boards."""
    port = free_port()
    usart2 = f"tcp:127.0.0.1:{port},server=on,wait=on"
    command = [QEMU, "-M", "netduinoplus2", "-display", "none", "-monitor", "none", "-serial", "null"]
    process = subprocess.Popen([*command, "-serial", usart2, "-kernel", str(elf)], stderr=subprocess.PIPE)
    try:
        with connect(f"socket://127.0.0.1:{port}", process) as opened:
            yield opened
    finally:
        process.kill()
        process.communicate(timeout=60)


def connect(url: str, process: subprocess.Popen[bytes]) -> serial.SerialBase:
    for _ in range(600):
        try:
            return serial.serial_for_url(url, timeout=0.1)
        except serial.SerialException:
            with pytest.raises(subprocess.TimeoutExpired):  # QEMU runs but does not listen yet
                process.wait(0.1)
    raise AssertionError("QEMU does not listen")


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 16])
def test_qemu_computes_the_bytes_of_the_integer_reference(bits: int) -> None:
    project, out = shared_example("nucleo_f401re", bits=bits)
    quantized = read_quantized(out, project)
    graph = quantized.graph
    x = load_samples(SAMPLES, graph).x[:SAMPLE_COUNT]
    expected = run_integer(quantized, x)

    with qemu(project.boards[0].elf(out)) as port:
        client = BoardClient(port, "QEMU")
        identity = client.run(client.identify())
        assert identity.project_hash == project.project_hash
        assert not identity.clock_ok  # QEMU has no clock tree: the firmware reports the failure
        client.run(client.reset(1, INFERENCE_TIMEOUT_S))
        for number, (sample, output) in enumerate(zip(quantize_input(quantized, x), expected, strict=True)):
            client.run(client.send_input(number, sample.tobytes(), INFERENCE_TIMEOUT_S))
            crc = client.run(client.wait_done(number, INFERENCE_TIMEOUT_S))
            computed = np.frombuffer(client.run(client.read_output(number, output.nbytes, crc)), output.dtype)
            assert np.array_equal(computed[graph.output_order], output)
    assert len(np.unique(expected, axis=0)) == SAMPLE_COUNT
