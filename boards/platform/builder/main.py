"""SCons script of the platform: compiles and links firmware.elf with the flags of the project's platformio.ini.

With ccache on the machine, what another project has compiled is not compiled again.
"""

import shutil

from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()

machine_flags = [
    flag
    for flag in env.ParseFlags(env.get("BUILD_FLAGS", []))["CCFLAGS"]
    if isinstance(flag, str) and flag.startswith("-m")
]

launcher = "ccache " if shutil.which("ccache") else ""

env.Replace(
    AR="arm-none-eabi-gcc-ar",
    AS="arm-none-eabi-gcc",
    CC=f"{launcher}arm-none-eabi-gcc",
    CXX=f"{launcher}arm-none-eabi-g++",
    LINK="arm-none-eabi-gcc",
    RANLIB="arm-none-eabi-gcc-ranlib",
    ARFLAGS=["rc"],
    PROGNAME="firmware",
    PROGSUFFIX=".elf",
)
env.Append(
    # PlatformIO gives build_flags to the compiler alone; the linker chooses its libraries by the same -m options.
    LINKFLAGS=["-T", "linker.ld", *machine_flags, "-nostartfiles", "--specs=nano.specs"],
    LIBS=["c", "gcc"],
)

program = env.BuildProgram()
env.Depends(program, "$PROJECT_DIR/linker.ld")
Default(env.Alias("buildprog", program))
