"""A release of the checkout, built once for the tests of the wheel and of the bill of materials."""

from pathlib import Path

from bill_of_materials import DistributionFile
from make_release import BILL_NAME, build
from session import shared_folder

SECONDS = 1_700_000_000  # 2023-11-14 22:13:20 UTC
DEPENDENCIES = {"numpy": [DistributionFile("numpy-2.4.6.tar.gz", "0" * 64)]}  # the real ones need an index


def folder() -> Path:
    """Return the folder with source distribution, wheel and bill."""
    return shared_folder.made_once("release", lambda path: build(path, DEPENDENCIES, SECONDS))


def wheel() -> Path:
    """Return the wheel."""
    (path,) = folder().glob("*.whl")
    return path


def bill() -> Path:
    """Return the bill beside the wheel."""
    return folder() / BILL_NAME
