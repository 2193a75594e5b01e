"""The results of `run`, from the split to the measurement."""

from dataclasses import dataclass
from typing import Any

from tinysplit.build.report import BuildReport
from tinysplit.project.split_file import SplitFile
from tinysplit.quantize.mixed_precision.joint_search import JointSplit
from tinysplit.split.solution import Split
from tinysplit_hil.bench.flash_report import FlashReport
from tinysplit_hil.measure.report import MeasureReport


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The results of all stages of `run`; `mixed_precision` has the search for bit widths and split together.

    `flash` is None where there was nothing to flash.
    """

    split: Split
    split_file: SplitFile
    build: BuildReport
    flash: FlashReport | None
    measurement: MeasureReport
    mixed_precision: JointSplit | None

    def check(self) -> None:
        """Raise CheckFailedError unless all outputs are bit-exact."""
        self.measurement.check()

    def to_json(self) -> dict[str, Any]:
        """Return the measurement's JSON with the keys `split`, `build` and `flash` added."""
        return {
            **self.measurement.to_json(),
            "split": self.split_file.model_dump(mode="json"),
            "build": self.build.to_json(),
            **({"flash": self.flash.to_json()} if self.flash else {}),
            **({"mixed_precision": self.mixed_precision.to_json()} if self.mixed_precision else {}),
        }
