"""Programs that run without a host: what the user has chosen for them."""

from typing import Annotated, Self

from pydantic import Field

from tinysplit.common.choices import LateInputs, LowPower
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.file_schema import FileModel, Seconds
from tinysplit.project.activity import BoardActivity
from tinysplit.settings.programs import LATE_INPUTS, LOW_POWER, STANDALONE
from tinysplit.settings.search import FRAME_RATE

_US_PER_S = 1e6
_LONGEST_FRAME_US = (1 << 32) - 1
_US_PER_MS = 1000
_LEAST_PROBE_MS = 1000


class StandaloneEstimate(FileModel):
    """The least period of boards without a host, and what they do for an input among many at their rate."""

    period_s: Seconds
    boards: tuple[BoardActivity, ...]


class ProjectStandalone(FileModel):
    """When the application is asked for inputs, and what the boards do in between.

    `frame_us` are microseconds between two inputs, 0 for whenever the boards are free.
    """

    frame_us: Annotated[int, Field(ge=0, le=_LONGEST_FRAME_US)] = 0
    late_inputs: LateInputs = LateInputs.NEWEST
    low_power: LowPower = LowPower.SLEEP
    estimated: StandaloneEstimate | None = None

    @classmethod
    def of(
        cls, frame_rate: float | None, late_inputs: LateInputs, low_power: LowPower, *, is_standalone: bool
    ) -> Self | None:
        """Return the choices, None for programs that a host serves; `frame_rate` is in inputs per second.

        Raises UsageError for choices that programs with a host do not have, and for a rate beyond a period of 1 us to
        71 minutes.
        """
        if not is_standalone:
            given = LOW_POWER if low_power is not LowPower.SLEEP else LATE_INPUTS if frame_rate is None else FRAME_RATE
            if frame_rate is not None or late_inputs is not LateInputs.NEWEST or low_power is not LowPower.SLEEP:
                raise UsageError(f"{given} is for boards without a host: add {STANDALONE(True)}")
            return None
        if frame_rate is None and late_inputs is not LateInputs.NEWEST:
            raise UsageError(f"{LATE_INPUTS} is for inputs at a rate: add {FRAME_RATE}")
        if frame_rate is None:
            return cls(late_inputs=late_inputs, low_power=low_power)
        frame_us = _US_PER_S / frame_rate if frame_rate > 0 else 0.0
        if not 1 <= frame_us <= _LONGEST_FRAME_US:
            raise UsageError(
                f"{FRAME_RATE} {frame_rate:g}: the boards can have an input each microsecond to 71 minutes"
            )
        return cls(frame_us=round(frame_us), late_inputs=late_inputs, low_power=low_power)

    @property
    def frame_s(self) -> float:
        """Seconds between two inputs."""
        return self.frame_us / _US_PER_S

    @property
    def stops(self) -> bool:
        """Whether boards are in stop mode between inferences."""
        return self.low_power is LowPower.STOP

    @property
    def probe_ms(self) -> int:
        """Milliseconds without a sign of the neighbours after which a board in stop mode asks them for one."""
        return max(_LEAST_PROBE_MS, 3 * self.frame_us // (2 * _US_PER_MS))

    def check_period(self) -> None:
        """Raise InputError for a split whose boards cannot keep the rate, as estimated."""
        period_s = self.estimated.period_s if self.estimated else 0.0
        if self.frame_us and period_s > self.frame_s:
            raise InputError(
                f"{FRAME_RATE}: an input each {self.frame_us} us, and the boards need {1e6 * period_s:.0f} us by the "
                f"estimate: give at most {1 / period_s:.4g} a second"
            )
