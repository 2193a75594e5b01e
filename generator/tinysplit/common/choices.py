"""What users choose from, for options of commands and arguments of scripts. It imports nothing that takes long."""

from collections.abc import Iterable
from enum import StrEnum
from math import inf

from tinysplit.common.errors import UsageError
from tinysplit.settings.setting import Setting

BIT_WIDTHS = SHORT_BITS, LONG_BITS = 8, 16  # that weights and values may have
USUAL_MAX_DROP = 0.5  # of mixed precision, in percentage points of top-1
USUAL_MIN_SQNR_DB = 25.0
USUAL_MAX_TIME_INCREASE = 10.0  # percent
ALL_BOARDS = "all"  # of an exploration, in place of the names of board types
INPUT_ARRAY, LABEL_ARRAY = "x", "y"  # arrays of samples
DEFAULT_CALIBRATION_COUNT = 100  # samples
DEFAULT_TIME_LIMIT_S = 10.0  # of a search for a split
DEFAULT_FRONT_LIMIT_S = 60.0  # of a search for a Pareto front
VIRTUAL = "virtual"  # the rig of emulated boards, in place of a file
DEFAULT_SAMPLE_COUNT = 20  # to measure
AUTO = "auto"  # the solver of whole layers
OLD_SOLVERS = ("exhaustive", "chain-labels", "dag-labels", "highs")  # names that solvers had before there was one
RENAMED = {"calibration": "cost-table"}  # options and keys that had another name


class Optimize(StrEnum):
    """The objective of the choice of kernels and of the memory layout."""

    CYCLES = "cycles"
    RAM = "ram"
    FLASH = "flash"


class InputSource(StrEnum):
    """Where inputs come from: the host, over the ports of the boards that read them, or these boards themselves."""

    HOST = "host"
    BOARD = "board"

    @property
    def text(self) -> str:
        """What is printed beside a period."""
        return "input from the host's port" if self is InputSource.HOST else "input from the board"


class LateInputs(StrEnum):
    """What becomes of inputs that are due while boards that run without a host are busy."""

    NEWEST = "newest"
    REFUSE = "refuse"


class LowPower(StrEnum):
    """What boards that run without a host do between inferences: sleep, or stop, also where the gap pays for it."""

    SLEEP = "sleep"
    STOP = "stop"
    AUTO = "auto"


class Slices(StrEnum):
    """How layers may be divided over boards: by what is better, not at all, by channels or by rows."""

    AUTO = "auto"
    NONE = "none"
    CHANNELS = "channels"
    ROWS = "rows"


class SliceSolver(StrEnum):
    """How divisions are searched for; a name is also one of a solver."""

    EXACT = "exact"
    GEOMETRIC = "geometric"
    TWO_PHASE = "two-phase"


class Copies(StrEnum):
    """Whether the answer may be copies of the whole network."""

    NEVER = "never"
    IF_BETTER = "if better"
    ALWAYS = "always"


class SecondObjective(StrEnum):
    """The second objective of the front."""

    ENERGY = "energy"
    THROUGHPUT = "throughput"


class WeightsIn(StrEnum):
    """Where programs have the weights: in arrays of their C sources, or in a file in flash of its own."""

    ARRAYS = "arrays"
    BINARY = "binary"
    ENCRYPTED = "encrypted"

    @property
    def are_encrypted(self) -> bool:
        """Whether the configuration files are encrypted."""
        return self is WeightsIn.ENCRYPTED

    @property
    def first_counter(self) -> int | None:
        """The counter of the first configuration files of a structure, None without such files."""
        return None if self is WeightsIn.ARRAYS else 1


class MapLayout(StrEnum):
    """The order of the axes of maps, after that of the samples."""

    NHWC = "nhwc"
    NCHW = "nchw"


class ProgrammerName(StrEnum):
    """Programs that flash boards."""

    OPENOCD = "openocd"
    PYOCD = "pyocd"
    ST_FLASH = "st-flash"
    CUBEPROGRAMMER = "cubeprogrammer"
    MASS_STORAGE = "mass-storage"


def check_seconds(setting: Setting, seconds: float) -> float:
    """Return `seconds`. Raises UsageError unless they are finite and above zero."""
    if not 0 < seconds < inf:
        raise UsageError(f"{setting} {seconds:g}: expected a number of seconds above zero")
    return seconds


def check_solver(name: str, others: Iterable[str] = ()) -> str:
    """Return `name`. Raises UsageError unless it is `auto` or one of the `others`."""
    names = (AUTO, *others)
    if name in OLD_SOLVERS:
        raise UsageError(f"solver {name} is now {AUTO}, the one exact search for every network and objective")
    if name not in names:
        raise UsageError(f"unknown solver {name!r}: use one of {', '.join(names)}")
    return name
