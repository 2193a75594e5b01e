"""What is counted as costs, and their limits."""

from tinysplit.settings.setting import Heading, Setting

HOST_TRANSFERS = Setting(
    "host_transfers",
    "Count the time to transfer input and output between host and boards.",
    Heading.COSTS,
    is_switch=True,
)
INPUT_SOURCE = Setting(
    "input_source",
    "Source of the inputs: host, over the ports of the boards that read them, or board, as from a sensor: these "
    "boards have an input as soon as they are free for it, or when it arrives, without a transfer.",
    Heading.COSTS,
)
OPTIMIZE = Setting(
    "optimize",
    "What kernels and tensor placement minimise: cycles (default), or ram or flash even if that costs cycles. If it is "
    "given, `split` shows the choice between time and flash.",
    Heading.COSTS,
)
MAX_FLASH = Setting(
    "max_flash",
    "Upper limit of the flash of each board's program in bytes: the fastest kernels that fit it are taken. By default "
    "all of the flash. `generate` takes it from the split file.",
    Heading.COSTS,
    argument="max_flash_bytes",
    at_least=1,
)
PERIOD = Setting(
    "period",
    "Definition of the period, the time between two outputs. firmware: that of the generated programs "
    "(default). Ideals: load: time that the busiest board is occupied; span: a board is occupied from its "
    "first layer to its last; paper and old: the two definitions of Santamaria 2021.",
    Heading.COSTS,
)
COST_TABLE = Setting(
    "cost_table", "Cost table written by `tinysplit calibrate`; by default that of this installation.", Heading.COSTS
)
MAX_LATENCY = Setting(
    "max_latency", "Upper limit of the latency in seconds.", Heading.COSTS, argument="max_latency_s", above=0
)
MAX_PERIOD = Setting(
    "max_period", "Upper limit of the period in seconds.", Heading.COSTS, argument="max_period_s", above=0
)
MAX_ENERGY = Setting(
    "max_energy", "Upper limit of the energy per inference in joules.", Heading.COSTS, argument="max_energy_j", above=0
)
FRAME_PERIOD = Setting(
    "frame_period",
    "Time between two inputs in seconds. It limits the period, and boards draw idle power for the rest of it. "
    "Without it, inputs arrive at the rate that the split sustains.",
    Heading.COSTS,
    argument="frame_period_s",
    above=0,
)
BATTERY_MAH = Setting(
    "battery_mah",
    "Capacity of a battery in mAh: says how long it lasts for the MCUs of all boards at their mean power.",
    Heading.COSTS,
    above=0,
)
BITS_PER_BYTE = Setting(
    "bits_per_byte", "Bit times per byte on a link; 10 (8N1) by default.", Heading.COSTS, at_least=8, at_most=12
)
PAPER = Setting(
    "paper",
    "Use the cost model of Santamaria 2021: float32, the cycles per MAC of its Table 3, 8 bit times per byte, "
    "whole memories, all boards, and its period.",
    Heading.COSTS,
    is_switch=True,
)
MAX_PRICE = Setting("max_price", "Upper limit of the price of a set.", Heading.COSTS, above=0)
PRICES = Setting(
    "prices", "TOML file with the price of every board; without it, the number of boards is the price.", Heading.COSTS
)
