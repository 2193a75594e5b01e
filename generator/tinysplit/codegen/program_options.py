"""What the programs of a project have beside the network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from tinysplit.codegen.mlperf import Mlperf
from tinysplit.common.choices import LateInputs, LowPower, WeightsIn
from tinysplit.common.errors import UsageError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.secret_key import SecretKey, weights_key
from tinysplit.common.settings_class import settings_class
from tinysplit.costs.stop_mode import with_stop_mode
from tinysplit.plan.plan import Plan
from tinysplit.plan.wake_up import WakeUp
from tinysplit.project.standalone import ProjectStandalone
from tinysplit.project.structure import Structure
from tinysplit.settings.programs import DIAGNOSTICS, HOST_PROTOCOL, MARKERS, SIGN, STANDALONE, WEIGHTS
from tinysplit.weights_file.signing_key import SigningKey, signing_key


@settings_class
@dataclass(frozen=True, kw_only=True)
class ProgramSettings:
    """What is chosen for the programs of a project: where the weights are, and whether their files are signed.

    `structure_of` is a generated folder whose programs the weights files are for: all that is not given is as there.
    See ProgramOptions for the others.
    """

    weights: WeightsIn = WeightsIn.ARRAYS
    sign: bool = False
    structure_of: str | Path | None = None
    has_markers: bool = False
    has_diagnostics: bool = True
    is_standalone: bool = False
    frame_rate: float | None = None
    late_inputs: LateInputs = LateInputs.NEWEST
    low_power: LowPower = LowPower.SLEEP


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """Options of all programs of a project.

    With `mlperf`, the board that reads the input speaks MLPerf Tiny's protocol; with `has_markers`, pins of all boards
    are high while layers and transfers run; without `has_diagnostics`, no board has the requests that only measuring
    needs; with `standalone` the boards begin runs by themselves. With `weights_counter`, the weights are in
    configuration files, which have this counter, encrypted with `weights_key` and signed by `weights_signer` if there
    are such; with `structure`, the programs have to be those of this structure.
    """

    mlperf: Mlperf | None = None
    has_markers: bool = False
    has_diagnostics: bool = True
    standalone: ProjectStandalone | None = None
    weights_counter: int | None = None
    weights_key: SecretKey | None = None
    weights_signer: SigningKey | None = None
    structure: Structure | None = None

    @classmethod
    def of(cls, settings: ProgramSettings, mlperf: Mlperf | None = None) -> Self:
        """Return the options with the keys that the environment names.

        Raises UsageError for settings that contradict each other or the structure, InputError for keys that are missing
        or wrong and for a folder that has no structure, ToolError without the package `cryptography`.
        """
        structure = None if settings.structure_of is None else Structure.read(Path(settings.structure_of))
        if structure:
            _check_same(structure, settings, mlperf)
            settings = replace(
                settings,
                weights=structure.weights,
                sign=structure.is_signed,
                has_markers=structure.project.has_markers,
                has_diagnostics=structure.project.has_diagnostics,
            )
        weights = settings.weights
        if settings.sign and weights is WeightsIn.ARRAYS:
            raise UsageError(f"{SIGN} signs weights files: add {WEIGHTS('binary')} or {WEIGHTS('encrypted')}")
        if weights.are_encrypted and mlperf:
            raise UsageError(
                f"{HOST_PROTOCOL('mlperf')} has no request for a key: leave it out, or use {WEIGHTS('binary')}"
            )
        standalone = ProjectStandalone.of(
            settings.frame_rate, settings.late_inputs, settings.low_power, is_standalone=settings.is_standalone
        )
        if standalone and mlperf:
            raise UsageError(
                f"{HOST_PROTOCOL('mlperf')} brings inputs over the host's port: leave {STANDALONE(True)} out"
            )
        if structure:
            standalone = structure.project.standalone
        if standalone and weights.are_encrypted:
            raise UsageError(
                f"{WEIGHTS('encrypted')} needs a host that gives the key after each start: leave {STANDALONE(True)} "
                f"out, or use {WEIGHTS('binary')}"
            )
        signer = signing_key() if settings.sign else None
        if structure and signer:
            structure.check_signer(signer.public_key)
        return cls(
            mlperf=mlperf,
            has_markers=settings.has_markers,
            has_diagnostics=settings.has_diagnostics,
            standalone=standalone,
            weights_counter=structure.next_counter if structure else weights.first_counter,
            weights_key=weights_key() if weights.are_encrypted else None,
            weights_signer=signer,
            structure=structure,
        )

    def resolved(self, plans: Sequence[Plan]) -> Self:
        """Return the options with stop mode or without it, where it is to be chosen by the energy of `plans`."""
        if self.standalone is None or self.standalone.low_power is not LowPower.AUTO:
            return self
        low_power = LowPower.STOP if _stop_pays(plans, self.standalone.frame_s) else LowPower.SLEEP
        return replace(self, standalone=self.standalone.model_copy(update={"low_power": low_power}))

    @property
    def host_protocol(self) -> HostProtocol:
        """The protocol of the board that reads the input."""
        return _protocol(self.mlperf)

    @property
    def signing_key(self) -> str | None:
        """The public key of who signs the weights files, in hexadecimal digits."""
        return self.weights_signer.public_key.hex() if self.weights_signer else None


def _stop_pays(plans: Sequence[Plan], frame_s: float) -> bool:
    """Return whether all boards can stop between inputs every `frame_s`, and take less energy."""
    if not frame_s:
        return False
    boards = {own.index: own for plan in plans for own in plan.boards}
    try:
        for own in boards.values():
            WakeUp.of(own)
    except UsageError:
        return False
    by_device = {device: own.board for device, own in boards.items()}
    problem = with_stop_mode(plans[0].problem, by_device, LowPower.AUTO, frame_s)
    return bool(problem.handoff_parts.wake_up_s)


def _protocol(mlperf: Mlperf | None) -> HostProtocol:
    return HostProtocol.MLPERF if mlperf else HostProtocol.TINYSPLIT


def _check_same(structure: Structure, settings: ProgramSettings, mlperf: Mlperf | None) -> None:
    """Raise UsageError for settings that programs of a structure do not have. Those that are not given are its own."""
    if _protocol(mlperf) is not structure.project.host_protocol:
        raise UsageError(
            f"the programs of {structure.folder} speak another protocol: use {HOST_PROTOCOL} "
            f"{structure.project.host_protocol}"
        )
    if settings.has_markers and not structure.project.has_markers:
        raise UsageError(f"the programs of {structure.folder} have no markers: leave {MARKERS(True)} out")
    if settings.weights not in (WeightsIn.ARRAYS, structure.weights):
        raise UsageError(f"the weights of {structure.folder} are {structure.weights}: leave {WEIGHTS} out")
    if settings.is_standalone and not structure.project.standalone:
        raise UsageError(f"the programs of {structure.folder} need a host: leave {STANDALONE(True)} out")
    if structure.project.has_diagnostics and not settings.has_diagnostics:
        raise UsageError(f"the programs of {structure.folder} have diagnostics: leave {DIAGNOSTICS(False)} out")
    if settings.sign and not structure.is_signed:
        raise UsageError(f"the weights of {structure.folder} are not signed: leave {SIGN} out")


PLAIN = ProgramOptions()
