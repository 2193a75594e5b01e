"""Flags of the compiler that platformio.ini cannot give.

Debug information names sources from the project's folder on, so that a program built elsewhere is the same. Flags of
C++ alone have an option of their own.
"""

from SCons.Script import Import
from SCons.Subst import Literal

Import("env")
prefix = env.subst("$PROJECT_DIR")  # noqa: F821
env.Append(  # noqa: F821
    CCFLAGS=[Literal(f"-fdebug-prefix-map={prefix}=.")],  # the path may have spaces
    CXXFLAGS=env.GetProjectOption("custom_cxx_flags").split(),  # noqa: F821
)
