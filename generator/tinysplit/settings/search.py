"""What is searched for and how: splits, sets of boards, and inputs that are simulated."""

from tinysplit.settings.boards_and_links import BOARD, USE_ALL
from tinysplit.settings.setting import Heading, Setting

TIME_LIMIT = Setting(
    "time_limit",
    "Time limit of the search in seconds; then the best result so far is used.",
    Heading.SEARCH,
    argument="time_limit_s",
    above=0,
)
SLICES = Setting(
    "slices",
    "Divide layers over boards that compute side by side, where that is estimated to be better than whole "
    "layers: by rows, by channels, auto: by either, or none. By default auto, if nothing else that is asked for "
    "excludes it.",
    Heading.SEARCH,
)
SOLVER = Setting(
    "solver",
    "Solver of whole layers: {}, an exact search; or a solver of divided "
    "layers: {}; exact is the default, geometric the geometric program of Carballo-Hernández 2023 (extra "
    "`geometric`), two-phase the search of Dariol 2023.",
    Heading.SEARCH,
)
INPUT_AT = Setting(
    "input_at",
    "Where layers are divided: board that gets the input; by default the first board of whole layers.",
    Heading.SEARCH,
    argument="input_board",
    at_least=1,
)
OUTPUT_AT = Setting(
    "output_at",
    "Where layers are divided: board that the host reads the output from; by default that of the input.",
    Heading.SEARCH,
    argument="output_board",
    at_least=1,
)
REPLICATE = Setting(
    "replicate",
    "Give every board that has the memory a copy of the whole network; the host deals the inputs to them. By "
    f"default that is the answer where it is better than any split, unless {USE_ALL} asks for one pipeline.",
    Heading.SEARCH,
    is_switch=True,
    has_off=True,
    values_in_scripts={"True": "copies=Copies.ALWAYS"},
)
ASSIGN = Setting(
    "assign",
    "Take this assignment and search for none: layers and board of each run in their order, as in 1-6:1,7:2, "
    f"numbered as in `tinysplit analyze` and by {BOARD}.",
    Heading.SEARCH,
    argument="assignment",
)
OBJECTIVE = Setting(
    "objective", "What the split optimises: minimise latency, maximise throughput or minimise energy.", Heading.SEARCH
)
BEST = Setting("best", "Length of the ranking. [default: {}]", Heading.SEARCH, at_least=1)
AXIS = Setting(
    "axis",
    "What the Pareto front minimises. Repeat it for every axis. [default: latency, energy, price]",
    Heading.SEARCH,
    argument="axes",
)
LARGEST = Setting(
    "largest", "Also print the largest network (by MACC) that each set can run.", Heading.SEARCH, is_switch=True
)
TOTAL_TIME = Setting(
    "total_time",
    "Time limit of the whole exploration in seconds; then the results so far are shown.",
    Heading.SEARCH,
    argument="total_time_s",
    above=0,
)
WORKERS = Setting("workers", "Number of processes; by default one per processor.", Heading.SEARCH, at_least=1)
SCHEDULER = Setting(
    "scheduler", "Address of a Dask scheduler (tcp://host:8786) whose workers are used.", Heading.SEARCH
)
FRAME_RATE = Setting("frame_rate", "Inputs per second, at equal intervals.", above=0)
INPUT_COUNT = Setting("input_count", "Number of inputs at a rate.", at_least=1)
LOSS_RATE = Setting("loss_rate", "Share of the bytes on links that are lost.")
