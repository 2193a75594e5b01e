"""The firmware's modules have one direction: each includes only modules below it, in one written order."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FIRMWARE = Path(__file__).parents[2] / "firmware"
QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

# From the bottom to the top.
ORDER = (
    "cortex_m",
    "uart_registers",
    "dma",
    "rtc_registers",
    "device",
    "icache",
    "gpdma_items",
    "markers",
    "interrupts",
    "clock",
    "cycle_counter",
    "reset",
    "watchdog",
    "stack",
    "mpu",
    "words",
    "crc32",
    "external_memory",
    "flash_check",
    "flash_memory",
    "flash_errors",
    "crc_unit",
    "aes",
    "gcm",
    "sha512",
    "ed25519",
    "error_codes",
    "uart",
    "frames",
    "requests",
    "host_bytes",
    "host_queue",
    "text_out",
    "uart_host",
    "link_wire",
    "link",
    "uart_link",
    "board",
    "host_send",
    "host_events",
    "network",
    "mlperf_settings",
    "network_links",
    "ticker",
    "stop_mode",
    "times",
    "layer_clock",
    "run",
    "standalone",
    "weights_file",
    "weights_key",
    "weights_update",
    "transfers",
    "application_calls",
    "own_input",
    "exchange",
    "mlperf_input",
    "mlperf_results",
    "schedule",
    "row_stream",
    "wiring_frames",
    "wiring",
    "report",
    "mlperf_infer",
    "host",
    "idle_stop",
    "faults",
    "startup",
    "main",
    # Arithmetic of the kernels, which knows nothing of the modules above.
    "dsp_twins",
    "dsp",
    "swar",
    "window",
    "fixed_point",
    "dsp_dot",
    "dsp_long",
    "dsp_row",
    "dsp_row_wide",
    "dsp_planes",
    "dsp_conv",
)
PARTS = {
    "markers_pins": "markers",
    "uart_v1": "uart_registers",
    "uart_v2": "uart_registers",
    "dma_channels": "dma",
    "gpdma": "dma",
    "mpu_v8": "mpu",
    "dma_streams": "dma",
    "reset_causes": "device",
    "wb_wl": "device",
    "rtc_v2": "rtc_registers",
    "rtc_v3": "rtc_registers",
    "rtc_wake_up": "rtc_registers",
    "rtc_calendar": "stop_mode",
    "rtc_counter": "stop_mode",
    "exti_v2": "stop_mode",
    "stop_family": "stop_mode",
    "stop_l4_g4": "stop_mode",
    "stop_l0_f3": "stop_mode",
    "uart_link_dma": "uart_link",
    "uart_link_bytes": "uart_link",
    "clock_family": "clock",
    "clock_source": "clock",
    "clock_pll_r": "clock",
    "clock_f0_f3": "clock",
    "clock_f4_f7": "clock",
    "clock_caches": "clock",
    "flash_f4_f7": "flash_memory",
    "stop_f4_f7": "stop_mode",
    "pins": "board",
    "flash_family": "flash_memory",
    "flash_half_words": "flash_memory",
    "flash_pages": "flash_memory",
    "host_diagnostics": "host",
    "host_standalone": "host",
    "standalone_settings": "standalone",
    "application": "application_calls",  # of the project
    "host_weights": "host",
    "flash_banks": "flash_memory",
    "flash_control": "flash_memory",
    "mlperf_events": "host_events",
    "weights_signature": "weights_key",
    "transfers_status": "transfers",
    "mlperf_host": "host",
    "dsp_row_dual": "dsp_row",
    "link_awake": "link",
    "link_in": "link",
    "link_out": "link",
    "link_parts": "link",
    "link_peer": "link",
    "link_work": "link",
    "link_speak": "link",
    "link_ports": "board",
}
ARITHMETIC = ("dsp", "swar", "window", "fixed_point")
LIBRARY = "library"  # stands in place of modules where the network is exported
SOURCES = sorted(path for path in FIRMWARE.glob("*/*.[ch]") if path.parent.name != LIBRARY)


def module_of(name: str) -> str:
    """Return the module of a file name without its suffix; a module may have several files, or one in its place."""
    name = name.removeprefix("no_")
    if name.endswith("_registers"):
        return "device"
    return "dsp_conv" if name.startswith("dsp_conv_") else PARTS.get(name, name)


def included(path: Path) -> Iterator[str]:
    """Yield the modules that a file includes, but for ST's headers and its own."""
    for name in QUOTED_INCLUDE.findall(path.read_text(encoding="utf-8")):
        stem = Path(name).stem
        if not re.fullmatch(r"stm32\w{2}xx", stem) and module_of(stem) != module_of(path.stem):
            yield module_of(stem)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(FIRMWARE).as_posix())
def test_a_module_includes_only_modules_below_it(path: Path) -> None:
    position = ORDER.index(module_of(path.stem))
    assert [name for name in included(path) if ORDER.index(name) >= position] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(FIRMWARE).as_posix())
def test_the_arithmetic_of_kernels_knows_no_hardware(path: Path) -> None:
    if path.stem.startswith(ARITHMETIC):
        assert [name for name in included(path) if not name.startswith(ARITHMETIC)] == []


def test_the_order_names_every_module_once() -> None:
    assert sorted(ORDER) == sorted({module_of(path.stem) for path in SOURCES})


@pytest.mark.parametrize("line", ['#include "host.h"', '  #  include "host.h" // why'])
def test_an_upward_include_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "ticker.c").write_text(f'#include "ticker.h"\n{line}\n')
    assert list(included(tmp_path / "ticker.c")) == ["host"]
    assert ORDER.index("host") > ORDER.index("ticker")
