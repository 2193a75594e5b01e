"""Puts the bill of materials into the wheel (PEP 770); make_release.py enables it, other builds have no bill."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BILL_VARIABLE = "TINYSPLIT_BILL_OF_MATERIALS"  # the file that becomes a file of .dist-info/sboms/


class BillOfMaterialsHook(BuildHookInterface[Any]):
    """A hook of hatchling, named in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Add the file that the environment names."""
        build_data["sbom_files"].append(os.environ[BILL_VARIABLE])
