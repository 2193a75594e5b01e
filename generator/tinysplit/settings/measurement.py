"""Measurements on real and virtual boards."""

from tinysplit.settings.setting import Heading, Setting

RIG = Setting(
    "rig", "`virtual` for emulated boards, or a TOML file with the serial port of every board.", Heading.MEASUREMENT
)
SAMPLE_COUNT = Setting("sample_count", "Number of samples to run on the boards.", Heading.MEASUREMENT, at_least=1)
PIPELINED = Setting(
    "pipelined",
    "Stream the samples, several in flight, and measure the period: the time between two outputs. The first "
    "three samples also run one at a time, for the times of layers and transfers.",
    Heading.MEASUREMENT,
    is_switch=True,
)
FAIL_FAST = Setting(
    "fail_fast",
    "Stop at the first sample that fails. By default the boards are reset and the next follows.",
    Heading.MEASUREMENT,
    is_switch=True,
)
IDEAL_MEMORY = Setting(
    "ideal_memory",
    "Virtual boards whose memory never makes the core wait: no flash wait states, no cache misses.",
    Heading.MEASUREMENT,
    argument="has_ideal_memory",
    is_switch=True,
)
TIMING = Setting(
    "timing",
    "Timing file of `tinysplit bench report`: virtual boards of its part take the cycles that were measured.",
    Heading.MEASUREMENT,
)
TIMELINE = Setting(
    "timeline",
    "Run up to three more inferences with aligned clocks, and print what boards and links do when, estimated "
    "above measured, and T as wire, driver and waiting time.",
    Heading.MEASUREMENT,
    is_switch=True,
)
PROGRAMMER = Setting("programmer", "Program that flashes real boards.", Heading.MEASUREMENT)
BY = Setting(
    "by",
    "probe: its pin NRST or the core's request; host: the firmware, asked on the port; power: a driver of labgrid.",
)
CHANNEL = Setting(
    "channel", "Channel of a marker, if its name in the file is another one: board1_layer=D0. Repeat for several."
)
SAMPLE_RATE = Setting("sample_rate", "Samples per second of a CSV file that does not tell it.", at_least=1)
ONLY = Setting(
    "only",
    "Measure only this: a key of the cost table, as in conv/dual_mac, or links, hand-offs, code-waits, code "
    "or firmware. Repeat it for several.",
)
