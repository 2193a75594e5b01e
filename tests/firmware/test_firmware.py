"""The firmware of every board compiles without warnings; sections and vectors of its ELF are at the right addresses."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from programs.firmware_build import SubModel, build, firmware_of, link_project, network_source, write_project
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board, load_boards
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.codegen.board_files import SPARE_STACK_BYTES, STACK_BYTES, firmware_sources, render_board_files
from tinysplit.common.errors import UsageError
from tinysplit_hil.wire.protocol import IDENTIFY_NOTE, IDENTIFY_STACK, MessageType

ROOT = Path(__file__).parents[2]
CHECK_REGISTERS = ROOT / "firmware" / "check_registers"
BOTH_LAYERS = (SubModel(1, 2),)
G0_HEADERS = ("stm32g0xx.h", "g0_c0_registers.h", "dma_channels_registers.h", "usart_v2_registers.h")
CORE_ENTRIES = 16


def symbols(elf: ELFFile) -> dict[str, int]:
    return {symbol.name: symbol["st_value"] for symbol in elf.get_section_by_name(".symtab").iter_symbols()}


@pytest.mark.parametrize("board", load_boards(), ids=lambda board: board.name)
def test_every_board_builds_with_the_right_vectors(board: Board, tmp_path: Path) -> None:
    network = network_source(BOTH_LAYERS, 64, n_links=len(board.link_uarts))
    path = build(tmp_path, board, board.link_uarts, network)
    with path.open("rb") as file:
        elf = ELFFile(file)
        isr = elf.get_section_by_name(".isr")
        names = symbols(elf)
        vectors = struct.unpack(f"<{isr['sh_size'] // 4}I", isr.data())
        ram = board.near_memory
        assert isr["sh_addr"] == board.device.flash.start
        assert len(vectors) == CORE_ENTRIES + max(i.position for i in board.device.interrupts) + 1
        assert vectors[0] == names["_estack"] == ram.start + SPARE_STACK_BYTES + STACK_BYTES
        assert vectors[1] == names["startup_reset"]
        assert vectors[15] == names["SysTick_Handler"]
        used = {interrupt.position: interrupt.name for interrupt in board.device.interrupts}
        for uart in (board.host_uart, *board.link_uarts):
            assert f"{uart.irq_name}_IRQHandler" in names
        for position, vector in enumerate(vectors[CORE_ENTRIES:]):
            assert vector == names.get(f"{used.get(position)}_IRQHandler", names["faults_handler"])
            assert vector % 2 == 1
        arena = elf.get_section_by_name(".arena")
        assert (arena["sh_type"], arena["sh_size"]) == ("SHT_NOBITS", 128)
        assert ram.start <= arena["sh_addr"] <= ram.start + ram.size_bytes - 128
        assert elf.get_section_by_name(".weights")["sh_size"] == 4
        assert elf["e_entry"] == names["startup_reset"]


def test_the_table_has_each_request_of_the_program_once(tmp_path: Path) -> None:
    board = load_board("nucleo_g071rb")
    path = build(tmp_path, board, (), network_source(BOTH_LAYERS, 64))
    with path.open("rb") as file:
        elf = ELFFile(file)
        names = symbols(elf)
        first, end = names["__start_requests"], names["__stop_requests"]
        text = elf.get_section_by_name(".text")
        table = text.data()[first - text["sh_addr"] : end - text["sh_addr"]]
    identify = [(MessageType.IDENTIFY, what) for what in (0, *IDENTIFY_NOTE, *IDENTIFY_STACK)]
    others = [(kind, 0) for kind in MessageType if MessageType.IDENTIFY < kind < MessageType.BEGIN_WEIGHTS]
    others.append((MessageType.REPEAT, 0))
    assert sorted((kind, what) for kind, what, *_ in struct.iter_unpack("<4B2I", table)) == identify + others


@pytest.mark.parametrize(
    ("arena", "message"), [(40_000, r"stack, variables and arena do not fit into the 36864 bytes of \w+"), (0, None)]
)
def test_a_memory_that_overflows_is_named(arena: int, message: str | None, tmp_path: Path) -> None:
    board = load_board("nucleo_g071rb")
    write_project(tmp_path, board, (), network_source(BOTH_LAYERS, 64, arena=arena))
    linked = link_project(tmp_path, board)
    assert (linked.returncode == 0) == (message is None)
    assert message is None or re.search(message, linked.stderr)


def test_too_many_weights_are_named(tmp_path: Path) -> None:
    board = load_board("nucleo_g071rb")
    network = network_source(BOTH_LAYERS, 64).replace("weights[4]", "weights[200000]")
    write_project(tmp_path, board, (), network)
    assert "code and weights do not fit into the 131072 bytes of flash" in link_project(tmp_path, board).stderr


def test_a_startup_file_of_st_does_no_harm(tmp_path: Path) -> None:
    board = load_board("nucleo_g071rb")
    write_project(tmp_path, board, board.link_uarts[:1], network_source(BOTH_LAYERS, 64, n_links=1))
    # The symbols of ST's startup_*.s: a strong vector table and handlers, weak handlers of the interrupts.
    (tmp_path / "src" / "startup_st.c").write_text("""
        void Default_Handler(void); void Reset_Handler(void); void SystemInit(void); void __libc_init_array(void);
        extern int main(void); extern unsigned _sidata[], _sdata[], _edata[], _sbss[], _ebss[], _estack[];
        void Default_Handler(void) { for (;;) { } }
        void Reset_Handler(void) { *_sdata = *_sidata + *_edata + *_sbss + *_ebss; SystemInit(); main(); }
        void USART1_IRQHandler(void) __attribute__((weak, alias("Default_Handler")));
        void NMI_Handler(void) __attribute__((weak, alias("Default_Handler")));
        void *const g_pfnVectors[] __attribute__((section(".isr_vector"))) = {
          _estack, (void *)Reset_Handler, (void *)NMI_Handler, (void *)USART1_IRQHandler};
    """)
    linked = link_project(tmp_path, board)
    assert linked.returncode == 0, linked.stderr
    with (tmp_path / "firmware.elf").open("rb") as file:
        elf = ELFFile(file)
        assert elf.get_section_by_name(".isr_vector") is None
        vectors = struct.unpack("<47I", elf.get_section_by_name(".isr").data())
        assert vectors[CORE_ENTRIES + 27] == symbols(elf)["USART1_IRQHandler"]
        assert "Default_Handler" not in symbols(elf)


def test_shared_interrupts_serve_all_their_uarts() -> None:
    board = load_board("nucleo_g071rb")
    usart3 = next(uart for uart in board.link_uarts if uart.name == "USART3")
    text = render_board_files(firmware_of(board, (usart3, usart3), LinkDriver.INTERRUPT))["src/board.c"]
    body = text.split("void USART3_4_LPUART1_IRQHandler(void) {")[1].split("}")[0]
    assert body.split() == ["transfers_interrupt(0);", "transfers_interrupt(1);"]


def test_an_impossible_baud_rate_is_refused() -> None:
    board = load_board("nucleo_g071rb")
    with pytest.raises(UsageError, match="USART1"):
        render_board_files(firmware_of(board, board.link_uarts[:1], link_baud=30_000_000))


def test_a_board_without_links_has_no_code_of_links() -> None:
    names = {Path(name).name for name, _ in firmware_sources(firmware_of(load_board("nucleo_g071rb")))}
    assert "no_transfers.c" in names
    assert not names & {"transfers.c", "network_links.h", "link.c", "uart_link.h", "uart_link_dma.c"}


def test_sources_are_those_of_the_family() -> None:
    board = load_board("nucleo_h743zi")
    names = [name for name, _ in firmware_sources(firmware_of(board, board.link_uarts))]
    assert {"library.json", "LICENSE"} <= set(names)
    assert "src/clock_family.c" in names
    assert "src/stm32h7_registers.h" in names
    assert "src/stm32g0_registers.h" not in names
    assert len(names) == len(set(names))


def vendor_folder(folder: Path, replace: tuple[str, str] = ("", "")) -> Path:
    """Substitutes for ST's headers: our registers in files with the names of ST's and Arm's, one text replaced."""
    common = ROOT / "firmware" / "common"
    texts = {path.name: path.read_text() for path in (*common.glob("*_registers.h"), common / "cortex_m.h")}
    texts["stm32g0xx.h"] = (ROOT / "firmware" / "stm32g0" / "stm32g0_registers.h").read_text()
    if replace[0]:
        (name,) = (name for name, text in texts.items() if name in G0_HEADERS and replace[0] in text)
        texts[name] = texts[name].replace(*replace)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def check_registers(headers: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECK_REGISTERS), "--family", "stm32g0", "--headers", str(headers)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_registers_accepts_equal_headers(tmp_path: Path) -> None:
    result = check_registers(vendor_folder(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(r"(STM32G0[7B]1xx: (\d+) of \2 names equal, 0 not on this device\n){2}", result.stdout)


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ("#define RCC_CR_PLLRDY (1u << 25)", "#define RCC_CR_PLLRDY (1u << 26)", "RCC_CR_PLLRDY is not 0x2000000"),
        ("0x40013800u", "0x40013C00u", "USART1_BASE is not 0x40013800"),
        ("uint32_t reserved_0[9]", "uint32_t reserved_0[8]", "offsetof(RCC_TypeDef, IOPENR) is not 0x34"),
        ("RCC_APBENR1_TIM2EN", "RCC_APBENR1_TIM9EN", "RCC_APBENR1_TIM2EN is in no header of the family"),
        ("#define USART_CR1_UE (1u << 0)", "#define USART_CR1_UE (1u << 1)", "USART_CR1_UE is not 0x1"),
        ("DMA1_BASE + 0x1Cu", "DMA1_BASE + 0x18u", "DMA1_Channel2_BASE is not 0x4002001c"),
        ("  volatile uint32_t ICR;\n", "", "offsetof(USART_TypeDef, RDR) is not 0x24"),
    ],
)
def test_check_registers_finds_what_differs(ours: str, theirs: str, message: str, tmp_path: Path) -> None:
    result = check_registers(vendor_folder(tmp_path, (ours, theirs)))
    assert result.returncode == 1
    assert message in result.stderr


def test_check_registers_knows_all_devices_of_the_boards() -> None:
    text = CHECK_REGISTERS.read_text()
    for board in load_boards():
        assert f'"{board.device.vendor_define}"' in text


def test_check_registers_refuses_another_folder(tmp_path: Path) -> None:
    result = check_registers(tmp_path)
    assert result.returncode == 3
    assert "has no stm32g0xx.h" in result.stderr
