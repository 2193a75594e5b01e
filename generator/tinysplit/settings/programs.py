"""The generated programs, and their weights."""

from tinysplit.settings.setting import Heading, Setting

KERNEL = Setting(
    "kernel",
    "Kernel of a layer, by the layer's number: 3=planes names a kernel; 3=interleaved, 3=non-interleaved or "
    "3=1x1-non-interleaved selects the fastest kernel of a scheme. Repeat for several layers.",
    Heading.PROGRAMS,
)
CODE_MEMORY = Setting(
    "code_memory",
    "Memory of the layers' code: flash, or ram: SRAM2 of STM32L4, CCM SRAM of G4 and F303, without wait "
    "states. auto takes idle RAM where flash has wait states and the code is larger than the instruction cache.",
    Heading.PROGRAMS,
)
MARKERS = Setting(
    "markers",
    "Drive two pins of each board, for a logic analyser: high while a layer runs, and while a transfer does.",
    Heading.PROGRAMS,
    argument="has_markers",
    is_switch=True,
)
WEIGHTS = Setting(
    "weights",
    "Where the programs have the weights: in C arrays, or in a binary file for each board, weights.bin, that "
    "is in flash by itself and can be replaced without the program, encrypted or not; the key is that of "
    "TINYSPLIT_WEIGHTS_KEY or of the file TINYSPLIT_WEIGHTS_KEY_FILE (docs/do/weights_file.md).",
    Heading.PROGRAMS,
)
SIGN = Setting(
    "sign",
    "Sign the weights files with the private key (Ed25519, PEM) of the file TINYSPLIT_SIGNING_KEY_FILE or of "
    "TINYSPLIT_SIGNING_KEY: the programs take no others over their host ports (docs/do/weights_file.md).",
    Heading.PROGRAMS,
    is_switch=True,
)
PREFIX = Setting(
    "prefix",
    "What all names of the library begin with, for several networks in one program.",
)
CLOCK = Setting(
    "clock",
    "Source of the PLL on all boards: hsi, the internal oscillator, or hse, the clock at OSC_IN (ST-LINK).",
    Heading.PROGRAMS,
)
HOST_BAUD = Setting(
    "host_baud",
    "Baud rate of the port between each board and the host; every board has to make it. By default the "
    "highest usual rate up to {} that all boards make{}.",
    Heading.PROGRAMS,
    at_least=1,
)
HOST_PROTOCOL = Setting(
    "host_protocol",
    "What the host ports speak: tinysplit, for `tinysplit measure`; mlperf, MLPerf Tiny's lines on the board "
    "that reads the input, to which the output returns (docs/reference/mlperf.md).",
    Heading.PROGRAMS,
)
MLPERF_MODEL = Setting(
    "mlperf_model",
    f"With {HOST_PROTOCOL('mlperf')}: what the board says that it is, ad01, kws01, ic01 or vww01, whose data sets it "
    "can read; any other name takes the input's integers.",
    Heading.PROGRAMS,
)
MLPERF_BYTE_SCALE = Setting(
    "mlperf_byte_scale",
    f"With {HOST_PROTOCOL('mlperf')}: real value of a step of the data set's bytes, if it is not that of the "
    "reference model (ic01: 1, vww01: 1/255).",
    Heading.PROGRAMS,
    at_least=1e-9,
)
DIAGNOSTICS = Setting(
    "diagnostics",
    "Requests of the host port that only `measure` needs: times of layers and transfers, the clock, and how "
    "much of the stack was used.",
    Heading.PROGRAMS,
    argument="has_diagnostics",
    is_switch=True,
    has_off=True,
)
STANDALONE = Setting(
    "standalone",
    "Let the boards begin runs by themselves, with inputs from src/application.c of the board that reads them and "
    "outputs to that of the board that has them; a host may watch, and measure.",
    Heading.PROGRAMS,
    argument="is_standalone",
    is_switch=True,
)
LATE_INPUTS = Setting(
    "late_inputs",
    f"With {STANDALONE(True)} and a frame rate, inputs that are due while the boards are busy: newest takes the newest "
    "of them as soon as the boards are free, refuse none. The others are dropped, and counted.",
    Heading.PROGRAMS,
)
LOW_POWER = Setting(
    "low_power",
    "What boards that run without a host do between inferences: sleep, with all clocks on, or stop, until the next "
    "input is due or a line wakes them; peripherals of the application stop, too. auto stops where that takes less "
    "energy at the frame rate.",
    Heading.PROGRAMS,
)
STRUCTURE_OF = Setting(
    "structure_of",
    f"Keep the programs of this folder, generated with {WEIGHTS('binary')}, for another network of the same "
    "layers: only its weights change. Take the split of that folder.",
    Heading.PROGRAMS,
)
WEIGHTS_ONLY = Setting(
    "weights_only",
    f"Write only the weights files of a folder generated with {WEIGHTS('binary')}; the programs stay.",
    is_switch=True,
)
ALLOW_OLDER = Setting("allow_older", "Also replace weights that are newer than those of the folder.", is_switch=True)
