"""Lets debug information name sources from the project's folder on, so that a program built elsewhere is the same."""

from SCons.Script import Import
from SCons.Subst import Literal

Import("env")
prefix = env.subst("$PROJECT_DIR")  # noqa: F821
env.Append(CCFLAGS=[Literal(f"-fdebug-prefix-map={prefix}=.")])  # noqa: F821 (its path may have spaces)
