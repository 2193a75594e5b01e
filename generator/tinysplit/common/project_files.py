"""File names in a generated folder and in the PlatformIO project of each board."""

from pathlib import Path

MANIFEST_NAME = "tinysplit.json"
MODEL_NAME = "model.onnx"
PARAMETERS_NAME = "parameters.npz"
SPLIT_NAME = "split.json"
README_NAME = "README.md"
PICTURE_NAME = "wiring.svg"
LIST_NAME = "tinysplit.sha256"  # all generated files but itself

MEASUREMENT_NAME = "measurement.json"
TABLES_NAME = "measurement.txt"
VALIDATION_NAME = "validation.json"
REPORT_NAME = "report.html"
RESULT_NAMES = frozenset(  # which later commands leave in the folder
    {MEASUREMENT_NAME, TABLES_NAME, VALIDATION_NAME, REPORT_NAME}
)

SYSTEM_PLATFORM = "tinysplit_system"  # as its platform.json says
SYSTEM_ENVIRONMENT = "system"  # PlatformIO environment that uses the system's compiler
BUILD_FOLDER = ".pio"
APPLICATION_SOURCE, APPLICATION_HEADER = (
    "src/application.c",
    "include/application.h",
)  # the user's, by board
APPLICATION_PARTS = "application.toml"  # what of the microcontroller they use
WEIGHTS_IN_PROJECT = Path("include") / "weights.bin"
SYSTEM_BUILD_IN_PROJECT = Path(BUILD_FOLDER) / "build"  # of `tinysplit build` alone
ELF_IN_PROJECT = SYSTEM_BUILD_IN_PROJECT / SYSTEM_ENVIRONMENT / "firmware.elf"
