"""How a board's project is built: platformio.ini, and CMakeLists.txt with a toolchain file, by the same flags."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board, ClockSource
from tinysplit.common.project_files import BUILD_FOLDER, SYSTEM_ENVIRONMENT, SYSTEM_PLATFORM
from tinysplit.common.templates import render

COMPILER = "arm-none-eabi-gcc"
STOCK_ENVIRONMENT = "stock"
STOCK_COMPILER = "toolchain-gccarmnoneeabi@~1.120301.0"  # GCC 12.3
STOCK_BUILD_FOLDER = f"{BUILD_FOLDER}/run"  # of `pio run`


@dataclass(frozen=True)
class Flags:
    """Every flag of compiler and linker but -mcpu and macros. C++ does without libstdc++."""

    machine: Sequence[str] = ("-mthumb", "-mfloat-abi=soft")
    c: Sequence[str] = ("-std=c11",)
    cxx: Sequence[str] = ("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit")
    # loops at multiples of 4: on Cortex-M4 a branch to a 32-bit instruction elsewhere fetches twice
    compiler: Sequence[str] = ("-O2", "-falign-loops=4", "-g", "-ffunction-sections", "-fdata-sections")
    warnings: Sequence[str] = ("-Wall", "-Wextra")
    linker: Sequence[str] = ("-Wl,--gc-sections",)


@dataclass(frozen=True)
class CMakeContext:
    """The names of `project/CMakeLists.txt.j2` and `project/toolchain.cmake.j2`."""

    board: Board
    macros: Sequence[str]
    flags: Flags = Flags()


@dataclass(frozen=True)
class PlatformioIniContext:
    """The names of `project/platformio.ini.j2`."""

    board: Board
    macros: Sequence[str]
    flags: Flags
    system: str
    stock: str
    stock_compiler: str
    stock_build_folder: str
    system_platform: str


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a program has beside the network, by macros that files of the firmware look at (`markers.h` and others)."""

    has_markers: bool = False
    has_application: bool = False
    is_standalone: bool = False
    has_stop_mode: bool = False

    @property
    def macros(self) -> tuple[str, ...]:
        """The macros of what there is."""
        every = {
            "MARKERS": self.has_markers,
            "APPLICATION": self.has_application,
            "STANDALONE": self.is_standalone,
            "STOP_MODE": self.has_stop_mode,
        }
        return tuple(name for name, is_there in every.items() if is_there)


NOTHING = Parts()


def macros(board: Board, parts: Parts = NOTHING) -> tuple[str, ...]:
    """Return what the compiler defines for every file of the board's project, as arguments of -D."""
    hse = (f"CLOCK_HSE_HZ={board.clock.oscillator_hz}u",) if board.clock_source is ClockSource.HSE else ()
    dual_issue = ("DSP_DUAL_ISSUE",) if board.device.core == "cortex-m7" else ()  # see firmware/common/dsp.h
    crystal = ("CLOCK_HSE_CRYSTAL",) if hse and board.hse_crystal_us else ()
    return (board.device.vendor_define, *hse, *crystal, *dual_issue, *parts.macros)


def render_platformio_ini(board: Board, parts: Parts = NOTHING) -> str:
    """Return the text of the board's platformio.ini, which names nothing of this machine."""
    return render(
        "project/platformio.ini.j2",
        PlatformioIniContext(
            board=board,
            macros=macros(board, parts),
            flags=Flags(),
            system=SYSTEM_ENVIRONMENT,
            stock=STOCK_ENVIRONMENT,
            stock_compiler=STOCK_COMPILER,
            stock_build_folder=STOCK_BUILD_FOLDER,
            system_platform=SYSTEM_PLATFORM,
        ),
    )


def render_cmake_files(board: Board, parts: Parts = NOTHING) -> dict[str, str]:
    """Return the text of each file of CMake by its name in the project."""
    context = CMakeContext(board, macros(board, parts))
    return {name: render(f"project/{name}.j2", context) for name in ("CMakeLists.txt", "toolchain.cmake")}
