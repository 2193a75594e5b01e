"""Which DMA channel can serve which request: the tables of the reference manuals, for UARTs and the ADC of the L4."""

_RX_TX = ("RX", "TX")


def _pairs(first: int, *names: str) -> dict[int, str]:
    """Return request numbers from `first` on: RX and TX of each UART."""
    return {
        first + 2 * position + offset: f"{name}_{direction}"
        for position, name in enumerate(names)
        for offset, direction in enumerate(_RX_TX)
    }


# RM0444, DMAMUX: assignment of multiplexer inputs to resources.
G0 = {**_pairs(14, "LPUART1"), **_pairs(50, "USART1", "USART2", "USART3", "USART4")}
# RM0481, GPDMA: table Programmed GPDMA1 and GPDMA2 requests.
H5 = _pairs(21, "USART1", "USART2", "USART3", "UART4", "UART5", "USART6", "UART7", "UART8")
# RM0438, DMAMUX1: assignment of multiplexer inputs to resources.
L5 = _pairs(25, "USART1", "USART2", "USART3", "UART4", "UART5", "LPUART1")
# RM0456, GPDMA: table Programmed GPDMA1 request.
U5 = _pairs(24, "USART1", "USART2", "USART3", "UART4", "UART5", "LPUART1")
# RM0434, DMAMUX: assignment of multiplexer inputs to resources.
WB = _pairs(14, "USART1", "LPUART1")
# RM0453, DMAMUX: assignment of multiplexer inputs to resources.
WL = _pairs(17, "USART1", "USART2", "LPUART1")
# RM0432 and RM0440, DMAMUX: assignment of multiplexer inputs to resources, STM32L4Rxxx and L4Sxxx, and G4.
L4_PLUS = {5: "ADC1", **_pairs(24, "USART1", "USART2", "USART3", "UART4", "UART5", "LPUART1")}
# RM0433 and RM0468, DMAMUX1: assignment of multiplexer inputs to resources.
H7 = {
    **_pairs(41, "USART1", "USART2", "USART3"),
    **_pairs(63, "UART4", "UART5"),
    **_pairs(71, "USART6"),
    **_pairs(79, "UART7", "UART8"),
}
# RM0394, DMA1 and DMA2 requests for each channel: by controller, index of the channel from 0, and value of CSELR.
L4 = {
    ("DMA1", 0, 0): "ADC1",
    ("DMA1", 1, 2): "USART3_TX",
    ("DMA1", 2, 2): "USART3_RX",
    ("DMA1", 3, 2): "USART1_TX",
    ("DMA1", 4, 2): "USART1_RX",
    ("DMA1", 5, 2): "USART2_RX",
    ("DMA1", 6, 2): "USART2_TX",
    ("DMA2", 2, 2): "UART4_TX",
    ("DMA2", 4, 2): "UART4_RX",
    ("DMA2", 5, 2): "USART1_TX",
    ("DMA2", 5, 4): "LPUART1_TX",
    ("DMA2", 6, 2): "USART1_RX",
    ("DMA2", 6, 4): "LPUART1_RX",
}
# RM0367 and RM0377, DMA1 requests for each channel, in the same way.
L0 = {
    ("DMA1", channel - 1, field): f"{uart}_{direction}"
    for uart, field, receiving, sending in (
        ("USART1", 3, (3, 5), (2, 4)),
        ("USART2", 4, (3, 5, 6), (2, 4, 7)),  # channels 2 and 3 of the smallest devices
        ("LPUART1", 5, (3, 5, 6), (2, 4, 7)),  # channels 4 and 5 likewise
        ("USART4", 12, (2, 6), (3, 7)),
        ("USART5", 13, (2, 6), (3, 7)),
    )
    for direction, channels in (("RX", receiving), ("TX", sending))
    for channel in channels
}
# RM0008, RM0316 and RM0365 tables DMA1 and DMA2 requests for each channel, which are wired: by controller and index
# from 0.
F3 = {
    ("DMA1", 1): "USART3_TX",
    ("DMA1", 2): "USART3_RX",
    ("DMA1", 3): "USART1_TX",
    ("DMA1", 4): "USART1_RX",
    ("DMA1", 5): "USART2_RX",
    ("DMA1", 6): "USART2_TX",
    ("DMA2", 2): "UART4_RX",
    ("DMA2", 4): "UART4_TX",
}
# RM0091 table DMA1 requests for each channel on STM32F07x, with SYSCFG_CFGR1 as it is after reset, in the same way.
F0 = {
    ("DMA1", 1): ("USART1_TX",),
    ("DMA1", 2): ("USART1_RX",),
    ("DMA1", 3): ("USART2_TX",),
    ("DMA1", 4): ("USART2_RX",),
    ("DMA1", 5): ("USART3_RX", "USART4_RX"),
    ("DMA1", 6): ("USART3_TX", "USART4_TX"),
}
# RM0091 tables DMA1 and DMA2 requests for each channel on STM32F09x: by controller, index, and value of CSELR.
F09 = {
    (controller, channel - 1, field): f"USART{field - 7}_{direction}"
    for controller, receiving, sending in (("DMA1", (1, 3, 5, 6), (2, 4, 7)), ("DMA2", (2, 3), (1, 4, 5)))
    for direction, channels in (("RX", receiving), ("TX", sending))
    for channel in channels
    for field in range(8, 16)
}
# RM0385 and RM0410 tables DMA1 and DMA2 request mapping (RM0390: the same, without UART7 and UART8; RM0368: without
# USART3, UART4 and UART5, too): by controller, stream and CHSEL.
F4_F7 = {
    ("DMA1", 0, 4): "UART5_RX",
    ("DMA1", 0, 5): "UART8_TX",
    ("DMA1", 1, 4): "USART3_RX",
    ("DMA1", 1, 5): "UART7_TX",
    ("DMA1", 2, 4): "UART4_RX",
    ("DMA1", 3, 4): "USART3_TX",
    ("DMA1", 3, 5): "UART7_RX",
    ("DMA1", 4, 4): "UART4_TX",
    ("DMA1", 4, 7): "USART3_TX",
    ("DMA1", 5, 4): "USART2_RX",
    ("DMA1", 6, 4): "USART2_TX",
    ("DMA1", 6, 5): "UART8_RX",
    ("DMA1", 7, 4): "UART5_TX",
    ("DMA2", 1, 5): "USART6_RX",
    ("DMA2", 2, 4): "USART1_RX",
    ("DMA2", 2, 5): "USART6_RX",
    ("DMA2", 5, 4): "USART1_RX",
    ("DMA2", 6, 5): "USART6_TX",
    ("DMA2", 7, 4): "USART1_TX",
    ("DMA2", 7, 5): "USART6_TX",
}
