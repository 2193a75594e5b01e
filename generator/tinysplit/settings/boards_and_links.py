"""The boards of a network, and the links between them."""

from tinysplit.settings.setting import Heading, Setting

BOARD = Setting(
    "board",
    "Name of a board (see `tinysplit boards`). Repeat it for every board, in the order of their numbers.",
    Heading.BOARDS,
    short="-b",
    argument="boards",
)
USE_ALL = Setting(
    "use_all",
    "Run at least one layer on every board. By default boards may be left out.",
    Heading.BOARDS,
    is_switch=True,
    has_off=True,
)
BAUD = Setting(
    "baud",
    "Baud rate of the links between boards, or auto: for each link the highest one that has passed the wiring test, or "
    "without a test the highest one that both boards make, up to 4000000, which short wires are assumed to allow.",
    Heading.BOARDS,
    at_least=1,
)
WIRING = Setting(
    "wiring",
    f"With {BAUD('auto')}: file of the wiring test, written by `tinysplit wiring`; by default wiring.json, if any.",
    Heading.BOARDS,
)
LINK = Setting(
    "link",
    "Override the link between two boards: 1-2:921600 sets its baud rate, 1-2:921600:half makes it half "
    "duplex, 1-3:none removes it (tensors are relayed by other boards). Repeat it for several links.",
    Heading.BOARDS,
    argument="links",
)
LINK_DRIVER = Setting(
    "link_driver",
    "How boards drive their links: dma, interrupt (for every byte, or a few with a FIFO), or polling (a board "
    "then receives only while it waits). By default dma where DMA channels and RAM suffice, else interrupt.",
    Heading.BOARDS,
)
HAND_OFF = Setting(
    "hand_off",
    "How tensors cross to other boards: whole, or streamed: row by row while both boards compute, where their "
    "layers allow it. By default what is estimated to be faster, for each tensor.",
    Heading.BOARDS,
)
MAX_BOARDS = Setting("max_boards", "Largest number of boards in a set.", Heading.BOARDS, at_least=1)
NEW = Setting(
    "new",
    "Write a board file for this part, as in stm32f411ret6, with what is known of the device and a choice of its pins.",
)
